/* Ticks in a process that is CPython 3.11 as far as the walk can tell: what it sends for it. */
#include <stdlib.h>
#include <string.h>

#include "bpf/vm/vm.h"
#include "record/table_store.h"
#include "record/unwind_rows.h"
#include "record/vm/python_layout.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

enum {
	CODE = 0x400000, /* the interpreter; file offsets are addresses less this */
	LOOP = 0x1000,   /* file offsets of its loop and of a function that calls that */
	CALLER = 0x2000,
	END = 0x3000,
	KEY = 0x5000,
	CURRENT = 0x5100, /* what points to the state that runs */
	TYPE = 0x6000,
	STACK = 0x7000000,
	STACK_WORDS = 512,
	LOOP_BYTES = 256, /* of its native frame */
	HEAP = 0x8000000,
	HEAP_WORDS = 512,
	/* Words of the heap: objects that stand for themselves. */
	STATE = 0,
	INNER = 32, /* frames */
	OUTER = 64,
	FIRST_CODE = 96,
	SECOND_CODE = 144,
	TEXT = 192,
	LINES = 208,
	OTHER_STATE = 256,
	THREAD_WORDS = 256,
	GLIBC_KEYS = 0x310 / 8,
};

struct fixture {
	struct table_store *store;
	struct unwind_table table;
	struct unwind_registers regs;
	uint32_t key;
	uint64_t type, current;
	uint64_t thread[THREAD_WORDS]; /* at address 0, where the emulated thread pointer is */
	uint64_t heap[HEAP_WORDS], stack[STACK_WORDS];
};

static uint64_t heap_address(uint64_t word)
{
	return HEAP + word * 8;
}

static uint64_t stack_address(uint64_t word)
{
	return STACK + word * 8;
}

static void build_table(struct fixture *fixture)
{
	static const struct unwind_rule loop = {.cfa = UNWIND_CFA_REGISTER,
		.cfa_register = UNWIND_SP,
		.cfa_offset = LOOP_BYTES,
		.ra = UNWIND_AT_CFA,
		.ra_offset = -8,
		.flags = UNWIND_INTERPRETER};
	static const struct unwind_rule caller = {
		.cfa = UNWIND_CFA_REGISTER, .ra = UNWIND_UNDEFINED};
	struct unwind_rows rows;
	unwind_rows_init(&rows, &fixture->table);
	unwind_rows_put(&rows, LOOP, &loop);
	unwind_rows_put(&rows, CALLER, &caller);
	unwind_rows_put_none(&rows, END);
	CHECK_OK(unwind_rows_finish(&rows));
	unwind_rows_deinit(&rows);
	fixture->table.vm.kind = VM_PYTHON;
	CHECK(python_layout_of_version(11, &fixture->table.vm.python));
	fixture->table.vm.python.key = KEY;
	fixture->table.vm.python.current = CURRENT;
	fixture->table.vm.python.code_type = TYPE;
	fixture->table.vm.python.loop = LOOP;
}

/* A code object with the name "ab", whose first line is `line`. */
static void put_code(struct fixture *fixture, uint64_t at, uint64_t line)
{
	uint64_t *code = fixture->heap + at;
	code[1] = CODE + TYPE;
	code[9] = line;
	code[14] = code[16] = heap_address(TEXT); /* file and qualified name */
	code[17] = heap_address(LINES);
	fixture->heap[TEXT + 2] = 2;
	fixture->heap[TEXT + 4] = 1 << 2 | 1 << 5 | 1 << 6; /* a byte a character, compact, ASCII */
	memcpy(&fixture->heap[TEXT + 6], "ab", 2);
	fixture->heap[LINES + 2] = 3;
	memcpy(&fixture->heap[LINES + 4], "\x81\x11\xf9", 3);
}

