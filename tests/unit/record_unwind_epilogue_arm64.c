/* Epilogues of what NativeAOT has compiled for arm64, which load the frame. */
#include "record/unwind/unwind_epilogue_arm64.h"

#include <string.h>

#include "format/base/str.h"
#include "tests/unit/unit.h"

enum {
	START = 0x1000,
	BODY_CFA = 1 << 20, /* of the rule that stands for the body's */

	PUSH_FRAME = 0xa9be7bfd, /* stp x29, x30, [sp, #-32]! */
	SET_FP = 0x910003fd,     /* mov x29, sp */
	LOAD_PAIR = 0xa94153f3,  /* ldp x19, x20, [sp, #16] */
	POP_PAIR = 0xa8c153f3,   /* ldp x19, x20, [sp], #16 */
	LOAD_ONE = 0xf9401bf5,   /* ldr x21, [sp, #48] */
	LOAD_D = 0x6d4227e8,     /* ldp d8, d9, [sp, #32] */
	POP_D = 0x6cc127e8,      /* ldp d8, d9, [sp], #16 */
	STORE_D = 0x6d0227e8,    /* stp d8, d9, [sp, #32] */
	LOAD_FRAME = 0xa9417bfd, /* ldp x29, x30, [sp, #16] */
	POP_FRAME = 0xa8c27bfd,  /* ldp x29, x30, [sp], #32 */
	LOAD_OTHER = 0xa940783d, /* ldp x29, x30, [x1] */
	ADD_96 = 0x910183ff,     /* add sp, sp, #96 */
	ADD_4096 = 0x914007ff,   /* add sp, sp, #1, lsl #12 */
	SET_X17 = 0xd2821811,    /* mov x17, #0x10c0 */
	INSERT_X17 = 0xf2a00031, /* movk x17, #1, lsl #16 */
	ADD_X17 = 0x8b3163ff,    /* add sp, sp, x17 */
	ADD_X16 = 0x8b3063ff,
	RETURN = 0xd65f03c0,
	JUMP = 0x14000004,
	JUMP_X17 = 0xd61f0220,
	CALL_X8 = 0xd63f0100,
	BRANCH = 0xb4000040, /* cbz x0 */
	NOP = 0xd503201f,
};

/* "2:sp+32 fp-32, 3:body", counted in instructions */
static void log_arm64_row(void *context, uint64_t address, const struct unwind_rule *rule)
{
	struct str *log = context;
	str_printf(log, "%s%d:", log->len ? ", " : "", (int)(address - START) / 4);
	if (rule->cfa_offset == BODY_CFA) {
		str_printf(log, "body");
		return;
	}
	CHECK_INT(rule->cfa, UNWIND_CFA_REGISTER);
	CHECK_INT(rule->cfa_register, UNWIND_ARM64_SP);
	CHECK_INT(rule->ra, rule->fp);
	str_printf(log, "sp+%d", rule->cfa_offset);
	if (rule->fp == UNWIND_SAME)
		return;
	CHECK_INT(rule->fp, UNWIND_AT_CFA);
	CHECK_INT(rule->ra_offset, rule->fp_offset + 8);
	str_printf(log, " fp%d", rule->fp_offset);
}

static void check_arm64_rows(
	const uint32_t *insns, size_t len, size_t from, const char *expected, int line)
{
	CLEANUP(str_deinit) struct str log = {0};
	struct unwind_epilogue_rows rows = {.start = START,
		.body = {.cfa = UNWIND_CFA_REGISTER, .cfa_offset = BODY_CFA},
		.on_rule = log_arm64_row,
		.context = &log};
	unwind_epilogue_put_arm64(&rows, (const uint8_t *)insns, from, len);
	const char *got = log.len ? str_text(&log) : "none";
	if (strcmp(got, expected) != 0)
		unit_fail(__FILE__, line, "\"%s\", not \"%s\"", got, expected);
}

#define CHECK_ARM64_ROWS(expected, ...) \
	do { \
		const uint32_t insns_[] = {__VA_ARGS__}; \
		check_arm64_rows(insns_, sizeof(insns_), 0, expected, __LINE__); \
	} while (0)

