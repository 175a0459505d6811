/* What a row of call frame information becomes: the kernel's side has 16 bits for an offset. */
#include "record/unwind/cfi_rule.h"

#include <string.h>

#include "record/unwind/unwind_table.h"
#include "tests/unit/unit.h"

enum {
	RBX = 3,
	RBP = 6,
	RSP = 7,
	RIP = 16,
};

/* Behind `push %rbp`: the return address below the CFA, rbp below that. */
static struct cfi_row usual_row(void)
{
	return (struct cfi_row){
		.cfa_kind = UNWIND_CFA_REGISTER,
		.cfa_register = RSP,
		.cfa_offset = 16,
		.return_register = RIP,
		.registers[RIP] = {.kind = UNWIND_AT_CFA, .offset = -8},
		.registers[RBP] = {.kind = UNWIND_AT_CFA, .offset = -16},
		.registers[RBX] = {.kind = UNWIND_SAME},
	};
}

static struct unwind_rule x86_64_rule(const struct cfi_row *row)
{
	return cfi_rule(row, &unwind_x86_64);
}

TEST(a_usual_row_is_a_rule)
{
	struct cfi_row row = usual_row();
	struct unwind_rule rule = x86_64_rule(&row);
	CHECK_INT(rule.cfa, UNWIND_CFA_REGISTER);
	CHECK_INT(rule.cfa_register, RSP);
	CHECK_INT(rule.cfa_offset, 16);
	CHECK_INT(rule.ra, UNWIND_AT_CFA);
	CHECK_INT(rule.ra_offset, -8);
	CHECK_INT(rule.fp, UNWIND_AT_CFA);
	CHECK_INT(rule.fp_offset, -16);
	CHECK_INT(rule.extra, UNWIND_SAME);
	CHECK_INT(rule.flags, 0);
	row.is_signal_frame = true;
	CHECK_INT(x86_64_rule(&row).flags, UNWIND_SIGNAL_FRAME);
}

/* Whatever else the row says there: stacks end alike. */
TEST(the_end_of_a_stack_has_one_rule)
{
	struct cfi_row row = usual_row(),
		       other = {.return_register = RIP, .registers[RIP].kind = UNWIND_UNDEFINED};
	row.registers[RIP] = (struct cfi_register){.kind = UNWIND_UNDEFINED};
	struct unwind_rule a = x86_64_rule(&row), b = x86_64_rule(&other);
	CHECK(memcmp(&a, &b, sizeof(a)) == 0);
	CHECK_INT(a.ra, UNWIND_UNDEFINED);
}

TEST(offsets_of_registers_have_16_bits)
{
	struct cfi_row row = usual_row();
	row.registers[RBP].offset = INT16_MIN;
	CHECK_INT(x86_64_rule(&row).fp, UNWIND_AT_CFA);
	CHECK_INT(x86_64_rule(&row).fp_offset, INT16_MIN);
	row.registers[RBP].offset = INT16_MIN - 1;
	CHECK_INT(x86_64_rule(&row).fp, UNWIND_UNSUPPORTED);
	CHECK_INT(x86_64_rule(&row).fp_offset, 0);
	row.registers[RIP].offset = INT16_MAX;
	CHECK_INT(x86_64_rule(&row).ra_offset, INT16_MAX);
	row.registers[RIP].offset = INT16_MAX + 1;
	CHECK_INT(x86_64_rule(&row).ra, UNWIND_UNSUPPORTED);
}

TEST(registers_are_those_that_rules_know)
{
	struct cfi_row row = usual_row();
	row.registers[RBX] = (struct cfi_register){
		.kind = UNWIND_IN_REGISTER, .offset = UNWIND_TABLE_MAX_REGISTER};
	CHECK_INT(x86_64_rule(&row).extra, UNWIND_IN_REGISTER);
	CHECK_INT(x86_64_rule(&row).extra_offset, UNWIND_TABLE_MAX_REGISTER);
	row.registers[RBX].offset++;
	CHECK_INT(x86_64_rule(&row).extra, UNWIND_UNSUPPORTED);
	row.cfa_register = UNWIND_TABLE_MAX_REGISTER;
	CHECK_INT(x86_64_rule(&row).cfa, UNWIND_CFA_REGISTER);
	row.cfa_register++;
	CHECK_INT(x86_64_rule(&row).cfa, UNWIND_CFA_UNSUPPORTED);
	CHECK_INT(x86_64_rule(&row).cfa_register, 0);
}

TEST(expressions_are_no_rules)
{
	static const enum unwind_register kinds[] = {UNWIND_CFA_PLUS, UNWIND_EXPRESSION};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct cfi_row row = usual_row();
		row.registers[RBP].kind = kinds[i];
		CHECK_INT(x86_64_rule(&row).fp, UNWIND_UNSUPPORTED);
		CHECK_INT(x86_64_rule(&row).fp_offset, 0);
		CHECK_INT(x86_64_rule(&row).ra, UNWIND_AT_CFA); /* the rest still holds */
	}
}

/* *(register + offset) + offset2, both in one field. */
TEST(a_cfa_in_memory_has_two_short_offsets)
{
	struct cfi_row row = usual_row();
	row.cfa_kind = UNWIND_CFA_DEREF;
	row.cfa_register = RBP;
	row.cfa_offset = -8;
	row.cfa_offset2 = 24;
	CHECK_INT(x86_64_rule(&row).cfa, UNWIND_CFA_DEREF);
	CHECK_INT((uint32_t)x86_64_rule(&row).cfa_offset, 24U << 16 | 0xfff8);
	row.cfa_offset2 = INT16_MIN;
	CHECK_INT((uint32_t)x86_64_rule(&row).cfa_offset, 0x8000fff8);
	row.cfa_offset2 = INT16_MAX + 1;
	CHECK_INT(x86_64_rule(&row).cfa, UNWIND_CFA_UNSUPPORTED);
	row.cfa_offset2 = 0;
	row.cfa_offset = INT16_MIN - 1;
	CHECK_INT(x86_64_rule(&row).cfa, UNWIND_CFA_UNSUPPORTED);
	CHECK_INT(x86_64_rule(&row).cfa_offset, 0);
}
