/* Ticks in a process that is Racket CS as far as the walk can tell: Scheme's stack beside C's. */
#include <string.h>

#include "bpf/runtime/racket/racket_row.h"
#include "tests/unit/bpf_runtime_fixture.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

static uint8_t jit[4096];

enum {
	HELP_BYTES = 80, /* S_call_help()'s native frame */
	SP = 20,         /* words of C's stack: the top in Scheme, and where it returns to C */
	RETURN = SP + 1,
	/* Words of the heap. */
	CONTEXT = 0,
	SCHEME = 100, /* its stack: the outermost return address, */
	TOP = SCHEME + 2,
	REST = 200, /* ... and another part of it */
	LINK = 300, /* continuations, whose pointers are three less than their addresses */
	ROOT = 310,
	NAME = 320, /* a string, whose pointer is one less */
	/* Where code begins in memory of no file. */
	INNER = 0,
	OUTER = 0x400,
	EDGE = 0x800, /* of a part of the stack: whose frame has no bytes */
	FIRST = 0xc00,
	CODE_BYTES = 0x380,
	RETURNS = 0x100, /* of each, where a call returns to */
	PLACE = 0x80,    /* where the leaf is interrupted */
	KEY = 3,
};

/* The machine's; instructions of a call that stores where it returns to, and is half made at PLACE.
 */
#if defined(__aarch64__)
enum {
	CONTEXT_TOP = 16, /* words of the context */
	CONTEXT_BASE = 49,
	STACK_REGISTER = 20,
	STORE = PLACE + 4,
	JUMP = STORE + 4,
};
static const uint32_t add[] = {0x91004294}, back[] = {0xd1004294},
		      call[] = {0x10000009 | (RETURNS - PLACE) / 4 << 5, 0xf9000289};
#else
enum {
	CONTEXT_TOP = 7,
	CONTEXT_BASE = 40,
	STACK_REGISTER = 13,
	STORE = PLACE + 7,
	JUMP = STORE + 4,
};
static const uint8_t add[] = {0x49, 0x83, 0xc5, 16}, back[] = {0x49, 0x83, 0xed, 16},
		     call[] = {0x48, 0x8d, 0x0d, (uint8_t)(RETURNS - STORE), 0, 0, 0, 0x49, 0x89,
			     0x4d, 0};
#endif

static void put_word(uint64_t at, uint64_t word)
{
	memcpy(jit + at, &word, sizeof(word));
}

/* Code that has a frame of that size where a call returns. */
static void put_code(uint64_t at, uint64_t size)
{
	put_word(at, 0x40be);
	put_word(at + 8, CODE_BYTES);
	put_word(at + 24, heap_address(NAME) - 1);
	put_word(at + RETURNS - 16, RETURNS - 16 + 1);
	put_word(at + RETURNS - 8, size / 8 << 2 | 1);
}

static void put_continuation(struct runtime_fixture *fixture, uint64_t at, uint64_t stack,
	uint64_t length, uint64_t link, uint64_t returns_to)
{
	fixture->heap[at + 1] = heap_address(stack);
	fixture->heap[at + 3] = length;
	fixture->heap[at + 4] = link ? heap_address(link) - 3 : 0;
	fixture->heap[at + 5] = returns_to;
}

/* INNER was called by OUTER, that by FIRST in another part of the stack, and that by C. */
static void setup(struct runtime_fixture *fixture)
{
	runtime_fixture_init(fixture, HELP_BYTES);
	fixture->table.runtime.kind = RUNTIME_RACKET;
	*(struct racket_row *)fixture->table.runtime.words = (struct racket_row){.key = DATA,
		.invoke = DATA + 8,
		.help_start = HELPER,
		.help_end = LOOP,
		.help_return = HELPER + 5};
	memset(jit, 0x90, sizeof(jit));
	put_code(INNER, 16);
	put_code(OUTER, 16);
	put_code(EDGE, 0);
	put_code(FIRST, 8);
	emulate_memory(JIT, jit, sizeof(jit));
	fixture->data[0] = KEY;
	fixture->data[1] = HEAP; /* what C enters Scheme by: no code that is met */
	*thread_value(fixture, KEY) = heap_address(CONTEXT);
	fixture->heap[CONTEXT + CONTEXT_TOP] = heap_address(TOP);
	fixture->heap[CONTEXT + CONTEXT_BASE] = heap_address(SCHEME);
	fixture->heap[CONTEXT + CONTEXT_BASE + 2] = heap_address(LINK) - 3;
	fixture->heap[SCHEME] = JIT + EDGE + RETURNS;
	fixture->heap[TOP] = JIT + OUTER + RETURNS;
	fixture->heap[REST] = JIT + EDGE + RETURNS;
	put_continuation(fixture, LINK, REST, 8, ROOT, JIT + FIRST + RETURNS);
	put_continuation(fixture, ROOT, 0, 0, 0, 0);
	fixture->heap[NAME] = 2 << 4;
	fixture->heap[NAME + 1] = 0x00006e1600006116 /* "an", tagged */;
	fixture->stack[RETURN] = CODE + HELPER + 5;
	fixture->stack[RETURN + HELP_BYTES / 8] = CODE + CALLER + 5;
	runtime_fixture_show_thread(fixture);
	runtime_fixture_bind(fixture);
	runtime_fixture_tick(fixture); /* in the file: the process is known to have it */
	fixture->regs.known = ~0ULL;
	fixture->regs.ip = JIT + INNER + PLACE;
	fixture->regs.reg[UNWIND_SP] = stack_address(SP);
	fixture->regs.reg[STACK_REGISTER] = heap_address(TOP);
#if defined(__aarch64__)
	fixture->regs.reg[UNWIND_FP] = stack_address(RETURN + 1);
	fixture->regs.reg[UNWIND_RA] = 0;
#endif
}

