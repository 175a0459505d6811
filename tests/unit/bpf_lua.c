/* Ticks in a process that is Lua as far as the walk can tell, mostly 5.4: what it sends for it. */
#include <string.h>

#include "record/runtime/lua/lua_layout.h"
#include "tests/unit/bpf_runtime_fixture.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

enum {
	LOOP_BYTES = 256, /* of its native frame */
	SP = 33,          /* a word of the stack */
	RETURN = SP + LOOP_BYTES / 8 - 1,
	/* The registers that the loop saved, and two in which it may have its instruction. */
#if defined(__x86_64__)
	SAVED = RETURN - 6,
	KEPT_REGISTER = 13,
	OTHER_KEPT_REGISTER = 14,
#elif defined(__aarch64__)
	SAVED = SP + 2, /* behind x29 and x30 */
	KEPT_REGISTER = 19,
	OTHER_KEPT_REGISTER = 27,
#endif
	/* Words of the heap: objects that stand for themselves. */
	STATE = 0,
	OTHER_STATE = 16,
	GLOBAL = 64,
	INNER = 128, /* calls */
	OUTER = 144,
	VALUES = 160, /* functions on Lua's own stack, and what they are */
	FIRST = 200,  /* a closure, its prototype, its instructions */
	SECOND = 300,
	CONSTANTS = 400,
	NAME = 410,
	SOURCE = 420,
	LINES = 430,
	FRESH = 1 << 2, /* of calls */
	IS_C = 1 << 1,
};

static struct lua_row *lua_row_of(struct runtime_fixture *fixture)
{
	return (void *)fixture->table.runtime.words;
}

static void put_row(struct runtime_fixture *fixture, uint32_t version)
{
	fixture->table.runtime.kind = RUNTIME_LUA;
	CHECK(lua_layout_of_version(version, 4, lua_row_of(fixture)));
	lua_row_of(fixture)->loop = LOOP;
}

static void put_state(struct runtime_fixture *fixture, uint64_t at, uint64_t call, uint64_t error)
{
	uint64_t *state = fixture->heap + at;
	state[1] = 8;
	state[3] = heap_address(GLOBAL);
	state[4] = heap_address(call);
	state[11] = error;
}

/* A function of three instructions, each on a line of its own. */
static void put_function(struct runtime_fixture *fixture, uint64_t at, uint64_t first_line)
{
	uint64_t *proto = fixture->heap + at + 8;
	fixture->heap[at + 3] = heap_address(at + 8);
	proto[1] = 10;
	proto[3] = 3 | 3ULL << 32; /* instructions, lines */
	proto[5] = first_line << 32;
	proto[7] = heap_address(CONSTANTS);
	proto[8] = heap_address(at + 32);
	proto[11] = heap_address(LINES);
	proto[14] = heap_address(SOURCE);
}

static void put_call(struct runtime_fixture *fixture, uint64_t at, uint64_t function,
	uint64_t previous, uint64_t place, uint64_t status)
{
	uint64_t *call = fixture->heap + at;
	uint64_t value = VALUES + (at - INNER) / 4;
	fixture->heap[value] = heap_address(function);
	fixture->heap[value + 1] = 0x46;
	call[0] = heap_address(value);
	call[2] = previous ? heap_address(previous) : 0;
	call[4] = heap_address(function + 32) + 4 * place;
	call[7] = status << 48;
}

static uint32_t instruction(uint32_t op, uint32_t a, uint32_t b, uint32_t c)
{
	return op | a << 7 | b << 16 | c << 24;
}

/* OUTER calls what it takes from the global variable "work", and is there. */
static void put_calling_code(struct runtime_fixture *fixture)
{
	uint32_t code[3] = {
		instruction(11, 1, 0, 0), instruction(68, 1, 1, 1), instruction(70, 0, 1, 0)};
	memcpy(&fixture->heap[SECOND + 32], code, sizeof(code));
	fixture->heap[CONSTANTS] = heap_address(NAME);
	fixture->heap[CONSTANTS + 1] = 0x44;
	memcpy(&fixture->heap[NAME + 3], "work", 5);
	memcpy(&fixture->heap[SOURCE + 3], "@a.lua", 7);
	memcpy(&fixture->heap[LINES], "\1\1\1", 3);
}

