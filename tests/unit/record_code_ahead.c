/* Which memory snapshots lead to, so that it is read before their turn comes. */
#include "record/unwind/code_ahead.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/event.h"
#include "format/base/clock.h"
#include "record/task/object.h"
#include "tests/unit/unit.h"

enum {
	PAGES = 64,
	HASH = 77,
};

struct fixture {
	struct code_ahead ahead;
	struct code_pages pages;
	struct object_table objects;
	struct process_table processes;
	struct sideband_batch batch;
	uint64_t start; /* of pages that hold code, as events say */
	uint32_t pid;
};

static void fixture_init(struct fixture *fixture)
{
	*fixture = (struct fixture){.pid = (uint32_t)getpid()};
	fixture->processes.objects = &fixture->objects;
	code_pages_init(&fixture->pages);
	void *memory = mmap(NULL, (size_t)PAGES * CODE_PAGE_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(memory != MAP_FAILED);
	fixture->start = (uintptr_t)memory;
}

static void fixture_deinit(struct fixture *fixture)
{
	munmap((void *)(uintptr_t)fixture->start, (size_t)PAGES * CODE_PAGE_BYTES);
	code_ahead_deinit(&fixture->ahead);
	code_pages_deinit(&fixture->pages);
	process_table_deinit(&fixture->processes);
	object_table_deinit(&fixture->objects);
	sideband_batch_clear(&fixture->batch);
	vec_deinit(&fixture->batch.events);
}

static void map_event(struct fixture *fixture, uint32_t pid, const char *path)
{
	struct sideband_event event = {.kind = SIDEBAND_MAP,
		.pid = pid,
		.start = fixture->start,
		.length = (uint64_t)PAGES * CODE_PAGE_BYTES,
		.path = path};
	vec_push(&fixture->batch.events, event);
}

static void take(struct fixture *fixture, const void *record, size_t len)
{
	code_ahead_take(&fixture->ahead, &fixture->processes, &fixture->pages, record, len);
}

static void take_stack(struct fixture *fixture, uint64_t ip)
{
	struct event_stack head = {.type = EVENT_STACK,
		.has_snapshot = 1,
		.pid = fixture->pid,
		.hash = HASH,
		.time_ns = clock_now_ns()};
	struct event_snapshot snapshot = {.type = EVENT_SNAPSHOT, .hash = HASH, .registers.ip = ip};
	code_ahead_begin(&fixture->ahead, &fixture->batch, 0);
	take(fixture, &head, sizeof(head));
	take(fixture, &snapshot, sizeof(snapshot));
}

/* Words of the stack, from an address on. */
static void take_piece(struct fixture *fixture, uint64_t address, const uint64_t *words, size_t len)
{
	const struct stack_piece piece = {.type = EVENT_SNAPSHOT_CHUNK,
		.hash = HASH,
		.address = address,
		.nr_bytes = (unsigned)len,
		.bytes = (const void *)words};
	take(fixture, &piece, sizeof(piece));
}

/* How many runs of pages are being read. */
static size_t expected(const struct fixture *fixture)
{
	return fixture->pages.reading.len - fixture->pages.read;
}

TEST(code_ahead_of_what_sideband_has_not_shown_yet)
{
	struct fixture fixture;
	fixture_init(&fixture);
	take_stack(&fixture, fixture.start);
	CHECK_INT(expected(&fixture), 0); /* nothing is mapped there */
	map_event(&fixture, fixture.pid, "/usr/lib/libc.so.6");
	map_event(&fixture, fixture.pid + 1, "//anon");
	take_stack(&fixture, fixture.start);
	CHECK_INT(expected(&fixture), 0);
	map_event(&fixture, fixture.pid, "[heap]");
	take_stack(&fixture, fixture.start - 1);
	CHECK_INT(expected(&fixture), 0);
	take_stack(&fixture, fixture.start + 8);
	CHECK_INT(expected(&fixture), 1);
	take_stack(&fixture, fixture.start + 16); /* it is being read */
	CHECK_INT(expected(&fixture), 1);
	fixture_deinit(&fixture);
}

TEST(code_ahead_of_what_a_process_has_mapped)
{
	struct fixture fixture;
	fixture_init(&fixture);
	struct process *process = process_table_get(&fixture.processes, fixture.pid, 1);
	struct mapping mapping = {.start = fixture.start,
		.end = fixture.start + (uint64_t)PAGES * CODE_PAGE_BYTES,
		.object = object_table_anonymous(&fixture.objects)};
	CHECK(process_map(process, &mapping));
	take_stack(&fixture, fixture.start);
	CHECK_INT(expected(&fixture), 1);
	fixture_deinit(&fixture);
}

TEST(code_ahead_of_return_addresses_on_a_stack)
{
	struct fixture fixture;
	fixture_init(&fixture);
	map_event(&fixture, fixture.pid, "//anon");
	const uint64_t words[] = {0, 4096, fixture.start + 8 * CODE_PAGE_BYTES, 1,
		fixture.start + 24 * CODE_PAGE_BYTES};
	take_stack(&fixture, 0);
	take_piece(&fixture, 0x7fff0000, words, sizeof(words));
	CHECK_INT(expected(&fixture), 2);
	/* Words stand at multiples of their size, wherever the chunk begins. */
	const uint64_t odd[] = {0, (fixture.start + 40 * CODE_PAGE_BYTES) << 32,
		(fixture.start + 40 * CODE_PAGE_BYTES) >> 32};
	take_piece(&fixture, 0x7fff0004, odd, sizeof(odd));
	CHECK_INT(expected(&fixture), 3);
	fixture_deinit(&fixture);
}

/* A stack may be full of such words. */
TEST(code_ahead_within_bounds)
{
	struct fixture fixture;
	uint64_t words[PAGES];
	fixture_init(&fixture);
	map_event(&fixture, fixture.pid, "//anon");
	for (size_t i = 0; i < PAGES; i++)
		words[i] = fixture.start + (PAGES - 1 - i) * CODE_PAGE_BYTES;
	take_stack(&fixture, 0);
	take_piece(&fixture, 0x7fff0000, words, sizeof(words));
	CHECK(expected(&fixture) > 8);
	CHECK(expected(&fixture) <= 32);
	/* Of a stack whose beginning was not seen nothing is known. */
	fixture.ahead.stacks[0].hash++;
	size_t before = expected(&fixture);
	take_piece(&fixture, 0x7fff0000, words, sizeof(words));
	CHECK_INT(expected(&fixture), before);
	fixture_deinit(&fixture);
}