static void put_frame(struct fixture *fixture, uint64_t at, uint64_t code, uint64_t previous,
	uint64_t place, bool is_entry)
{
	uint64_t *frame = fixture->heap + at;
	frame[4] = heap_address(code);
	frame[6] = previous ? heap_address(previous) : 0;
	frame[7] = heap_address(code) + 184 + 2 * place;
	frame[8] = (uint64_t)is_entry << 32; /* byte 68 */
}

/* In the loop, which runs INNER, called by OUTER. */
static void setup(struct fixture *fixture)
{
	static const struct emulated_file file = {.inode = 1};
	static const struct emulated_vma vmas[] = {{CODE, CODE + 0x10000, 0, &file, true},
		{STACK, STACK + STACK_WORDS * 8, 0, NULL, false}};
	emulate_boot(EMULATED_6_13);
	emulate_mappings(vmas, 2, 0);
	*fixture = (struct fixture){.key = 3};
	build_table(fixture);
	CHECK_OK(emulate_table_store(2 * UNWIND_SHARD_WORDS * 4, &fixture->store));
	fixture->thread[GLIBC_KEYS + 3 * 2 + 1] = heap_address(STATE);
	fixture->heap[STATE + 7] = stack_address(10); /* the record, in the loop's frame */
	fixture->heap[STATE + 19] = 0;                /* the thread's pointer */
	fixture->stack[10 + 1] = heap_address(INNER);
	put_code(fixture, FIRST_CODE, 10);
	put_code(fixture, SECOND_CODE, 20);
	put_frame(fixture, INNER, FIRST_CODE, OUTER, 1, false);
	put_frame(fixture, OUTER, SECOND_CODE, 0, 0, true);
	emulate_memory(0, fixture->thread, sizeof(fixture->thread));
	emulate_memory(CODE + KEY, &fixture->key, sizeof(fixture->key));
	emulate_memory(CODE + CURRENT, &fixture->current, sizeof(fixture->current));
	emulate_memory(HEAP, fixture->heap, sizeof(fixture->heap));
	emulate_memory(STACK, fixture->stack, sizeof(fixture->stack));
	fixture->regs.ip = CODE + LOOP + 0x500;
	fixture->regs.reg[UNWIND_SP] = stack_address(4);
	fixture->stack[4 + LOOP_BYTES / 8 - 1] = CODE + CALLER + 5;
	emulate_tick(&fixture->regs);
	const struct event_file *event = emulated_record(EVENT_FILE, 0);
	CHECK(event != NULL);
	table_store_bind(fixture->store, event ? event->file : 1,
		table_store_add(fixture->store, &fixture->table));
}

static void teardown(struct fixture *fixture)
{
	table_store_destroy(fixture->store);
	unwind_table_deinit(&fixture->table);
}

static const uint64_t *tick(struct fixture *fixture, uint32_t *count)
{
	emulate_drain();
	++*emulated_generation();
	emulate_tick(&fixture->regs);
	const struct event_stack *stack = emulated_record(EVENT_STACK, 0);
	CHECK(stack != NULL);
	*count = stack ? stack->nr_frames : 0;
	return stack ? (const uint64_t *)(stack + 1) : NULL;
}

static bool is_vm(uint64_t word)
{
	return word >> EVENT_FRAME_KIND_SHIFT == EVENT_FRAME_VM;
}

static uint32_t number_of(uint64_t word)
{
	return word >> VM_FRAME_CODE_SHIFT & ((1 << VM_FRAME_CODE_BITS) - 1);
}

static uint32_t place_of(uint64_t word)
{
	return word & ((1 << VM_FRAME_CODE_SHIFT) - 1);
}

