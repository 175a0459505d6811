/* Stacks through code that has no rules, by what the recorder found in it. */
#include "tests/unit/bpf_unwind_fixture.h"

static uint64_t code_bytes[4] = {0x1111, 0x2222, 0x3333, 0x4444};

/* As the recorder does after it read the code at an address; the bytes are there. */
static void tell(
	struct fixture *fixture, uint64_t space, uint64_t address, enum code_rule_kind kind)
{
	static const struct unwind_rule rule = {AT_SP(16), RA};
	struct code_key key = {space, address};
	struct code_rule known = {
		.rule = table_store_intern_rule(fixture->store, &rule),
		.kind = kind,
		.code = {code_bytes[0], code_bytes[1]},
	};
	CHECK(known.rule != 0);
	emulate_code_rule(&key, &known);
}

/* Where the rule of a frame that called from there is kept. */
static uint64_t call_in(enum function function)
{
	return offset_in(function) - 1;
}

static uint64_t by_code(uint64_t frame)
{
	return frame | (uint64_t)UNWIND_FOUND_BY_CODE << EVENT_FRAME_FOUND_SHIFT;
}

static uint32_t setup_reading(struct fixture *fixture, enum function function)
{
	uint32_t file = setup_ready(fixture, function);
	emulate_config()->reads_code = true;
	emulate_memory(in(NO_RULE), code_bytes, sizeof(code_bytes));
	emulate_memory(JIT + 0x10, code_bytes, sizeof(code_bytes));
	return file;
}

TEST(recorder_is_asked_for_code_without_a_rule)
{
	struct fixture fixture;
	uint32_t file = setup_reading(&fixture, ONE_WORD);
	push(&fixture, in(NO_RULE));
	fixture.regs.reg[UNWIND_FP] = fixture.regs.reg[UNWIND_SP] + 64; /* might be one */
	const struct event_stack *stack = tick(&fixture);
	check_frames(stack, EVENT_END_TABLE_PENDING, FRAMES(LEAF(file, ONE_WORD)));
	const struct event_snapshot *snapshot = emulated_record(EVENT_SNAPSHOT, 0);
	CHECK(snapshot && snapshot->hash == stack->hash);
	CHECK(snapshot && snapshot->registers.ip == in(NO_RULE));
	CHECK(snapshot && snapshot->code_space >> 63);
	teardown(&fixture);
}

TEST(code_of_a_file_is_known_by_its_offset)
{
	struct fixture fixture;
	uint32_t file = setup_reading(&fixture, ONE_WORD);
	push(&fixture, in(NO_RULE));
	push(&fixture, 0);
	push(&fixture, in(OUTERMOST));
	tell(&fixture, file, call_in(NO_RULE), CODE_RULE_READ);
	check_frames(tick(&fixture), EVENT_END_COMPLETE,
		FRAMES(LEAF(file, ONE_WORD), caller_frame(file, NO_RULE),
			by_code(caller_frame(file, OUTERMOST))));
	teardown(&fixture);
}

/* As where a function ends with a call that never returns, and the next one begins. */
TEST(rule_of_a_call_is_not_that_of_the_instruction_behind_it)
{
	struct fixture fixture;
	uint32_t file = setup_reading(&fixture, ONE_WORD);
	push(&fixture, in(NO_RULE));
	push(&fixture, 0);
	push(&fixture, in(OUTERMOST));
	tell(&fixture, file, offset_in(NO_RULE), CODE_RULE_READ);
	check_frames(tick(&fixture), EVENT_END_TABLE_PENDING, FRAMES(LEAF(file, ONE_WORD)));
	teardown(&fixture);
}

static uint64_t code_space(struct fixture *fixture)
{
	tick(fixture);
	const struct event_snapshot *snapshot = emulated_record(EVENT_SNAPSHOT, 0);
	CHECK(snapshot != NULL);
	return snapshot ? snapshot->code_space : 0;
}

