/* Ticks in a process that is LuaJIT as far as the walk can tell, in the interpreter and a trace. */
#include <string.h>

#include "bpf/runtime/luajit/luajit_row.h"
#include "tests/unit/bpf_runtime_fixture.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

/* Words of the interpreter's native frame, and DWARF's numbers of registers. */
#if defined(__x86_64__)
enum {
	LOOP_BYTES = 80,
	FRAME_PLACE = 3,
	FRAME_PREVIOUS = 4,
	BASE_REGISTER = 1,
	PLACE_REGISTER = UNWIND_EXTRA,
	CODE_UNIT = 1,
};
#else
enum {
	LOOP_BYTES = 208,
	FRAME_PLACE = 1,
	FRAME_PREVIOUS = 0,
	BASE_REGISTER = 19,
	PLACE_REGISTER = 21,
	CODE_UNIT = 4,
};
#endif

enum {
	FRAME_STATE = 2,
	FRAME_RETURN = LOOP_BYTES / 8 - 1,
	SP = 20, /* a word of the stack: the interpreter's native frame */
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

static struct luajit_row *luajit_row_of(struct runtime_fixture *fixture)
{
	return (void *)fixture->table.runtime.words;
}

static uint64_t code_address(uint64_t function)
{
	return heap_address(function + 8 + PROTO_WORDS);
}

static void put_row(struct runtime_fixture *fixture)
{
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
	fixture->table.runtime.kind = RUNTIME_LUAJIT;
	*luajit_row_of(fixture) = (struct luajit_row){
		.loop = LOOP, .code = code, .traces = TRACES * 8, .version = 21};
}

/* A function of four instructions. */
static void put_function(struct runtime_fixture *fixture, uint64_t at, uint64_t first_line)
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
static uint64_t put_frame(
	struct runtime_fixture *fixture, uint64_t at, uint64_t function, uint64_t link)
{
	fixture->heap[at] = (0x1fff7ULL << 47) | heap_address(function);
	fixture->heap[at + 1] = link;
	return at + 2;
}

/* SECOND calls what it takes from the global variable "work". */
static void put_texts(struct runtime_fixture *fixture)
{
	uint32_t code[4] = {0, 54 | 2 << 8, 66 | 2 << 8, 0};
	memcpy(&fixture->heap[SECOND + 8 + PROTO_WORDS], code, sizeof(code));
	fixture->heap[CONSTANTS - 1] = heap_address(NAME);
	memcpy(&fixture->heap[NAME + 3], "work", 5);
	memcpy(&fixture->heap[SOURCE + 3], "@a.lua", 7);
	memcpy(&fixture->heap[LINES], "\1\2\3", 3);
}

static void put_state(struct runtime_fixture *fixture)
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
	fixture->stack[SP + FRAME_STATE] = heap_address(STATE);
	fixture->stack[SP + FRAME_PLACE] = code_address(FIRST) + 2 * 4;
	fixture->stack[SP + FRAME_RETURN] = CODE + CALLER + 5;
}

static void setup(struct runtime_fixture *fixture)
{
	runtime_fixture_init(fixture, LOOP_BYTES);
	put_row(fixture);
	put_function(fixture, FIRST, 10);
	put_function(fixture, SECOND, 20);
	put_texts(fixture);
	put_state(fixture);
	fixture->regs.reg[UNWIND_SP] = stack_address(SP);
	runtime_fixture_bind(fixture);
}

TEST(frames_of_the_interpreter)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	runtime_fixture_tick(&fixture);
	CHECK_INT(fixture.count, 4);
	CHECK_STR(sent_frames(&fixture), "work+1 function@a.lua:20+2");
	fixture.regs.known = 1ULL << PLACE_REGISTER;
	fixture.regs.reg[PLACE_REGISTER] = code_address(FIRST) + 4 * 4;
	CHECK_INT(place_of(runtime_fixture_tick(&fixture)[0]), 3);
	runtime_fixture_deinit(&fixture);
}

/* SECOND calls its local variable number 1; variables begin behind it, too. */
TEST(a_local_variable_that_is_not_the_last_has_its_name)
{
	enum {
		LOCALS = 600, /* a word of the heap */
	};
	struct runtime_fixture fixture;
	setup(&fixture);
	uint32_t code[4] = {0, 18 | 2 << 8 | 1 << 16, 66 | 2 << 8, 0};
	memcpy(&fixture.heap[SECOND + 8 + PROTO_WORDS], code, sizeof(code));
	fixture.heap[SECOND + 8 + 12] = heap_address(LOCALS);
	memcpy(&fixture.heap[LOCALS], "first\0\0\4second\0\0\4third\0\0\4fourth\0\0\4", 34);
	runtime_fixture_tick(&fixture);
	CHECK_STR(sent_text(0, RUNTIME_TEXT_NAME), "second");
	runtime_fixture_deinit(&fixture);
}

TEST(a_base_in_a_register_is_the_innermost)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	fixture.regs.reg[BASE_REGISTER] = heap_address(LUA_STACK + 4);
	runtime_fixture_tick(&fixture);
	CHECK_INT(fixture.count, 3);
	fixture.regs.reg[BASE_REGISTER] = heap_address(LUA_STACK + 5); /* no function below it */
	runtime_fixture_tick(&fixture);
	CHECK_INT(fixture.count, 4);
	runtime_fixture_deinit(&fixture);
}