TEST(script_frames_come_before_the_loop)
{
	struct fixture fixture;
	uint32_t count;
	setup(&fixture);
	const uint64_t *words = tick(&fixture, &count);
	CHECK_INT(count, 4);
	CHECK(is_vm(words[0]) && is_vm(words[1]) && !is_vm(words[2]) && !is_vm(words[3]));
	CHECK_INT(place_of(words[0]), 1);
	CHECK_INT(place_of(words[1]), 0);
	const struct event_vm_code *code = emulated_record(EVENT_VM_CODE, 0);
	CHECK(code != NULL && number_of(words[0]) == code->number);
	CHECK_INT(code->first_line, 10);
	CHECK_INT(code->bytes[VM_TEXT_NAME], 2);
	CHECK_INT(code->bytes[VM_TEXT_LINES], 3);
	CHECK(memcmp(code + 1, "abab\x81\x11\xf9", 7) == 0);
	CHECK(number_of(words[0]) != number_of(words[1]));
	teardown(&fixture);
}

TEST(code_is_sent_once_until_it_changes)
{
	struct fixture fixture;
	uint32_t count;
	setup(&fixture);
	uint32_t number = number_of(tick(&fixture, &count)[0]);
	CHECK_INT(number_of(tick(&fixture, &count)[0]), number);
	CHECK_INT(emulated_count(EVENT_VM_CODE), 0);
	fixture.heap[FIRST_CODE + 9] = 11; /* another one at the same address */
	CHECK(number_of(tick(&fixture, &count)[0]) != number);
	CHECK_INT(emulated_count(EVENT_VM_CODE), 1);
	emulated.start_ns++; /* another process */
	tick(&fixture, &count);
	CHECK_INT(emulated_count(EVENT_VM_CODE), 2);
	teardown(&fixture);
}

TEST(what_is_no_code_gets_no_name)
{
	struct fixture fixture;
	uint32_t count;
	setup(&fixture);
	fixture.heap[FIRST_CODE + 1] = CODE + TYPE + 8;
	const uint64_t *words = tick(&fixture, &count);
	CHECK_INT(count, 4);
	CHECK_INT(number_of(words[0]), 0);
	CHECK_INT(place_of(words[0]), VM_PYTHON << VM_FRAME_FAILED_KIND_SHIFT | VM_FAILED_TORN);
	CHECK(number_of(words[1]) != 0);
	teardown(&fixture);
}

TEST(a_thread_that_is_not_pythons_has_no_frames)
{
	struct fixture fixture;
	uint32_t count;
	setup(&fixture);
	fixture.heap[STATE + 19] = 1; /* another thread's */
	const uint64_t *words = tick(&fixture, &count);
	CHECK_INT(count, 3);
	CHECK_INT(place_of(words[0]), VM_PYTHON << VM_FRAME_FAILED_KIND_SHIFT | VM_FAILED_STATE);
	teardown(&fixture);
}

TEST(a_loop_that_ends_has_none_and_one_that_begins_has_its_argument)
{
	struct fixture fixture;
	uint32_t count;
	setup(&fixture);
	fixture.heap[STATE + 7] = stack_address(100); /* above the loop's native frame */
	tick(&fixture, &count);
	CHECK_INT(count, 2);
	fixture.regs.ip = CODE + LOOP + 16;
	fixture.regs.reg[4] = heap_address(OUTER);
	CHECK_INT(place_of(tick(&fixture, &count)[0]), 0);
	CHECK_INT(count, 3);
	teardown(&fixture);
}

/* The thread's first state has the frames of the outer loop only. */
TEST(interpreters_within_one_have_their_own_frames)
{
	enum {
		LOOP_WORDS = LOOP_BYTES / 8
	};
	struct fixture fixture;
	uint32_t count;
	setup(&fixture);
	put_frame(&fixture, INNER, FIRST_CODE, 0, 1, true);
	fixture.current = heap_address(OTHER_STATE);
	fixture.heap[OTHER_STATE + 7] = stack_address(10);
	fixture.heap[STATE + 7] = stack_address(10 + LOOP_WORDS);
	fixture.stack[10 + LOOP_WORDS + 1] = heap_address(OUTER);
	fixture.stack[4 + LOOP_WORDS - 1] = CODE + LOOP + 0x600;
	fixture.stack[4 + 2 * LOOP_WORDS - 1] = CODE + CALLER + 5;
	const uint64_t *words = tick(&fixture, &count);
	CHECK_INT(count, 5);
	CHECK(is_vm(words[0]) && !is_vm(words[1]) && is_vm(words[2]) && !is_vm(words[3]));
	CHECK(number_of(words[0]) && number_of(words[2]));
	CHECK(number_of(words[0]) != number_of(words[2]));
	teardown(&fixture);
}

