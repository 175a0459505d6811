/* What a rule means: every kind of it, over a stack of a few words. */
#include <string.h>

#include "format/unwind/unwind_step.h"
#include "tests/unit/unit.h"

enum {
	STACK = 0x7000,
	WORDS = 64,
	SP = STACK + 16 * 8,
	/* The register that rules have room for beside the frame pointer: of arm64 they say which.
	 */
	EXTRA = UNWIND_EXTRA ? UNWIND_EXTRA : 19,
	SAID_EXTRA = EXTRA == UNWIND_EXTRA ? 0 : EXTRA,
};

static const unsigned long long ALL_KNOWN = UNWIND_SP < 16 ? 0xffff : 0xffffffff;

struct frame {
	struct unwind_registers regs;
	uint64_t words[WORDS];
	bool is_outermost;
};

static long read_word(void *context, unsigned long long address, unsigned long long *value)
{
	const struct frame *frame = context;
	if (address < STACK || address > STACK + (WORDS - 1) * 8 || address & 7)
		return -1;
	*value = frame->words[(address - STACK) / 8];
	return 0;
}

/* Words hold 0x100 plus their number, registers 0x1000 plus theirs, all of them known. */
static struct frame new_frame(void)
{
	struct frame frame = {.regs = {.ip = 0x400105, .known = ALL_KNOWN}};
	for (int i = 0; i < WORDS; i++)
		frame.words[i] = 0x100 + (uint64_t)i;
	for (int i = 0; i < UNWIND_REGISTERS; i++)
		frame.regs.reg[i] = 0x1000 + (uint64_t)i;
	frame.regs.reg[UNWIND_SP] = SP;
	return frame;
}

/* That of most functions: 16 + (sp), the return address below it. */
static struct unwind_rule usual(void)
{
	return (struct unwind_rule){
		.cfa = UNWIND_CFA_REGISTER,
		.cfa_register = UNWIND_SP,
		.cfa_offset = 16,
		.ra = UNWIND_AT_CFA,
		.ra_offset = -8,
		.extra_register = SAID_EXTRA,
	};
}

static enum event_stack_end step(struct frame *frame, const struct unwind_rule *rule)
{
	return unwind_step(
		UNWIND_NATIVE, &frame->regs, rule, read_word, frame, &frame->is_outermost);
}

/* The step fails so, and the registers stay what they were. */
static void check_end(const struct unwind_rule *rule, enum event_stack_end end)
{
	struct frame frame = new_frame(), before = frame;
	CHECK_INT(step(&frame, rule), end);
	CHECK(memcmp(&frame.regs, &before.regs, sizeof(frame.regs)) == 0);
}

static uint64_t sp_after(const struct unwind_rule *rule)
{
	struct frame frame = new_frame();
	CHECK_INT(step(&frame, rule), EVENT_END_COMPLETE);
	CHECK(!frame.is_outermost);
	return frame.regs.reg[UNWIND_SP];
}

/* ---- the CFA ---- */

TEST(cfa_by_stack_pointer)
{
	struct unwind_rule rule = usual();
	struct frame frame = new_frame();
	CHECK_INT(step(&frame, &rule), EVENT_END_COMPLETE);
	CHECK_INT(frame.regs.reg[UNWIND_SP], SP + 16);
	CHECK_INT(frame.regs.ip, 0x100 + 17);
	CHECK_INT(frame.regs.known, 1ULL << UNWIND_SP | 1ULL << UNWIND_FP | 1ULL << EXTRA);
	CHECK_INT(frame.regs.reg[UNWIND_FP], 0x1000 + UNWIND_FP);
}

TEST(cfa_by_any_register)
{
	for (uint8_t i = 0; i < 16; i++) {
		struct unwind_rule rule = usual();
		struct frame frame = new_frame();
		rule.cfa_register = i;
		frame.regs.reg[i] = SP + 8;
		if (i == UNWIND_SP)
			continue;
		CHECK_INT(step(&frame, &rule), EVENT_END_COMPLETE);
		CHECK_INT(frame.regs.reg[UNWIND_SP], SP + 24);
	}
}

