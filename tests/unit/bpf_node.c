/* Ticks in a process that is Node.js as far as the walk can tell: builtins, compiled functions. */
#include <string.h>

#include "bpf/runtime/node/node_row.h"
#include "tests/unit/bpf_runtime_fixture.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

static _Alignas(uint64_t) uint8_t jit[4096];

/* What the machines' code differs in: its beginning, a call, its end; bytes that stand there. */
#if defined(__x86_64__)
static const uint8_t nop[] = {0x90};
static const uint8_t begin[] = {0x8b, 0x59, 0xd0, 0x55, 0x48, 0x89, 0xe5, 0x56, 0x57};
static const uint8_t call[] = {0xe8, 0, 0, 0, 0}, end[] = {0x5d, 0xc2, 8, 0};
enum {
	ODD_LINE = 0, /* code begins at multiples of 64 */
};
#else
static const uint32_t nop[] = {0xd503201f};
/* ...; stp x29, x30, [sp, #-16]!; mov x29, sp; ldp x29, x30, [sp], #16; add sp, sp, #16; ret */
static const uint32_t begin[] = {0xd503201f, 0xa9bf7bfd, 0x910003fd};
static const uint32_t call[] = {0x94000000}, end[] = {0xa8c17bfd, 0x910043ff, 0xd65f03c0};
enum {
	ODD_LINE = 32,
};
#endif

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
	CODE_OBJECT = 70,
	DEOPT_DATA = 80,
	MAPS = 100, /* of the types below, two words each */
	FUNCTION_TYPE = 200,
	SHARED_TYPE,
	SCRIPT_TYPE,
	BYTECODE_TYPE,
	CODE_TYPE,
	INSTRUCTIONS_TYPE,
	STRING_TYPE = 8,       /* sequential, of one byte a character */
	BUILTIN = END + 0x100, /* file offset of code without rules */
	CODE_HEADER = 32,
	CODE_START = ODD_LINE + 1024, /* in memory of no file: */
	CODE_SIZE = 2048,
	CALL = 1500, /* ... in that code, a call that returns there */
	BASELINE_KIND = 11,
	WASM_FRAME = 4,
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

/* Optimized code of another function than FUNCTION, whose frame is its caller's. */
static void put_code(struct runtime_fixture *fixture)
{
	struct node_row *row = (void *)fixture->table.runtime.words;
	row->code_type = CODE_TYPE;
	row->instructions_type = INSTRUCTIONS_TYPE;
	row->baseline_kind = BASELINE_KIND;
	row->wasm_frame = WASM_FRAME;
	row->code_header = CODE_HEADER;
	row->code_start = 40;
	row->code_size = 56;
	row->code_flags = 52;
	row->code_deopt = 8;
	row->code_positions = 16;
	row->deopt_shared = 16;
	put_object(fixture, CODE_OBJECT, MAPS + 20, CODE_TYPE);
	uint16_t type = INSTRUCTIONS_TYPE;
	memcpy((char *)&fixture->heap[MAPS + 24] + 12, &type, sizeof(type));
	fixture->heap[CODE_OBJECT + 1] = pointer_to(DEOPT_DATA);
	fixture->heap[CODE_OBJECT + 5] = JIT + CODE_START;
	fixture->heap[CODE_OBJECT + 6] = (BASELINE_KIND + 2ULL) << 32;
	fixture->heap[CODE_OBJECT + 7] = CODE_SIZE;
	fixture->heap[DEOPT_DATA + 2] = pointer_to(SHARED);
	for (size_t i = 0; i < sizeof(jit); i += sizeof(nop))
		memcpy(jit + i, nop, sizeof(nop));
	uint64_t header[2] = {pointer_to(MAPS + 24), pointer_to(CODE_OBJECT)};
	memcpy(jit + CODE_START - CODE_HEADER, header, sizeof(header));
	memcpy(jit + CODE_START, begin, sizeof(begin));
	memcpy(jit + CODE_START + CALL - sizeof(call), call, sizeof(call));
	memcpy(jit + CODE_START + CODE_SIZE - sizeof(end), end, sizeof(end));
	emulate_memory(JIT, jit, sizeof(jit));
}

