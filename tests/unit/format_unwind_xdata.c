/* Records of .xdata, as .NET has them of functions on arm64. */
#include "format/unwind/unwind_xdata.h"

#include <string.h>

#include "format/base/str.h"
#include "tests/unit/unit.h"

static void put_xdata_place(
	struct str *out, const char *name, unsigned int kind, unsigned int offset)
{
	static const char *const bases[] = {
		[UNWIND_AT_CFA] = "cfa", [UNWIND_AT_SP] = "sp", [UNWIND_AT_FP] = "fp"};
	if (kind == UNWIND_SAME)
		str_printf(out, " %s same", name);
	else
		str_printf(out, " %s %s%+d", name, bases[kind], (short)offset);
}

/* "sp+32 fp cfa-32 ra cfa-24": the rule where the first `skip` of the codes have not run. */
static void check_xdata_rule(
	const uint8_t *bytes, size_t len, unsigned int skip, const char *want, int line)
{
	uint8_t codes[UNWIND_XDATA_CODE_BYTES];
	struct unwind_rule rule = {0};
	CLEANUP(str_deinit) struct str got = {0};
	memset(codes, 0xe4, sizeof(codes));
	memcpy(codes, bytes, len);
	if (unwind_xdata_rule(codes, skip, &rule)) {
		CHECK_INT(rule.cfa, UNWIND_CFA_REGISTER);
		CHECK_INT(rule.extra, UNWIND_UNDEFINED);
		str_printf(&got, "%s%+d", rule.cfa_register == UNWIND_ARM64_FP ? "fp" : "sp",
			rule.cfa_offset);
		put_xdata_place(&got, "fp", rule.fp, (unsigned short)rule.fp_offset);
		put_xdata_place(&got, "ra", rule.ra, (unsigned short)rule.ra_offset);
	}
	if (strcmp(str_text(&got), want) != 0)
		unit_fail(__FILE__, line, "\"%s\", not \"%s\"", str_text(&got), want);
}

#define CHECK_RULE(skip, want, ...) \
	do { \
		static const uint8_t bytes_[] = {__VA_ARGS__}; \
		check_xdata_rule(bytes_, sizeof(bytes_), skip, want, __LINE__); \
	} while (0)

/* stp x29, x30, [sp, #-32]!; mov x29, sp */
TEST(xdata_pushed_frame)
{
	CHECK_RULE(0, "fp+32 fp cfa-32 ra cfa-24", 0xe1, 0x83);
	CHECK_RULE(1, "sp+32 fp cfa-32 ra cfa-24", 0xe1, 0x83);
	CHECK_RULE(2, "sp+0 fp same ra same", 0xe1, 0x83);
}

/* sub sp, sp, #96; stp x29, x30, [sp, #16]; stp x19, x20, [sp, #64]; add x29, sp, #16 */
TEST(xdata_stored_frame)
{
	CHECK_RULE(0, "fp+80 fp cfa-80 ra cfa-72", 0xe2, 2, 0xc8, 8, 0x42, 0x06);
	CHECK_RULE(1, "sp+96 fp cfa-80 ra cfa-72", 0xe2, 2, 0xc8, 8, 0x42, 0x06);
	CHECK_RULE(3, "sp+96 fp same ra same", 0xe2, 2, 0xc8, 8, 0x42, 0x06);
	CHECK_RULE(4, "sp+0 fp same ra same", 0xe2, 2, 0xc8, 8, 0x42, 0x06);
}

/* stp x19, x20, [sp, #-96]!, the next pairs up to x27 and x28, and the frame as one of them. */
TEST(xdata_pairs_that_follow_on_others)
{
	CHECK_RULE(0, "fp+16 fp cfa-16 ra cfa-8", 0xe2, 10, 0xe6, 0xe6, 0xe6, 0xe6, 0xe6, 0x2c);
	CHECK_RULE(1, "sp+96 fp cfa-16 ra cfa-8", 0xe2, 10, 0xe6, 0xe6, 0xe6, 0xe6, 0xe6, 0x2c);
	CHECK_RULE(2, "sp+96 fp same ra same", 0xe2, 10, 0xe6, 0xe6, 0xe6, 0xe6, 0xe6, 0x2c);
	/* One that stands by itself is of its own registers. */
	CHECK_RULE(0, "sp+96 fp cfa-16 ra cfa-8", 0xe6, 0xca, 8, 0x06);
	CHECK_RULE(0, "sp+96 fp same ra same", 0xe6, 0xd8, 4, 0xca, 8, 0x06);
}

TEST(xdata_single_registers)
{
	CHECK_RULE(0, "sp+16 fp same ra cfa-16", 0xd5, 0x61); /* str x30, [sp, #-16]! */
	CHECK_RULE(0, "sp+32 fp same ra cfa-24", 0xd2, 0xc1, 0x02);
	CHECK_RULE(0, "sp+32 fp same ra cfa-8", 0xd6, 0x02, 0x02); /* stp x19, x30, [sp, #16] */
	CHECK_RULE(0, "sp+48 fp same ra same", 0xd9, 2, 0xdb, 5);
	CHECK_RULE(0, "sp+32 fp same ra same", 0xde, 3);
}

