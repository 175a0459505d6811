/* Ticks in a process that is Perl 5.36 as far as the walk can tell: what it sends for it. */
#include <string.h>

#include "record/runtime/perl/perl_layout.h"
#include "tests/unit/bpf_runtime_fixture.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

enum {
	KEY = 0,           /* a word of the data */
	NEXTSTATE = 0x900, /* a function that does an operation */
	FRAME_WORDS = 8,   /* of each native frame */
	/* Words of the heap. */
	INTERPRETER = 0,
	STACK_INFO = 128,
	OTHER_STACK_INFO = 136,
	SAVES = 144,
	CONTEXTS = 160,
	OTHER_CONTEXTS = 240,
	CONTEXT_WORDS = 13,
	OUTER = 320, /* a sub each: the cv, its body, its gv and that one's body, its name */
	INNER = 360,
	STASH = 400,
	STASH_NAME = 420,
	STATEMENTS = 430, /* 8 words each; the line is 10 more than the number */
	FILE_NAME = 480,
	PERLSI_SORT = 3, /* Perl's own numbers */
	CXT_BLOCK = 2,
	CXT_SUB = 9,
	SVT_GV = 9,
	SVT_CV = 13,
};

static struct perl_row *perl_row_of(struct runtime_fixture *fixture)
{
	return (void *)fixture->table.runtime.words;
}

static uint64_t statement(uint64_t number)
{
	return heap_address(STATEMENTS + number * 8);
}

static void put_row(struct runtime_fixture *fixture)
{
	fixture->table.runtime.kind = RUNTIME_PERL;
	CHECK(perl_layout_of_version(36, perl_row_of(fixture)));
	perl_row_of(fixture)->key = DATA + KEY * 8;
	perl_row_of(fixture)->nextstate = NEXTSTATE;
}

static void put_name(struct runtime_fixture *fixture, uint64_t at, const char *name)
{
	fixture->heap[at] = (uint64_t)strlen(name) << 32;
	memcpy(&fixture->heap[at + 1], name, strlen(name) + 1);
}

static void put_sub(struct runtime_fixture *fixture, uint64_t at, const char *name, uint64_t depth)
{
	uint64_t *heap = fixture->heap + at;
	heap[0] = heap_address(at + 3);
	heap[1] = (uint64_t)SVT_CV << 32;
	heap[3 + 4] = heap_address(STASH);
	heap[3 + 6] = heap_address(at); /* the root: no other sub has it */
	heap[3 + 7] = heap_address(at + 18);
	heap[3 + 8] = heap_address(FILE_NAME);
	heap[3 + 12] = depth;
	heap[18] = heap_address(at + 22);
	heap[19] = (uint64_t)SVT_GV << 32;
	heap[22 + 4] = heap_address(at + 30);
	heap[22 + 5] = heap_address(STASH);
	put_name(fixture, at + 30, name);
}

static uint64_t *put_context(struct runtime_fixture *fixture, uint64_t number, uint64_t type,
	uint64_t sub, uint64_t from)
{
	uint64_t *context = fixture->heap + CONTEXTS + number * CONTEXT_WORDS;
	context[0] = type;
	context[2] = statement(from);
	context[6] = 1; /* it returns to somewhere */
	context[9] = sub ? heap_address(sub) : 0;
	return context;
}

static void put_stack_info(
	struct runtime_fixture *fixture, uint64_t at, uint64_t contexts, int last, uint64_t outer)
{
	uint64_t *info = fixture->heap + at;
	info[1] = heap_address(contexts);
	info[2] = outer ? heap_address(outer) : 0;
	info[4] = 20ULL << 32 | (uint32_t)last;
}

/* C code that the program called calls back: the loop is on the stack twice. */
static void put_native_stack(struct runtime_fixture *fixture)
{
	static const uint64_t returns[] = {LOOP, HELPER, LOOP, CALLER};
	for (uint64_t i = 0; i < 4; i++)
		fixture->stack[(i + 1) * FRAME_WORDS - 1] = CODE + returns[i] + 5;
	fixture->regs.ip = CODE + HELPER + 5;
	fixture->regs.reg[UNWIND_SP] = stack_address(0);
}