TEST(arm64_epilogue_that_pops_the_frame)
{
	CHECK_ARM64_ROWS("4:sp+0, 5:body", PUSH_FRAME, SET_FP, NOP, POP_FRAME, RETURN);
	CHECK_ARM64_ROWS("5:sp+0, 6:body", PUSH_FRAME, SET_FP, NOP, LOAD_PAIR, POP_FRAME, RETURN);
	/* Several, one of them a call that does not come back. */
	CHECK_ARM64_ROWS("1:sp+0, 2:body, 5:sp+0, 6:body, 7:sp+0, 8:body", POP_FRAME, RETURN, NOP,
		LOAD_PAIR, POP_FRAME, JUMP_X17, POP_FRAME, JUMP);
}

TEST(arm64_epilogue_that_adds_to_the_stack_pointer)
{
	CHECK_ARM64_ROWS("2:sp+96, 3:sp+0, 4:body", NOP, LOAD_FRAME, ADD_96, RETURN);
	CHECK_ARM64_ROWS("2:sp+4192, 4:sp+4096, 5:sp+0, 6:body", LOAD_ONE, LOAD_FRAME, LOAD_D,
		ADD_96, ADD_4096, RETURN);
}

/* What is popped ahead of the frame moves the stack pointer away from the CFA that it is at. */
TEST(arm64_epilogue_whose_frame_comes_last)
{
	CHECK_ARM64_ROWS(
		"1:sp+48 fp-32, 2:sp+32 fp-32, 3:sp+0, 4:body", POP_D, POP_PAIR, POP_FRAME, RETURN);
	CHECK_ARM64_ROWS("2:sp+32 fp-16, 3:sp+32, 4:sp+16, 5:sp+0, 6:body", NOP, ADD_96, LOAD_FRAME,
		POP_D, POP_PAIR, RETURN);
}

/* As it is in System.Private.CoreLib, Number.NumberToFloatingPointBitsSlow<double>(). */
TEST(arm64_epilogue_of_a_large_frame)
{
	CHECK_ARM64_ROWS("2:sp+4304, 4:sp+16, 6:sp+0, 7:body", NOP, 0xa9407bfd, SET_X17, ADD_X17,
		LOAD_PAIR, POP_PAIR, RETURN);
	CHECK_ARM64_ROWS(
		"1:sp+69824, 4:sp+0, 5:body", 0xa9407bfd, SET_X17, INSERT_X17, ADD_X17, RETURN);
	CHECK_ARM64_ROWS("none", 0xa9407bfd, NOP, ADD_X17, RETURN);
	CHECK_ARM64_ROWS("none", 0xa9407bfd, SET_X17, ADD_X16, RETURN);
}

TEST(arm64_code_that_is_no_epilogue)
{
	CHECK_ARM64_ROWS("none", PUSH_FRAME, SET_FP, NOP, RETURN);
	CHECK_ARM64_ROWS("none", LOAD_PAIR, RETURN);
	CHECK_ARM64_ROWS("none", LOAD_OTHER, RETURN);
	CHECK_ARM64_ROWS("none", POP_FRAME, NOP, RETURN);
	CHECK_ARM64_ROWS("none", POP_FRAME, STORE_D, RETURN);
	CHECK_ARM64_ROWS("none", POP_FRAME, CALL_X8, BRANCH, NOP);
	CHECK_ARM64_ROWS("none", POP_FRAME);
	CHECK_ARM64_ROWS("none", RETURN);
}

/* Nothing ahead of the prologue's end is looked at, nor what is longer than any epilogue. */
TEST(arm64_epilogues_have_bounds)
{
	uint32_t code[64];
	for (size_t i = 0; i < 64; i++)
		code[i] = LOAD_PAIR;
	code[0] = POP_FRAME;
	code[63] = RETURN;
	check_arm64_rows(code, sizeof(code), 0, "none", __LINE__);
	code[60] = POP_FRAME;
	check_arm64_rows(code, sizeof(code), 0, "61:sp+0, 64:body", __LINE__);
	check_arm64_rows(code, sizeof(code), 61 * 4, "none", __LINE__);
	check_arm64_rows(code, sizeof(code) - 4, 0, "none", __LINE__);
}
