/* Ticks in a process that is HotSpot as far as the walk can tell: compiled, interpreted, stubs. */
#include <stdbool.h>
#include <string.h>

#include "bpf/runtime/java/java_row.h"
#include "tests/unit/bpf_runtime_fixture.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

enum {
	LOOP_BYTES = 80,
	SP = 20, /* a word of the stack */
	/* Words of the heap. */
	LIST = 0,
	ARRAY = 4,
	CODE_HEAP = 8,
	SEGMENTS = 20,
	NAMES = 60, /* of blobs, two words each */
	METHOD = 100,
	CONST_METHOD = 110,
	CONSTANTS = 130,
	CLASS = 160,
	CLASS_NAME = 170,
	METHOD_NAME = 180,
	FILE_NAME = 190,
	OTHER_CLASS_NAME = 200,
	COUNTERS = 210,
	STOPS = COUNTERS + 6, /* the value of the counter, */
	STOPS_NAME = 20,      /* ... and its name, bytes from the first */
	/* Offsets in generated code: blobs begin 16 bytes behind. */
	SEGMENT_BYTES = 64,
	BLOB_BYTES = 512,
	COMPILED = 0,
	INTERPRETER = BLOB_BYTES,
	STUBS = 2 * BLOB_BYTES,
	BLOBS = 3,
	BLOB = 16,      /* from its block */
	CODE_AT = 0x80, /* from the blob */
	FRAME_WORDS = 6,
	PLACE = 0x40, /* in its code: behind a call */
};

static uint8_t code[BLOBS * BLOB_BYTES];

/* A place of the compiled method at which it is the leaf, and how much of its frame is there. */
struct leaf {
	uint64_t place;
	uint64_t words;
	bool is_in_link; /* the return address is in x30, and the frame pointer the caller's */
};

/* What the machines' code differs in. */
#if defined(__x86_64__)
enum {
	CALL_BYTES = 5,
	BYTECODE_WORD = 8, /* ahead of the frame pointer */
	BYTECODE_REGISTER = 13,
};

static const uint8_t nop[] = {0x90}, call[] = {0xe8, 0, 0, 0, 0};
/* push rbp; sub $0x20, rsp; ...; add $0x20, rsp; pop rbp; ret */
static const uint8_t prologue[] = {0x55, 0x48, 0x83, 0xec, 0x20};
static const uint8_t epilogue[] = {0x48, 0x83, 0xc4, 0x20, 0x5d, 0xc3};
/* mov poll(r15), r10; test eax, (r10); jmp */
static const uint8_t loop_poll[] = {0x4d, 0x8b, 0x97, 0x60, 1, 0, 0, 0x41, 0x85, 2, 0xeb, 0xf4};

static const struct leaf leaves[] = {
	{0, 1, false},              /* nothing is pushed */
	{1, 2, false},              /* the frame pointer is */
	{5, FRAME_WORDS, false},    /* all is there */
	{0x20, FRAME_WORDS, false}, /* in the midst */
	{0x40, FRAME_WORDS, false}, /* a loop's poll, which a return may have as well */
	{0x60, FRAME_WORDS, false}, /* add rsp */
	{0x64, 2, false},           /* pop rbp */
	{0x65, 1, false},           /* ret */
};
#else
enum {
	CALL_BYTES = 4,
	BYTECODE_WORD = 9,
	BYTECODE_REGISTER = 22,
};

static const uint32_t nop[] = {0xd503201f}, call[] = {0x94000000};
/* sub sp, sp, #48; stp x29, x30, [sp, #32]; ...; ldp x29, x30, [sp, #32]; add sp, sp, #48; ret */
static const uint32_t prologue[] = {0xd100c3ff, 0xa9027bfd};
static const uint32_t epilogue[] = {0xa9427bfd, 0x9100c3ff, 0xd65f03c0};
/* ldr x8, [x28, #864]; ldr wzr, [x8]; b */
static const uint32_t loop_poll[] = {0xf941b388, 0xb940011f, 0x17fffffe};

static const struct leaf leaves[] = {
	{0, 0, true},
	{4, FRAME_WORDS, true},
	{8, FRAME_WORDS, false},
	{0x20, FRAME_WORDS, false},
	{0x40, FRAME_WORDS, false},
	{0x60, FRAME_WORDS, false},
	{0x64, FRAME_WORDS, true},
	{0x68, 0, true},
};
#endif

