/* Stacks by rules, by guesses, and where they end. */
#include "format/unwind/unwind_step.h"
#include "tests/unit/bpf_unwind_fixture.h"

/* ---- by rules ---- */

TEST(stack_by_rules)
{
	struct fixture fixture;
	uint32_t file = setup_ready(&fixture, ONE_WORD);
	push(&fixture, in(TWO_WORDS));
	push(&fixture, 0); /* fp */
	push(&fixture, in(ONE_WORD));
	push(&fixture, in(OUTERMOST));
	const struct event_stack *stack = tick(&fixture);
	check_frames(stack, EVENT_END_COMPLETE,
		FRAMES(LEAF(file, ONE_WORD), caller_frame(file, TWO_WORDS),
			caller_frame(file, ONE_WORD), caller_frame(file, OUTERMOST)));
	CHECK_INT(stack->has_snapshot, false);
	CHECK_INT(stack->pid, 100);
	const struct event_sample *sample = emulated_record(EVENT_SAMPLE, 0);
	CHECK(sample->user_hash == stack->hash);
	CHECK_INT(sample->kernel_hash, 0);
	CHECK_INT(sample->tid, 101);
	CHECK_INT(sample->start_ns, 5);
	CHECK_STR(sample->comm, "emulated");
	teardown(&fixture);
}

/* fp is what the callee saved, not what it had made of it. */
TEST(stack_by_frame_pointers_in_rules)
{
	struct fixture fixture;
	uint32_t file = setup_ready(&fixture, TWO_WORDS);
	push(&fixture, address_of(&fixture, fixture.words + 9)); /* the caller's fp */
	push(&fixture, in(BY_FP));
	fixture.words += 7;
	push(&fixture, 0);
	push(&fixture, in(OUTERMOST));
	check_frames(tick(&fixture), EVENT_END_COMPLETE,
		FRAMES(LEAF(file, TWO_WORDS), caller_frame(file, BY_FP),
			caller_frame(file, OUTERMOST)));
	teardown(&fixture);
}

TEST(rbx_saved_by_a_callee_is_the_base_of_its_caller)
{
	struct fixture fixture;
	uint32_t file = setup_ready(&fixture, SAVES_EXTRA);
	push(&fixture, address_of(&fixture, fixture.words + 9));
	push(&fixture, in(BY_EXTRA));
	fixture.words += 8;
	push(&fixture, in(OUTERMOST));
	check_frames(tick(&fixture), EVENT_END_COMPLETE,
		FRAMES(LEAF(file, SAVES_EXTRA), caller_frame(file, BY_EXTRA),
			caller_frame(file, OUTERMOST)));
	teardown(&fixture);
}

/* What was interrupted is where it was, not after a call. */
TEST(place_under_a_signal_frame_is_exact)
{
	struct fixture fixture;
	uint32_t file = setup_ready(&fixture, ONE_WORD);
	push(&fixture, in(SIGNAL));
	uint64_t *frame = fixture.words;
	frame[1] = in(ONE_WORD)-5;                   /* interrupted at its first instruction */
	frame[2] = address_of(&fixture, frame + 20); /* sp there */
	frame[20] = in(OUTERMOST);
	check_frames(tick(&fixture), EVENT_END_COMPLETE,
		FRAMES(LEAF(file, ONE_WORD), caller_frame(file, SIGNAL) + 1,
			LEAF(file, ONE_WORD) - 5, caller_frame(file, OUTERMOST)));
	/* On an alternate stack sp may go down. */
	fixture.words = frame + 30;
	push(&fixture, in(SIGNAL));
	fixture.regs.reg[UNWIND_SP] = address_of(&fixture, frame + 30);
	frame[32] = in(ONE_WORD)-5;
	frame[33] = address_of(&fixture, frame + 20);
	CHECK_INT(tick(&fixture)->nr_frames, 4);
	teardown(&fixture);
}

TEST(plt_on_both_sides_of_its_push)
{
	struct fixture fixture;
	uint32_t file = setup_ready(&fixture, PLT);
	fixture.regs.ip = in(PLT)-5 + 10;
	push(&fixture, in(OUTERMOST));
	push(&fixture, in(ONE_WORD));
	check_frames(tick(&fixture), EVENT_END_COMPLETE,
		FRAMES(LEAF(file, PLT) + 5, caller_frame(file, OUTERMOST)));
	fixture.regs.ip++;
	push(&fixture, in(OUTERMOST));
	check_frames(tick(&fixture), EVENT_END_COMPLETE,
		FRAMES(LEAF(file, PLT) + 6, caller_frame(file, ONE_WORD),
			caller_frame(file, OUTERMOST)));
	teardown(&fixture);
}