TEST(cfa_by_unknown_register)
{
	struct unwind_rule rule = usual();
	rule.cfa_register = 10;
	struct frame frame = new_frame(), before;
	frame.regs.known = 1ULL << UNWIND_SP | 1ULL << UNWIND_FP;
	before = frame;
	CHECK_INT(step(&frame, &rule), EVENT_END_REGISTER);
	CHECK(memcmp(&frame.regs, &before.regs, sizeof(frame.regs)) == 0);
}

/* DWARF numbers go on behind those that we keep: x87 registers from 33 on. */
TEST(register_beyond_those_kept_is_unknown)
{
	struct unwind_rule rule = usual();
	rule.cfa_register = UNWIND_REGISTERS + UNWIND_SP;
	check_end(&rule, EVENT_END_REGISTER);
	rule = usual();
	rule.ra = UNWIND_IN_REGISTER;
	rule.ra_offset = UNWIND_REGISTERS + UNWIND_FP;
	check_end(&rule, EVENT_END_REGISTER);
	rule.ra_offset = -1;
	check_end(&rule, EVENT_END_REGISTER);
}

TEST(cfa_behind_a_pointer)
{
	struct unwind_rule rule = usual();
	struct frame frame = new_frame();
	rule.cfa = UNWIND_CFA_DEREF;
	rule.cfa_register = UNWIND_FP;
	rule.cfa_offset = (int)(0xfff8u | 24u << 16); /* *(fp - 8) + 24 */
	frame.regs.reg[UNWIND_FP] = STACK + 24 * 8;
	frame.words[23] = STACK + 40 * 8;
	CHECK_INT(step(&frame, &rule), EVENT_END_COMPLETE);
	CHECK_INT(frame.regs.reg[UNWIND_SP], STACK + 43 * 8);
	CHECK_INT(frame.regs.ip, 0x100 + 42);
	frame = new_frame();
	rule.cfa_offset = (int)(8u | 0xfff0u << 16); /* *(fp + 8) - 16 */
	frame.regs.reg[UNWIND_FP] = STACK + 24 * 8;
	frame.words[25] = STACK + 40 * 8;
	CHECK_INT(step(&frame, &rule), EVENT_END_COMPLETE);
	CHECK_INT(frame.regs.reg[UNWIND_SP], STACK + 38 * 8);
	check_end(&rule, EVENT_END_UNREADABLE); /* fp points nowhere */
}

/* Up to the push in the middle of a stub sp is one word below the CFA, then two. */
TEST(cfa_in_a_plt)
{
	struct unwind_rule rule = usual();
	rule.cfa = UNWIND_CFA_PLT;
	rule.cfa_offset = 11;
	for (uint64_t at = 0; at < 16; at++) {
		struct frame frame = new_frame();
		frame.regs.ip = 0x401230 + at;
		CHECK_INT(step(&frame, &rule), EVENT_END_COMPLETE);
		CHECK_INT(frame.regs.reg[UNWIND_SP], at < 11 ? SP + 8 : SP + 16);
		CHECK_INT(frame.regs.ip, at < 11 ? 0x110 : 0x111);
	}
}

TEST(cfa_that_is_no_rule)
{
	struct unwind_rule rule = usual();
	rule.cfa = UNWIND_CFA_UNSUPPORTED;
	check_end(&rule, EVENT_END_UNSUPPORTED);
	rule.cfa = UNWIND_CFA_NONE;
	check_end(&rule, EVENT_END_NO_RULE);
}

/* Or unwinding would go round in circles. */
TEST(cfa_must_lie_above_the_stack_pointer)
{
	struct unwind_rule rule = usual();
	rule.cfa_offset = 0;
	check_end(&rule, EVENT_END_BROKEN_FRAME_POINTER);
	rule.cfa_offset = -8;
	check_end(&rule, EVENT_END_BROKEN_FRAME_POINTER);
	rule.cfa_offset = 8;
	CHECK_INT(sp_after(&rule), SP + 8);
	rule.cfa_offset = -8;
	rule.flags = UNWIND_SWITCHES_STACKS;
	CHECK_INT(sp_after(&rule), SP - 8);
	rule.flags = UNWIND_SIGNAL_FRAME;
	CHECK_INT(sp_after(&rule), SP - 8);
}

