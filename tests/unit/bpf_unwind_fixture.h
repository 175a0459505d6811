/* Whole ticks of the sampler over a stack made by hand: what it sends for it. */
#ifndef EBPROF_BPF_UNWIND_FIXTURE_H
#define EBPROF_BPF_UNWIND_FIXTURE_H

#include <string.h>

#include "record/unwind/table_store.h"
#include "record/unwind/unwind_rows.h"
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
#if defined(__x86_64__)
	OTHER_REGISTER = 10,
#elif defined(__aarch64__)
	OTHER_REGISTER = 12,
#endif
};

/* A bit for each register of the leaf's that the walk has. */
#if defined(__x86_64__)
#define LEAF_REGISTERS 0xffffU
#elif defined(__aarch64__)
#define LEAF_REGISTERS 0xfff83003U /* x0, x1, x12, x13, x19 to x30, sp */
#endif

/* Of the file's functions, one behind the other. */
enum function {
	ONE_WORD,    /* its frame is a return address */
	TWO_WORDS,   /* ... and the caller's frame pointer below it, as from `push %rbp` */
	BY_FP,       /* ... by the frame pointer, as after `mov %rsp,%rbp` */
	BY_OTHER,    /* needs a register that only the leaf has */
	BY_EXTRA,    /* ... the extra one, as the lazy binding of ld.so does on x86-64 */
	SAVES_EXTRA, /* its frame has that below the return address */
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
	[BY_OTHER] = {.cfa = UNWIND_CFA_REGISTER,
		.cfa_register = OTHER_REGISTER,
		.cfa_offset = 8,
		RA},
	[BY_EXTRA] = {.cfa = UNWIND_CFA_REGISTER,
		.cfa_register = UNWIND_EXTRA,
		.cfa_offset = 16,
		RA},
	[SAVES_EXTRA] = {AT_SP(16), RA, .extra = UNWIND_AT_CFA, .extra_offset = -16},
	[UNSUPPORTED] = {.cfa = UNWIND_CFA_UNSUPPORTED, RA},
	[LOOP] = {AT_SP(0), RA},
	[SIGNAL] = {.cfa = UNWIND_CFA_DEREF,
		.cfa_register = UNWIND_SP,
		.cfa_offset = 16,
		.ra = UNWIND_AT_SP,
		.ra_offset = 8,
#if defined(__aarch64__)
		.extra = UNWIND_AT_SP,
		.extra_register = UNWIND_RA,
		.extra_offset = 24,
#endif
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
static inline uint64_t in(enum function function)
{
	return CODE + (uint64_t)function * FUNCTION_BYTES + 5;
}

static inline uint64_t offset_in(enum function function)
{
	return in(function)-CODE + CODE_OFFSET;
}

static inline void build_table(struct unwind_table *ret)
{
	struct unwind_rows rows;
	unwind_rows_init(&rows, ret);
	for (uint64_t i = 0; i < FUNCTIONS; i++)
		unwind_rows_put(&rows, CODE_OFFSET + i * FUNCTION_BYTES, &rules_of[i]);
	unwind_rows_put_none(&rows, CODE_OFFSET + (uint64_t)FUNCTIONS * FUNCTION_BYTES);
	CHECK_OK(unwind_rows_finish(&rows));
	unwind_rows_deinit(&rows);
}

static inline void map(void)
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
static inline void setup(struct fixture *fixture, enum function function)
{
	emulate_boot(EMULATED_6_13);
	map();
	*fixture = (struct fixture){0};
	build_table(&fixture->table);
	CHECK_OK(emulate_table_store(STORE_BYTES, &fixture->store));
	fixture->number = table_store_add(fixture->store, &fixture->table);
	emulate_memory(STACK, fixture->stack, sizeof(fixture->stack));
	fixture->regs.ip = in(function);
	for (uint64_t i = 0; i < UNWIND_REGISTERS; i++)
		fixture->regs.reg[i] = 0x1000 + i;
	fixture->words = fixture->stack + 16;
	fixture->regs.reg[UNWIND_SP] = STACK + 16 * 8;
}

static inline void teardown(struct fixture *fixture)
{
	table_store_destroy(fixture->store);
	unwind_table_deinit(&fixture->table);
}

static inline uint64_t address_of(const struct fixture *fixture, const uint64_t *word)
{
	return STACK + (uint64_t)(word - fixture->stack) * 8;
}

static inline void push(struct fixture *fixture, uint64_t word)
{
	*fixture->words++ = word;
}

/* The user stack that a tick sends. It is new to the recorder, whatever it was sent before. */
static inline const struct event_stack *tick_by(
	struct fixture *fixture, void (*tick)(const struct unwind_registers *regs))
{
	emulate_drain();
	++*emulated_variables().generation;
	emulated.time_ns += 1000000;
	tick(&fixture->regs);
	for (size_t n = 0;; n++) {
		const struct event_stack *stack = emulated_record(EVENT_STACK, n);
		if (!stack || stack->kind == EVENT_STACK_USER)
			return stack;
	}
}

static inline const struct event_stack *tick(struct fixture *fixture)
{
	return tick_by(fixture, emulate_tick);
}

/* Does as the recorder for each file that was announced; the number of the last. */
static inline uint32_t provide(struct fixture *fixture, uint32_t table)
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
static inline uint32_t setup_ready(struct fixture *fixture, enum function function)
{
	setup(fixture, function);
	tick(fixture);
	return provide(fixture, fixture->number);
}

static inline uint64_t file_frame(uint32_t number, uint64_t offset)
{
	return (uint64_t)EVENT_FRAME_FILE << EVENT_FRAME_KIND_SHIFT |
	       (uint64_t)number << EVENT_FRAME_FILE_SHIFT | offset;
}

static inline uint64_t caller_frame(uint32_t number, enum function function)
{
	return file_frame(number, offset_in(function) - 1);
}

static inline uint64_t guessed(uint64_t frame)
{
	return frame | 1ULL << EVENT_FRAME_FOUND_SHIFT;
}

static inline uint64_t frame_of(const struct event_stack *stack, size_t n)
{
	uint64_t frame;
	memcpy(&frame, (const uint8_t *)(stack + 1) + n * sizeof(frame), sizeof(frame));
	return frame;
}

static inline void check_frames(const struct event_stack *stack, enum event_stack_end end,
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

#endif