static uint64_t code_address(uint64_t blob, uint64_t place)
{
	return JIT + blob + BLOB + CODE_AT + place;
}

static struct java_row *java_row_of(struct runtime_fixture *fixture)
{
	return (void *)fixture->table.runtime.words;
}

static void put_row(struct runtime_fixture *fixture)
{
	fixture->table.runtime.kind = RUNTIME_JAVA;
	*java_row_of(fixture) = (struct java_row){.is_complete = true,
		.signature_index = JAVA_NOT_FOUND,
		.version = 17,
		.heaps = DATA,
		.call_stub_return = DATA + 8,
		.array_data = 8,
		.heap_segments = 24,
		.heap_shift = 48,
		.space_high_boundary = 8,
		.space_low = 16,
		.block_used = 8,
		.block_bytes = BLOB,
		.blob_frame_size = 8,
		.blob_code = 16,
		.blob_end = 24,
		.compiled_method = 32,
		.compile_id = 40,
		.deopt_handler = 44,
		.entry = 48,
		.original_pc = 56,
		.const_method = 8,
		.constants = 8,
		.name_index = 16,
		.bytecode_bytes = 18,
		.method_flags = 20,
		.const_method_bytes = 48,
		.pool_holder = 24,
		.source_file_index = 32,
		.pool_bytes = 64,
		.class_name = 16,
		.symbol_body = 6};
}

static void put_symbol(struct runtime_fixture *fixture, uint64_t at, const char *text)
{
	uint16_t len = (uint16_t)strlen(text);
	memcpy(&fixture->heap[at], &len, sizeof(len));
	memcpy((char *)&fixture->heap[at] + 6, text, len);
}

static void put_method(struct runtime_fixture *fixture)
{
	const uint16_t indices[3] = {1, 100, 1}; /* of its name; bytes; it has lines */
	fixture->heap[METHOD + 1] = heap_address(CONST_METHOD);
	fixture->heap[CONST_METHOD + 1] = heap_address(CONSTANTS);
	memcpy(&fixture->heap[CONST_METHOD + 2], indices, sizeof(indices));
	fixture->heap[CONSTANTS + 3] = heap_address(CLASS);
	fixture->heap[CONSTANTS + 4] = 2;
	fixture->heap[CONSTANTS + 8 + 1] = heap_address(METHOD_NAME);
	fixture->heap[CONSTANTS + 8 + 2] = heap_address(FILE_NAME) | 1;
	fixture->heap[CLASS + 2] = heap_address(CLASS_NAME);
	put_symbol(fixture, CLASS_NAME, "a/Main");
	put_symbol(fixture, METHOD_NAME, "run");
	put_symbol(fixture, FILE_NAME, "Main.java");
}

static void put_blob(struct runtime_fixture *fixture, uint64_t at, uint64_t name, const char *text,
	uint32_t frame)
{
	uint64_t words[8] = {heap_address(name), frame, code_address(at, 0),
		JIT + at + BLOB_BYTES - 8, heap_address(METHOD), 7 | 0x170ULL << 32,
		code_address(at, 0), 8};
	memcpy(&fixture->heap[name], text, strlen(text) + 1);
	code[at + 8] = 1; /* the block is used */
	memcpy(code + at + BLOB, words, sizeof(words));
	for (uint64_t i = 0; i < BLOB_BYTES / SEGMENT_BYTES; i++)
		((uint8_t *)&fixture->heap[SEGMENTS])[at / SEGMENT_BYTES + i] = (uint8_t)i;
}

static void put_code(uint64_t blob, uint64_t place, const void *bytes, size_t len)
{
	memcpy(code + blob + BLOB + CODE_AT + place, bytes, len);
}

/* A call that returns to a place of a blob. */
static void put_call(uint64_t blob, uint64_t place)
{
	put_code(blob, place - CALL_BYTES, call, sizeof(call));
}

static void put_compiled(struct runtime_fixture *fixture)
{
	put_blob(fixture, COMPILED, NAMES, "nmethod", FRAME_WORDS);
	put_code(COMPILED, 0, prologue, sizeof(prologue));
	put_call(COMPILED, PLACE);
	put_code(COMPILED, 0x40, loop_poll, sizeof(loop_poll));
	put_code(COMPILED, 0x60, epilogue, sizeof(epilogue));
}

