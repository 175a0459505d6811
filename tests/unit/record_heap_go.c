/* Whether a file is a program of Go, and where its allocations are seen. */
#include "record/event/heap_go.h"

#include <fcntl.h>
#include <unistd.h>

#include "bpf/event.h"
#include "format/base/mem.h"
#include "tests/unit/unit.h"

static void find_in(const char *path, struct heap_go *ret)
{
	struct elf_file *elf;
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_OK(elf_file_open(fd, &elf));
	heap_go_find(elf, ret);
	elf_file_destroy(elf);
}

TEST(other_programs_are_none_of_go)
{
	struct heap_go found;
	find_in("/proc/self/exe", &found);
	CHECK(!found.is_go);
	CHECK(!found.why && !found.sampled.address && !found.all.address);
}

/* Go's own command, where it is here. */
TEST(a_program_of_go_has_its_allocator)
{
	static const char go[] = "/usr/lib/go/bin/go";
	struct heap_go found;
	if (access(go, R_OK))
		return;
	find_in(go, &found);
	CHECK(found.is_go);
	CHECK(found.why || found.all.address || found.sampled.address);
	CHECK(!found.sampled.address || (found.rate && found.sampled.call & EVENT_HEAP_IS_CHOSEN));
}
