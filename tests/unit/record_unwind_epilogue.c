/* Epilogues of .NET's code, which are found by the bytes that undo the prologue. */
#include "record/unwind/unwind_epilogue.h"

#include <stdio.h>
#include <string.h>

#include "format/base/str.h"
#include "format/unwind/unwind_info.h"
#include "tests/unit/unit.h"

enum {
	START = 0x1000,
	BODY_CFA = 4096, /* of the rule that stands for the body's */
	R15 = 15,
};

static void put_place(struct str *log, const char *name, unsigned kind, int offset)
{
	if (kind == UNWIND_AT_CFA)
		str_printf(log, " %s%+d", name, offset);
}

/* "13:sp+32 bp-16 bx-32, 18:body" */
static void log_row(void *context, uint64_t address, const struct unwind_rule *rule)
{
	struct str *log = context;
	str_printf(log, "%s%d:", log->len ? ", " : "", (int)(address - START));
	if (rule->cfa_offset == BODY_CFA) {
		str_printf(log, "body");
		return;
	}
	CHECK_INT(rule->cfa, UNWIND_CFA_REGISTER);
	CHECK_INT(rule->cfa_register, UNWIND_X86_64_SP);
	CHECK_INT(rule->ra_offset, -8);
	str_printf(log, "sp%+d", rule->cfa_offset);
	put_place(log, "bp", rule->fp, rule->fp_offset);
	put_place(log, "bx", rule->extra, rule->extra_offset);
}

static void check_rows(const struct unwind_epilogue *epilogue, const uint8_t *code, size_t from,
	size_t len, const char *expected, int line)
{
	struct str log = {0};
	struct unwind_epilogue_rows rows = {.start = START,
		.body = {.cfa = UNWIND_CFA_REGISTER, .cfa_offset = BODY_CFA},
		.on_rule = log_row,
		.context = &log};
	unwind_epilogue_put_all(epilogue, &rows, code, from, len);
	const char *got = log.len ? str_text(&log) : "none";
	if (strcmp(got, expected) != 0)
		unit_fail(__FILE__, line, "\"%s\", not \"%s\"", got, expected);
	str_deinit(&log);
}

#define CHECK_ROWS(epilogue, code, from, expected) \
	check_rows(epilogue, code, from, sizeof(code), expected, __LINE__)

/* UNWIND_INFO of operations, the last one of the prologue first. */
#define OP(op, number) 0, (uint8_t)((number) << 4 | (op))
#define INFO(...) \
	{ \
		1, 0, sizeof((uint8_t[]){__VA_ARGS__}) / 2, 0, __VA_ARGS__ \
	}

/* push %rbp; push %r15; push %rbx; sub $32, %rsp */
#define PROLOGUE 0x55, 0x41, 0x57, 0x53, 0x48, 0x83, 0xec, 0x20
#define ADD      0x48, 0x83, 0xc4, 0x20
#define POPS     0x5b, 0x41, 0x5f, 0x5d

static const uint8_t three_pops_info[UNWIND_INFO_BYTES] =
	INFO(OP(UNWIND_INFO_ALLOC_SMALL, 3), OP(UNWIND_INFO_PUSH, UNWIND_INFO_RBX),
		OP(UNWIND_INFO_PUSH, R15), OP(UNWIND_INFO_PUSH, UNWIND_INFO_RBP));

TEST(epilogues_undo_the_prologue)
{
	struct unwind_epilogue by_info, by_code;
	/* With a return and with a jump; the pops between them come without the addition. */
	static const uint8_t code[] = {
		PROLOGUE, 0x90, ADD, POPS, 0xc3, 0x90, POPS, 0xc3, ADD, POPS, 0xeb, 0x10};
	static const char rows[] = "13:sp+32 bp-16 bx-32, 14:sp+24 bp-16, 16:sp+16 bp-16, 17:sp+8, "
				   "18:body, 28:sp+32 bp-16 bx-32, 29:sp+24 bp-16, "
				   "31:sp+16 bp-16, 32:sp+8, 34:body";
	CHECK(unwind_epilogue_of_info(three_pops_info, &by_info));
	CHECK_INT(by_info.allocated, 32);
	CHECK_ROWS(&by_info, code, 0, rows);
	CHECK(unwind_epilogue_of_code(code, sizeof(code), &by_code));
	CHECK_ROWS(&by_code, code, 0, rows);
	CHECK_ROWS(&by_code, code, 14, strstr(rows, "28:"));
}

TEST(pops_without_a_way_out_are_no_epilogue)
{
	struct unwind_epilogue epilogue;
	static const uint8_t goes_on[] = {PROLOGUE, ADD, POPS, 0x90, 0xc3};
	static const uint8_t is_cut[] = {PROLOGUE, ADD, POPS};
	static const uint8_t cut_jump[] = {PROLOGUE, ADD, POPS, 0xe9, 0, 0, 0};
	CHECK(unwind_epilogue_of_info(three_pops_info, &epilogue));
	CHECK_ROWS(&epilogue, goes_on, 0, "none");
	CHECK_ROWS(&epilogue, is_cut, 0, "none");
	CHECK_ROWS(&epilogue, cut_jump, 0, "none");
}

