/* Ticks in a process that is PHP 8.2 as far as the walk can tell: what it sends for it. */
#include <string.h>

#include "bpf/runtime/php/php_row.h"
#include "tests/unit/bpf_runtime_fixture.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

enum {
	RESUME = 0x1040, /* where the loop jumps to compiled code */
	STACK_TOP = 32,  /* is so much before current_execute_data, the word of the data FRAME */
	FRAME = 4,
	LOOP_BYTES = 256, /* of its native frame */
	/* Words of the heap: objects that stand for themselves. */
	INNER = 480, /* frames of 5 * 16 bytes */
	NATIVE = 16,
	BEHIND_NATIVE = 26, /* a frame right behind that of a function in C */
	OUTER = 40,
	SPIN = 64, /* functions */
	SORT = 96,
	MAIN = 128,
	SPIN_TEXT = 160,
	SORT_TEXT = 168,
	FILE_TEXT = 176,
	CLASS = 184,
	CLASS_TEXT = 192,
	SPIN_OPLINES = 256,
	MAIN_OPLINES = 320,
	TOP = 1 << 17,
	/* In which the loop has its frame and its instruction. */
#if defined(__x86_64__)
	FRAME_REGISTER = 14,
	OPLINE_REGISTER = 15,
#elif defined(__aarch64__)
	FRAME_REGISTER = 27,
	OPLINE_REGISTER = 28,
#endif
};

static struct php_row *php_row_of(struct runtime_fixture *fixture)
{
	return (void *)fixture->table.runtime.words;
}

static void put_row(struct runtime_fixture *fixture)
{
	fixture->table.runtime.kind = RUNTIME_PHP;
	*php_row_of(fixture) = (struct php_row){
		.frame = DATA + FRAME * 8,
		.loop = LOOP,
		.resume = RESUME,
		.version = 82,
		.stack_top = STACK_TOP,
		.code_file = 152,
		.code_start = 88,
		.generator_frame = 56,
		.generator_children = 160,
		.generator_child = 168,
	};
}

static void put_text(struct runtime_fixture *fixture, uint64_t at, const char *text, size_t len)
{
	fixture->heap[at + 2] = len;
	memcpy(&fixture->heap[at + 3], text, len + 1);
}

/* Of lines `first` to `first` + 9. */
static void put_function(struct runtime_fixture *fixture, uint64_t at, uint64_t name,
	uint64_t oplines, uint64_t first)
{
	uint64_t *code = fixture->heap + at;
	code[0] = 2;
	code[1] = name ? heap_address(name) : 0;
	code[11] = heap_address(oplines);
	code[19] = heap_address(FILE_TEXT);
	code[20] = (first + 9) << 32 | first;
	for (uint64_t i = 0; i < 4; i++)
		fixture->heap[oplines + 4 * i + 3] = first + i;
}

/* At its code's third instruction. */
static void put_frame(struct runtime_fixture *fixture, uint64_t at, uint64_t code,
	uint64_t previous, uint64_t info)
{
	uint64_t *frame = fixture->heap + at;
	frame[0] = fixture->heap[code + 11] ? fixture->heap[code + 11] + 64 : 0;
	frame[3] = heap_address(code);
	frame[5] = info;
	frame[6] = previous ? heap_address(previous) : 0;
}

/* In the loop, which runs INNER, called by OUTER. */
static void setup(struct runtime_fixture *fixture)
{
	runtime_fixture_init(fixture, LOOP_BYTES);
	put_row(fixture);
	fixture->data[FRAME - STACK_TOP / 8] = heap_address(HEAP_WORDS);
	fixture->data[FRAME] = heap_address(INNER);
	put_text(fixture, SPIN_TEXT, "spin", 4);
	put_text(fixture, SORT_TEXT, "usort", 5);
	put_text(fixture, FILE_TEXT, "/a.php", 6);
	put_text(fixture, CLASS_TEXT, "C\0/a.php:1", 10);
	fixture->heap[CLASS + 1] = heap_address(CLASS_TEXT);
	put_function(fixture, SPIN, SPIN_TEXT, SPIN_OPLINES, 10);
	put_function(fixture, MAIN, 0, MAIN_OPLINES, 1);
	fixture->heap[SORT] = 1;
	fixture->heap[SORT + 1] = heap_address(SORT_TEXT);
	put_frame(fixture, INNER, SPIN, OUTER, 0);
	put_frame(fixture, NATIVE, SORT, OUTER, 0);
	put_frame(fixture, OUTER, MAIN, 0, TOP);
	fixture->regs.reg[UNWIND_SP] = stack_address(4);
	fixture->stack[4 + LOOP_BYTES / 8 - 1] = CODE + CALLER + 5;
	runtime_fixture_bind(fixture);
}