static uint64_t jit_frame(uint64_t address)
{
	return (uint64_t)EVENT_FRAME_ANONYMOUS << EVENT_FRAME_KIND_SHIFT | address;
}

TEST(code_of_memory_is_known_while_its_bytes_stand_there)
{
	struct fixture fixture;
	uint32_t file = setup_reading(&fixture, ONE_WORD);
	fixture.regs.ip = JIT + 0x10;
	push(&fixture, 0);
	push(&fixture, in(OUTERMOST));
	tell(&fixture, code_space(&fixture), JIT + 0x10, CODE_RULE_READ);
	check_frames(tick(&fixture), EVENT_END_COMPLETE,
		FRAMES(jit_frame(JIT + 0x10), by_code(caller_frame(file, OUTERMOST))));
	code_bytes[1] = 0x5555;
	check_frames(tick(&fixture), EVENT_END_TABLE_PENDING, NO_FRAMES);
	teardown(&fixture);
}

/* Another program image has other code there. */
TEST(code_of_memory_is_that_of_one_image)
{
	struct fixture fixture;
	setup_reading(&fixture, ONE_WORD);
	fixture.regs.ip = JIT + 0x10;
	push(&fixture, 0);
	push(&fixture, in(OUTERMOST));
	tell(&fixture, code_space(&fixture), JIT + 0x10, CODE_RULE_READ);
	CHECK_INT(tick(&fixture)->end, EVENT_END_COMPLETE);
	emulated.exec_id++;
	check_frames(tick(&fixture), EVENT_END_TABLE_PENDING, NO_FRAMES);
	teardown(&fixture);
}

TEST(frame_pointer_that_the_recorder_found_is_a_guess)
{
	struct fixture fixture;
	uint32_t file = setup_reading(&fixture, ONE_WORD);
	push(&fixture, in(NO_RULE));
	push(&fixture, 0);
	push(&fixture, in(OUTERMOST));
	tell(&fixture, file, call_in(NO_RULE), CODE_RULE_GUESSED);
	check_frames(tick(&fixture), EVENT_END_COMPLETE,
		FRAMES(LEAF(file, ONE_WORD), caller_frame(file, NO_RULE),
			guessed(caller_frame(file, OUTERMOST))));
	teardown(&fixture);
}

/* It has tried: the walk does what it does without a recorder that reads. */
TEST(recorder_is_not_asked_again_for_what_it_cannot_tell)
{
	struct fixture fixture;
	uint32_t file = setup_reading(&fixture, ONE_WORD);
	push(&fixture, in(NO_RULE));
	tell(&fixture, file, call_in(NO_RULE), CODE_RULE_NONE);
	const struct event_stack *stack = tick(&fixture);
	check_frames(stack, EVENT_END_NO_RULE,
		FRAMES(LEAF(file, ONE_WORD), caller_frame(file, NO_RULE)));
	CHECK_INT(stack->has_snapshot, false);
	teardown(&fixture);
}

TEST(recorder_is_not_asked_while_the_ring_is_full)
{
	struct fixture fixture;
	uint32_t file = setup_reading(&fixture, ONE_WORD);
	push(&fixture, in(NO_RULE));
	emulate_config()->snapshot_limit_bytes = 100;
	tick(&fixture);
	emulate_tick(&fixture.regs);
	check_frames(emulated_record(EVENT_STACK, 0), EVENT_END_TABLE_PENDING,
		FRAMES(LEAF(file, ONE_WORD)));
	++*emulated_variables().generation;
	emulate_tick(&fixture.regs);
	check_frames(emulated_record(EVENT_STACK, 1), EVENT_END_NO_RULE,
		FRAMES(LEAF(file, ONE_WORD), caller_frame(file, NO_RULE)));
	CHECK_INT(*emulated_variables().code_unasked, 2); /* by both */
	teardown(&fixture);
}
