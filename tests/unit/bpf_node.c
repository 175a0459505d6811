/* Ticks in a process that is Node.js as far as the walk can tell: builtins, compiled functions. */
#include <string.h>

#include "bpf/runtime/node/node_row.h"
#include "tests/unit/bpf_runtime_fixture.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

enum {
	LOOP_BYTES = 80,
	SP = 20,         /* words of the stack */
	FIRST = SP + 10, /* the innermost frame's pointer points there */
	SECOND = SP + 30,
	/* Words of the heap: objects, whose pointers are one more than their addresses. */
	FUNCTION = 0,
	SHARED = 10,
	SCRIPT = 30,
	BYTECODES = 50,
	NAME = 60,
	MAPS = 100, /* of the types below, two words each */
	FUNCTION_TYPE = 200,
	SHARED_TYPE,
	SCRIPT_TYPE,
	BYTECODE_TYPE,
	STRING_TYPE = 8,       /* sequential, of one byte a character */
	BUILTIN = END + 0x100, /* file offset of code without rules */
};

static uint64_t pointer_to(uint64_t word)
{
	return heap_address(word) + 1;
}

static void put_object(struct runtime_fixture *fixture, uint64_t word, uint64_t map, uint16_t type)
{
	fixture->heap[word] = pointer_to(map);
	memcpy((char *)&fixture->heap[map] + 12, &type, sizeof(type));
}

static void setup(struct runtime_fixture *fixture)
{
	runtime_fixture_init(fixture, LOOP_BYTES);
	fixture->table.runtime.kind = RUNTIME_NODE;
	struct node_row *row = (void *)fixture->table.runtime.words;
	*row = (struct node_row){
		.first_function = FUNCTION_TYPE,
		.last_function = FUNCTION_TYPE,
		.shared_type = SHARED_TYPE,
		.script_type = SCRIPT_TYPE,
		.bytecode_array_type = BYTECODE_TYPE,
		.function_shared = 24,
		.shared_name = 16,
		.shared_script = 32,
		.shared_flags = 48,
		.bytecode_data = 56,
		.version = 11,
	};
	put_object(fixture, FUNCTION, MAPS, FUNCTION_TYPE);
	put_object(fixture, SHARED, MAPS + 4, SHARED_TYPE);
	put_object(fixture, SCRIPT, MAPS + 8, SCRIPT_TYPE);
	put_object(fixture, BYTECODES, MAPS + 12, BYTECODE_TYPE);
	put_object(fixture, NAME, MAPS + 16, STRING_TYPE);
	fixture->heap[FUNCTION + 3] = pointer_to(SHARED);
	fixture->heap[SHARED + 2] = pointer_to(NAME);
	fixture->heap[SHARED + 4] = pointer_to(SCRIPT);
	fixture->heap[SHARED + 6] = 7ULL << 32;
	fixture->heap[SCRIPT + 8] = 5ULL << 32;
	fixture->heap[NAME + 1] = 5ULL << 32; /* characters */
	memcpy(&fixture->heap[NAME + 2], "outer", 5);
	runtime_fixture_bind(fixture);
	runtime_fixture_tick(fixture); /* in the file: the process is known to have it */
	fixture->regs.known = ~0ULL;
	fixture->regs.reg[UNWIND_SP] = stack_address(SP);
	fixture->regs.reg[UNWIND_FP] = stack_address(FIRST);
}

/* A function's frame, at a bytecode; 0: it is compiled. */
static void put_function(
	struct runtime_fixture *fixture, uint64_t fp, uint64_t bytecode, uint64_t link, uint64_t to)
{
	fixture->stack[fp - 5] = bytecode ? (bytecode + 55) << 32 : pointer_to(SCRIPT);
	fixture->stack[fp - 4] = bytecode ? pointer_to(BYTECODES) : 2;
	fixture->stack[fp - 2] = pointer_to(FUNCTION);
	fixture->stack[fp - 1] = pointer_to(SCRIPT); /* the context, or what may be one */
	fixture->stack[fp] = stack_address(link);
	fixture->stack[fp + 1] = to;
}

TEST(functions_are_found_by_their_frames)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	put_function(&fixture, FIRST, 0, SECOND, JIT + 0x100);
	put_function(&fixture, SECOND, 9, SECOND + 20, CODE + CALLER + 5);
	fixture.regs.ip = JIT + 0x40;
	runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "ssn");
	CHECK_STR(sent_text(0, RUNTIME_TEXT_NAME), "outer");
	CHECK_INT(place_of(fixture.words[0]), 0);
	CHECK_INT(place_of(fixture.words[1]), 9);
	CHECK_INT(number_of(fixture.words[0]), number_of(fixture.words[1]));
	const struct event_code *code = emulated_record(EVENT_CODE, 0);
	CHECK(code && code->is_inlined);
	CHECK_INT(code ? code->bytes[RUNTIME_TEXT_LINES] : 0, sizeof(struct node_code));
	runtime_fixture_deinit(&fixture);
}

/* A builtin runs on the frame of the function that called it. */
TEST(a_builtin_without_a_frame_is_its_callers)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	put_function(&fixture, FIRST, 3, SECOND, CODE + CALLER + 5);
	fixture.regs.ip = CODE + BUILTIN;
	runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "nsn");
	CHECK_INT(place_of(fixture.words[1]), 3);
	runtime_fixture_deinit(&fixture);
}

/* What has a number in place of a context is no function's frame. */
TEST(frames_of_builtins_have_a_marker)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	put_function(&fixture, FIRST, 0, SECOND, CODE + CALLER + 5);
	fixture.stack[FIRST - 1] = 2 << 1;
	fixture.regs.ip = CODE + BUILTIN;
	runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "nn");
	runtime_fixture_deinit(&fixture);
}

/* Objects are moved just then: the map's word says where to. */
TEST(objects_that_are_being_moved_are_followed)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	put_function(&fixture, FIRST, 0, SECOND, CODE + CALLER + 5);
	put_object(&fixture, FUNCTION + 5, MAPS, FUNCTION_TYPE);
	fixture.heap[FUNCTION] = heap_address(FUNCTION + 5);
	fixture.regs.ip = JIT + 0x40;
	runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "sn");
	runtime_fixture_deinit(&fixture);
}

TEST(what_is_no_function_is_not_taken_for_one)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	put_function(&fixture, FIRST, 0, SECOND, CODE + CALLER + 5);
	fixture.stack[FIRST - 2] = pointer_to(SHARED);
	fixture.regs.ip = JIT + 0x40;
	runtime_fixture_tick(&fixture);
	CHECK(!is_script(fixture.words ? fixture.words[0] : 0));
	runtime_fixture_deinit(&fixture);
}