/* Code right ahead of its instructions, as V8 10 has it. Returns where it is. */
static uint64_t *put_code_of_v8_10(struct runtime_fixture *fixture)
{
	uint8_t *object = jit + CODE_START - 2 * CODE_HEADER;
	struct node_row *row = (void *)fixture->table.runtime.words;
	row->code_start = 0;
	row->code_header = 2 * CODE_HEADER;
	row->instructions_type = CODE_TYPE;
	table_store_complete_row(fixture->store, 2, &fixture->table.runtime);
	memcpy(object, &fixture->heap[CODE_OBJECT], 64);
	return (uint64_t *)object;
}

static void setup_with(struct runtime_fixture *fixture, bool has_code)
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
	if (has_code)
		put_code(fixture);
	runtime_fixture_bind(fixture);
	runtime_fixture_tick(fixture); /* in the file: the process is known to have it */
	fixture->regs.known = ~0ULL;
	fixture->regs.reg[UNWIND_SP] = stack_address(SP);
	fixture->regs.reg[UNWIND_FP] = stack_address(FIRST);
}

static void setup(struct runtime_fixture *fixture)
{
	setup_with(fixture, false);
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

static const struct node_code *sent_code(void)
{
	const struct event_code *code = emulated_record(EVENT_CODE, 0);
	if (!code)
		return NULL;
	const uint8_t *texts = (const uint8_t *)(code + 1);
	return (const void *)(texts + code->bytes[RUNTIME_TEXT_NAME] +
			      code->bytes[RUNTIME_TEXT_FILE]);
}

/* Where a call in the code returns to: a word of the stack, and on arm64 x30. */
static void put_return(struct runtime_fixture *fixture, uint64_t word)
{
	fixture->stack[word] = JIT + CODE_START + CALL;
#if !defined(__x86_64__)
	fixture->regs.reg[UNWIND_RA] = JIT + CODE_START + CALL;
#endif
}

static void interrupt_code(struct runtime_fixture *fixture, uint64_t place)
{
	setup_with(fixture, true);
	put_function(fixture, FIRST, 0, SECOND, CODE + CALLER + 5);
	put_return(fixture, SP);
	fixture->regs.ip = JIT + CODE_START + place;
	runtime_fixture_tick(fixture);
}

TEST(code_is_found_by_an_address_in_it)
{
	struct runtime_fixture fixture;
	interrupt_code(&fixture, CALL + 20);
	CHECK_STR(runtime_fixture_shape(&fixture), "sn");
	CHECK_INT(place_of(fixture.words[0]), (CALL + 20) | RUNTIME_FRAME_IS_LEAF);
	struct node_code code = {0};
	if (sent_code())
		memcpy(&code, sent_code(), sizeof(code));
	CHECK_INT(code.kind, NODE_CODE_OPTIMIZED);
	CHECK_INT(code.start, JIT + CODE_START);
	CHECK_INT(code.size, CODE_SIZE);
	CHECK_INT(code.deopt_data, pointer_to(DEOPT_DATA));
	runtime_fixture_deinit(&fixture);
}

/* Ahead of its frame, and behind it, the return address is at the top of the stack, or in x30. */
TEST(code_whose_frame_is_not_made_or_gone)
{
	static const struct {
		uint64_t place;
		bool is_gone;
#if defined(__x86_64__)
	} places[] = {{0, true}, {3, true}, {CODE_SIZE - 3, true}, {CODE_SIZE - 4, false}};
#else
	} places[] = {{0, true}, {4, true}, {8, true}, {12, false}, {CODE_SIZE - 12, false},
		{CODE_SIZE - 8, true}, {CODE_SIZE - 4, true}};
#endif
	struct runtime_fixture fixture;
	interrupt_code(&fixture, CALL + 20);
	put_return(&fixture, SP + 1);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		fixture.regs.ip = JIT + CODE_START + places[i].place;
		runtime_fixture_tick(&fixture);
		CHECK_STR(runtime_fixture_shape(&fixture), places[i].is_gone ? "ssn" : "sn");
		if (places[i].is_gone)
			CHECK_INT(place_of(fixture.words[1]), CALL - 1);
	}
	runtime_fixture_deinit(&fixture);
}

