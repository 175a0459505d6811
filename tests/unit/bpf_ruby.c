/* Ticks in a process that is CRuby 3.1 as far as the walk can tell: what it sends for it. */
#include <string.h>

#include "record/runtime/ruby/ruby_layout.h"
#include "tests/unit/bpf_runtime_fixture.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

enum {
	CORE = LOOP, /* vm_exec_core(), and behind it rb_vm_exec() */
	EXEC = 0x1800,
	SLOT = 0, /* words of the data */
	SYMBOLS = 8,
	FIRST_SP = 4,      /* word of the stack */
	NATIVE_WORDS = 32, /* of each native frame */
	/* Words of the heap: objects that stand for themselves. */
	MODULES = 0,
	MODULE = 3,
	BLOCK = 16,
	CONTEXT = 32,
	INNER_CODE = 48, /* iseq, body, and the rest of each */
	OUTER_CODE = 112,
	LABEL = 176,
	PATH = 184,
	INSTRUCTIONS = 192,
	ENTRIES = 208,
	ENVIRONMENTS = 224,
	FRAMES = 512,
	ENTRY = 520, /* of a method in C, its definition, its name, its class */
	DEFINITION = 528,
	C_NAME = 536,
	CLASS = 544,
	METACLASS = 568,
	CLASS_NAME = 592,
	BASE_LABEL = 600,
	IDS = 608, /* Array, its words, and the Array that is the first of them */
	NAMES = 624,
	NAMES_WORDS = 1024,
	ENVIRONMENT_WORDS = 3,

	ID = 300 << 4 | 1, /* of the method's name, and of an operator */
	OPERATOR = 43,
	LAST_OPERATOR = 169,
	PERMANENT = 40, /* bit of the word before the class's path */
	LOCAL = 2,

	METHOD = 0x11110001, /* kinds of frames, and what is said of them */
	BLOCK_KIND = 0x22220001,
	CFUNC = 0x55550001,
	EVAL = 0x77770001,
	DUMMY = 0x79990001,
	FINISH = 0x20,
	IS_C = 0x80,
};

static struct ruby_row *ruby_row_of(struct runtime_fixture *fixture)
{
	return (void *)fixture->table.runtime.words;
}

static void put_row(struct runtime_fixture *fixture, uint8_t version)
{
	struct ruby_row *row = ruby_row_of(fixture);
	fixture->table.runtime.kind = RUNTIME_RUBY;
	CHECK(ruby_layout_of_version(version, row));
	row->flags |= RUBY_CONTEXT_IS_IN_SLOT;
	row->context = DATA + SLOT * 8;
	row->symbols = DATA + SYMBOLS * 8;
	row->last_operator = LAST_OPERATOR;
	row->core_start[0] = CORE;
	row->core_end[0] = row->loop_start = EXEC;
	row->loop_end = CALLER;
}

static void put_string(struct runtime_fixture *fixture, uint64_t at, const char *text)
{
	bool has_length = ruby_row_of(fixture)->flags & RUBY_HAS_STRING_LENGTH;
	fixture->heap[at] = has_length ? 5 : 5 | strlen(text) << 14;
	fixture->heap[at + 2] = strlen(text);
	memcpy(&fixture->heap[at + 2 + has_length], text, strlen(text));
}

/* Code with a body right behind it; one entry for all of its three words. */
static void put_code(struct runtime_fixture *fixture, uint64_t at, uint64_t line)
{
	const struct ruby_row *row = ruby_row_of(fixture);
	uint64_t *iseq = fixture->heap + at, *body = iseq + 4;
	iseq[0] = 0x701a;
	iseq[2] = heap_address(at + 4);
	body[0] = 3ULL << 32;
	body[1] = heap_address(INSTRUCTIONS);
	body[8] = heap_address(PATH);
	body[9] = heap_address(BASE_LABEL);
	body[10] = heap_address(LABEL);
	body[11] = row->flags & RUBY_HAS_TAGGED_LINE ? line << 1 | 1 : line;
	body[row->body_info / 8] = heap_address(ENTRIES);
	body[row->body_info_size / 8] = 1;
}