/* In the middle of what the trace inlined: FIRST, called by SECOND, which is on the stack. */
static void put_trace(struct runtime_fixture *fixture)
{
	uint64_t *trace = fixture->heap + TRACE, *global = fixture->heap + GLOBAL;
	uint32_t map[4] = {2 << 24 | 2, 3 << 24 | 1 << 16 | 4};
	uint64_t place = (code_address(FIRST) + 3 * 4) << 8 | 2;
	uint32_t snapshots[6] = {0, 0, 1, 0, 100 / CODE_UNIT << 16, 2 << 16 | 4};
	global[23] = 1; /* vmstate: on x86-64 it is the trace's number */
#if defined(__aarch64__)
	static const uint32_t exits[] = {0xf90003fe, 0x94000100, 0x52800020}; /* of number 1 */
	static uint8_t code[1024];
	memcpy(code + 400, exits, sizeof(exits)); /* not in the first words that are read */
	memcpy(code + 40, exits, 4);
	emulate_memory(JIT + 200, code, sizeof(code));
#endif
	global[47] = heap_address(LUA_STACK + 4);
	global[TRACES] = heap_address(ARRAY);
	fixture->heap[ARRAY + 1] = heap_address(TRACE);
	trace[1] = 2 << 16;
	trace[4] = heap_address(IR);
	trace[6] = heap_address(SNAPSHOTS);
	trace[7] = heap_address(MAP);
	trace[9] = code_address(SECOND) + 4;
	trace[10] = 1000ULL << 32;
	trace[11] = JIT;
	trace[13] = 1;
	memcpy(map + 2, &place, sizeof(place));
	memcpy(&fixture->heap[MAP], map, sizeof(map));
	memcpy(&fixture->heap[SNAPSHOTS], snapshots, sizeof(snapshots));
	fixture->heap[IR + 3] = heap_address(FIRST);
	fixture->heap[IR + 5] = code_address(SECOND) + 3 * 4;
}

#if defined(__aarch64__)
/* lj_vm_modi(), say: a part of the interpreter's code that traces call. */
TEST(a_helper_of_the_interpreter_that_a_trace_called)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	put_trace(&fixture);
	fixture.regs.reg[UNWIND_SP] = stack_address(SP - 8);
	fixture.regs.reg[UNWIND_RA] = JIT + 204;
	fixture.regs.reg[BASE_REGISTER] = 1000003;
	runtime_fixture_tick(&fixture);
	CHECK_STR(sent_frames(&fixture), "work+2 function@a.lua:20+2");
	runtime_fixture_deinit(&fixture);
}

/* The last trace's exits are at the end of the compiler's memory. */
TEST(exits_of_a_trace_at_the_end_of_memory)
{
	static const uint32_t exits[] = {0xf90003fe, 0x94000100, 0x52800020};
	struct runtime_fixture fixture;
	setup(&fixture);
	put_trace(&fixture);
	fixture.regs.ip = JIT + 4096 - 40;
	fixture.heap[TRACE + 11] = JIT + 4096 - 240;
	fixture.regs.reg[UNWIND_SP] = stack_address(SP - 8);
	static uint8_t code[40];
	memcpy(code + 20, exits, sizeof(exits));
	emulate_memory(JIT + 4096 - 40, code, sizeof(code));
	runtime_fixture_tick(&fixture);
	CHECK_STR(sent_frames(&fixture), "work+2 function@a.lua:20+2");
	runtime_fixture_deinit(&fixture);
}
#endif

TEST(frames_of_a_trace)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	put_trace(&fixture);
	fixture.regs.ip = JIT + 200;
	fixture.regs.reg[UNWIND_SP] = stack_address(SP - 8);
	runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "ssnn");
	CHECK_STR(sent_frames(&fixture), "work+2 function@a.lua:20+2");
	fixture.heap[TRACE + 13] = 2; /* another trace: what is on the stack */
	runtime_fixture_tick(&fixture);
	CHECK_INT(fixture.count, 3);
	runtime_fixture_deinit(&fixture);
}

/* A callback of a C function: it is that which the interpreter returns to. */
TEST(a_trace_that_other_code_called)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	put_trace(&fixture);
	fixture.regs.ip = JIT + 200;
	fixture.regs.reg[UNWIND_SP] = stack_address(SP - 8);
	fixture.stack[SP + FRAME_RETURN] = JIT + 8;
	fixture.heap[GLOBAL] = CODE + CALLER + 16; /* who allocates memory */
	const uint64_t *words = runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "ssna");
	fixture.heap[GLOBAL] = JIT + 16;
	words = runtime_fixture_tick(&fixture);
	CHECK(words && !is_script(words[0]));
	/* The interpreter's native frame before. */
	fixture.stack[SP + FRAME_PREVIOUS] = stack_address(SP + 30);
	fixture.stack[SP + 30 + FRAME_RETURN] = CODE + CALLER + 5;
	words = runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "ssna");
	runtime_fixture_deinit(&fixture);
}

TEST(code_of_no_file_without_an_interpreter_below)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	fixture.regs.ip = JIT + 200;
	fixture.regs.reg[UNWIND_SP] = stack_address(SP - 8);
	fixture.heap[STATE + 10] = stack_address(SP + 2);
	runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "a");
	runtime_fixture_deinit(&fixture);
}

TEST(frames_that_do_not_come_to_an_end)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	put_frame(
		&fixture, LUA_STACK + 2, SECOND, 1 << 3 | 6); /* the link leads to itself, nearly */
	runtime_fixture_tick(&fixture);
	CHECK(fixture.count >= 3 && fixture.count < 16);
	put_frame(&fixture, LUA_STACK + 6, FIRST, 6);
	runtime_fixture_tick(&fixture);
	CHECK_INT(fixture.count, 3);
	runtime_fixture_deinit(&fixture);
}