/* Code is reused: what has the address now has another function. */
TEST(code_in_the_place_of_other_code_is_another_one)
{
	struct runtime_fixture fixture;
	interrupt_code(&fixture, CALL + 20);
	uint32_t number = number_of(fixture.words[0]);
	fixture.heap[SHARED + 6] = 8ULL << 32;
	runtime_fixture_tick(&fixture);
	CHECK(number_of(fixture.words[0]) != number);
	fixture.heap[CODE_OBJECT + 5] = JIT; /* what is left of the header leads to nothing */
	runtime_fixture_tick(&fixture);
	CHECK_INT(place_of(fixture.words[0]), 0);
	runtime_fixture_deinit(&fixture);
}

/* While code is moved threads are where it was, or already where it is, whatever Code says. */
TEST(code_that_is_being_moved_is_found)
{
	enum {
		WHERE_IT_WAS = 512,
	};
	static const struct {
		uint64_t head, other_head, start;
		bool is_found;
	} cases[] = {
		{JIT + WHERE_IT_WAS - CODE_HEADER, 0, JIT + CODE_START, true},
		{JIT + WHERE_IT_WAS - CODE_HEADER, 0, JIT + WHERE_IT_WAS, true},
		{0, JIT + CODE_START - CODE_HEADER, JIT + WHERE_IT_WAS, true},
		{0, JIT + CODE_START, JIT + WHERE_IT_WAS, false},
	};
	struct runtime_fixture fixture;
	setup_with(&fixture, true);
	put_function(&fixture, FIRST, 0, SECOND, CODE + CALLER + 5);
	fixture.regs.ip = JIT + CODE_START + CALL + 20;
	const uint64_t map = pointer_to(MAPS + 24);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const uint64_t *head = cases[i].head ? &cases[i].head : &map;
		memcpy(jit + CODE_START - CODE_HEADER, head, sizeof(*head));
		head = cases[i].other_head ? &cases[i].other_head : &map;
		memcpy(jit + WHERE_IT_WAS - CODE_HEADER, head, sizeof(*head));
		fixture.heap[CODE_OBJECT + 5] = cases[i].start;
		runtime_fixture_tick(&fixture);
		uint32_t leaf = (CALL + 20) | RUNTIME_FRAME_IS_LEAF;
		CHECK_INT(place_of(fixture.words[0]), cases[i].is_found ? leaf : 0);
	}
	runtime_fixture_deinit(&fixture);
}

/* Addresses in its data change, numbers do not. */
TEST(code_that_was_moved_has_the_same_content)
{
	struct runtime_fixture fixture;
	interrupt_code(&fixture, CALL + 20);
	uint32_t number = number_of(fixture.words[0]);
	const struct event_code *code = emulated_record(EVENT_CODE, 0);
	uint64_t content = code ? code->content : 0;
	CHECK(content);
	fixture.heap[CODE_OBJECT + 2] = pointer_to(NAME);
	runtime_fixture_tick(&fixture);
	code = emulated_record(EVENT_CODE, 0);
	CHECK(number_of(fixture.words[0]) != number);
	CHECK(code && code->content == content);
	fixture.heap[CODE_OBJECT + 2] = pointer_to(SCRIPT);
	fixture.heap[DEOPT_DATA + 3] = 1ULL << 32;
	runtime_fixture_tick(&fixture);
	code = emulated_record(EVENT_CODE, 0);
	CHECK(code && code->content != content);
	runtime_fixture_deinit(&fixture);
}