TEST(vdso_is_file_0)
{
	struct fixture fixture;
	uint32_t file = setup_ready(&fixture, ONE_WORD);
	table_store_bind(fixture.store, 0, fixture.number);
	fixture.regs.ip = VDSO + offset_in(ONE_WORD);
	push(&fixture, in(OUTERMOST));
	check_frames(tick(&fixture), EVENT_END_COMPLETE,
		FRAMES((uint64_t)EVENT_FRAME_VDSO << EVENT_FRAME_KIND_SHIFT | offset_in(ONE_WORD),
			caller_frame(file, OUTERMOST)));
	teardown(&fixture);
}

TEST(registers_of_a_tick_in_the_kernel_are_those_that_it_saved)
{
	static const uint64_t kernel[] = {0xffffffff81000000, 0xffffffff81000100};
	struct fixture fixture;
	uint32_t file = setup_ready(&fixture, ONE_WORD);
	push(&fixture, in(OUTERMOST));
	emulated.kernel_stack = kernel;
	emulated.nr_kernel_frames = 2;
	for (emulated.release = 0; emulated.release < EMULATED_RELEASES; emulated.release++) {
		map();
		const struct event_stack *stack = tick_by(&fixture, emulate_tick_in_kernel);
		check_frames(stack, EVENT_END_COMPLETE,
			FRAMES(LEAF(file, ONE_WORD), caller_frame(file, OUTERMOST)));
		const struct event_stack *first = emulated_record(EVENT_STACK, 0);
		CHECK_INT(first->kind, EVENT_STACK_KERNEL);
		CHECK_INT(first->nr_frames, 2);
		CHECK(frame_of(first, 1) == kernel[1]);
		const struct event_sample *sample = emulated_record(EVENT_SAMPLE, 0);
		CHECK(sample->kernel_hash == first->hash && sample->user_hash == stack->hash);
	}
	teardown(&fixture);
}

/* ---- where it ends ---- */

TEST(end_where_a_register_is_not_known)
{
	struct fixture fixture;
	setup_ready(&fixture, ONE_WORD);
	push(&fixture, in(BY_OTHER));
	const struct event_stack *stack = tick(&fixture);
	/* All over again, with the registers that only the leaf has. */
	check_frames(stack, EVENT_END_REGISTER, NO_FRAMES);
	CHECK_INT(stack->has_snapshot, true);
	const struct event_snapshot *snapshot = emulated_record(EVENT_SNAPSHOT, 0);
	CHECK(snapshot && snapshot->hash == stack->hash);
	CHECK_INT(snapshot->is_exact, true);
	CHECK(snapshot->registers.ip == fixture.regs.ip);
	CHECK_INT(snapshot->registers.known, LEAF_REGISTERS);
	for (int i = 0; i < UNWIND_REGISTERS; i++)
		CHECK(!((uint64_t)LEAF_REGISTERS >> i & 1) ||
			snapshot->registers.reg[i] == fixture.regs.reg[i]);
	teardown(&fixture);
}

TEST(leaf_knows_all_registers)
{
	struct fixture fixture;
	uint32_t file = setup_ready(&fixture, BY_OTHER);
	fixture.regs.reg[OTHER_REGISTER] = fixture.regs.reg[UNWIND_SP];
	push(&fixture, in(OUTERMOST));
	check_frames(tick(&fixture), EVENT_END_COMPLETE,
		FRAMES(LEAF(file, BY_OTHER), caller_frame(file, OUTERMOST)));
	teardown(&fixture);
}

TEST(end_at_a_rule_beyond_ours)
{
	struct fixture fixture;
	setup_ready(&fixture, ONE_WORD);
	push(&fixture, in(UNSUPPORTED));
	const struct event_stack *stack = tick(&fixture);
	check_frames(stack, EVENT_END_UNSUPPORTED, NO_FRAMES);
	CHECK_INT(stack->has_snapshot, true);
	CHECK_INT(emulated_count(EVENT_SNAPSHOT), 1);
	teardown(&fixture);
}