static void setup(struct runtime_fixture *fixture)
{
	for (size_t i = 0; i < sizeof(code); i += sizeof(nop))
		memcpy(code + i, nop, sizeof(nop));
	runtime_fixture_init(fixture, LOOP_BYTES);
	put_row(fixture);
	put_method(fixture);
	put_compiled(fixture);
	put_blob(fixture, INTERPRETER, NAMES + 4, "Interpreter", 0);
	put_blob(fixture, STUBS, NAMES + 8, "StubRoutines (1)", 0);
	put_call(STUBS, PLACE);
	fixture->data[0] = heap_address(LIST);
	fixture->data[1] = code_address(STUBS, PLACE);
	fixture->heap[LIST] = 1;
	fixture->heap[LIST + 1] = heap_address(ARRAY);
	fixture->heap[ARRAY] = heap_address(CODE_HEAP);
	fixture->heap[CODE_HEAP] = JIT;
	fixture->heap[CODE_HEAP + 1] = JIT + sizeof(code);
	fixture->heap[CODE_HEAP + 5] = heap_address(SEGMENTS);
	fixture->heap[CODE_HEAP + 6] = 6;
	emulate_memory(JIT, code, sizeof(code));
	emulate_memory(CODE + CALLER, call, sizeof(call));
	runtime_fixture_bind(fixture);
	runtime_fixture_tick(fixture); /* in the library: the process is known to have it */
	fixture->regs.known = ~0ULL;
	fixture->regs.reg[UNWIND_SP] = stack_address(SP);
	fixture->regs.reg[UNWIND_FP] = stack_address(SP + 100);
}

/* A frame of words, its return address the last. Returns where the next one begins. */
static uint64_t put_frame(
	struct runtime_fixture *fixture, uint64_t at, uint64_t words, uint64_t fp, uint64_t to)
{
	fixture->stack[at + words - 2] = stack_address(fp);
	fixture->stack[at + words - 1] = to;
	return at + words;
}

/* The frame of the stub that C code calls methods by, and that code's. */
static void put_call_stub(struct runtime_fixture *fixture, uint64_t fp)
{
	put_frame(fixture, fp, 2, fp + 50, CODE + CALLER + CALL_BYTES);
}

TEST(compiled_methods_are_left_by_their_size)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	uint64_t next =
		put_frame(&fixture, SP, FRAME_WORDS, SP + 60, code_address(COMPILED, PLACE));
	next = put_frame(&fixture, next, FRAME_WORDS, next + 20, code_address(STUBS, PLACE));
	put_call_stub(&fixture, next - FRAME_WORDS + 20);
	put_call_stub(&fixture, next + 14);
	fixture.stack[next - 2] = stack_address(next + 14);
	fixture.regs.ip = code_address(COMPILED, 0x20);
	runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "sssn");
	CHECK_STR(sent_text(0, RUNTIME_TEXT_NAME), "a/Main.run");
	CHECK_STR(sent_text(0, RUNTIME_TEXT_FILE), "Main.java");
	CHECK_STR(sent_text(1, RUNTIME_TEXT_NAME), "StubRoutines (1)");
	CHECK_INT(number_of(fixture.words[0]), number_of(fixture.words[1]));
	runtime_fixture_deinit(&fixture);
}

static void check_leaf(struct runtime_fixture *fixture, const struct leaf *leaf)
{
	uint64_t fp = SP + 40, to = code_address(STUBS, PLACE);
	bool has_frame = !leaf->is_in_link && leaf->words >= 2;
	memset(fixture->stack, 0, sizeof(fixture->stack));
	put_call_stub(fixture, fp);
	if (has_frame)
		put_frame(fixture, SP, leaf->words, fp, to);
	else if (!leaf->is_in_link)
		fixture->stack[SP] = to;
	fixture->regs.reg[UNWIND_RA] = leaf->is_in_link ? to : 0;
	fixture->regs.reg[UNWIND_FP] = has_frame ? 8 : stack_address(fp);
	fixture->regs.ip = code_address(COMPILED, leaf->place);
	runtime_fixture_tick(fixture);
	CHECK_STR(runtime_fixture_shape(fixture), "ssn");
}