/* jmp *%rax; jmp *%rax with REX.W, as tail calls are; jmp *disp32(%rip) */
TEST(indirect_jumps_leave_a_function)
{
	struct unwind_epilogue epilogue;
	static const uint8_t code[] = {ADD, POPS, 0xff, 0xe0, ADD, POPS, 0x48, 0xff, 0xe0, ADD,
		POPS, 0xff, 0x25, 0, 0, 0, 0, ADD, POPS, 0xff, 0xd0}; /* the last is a call */
	CHECK(unwind_epilogue_of_info(three_pops_info, &epilogue));
	CHECK_ROWS(&epilogue, code, 0,
		"4:sp+32 bp-16 bx-32, 5:sp+24 bp-16, 7:sp+16 bp-16, 8:sp+8, 10:body, "
		"14:sp+32 bp-16 bx-32, 15:sp+24 bp-16, 17:sp+16 bp-16, 18:sp+8, 21:body, "
		"25:sp+32 bp-16 bx-32, 26:sp+24 bp-16, 28:sp+16 bp-16, 29:sp+8, 35:body");
}

TEST(a_function_that_pushes_nothing_adds_only)
{
	struct unwind_epilogue epilogue;
	static const uint8_t small[UNWIND_INFO_BYTES] = INFO(OP(UNWIND_INFO_ALLOC_SMALL, 4));
	static const uint8_t large[UNWIND_INFO_BYTES] =
		INFO(OP(UNWIND_INFO_ALLOC_LARGE, 0), 0x40, 0);
	static const uint8_t larger[UNWIND_INFO_BYTES] =
		INFO(OP(UNWIND_INFO_ALLOC_LARGE, 1), 0, 2, 1, 0);
	static const uint8_t code[] = {0x48, 0x83, 0xc4, 0x28, 0xc3};
	static const uint8_t large_code[] = {0x48, 0x81, 0xc4, 0, 2, 0, 0, 0xc3};
	CHECK(unwind_epilogue_of_info(small, &epilogue));
	CHECK_INT(epilogue.allocated, 40);
	CHECK_ROWS(&epilogue, code, 0, "4:sp+8, 5:body");
	CHECK_ROWS(&epilogue, large_code, 0, "none");
	CHECK(unwind_epilogue_of_info(large, &epilogue));
	CHECK_INT(epilogue.allocated, 512);
	CHECK_ROWS(&epilogue, large_code, 0, "7:sp+8, 8:body");
	CHECK(unwind_epilogue_of_info(larger, &epilogue));
	CHECK_INT(epilogue.allocated, 0x10200);
}

/* lea -24(%rbp), %rsp, also with four bytes; mov %rbp, %rsp. An addition alone will not do. */
TEST(a_frame_pointer_sets_the_stack_pointer)
{
	struct unwind_epilogue epilogue;
	static const uint8_t info[UNWIND_INFO_BYTES] = INFO(OP(UNWIND_INFO_SET_FRAME, 0),
		OP(UNWIND_INFO_ALLOC_SMALL, 3), OP(UNWIND_INFO_PUSH, UNWIND_INFO_RBP));
	static const uint8_t code[] = {0x48, 0x8d, 0x65, 0xe8, 0x5d, 0xc3, 0x48, 0x8d, 0xa5, 0xe8,
		0xff, 0xff, 0xff, 0x5d, 0xc3, 0x48, 0x8b, 0xe5, 0x5d, 0xc3, 0x90, 0x90, 0x5d, 0xc3};
	CHECK(unwind_epilogue_of_info(info, &epilogue));
	CHECK(epilogue.has_frame);
	CHECK_ROWS(&epilogue, code, 0,
		"4:sp+16 bp-16, 5:sp+8, 6:body, 13:sp+16 bp-16, 14:sp+8, 15:body, "
		"18:sp+16 bp-16, 19:sp+8, 20:body");
}

/* push %r15; push %rbx; push %rax: the last one makes room only. */
TEST(what_no_caller_wants_back_is_pushed_for_its_room)
{
	struct unwind_epilogue epilogue;
	static const uint8_t code[] = {
		0x41, 0x57, 0x53, 0x50, 0x90, 0x48, 0x83, 0xc4, 0x08, 0x5b, 0x41, 0x5f, 0xc3};
	CHECK(unwind_epilogue_of_code(code, sizeof(code), &epilogue));
	CHECK_INT(epilogue.nr_pops, 2);
	CHECK_INT(epilogue.allocated, 8);
	CHECK_ROWS(&epilogue, code, 4, "9:sp+24 bx-24, 10:sp+16, 12:sp+8, 13:body");
}

TEST(what_is_no_prologue_has_no_epilogue)
{
	struct unwind_epilogue epilogue;
	static const uint8_t nothing[UNWIND_INFO_BYTES] = {1};
	static const uint8_t saves[UNWIND_INFO_BYTES] =
		INFO(OP(UNWIND_INFO_SAVE, UNWIND_INFO_RBX), 1, 0);
	static const uint8_t leaf[] = {0x90, 0xc3};
	static const uint8_t pushes[] = {
		0x53, 0x53, 0x53, 0x53, 0x53, 0x53, 0x53, 0x53, 0x53, 0xc3};
	CHECK(!unwind_epilogue_of_info(nothing, &epilogue));
	CHECK(!unwind_epilogue_of_info(saves, &epilogue));
	CHECK(!unwind_epilogue_of_code(leaf, sizeof(leaf), &epilogue));
	CHECK(!unwind_epilogue_of_code(leaf, 0, &epilogue));
	CHECK(!unwind_epilogue_of_code(pushes, sizeof(pushes), &epilogue));
}