/* Functions are known by what was read in the same walk, in the next one they are read again. */
TEST(functions_are_read_once_a_walk)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	put_function(&fixture, FIRST, 9, SECOND, JIT + 0x100);
	put_function(&fixture, SECOND, 9, SECOND + 20, JIT + 0x100);
	put_function(&fixture, SECOND + 20, 11, SECOND + 40, CODE + CALLER + 5);
	fixture.regs.ip = JIT + 0x40;
	uint32_t numbers[2];
	for (uint64_t i = 0; i < 2; i++) {
		fixture.heap[SHARED + 6] = (7 + i) << 32;
		runtime_fixture_tick(&fixture);
		CHECK_STR(runtime_fixture_shape(&fixture), "sssn");
		CHECK_INT(place_of(fixture.words[1]), 9);
		CHECK_INT(place_of(fixture.words[2]), 11);
		numbers[i] = number_of(fixture.words[2]);
		CHECK_INT(number_of(fixture.words[0]), numbers[i]);
		CHECK_INT(number_of(fixture.words[1]), numbers[i]);
	}
	CHECK(numbers[0] != numbers[1]);
	runtime_fixture_deinit(&fixture);
}

/* Functions that lie as far from each other as where they go on. */
TEST(functions_that_differ_by_the_same_bits_as_their_places_are_told_apart)
{
	enum {
		OTHER = 130,
		OTHER_SHARED = 140,
	};
	struct runtime_fixture fixture;
	setup(&fixture);
	put_object(&fixture, OTHER, MAPS, FUNCTION_TYPE);
	put_object(&fixture, OTHER_SHARED, MAPS + 4, SHARED_TYPE);
	fixture.heap[OTHER + 3] = pointer_to(OTHER_SHARED);
	fixture.heap[OTHER_SHARED + 2] = pointer_to(NAME);
	fixture.heap[OTHER_SHARED + 4] = pointer_to(SCRIPT);
	fixture.heap[OTHER_SHARED + 6] = 8ULL << 32;
	uint64_t place = JIT + 0x100,
		 other_place = place ^ pointer_to(FUNCTION) ^ pointer_to(OTHER);
	put_function(&fixture, FIRST, 0, SECOND, place);
	put_function(&fixture, SECOND, 0, SECOND + 20, other_place);
	put_function(&fixture, SECOND + 20, 0, SECOND + 40, CODE + CALLER + 5);
	fixture.stack[SECOND + 20 - 2] = pointer_to(OTHER);
	fixture.regs.ip = JIT + 0x40;
	runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "sssn");
	CHECK_INT(number_of(fixture.words[0]), number_of(fixture.words[1]));
	CHECK(number_of(fixture.words[1]) != number_of(fixture.words[2]));
	runtime_fixture_deinit(&fixture);
}

/* That it is not read anew when it is met again. Returns the number that the BPF side gave it. */
static uint32_t check_optimized_is_known(struct runtime_fixture *fixture)
{
	put_function(fixture, FIRST, 0, SECOND, JIT + CODE_START + CALL);
	put_function(fixture, SECOND, 0, SECOND + 20, CODE + CALLER + 5);
	fixture->regs.ip = JIT + 0x40;
	fixture->heap[DEOPT_DATA + 1] = 3ULL << 32;
	runtime_fixture_tick(fixture);
	CHECK_STR(runtime_fixture_shape(fixture), "ssn");
	uint32_t number = number_of(fixture->words[1]);
	CHECK_INT(place_of(fixture->words[1]), CALL - 1);
	fixture->heap[SHARED + 6] = 8ULL << 32; /* it is not read */
	runtime_fixture_tick(fixture);
	CHECK_INT(number_of(fixture->words[1]), number);
	CHECK_INT(place_of(fixture->words[1]), CALL - 1);
	return number;
}

