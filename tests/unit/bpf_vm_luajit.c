/* Ticks in a process that is LuaJIT as far as the walk can tell, in the interpreter and a trace. */
#include <string.h>

#include "bpf/vm/vm.h"
#include "record/table_store.h"
#include "record/unwind_rows.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

enum {
	CODE = 0x400000, /* the interpreter; file offsets are addresses less this */
	LOOP = 0x1000,   /* file offsets of its loop and of a function that calls that */
	CALLER = 0x2000,
	END = 0x3000,
	MACHINE_CODE = 0x600000, /* of a trace: memory of no file */
	STACK = 0x7000000,
	STACK_WORDS = 512,
	SP = 20, /* a word of the stack: the interpreter's native frame */
	HEAP = 0x8000000,
	HEAP_WORDS = 2048,
	/* Words of the heap. */
	STATE = 0,
	GLOBAL = 32,
	TRACES = 128, /* from GLOBAL: the pointer to the array */
	ARRAY = 200,
	TRACE = 210,
	SNAPSHOTS = 230,
	MAP = 240,
	IR = 250,
	LUA_STACK = 300,
	FIRST = 400, /* a function; its prototype and instructions */
	SECOND = 440,
	CONSTANTS = 500, /* before it: they are numbered downwards */
	NAME = 510,
	SOURCE = 520,
	LINES = 530,
	PROTO_WORDS = 13,
};