TEST(frames_in_a_circle_end)
{
	struct fixture fixture;
	uint32_t count;
	setup(&fixture);
	put_frame(&fixture, INNER, FIRST_CODE, INNER, 1, false);
	tick(&fixture, &count);
	CHECK_INT(count, EVENT_MAX_USER_FRAMES);
	teardown(&fixture);
}

/* A million frames: as many are taken as a stack may have, and none is looked at behind these. */
TEST(endless_recursion_is_cut)
{
	enum {
		FRAMES = 1000000,
		FRAME_WORDS = 9,
		DEEP = 0x9000000
	};
	struct fixture fixture;
	uint32_t count;
	setup(&fixture);
	uint64_t *frames = calloc(FRAMES, FRAME_WORDS * 8);
	CHECK(frames != NULL);
	for (uint64_t i = 0; frames && i < FRAMES; i++) {
		uint64_t *frame = frames + i * FRAME_WORDS;
		frame[4] = heap_address(FIRST_CODE);
		frame[6] = i + 1 < FRAMES ? DEEP + (i + 1) * FRAME_WORDS * 8 : 0;
		frame[7] = heap_address(FIRST_CODE) + 184;
	}
	emulate_memory(DEEP, frames, (size_t)FRAMES * FRAME_WORDS * 8);
	fixture.stack[10 + 1] = DEEP;
	tick(&fixture, &count);
	CHECK_INT(count, EVENT_MAX_USER_FRAMES);
	CHECK_INT(emulated_count(EVENT_VM_CODE), 1);
	teardown(&fixture);
	free(frames);
}

enum {
	JIT = 0xa000000,
	JIT_WORDS = 16,
};

/* A tick in the loop, which code of nobody called, and that was called by CALLER. */
static const uint64_t *tick_under_trampoline(
	struct fixture *fixture, uint64_t *code, uint64_t instructions, uint32_t *count)
{
	static const struct emulated_file file = {.inode = 1};
	static const struct emulated_vma vmas[] = {{CODE, CODE + 0x10000, 0, &file, true},
		{STACK, STACK + STACK_WORDS * 8, 0, NULL, false},
		{JIT, JIT + JIT_WORDS * 8, 0, NULL, true}};
	emulate_mappings(vmas, 3, 0);
	code[1] = instructions;
	emulate_memory(JIT, code, JIT_WORDS * 8);
	uint64_t *loop_end = fixture->stack + 4 + LOOP_BYTES / 8;
	loop_end[-1] = JIT + 8;
	loop_end[1] = CODE + CALLER + 5;
	return tick(fixture, count);
}

TEST(a_trampoline_is_left_and_has_no_frame)
{
	static const uint64_t ways[] = {
		0xc308c48348, 0xc35d}; /* add $8,%rsp; ret and pop %rbp; ret */
	struct fixture fixture;
	uint64_t code[JIT_WORDS] = {0};
	uint32_t count;
	setup(&fixture);
	for (int i = 0; i < 2; i++) {
		const uint64_t *words = tick_under_trampoline(&fixture, code, ways[i], &count);
		CHECK_INT(count, 4);
		CHECK(is_vm(words[0]) && is_vm(words[1]) && !is_vm(words[2]));
		CHECK_INT(words[3] >> EVENT_FRAME_KIND_SHIFT, EVENT_FRAME_FILE);
	}
	const uint64_t *words = tick_under_trampoline(&fixture, code, 0x9090909090909090, &count);
	CHECK(count >= 4 && words[3] >> EVENT_FRAME_KIND_SHIFT != EVENT_FRAME_FILE);
	teardown(&fixture);
}
