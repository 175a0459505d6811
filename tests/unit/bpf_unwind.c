/* Whole ticks of the sampler over a stack made by hand: what it sends for it. */
#include <string.h>

#include "record/table_store.h"
#include "record/unwind_rows.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

enum {
	CODE = 0x400000, /* a file that has rules, from its offset 0x1000 on */
	CODE_OFFSET = 0x1000,
	OTHER = 0x500000, /* another one */
	JIT = 0x600000,   /* code of no file */
	VDSO = 0x700000,
	MAP_BYTES = 0x10000,
	FUNCTION_BYTES = 32,
	STACK = 0x7000000,
	STACK_WORDS = 4096,
	STORE_BYTES = 2 * UNWIND_SHARD_WORDS * 4,
};

/* Of the file's functions, one behind the other. */
enum function {
	ONE_WORD,    /* its frame is a return address */
	TWO_WORDS,   /* ... and the caller's frame pointer below it, as from `push %rbp` */
	BY_FP,       /* ... by the frame pointer, as after `mov %rsp,%rbp` */
	BY_R10,      /* needs r10 */
	BY_RBX,      /* ... rbx, as the lazy binding of ld.so */
	SAVES_RBX,   /* its frame has rbx below the return address */
	UNSUPPORTED, /* there are rules for it, beyond ours */
	NO_RULE,
	LOOP,   /* its CFA is where its own frame is */
	SIGNAL, /* the kernel's frame */
	PLT,
	OUTERMOST,
	FUNCTIONS
};

#define AT_SP(offset) .cfa = UNWIND_CFA_REGISTER, .cfa_register = UNWIND_SP, .cfa_offset = offset
#define RA            .ra = UNWIND_AT_CFA, .ra_offset = -8
static const struct unwind_rule rules_of[FUNCTIONS] = {
	[ONE_WORD] = {AT_SP(8), RA},
	[TWO_WORDS] = {AT_SP(16), RA, .fp = UNWIND_AT_CFA, .fp_offset = -16},
	[BY_FP] = {.cfa = UNWIND_CFA_REGISTER,
		.cfa_register = UNWIND_FP,
		.cfa_offset = 16,
		RA,
		.fp = UNWIND_AT_CFA,
		.fp_offset = -16},
	[BY_R10] = {.cfa = UNWIND_CFA_REGISTER, .cfa_register = 10, .cfa_offset = 8, RA},
	[BY_RBX] = {.cfa = UNWIND_CFA_REGISTER, .cfa_register = UNWIND_RBX, .cfa_offset = 16, RA},
	[SAVES_RBX] = {AT_SP(16), RA, .rbx = UNWIND_AT_CFA, .rbx_offset = -16},
	[UNSUPPORTED] = {.cfa = UNWIND_CFA_UNSUPPORTED, RA},
	[LOOP] = {AT_SP(0), RA},
	[SIGNAL] = {.cfa = UNWIND_CFA_DEREF,
		.cfa_register = UNWIND_SP,
		.cfa_offset = 16,
		.ra = UNWIND_AT_SP,
		.ra_offset = 8,
		.flags = UNWIND_SIGNAL_FRAME},
	[PLT] = {.cfa = UNWIND_CFA_PLT, .cfa_register = UNWIND_SP, .cfa_offset = 11, RA},
	[OUTERMOST] = {.cfa = UNWIND_CFA_REGISTER, .ra = UNWIND_UNDEFINED},
};

struct fixture {
	struct table_store *store;
	struct unwind_table table;
	uint32_t number; /* of the table in the store */
	struct unwind_registers regs;
	uint64_t *words; /* the next of the stack */
	uint64_t stack[STACK_WORDS];
};

/* Some way into a function: where it was interrupted, or where its callee returns to. */
static uint64_t in(enum function function)
{
	return CODE + (uint64_t)function * FUNCTION_BYTES + 5;
}

static uint64_t offset_in(enum function function)
{
	return in(function)-CODE + CODE_OFFSET;
}

static void build_table(struct unwind_table *ret)
{
	struct unwind_rows rows;
	unwind_rows_init(&rows, ret);
	for (uint64_t i = 0; i < FUNCTIONS; i++)
		unwind_rows_put(&rows, CODE_OFFSET + i * FUNCTION_BYTES, &rules_of[i]);
	unwind_rows_put_none(&rows, CODE_OFFSET + (uint64_t)FUNCTIONS * FUNCTION_BYTES);
	CHECK_OK(unwind_rows_finish(&rows));
	unwind_rows_deinit(&rows);
}

static void map(void)
{
	static const struct emulated_file file = {.inode = 1}, other = {.inode = 2};
	const struct emulated_vma vmas[] = {
		{CODE, CODE + MAP_BYTES, CODE_OFFSET, &file, true},
		{OTHER, OTHER + MAP_BYTES, 0, &other, true},
		{JIT, JIT + MAP_BYTES, 0, NULL, true},
		{VDSO, VDSO + MAP_BYTES, 0, NULL, true},
		{STACK, STACK + STACK_WORDS * 8, 0, NULL, false},
	};
	emulate_mappings(vmas, sizeof(vmas) / sizeof(*vmas), VDSO);
}

/* A process in `function`, whose stack is empty as yet. */
static void setup(struct fixture *fixture, enum function function)
{
	emulate_boot(EMULATED_6_13);
	map();
	*fixture = (struct fixture){0};
	build_table(&fixture->table);
	CHECK_OK(emulate_table_store(STORE_BYTES, &fixture->store));
	fixture->number = table_store_add(fixture->store, &fixture->table);
	emulate_memory(STACK, fixture->stack, sizeof(fixture->stack));
	fixture->regs.ip = in(function);
	for (uint64_t i = 0; i < 16; i++)
		fixture->regs.reg[i] = 0x1000 + i;
	fixture->words = fixture->stack + 16;
	fixture->regs.reg[UNWIND_SP] = STACK + 16 * 8;
}