static void setup_of(struct runtime_fixture *fixture, uint32_t version)
{
	runtime_fixture_init(fixture, LOOP_BYTES);
	put_row(fixture, version);
	put_state(fixture, STATE, INNER, stack_address(100));
	fixture->heap[GLOBAL + 33] = heap_address(STATE);
	put_function(fixture, FIRST, 10);
	put_function(fixture, SECOND, 20);
	put_calling_code(fixture);
	put_call(fixture, INNER, FIRST, OUTER, 3, 0);
	put_call(fixture, OUTER, SECOND, 0, 2, FRESH);
	fixture->regs.reg[UNWIND_SP] = stack_address(SP);
	fixture->stack[SAVED + 1] = heap_address(STATE);
	fixture->stack[RETURN] = CODE + CALLER + 5;
	runtime_fixture_bind(fixture);
}

static void setup(struct runtime_fixture *fixture)
{
	setup_of(fixture, 54);
}

TEST(functions_have_the_names_that_they_are_called_by)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	const uint64_t *words = runtime_fixture_tick(&fixture);
	CHECK_INT(fixture.count, 4);
	CHECK_STR(sent_frames(&fixture), "work+2 function@a.lua:20+1");
	const struct event_code *code = emulated_record(EVENT_CODE, 0);
	CHECK(code && memcmp((const char *)(code + 1) + 4, "a.lua\3\0\0\0\0\0\0\0\1\1\1", 16) == 0);
	CHECK_INT(code ? code->first_line : 0, 10);
	uint32_t number = number_of(words[0]);
	CHECK_INT(number_of(runtime_fixture_tick(&fixture)[0]), number);
	CHECK_INT(emulated_count(EVENT_CODE), 0);
	runtime_fixture_deinit(&fixture);
}

/* OUTER calls its local variable number 1; variables begin behind it, too. */
TEST(a_local_variable_that_is_not_the_last_has_its_name)
{
	enum {
		LOCALS = 600, /* words of the heap */
		TEXTS = 620,
	};
	struct runtime_fixture fixture;
	setup(&fixture);
	uint32_t code[2] = {instruction(0, 3, 1, 0), instruction(68, 3, 1, 1)};
	memcpy(&fixture.heap[SECOND + 32], code, sizeof(code));
	uint64_t *proto = fixture.heap + SECOND + 8;
	proto[13] = heap_address(LOCALS);
	proto[4] = 4ULL << 32;
	for (uint64_t i = 0; i < 4; i++) {
		fixture.heap[LOCALS + 2 * i] = heap_address(TEXTS + 4 * i);
		fixture.heap[LOCALS + 2 * i + 1] = 3ULL << 32; /* from the first instruction on */
		memcpy(&fixture.heap[TEXTS + 4 * i + 3], "local_0", 8);
		((char *)&fixture.heap[TEXTS + 4 * i + 3])[6] += (char)i;
	}
	runtime_fixture_tick(&fixture);
	CHECK_STR(sent_text(0, RUNTIME_TEXT_NAME), "local_1");
	runtime_fixture_deinit(&fixture);
}

TEST(the_instruction_is_in_a_register_of_the_loop)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	fixture.regs.reg[KEPT_REGISTER] = heap_address(FIRST + 32) + 4;
	CHECK_INT(place_of(runtime_fixture_tick(&fixture)[0]), 0);
	fixture.regs.reg[OTHER_KEPT_REGISTER] = heap_address(FIRST + 32) + 8;
	CHECK_INT(place_of(runtime_fixture_tick(&fixture)[0]), 1);
	fixture.regs.reg[OTHER_KEPT_REGISTER] = heap_address(FIRST + 32) + 16; /* behind the last */
	CHECK_INT(place_of(runtime_fixture_tick(&fixture)[0]), 0);
	runtime_fixture_deinit(&fixture);
}

/* (x and f or work)(): what set the register may have been jumped over. */
TEST(a_name_that_is_not_sure_is_none)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	uint32_t code[3] = {
		56 | (1U + 16777215) << 7, instruction(11, 1, 0, 0), instruction(68, 1, 1, 1)};
	memcpy(&fixture.heap[SECOND + 32], code, sizeof(code));
	put_call(&fixture, OUTER, SECOND, 0, 3, FRESH);
	runtime_fixture_tick(&fixture);
	CHECK_STR(sent_text(0, RUNTIME_TEXT_NAME), "function@a.lua:10");
	runtime_fixture_deinit(&fixture);
}

TEST(the_state_is_the_one_whose_errors_are_caught_first)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	put_state(&fixture, OTHER_STATE, OUTER, stack_address(80));
	fixture.stack[SAVED + 3] = heap_address(OTHER_STATE);
	runtime_fixture_tick(&fixture);
	CHECK_INT(fixture.count, 3); /* of that, the call is the only one */
	put_state(&fixture, OTHER_STATE, OUTER, stack_address(120));
	runtime_fixture_tick(&fixture);
	CHECK_INT(fixture.count, 4);
	fixture.heap[STATE + 1] = fixture.heap[OTHER_STATE + 1] = 5; /* a table */
	CHECK_INT(
		failure_of(runtime_fixture_tick(&fixture)[0], RUNTIME_LUA), LAYOUT_SCRIPT_NO_STATE);
	runtime_fixture_deinit(&fixture);
}