/* Called from the one before. */
static void push_frame(
	struct runtime_fixture *fixture, uint64_t kind, uint64_t code, uint64_t place)
{
	uint64_t words = ruby_row_of(fixture)->frame_bytes / 8;
	uint64_t at = (fixture->heap[CONTEXT + 2] - HEAP) / 8 - words;
	uint64_t number = (FRAMES - at) / words - 1;
	uint64_t *frame = fixture->heap + at;
	frame[0] = heap_address(INSTRUCTIONS + place);
	frame[2] = code ? heap_address(code) : 0;
	frame[4] = heap_address(ENVIRONMENTS + (number + 1) * ENVIRONMENT_WORDS - 1);
	fixture->heap[ENVIRONMENTS + (number + 1) * ENVIRONMENT_WORDS - 1] = kind;
	fixture->heap[CONTEXT + 2] = heap_address(at);
}

/* The native frames: rb_vm_exec() through vm_exec_core(), `loops` times. */
static void put_native(struct runtime_fixture *fixture, uint64_t loops)
{
	uint64_t at = FIRST_SP - 1;
	for (uint64_t i = 0; i < 2 * loops; i++) {
		uint64_t is_last = i == 2 * loops - 1;
		uint64_t function = is_last ? CALLER : i & 1 ? CORE : EXEC;
		fixture->stack[at += NATIVE_WORDS] = CODE + function + 5;
	}
}

static void put_array(struct runtime_fixture *fixture, uint64_t at, uint64_t words, uint64_t length)
{
	fixture->heap[at] = 7;
	fixture->heap[at + 2] = length;
	fixture->heap[at + 4] = heap_address(words);
}

static void put_symbol(struct runtime_fixture *fixture, uint64_t number, uint64_t id, uint64_t name)
{
	fixture->heap[NAMES + 2 * number] = heap_address(name);
	fixture->heap[NAMES + 2 * number + 1] = id << 8 | 0xc;
}

/* A method of a class, written in C, and whose frame that of number `frame` is. */
static void put_method(struct runtime_fixture *fixture, uint64_t frame)
{
	uint64_t *heap = fixture->heap;
	heap[ENVIRONMENTS + frame * ENVIRONMENT_WORDS] = heap_address(ENTRY);
	heap[ENTRY] = 0x601a;
	heap[ENTRY + 2] = heap_address(DEFINITION);
	heap[ENTRY + 4] = heap_address(CLASS);
	heap[DEFINITION] = 1;
	heap[DEFINITION + 4] = ID;
	heap[CLASS] = 2;
	heap[CLASS + 18] = 1ULL << PERMANENT;
	heap[CLASS + 19] = heap_address(CLASS_NAME);
	heap[METACLASS] = 2 | 1 << 12;
	heap[METACLASS + 16] = heap_address(CLASS);
	put_string(fixture, CLASS_NAME, "Klaß");
	put_string(fixture, C_NAME, "each");
	put_symbol(fixture, ID >> 4, ID, C_NAME);
	put_symbol(fixture, OPERATOR, OPERATOR, CLASS_NAME);
	put_array(fixture, IDS, IDS + 8, 1);
	heap[IDS + 8] = heap_address(IDS + 9);
	put_array(fixture, IDS + 9, NAMES, NAMES_WORDS);
	fixture->data[SYMBOLS] = 400;
	fixture->data[SYMBOLS + 2] = heap_address(IDS);
}

static void setup_version(struct runtime_fixture *fixture, uint8_t version)
{
	runtime_fixture_init(fixture, NATIVE_WORDS * 8);
	runtime_fixture_show_thread(fixture);
	put_row(fixture, version);
	fixture->data[SLOT] = MODULE;
	fixture->data[SLOT + 1] = 8;
	*thread_word(fixture, THREAD_MODULES) = heap_address(MODULES);
	fixture->heap[MODULES + 2 * MODULE] = heap_address(BLOCK);
	fixture->heap[BLOCK + 1] = heap_address(CONTEXT);
	fixture->heap[CONTEXT] = heap_address(FRAMES - 256);
	fixture->heap[CONTEXT + 1] = 256;
	fixture->heap[CONTEXT + 2] = heap_address(FRAMES);
	put_string(fixture, LABEL, "ab");
	put_string(fixture, BASE_LABEL, "b");
	put_string(fixture, PATH, "c.rb");
	put_code(fixture, INNER_CODE, 10);
	put_code(fixture, OUTER_CODE, 20);
	fixture->heap[ENTRIES] = 12;
	fixture->regs.reg[UNWIND_SP] = stack_address(FIRST_SP);
	put_native(fixture, 1);
	runtime_fixture_bind(fixture);
}