TEST(php_frames_come_before_the_loop_with_lines)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	const uint64_t *words = runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "ssnn");
	CHECK_INT(place_of(words[0]), 12);
	CHECK_INT(place_of(words[1]), 3);
	const struct event_code *code = emulated_record(EVENT_CODE, 0);
	CHECK(code != NULL && number_of(words[0]) == code->number);
	CHECK_INT(code->first_line, 10);
	CHECK_INT(code->unit[0], RUNTIME_UNIT_UTF8);
	CHECK_STR(sent_text(0, RUNTIME_TEXT_NAME), "spin");
	CHECK_STR(sent_text(0, RUNTIME_TEXT_FILE), "/a.php");
	CHECK_STR(sent_text(1, RUNTIME_TEXT_NAME), "{main}");
	CHECK_STR(sent_text(1, RUNTIME_TEXT_FILE), "/a.php");
	runtime_fixture_deinit(&fixture);
}

TEST(php_leaf_line_is_that_of_the_register)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	fixture.heap[INNER] = 0;
	CHECK_INT(place_of(runtime_fixture_tick(&fixture)[0]), 10); /* the first */
	fixture.regs.reg[FRAME_REGISTER] = heap_address(INNER);
	fixture.regs.reg[OPLINE_REGISTER] = heap_address(SPIN_OPLINES) + 32;
	CHECK_INT(place_of(runtime_fixture_tick(&fixture)[0]), 11);
	fixture.regs.reg[OPLINE_REGISTER] = heap_address(MAIN_OPLINES); /* of other code */
	CHECK_INT(place_of(runtime_fixture_tick(&fixture)[0]), 10);
	runtime_fixture_deinit(&fixture);
}

TEST(php_methods_have_their_class)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	fixture.heap[SPIN + 2] = heap_address(CLASS);
	runtime_fixture_tick(&fixture);
	CHECK_STR(sent_text(0, RUNTIME_TEXT_NAME), "C::spin");
	runtime_fixture_deinit(&fixture);
}

TEST(php_functions_in_c_are_frames_and_closures_are_one_code)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	fixture.data[FRAME] = heap_address(NATIVE);
	const uint64_t *words = runtime_fixture_tick(&fixture);
	CHECK_INT(fixture.count, 4);
	CHECK_INT(place_of(words[0]), 0);
	CHECK_STR(sent_text(0, RUNTIME_TEXT_NAME), "usort");
	fixture.data[FRAME] = heap_address(INNER);
	uint32_t number = number_of(runtime_fixture_tick(&fixture)[0]);
	memcpy(&fixture.heap[400], &fixture.heap[SPIN], 24 * 8);
	put_frame(&fixture, INNER, 400, OUTER, 0);
	CHECK_INT(number_of(runtime_fixture_tick(&fixture)[0]), number);
	fixture.heap[400 + 20]++; /* other lines: other code at the same address */
	CHECK(number_of(runtime_fixture_tick(&fixture)[0]) != number);
	runtime_fixture_deinit(&fixture);
}

TEST(php_loop_that_ends_leaves_the_frames_to_the_next)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	fixture.data[FRAME] = heap_address(NATIVE);
	put_frame(&fixture, BEHIND_NATIVE, SPIN, NATIVE, TOP);
	fixture.stack[4 + LOOP_BYTES / 8 - 1] = CODE + LOOP + 0x205; /* another loop */
	fixture.stack[4 + 2 * LOOP_BYTES / 8 - 1] = CODE + CALLER + 5;
	fixture.regs.reg[FRAME_REGISTER] = heap_address(BEHIND_NATIVE);
	runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "nssnn");
	runtime_fixture_deinit(&fixture);
}

TEST(php_frames_are_left_where_the_native_stack_ends)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	fixture.heap[INNER + 5] = TOP; /* of a loop whose caller's is not there */
	const uint64_t *words = runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "snns");
	CHECK_INT(place_of(words[3]), 3);
	runtime_fixture_deinit(&fixture);
}

TEST(php_torn_and_unreadable_frames_have_no_names)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	fixture.heap[SPIN] = 7;
	const uint64_t *words = runtime_fixture_tick(&fixture);
	CHECK_INT(number_of(words[0]), 0);
	CHECK_INT(failure_of(words[0], RUNTIME_PHP), LAYOUT_SCRIPT_TORN);
	CHECK(number_of(words[1]) != 0);
	fixture.data[FRAME] = 0x1234;
	words = runtime_fixture_tick(&fixture);
	CHECK_INT(fixture.count, 3);
	CHECK_INT(failure_of(words[0], RUNTIME_PHP), LAYOUT_SCRIPT_UNREADABLE);
	runtime_fixture_deinit(&fixture);
}

TEST(php_frames_in_a_circle_end)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	put_frame(&fixture, INNER, SPIN, INNER, 0);
	runtime_fixture_tick(&fixture);
	CHECK_INT(fixture.count, EVENT_MAX_USER_FRAMES);
	fixture.heap[INNER + 3] = 0; /* without a function, for ever */
	runtime_fixture_tick(&fixture);
	CHECK(fixture.count <= EVENT_MAX_USER_FRAMES);
	runtime_fixture_deinit(&fixture);
}