TEST(end_of_a_loop)
{
	struct fixture fixture;
	uint32_t file = setup_ready(&fixture, LOOP);
	fixture.words[-1] = in(LOOP);
	check_frames(tick(&fixture), EVENT_END_BROKEN_FRAME_POINTER, FRAMES(LEAF(file, LOOP)));
	teardown(&fixture);
}

TEST(end_of_a_stack_that_cannot_be_read)
{
	struct fixture fixture;
	uint32_t file = setup_ready(&fixture, ONE_WORD);
	fixture.regs.reg[UNWIND_SP] = STACK + STACK_WORDS * 8;
	const struct event_stack *stack = tick(&fixture);
	check_frames(stack, EVENT_END_UNREADABLE, FRAMES(LEAF(file, ONE_WORD)));
	CHECK_INT(stack->has_snapshot, false);
	/* Its last word can be read, though nothing behind it. */
	fixture.stack[STACK_WORDS - 1] = in(OUTERMOST);
	fixture.regs.reg[UNWIND_SP] -= 8;
	check_frames(tick(&fixture), EVENT_END_COMPLETE,
		FRAMES(LEAF(file, ONE_WORD), caller_frame(file, OUTERMOST)));
	teardown(&fixture);
}

/* What the window held for the sample before is not the stack of this one. */
TEST(end_at_a_stack_pointer_near_zero)
{
	struct fixture fixture;
	uint32_t file = setup_ready(&fixture, ONE_WORD);
	for (int i = 0; i < 40; i++)
		push(&fixture, in(ONE_WORD));
	push(&fixture, in(OUTERMOST));
	CHECK_INT(tick(&fixture)->nr_frames, 42);
	for (uint64_t sp = 0; sp < 300; sp += 4) {
		fixture.regs.reg[UNWIND_SP] = sp;
		check_frames(tick(&fixture), EVENT_END_UNREADABLE, FRAMES(LEAF(file, ONE_WORD)));
	}
	teardown(&fixture);
}

TEST(end_outside_of_all_mappings)
{
	struct fixture fixture;
	uint32_t file = setup_ready(&fixture, ONE_WORD);
	push(&fixture, 0x1234);
	check_frames(tick(&fixture), EVENT_END_NO_MAPPING, FRAMES(LEAF(file, ONE_WORD)));
	CHECK_INT(emulated_count(EVENT_SNAPSHOT), 0);
	fixture.words[-1] = in(ONE_WORD);
	push(&fixture, STACK + 64); /* not executable */
	check_frames(tick(&fixture), EVENT_END_NO_MAPPING,
		FRAMES(LEAF(file, ONE_WORD), caller_frame(file, ONE_WORD)));
	CHECK_INT(emulated_count(EVENT_SNAPSHOT), 1);
	const struct event_snapshot *snapshot = emulated_record(EVENT_SNAPSHOT, 0);
	CHECK_INT(snapshot->registers.ip, STACK + 64);
	CHECK_INT(snapshot->is_exact, false);
	fixture.regs.ip = 0x1234;
	check_frames(tick(&fixture), EVENT_END_NO_MAPPING, FRAMES(0x1234));
	teardown(&fixture);
}

/* What stands ahead of the return address in OUTERMOST. */
static uint8_t code_ahead[UNWIND_CALL_BYTES];
#if defined(__x86_64__)
static const char call[] = "\x90\x90\x90\x90\x90\xff\xd0";
static const char jump[] = "\x90\x90\x90\x90\x90\xff\xe0";
#else
static const char call[] = "\0\0\0\x60\0\x3f\xd6";
static const char jump[] = "\0\0\0\x60\0\x1f\xd6";
#endif

/* A stack whose handler runs over what was interrupted at `bad`, and at its top, or in x30, `ra`.
 */
static void check_bad_jump(
	struct fixture *fixture, uint32_t file, uint64_t bad, uint64_t ra, bool is_followed)
{
	uint64_t *frame = &fixture->stack[17];
	fixture->stack[16] = in(SIGNAL);
	frame[1] = bad;
	frame[2] = address_of(fixture, frame + 20);
	frame[3] = frame[20] = ra;
	fixture->regs.ip = in(ONE_WORD);
	fixture->regs.reg[UNWIND_RA] = ra;
	fixture->regs.reg[UNWIND_SP] = address_of(fixture, &fixture->stack[16]);
	uint64_t handler[] = {LEAF(file, ONE_WORD), caller_frame(file, SIGNAL) + 1, bad,
		caller_frame(file, OUTERMOST)};
	enum event_stack_end end = is_followed ? EVENT_END_COMPLETE : EVENT_END_NO_MAPPING;
	check_frames(tick(fixture), end, handler, is_followed ? 4 : 2);
	fixture->regs.ip = bad; /* before the handler began */
	fixture->regs.reg[UNWIND_SP] = address_of(fixture, frame + 20);
	check_frames(tick(fixture), end, handler + 2, is_followed ? 2 : 1);
}