/* vfork() of glibc pops its return address, and goes into the kernel with it in rdi. */
TEST(frame_that_has_nothing_on_the_stack)
{
	struct unwind_rule rule = usual();
	struct frame frame = new_frame();
	rule.cfa_offset = 0;
	rule.ra = UNWIND_IN_REGISTER;
	rule.ra_offset = 5;
	CHECK_INT(step(&frame, &rule), EVENT_END_COMPLETE);
	CHECK_INT(frame.regs.reg[UNWIND_SP], SP);
	CHECK_INT(frame.regs.ip, 0x1005);
	CHECK_INT(step(&frame, &rule), EVENT_END_REGISTER); /* rdi is known of the leaf alone */
	rule.cfa_offset = -8;
	check_end(&rule, EVENT_END_BROKEN_FRAME_POINTER);
}

/* ---- the return address ---- */

TEST(return_address_of_every_kind)
{
	static const struct {
		uint8_t kind;
		int16_t offset;
		enum event_stack_end end;
		uint64_t ip;
	} cases[] = {
		{UNWIND_AT_CFA, -8, EVENT_END_COMPLETE, 0x111},
		{UNWIND_AT_CFA, 8, EVENT_END_COMPLETE, 0x113},
		{UNWIND_AT_CFA, 0x4000, EVENT_END_UNREADABLE, 0},
		{UNWIND_AT_SP, 0, EVENT_END_COMPLETE, 0x110},
		{UNWIND_AT_SP, -16, EVENT_END_COMPLETE, 0x10e},
		{UNWIND_IN_REGISTER, 5, EVENT_END_COMPLETE, 0x1005}, /* vfork() of glibc: rdi */
		{UNWIND_IN_REGISTER, 40, EVENT_END_REGISTER, 0},
#if defined(__x86_64__)
		{UNWIND_SAME, 0, EVENT_END_REGISTER, 0}, /* it is in no register */
#else
		{UNWIND_SAME, 0, EVENT_END_COMPLETE, 0x101e},
#endif
		{UNWIND_UNSUPPORTED, 0, EVENT_END_UNSUPPORTED, 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct unwind_rule rule = usual();
		struct frame frame = new_frame();
		rule.ra = cases[i].kind & 15;
		rule.ra_offset = cases[i].offset;
		CHECK_INT(step(&frame, &rule), cases[i].end);
		if (!cases[i].end)
			CHECK_INT(frame.regs.ip, cases[i].ip);
		else
			check_end(&rule, cases[i].end);
	}
}

TEST(undefined_return_address_is_the_outermost_frame)
{
	struct unwind_rule rule = {.cfa = UNWIND_CFA_REGISTER, .ra = UNWIND_UNDEFINED};
	struct frame frame = new_frame(), before = frame;
	CHECK_INT(step(&frame, &rule), EVENT_END_COMPLETE);
	CHECK(frame.is_outermost);
	CHECK(memcmp(&frame.regs, &before.regs, sizeof(frame.regs)) == 0);
}

TEST(return_address_of_zero_is_the_outermost_frame)
{
	struct unwind_rule rule = usual();
	struct frame frame = new_frame();
	frame.words[17] = 0;
	CHECK_INT(step(&frame, &rule), EVENT_END_COMPLETE);
	CHECK(frame.is_outermost);
}

/* ---- the registers that callers need ---- */

enum {
	UNREADABLE = -1,
	UNKNOWN = -2,
};

static const struct saved {
	uint8_t kind;
	int16_t offset;
	int64_t value; /* or one of those above */
} saved[] = {
	{UNWIND_SAME, 0, 0x4242},
	{UNWIND_AT_CFA, -16, 0x110},
	{UNWIND_AT_CFA, -0x4000, UNREADABLE},
	{UNWIND_AT_SP, 24, 0x113},
	{UNWIND_AT_FP, 0, 0x4242}, /* out of the frame: it is restored */
	{UNWIND_IN_REGISTER, 12, 0x100c},
	{UNWIND_IN_REGISTER, 40, UNKNOWN},
	{UNWIND_UNDEFINED, 0, UNKNOWN},
	{UNWIND_UNSUPPORTED, 0, UNKNOWN},
};

static void check_saved(const struct saved *want, const struct unwind_rule *rule, unsigned number)
{
	struct frame frame = new_frame();
	frame.regs.reg[number] = 0x4242;
	enum event_stack_end end = step(&frame, rule);
	CHECK_INT(end, want->value == UNREADABLE ? EVENT_END_UNREADABLE : EVENT_END_COMPLETE);
	if (end)
		return;
	CHECK_INT(unwind_is_known(&frame.regs, number), want->value != UNKNOWN);
	if (want->value != UNKNOWN)
		CHECK_INT(frame.regs.reg[number], want->value);
}

/* gcc's frames that it aligns: the CFA is in memory, and the frame pointer points at its saved
 * self. */
TEST(saved_register_at_the_frame_pointer)
{
	struct unwind_rule rule = usual();
	struct frame frame = new_frame();
	rule.fp = UNWIND_AT_FP;
	rule.extra = UNWIND_AT_FP;
	rule.extra_offset = -16;
	frame.regs.reg[UNWIND_FP] = SP + 8;
	CHECK_INT(step(&frame, &rule), EVENT_END_COMPLETE);
	CHECK_INT(frame.regs.reg[UNWIND_FP], 0x111);
	CHECK_INT(frame.regs.reg[EXTRA], 0x10f);
	frame = new_frame();
	frame.regs.reg[UNWIND_FP] = SP + 16; /* the caller's already */
	CHECK_INT(step(&frame, &rule), EVENT_END_COMPLETE);
	CHECK_INT(frame.regs.reg[UNWIND_FP], SP + 16);
	CHECK_INT(frame.regs.reg[EXTRA], 0x1000 + EXTRA);
	frame = new_frame();
	frame.regs.known &= ~(1ULL << UNWIND_FP);
	CHECK_INT(step(&frame, &rule), EVENT_END_COMPLETE);
	CHECK(!unwind_is_known(&frame.regs, UNWIND_FP));
}

TEST(saved_register_of_every_kind)
{
	for (size_t i = 0; i < sizeof(saved) / sizeof(*saved); i++) {
		struct unwind_rule rule = usual();
		rule.fp = saved[i].kind & 15;
		rule.fp_offset = saved[i].offset;
		check_saved(&saved[i], &rule, UNWIND_FP);
		rule = usual();
		rule.extra = saved[i].kind;
		rule.extra_offset = saved[i].offset;
		check_saved(&saved[i], &rule, EXTRA);
	}
}

/* What was not known stays so, until it is found saved. */
TEST(unknown_register_stays_unknown)
{
	struct unwind_rule rule = usual();
	struct frame frame = new_frame();
	frame.regs.known = 1ULL << UNWIND_SP;
	CHECK_INT(step(&frame, &rule), EVENT_END_COMPLETE);
	CHECK_INT(frame.regs.known, 1ULL << UNWIND_SP);
	rule.extra = UNWIND_AT_CFA;
	rule.extra_offset = -16;
	CHECK_INT(step(&frame, &rule), EVENT_END_COMPLETE);
	CHECK_INT(frame.regs.known, 1ULL << UNWIND_SP | 1ULL << EXTRA);
}

/* A runtime may keep something in another register than ld.so: then that one is restored. */
TEST(rule_says_which_register_it_restores)
{
	struct unwind_rule rule = usual();
	struct frame frame = new_frame();
	rule.extra = UNWIND_AT_CFA;
	rule.extra_offset = -16;
	rule.extra_register = 13;
	CHECK_INT(step(&frame, &rule), EVENT_END_COMPLETE);
	CHECK_INT(frame.regs.reg[13], 0x110);
	CHECK_INT(frame.regs.known, 1ULL << UNWIND_SP | 1ULL << UNWIND_FP | 1ULL << 13);
}

/* ---- guesses ---- */

TEST(guesses_need_a_frame_pointer_that_may_be_one)
{
	struct frame frame = new_frame();
	const uint64_t limit = 1 << 20;
	static const struct {
		uint64_t above_sp;
		bool may;
	} cases[] = {{0, true}, {8, true}, {limit - 8, true}, {limit, false}, {4, false},
		{(uint64_t)-8, false}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		frame.regs.reg[UNWIND_FP] = SP + cases[i].above_sp;
		frame.regs.known = 1ULL << UNWIND_SP | 1ULL << UNWIND_FP;
		CHECK_INT(unwind_may_guess(UNWIND_NATIVE, &frame.regs), cases[i].may);
		frame.regs.known = 1ULL << UNWIND_SP;
		CHECK(!unwind_may_guess(UNWIND_NATIVE, &frame.regs));
	}
}

/* ---- jumps to where no code is ---- */

TEST(zero_under_a_signal_frame_is_a_caller)
{
	struct frame frame = new_frame();
	struct unwind_rule rule = usual();
	frame.words[17] = 0;
	CHECK_INT(step(&frame, &rule), EVENT_END_COMPLETE);
	CHECK(frame.is_outermost);
	frame = new_frame();
	frame.words[17] = 0;
	rule.flags = UNWIND_SIGNAL_FRAME;
	CHECK_INT(step(&frame, &rule), EVENT_END_COMPLETE);
	CHECK(!frame.is_outermost && frame.regs.ip == 0);
}

TEST(calls_are_told_by_their_bytes)
{
	static const struct {
		const char *bytes;
		size_t len;
		bool is_call;
	} cases[] = {
#define CODE(text, is_call) {text, sizeof(text) - 1, is_call}
#if defined(__x86_64__)
		CODE("\xe8\xff\xff\xff\xff", true),         /* call rel32 */
		CODE("\xff\xd0", true),                     /* *%rax */
		CODE("\x41\xff\xd7", true),                 /* *%r15 */
		CODE("\xff\x10", true),                     /* *(%rax) */
		CODE("\xff\x14\xc7", true),                 /* *(%rdi,%rax,8) */
		CODE("\xff\x14\x24", true),                 /* *(%rsp) */
		CODE("\xff\x50\x18", true),                 /* *0x18(%rax) */
		CODE("\xff\x54\x24\x08", true),             /* *0x8(%rsp) */
		CODE("\xff\x15\x00\x10\x00\x00", true),     /* *0x1000(%rip) */
		CODE("\xff\x93\x00\x10\x00\x00", true),     /* *0x1000(%rbx) */
		CODE("\xff\x95\x00\xff\xff\xff", true),     /* *-0x100(%rbp) */
		CODE("\xff\x94\x24\x00\x10\x00\x00", true), /* *0x1000(%rsp) */
		CODE("\xff\x14\xc5\x00\x10\x40\x00", true), /* *0x401000(,%rax,8) */
		CODE("\xff\xe0", false),                    /* jmp *%rax */
		CODE("\xff\x25\x00\x10\x00\x00", false),    /* jmp *0x1000(%rip) */
		CODE("\xe9\x00\x10\x00\x00", false),        /* jmp */
		CODE("\xff\x35\x00\x10\x00\x00", false),    /* push 0x1000(%rip) */
		CODE("\x90\xc3", false),
#else
		CODE("\xff\xff\xff\x97", true),  /* bl */
		CODE("\x60\x00\x3f\xd6", true),  /* blr x3 */
		CODE("\x65\x08\x3f\xd7", true),  /* blraa x3, x5 */
		CODE("\x7f\x0c\x3f\xd6", true),  /* blrabz x3 */
		CODE("\x04\x00\x00\x14", false), /* b */
		CODE("\x60\x00\x1f\xd6", false), /* br x3 */
		CODE("\xc0\x03\x5f\xd6", false), /* ret */
		CODE("\x1f\x20\x03\xd5", false), /* nop */
#endif
#undef CODE
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		unsigned char code[UNWIND_CALL_BYTES] = {0};
		memcpy(code + sizeof(code) - cases[i].len, cases[i].bytes, cases[i].len);
		if (unwind_is_call(code) != cases[i].is_call)
			unit_fail(__FILE__, __LINE__, "case %zu", i);
	}
}

/* ---- behind clone() ---- */

TEST(a_new_thread_is_outermost_by_its_result)
{
	struct unwind_rule rule = usual();
	rule.flags = UNWIND_FORKS;
	struct frame frame = new_frame();
	CHECK_INT(step(&frame, &rule), EVENT_END_COMPLETE); /* the parent */
	CHECK(!frame.is_outermost && frame.regs.ip == 0x100 + 17);
	frame = new_frame();
	frame.regs.reg[UNWIND_NATIVE->result] = 0;
	CHECK_INT(step(&frame, &rule), EVENT_END_COMPLETE);
	CHECK(frame.is_outermost);
	frame = new_frame();
	frame.regs.known &= ~(1ULL << UNWIND_NATIVE->result);
	CHECK_INT(step(&frame, &rule), EVENT_END_REGISTER);
}
