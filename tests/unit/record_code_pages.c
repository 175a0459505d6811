/* Pages of code: of memory what stands there now, of a file what the file has. */
#include "record/unwind/code_pages.h"

#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "record/task/object.h"
#include "tests/unit/unit.h"

enum {
	PAGES = 6,
	LEN = 16,
};

struct fixture {
	struct code_pages pages;
	struct object_table objects;
	uint8_t *memory;
	struct mapping mapping;
};

static void fixture_init(struct fixture *fixture)
{
	size_t bytes = (size_t)PAGES * CODE_PAGE_BYTES;
	*fixture = (struct fixture){0};
	code_pages_init(&fixture->pages);
	fixture->memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(fixture->memory != MAP_FAILED);
	fixture->mapping = (struct mapping){.start = (uintptr_t)fixture->memory,
		.end = (uintptr_t)fixture->memory + bytes,
		.object = object_table_anonymous(&fixture->objects)};
}

static void fixture_deinit(struct fixture *fixture)
{
	munmap(fixture->memory, (size_t)PAGES * CODE_PAGE_BYTES);
	code_pages_deinit(&fixture->pages);
	object_table_deinit(&fixture->objects);
}

/* Until it is read, or cannot be. */
static enum code_read get(struct fixture *fixture, uint32_t pid, uint64_t offset, uint64_t since_ns,
	uint8_t *bytes, size_t len, size_t *got)
{
	for (;;) {
		enum code_read read = code_pages_get(&fixture->pages, pid, &fixture->mapping,
			fixture->mapping.start + offset, since_ns, bytes, len, got);
		if (read != CODE_READ_LATER)
			return read;
		struct pollfd fd = {.fd = code_pages_fd(&fixture->pages), .events = POLLIN};
		poll(&fd, 1, 10);
		code_pages_collect(&fixture->pages);
	}
}

TEST(code_pages_read_memory_as_it_stood_since)
{
	struct fixture fixture;
	uint8_t bytes[LEN];
	size_t got;
	uint32_t own = (uint32_t)getpid();
	fixture_init(&fixture);
	memset(fixture.memory, 1, CODE_PAGE_BYTES);
	CHECK_INT(get(&fixture, own, 8, 1, bytes, LEN, &got), CODE_READ);
	CHECK_INT(got, LEN);
	CHECK_INT(bytes[0], 1);
	/* What was read before will do, unless it happened later. */
	memset(fixture.memory, 2, CODE_PAGE_BYTES);
	CHECK_INT(get(&fixture, own, 8, 1, bytes, LEN, &got), CODE_READ);
	CHECK_INT(bytes[0], 1);
	CHECK_INT(get(&fixture, own, 8, clock_now_ns(), bytes, LEN, &got), CODE_READ);
	CHECK_INT(bytes[0], 2);
	fixture_deinit(&fixture);
}

TEST(code_pages_end_where_the_mapping_does)
{
	struct fixture fixture;
	uint8_t bytes[2 * CODE_PAGE_BYTES];
	size_t got, last = (size_t)(PAGES - 1) * CODE_PAGE_BYTES;
	uint32_t own = (uint32_t)getpid();
	fixture_init(&fixture);
	CHECK_INT(get(&fixture, own, last + CODE_PAGE_BYTES - 4, 1, bytes, LEN, &got), CODE_READ);
	CHECK_INT(got, 4);
	/* Across a page's end, up to one that is not there. */
	mprotect(fixture.memory + last, CODE_PAGE_BYTES, PROT_NONE);
	CHECK_INT(get(&fixture, own, last - 4, clock_now_ns(), bytes, LEN, &got), CODE_READ);
	CHECK_INT(got, 4);
	CHECK_INT(get(&fixture, own, last, clock_now_ns(), bytes, LEN, &got), CODE_READ_NONE);
	CHECK_INT(got, 0);
	fixture_deinit(&fixture);
}

/* The page ahead is read along, and may not be there. */
TEST(code_pages_behind_one_that_is_not_there)
{
	struct fixture fixture;
	uint8_t bytes[LEN];
	size_t got;
	uint32_t own = (uint32_t)getpid();
	fixture_init(&fixture);
	mprotect(fixture.memory, CODE_PAGE_BYTES, PROT_NONE);
	memset(fixture.memory + CODE_PAGE_BYTES, 3, CODE_PAGE_BYTES);
	CHECK_INT(get(&fixture, own, CODE_PAGE_BYTES, 1, bytes, LEN, &got), CODE_READ);
	CHECK_INT(bytes[0], 3);
	CHECK_INT(get(&fixture, own, 0, 1, bytes, LEN, &got), CODE_READ_NONE);
	fixture_deinit(&fixture);
}