/* What is too far from the CFA is near the base. */
TEST(xdata_large_frames)
{
	CHECK_RULE(0, "fp+65552 fp fp+0 ra fp+8", 0xe1, 0x40, 0xe0, 0x00, 0x10, 0x01);
	CHECK_RULE(1, "sp+65552 fp sp+0 ra sp+8", 0xe1, 0x40, 0xe0, 0x00, 0x10, 0x01);
	CHECK_RULE(0, "fp+4112 fp cfa-4112 ra cfa-4104", 0xe1, 0x40, 0xc1, 0x01);
}

TEST(xdata_codes_that_say_nothing)
{
	CHECK_RULE(0, "fp+32 fp cfa-32 ra cfa-24", 0xe3, 0xe1, 0xe3, 0x83, 0xfc);
	CHECK_RULE(2, "sp+32 fp cfa-32 ra cfa-24", 0xe3, 0xe1, 0xe3, 0x83, 0xfc);
}

/* A later part of a long function has the function's frame from its first instruction on. */
TEST(xdata_parts_of_a_function)
{
	uint8_t codes[UNWIND_XDATA_CODE_BYTES];
	memset(codes, 0xe4, sizeof(codes));
	memcpy(codes, (uint8_t[]){0xe5, 0xe1, 0x83}, 3);
	CHECK_INT(unwind_xdata_count(codes), 0);
	CHECK_RULE(0, "fp+32 fp cfa-32 ra cfa-24", 0xe5, 0xe1, 0x83);
	CHECK_RULE(0, "fp+80 fp cfa-80 ra cfa-72", 0xe5, 0xe2, 2, 0xc8, 8, 0x42, 0x06);
}

/*
 * One that goes on for a function that runs already (OSR) has its frame below that one's, whose
 * size is the last of the codes, but no instruction: each rule is that of the instruction before.
 * The caller is right all the same, since x29 and x30 are its own when such a method begins.
 * sub sp, sp, #96; stp x29, x30, [sp, #16]; add x29, sp, #16
 */
TEST(xdata_methods_that_go_on_for_others)
{
	CHECK_RULE(4, "sp+0 fp same ra same", 0xe2, 2, 0x42, 0x06, 0x07);
	CHECK_RULE(3, "sp+112 fp same ra same", 0xe2, 2, 0x42, 0x06, 0x07);
	CHECK_RULE(2, "sp+208 fp same ra same", 0xe2, 2, 0x42, 0x06, 0x07);
	CHECK_RULE(1, "sp+208 fp cfa-192 ra cfa-184", 0xe2, 2, 0x42, 0x06, 0x07);
	CHECK_RULE(0, "fp+192 fp cfa-192 ra cfa-184", 0xe2, 2, 0x42, 0x06, 0x07);
}

TEST(xdata_codes_may_be_unknown_or_without_end)
{
	CHECK_RULE(0, "", 0xe1, 0xe7, 0x00, 0x00);
	CHECK_RULE(0, "", 0xdf, 0x00);
	CHECK_RULE(0, "", 0xfd);
	uint8_t codes[UNWIND_XDATA_CODE_BYTES];
	struct unwind_rule rule;
	for (unsigned int byte = 0; byte < 256; byte++) {
		memset(codes, (int)byte, sizeof(codes));
		CHECK(unwind_xdata_count(codes) == (byte == 0xe4 || byte == 0xe5 ? 0 : -1));
		CHECK_INT(unwind_xdata_rule(codes, 0, &rule), byte == 0xe4);
	}
}

TEST(xdata_heads)
{
	struct unwind_xdata_head head;
	/* 64 instructions, two epilogues, three words of codes. */
	CHECK(unwind_xdata_take_head((unsigned int[]){64 | 2 << 22 | 3U << 27, 0}, &head));
	CHECK_INT(head.bytes, 256);
	CHECK_INT(head.nr_epilogues, 2);
	CHECK_INT(head.epilogues, 4);
	CHECK_INT(head.last, (long long)UNWIND_XDATA_NO_EPILOGUE);
	CHECK_INT(head.codes, 12);
	CHECK_INT(head.code_bytes, 12);
	/* One at the end, whose codes begin with the second. */
	CHECK(unwind_xdata_take_head(
		(unsigned int[]){64 | 1 << 21 | 1 << 22 | 1U << 27, 0}, &head));
	CHECK_INT(head.nr_epilogues, 0);
	CHECK_INT(head.last, 1);
	CHECK_INT(head.codes, 4);
	/* Counts in a word of their own. */
	CHECK(unwind_xdata_take_head((unsigned int[]){64, 40 | 5 << 16}, &head));
	CHECK_INT(head.nr_epilogues, 40);
	CHECK_INT(head.epilogues, 8);
	CHECK_INT(head.codes, 168);
	CHECK_INT(head.code_bytes, 20);
	CHECK(!unwind_xdata_take_head((unsigned int[]){64 | 1 << 18 | 1U << 27, 0}, &head));
	CHECK(!unwind_xdata_take_head((unsigned int[]){0, 0}, &head));
	CHECK_INT(unwind_xdata_epilogue_begin(7 | 3 << 22), 28);
	CHECK_INT(unwind_xdata_epilogue_codes(7 | 3 << 22), 3);
}