static void check_stack(struct runtime_fixture *fixture, const char *shape)
{
	runtime_fixture_tick(fixture);
	CHECK_STR(runtime_fixture_shape(fixture), shape);
}

TEST(frames_of_all_parts_of_schemes_stack_come_before_those_of_c)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	check_stack(&fixture, "sssnn");
	const struct event_code *code = emulated_record(EVENT_CODE, 0);
	CHECK(code && code->unit[0] == RUNTIME_UNIT_TAGGED);
	CHECK_INT(code ? code->bytes[RUNTIME_TEXT_NAME] : 0, 8);
	CHECK(code && memcmp(code + 1, &fixture.heap[NAME + 1], 8) == 0);
	CHECK_INT(emulated_count(EVENT_CODE), 3);
	CHECK(number_of(fixture.words[0]) != number_of(fixture.words[1]));
	runtime_fixture_tick(&fixture);
	CHECK_INT(emulated_count(EVENT_CODE), 0);
	runtime_fixture_deinit(&fixture);
}

/* The register leads to the callee's frame, where the return address is stored, or not yet. */
TEST(a_call_that_is_half_made_has_no_frame)
{
	static const uint64_t places[] = {PLACE - 20, PLACE, STORE, JUMP, RETURNS};
	struct runtime_fixture fixture;
	setup(&fixture);
	memcpy(jit + PLACE, call, sizeof(call));
	memcpy(jit + RETURNS, back, sizeof(back));
	fixture.regs.reg[STACK_REGISTER] = heap_address(TOP + 2);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		if (places[i] >= JUMP)
			fixture.heap[TOP + 2] = JIT + INNER + RETURNS;
		fixture.regs.ip = JIT + INNER + places[i];
		check_stack(&fixture, "sssnn");
	}
	runtime_fixture_deinit(&fixture);
}

/* The register is to be moved yet: the frame is still that of the code itself. */
TEST(a_call_that_has_not_begun_changes_nothing)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	memcpy(jit + PLACE + 8, add, sizeof(add));
	memcpy(jit + PLACE + 8 + sizeof(add), call, sizeof(call));
	check_stack(&fixture, "sssnn");
	runtime_fixture_deinit(&fixture);
}

TEST(c_that_scheme_calls_has_the_context_s_stack)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	fixture.regs.ip = CODE + LOOP + 0x10;
	fixture.regs.reg[UNWIND_SP] = stack_address(SP - HELP_BYTES / 8);
	fixture.regs.reg[STACK_REGISTER] = 1;
	fixture.stack[SP - 1] = JIT + INNER + PLACE;
	check_stack(&fixture, "nsssnn");
	runtime_fixture_deinit(&fixture);
}

/* A call of OUTER that returns to PLACE in INNER. */
static void put_call_as_c(void)
{
#if defined(__aarch64__)
	const uint32_t target = JIT + OUTER + 64, move = 0xd280000a, move_and_keep = 0xf280000a;
	const uint32_t as_c[] = {move | (target & 0xffff) << 5,
		move_and_keep | 1 << 21 | target >> 16 << 5, move_and_keep | 2 << 21,
		move_and_keep | 3 << 21, 0xd63f0140};
#else
	static const uint8_t as_c[] = {0xe8, 0, 0, 0, 0};
#endif
	memcpy(jit + INNER + PLACE - sizeof(as_c), as_c, sizeof(as_c));
}