/* What there was no time for is told apart from what is not there, and had when there is. */
TEST(code_pages_that_were_given_up_are_read_later)
{
	struct fixture fixture;
	uint8_t bytes[LEN];
	size_t got;
	uint32_t own = (uint32_t)getpid();
	fixture_init(&fixture);
	struct target_reader *reader = &fixture.pages.reader;
	CHECK(target_reader_has_time_left(reader, own));
	target_reader_charge(reader, own, NS_PER_S);
	CHECK_INT(get(&fixture, own, 0, 1, bytes, LEN, &got), CODE_READ_GIVEN_UP);
	CHECK_INT(got, 0);
	reader->spent_from_ns = 0; /* a second later */
	CHECK_INT(get(&fixture, own, 0, clock_now_ns(), bytes, LEN, &got), CODE_READ);
	CHECK_INT(got, LEN);
	fixture_deinit(&fixture);
}

static void wait_for_pages(struct fixture *fixture)
{
	while (code_pages_are_pending(&fixture->pages)) {
		struct pollfd fd = {.fd = code_pages_fd(&fixture->pages), .events = POLLIN};
		poll(&fd, 1, 10);
		code_pages_collect(&fixture->pages);
	}
}

/* Code that was read in time is there when its process is gone and a later look has failed. */
TEST(code_pages_stay_when_they_can_be_read_no_more)
{
	struct fixture fixture;
	uint8_t bytes[LEN];
	size_t got;
	uint32_t own = (uint32_t)getpid();
	fixture_init(&fixture);
	uint64_t start = fixture.mapping.start, end = fixture.mapping.end, then = clock_now_ns();
	fixture.memory[0] = 4;
	CHECK(code_pages_expect(&fixture.pages, own, start, end, start + 8, then));
	CHECK(!code_pages_expect(&fixture.pages, own, start, end, start + 8, then));
	wait_for_pages(&fixture);
	CHECK(!code_pages_expect(&fixture.pages, own, start, end, start, then)); /* lately */
	mprotect(fixture.memory, CODE_PAGE_BYTES, PROT_NONE);
	CHECK_INT(get(&fixture, own, 0, clock_now_ns(), bytes, LEN, &got), CODE_READ_NONE);
	CHECK_INT(get(&fixture, own, 0, then, bytes, LEN, &got), CODE_READ);
	CHECK_INT(bytes[0], 4);
	fixture_deinit(&fixture);
}

static struct object *own_program(struct fixture *fixture)
{
	char path[512];
	struct object_location nowhere = {0};
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	CHECK(len > 0);
	path[len] = '\0';
	return object_table_by_inode(&fixture->objects, path, 0, 0, false, &nowhere);
}

/* What a program's file has is there at once, and is not asked of memory. */
TEST(code_pages_of_a_program_come_from_its_file)
{
	struct fixture fixture;
	uint8_t bytes[LEN];
	size_t got;
	fixture_init(&fixture);
	fixture.mapping.object = own_program(&fixture);
	uint64_t start = fixture.mapping.start;
	CHECK_INT(code_pages_get(&fixture.pages, (uint32_t)getpid(), &fixture.mapping, start, 1,
			  bytes, LEN, &got),
		CODE_READ);
	CHECK(memcmp(bytes, "\177ELF", 4) == 0);
	CHECK(!code_pages_are_pending(&fixture.pages));
	fixture_deinit(&fixture);
}

static uint32_t gone_pid(void)
{
	pid_t child = fork();
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	return (uint32_t)child;
}

/* Of a process that is gone memory is gone; a file still has what it had. */
TEST(code_pages_of_a_process_that_is_gone)
{
	struct fixture fixture;
	uint8_t bytes[LEN];
	size_t got;
	fixture_init(&fixture);
	uint32_t pid = gone_pid();
	CHECK_INT(get(&fixture, pid, 0, 1, bytes, LEN, &got), CODE_READ_NONE);
	fixture.mapping.object = own_program(&fixture);
	CHECK_INT(get(&fixture, pid, 0, 1, bytes, LEN, &got), CODE_READ);
	CHECK_INT(got, LEN);
	CHECK(memcmp(bytes, "\177ELF", 4) == 0);
	fixture_deinit(&fixture);
}
