/* Where in a function a probe stands: in what is no program of Go, at its entry or a few bytes on.
 */
#include "record/event/probe_place.h"

#include <fcntl.h>

#include "format/base/mem.h"
#include "tests/unit/unit.h"

TEST(places_are_at_entries_or_shortly_behind)
{
	CLEANUP_FD int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_file *elf;
	size_t count;
	CHECK_OK(elf_file_open(fd, &elf));
	const struct elf_segment *segments = elf_file_segments(elf, &count);
	for (size_t i = 0; i < count; i++) {
		uint64_t entry = segments[i].offset, cheap = probe_place_cheap(elf, entry);
		CHECK(cheap >= entry && cheap - entry < 48);
		CHECK_INT(probe_place_once(elf, entry), entry); /* only Go's functions begin anew */
	}
	/* There is no code behind the end. */
	CHECK_INT(probe_place_cheap(elf, 1ULL << 40), 1LL << 40);
	CHECK_INT(probe_place_once(elf, 1ULL << 40), 1LL << 40);
	elf_file_destroy(elf);
}