static void teardown(struct fixture *fixture)
{
	table_store_destroy(fixture->store);
	unwind_table_deinit(&fixture->table);
}

static uint64_t address_of(const struct fixture *fixture, const uint64_t *word)
{
	return STACK + (uint64_t)(word - fixture->stack) * 8;
}

static void push(struct fixture *fixture, uint64_t word)
{
	*fixture->words++ = word;
}

/* The user stack that a tick sends. It is new to the recorder, whatever it was sent before. */
static const struct event_stack *tick_by(
	struct fixture *fixture, void (*tick)(const struct unwind_registers *regs))
{
	emulate_drain();
	++*emulated_generation();
	emulated.time_ns += 1000000;
	tick(&fixture->regs);
	for (size_t n = 0;; n++) {
		const struct event_stack *stack = emulated_record(EVENT_STACK, n);
		if (!stack || stack->kind == EVENT_STACK_USER)
			return stack;
	}
}

static const struct event_stack *tick(struct fixture *fixture)
{
	return tick_by(fixture, emulate_tick);
}

/* Does as the recorder for each file that was announced; the number of the last. */
static uint32_t provide(struct fixture *fixture, uint32_t table)
{
	const struct event_file *event = NULL;
	for (size_t n = 0; emulated_record(EVENT_FILE, n); n++) {
		event = emulated_record(EVENT_FILE, n);
		table_store_bind(fixture->store, event->file, table);
	}
	CHECK(event != NULL);
	return event ? event->file : 0;
}

/* The file's table is there already when this returns. */
static uint32_t setup_ready(struct fixture *fixture, enum function function)
{
	setup(fixture, function);
	tick(fixture);
	return provide(fixture, fixture->number);
}

static uint64_t file_frame(uint32_t number, uint64_t offset)
{
	return (uint64_t)EVENT_FRAME_FILE << EVENT_FRAME_KIND_SHIFT |
	       (uint64_t)number << EVENT_FRAME_FILE_SHIFT | offset;
}

static uint64_t caller_frame(uint32_t number, enum function function)
{
	return file_frame(number, offset_in(function) - 1);
}

static uint64_t guessed(uint64_t frame)
{
	return frame | 1ULL << EVENT_FRAME_GUESSED_SHIFT;
}

static uint64_t frame_of(const struct event_stack *stack, size_t n)
{
	uint64_t frame;
	memcpy(&frame, (const uint8_t *)(stack + 1) + n * sizeof(frame), sizeof(frame));
	return frame;
}

static void check_frames(const struct event_stack *stack, enum event_stack_end end,
	const uint64_t *frames, uint32_t count)
{
	CHECK(stack != NULL);
	if (!stack)
		return;
	CHECK_INT(stack->end, end);
	CHECK_INT(stack->nr_frames, count);
	for (uint32_t i = 0; i < count && i < stack->nr_frames; i++)
		if (frame_of(stack, i) != frames[i])
			unit_fail(__FILE__, __LINE__, "frame %u is %llx, not %llx", i,
				(unsigned long long)frame_of(stack, i),
				(unsigned long long)frames[i]);
}

#define FRAMES(...)            (const uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / 8
#define NO_FRAMES              NULL, 0
#define LEAF(number, function) file_frame(number, offset_in(function))

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
	uint32_t file = setup_ready(&fixture, SAVES_RBX);
	push(&fixture, address_of(&fixture, fixture.words + 9));
	push(&fixture, in(BY_RBX));
	fixture.words += 8;
	push(&fixture, in(OUTERMOST));
	check_frames(tick(&fixture), EVENT_END_COMPLETE,
		FRAMES(LEAF(file, SAVES_RBX), caller_frame(file, BY_RBX),
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
	push(&fixture, in(BY_R10));
	const struct event_stack *stack = tick(&fixture);
	/* All over again, with the registers that only the leaf has. */
	check_frames(stack, EVENT_END_REGISTER, NO_FRAMES);
	CHECK_INT(stack->has_snapshot, true);
	const struct event_snapshot *snapshot = emulated_record(EVENT_SNAPSHOT, 0);
	CHECK(snapshot && snapshot->hash == stack->hash);
	CHECK_INT(snapshot->is_exact, true);
	CHECK(snapshot->registers.ip == fixture.regs.ip);
	CHECK(memcmp(snapshot->registers.reg, fixture.regs.reg, 16 * 8) == 0);
	CHECK_INT(snapshot->registers.known, 0xffff);
	teardown(&fixture);
}

TEST(leaf_knows_all_registers)
{
	struct fixture fixture;
	uint32_t file = setup_ready(&fixture, BY_R10);
	fixture.regs.reg[10] = fixture.regs.reg[UNWIND_SP];
	push(&fixture, in(OUTERMOST));
	check_frames(tick(&fixture), EVENT_END_COMPLETE,
		FRAMES(LEAF(file, BY_R10), caller_frame(file, OUTERMOST)));
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

/* ---- tables that are not there ---- */

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
	CHECK_INT(snapshot->registers.reg[UNWIND_RBX], 0x1003);
	CHECK_INT(snapshot->registers.known, 1 << UNWIND_SP | 1 << UNWIND_FP | 1 << UNWIND_RBX);
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