TEST(frames_are_half_made_and_half_gone_at_the_leaf)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	for (size_t i = 0; i < sizeof(leaves) / sizeof(*leaves); i++)
		check_leaf(&fixture, &leaves[i]);
	runtime_fixture_deinit(&fixture);
}

TEST(words_that_are_pushed_for_a_while_are_left_too)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	put_frame(&fixture, SP, FRAME_WORDS + 2, SP + 40, code_address(STUBS, PLACE));
	put_call_stub(&fixture, SP + 40);
	fixture.regs.ip = code_address(COMPILED, 0x20);
	runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "ssn");
	runtime_fixture_deinit(&fixture);
}

/* An interpreter's frame around the frame pointer, at a place in its bytecodes. */
static void put_interpreted(
	struct runtime_fixture *fixture, uint64_t fp, uint64_t place, uint64_t next_fp, uint64_t to)
{
	fixture->stack[fp - BYTECODE_WORD] = heap_address(CONST_METHOD) + 48 + place;
	fixture->stack[fp - 3] = heap_address(METHOD);
	fixture->stack[fp - 1] = stack_address(fp + 2);
	put_frame(fixture, fp, 2, next_fp, to);
}

TEST(interpreted_methods_have_a_place)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	put_interpreted(&fixture, SP + 12, 33, SP + 30, code_address(INTERPRETER, PLACE));
	put_interpreted(&fixture, SP + 30, 44, SP + 40, code_address(STUBS, PLACE));
	put_call_stub(&fixture, SP + 40);
	fixture.regs.reg[UNWIND_FP] = stack_address(SP + 12);
	fixture.regs.reg[BYTECODE_REGISTER] = 0;
	fixture.regs.ip = code_address(INTERPRETER, 0x20);
	runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "sssn");
	CHECK_INT(place_of(fixture.words[0]), 33);
	CHECK_INT(place_of(fixture.words[1]), 44);
	/* The interpreter's own. */
	fixture.regs.reg[BYTECODE_REGISTER] = heap_address(CONST_METHOD) + 48 + 35;
	runtime_fixture_tick(&fixture);
	CHECK_INT(place_of(fixture.words[0]), 35);
	runtime_fixture_deinit(&fixture);
}

/* Counters as they are kept for jstat, of which one says how long threads took to stop so far. */
static void put_counters(struct runtime_fixture *fixture)
{
	struct java_row *row = java_row_of(fixture);
	row->counters = DATA + 16;
	row->stops_counter = STOPS_NAME;
	table_store_complete_row(fixture->store, 2, &fixture->table.runtime);
	fixture->data[2] = heap_address(COUNTERS);
	memcpy((char *)&fixture->heap[COUNTERS] + STOPS_NAME, JAVA_STOPS_NAME,
		sizeof(JAVA_STOPS_NAME));
	put_symbol(fixture, OTHER_CLASS_NAME, "a/Other");
}

/* With the counters, in a method that is interpreted, which the call stub has called. */
static void setup_interpreted(struct runtime_fixture *fixture)
{
	setup(fixture);
	put_counters(fixture);
	put_interpreted(fixture, SP + 12, 33, SP + 40, code_address(STUBS, PLACE));
	put_call_stub(fixture, SP + 40);
	fixture->regs.reg[UNWIND_FP] = stack_address(SP + 12);
	fixture->regs.reg[BYTECODE_REGISTER] = 0;
	fixture->regs.ip = code_address(INTERPRETER, 0x20);
}

/* Where the class was there is another one. */
static void put_other_class(struct runtime_fixture *fixture)
{
	fixture->heap[CLASS + 2] = heap_address(OTHER_CLASS_NAME);
}

/* Class and method lead to the name; while no thread was made to stop, they are the same. */
TEST(methods_are_read_anew_behind_a_safepoint)
{
	struct runtime_fixture fixture;
	setup_interpreted(&fixture);
	for (int i = 0; i < 2; i++)
		runtime_fixture_tick(&fixture);
	uint32_t number = number_of(fixture.words[0]);
	put_other_class(&fixture);
	runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "ssn");
	CHECK_INT(number_of(fixture.words[0]), number);
	CHECK_INT(place_of(fixture.words[0]), 33);
	fixture.heap[STOPS]++;
	runtime_fixture_tick(&fixture);
	CHECK(number_of(fixture.words[0]) != number);
	CHECK_STR(sent_text(0, RUNTIME_TEXT_NAME), "a/Other.run");
	runtime_fixture_deinit(&fixture);
}