static void put_interpreter(struct runtime_fixture *fixture)
{
	uint64_t *interpreter = fixture->heap + INTERPRETER;
	*thread_value(fixture, 3) = heap_address(INTERPRETER);
	interpreter[1] = heap_address(HEAP_WORDS - 8); /* an operation runs */
	interpreter[5] = heap_address(SAVES);
	interpreter[208 / 8] = statement(3);
	interpreter[224 / 8] = heap_address(STACK_INFO);
	fixture->heap[SAVES + 1] = 18; /* SAVEt_OP */
	for (uint64_t i = 0; i < 6; i++) {
		fixture->heap[STATEMENTS + i * 8 + 4] = (10 + i) << 32;
		fixture->heap[STATEMENTS + i * 8 + 6] = heap_address(FILE_NAME);
	}
	memcpy(&fixture->heap[FILE_NAME], "a.pl", 5);
	fixture->heap[STASH] = heap_address(STASH + 3);
	fixture->heap[STASH + 3 + 4] = heap_address(STASH_NAME);
	put_name(fixture, STASH_NAME, "main");
}

/* The program calls outer(), in a block of which C code calls inner(). */
static void setup(struct runtime_fixture *fixture)
{
	runtime_fixture_init(fixture, FRAME_WORDS * 8);
	runtime_fixture_show_thread(fixture);
	put_row(fixture);
	fixture->data[KEY] = 3;
	put_native_stack(fixture);
	put_interpreter(fixture);
	put_sub(fixture, OUTER, "outer", 1);
	put_sub(fixture, INNER, "inner", 1);
	put_stack_info(fixture, STACK_INFO, CONTEXTS, 2, 0);
	put_context(fixture, 0, CXT_SUB, OUTER, 1);
	put_context(fixture, 1, CXT_BLOCK, 0, 2);
	uint64_t *called = put_context(fixture, 2, CXT_SUB, INNER, 2);
	called[0] |= 2ULL << 32; /* behind SAVEt_OP */
	called[6] = 0;
	runtime_fixture_bind(fixture);
}

/* The lines of script frames, and 0 for each native one. */
static void check_lines(struct runtime_fixture *fixture, const uint32_t *lines, uint32_t count)
{
	runtime_fixture_tick(fixture);
	CHECK_INT(fixture->count, count);
	for (uint32_t i = 0; i < fixture->count && i < count; i++) {
		uint64_t word = fixture->words[i];
		CHECK_INT(is_script(word), lines[i] != 0);
		if (is_script(word))
			CHECK_INT(place_of(word), lines[i]);
	}
}

#define CHECK_LINES(fixture, ...) \
	check_lines(fixture, (const uint32_t[]){__VA_ARGS__}, \
		sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void check_code(size_t n, const char *name)
{
	const struct event_code *code = emulated_record(EVENT_CODE, n);
	CHECK(code && code->kind == RUNTIME_PERL);
	CHECK_STR(sent_text(n, RUNTIME_TEXT_NAME), name);
	CHECK_STR(sent_text(n, RUNTIME_TEXT_FILE), "a.pl");
}

TEST(each_loop_has_its_frames_and_the_outermost_the_programs_own)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	CHECK_LINES(&fixture, 0, 13, 0, 0, 12, 11, 0, 0);
	check_code(0, "main::inner");
	check_code(1, "main::outer");
	check_code(2, "<main>");
	runtime_fixture_deinit(&fixture);
}

/* More contexts than are read at once; one sub twice in a row, and again behind another. */
TEST(subs_that_call_each_other_have_a_frame_each)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	put_stack_info(&fixture, STACK_INFO, CONTEXTS, 5, 0);
	put_context(&fixture, 3, CXT_SUB, INNER, 3);
	put_context(&fixture, 4, CXT_SUB, OUTER, 4);
	put_context(&fixture, 5, CXT_SUB, INNER, 5);
	fixture.heap[INTERPRETER + 208 / 8] = statement(0);
	CHECK_LINES(&fixture, 0, 10, 15, 14, 13, 0, 0, 12, 11, 0, 0);
	CHECK_INT(number_of(fixture.words[3]), number_of(fixture.words[1]));
	CHECK_INT(number_of(fixture.words[7]), number_of(fixture.words[2]));
	check_code(0, "main::inner");
	check_code(1, "main::outer");
	check_code(2, "<main>");
	CHECK(emulated_record(EVENT_CODE, 3) == NULL);
	runtime_fixture_deinit(&fixture);
}