static void setup(struct runtime_fixture *fixture)
{
	setup_version(fixture, 31);
}

/* A method that a program called. */
static void setup_call(struct runtime_fixture *fixture)
{
	setup(fixture);
	push_frame(fixture, METHOD | FINISH, OUTER_CODE, 2);
	push_frame(fixture, METHOD, INNER_CODE, 0);
}

TEST(script_frames_come_before_both_functions_of_the_loop)
{
	struct runtime_fixture fixture;
	setup_call(&fixture);
	const uint64_t *words = runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "ssnnn");
	CHECK_INT(place_of(words[0]), 0);
	CHECK_INT(place_of(words[1]), 1); /* the counter is ahead */
	const struct event_code *code = emulated_record(EVENT_CODE, 0);
	CHECK(code != NULL && number_of(words[0]) == code->number);
	CHECK_INT(code->first_line, 10);
	CHECK_INT(code->unit[0], 0);
	CHECK_INT(code->bytes[RUNTIME_TEXT_NAME], 2);
	CHECK_INT(code->bytes[RUNTIME_TEXT_FILE], 4);
	CHECK_INT(code->bytes[RUNTIME_TEXT_LINES], 8 + 12);
	CHECK(memcmp(code + 1, "abc.rb\3\0\0\0\1\0\0\0\f", 15) == 0);
	CHECK(number_of(words[0]) != number_of(words[1]));
	runtime_fixture_deinit(&fixture);
}

TEST(each_loop_has_the_frames_up_to_the_next_mark)
{
	struct runtime_fixture fixture;
	setup_call(&fixture);
	push_frame(&fixture, CFUNC | IS_C, 0, 0);
	push_frame(&fixture, BLOCK_KIND | FINISH, INNER_CODE, 2);
	put_native(&fixture, 2);
	const uint64_t *words = runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "snnssnnn");
	CHECK_INT(number_of(words[0]), number_of(words[3]));
	runtime_fixture_deinit(&fixture);
}

/* The inner loop's frame has returned: all have the frames of the next, and the last none. */
TEST(the_outermost_frame_is_no_code)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	push_frame(&fixture, DUMMY | FINISH, OUTER_CODE, 0);
	push_frame(&fixture, EVAL | FINISH, OUTER_CODE, 2);
	push_frame(&fixture, CFUNC | IS_C, 0, 0);
	put_native(&fixture, 2);
	runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "snnnnn");
	runtime_fixture_deinit(&fixture);
}

TEST(code_is_sent_once_until_it_changes)
{
	struct runtime_fixture fixture;
	setup_call(&fixture);
	uint32_t number = number_of(runtime_fixture_tick(&fixture)[0]);
	CHECK_INT(number_of(runtime_fixture_tick(&fixture)[0]), number);
	CHECK_INT(emulated_count(EVENT_CODE), 0);
	fixture.heap[INNER_CODE + 4 + 11] = 11 << 1 | 1; /* another one at the same address */
	CHECK(number_of(runtime_fixture_tick(&fixture)[0]) != number);
	CHECK_INT(emulated_count(EVENT_CODE), 1);
	runtime_fixture_deinit(&fixture);
}

TEST(what_is_no_code_gets_no_name)
{
	struct runtime_fixture fixture;
	setup_call(&fixture);
	fixture.heap[INNER_CODE] = 0x601a; /* another internal object */
	const uint64_t *words = runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "ssnnn");
	CHECK_INT(number_of(words[0]), 0);
	CHECK_INT(failure_of(words[0], RUNTIME_RUBY), LAYOUT_SCRIPT_TORN);
	CHECK(number_of(words[1]) != 0);
	runtime_fixture_deinit(&fixture);
}