/* The number of 16 bits that it has by chance is the former one's here. */
TEST(a_name_at_the_place_of_another_is_another)
{
	struct runtime_fixture fixture;
	setup_interpreted(&fixture);
	put_symbol(&fixture, OTHER_CLASS_NAME, "Plugin05");
	put_other_class(&fixture);
	runtime_fixture_tick(&fixture);
	uint32_t number = number_of(fixture.words[0]);
	put_symbol(&fixture, OTHER_CLASS_NAME, "Plugin06");
	fixture.heap[STOPS]++;
	runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "ssn");
	CHECK(number_of(fixture.words[0]) != number);
	runtime_fixture_deinit(&fixture);
}

/* Without that counter they are read in each walk. */
TEST(methods_are_read_anew_where_safepoints_are_not_known)
{
	struct runtime_fixture fixture;
	setup_interpreted(&fixture);
	((char *)&fixture.heap[COUNTERS])[STOPS_NAME]++;
	for (int i = 0; i < 2; i++)
		runtime_fixture_tick(&fixture);
	uint32_t number = number_of(fixture.words[0]);
	put_other_class(&fixture);
	runtime_fixture_tick(&fixture);
	CHECK(number_of(fixture.words[0]) != number);
	runtime_fixture_deinit(&fixture);
}

/* ... and where compiled code may just be given up: what stands there is not in use for sure. */
TEST(methods_are_read_anew_below_other_code_of_the_virtual_machine)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	put_blob(&fixture, COMPILED, NAMES, "DeoptimizationBlob", FRAME_WORDS);
	put_counters(&fixture);
	put_frame(&fixture, SP, FRAME_WORDS, SP + 30, code_address(INTERPRETER, PLACE));
	put_interpreted(&fixture, SP + 30, 44, SP + 50, code_address(STUBS, PLACE));
	put_call_stub(&fixture, SP + 50);
	fixture.regs.ip = code_address(COMPILED, 0x20);
	for (int i = 0; i < 2; i++)
		runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "sssn");
	uint32_t number = number_of(fixture.words[1]);
	put_other_class(&fixture);
	runtime_fixture_tick(&fixture);
	CHECK(number_of(fixture.words[1]) != number);
	runtime_fixture_deinit(&fixture);
}

/* While compiled code is given up: what stands where a caller's method will be is of something
 * else, or of a method that has no such place. */
TEST(an_interpreted_caller_may_have_no_method_yet)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	put_call(INTERPRETER, PLACE);
	put_interpreted(&fixture, SP + 12, 33, SP + 30, code_address(INTERPRETER, PLACE));
	put_interpreted(&fixture, SP + 30, 44, SP + 50, code_address(INTERPRETER, PLACE));
	put_interpreted(&fixture, SP + 50, 45, SP + 70, code_address(INTERPRETER, PLACE));
	put_interpreted(&fixture, SP + 70, 46, SP + 80, code_address(STUBS, PLACE));
	put_call_stub(&fixture, SP + 80);
	fixture.stack[SP + 30 - 3] = 5;
	fixture.stack[SP + 50 - BYTECODE_WORD] = heap_address(CONST_METHOD) + 4000;
	fixture.regs.reg[UNWIND_FP] = stack_address(SP + 12);
	fixture.regs.reg[BYTECODE_REGISTER] = 0;
	fixture.regs.ip = code_address(INTERPRETER, 0x20);
	runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "sssssn");
	CHECK_STR(sent_text(0, RUNTIME_TEXT_NAME), "a/Main.run");
	CHECK_STR(sent_text(1, RUNTIME_TEXT_NAME), "Interpreter");
	CHECK_INT(number_of(fixture.words[1]), number_of(fixture.words[2]));
	CHECK_INT(number_of(fixture.words[0]), number_of(fixture.words[3]));
	CHECK_INT(place_of(fixture.words[3]), 46);
	runtime_fixture_deinit(&fixture);
}

