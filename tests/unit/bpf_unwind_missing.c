/* Stacks of files whose tables are not there yet, or not any more: what is asked for, and what is
 * sent. */
#include "tests/unit/bpf_unwind_fixture.h"

TEST(pending_table_of_the_leaf)
{
	struct fixture fixture;
	setup(&fixture, ONE_WORD);
	for (int i = 0; i < 3; i++) {
		const struct event_stack *stack = tick(&fixture);
		check_frames(stack, EVENT_END_TABLE_PENDING, NO_FRAMES);
		CHECK_INT(stack->has_snapshot, true);
		CHECK_INT(emulated_count(EVENT_FILE), i == 0); /* asked for once */
		const struct event_snapshot *snapshot = emulated_record(EVENT_SNAPSHOT, 0);
		CHECK(snapshot->hash == stack->hash);
		CHECK_INT(snapshot->is_exact, true);
		CHECK(snapshot->registers.ip == in(ONE_WORD));
	}
	teardown(&fixture);
}

/* What was found is kept; what is left begins at the frame that was not pushed. */
TEST(pending_table_of_a_caller)
{
	struct fixture fixture;
	uint32_t file = setup_ready(&fixture, TWO_WORDS);
	push(&fixture, 0x4321); /* fp */
	push(&fixture, OTHER + 0x777);
	const struct event_stack *stack = tick(&fixture);
	check_frames(stack, EVENT_END_TABLE_PENDING, FRAMES(LEAF(file, TWO_WORDS)));
	const struct event_snapshot *snapshot = emulated_record(EVENT_SNAPSHOT, 0);
	CHECK(snapshot && snapshot->hash == stack->hash);
	CHECK_INT(snapshot->is_exact, false);
	CHECK_INT(snapshot->registers.ip, OTHER + 0x777);
	CHECK_INT(snapshot->registers.reg[UNWIND_SP], address_of(&fixture, fixture.words));
	CHECK_INT(snapshot->registers.reg[UNWIND_FP], 0x4321);
	CHECK_INT(snapshot->registers.reg[UNWIND_EXTRA], 0x1000 + UNWIND_EXTRA);
	CHECK_INT(snapshot->registers.known,
		1ULL << UNWIND_SP | 1ULL << UNWIND_FP | 1ULL << UNWIND_EXTRA);
	teardown(&fixture);
}

/* From the red zone below sp up, piece by piece to the ends of pages. */
TEST(snapshot_holds_the_stack)
{
	struct fixture fixture;
	setup(&fixture, ONE_WORD);
	for (uint64_t i = 0; i < STACK_WORDS; i++)
		fixture.stack[i] = i;
	tick(&fixture);
	/* 16 KiB from sp on, and what lies in its page below it. */
	CHECK_INT(emulated_count(EVENT_SNAPSHOT_CHUNK), 5);
	uint64_t address = STACK;
	for (size_t n = 0; n < 4; n++) {
		const struct event_snapshot_chunk *chunk = emulated_record(EVENT_SNAPSHOT_CHUNK, n);
		CHECK_INT(chunk->address, address);
		CHECK_INT(chunk->nr_bytes, 4096);
		CHECK(memcmp(chunk->bytes, (uint8_t *)fixture.stack + (address - STACK),
			      chunk->nr_bytes) == 0);
		address += chunk->nr_bytes;
	}
	fixture.regs.reg[UNWIND_SP] = STACK + STACK_WORDS * 8 - 4096 - 8;
	tick(&fixture);
	CHECK_INT(emulated_count(EVENT_SNAPSHOT_CHUNK), 2); /* then the stack is over */
	const struct event_snapshot_chunk *chunk = emulated_record(EVENT_SNAPSHOT_CHUNK, 0);
	CHECK_INT(chunk->address, fixture.regs.reg[UNWIND_SP] - 128);
	CHECK_INT(chunk->nr_bytes, 8 + 128);
	fixture.regs.reg[UNWIND_SP] = STACK + 4096 + 8; /* the page before may not be there */
	tick(&fixture);
	chunk = emulated_record(EVENT_SNAPSHOT_CHUNK, 0);
	CHECK_INT(chunk->address, STACK + 4096);
	teardown(&fixture);
}