/* The runtime's own code is called on C's stack. */
TEST(scheme_that_is_called_on_c_s_stack)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	put_call_as_c();
	fixture.stack[SP - 1] = JIT + INNER + PLACE;
	fixture.regs.ip = JIT + OUTER + PLACE;
	fixture.regs.reg[UNWIND_SP] = stack_address(SP - 1);
	check_stack(&fixture, "ssssnn");
	runtime_fixture_deinit(&fixture);
}

#if defined(__aarch64__)
/* ... with what it returns to in x30, which has that as well when it has returned, and when it was
 * another that was called. */
TEST(scheme_that_is_called_with_a_link)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	put_call_as_c();
	fixture.regs.reg[UNWIND_RA] = JIT + INNER + PLACE;
	check_stack(&fixture, "sssnn");
	fixture.regs.ip = JIT + FIRST + PLACE;
	check_stack(&fixture, "sssnn");
	fixture.regs.ip = JIT + OUTER + PLACE;
	check_stack(&fixture, "ssssnn");
	runtime_fixture_deinit(&fixture);
}
#endif

/* While memory is collected: code and continuations say where they are now. */
TEST(what_was_moved_is_followed)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	memmove(&fixture.heap[400], jit + OUTER, 64);
	put_word(OUTER, 0x1ff6);
	put_word(OUTER + 8, heap_address(400) - 1);
	memcpy(&fixture.heap[LINK + 20], &fixture.heap[LINK], 7 * 8);
	fixture.heap[LINK] = 0x1ff6;
	fixture.heap[LINK + 1] = heap_address(LINK + 20) - 3;
	check_stack(&fixture, "sssnn");
	CHECK(number_of(fixture.words[1]));
	runtime_fixture_deinit(&fixture);
}

/* C called FIRST, which entered Scheme by S_call_help(). */
TEST(c_calls_back)
{
#if defined(__aarch64__)
	/* Of eight words, x30 the third: a push and its pop; pops; add sp, sp, 16; ret. */
	static const uint32_t end[] = {0xf81f0fe0, 0xd503201f, 0xf84107e0, 0xf84107fa, 0xa8c14ffe,
		0xa8c157f4, 0x910043ff, 0xd65f03c0};
	enum {
		SAVED = 2,
	};
#else
	static const uint8_t end[] = {0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b,
		0x48, 0x81, 0xc4, 0x88, 0, 0, 0, 0xc3};
	enum {
		SAVED = (48 + 0x88) / 8,
	};
#endif
	struct runtime_fixture fixture;
	setup(&fixture);
	memcpy(jit + FIRST + PLACE + 8, end, sizeof(end));
	fixture.data[1] = JIT + OUTER - 1;
	uint64_t sp = RETURN + HELP_BYTES / 8;
	fixture.stack[sp] = JIT + FIRST + PLACE;
	fixture.stack[sp + 1 + SAVED] = CODE + CALLER + 5;
#if defined(__aarch64__)
	put_word(FIRST, 0x4be);
#endif
	check_stack(&fixture, "snsn");
	runtime_fixture_deinit(&fixture);
}

#if defined(__aarch64__)
/* What C calls is interrupted: ahead of where it pushes x30, behind that, and where all is popped;
 * and in C that it calls. */
TEST(what_c_calls_has_a_frame_of_c)
{
	static const uint32_t insns[] = {0xa9bf07e0, 0xa9bf57f4, 0xa9bf4ffe, 0xd503201f, 0xa8c14ffe,
		0xa8c157f4, 0x910043ff, 0xd65f03c0};
	static const uint64_t depths[] = {0, 2, 4, 6, 6, 4, 2, 0};
	struct runtime_fixture fixture;
	setup(&fixture);
	put_word(FIRST, 0x4be);
	memcpy(jit + FIRST + PLACE, insns, sizeof(insns));
	for (size_t i = 0; i < sizeof(insns) / sizeof(*insns); i++) {
		bool is_pushed = i > 2 && i < 5;
		fixture.regs.ip = JIT + FIRST + PLACE + i * 4;
		fixture.regs.reg[UNWIND_SP] = stack_address(SP - depths[i]);
		fixture.regs.reg[UNWIND_RA] = is_pushed ? 0 : CODE + CALLER + 5;
		fixture.stack[SP - 6] = is_pushed ? CODE + CALLER + 5 : 0;
		check_stack(&fixture, "sn");
	}
	runtime_fixture_deinit(&fixture);
}
#endif

TEST(a_stack_that_is_torn_is_no_proven_one)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	fixture.heap[TOP] = JIT + 0x123;
	check_stack(&fixture, "s");
	fixture.regs.reg[STACK_REGISTER] = heap_address(SCHEME) - 8; /* C's yet */
	check_stack(&fixture, "s");
	runtime_fixture_deinit(&fixture);
}