#if defined(__x86_64__)
/* The method is in rbx, its caller's stack pointer in r13; the frame pointer is its caller's. */
TEST(a_method_that_is_being_entered_has_no_frame)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	fixture.stack[SP] = code_address(STUBS, PLACE);
	put_call_stub(&fixture, SP + 40);
	fixture.regs.reg[UNWIND_FP] = stack_address(SP + 40);
	fixture.regs.reg[13] = stack_address(SP + 1);
	fixture.regs.reg[3] = heap_address(METHOD);
	fixture.regs.ip = code_address(INTERPRETER, 0x20);
	runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "ssn");
	CHECK_STR(sent_text(0, RUNTIME_TEXT_NAME), "a/Main.run");
	runtime_fixture_deinit(&fixture);
}
#else
/*
 * The method is in x12, its caller's stack pointer in x19; behind a call they are the same, but no
 * frame is made there then.
 */
TEST(a_method_that_is_being_entered_has_no_frame)
{
	/* stp x29, x30, [sp, #80]; add x29, sp, #80; nop; stp xzr, x19, [sp, #64] */
	static const uint32_t entry[] = {0xa9057bfd, 0x910143fd, 0xd503201f, 0xa9044fff};
	struct runtime_fixture fixture;
	setup(&fixture);
	put_code(INTERPRETER, PLACE, entry, sizeof(entry));
	put_code(INTERPRETER, PLACE + 0x40, &epilogue[2], 4);
	for (uint64_t at = 0x20; at <= PLACE + 0x10; at += 4) {
		bool is_made = at > PLACE + 4, is_whole = at > PLACE + 0xc;
		uint64_t fp = SP + (is_made ? 10 : 40);
		put_call_stub(&fixture, SP + 40);
		if (is_whole)
			put_interpreted(&fixture, fp, 33, SP + 40, code_address(STUBS, PLACE));
		else if (is_made)
			put_frame(&fixture, fp, 2, SP + 40, code_address(STUBS, PLACE));
		fixture.regs.reg[UNWIND_FP] = stack_address(fp);
		fixture.regs.reg[UNWIND_RA] = code_address(STUBS, PLACE);
		fixture.regs.reg[19] = stack_address(SP + 14);
		fixture.regs.reg[12] = heap_address(METHOD);
		fixture.regs.ip = code_address(INTERPRETER, at);
		runtime_fixture_tick(&fixture);
		CHECK_STR(runtime_fixture_shape(&fixture), "ssn");
		CHECK_INT(place_of(fixture.words[0]), is_whole ? 33 : 0);
	}
	runtime_fixture_deinit(&fixture);
}

/* An interpreted caller's stack pointer is below the frame of the method that it calls. */
TEST(interpreted_methods_share_the_stack)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	put_interpreted(&fixture, SP + 12, 33, SP + 30, code_address(INTERPRETER, PLACE));
	fixture.stack[SP + 12 - 1] = stack_address(SP + 4);
	put_interpreted(&fixture, SP + 30, 44, SP + 40, code_address(STUBS, PLACE));
	put_call_stub(&fixture, SP + 40);
	fixture.regs.reg[UNWIND_FP] = stack_address(SP + 12);
	fixture.regs.reg[BYTECODE_REGISTER] = 0;
	fixture.regs.ip = code_address(INTERPRETER, 0x20);
	runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "sssn");
	CHECK_INT(place_of(fixture.words[1]), 44);
	runtime_fixture_deinit(&fixture);
}

/* and sp, x20, #~15; ret: the frame is gone, and its method with it. */
TEST(a_method_that_is_left_has_its_caller_in_x30)
{
	static const uint32_t exit[] = {0xa8c17bfd, 0x927cee9f, 0xd65f03c0};
	struct runtime_fixture fixture;
	setup(&fixture);
	put_code(INTERPRETER, PLACE, exit, sizeof(exit));
	put_interpreted(&fixture, SP + 30, 44, SP + 40, code_address(STUBS, PLACE));
	put_call_stub(&fixture, SP + 40);
	put_call(INTERPRETER, PLACE + 0x40);
	fixture.regs.reg[UNWIND_FP] = stack_address(SP + 30);
	fixture.regs.reg[UNWIND_RA] = code_address(INTERPRETER, PLACE + 0x40);
	fixture.regs.reg[20] = stack_address(SP + 6);
	for (uint64_t at = PLACE + 4; at <= PLACE + 8; at += 4) {
		fixture.regs.ip = code_address(INTERPRETER, at);
		runtime_fixture_tick(&fixture);
		CHECK_STR(runtime_fixture_shape(&fixture), "ssn");
		CHECK_INT(place_of(fixture.words[0]), 44);
	}
	runtime_fixture_deinit(&fixture);
}
#endif