TEST(calls_of_c_have_no_script_frames)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	put_call(&fixture, INNER, FIRST, OUTER, 3, IS_C);
	runtime_fixture_tick(&fixture);
	CHECK_INT(fixture.count, 2); /* the loop itself is the leaf: it has left its last call */
	runtime_fixture_deinit(&fixture);
}

TEST(what_is_no_function_gets_no_name)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	fixture.heap[FIRST + 8 + 1] = 9;
	CHECK_INT(failure_of(runtime_fixture_tick(&fixture)[0], RUNTIME_LUA), LAYOUT_SCRIPT_TORN);
	CHECK_INT(fixture.count, 4);
	fixture.heap[FIRST + 3] = 0x10;
	CHECK_INT(failure_of(runtime_fixture_tick(&fixture)[0], RUNTIME_LUA),
		LAYOUT_SCRIPT_UNREADABLE);
	runtime_fixture_deinit(&fixture);
}

TEST(calls_in_a_circle_end)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	put_call(&fixture, INNER, FIRST, INNER, 1, 0);
	runtime_fixture_tick(&fixture);
	CHECK_INT(fixture.count, EVENT_MAX_USER_FRAMES);
	runtime_fixture_deinit(&fixture);
}

/* ---- 5.5 ---- */

/* The main state is a part of the global one, a fresh call has another bit, and the bytes of the
 * source are elsewhere. */
TEST(a_long_string_points_at_its_bytes)
{
	enum {
		MAIN_GLOBAL = GLOBAL + 180, /* words of the heap */
		BYTES = 600,
		FRESH_OF_55 = 1, /* bit 16 of what begins 16 bits before */
	};
	struct runtime_fixture fixture;
	setup_of(&fixture, 55);
	fixture.heap[MAIN_GLOBAL] = heap_address(GLOBAL);
	put_call(&fixture, OUTER, SECOND, 0, 2, FRESH_OF_55);
	fixture.heap[SOURCE + 1] = 0xff000000; /* a short length that is negative */
	fixture.heap[SOURCE + 3] = heap_address(BYTES);
	memcpy(&fixture.heap[BYTES], "@b.lua", 7);
	runtime_fixture_tick(&fixture);
	CHECK_INT(fixture.count, 4);
	CHECK_STR(sent_text(0, RUNTIME_TEXT_NAME), "work");
	CHECK_STR(sent_text(1, RUNTIME_TEXT_NAME), "function@b.lua:20");
	runtime_fixture_deinit(&fixture);
}

/* ---- 5.1: calls in an array ---- */

enum {
	CALLS = 500, /* words of the heap, five of each: there is nothing, SECOND calls FIRST */
	OUTER_51 = CALLS + 5,
	INNER_51 = CALLS + 10,
	REGISTERS = VALUES + 4, /* of SECOND */
	CLOSURE_51 = 36,
	CALL_51 = 28,
};

static uint32_t instruction_51(uint32_t op, uint32_t a, uint32_t bx)
{
	return op | a << 6 | bx << 14;
}

static void put_function_51(struct runtime_fixture *fixture, uint64_t at, uint64_t first_line)
{
	uint64_t *proto = fixture->heap + at + 8;
	fixture->heap[at + 1] = 6;
	fixture->heap[at + 4] = heap_address(at + 8);
	proto[1] = 9;
	proto[2] = heap_address(CONSTANTS);
	proto[3] = heap_address(at + 32);
	proto[5] = heap_address(LINES);
	proto[8] = heap_address(SOURCE);
	proto[10] = 4; /* instructions, no lines */
	proto[12] = first_line;
}

static void put_value_51(
	struct runtime_fixture *fixture, uint64_t value, uint64_t object, uint64_t type)
{
	fixture->heap[value] = heap_address(object);
	fixture->heap[value + 1] = type;
}

static void put_call_51(struct runtime_fixture *fixture, uint64_t at, uint64_t value,
	uint64_t function, uint64_t place)
{
	uint64_t *call = fixture->heap + at;
	put_value_51(fixture, value, function, 6);
	call[0] = heap_address(value + 2);
	call[1] = heap_address(value);
	call[3] = heap_address(function + 32) + 4 * place;
}