/* Optimized code is the one that it was as long as it begins there, has its Code and number. */
TEST(optimized_code_is_known_by_its_number)
{
	enum {
		OTHER_OBJECT = 90,
	};
	struct runtime_fixture fixture;
	setup_with(&fixture, true);
	uint32_t number = check_optimized_is_known(&fixture);
	fixture.heap[DEOPT_DATA + 1] = 4ULL << 32;
	runtime_fixture_tick(&fixture);
	CHECK(number_of(fixture.words[1]) != number);
	number = number_of(fixture.words[1]);
	memcpy(&fixture.heap[OTHER_OBJECT], &fixture.heap[CODE_OBJECT], 64);
	fixture.heap[SHARED + 6] = 9ULL << 32;
	uint64_t object = pointer_to(OTHER_OBJECT);
	memcpy(jit + CODE_START - CODE_HEADER + 8, &object, sizeof(object));
	runtime_fixture_tick(&fixture);
	CHECK(number_of(fixture.words[1]) != number);
	CHECK_INT(place_of(fixture.words[1]), CALL - 1);
	runtime_fixture_deinit(&fixture);
}

/* The same of V8 10, where Code and its instructions are one, so that it says its data itself. */
TEST(optimized_code_of_v8_10_is_known_by_its_number)
{
	enum {
		OTHER_DATA = 200,
	};
	struct runtime_fixture fixture;
	setup_with(&fixture, true);
	put_code_of_v8_10(&fixture);
	uint32_t number = check_optimized_is_known(&fixture);
	uint64_t data = pointer_to(OTHER_DATA); /* the old one is there still, and its number */
	memcpy(jit + CODE_START - 2 * CODE_HEADER + 8, &data, sizeof(data));
	fixture.heap[OTHER_DATA + 2] = pointer_to(SHARED);
	runtime_fixture_tick(&fixture);
	CHECK(number_of(fixture.words[1]) != number);
	CHECK_INT(place_of(fixture.words[1]), CALL - 1);
	runtime_fixture_deinit(&fixture);
}

/* Baseline code is the one that it was as long as its function is, and has it; Code is not read. */
static void check_baseline(bool is_of_v8_10)
{
	struct runtime_fixture fixture;
	setup_with(&fixture, true);
	fixture.heap[CODE_OBJECT + 1] = pointer_to(BYTECODES);
	fixture.heap[CODE_OBJECT + 6] = (uint64_t)BASELINE_KIND << 32;
	fixture.heap[SHARED + 1] = pointer_to(CODE_OBJECT);
	uint64_t *size = &fixture.heap[CODE_OBJECT + 7];
	if (is_of_v8_10) {
		size = put_code_of_v8_10(&fixture) + 7;
		fixture.heap[SHARED + 1] = JIT + CODE_START - 2 * CODE_HEADER + 1;
	}
	put_function(&fixture, FIRST, 0, SECOND, JIT + CODE_START + CALL);
	put_function(&fixture, SECOND, 0, SECOND + 20, CODE + CALLER + 5);
	fixture.stack[SECOND - 4] = pointer_to(BYTECODES);
	fixture.regs.ip = JIT + 0x40;
	runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "ssn");
	uint32_t number = number_of(fixture.words[1]);
	CHECK_INT(place_of(fixture.words[1]), CALL - 1);
	*size = CODE_SIZE + 64; /* it is not read */
	runtime_fixture_tick(&fixture);
	CHECK_INT(number_of(fixture.words[1]), number);
	CHECK_INT(place_of(fixture.words[1]), CALL - 1);
	fixture.heap[SHARED + 6] = 8ULL << 32; /* another function */
	runtime_fixture_tick(&fixture);
	CHECK(number_of(fixture.words[1]) != number);
	number = number_of(fixture.words[1]);
	fixture.heap[SHARED + 1] = pointer_to(BYTECODES); /* it has given up its code */
	*size = CODE_SIZE;
	runtime_fixture_tick(&fixture);
	CHECK(number_of(fixture.words[1]) != number);
	runtime_fixture_deinit(&fixture);
}