TEST(what_leads_to_inlined_methods_is_sent)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	struct java_row *row = java_row_of(&fixture);
	row->flags |= JAVA_HAS_SCOPES;
	row->scopes_data = row->scopes_pcs = row->scopes_pcs_end = row->metadata = 40;
	table_store_complete_row(fixture.store, 2, &fixture.table.runtime);
	put_frame(&fixture, SP, FRAME_WORDS, SP + 40, code_address(STUBS, PLACE));
	put_call_stub(&fixture, SP + 40);
	fixture.regs.ip = code_address(COMPILED, 0x20);
	runtime_fixture_tick(&fixture);
	const struct event_code *event = emulated_record(EVENT_CODE, 0);
	CHECK(event && event->is_inlined);
	CHECK_INT(event ? event->bytes[RUNTIME_TEXT_LINES] : 0, sizeof(struct java_scopes));
	CHECK_INT(place_of(fixture.words[0]), RUNTIME_FRAME_IS_LEAF | 0x20);
	event = emulated_record(EVENT_CODE, 1);
	CHECK(event && !event->is_inlined);
	runtime_fixture_deinit(&fixture);
}

TEST(a_row_that_is_not_complete_is_asked_for)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	java_row_of(&fixture)->is_complete = false;
	table_store_complete_row(fixture.store, 2, &fixture.table.runtime);
	fixture.regs.ip = code_address(COMPILED, 0x20);
	runtime_fixture_tick(&fixture);
	CHECK(emulated_record(EVENT_FILE, 0) != NULL);
	CHECK(!is_script(fixture.words ? fixture.words[0] : 0));
	runtime_fixture_deinit(&fixture);
}

/* Nothing was seen of the process yet when it is interrupted in generated code. */
TEST(a_first_sample_in_generated_code_leads_to_the_runtime)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	emulated.pid++;
	emulated.tid++;
	put_frame(&fixture, SP, FRAME_WORDS, SP + 40, code_address(STUBS, PLACE));
	put_call_stub(&fixture, SP + 40);
	fixture.regs.reg[UNWIND_FP] = stack_address(SP + 40);
	fixture.regs.ip = code_address(COMPILED, 0x20);
	runtime_fixture_tick(&fixture);
	const char *shape = runtime_fixture_shape(&fixture);
	CHECK(strncmp(shape, "ssn", 3) == 0);
	runtime_fixture_deinit(&fixture);
}

/* What processes of another user said of the file does not hold for this one. */
TEST(a_row_of_another_user_is_not_used)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	java_row_of(&fixture)->is_complete = false;
	table_store_complete_row(fixture.store, 2, &fixture.table.runtime);
	java_row_of(&fixture)->is_complete = true;
	uint32_t number = table_store_add_row(fixture.store, &fixture.table.runtime);
	uint64_t delta = emulated_known_runtime(emulated.pid, RUNTIME_JAVA)->delta;
	put_frame(&fixture, SP, FRAME_WORDS, SP + 40, code_address(STUBS, PLACE));
	put_call_stub(&fixture, SP + 40);
	fixture.regs.ip = code_address(COMPILED, 0x20);
	for (uint32_t uid = 7; uid < 9; uid++) {
		emulated.uid = 8;
		table_store_tell_users_row(fixture.store, number, uid, emulated.pid, delta);
		emulate_drain();
		runtime_fixture_tick(&fixture);
		CHECK_INT(fixture.words && is_script(fixture.words[0]), uid == emulated.uid);
	}
	runtime_fixture_deinit(&fixture);
}

/* Every hop of the map of segments leads back to a hop: it takes a bounded number of them. */
TEST(a_map_without_an_end_leads_nowhere)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	memset(&fixture.heap[SEGMENTS], 0, 32 * 8);
	((uint8_t *)&fixture.heap[SEGMENTS])[2] = 0xff;
	fixture.regs.ip = code_address(COMPILED, 0x20);
	runtime_fixture_tick(&fixture);
	CHECK(!fixture.words || !is_script(fixture.words[0]));
	runtime_fixture_deinit(&fixture);
}