TEST(a_last_call_in_a_block_returns_to_nowhere_but_is_no_call_from_c)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	fixture.heap[SAVES + 1] = 17;
	CHECK_LINES(&fixture, 0, 13, 12, 11, 0, 0, 0, 0);
	runtime_fixture_deinit(&fixture);
}

TEST(an_eval_that_c_did_not_expect_runs_in_a_loop_within_the_loop)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	/* A JMPENV between the loops, and one above, whose caller is null. */
	fixture.heap[INTERPRETER + 760 / 8] = stack_address(2 * FRAME_WORDS + 2);
	fixture.stack[2 * FRAME_WORDS + 2] = stack_address(4 * FRAME_WORDS);
	CHECK_LINES(&fixture, 0, 13, 0, 0, 0, 0);
	runtime_fixture_deinit(&fixture);
}

TEST(a_comparison_that_is_not_running_has_no_frames)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	put_stack_info(&fixture, OTHER_STACK_INFO, OTHER_CONTEXTS, 0, STACK_INFO);
	fixture.heap[OTHER_STACK_INFO + 5] = (uint64_t)PERLSI_SORT << 32;
	fixture.heap[INTERPRETER + 224 / 8] = heap_address(OTHER_STACK_INFO);
	fixture.heap[INTERPRETER + 1] = 0;
	CHECK_LINES(&fixture, 0, 13, 0, 0, 12, 11, 0, 0);
	/* When it is, the block of the sort ends the frames of the inner loop. */
	fixture.heap[INTERPRETER + 1] = heap_address(HEAP_WORDS - 8);
	CHECK_LINES(&fixture, 0, 0, 0, 13, 0, 0);
	runtime_fixture_deinit(&fixture);
}

TEST(what_an_earlier_call_left_in_a_context_is_no_frame)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	fixture.heap[INNER + 3 + 12] = 0; /* the sub is not running */
	CHECK_LINES(&fixture, 0, 0, 0, 12, 11, 0, 0);
	fixture.heap[INNER + 3 + 12] = 1;
	fixture.heap[INNER + 1] = 0; /* what was a sub is none any more */
	runtime_fixture_tick(&fixture);
	CHECK_INT(failure_of(fixture.words[1], RUNTIME_PERL), LAYOUT_SCRIPT_TORN);
	runtime_fixture_deinit(&fixture);
}

TEST(a_sub_whose_first_statement_has_not_begun_has_its_line)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	fixture.heap[INTERPRETER + 208 / 8] = statement(2); /* as when it was called */
	fixture.heap[INNER + 3 + 5] = statement(5);
	fixture.heap[STATEMENTS + 5 * 8 + 2] = CODE + NEXTSTATE;
	CHECK_LINES(&fixture, 0, 15, 0, 0, 12, 11, 0, 0);
	runtime_fixture_deinit(&fixture);
}

TEST(stacks_in_a_circle_and_contexts_out_of_range_end)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	put_stack_info(&fixture, STACK_INFO, CONTEXTS, -1, STACK_INFO);
	runtime_fixture_tick(&fixture);
	CHECK(fixture.count <= 5);
	put_stack_info(&fixture, STACK_INFO, CONTEXTS, 1000, 0);
	runtime_fixture_tick(&fixture);
	CHECK_INT(fixture.count, 7);
	CHECK_INT(failure_of(fixture.words[1], RUNTIME_PERL), LAYOUT_SCRIPT_NO_STATE);
	runtime_fixture_deinit(&fixture);
}

TEST(a_thread_without_interpreter_has_no_frames)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	*thread_value(&fixture, 3) = 0;
	runtime_fixture_tick(&fixture);
	CHECK_INT(failure_of(fixture.words[1], RUNTIME_PERL), LAYOUT_SCRIPT_NO_STATE);
	runtime_fixture_deinit(&fixture);
}
