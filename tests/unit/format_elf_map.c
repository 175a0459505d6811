/*
 * Parts of files without reading them whole: mapped, where a file that is cut
 * short meanwhile must not kill the reader, and through a cache of blocks.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "format/elf/elf_blocks.h"
#include "format/elf/elf_map.h"
#include "tests/unit/unit.h"

enum {
	FILE_BYTES = 3 << 20,
	MAPPED_BYTES = 1 << 20, /* more than is copied */
};

struct fixture {
	int fd;
	struct elf_file *elf;
	uint64_t begin; /* of what we wrote behind the ELF file */
};

/* What stands at an offset of the file, behind its ELF part. */
static uint8_t byte_at(uint64_t offset)
{
	return (uint8_t)(offset * 2654435761u >> 24 | 1);
}

/* This program's own file, and bytes of ours behind it. */
static void setup(struct fixture *fixture)
{
	*fixture = (struct fixture){.fd = memfd_create("elf", MFD_CLOEXEC)};
	CLEANUP_FD int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint8_t buf[4096];
	ssize_t got;
	while ((got = read(self, buf, sizeof(buf))) > 0)
		CHECK(write(fixture->fd, buf, (size_t)got) == got);
	fixture->begin = (uint64_t)lseek(fixture->fd, 0, SEEK_END);
	CLEANUP_FREE uint8_t *ours = mem_zalloc(FILE_BYTES);
	for (uint64_t i = 0; i < FILE_BYTES; i++)
		ours[i] = byte_at(fixture->begin + i);
	CHECK(write(fixture->fd, ours, FILE_BYTES) == FILE_BYTES);
	CHECK_OK(elf_file_open(fixture->fd, &fixture->elf));
}

static void teardown(struct fixture *fixture)
{
	elf_file_destroy(fixture->elf);
	close(fixture->fd);
}

static bool is_ours(const uint8_t *bytes, uint64_t offset, uint64_t len)
{
	for (uint64_t i = 0; i < len; i++)
		if (bytes[i] != byte_at(offset + i))
			return false;
	return true;
}

TEST(ranges_are_what_the_file_holds)
{
	static const uint64_t lengths[] = {0, 1, 4096, 256 << 10, (256 << 10) + 1, MAPPED_BYTES};
	struct fixture fixture;
	setup(&fixture);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		struct elf_map map;
		uint64_t offset = fixture.begin + 4321;
		CHECK_OK(elf_map_range(fixture.elf, offset, lengths[i], &map));
		CHECK_INT(map.len, lengths[i]);
		CHECK(is_ours(map.bytes, offset, lengths[i]));
		elf_map_forget(&map, 0, map.len); /* it comes again */
		CHECK(is_ours(map.bytes, offset, lengths[i]));
		elf_map_release(&map);
	}
	teardown(&fixture);
}

TEST(ranges_outside_of_the_file_are_refused)
{
	struct fixture fixture;
	struct elf_map map;
	setup(&fixture);
	uint64_t size = elf_file_size(fixture.elf);
	CHECK_ERR(elf_map_range(fixture.elf, size + 1, 0, &map), ERR_FORMAT, "not in a file");
	CHECK_ERR(elf_map_range(fixture.elf, size - 10, 11, &map), ERR_FORMAT, "not in a file");
	CHECK_ERR(elf_map_range(fixture.elf, 10, UINT64_MAX - 5, &map), ERR_FORMAT, "not in");
	teardown(&fixture);
}

TEST(a_file_that_is_cut_short_reads_as_zeros)
{
	struct fixture fixture;
	struct elf_map map;
	setup(&fixture);
	CHECK_OK(elf_map_range(fixture.elf, fixture.begin, MAPPED_BYTES, &map));
	uint64_t kept = 300000;
	CHECK(ftruncate(fixture.fd, (off_t)(fixture.begin + kept)) == 0);
	CHECK(is_ours(map.bytes, fixture.begin, kept));
	size_t lost = 0;
	for (uint64_t i = kept; i < MAPPED_BYTES; i++)
		lost += map.bytes[i] == 0;
	CHECK_INT(lost, MAPPED_BYTES - kept);
	elf_map_release(&map);
	teardown(&fixture);
}

/* Faults of other code are not hidden. */
TEST(another_fault_still_kills)
{
	struct fixture fixture;
	struct elf_map map;
	setup(&fixture);
	CHECK_OK(elf_map_range(fixture.elf, fixture.begin, MAPPED_BYTES, &map));
	int fd = memfd_create("other", MFD_CLOEXEC);
	CHECK(ftruncate(fd, 8192) == 0);
	volatile uint8_t *other = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(ftruncate(fd, 0) == 0);
	pid_t child = fork();
	if (child == 0)
		_exit(other[4096]);
	int status = 0;
	CHECK(waitpid(child, &status, 0) == child);
	/* A sanitizer's own handler ends it with a status; it must not live on. */
	CHECK(WIFSIGNALED(status) ? WTERMSIG(status) == SIGBUS : WEXITSTATUS(status) != 0);
	elf_map_release(&map);
	teardown(&fixture);
}

TEST(blocks_are_what_the_file_holds)
{
	struct fixture fixture;
	struct elf_blocks *blocks;
	setup(&fixture);
	uint64_t len = FILE_BYTES - 777;
	CHECK_OK(elf_blocks_create(fixture.elf, fixture.begin + 5, len, &blocks));
	srand(1);
	for (int i = 0; i < 3000; i++) {
		uint64_t at = (uint64_t)rand() % len;
		size_t got;
		const uint8_t *bytes = elf_blocks_view(blocks, at, &got);
		CHECK(bytes != NULL);
		CHECK(got >= (len - at < ELF_BLOCKS_VIEW_MAX ? len - at : ELF_BLOCKS_VIEW_MAX));
		CHECK(is_ours(bytes, fixture.begin + 5 + at, got));
	}
	size_t got;
	const uint8_t *last = elf_blocks_view(blocks, len - 1, &got);
	CHECK(last && got == 1 && last[1] == 0);
	CHECK(!elf_blocks_view(blocks, len, &got));
	CHECK_INT(got, 0);
	CHECK(!elf_blocks_view(blocks, UINT64_MAX, &got));
	elf_blocks_destroy(blocks);
	CHECK_ERR(elf_blocks_create(fixture.elf, 1, UINT64_MAX, &blocks), ERR_FORMAT, "");
	teardown(&fixture);
}

/* The last name of a table ends, even where the file says no more of it than this. */
TEST(zeros_stand_behind_a_mapping)
{
	struct fixture fixture;
	setup(&fixture);
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t offset = (fixture.begin + page - 1) & ~(page - 1);
	struct elf_map map;
	CHECK_OK(elf_map_range(fixture.elf, offset, MAPPED_BYTES, &map));
	CHECK(map.base != NULL);
	CHECK_INT(strlen((const char *)map.bytes), MAPPED_BYTES); /* ours have no 0 */
	elf_map_release(&map);
	CHECK_OK(elf_map_copy(fixture.elf, offset, MAPPED_BYTES, &map));
	CHECK(map.base == NULL && map.bytes[MAPPED_BYTES] == 0);
	elf_map_release(&map);
	teardown(&fixture);
}
