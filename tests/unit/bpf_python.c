/* Ticks in a process that is CPython 3.11 as far as the walk can tell: what it sends for it. */
#include <stdlib.h>
#include <string.h>

#include "record/runtime/python/python_layout.h"
#include "tests/unit/bpf_runtime_fixture.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

enum {
	KEY = 0,     /* words of the data */
	CURRENT = 1, /* what points to the state that runs */
	TYPE = 0x6000,
	LOOP_BYTES = 256, /* of its native frame */
	/* Words of the heap: objects that stand for themselves. */
	STATE = 0,
	INNER = 32, /* frames */
	OUTER = 64,
	FIRST_CODE = 96,
	SECOND_CODE = 144,
	TEXT = 192,
	LINES = 208,
	OTHER_STATE = 256,
};

static struct python_row *python_row_of(struct runtime_fixture *fixture)
{
	return (void *)fixture->table.runtime.words;
}

static void put_row(struct runtime_fixture *fixture)
{
	fixture->table.runtime.kind = RUNTIME_PYTHON;
	CHECK(python_layout_of_version(11, python_row_of(fixture)));
	python_row_of(fixture)->key = DATA + KEY * 8;
	python_row_of(fixture)->current = DATA + CURRENT * 8;
	python_row_of(fixture)->code_type = TYPE;
	python_row_of(fixture)->loop = LOOP;
}

/* A code object with the name "ab", whose first line is `line`. */
static void put_code(struct runtime_fixture *fixture, uint64_t at, uint64_t line)
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

static void put_frame(struct runtime_fixture *fixture, uint64_t at, uint64_t code,
	uint64_t previous, uint64_t place, bool is_entry)
{
	uint64_t *frame = fixture->heap + at;
	frame[4] = heap_address(code);
	frame[6] = previous ? heap_address(previous) : 0;
	frame[7] = heap_address(code) + 184 + 2 * place;
	frame[8] = (uint64_t)is_entry << 32; /* byte 68 */
}

/* In the loop, which runs INNER, called by OUTER. */
static void setup(struct runtime_fixture *fixture)
{
	runtime_fixture_init(fixture, LOOP_BYTES);
	runtime_fixture_show_thread(fixture);
	put_row(fixture);
	fixture->data[KEY] = 3;
	*thread_value(fixture, 3) = heap_address(STATE);
	fixture->heap[STATE + 7] = stack_address(10); /* the record, in the loop's frame */
	fixture->heap[STATE + 19] = EMULATED_SELF;    /* whose state it is */
	fixture->stack[10 + 1] = heap_address(INNER);
	put_code(fixture, FIRST_CODE, 10);
	put_code(fixture, SECOND_CODE, 20);
	put_frame(fixture, INNER, FIRST_CODE, OUTER, 1, false);
	put_frame(fixture, OUTER, SECOND_CODE, 0, 0, true);
	fixture->regs.reg[UNWIND_SP] = stack_address(4);
	fixture->stack[4 + LOOP_BYTES / 8 - 1] = CODE + CALLER + 5;
	runtime_fixture_bind(fixture);
}

TEST(script_frames_come_before_the_loop)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	const uint64_t *words = runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "ssnn");
	CHECK_INT(place_of(words[0]), 1);
	CHECK_INT(place_of(words[1]), 0);
	const struct event_code *code = emulated_record(EVENT_CODE, 0);
	CHECK(code != NULL && number_of(words[0]) == code->number);
	CHECK_INT(code->first_line, 10);
	CHECK_STR(sent_text(0, RUNTIME_TEXT_NAME), "ab");
	CHECK_STR(sent_text(0, RUNTIME_TEXT_FILE), "ab");
	CHECK_STR(sent_text(0, RUNTIME_TEXT_LINES), "\x81\x11\xf9");
	CHECK(number_of(words[0]) != number_of(words[1]));
	runtime_fixture_deinit(&fixture);
}

TEST(code_is_sent_once_until_it_changes)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	uint32_t number = number_of(runtime_fixture_tick(&fixture)[0]);
	CHECK_INT(number_of(runtime_fixture_tick(&fixture)[0]), number);
	CHECK_INT(emulated_count(EVENT_CODE), 0);
	fixture.heap[FIRST_CODE + 9] = 11; /* another one at the same address */
	CHECK(number_of(runtime_fixture_tick(&fixture)[0]) != number);
	CHECK_INT(emulated_count(EVENT_CODE), 1);
	emulated.start_ns++; /* another process */
	runtime_fixture_tick(&fixture);
	CHECK_INT(emulated_count(EVENT_CODE), 2);
	runtime_fixture_deinit(&fixture);
}

TEST(what_is_no_code_gets_no_name)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	fixture.heap[FIRST_CODE + 1] = CODE + TYPE + 8;
	const uint64_t *words = runtime_fixture_tick(&fixture);
	CHECK_INT(fixture.count, 4);
	CHECK_INT(number_of(words[0]), 0);
	CHECK_INT(failure_of(words[0], RUNTIME_PYTHON), LAYOUT_SCRIPT_TORN);
	CHECK(number_of(words[1]) != 0);
	runtime_fixture_deinit(&fixture);
}

