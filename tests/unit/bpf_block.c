/* Requests to disks: which beginning is whose end, and that each is counted. */
#include "record/unwind/table_store.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

enum {
	CODE = 0x400000,
	CODE_BYTES = 0x10000,
	STACK = 0x7000000,
	BYTES = 4096,
	BLOCK_IO = EVENT_SOURCE_BLOCK_IO,
};

static struct table_store *block_rules; /* has the one for frame pointers */
static uint64_t block_stack[32];
static const struct unwind_registers submitter = {.ip = CODE + 0x10, .reg[UNWIND_SP] = STACK + 64};

static void boot_disk(enum emulated_release release)
{
	const struct emulated_vma vma = {
		.start = CODE, .end = CODE + CODE_BYTES, .is_executable = true};
	emulate_boot(release);
	CHECK_OK(emulate_table_store(1, &block_rules));
	emulate_config()->call_graph = EVENT_CALL_GRAPH_FP;
	emulate_config()->nr_lanes = emulate_config()->nr_places = EVENT_LANES;
	emulate_mappings(&vma, 1, 0);
	emulate_memory(STACK, block_stack, sizeof(block_stack));
	emulated.time_ns = 1000 * 1000 * 1000;
	emulate_takes_durations(BLOCK_IO, 1);
}

static void check_block_tally(enum event_counter counter, uint64_t count, uint64_t sum)
{
	struct event_tally tally = emulated_tally(BLOCK_IO, counter);
	CHECK_INT(tally.count, count);
	CHECK_INT(tally.sum, sum);
}

static void check_a_read(enum emulated_release release)
{
	boot_disk(release);
	struct request *request = emulate_request(EVENT_BLOCK_READ, BYTES);
	emulate_request_begins(request, &submitter);
	CHECK_INT(emulated_count(EVENT_BEGUN), 1);
	check_block_tally(EVENT_COUNTER_EVENTS, 0, 0);
	emulated.time_ns += 300;
	emulate_request_begins(request, &submitter); /* the scheduler gives it to the device */
	emulated.time_ns += 5000;
	emulate_request_ends(request, BYTES);
	CHECK_INT(emulated_count(EVENT_BEGUN), 1);
	CHECK_INT(emulated_count(EVENT_ENDED), 1);
	CHECK_INT(emulated_count(EVENT_SAMPLE), 0);
	const struct event_sample *begun = emulated_record(EVENT_BEGUN, 0),
				  *ended = emulated_record(EVENT_ENDED, 0);
	CHECK(begun->user_hash);
	CHECK(begun->waker >= EVENT_WAKERS);
	CHECK_INT(ended->waker, begun->waker);
	CHECK_INT(ended->tid, begun->tid);
	CHECK_INT(ended->source, BLOCK_IO);
	CHECK_INT(ended->value, 5300);
	CHECK_INT(ended->measured, 5300);
	CHECK_INT(ended->device, 253 << EVENT_DEVICE_MINOR_BITS | 16);
	CHECK_INT(ended->operation, EVENT_BLOCK_READ);
	check_block_tally(EVENT_COUNTER_EVENTS, 1, 5300);
	check_block_tally(EVENT_COUNTER_SAMPLES, 1, 5300);
	emulate_request_ends(request, 0);
	check_block_tally(EVENT_COUNTER_EVENTS, 1, 5300);
}

TEST(a_request_has_the_stack_of_its_beginning)
{
	check_a_read(EMULATED_6_13);
}

/* The queue is an argument there, and the disk stands elsewhere. */
TEST(a_request_of_older_kernels)
{
	check_a_read(EMULATED_5_10);
}

TEST(a_request_that_ends_in_parts_is_one)
{
	boot_disk(EMULATED_6_13);
	struct request *request = emulate_request(EVENT_BLOCK_WRITE, 2 * BYTES);
	emulate_request_begins(request, &submitter);
	emulated.time_ns += 1000;
	emulate_request_ends(request, BYTES);
	check_block_tally(EVENT_COUNTER_EVENTS, 0, 0);
	emulated.time_ns += 2000;
	emulate_request_ends(request, BYTES);
	check_block_tally(EVENT_COUNTER_SAMPLES, 1, 3000);
}

/* It was merged into another, and has no end; its memory is another one's now. */
TEST(a_request_without_an_end_is_not_the_next_one)
{
	boot_disk(EMULATED_6_13);
	struct request *request = emulate_request(EVENT_BLOCK_READ, BYTES);
	emulate_request_begins(request, &submitter);
	emulated.time_ns += 50 * 1000 * 1000;
	emulate_request_is_allocated(request);
	emulate_request_begins(request, &submitter);
	emulated.time_ns += 700;
	emulate_request_ends(request, BYTES);
	check_block_tally(EVENT_COUNTER_EVENTS, 1, 700);
}

/* More in a window than are to have stacks: those of the next one are chosen by chance. */
TEST(many_requests_are_chosen_among)
{
	boot_disk(EMULATED_6_13);
	for (int i = 0; i < 300; i++) {
		struct request *request = emulate_request(EVENT_BLOCK_READ, BYTES);
		emulate_request_begins(request, &submitter);
		emulated.time_ns += 1000;
		emulate_request_ends(request, BYTES);
	}
	check_block_tally(EVENT_COUNTER_SAMPLES, 300, 300000);
	emulated.time_ns += 100 * 1000 * 1000;
	for (uint32_t i = 0; i < 8; i++) {
		struct request *request = emulate_request(EVENT_BLOCK_READ, BYTES);
		emulated.random = i;
		emulate_request_begins(request, &submitter);
		emulated.time_ns += 1000;
		emulate_request_ends(request, BYTES);
	}
	check_block_tally(EVENT_COUNTER_EVENTS, 308, 308000);
	check_block_tally(EVENT_COUNTER_SAMPLES, 302, 302000);
	check_block_tally(EVENT_COUNTER_BELOW, 6, 6000);
	CHECK_INT(((const struct event_sample *)emulated_record(EVENT_ENDED, 301))->value, 4000);
}

TEST(a_request_that_begins_amid_another_sample_is_lost)
{
	boot_disk(EMULATED_6_13);
	struct request *request = emulate_request(EVENT_BLOCK_READ, BYTES);
	emulate_busy_hit(true);
	emulate_request_begins(request, &submitter);
	emulate_busy_hit(false);
	emulated.time_ns += 900;
	emulate_request_ends(request, BYTES);
	CHECK_INT(emulated_count(EVENT_ENDED), 0);
	check_block_tally(EVENT_COUNTER_EVENTS, 1, 900);
	check_block_tally(EVENT_COUNTER_LOST_BUSY, 1, 900);
}