TEST(a_thread_without_a_context_says_so)
{
	struct runtime_fixture fixture;
	setup_call(&fixture);
	fixture.heap[BLOCK + 1] = 0;
	const uint64_t *words = runtime_fixture_tick(&fixture);
	CHECK_INT(failure_of(words[0], RUNTIME_RUBY), LAYOUT_SCRIPT_NO_STATE);
	fixture.heap[BLOCK + 1] = heap_address(CONTEXT);
	fixture.heap[CONTEXT + 2] = heap_address(FRAMES + 8); /* outside of its stack */
	words = runtime_fixture_tick(&fixture);
	CHECK_INT(failure_of(words[0], RUNTIME_RUBY), LAYOUT_SCRIPT_NO_STATE);
	runtime_fixture_deinit(&fixture);
}

TEST(frames_without_a_mark_end_with_their_stack)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	push_frame(&fixture, METHOD, OUTER_CODE, 0);
	push_frame(&fixture, METHOD, INNER_CODE, 0);
	runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "ssnnn");
	fixture.heap[FRAMES - 2 * 8 + 4] = 0x9999; /* an environment that is none */
	const uint64_t *words = runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "snnn");
	CHECK_INT(failure_of(words[0], RUNTIME_RUBY), LAYOUT_SCRIPT_UNREADABLE);
	runtime_fixture_deinit(&fixture);
}

TEST(compiled_code_returns_to_the_loop)
{
	struct runtime_fixture fixture;
	setup_call(&fixture);
	runtime_fixture_tick(&fixture); /* whose process it is */
	fixture.regs.ip = JIT + 0x100;
	fixture.stack[FIRST_SP] = 0x1234;
	fixture.stack[FIRST_SP + 1] = CODE + EXEC + 9;
	fixture.stack[FIRST_SP + 1 + NATIVE_WORDS] = CODE + CALLER + 5;
	runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "assnn");
	runtime_fixture_deinit(&fixture);
}

/* The name that was sent of the innermost script frame; "" if the stack has another shape. */
static const char *name_of_first(struct runtime_fixture *fixture, const char *shape)
{
	const uint64_t *words = runtime_fixture_tick(fixture);
	const struct event_code *code = emulated_record(EVENT_CODE, 0);
	CHECK_STR(runtime_fixture_shape(fixture), shape);
	return code && code->number == number_of(words[0]) ? sent_text(0, RUNTIME_TEXT_NAME) : "";
}

static void setup_c_method(struct runtime_fixture *fixture, uint8_t version)
{
	setup_version(fixture, version);
	push_frame(fixture, METHOD | FINISH | LOCAL, OUTER_CODE, 2);
	push_frame(fixture, CFUNC | IS_C | LOCAL, 0, 0);
	put_method(fixture, 1);
}

TEST(methods_in_c_are_called_what_their_symbols_say)
{
	struct runtime_fixture fixture;
	setup_c_method(&fixture, 31);
	CHECK_STR(name_of_first(&fixture, "ssnnn"), "each");
	const struct event_code *code = emulated_record(EVENT_CODE, 0);
	CHECK(code && !code->first_line && !code->bytes[RUNTIME_TEXT_FILE]);
	CHECK(code && !code->address[RUNTIME_TEXT_FILE] && !code->address[RUNTIME_TEXT_LINES]);
	fixture.heap[DEFINITION + 4] = OPERATOR;
	CHECK_STR(name_of_first(&fixture, "ssnnn"), "Klaß");
	/* Between what a frame has for $~ and the method. */
	fixture.heap[ENVIRONMENTS + ENVIRONMENT_WORDS] = heap_address(PATH);
	fixture.heap[PATH] = 0x201a;
	fixture.heap[PATH + 1] = heap_address(ENTRY);
	fixture.heap[DEFINITION + 4] = ID;
	fixture.heap[DEFINITION + 1] = 99; /* or it is known */
	CHECK_STR(name_of_first(&fixture, "ssnnn"), "each");
	runtime_fixture_deinit(&fixture);
}