TEST(a_thread_that_is_not_pythons_has_no_frames)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	fixture.heap[STATE + 19] = 1; /* another thread's */
	const uint64_t *words = runtime_fixture_tick(&fixture);
	CHECK_INT(fixture.count, 3);
	CHECK_INT(failure_of(words[0], RUNTIME_PYTHON), LAYOUT_SCRIPT_NO_STATE);
	runtime_fixture_deinit(&fixture);
}

TEST(a_loop_that_ends_has_none_and_one_that_begins_has_its_argument)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	fixture.heap[STATE + 7] = stack_address(100); /* above the loop's native frame */
	runtime_fixture_tick(&fixture);
	CHECK_INT(fixture.count, 2);
	fixture.regs.ip = CODE + LOOP + 16;
	fixture.regs.reg[UNWIND_ARGUMENT_2] = heap_address(OUTER);
	CHECK_INT(place_of(runtime_fixture_tick(&fixture)[0]), 0);
	CHECK_INT(fixture.count, 3);
	runtime_fixture_deinit(&fixture);
}

/* The thread's first state has the frames of the outer loop only. */
TEST(interpreters_within_one_have_their_own_frames)
{
	enum {
		LOOP_WORDS = LOOP_BYTES / 8
	};
	struct runtime_fixture fixture;
	setup(&fixture);
	put_frame(&fixture, INNER, FIRST_CODE, 0, 1, true);
	fixture.data[CURRENT] = heap_address(OTHER_STATE);
	fixture.heap[OTHER_STATE + 7] = stack_address(10);
	fixture.heap[OTHER_STATE + 19] = EMULATED_SELF;
	fixture.heap[STATE + 7] = stack_address(10 + LOOP_WORDS);
	fixture.stack[10 + LOOP_WORDS + 1] = heap_address(OUTER);
	fixture.stack[4 + LOOP_WORDS - 1] = CODE + LOOP + 0x600;
	fixture.stack[4 + 2 * LOOP_WORDS - 1] = CODE + CALLER + 5;
	const uint64_t *words = runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "snsnn");
	CHECK(number_of(words[0]) && number_of(words[2]));
	CHECK(number_of(words[0]) != number_of(words[2]));
	runtime_fixture_deinit(&fixture);
}

TEST(frames_in_a_circle_end)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	put_frame(&fixture, INNER, FIRST_CODE, INNER, 1, false);
	runtime_fixture_tick(&fixture);
	CHECK_INT(fixture.count, EVENT_MAX_USER_FRAMES);
	runtime_fixture_deinit(&fixture);
}

/* A million frames: as many are taken as a stack may have, and none is looked at behind these. */
TEST(endless_recursion_is_cut)
{
	enum {
		FRAMES = 1000000,
		FRAME_WORDS = 9,
		DEEP = 0x9000000
	};
	struct runtime_fixture fixture;
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
	runtime_fixture_tick(&fixture);
	CHECK_INT(fixture.count, EVENT_MAX_USER_FRAMES);
	CHECK_INT(emulated_count(EVENT_CODE), 1);
	runtime_fixture_deinit(&fixture);
	free(frames);
}

enum {
	JIT_WORDS = 16,
};

/* A tick in the loop, which code of no file called, and that was called by CALLER. */
static const uint64_t *tick_under_trampoline(
	struct runtime_fixture *fixture, uint64_t *code, uint64_t instructions)
{
	code[1] = instructions;
	emulate_memory(JIT, code, JIT_WORDS * 8);
	uint64_t *loop_end = fixture->stack + 4 + LOOP_BYTES / 8;
	loop_end[-1] = JIT + 8;
	loop_end[1] = CODE + CALLER + 5;
	return runtime_fixture_tick(fixture);
}

TEST(a_trampoline_is_left_and_has_no_frame)
{
	static const uint64_t ways[] = {
		0xc308c48348, 0xc35d}; /* add $8,%rsp; ret and pop %rbp; ret */
	struct runtime_fixture fixture;
	uint64_t code[JIT_WORDS] = {0};
	setup(&fixture);
	for (int i = 0; i < 2; i++) {
		const uint64_t *words = tick_under_trampoline(&fixture, code, ways[i]);
		CHECK_STR(runtime_fixture_shape(&fixture), "ssnn");
		CHECK_INT(words[3] >> EVENT_FRAME_KIND_SHIFT, EVENT_FRAME_FILE);
	}
	const uint64_t *words = tick_under_trampoline(&fixture, code, 0x9090909090909090);
	CHECK(fixture.count >= 4 && words[3] >> EVENT_FRAME_KIND_SHIFT != EVENT_FRAME_FILE);
	runtime_fixture_deinit(&fixture);
}