TEST(jump_to_a_bad_address)
{
	struct fixture fixture;
	uint32_t file = setup_ready(&fixture, ONE_WORD);
	emulate_memory(in(OUTERMOST) - sizeof(code_ahead), code_ahead, sizeof(code_ahead));
	memcpy(code_ahead, call, sizeof(code_ahead));
	check_bad_jump(&fixture, file, 0, in(OUTERMOST), true);
	check_bad_jump(&fixture, file, 0x1234, in(OUTERMOST), true);
	check_bad_jump(&fixture, file, STACK, in(OUTERMOST), true); /* mapped, not executable */
	/* Returns to a bad address, with whatever is behind it on the stack. */
	check_bad_jump(&fixture, file, 0x1234, in(OUTERMOST)-1, false);
	check_bad_jump(&fixture, file, 0x1234, STACK + 64, false);
	check_bad_jump(&fixture, file, 0x1234, 0, false);
	memcpy(code_ahead, jump, sizeof(code_ahead));
	check_bad_jump(&fixture, file, 0x1234, in(OUTERMOST), false);
	teardown(&fixture);
}

static void check_depth(void (*tick_fn)(const struct unwind_registers *regs), uint32_t depth)
{
	struct fixture fixture;
	uint32_t file = setup_ready(&fixture, ONE_WORD);
	for (uint32_t i = 2; i < depth; i++)
		push(&fixture, in(ONE_WORD));
	push(&fixture, in(OUTERMOST));
	emulated.user_reads = 0;
	const struct event_stack *stack = tick_by(&fixture, tick_fn);
	CHECK(emulated.user_reads <= depth / 8 + 2); /* several words by each */
	bool fits = depth <= EVENT_MAX_USER_FRAMES;
	CHECK_INT(stack->end, fits ? EVENT_END_COMPLETE : EVENT_END_DEPTH);
	CHECK_INT(stack->nr_frames, fits ? depth : EVENT_MAX_USER_FRAMES);
	CHECK(frame_of(stack, 1) == caller_frame(file, depth == 2 ? OUTERMOST : ONE_WORD));
	CHECK(frame_of(stack, stack->nr_frames - 1) ==
		caller_frame(file, fits ? OUTERMOST : ONE_WORD));
	teardown(&fixture);
}

TEST(deepest_stack)
{
	check_depth(emulate_tick, EVENT_MAX_USER_FRAMES);
}

TEST(stack_too_deep)
{
	check_depth(emulate_tick, EVENT_MAX_USER_FRAMES + 1);
}

TEST(stack_much_too_deep)
{
	check_depth(emulate_tick, 3000);
}

TEST(shallow_stack_without_loop)
{
	check_depth(emulate_tick_without_loop, 2);
}

TEST(stack_over_several_tail_calls)
{
	check_depth(emulate_tick_without_loop, 33);
}

TEST(deepest_stack_without_loop)
{
	check_depth(emulate_tick_without_loop, EVENT_MAX_USER_FRAMES);
}

TEST(stack_too_deep_without_loop)
{
	check_depth(emulate_tick_without_loop, EVENT_MAX_USER_FRAMES + 1);
}

TEST(stack_much_too_deep_without_loop)
{
	check_depth(emulate_tick_without_loop, 3000);
}

TEST(shallow_stack_by_one_program)
{
	check_depth(emulate_tick_whole, 2);
}

TEST(deepest_stack_by_one_program)
{
	check_depth(emulate_tick_whole, EVENT_MAX_USER_FRAMES);
}

TEST(stack_too_deep_for_one_program)
{
	check_depth(emulate_tick_whole, EVENT_MAX_USER_FRAMES + 1);
}

/* ---- guesses ---- */

static uint64_t jit_frame(uint64_t address)
{
	return (uint64_t)EVENT_FRAME_ANONYMOUS << EVENT_FRAME_KIND_SHIFT | address;
}