struct fixture {
	struct table_store *store;
	struct unwind_table table;
	struct unwind_registers regs;
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

static uint64_t code_address(uint64_t function)
{
	return heap_address(function + 8 + PROTO_WORDS);
}

static void build_table(struct fixture *fixture)
{
	static const struct unwind_rule loop = {.cfa = UNWIND_CFA_REGISTER,
		.cfa_register = UNWIND_SP,
		.cfa_offset = 80,
		.ra = UNWIND_AT_CFA,
		.ra_offset = -8,
		.flags = UNWIND_INTERPRETER};
	static const struct unwind_rule caller = {
		.cfa = UNWIND_CFA_REGISTER, .ra = UNWIND_UNDEFINED};
	static const struct lua_code code = {.sets_a = {0xf782ffffffc3000},
		.sets_from = {0x8000100000000000, 0x1fe3fe},
		.op_mask = 255,
		.shift_a = 8,
		.jump_bias = 0x8000,
		.jump_shift = 16,
		.move = 18,
		.call = 66,
		.get_upvalue = 45,
		.get_global = 54,
		.get_field = 57,
		.jump = 88};
	struct unwind_rows rows;
	unwind_rows_init(&rows, &fixture->table);
	unwind_rows_put(&rows, LOOP, &loop);
	unwind_rows_put(&rows, CALLER, &caller);
	unwind_rows_put_none(&rows, END);
	CHECK_OK(unwind_rows_finish(&rows));
	unwind_rows_deinit(&rows);
	fixture->table.vm.kind = VM_LUAJIT;
	fixture->table.vm.luajit =
		(struct luajit_vm){.loop = LOOP, .code = code, .traces = TRACES * 8, .version = 21};
}

/* A function of four instructions. */
static void put_function(struct fixture *fixture, uint64_t at, uint64_t first_line)
{
	uint64_t *proto = fixture->heap + at + 8;
	fixture->heap[at + 1] = 8 << 8;
	fixture->heap[at + 4] = code_address(at);
	proto[1] = 7 << 8 | 4ULL << 32;
	proto[4] = heap_address(CONSTANTS);
	proto[8] = heap_address(SOURCE);
	proto[9] = first_line | 5ULL << 32;
	proto[10] = heap_address(LINES);
}

/* A frame: its function and its link. Returns the word of its base. */
static uint64_t put_frame(struct fixture *fixture, uint64_t at, uint64_t function, uint64_t link)
{
	fixture->heap[at] = (0x1fff7ULL << 47) | heap_address(function);
	fixture->heap[at + 1] = link;
	return at + 2;
}

/* SECOND calls what it takes from the global variable "work". */
static void put_texts(struct fixture *fixture)
{
	uint32_t code[4] = {0, 54 | 2 << 8, 66 | 2 << 8, 0};
	memcpy(&fixture->heap[SECOND + 8 + PROTO_WORDS], code, sizeof(code));
	fixture->heap[CONSTANTS - 1] = heap_address(NAME);
	memcpy(&fixture->heap[NAME + 3], "work", 5);
	memcpy(&fixture->heap[SOURCE + 3], "@a.lua", 7);
	memcpy(&fixture->heap[LINES], "\1\2\3", 3);
}

static void put_state(struct fixture *fixture)
{
	uint64_t *state = fixture->heap + STATE;
	uint64_t outer = put_frame(fixture, LUA_STACK + 2, SECOND, 2 * 8 << 0 | 1);
	uint64_t inner = put_frame(fixture, outer + 2, FIRST, code_address(SECOND) + 3 * 4);
	state[1] = 6 << 8;
	state[2] = heap_address(GLOBAL);
	state[4] = heap_address(inner);
	state[6] = heap_address(LUA_STACK + 60);
	state[7] = heap_address(LUA_STACK - 1);
	state[10] = stack_address(SP);
	fixture->stack[SP + 2] = heap_address(STATE);
	fixture->stack[SP + 3] = code_address(FIRST) + 2 * 4;
	fixture->stack[SP + 9] = CODE + CALLER + 5;
}

static void setup(struct fixture *fixture)
{
	static const struct emulated_file file = {.inode = 1};
	static const struct emulated_vma vmas[] = {{CODE, CODE + 0x10000, 0, &file, true},
		{MACHINE_CODE, MACHINE_CODE + 0x10000, 0, NULL, true},
		{STACK, STACK + STACK_WORDS * 8, 0, NULL, false}};
	emulate_boot(EMULATED_6_13);
	emulate_mappings(vmas, 3, 0);
	*fixture = (struct fixture){.store = NULL};
	build_table(fixture);
	CHECK_OK(emulate_table_store(2 * UNWIND_SHARD_WORDS * 4, &fixture->store));
	put_function(fixture, FIRST, 10);
	put_function(fixture, SECOND, 20);
	put_texts(fixture);
	put_state(fixture);
	emulate_memory(HEAP, fixture->heap, sizeof(fixture->heap));
	emulate_memory(STACK, fixture->stack, sizeof(fixture->stack));
	fixture->regs.ip = CODE + LOOP + 0x500;
	fixture->regs.reg[UNWIND_SP] = stack_address(SP);
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

static uint32_t place_of(uint64_t word)
{
	return word & ((1 << VM_FRAME_CODE_SHIFT) - 1);
}

static bool is_vm(uint64_t word)
{
	return word >> EVENT_FRAME_KIND_SHIFT == EVENT_FRAME_VM;
}

/* Whether the n-th code that was sent is called this. */
static bool is_called(uint32_t n, const char *name)
{
	const struct event_vm_code *code = emulated_record(EVENT_VM_CODE, n);
	return code && code->bytes[VM_TEXT_NAME] == strlen(name) &&
	       memcmp(code + 1, name, strlen(name)) == 0;
}

TEST(frames_of_the_interpreter)
{
	struct fixture fixture;
	uint32_t count;
	setup(&fixture);
	const uint64_t *words = tick(&fixture, &count);
	CHECK_INT(count, 4);
	CHECK_INT(place_of(words[0]), 1);
	CHECK_INT(place_of(words[1]), 2);
	CHECK(is_called(0, "work") && is_called(1, "function@a.lua:20"));
	fixture.regs.known = 1ULL << UNWIND_RBX;
	fixture.regs.reg[UNWIND_RBX] = code_address(FIRST) + 4 * 4;
	CHECK_INT(place_of(tick(&fixture, &count)[0]), 3);
	teardown(&fixture);
}

/* SECOND calls its local variable number 1; variables begin behind it, too. */
TEST(a_local_variable_that_is_not_the_last_has_its_name)
{
	enum {
		LOCALS = 600, /* a word of the heap */
	};
	struct fixture fixture;
	uint32_t count;
	setup(&fixture);
	uint32_t code[4] = {0, 18 | 2 << 8 | 1 << 16, 66 | 2 << 8, 0};
	memcpy(&fixture.heap[SECOND + 8 + PROTO_WORDS], code, sizeof(code));
	fixture.heap[SECOND + 8 + 12] = heap_address(LOCALS);
	memcpy(&fixture.heap[LOCALS], "first\0\0\4second\0\0\4third\0\0\4fourth\0\0\4", 34);
	tick(&fixture, &count);
	CHECK(is_called(0, "second"));
	teardown(&fixture);
}

TEST(a_base_in_a_register_is_the_innermost)
{
	struct fixture fixture;
	uint32_t count;
	setup(&fixture);
	fixture.regs.reg[1] = heap_address(LUA_STACK + 4); /* rdx */
	tick(&fixture, &count);
	CHECK_INT(count, 3);
	fixture.regs.reg[1] = heap_address(LUA_STACK + 5); /* no function below it */
	tick(&fixture, &count);
	CHECK_INT(count, 4);
	teardown(&fixture);
}

/* In the middle of what the trace inlined: FIRST, called by SECOND, which is on the stack. */
static void put_trace(struct fixture *fixture)
{
	uint64_t *trace = fixture->heap + TRACE, *global = fixture->heap + GLOBAL;
	uint32_t map[4] = {2 << 24 | 2, 3 << 24 | 1 << 16 | 4};
	uint64_t place = (code_address(FIRST) + 3 * 4) << 8 | 2;
	uint32_t snapshots[6] = {0, 0, 1, 0, 100 << 16, 2 << 16 | 4};
	global[23] = 1; /* vmstate */
	global[47] = heap_address(LUA_STACK + 4);
	global[TRACES] = heap_address(ARRAY);
	fixture->heap[ARRAY + 1] = heap_address(TRACE);
	trace[1] = 2 << 16;
	trace[4] = heap_address(IR);
	trace[6] = heap_address(SNAPSHOTS);
	trace[7] = heap_address(MAP);
	trace[9] = code_address(SECOND) + 4;
	trace[10] = 1000ULL << 32;
	trace[11] = MACHINE_CODE;
	trace[13] = 1;
	memcpy(map + 2, &place, sizeof(place));
	memcpy(&fixture->heap[MAP], map, sizeof(map));
	memcpy(&fixture->heap[SNAPSHOTS], snapshots, sizeof(snapshots));
	fixture->heap[IR + 3] = heap_address(FIRST);
	fixture->heap[IR + 5] = code_address(SECOND) + 3 * 4;
}

TEST(frames_of_a_trace)
{
	struct fixture fixture;
	uint32_t count;
	setup(&fixture);
	put_trace(&fixture);
	fixture.regs.ip = MACHINE_CODE + 200;
	fixture.regs.reg[UNWIND_SP] = stack_address(SP - 8);
	const uint64_t *words = tick(&fixture, &count);
	CHECK_INT(count, 4);
	CHECK(is_vm(words[0]) && is_vm(words[1]) && !is_vm(words[2]) && !is_vm(words[3]));
	CHECK_INT(place_of(words[0]), 2);
	CHECK_INT(place_of(words[1]), 2);
	CHECK(is_called(0, "work") && is_called(1, "function@a.lua:20"));
	fixture.heap[TRACE + 13] = 2; /* another trace: what is on the stack */
	words = tick(&fixture, &count);
	CHECK_INT(count, 3);
	teardown(&fixture);
}

/* A callback of a C function: it is that which the interpreter returns to. */
TEST(a_trace_that_other_code_called)
{
	struct fixture fixture;
	uint32_t count;
	setup(&fixture);
	put_trace(&fixture);
	fixture.regs.ip = MACHINE_CODE + 200;
	fixture.regs.reg[UNWIND_SP] = stack_address(SP - 8);
	fixture.stack[SP + 9] = MACHINE_CODE + 8;
	fixture.heap[GLOBAL] = CODE + CALLER + 16; /* who allocates memory */
	const uint64_t *words = tick(&fixture, &count);
	CHECK_INT(count, 4);
	CHECK(is_vm(words[0]) && is_vm(words[1]) && !is_vm(words[2]) && !is_vm(words[3]));
	fixture.heap[GLOBAL] = MACHINE_CODE + 16;
	words = tick(&fixture, &count);
	CHECK(count && !is_vm(words[0]));
	fixture.stack[SP + 4] = stack_address(SP + 20); /* the interpreter's native frame before */
	fixture.stack[SP + 29] = CODE + CALLER + 5;
	words = tick(&fixture, &count);
	CHECK_INT(count, 4);
	CHECK(is_vm(words[0]) && is_vm(words[1]) && !is_vm(words[2]));
	teardown(&fixture);
}

TEST(code_of_no_file_without_an_interpreter_below)
{
	struct fixture fixture;
	uint32_t count;
	setup(&fixture);
	fixture.regs.ip = MACHINE_CODE + 200;
	fixture.regs.reg[UNWIND_SP] = stack_address(SP - 8);
	fixture.heap[STATE + 10] = stack_address(SP + 2);
	const uint64_t *words = tick(&fixture, &count);
	CHECK_INT(count, 1);
	CHECK(!is_vm(words[0]));
	teardown(&fixture);
}

TEST(frames_that_do_not_come_to_an_end)
{
	struct fixture fixture;
	uint32_t count;
	setup(&fixture);
	put_frame(
		&fixture, LUA_STACK + 2, SECOND, 1 << 3 | 6); /* the link leads to itself, nearly */
	tick(&fixture, &count);
	CHECK(count >= 3 && count < 16);
	put_frame(&fixture, LUA_STACK + 6, FIRST, 6);
	tick(&fixture, &count);
	CHECK_INT(count, 3);
	teardown(&fixture);
}