/* SECOND calls the global function "work" by its register 1; the state has where FIRST is. */
static void setup_51(struct runtime_fixture *fixture)
{
	uint32_t code[] = {instruction_51(5, 1, 0), instruction_51(CALL_51, 1, 0)};
	setup_of(fixture, 51);
	uint64_t *heap = fixture->heap;
	memset(heap, 0, sizeof(fixture->heap));
	heap[STATE + 1] = 8;
	heap[STATE + 4] = heap_address(GLOBAL);
	heap[STATE + 5] = heap_address(INNER_51);
	heap[STATE + 6] = heap_address(FIRST + 32) + 4 * 3;
	heap[STATE + 21] = stack_address(100);
	heap[GLOBAL + 22] = heap_address(STATE);
	put_function_51(fixture, FIRST, 10);
	put_function_51(fixture, SECOND, 20);
	memcpy(&heap[SECOND + 32], code, sizeof(code));
	put_value_51(fixture, CONSTANTS, NAME, 4);
	memcpy(&heap[NAME + 3], "work", 5);
	memcpy(&heap[SOURCE + 3], "@a.lua", 7);
	heap[CALLS + 1] = heap_address(VALUES);
	put_call_51(fixture, OUTER_51, VALUES + 2, SECOND, 2);
	put_call_51(fixture, INNER_51, REGISTERS + 2, FIRST, 0);
}

TEST(calls_in_an_array)
{
	struct runtime_fixture fixture;
	setup_51(&fixture);
	runtime_fixture_tick(&fixture);
	CHECK_INT(fixture.count, 4);
	CHECK_STR(sent_frames(&fixture), "work+2 function@a.lua:20+1");
	runtime_fixture_deinit(&fixture);
}

/* By no instruction of the program, since it lies in another register. */
TEST(a_call_that_no_instruction_made_begins_a_loop)
{
	struct runtime_fixture fixture;
	setup_51(&fixture);
	put_call_51(&fixture, INNER_51, REGISTERS + 4, FIRST, 0);
	runtime_fixture_tick(&fixture);
	CHECK_INT(fixture.count, 3);
	CHECK_STR(sent_text(0, RUNTIME_TEXT_NAME), "function@a.lua:10");
	fixture.heap[FIRST + 1] = 6 | 1 << 16; /* of C */
	runtime_fixture_tick(&fixture);
	CHECK_INT(fixture.count, 2);
	runtime_fixture_deinit(&fixture);
}

/* work(function() return upvalue end): behind CLOSURE the upvalue is told, as if for register 0. */
TEST(an_upvalue_of_a_new_function_is_not_who_is_called)
{
	uint32_t code[] = {instruction_51(5, 0, 0), instruction_51(CLOSURE_51, 1, 0),
		instruction_51(4, 0, 0), instruction_51(CALL_51, 0, 0)};
	struct runtime_fixture fixture;
	setup_51(&fixture);
	memcpy(&fixture.heap[SECOND + 32], code, sizeof(code));
	put_call_51(&fixture, OUTER_51, VALUES + 2, SECOND, 4);
	put_call_51(&fixture, INNER_51, REGISTERS, FIRST, 0);
	runtime_fixture_tick(&fixture);
	CHECK_INT(fixture.count, 4);
	CHECK_STR(sent_text(0, RUNTIME_TEXT_NAME), "work");
	runtime_fixture_deinit(&fixture);
}

/* The function that the loop called, of C, makes a call; its own loop is not there yet. */
TEST(a_call_that_is_being_made_is_of_no_loop)
{
	struct runtime_fixture fixture;
	setup_51(&fixture);
	put_call_51(&fixture, INNER_51, REGISTERS + 4, FIRST, 0);
	fixture.stack[SP - 1] = CODE + LOOP + 0x500;
	fixture.regs.reg[UNWIND_SP] = stack_address(SP - LOOP_BYTES / 8);
	fixture.regs.ip = CODE + HELPER + 5;
	uint32_t inner = number_of(runtime_fixture_tick(&fixture)[1]);
	CHECK_INT(fixture.count, 4);
	CHECK_STR(sent_text(0, RUNTIME_TEXT_NAME), "function@a.lua:10");
	fixture.heap[STATE + 6] = heap_address(FIRST + 32); /* where it begins */
	CHECK(number_of(runtime_fixture_tick(&fixture)[1]) != inner);
	CHECK_INT(fixture.count, 4);
	CHECK_STR(sent_text(0, RUNTIME_TEXT_NAME), "function@a.lua:20");
	fixture.stack[SP - 3] = heap_address(FIRST + 32) + 4; /* what the loop had in a register */
	CHECK_INT(number_of(runtime_fixture_tick(&fixture)[1]), inner);
	runtime_fixture_deinit(&fixture);
}