/* JIT code that keeps frame pointers, called by a function of the file. */
static void push_jit_frame(struct fixture *fixture)
{
	fixture->regs.ip = JIT + 0x80;
	fixture->words += 5;
	fixture->regs.reg[UNWIND_FP] = address_of(fixture, fixture->words);
	push(fixture, 0);
	push(fixture, in(ONE_WORD));
	push(fixture, in(OUTERMOST));
}

TEST(guess_is_flagged)
{
	struct fixture fixture;
	uint32_t file = setup_ready(&fixture, ONE_WORD);
	push_jit_frame(&fixture);
	const struct event_stack *stack = tick(&fixture);
	check_frames(stack, EVENT_END_COMPLETE,
		FRAMES(jit_frame(JIT + 0x80), guessed(caller_frame(file, ONE_WORD)),
			caller_frame(file, OUTERMOST)));
	CHECK_INT(stack->has_snapshot, false);
	teardown(&fixture);
}

TEST(guess_where_the_file_has_no_rule)
{
	struct fixture fixture;
	uint32_t file = setup_ready(&fixture, ONE_WORD);
	push_jit_frame(&fixture);
	fixture.regs.ip = in(NO_RULE);
	check_frames(tick(&fixture), EVENT_END_COMPLETE,
		FRAMES(LEAF(file, NO_RULE), guessed(caller_frame(file, ONE_WORD)),
			caller_frame(file, OUTERMOST)));
	fixture.regs.reg[UNWIND_FP] = 0;
	check_frames(tick(&fixture), EVENT_END_NO_RULE, FRAMES(LEAF(file, NO_RULE)));
	CHECK_INT(emulated_count(EVENT_SNAPSHOT), 0);
	teardown(&fixture);
}

TEST(guess_where_the_file_has_no_table)
{
	struct fixture fixture;
	setup(&fixture, ONE_WORD);
	push_jit_frame(&fixture);
	fixture.words[-1] = JIT + 0x90;
	fixture.words[-2] = JIT + 0xa0;
	fixture.regs.ip = in(ONE_WORD);
	tick(&fixture);
	uint32_t file = provide(&fixture, TABLE_ABSENT);
	/* fp is 0 then: no further guess. */
	check_frames(tick(&fixture), EVENT_END_JIT,
		FRAMES(LEAF(file, ONE_WORD), guessed(jit_frame(JIT + 0xa0 - 1))));
	fixture.regs.reg[UNWIND_FP] |= 4;
	check_frames(tick(&fixture), EVENT_END_NO_TABLE, FRAMES(LEAF(file, ONE_WORD)));
	teardown(&fixture);
}

/* The reason of the guess is why the stack ends when it was wrong. */
TEST(guess_that_leads_nowhere)
{
	struct fixture fixture;
	setup_ready(&fixture, ONE_WORD);
	push_jit_frame(&fixture);
	fixture.words[-2] = 0x1234;
	check_frames(tick(&fixture), EVENT_END_JIT, FRAMES(jit_frame(JIT + 0x80)));
	CHECK_INT(emulated_count(EVENT_SNAPSHOT), 0);
	teardown(&fixture);
}

/* A zero where the return address would be is no root: any word may be 0. */
TEST(guess_that_finds_no_caller_proves_nothing)
{
	struct fixture fixture;
	uint32_t file = setup_ready(&fixture, ONE_WORD);
	push_jit_frame(&fixture);
	fixture.words[-2] = 0;
	check_frames(tick(&fixture), EVENT_END_JIT, FRAMES(jit_frame(JIT + 0x80)));
	fixture.regs.ip = in(NO_RULE);
	check_frames(tick(&fixture), EVENT_END_NO_RULE, FRAMES(LEAF(file, NO_RULE)));
	fixture.regs.ip = in(BY_FP); /* ... but a rule says where it is */
	check_frames(tick(&fixture), EVENT_END_COMPLETE, FRAMES(LEAF(file, BY_FP)));
	teardown(&fixture);
}

TEST(guesses_never_go_down_or_far)
{
	struct fixture fixture;
	setup_ready(&fixture, ONE_WORD);
	push_jit_frame(&fixture);
	uint64_t sp = fixture.regs.reg[UNWIND_SP];
	const uint64_t bad[] = {sp - 8, sp + 4, sp + (1 << 20), 0, UINT64_MAX - 7};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		fixture.regs.reg[UNWIND_FP] = bad[i];
		check_frames(tick(&fixture), EVENT_END_JIT, FRAMES(jit_frame(JIT + 0x80)));
	}
	teardown(&fixture);
}