TEST(methods_in_c_without_a_name_are_left_out)
{
	static const struct {
		uint64_t word, value;
	} breaks[] = {
		{ENTRY, 0x501a},
		{ENTRY + 2, 0x9999},
		{DEFINITION, 2},
		{DEFINITION + 4, 401 << 4},
		{C_NAME, 7},
		{NAMES + 2 * (ID >> 4) + 1, (ID + 1) << 8 | 0xc},
		{NAMES + 2 * (ID >> 4) + 1, 0x98},
		{IDS, 5},
		{IDS + 2, 0},
		{IDS + 9 + 4, 0x9999},
		{ENVIRONMENTS + ENVIRONMENT_WORDS, 0},
	};
	struct runtime_fixture fixture;
	setup_c_method(&fixture, 31);
	for (size_t i = 0; i < sizeof(breaks) / sizeof(*breaks); i++) {
		uint64_t *word = &fixture.heap[breaks[i].word], before = *word;
		*word = breaks[i].value;
		runtime_fixture_tick(&fixture);
		CHECK_STR(runtime_fixture_shape(&fixture), "snnn");
		*word = before;
	}
	CHECK_STR(name_of_first(&fixture, "ssnnn"), "each");
	runtime_fixture_deinit(&fixture);
}

TEST(names_have_the_class_of_the_method)
{
	struct runtime_fixture fixture;
	setup_c_method(&fixture, 33);
	CHECK_STR(name_of_first(&fixture, "ssnnn"), "Klaß#each");
	fixture.heap[ENTRY + 4] = heap_address(METACLASS);
	CHECK_STR(name_of_first(&fixture, "ssnnn"), "Klaß.each");
	fixture.heap[CLASS + 18] = 0; /* no name for good */
	fixture.heap[DEFINITION + 1] = 99;
	CHECK_STR(name_of_first(&fixture, "ssnnn"), "each");
	runtime_fixture_deinit(&fixture);
}

TEST(labels_have_the_class_behind_what_they_begin_with)
{
	struct runtime_fixture fixture;
	setup_version(&fixture, 33);
	push_frame(&fixture, METHOD | FINISH | LOCAL, OUTER_CODE, 2);
	push_frame(&fixture, BLOCK_KIND, INNER_CODE, 2);
	put_method(&fixture, 0);
	uint64_t *outer = &fixture.heap[ENVIRONMENTS + ENVIRONMENT_WORDS + 1];
	*outer = heap_address(ENVIRONMENTS + 2) | 1;
	CHECK_STR(name_of_first(&fixture, "ssnnn"), "aKlaß#b");
	put_string(&fixture, BASE_LABEL, "c"); /* what eval() runs is called otherwise */
	fixture.heap[CLASS + 19] = heap_address(CLASS_NAME - 8);
	CHECK_STR(name_of_first(&fixture, "ssnnn"), "ab");
	*outer = heap_address(ENVIRONMENTS + ENVIRONMENT_WORDS + 2); /* itself */
	fixture.heap[INNER_CODE + 4 + 11]++;
	CHECK_STR(name_of_first(&fixture, "ssnnn"), "ab");
	runtime_fixture_deinit(&fixture);
}

TEST(a_frame_that_no_loop_has_yet_takes_no_other_ones_place)
{
	struct runtime_fixture fixture;
	setup_call(&fixture);
	push_frame(&fixture, CFUNC | IS_C, 0, 0);
	push_frame(&fixture, BLOCK_KIND | FINISH, INNER_CODE, 0);
	fixture.regs.ip = CODE + HELPER + 5;
	fixture.stack[FIRST_SP - 1 + NATIVE_WORDS] = CODE + CORE + 5;
	fixture.stack[FIRST_SP - 1 + 2 * NATIVE_WORDS] = CODE + EXEC + 5;
	fixture.stack[FIRST_SP - 1 + 3 * NATIVE_WORDS] = CODE + CALLER + 5;
	runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "nsssnnn");
	fixture.heap[FRAMES - 4 * 8] = heap_address(INSTRUCTIONS + 1); /* begun: that loop's own */
	runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "nsnnn");
	runtime_fixture_deinit(&fixture);
}