TEST(baseline_code_is_known_by_its_function)
{
	check_baseline(false);
}

TEST(baseline_code_of_v8_10_is_known_by_its_function)
{
	check_baseline(true);
}

/* A builtin without a frame was called from the code of the function whose frame it is on. */
TEST(a_builtin_without_a_frame_says_where_it_was_called)
{
	struct runtime_fixture fixture;
	setup_with(&fixture, true);
	put_function(&fixture, FIRST, 0, SECOND, CODE + CALLER + 5);
	fixture.stack[SP] = pointer_to(NAME);
	put_return(&fixture, SP + 1);
	fixture.regs.ip = CODE + BUILTIN;
	runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "nsn");
	CHECK_INT(place_of(fixture.words[1]), CALL - 1);
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

/* ... and in memory of no file a name of ours. */
TEST(frames_of_no_function_in_memory_of_no_file_have_names)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	put_function(&fixture, FIRST, 0, SECOND, CODE + CALLER + 5);
	fixture.stack[FIRST - 1] = 2 << 1;
	fixture.regs.ip = JIT + 0x40;
	runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "sn");
	CHECK_STR(sent_text(0, RUNTIME_TEXT_NAME), "(V8)");
	const struct event_code *code = emulated_record(EVENT_CODE, 0);
	CHECK(code && code->is_of_runtime && !code->is_inlined);
	runtime_fixture_deinit(&fixture);
}

/* Where the code of a function of WebAssembly begins is known by its bytes. */
TEST(functions_of_webassembly_are_told_apart)
{
	enum {
		NUMBERED = ODD_LINE + 512, /* where the other kind of code begins */
	};
#if defined(__x86_64__)
	static const uint8_t prologue[] = {0x55, 0x48, 0x89, 0xe5, 0x6a, WASM_FRAME * 2, 0x56};
	static const uint8_t numbered[] = {0x41, 0xbc, 7, 0, 0, 0, 0xe8};
#else
	/* stp x29, x30, [sp, #-16]!; mov x29, sp. mov x16, #; stp x7, x16, [sp, #-32]! */
	static const uint32_t prologue[] = {0xa9bf7bfd, 0x910003fd};
	static const uint32_t numbered[] = {0xd2800010 | WASM_FRAME * 2 << 5, 0xa9be43e7};
#endif
	struct runtime_fixture fixture;
	setup_with(&fixture, true);
	memcpy(jit + NUMBERED, numbered, sizeof(numbered));
	memcpy(jit + CODE_START, prologue, sizeof(prologue));
	put_function(&fixture, FIRST, 0, SECOND, JIT + CODE_START + CALL);
	put_function(&fixture, SECOND, 0, SECOND + 20, JIT + NUMBERED + 64);
	put_function(&fixture, SECOND + 20, 0, SECOND + 40, CODE + CALLER + 5);
	fixture.stack[SECOND - 1] = fixture.stack[SECOND + 20 - 1] = WASM_FRAME << 1;
	fixture.regs.ip = JIT + 0x40;
	runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "sssn");
	CHECK_INT(place_of(fixture.words[1]), CALL - 1);
	CHECK_INT(place_of(fixture.words[2]), 63);
	CHECK(number_of(fixture.words[1]) != number_of(fixture.words[2]));
	const struct event_code *code = emulated_record(EVENT_CODE, 1);
	CHECK(code && code->is_inlined && !code->is_of_runtime);
	CHECK_STR(sent_text(1, RUNTIME_TEXT_NAME), "(WebAssembly)");
	CHECK_INT(code ? code->address[RUNTIME_TEXT_LINES] : 0, JIT + CODE_START);
	memset(jit, 0x90, CODE_START + sizeof(prologue)); /* it is gone */
	runtime_fixture_tick(&fixture);
	CHECK_INT(place_of(fixture.words[1]), 0);
	CHECK_INT(number_of(fixture.words[1]), number_of(fixture.words[2]));
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