TEST(snapshots_stop_while_the_ring_is_full)
{
	struct fixture fixture;
	setup(&fixture, ONE_WORD);
	emulate_config()->snapshot_limit_bytes = 100;
	emulate_tick(&fixture.regs);
	CHECK_INT(emulated_count(EVENT_SNAPSHOT), 1);
	emulate_tick(&fixture.regs);
	CHECK_INT(emulated_count(EVENT_SNAPSHOT), 1);
	CHECK_INT(emulated_count(EVENT_SAMPLE), 2);
	const struct event_stack *stack = emulated_record(EVENT_STACK, 1);
	CHECK_INT(stack->has_snapshot, false);
	CHECK_INT(stack->end, EVENT_END_TABLE_PENDING);
	teardown(&fixture);
}

TEST(dropped_table_is_asked_for_once)
{
	struct fixture fixture;
	uint32_t file = setup_ready(&fixture, ONE_WORD);
	emulated_unwind_file(file)->state = UNWIND_TABLE_DROPPED;
	check_frames(tick(&fixture), EVENT_END_TABLE_PENDING, NO_FRAMES);
	CHECK_INT(emulated_count(EVENT_FILE), 1);
	const struct event_file *event = emulated_record(EVENT_FILE, 0);
	CHECK_INT(event->file, file);
	CHECK_INT(event->start, CODE);
	CHECK_INT(event->offset, CODE_OFFSET);
	tick(&fixture);
	CHECK_INT(emulated_count(EVENT_FILE), 0);
	emulated_unwind_file(file)->state = UNWIND_TABLE_READY;
	push(&fixture, in(OUTERMOST));
	check_frames(tick(&fixture), EVENT_END_COMPLETE,
		FRAMES(LEAF(file, ONE_WORD), caller_frame(file, OUTERMOST)));
	teardown(&fixture);
}

static struct fixture *at_once;

static void provide_at_once(void)
{
	emulated.on_submit = NULL;
	provide(at_once, at_once->number);
}

/* The recorder may be done before the program that asked it has gone on. */
TEST(dropped_table_that_comes_at_once_stays)
{
	struct fixture fixture;
	uint32_t file = setup_ready(&fixture, ONE_WORD);
	emulated_unwind_file(file)->state = UNWIND_TABLE_DROPPED;
	at_once = &fixture;
	emulated.on_submit = provide_at_once;
	tick(&fixture);
	CHECK_INT(emulated_unwind_file(file)->state, UNWIND_TABLE_READY);
	teardown(&fixture);
}

TEST(dropped_table_is_asked_for_again_when_the_ring_was_full)
{
	struct fixture fixture;
	uint32_t file = setup_ready(&fixture, ONE_WORD);
	emulated_unwind_file(file)->state = UNWIND_TABLE_DROPPED;
	emulated.ring_bytes = 0;
	tick(&fixture);
	CHECK_INT(emulated_unwind_file(file)->state, UNWIND_TABLE_DROPPED);
	emulated.ring_bytes = 1 << 20;
	tick(&fixture);
	CHECK_INT(emulated_count(EVENT_FILE), 1);
	CHECK_INT(emulated_unwind_file(file)->state, UNWIND_TABLE_NONE);
	teardown(&fixture);
}

TEST(epoch_says_which_tables_are_in_use)
{
	struct fixture fixture;
	uint32_t file = setup_ready(&fixture, ONE_WORD);
	table_store_advance_epoch(fixture.store);
	table_store_advance_epoch(fixture.store);
	tick(&fixture);
	CHECK_INT(emulated_unwind_file(file)->epoch, 2);
	teardown(&fixture);
}
