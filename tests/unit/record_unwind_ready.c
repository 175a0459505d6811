/* Rules for .NET's code that was compiled ahead of time. */
#include <string.h>

#include "format/elf/elf_file.h"
#include "record/unwind/unwind_table.h"
#include "tests/unit/forged_bundle.h"
#include "tests/unit/forged_clr.h"
#include "tests/unit/unit.h"

struct fixture {
	struct bytes_buf image;
	struct elf_file *elf;
	struct unwind_table table;
};

static void setup_for(struct fixture *fixture, bool is_arm64)
{
	*fixture = (struct fixture){.image = forged_clr_make_for(is_arm64)};
	CHECK_OK(elf_file_open_memory(fixture->image.data, fixture->image.len, &fixture->elf));
	CHECK_OK(unwind_table_build(fixture->elf, &fixture->table));
	CHECK_OK(unwind_table_check(&fixture->table));
}

static void setup(struct fixture *fixture)
{
	setup_for(fixture, false);
}

static void teardown(struct fixture *fixture)
{
	unwind_table_deinit(&fixture->table);
	elf_file_destroy(fixture->elf);
	bytes_buf_deinit(&fixture->image);
}

/* `fp` and `rbx`: where they are saved, from the CFA; 0: they are the caller's. */
static void want_rule(
	const struct fixture *fixture, uint64_t place, int cfa_register, int cfa, int fp, int rbx)
{
	const struct unwind_rule *rule =
		unwind_table_find(&fixture->table, FORGED_CLR_OFFSET + place);
	CHECK_INT(rule->cfa, UNWIND_CFA_REGISTER);
	CHECK_INT(rule->cfa_register, cfa_register);
	CHECK_INT(rule->cfa_offset, cfa);
	CHECK_INT(rule->ra, UNWIND_AT_CFA);
	CHECK_INT(rule->ra_offset, -8);
	CHECK_INT(rule->fp, fp ? UNWIND_AT_CFA : UNWIND_SAME);
	CHECK_INT(rule->fp_offset, fp);
	CHECK_INT(rule->extra, rbx ? UNWIND_AT_CFA : UNWIND_SAME);
	CHECK_INT(rule->extra_offset, rbx);
}

TEST(unwind_ready_prologue_and_epilogue)
{
	struct fixture fixture;
	setup(&fixture);
	for (int i = 0; i < 2; i++) {
		uint64_t code = FORGED_CLR_CODE + (uint64_t)i * FORGED_CLR_FUNCTION_BYTES;
		want_rule(&fixture, code, 7, 8, 0, 0);
		want_rule(&fixture, code + 1, 7, 16, -16, 0);
		want_rule(&fixture, code + 3, 7, 24, -16, 0);
		want_rule(&fixture, code + 4, 7, 32, -16, -32);
		want_rule(&fixture, code + 8, 7, 56, -16, -32);
		want_rule(&fixture, code + 12, 7, 56, -16, -32);
		want_rule(&fixture, code + 13, 7, 32, -16, -32);
		want_rule(&fixture, code + 14, 7, 24, -16, 0);
		want_rule(&fixture, code + 16, 7, 16, -16, 0);
		want_rule(&fixture, code + 17, 7, 8, 0, 0);
		want_rule(&fixture, code + 18, 7, 56, -16, -32);
		want_rule(&fixture, code + FORGED_CLR_FUNCTION_BYTES - 1, 7, 56, -16, -32);
	}
	teardown(&fixture);
}

TEST(unwind_ready_frame_pointer)
{
	struct fixture fixture;
	setup(&fixture);
	uint64_t code = FORGED_CLR_CODE + 2 * FORGED_CLR_FUNCTION_BYTES;
	want_rule(&fixture, code + 1, 7, 16, -16, 0);
	want_rule(&fixture, code + 8, 7, 0x98, -16, 0);
	want_rule(&fixture, code + 16, 6, 24, -16, 0);
	want_rule(&fixture, code + 21, 7, 16, -16, 0);
	want_rule(&fixture, code + 22, 7, 8, 0, 0);
	want_rule(&fixture, code + 27, 6, 24, -16, 0);
	teardown(&fixture);
}

TEST(unwind_ready_thunks)
{
	struct fixture fixture;
	setup(&fixture);
	want_rule(&fixture, FORGED_CLR_THUNKS, 7, 8, 0, 0);
	want_rule(&fixture, FORGED_CLR_THUNKS + 9, 7, 16, 0, 0);
	want_rule(&fixture, FORGED_CLR_THUNKS + 15, 7, 24, 0, 0);
	CHECK_INT(
		unwind_table_find(&fixture.table, FORGED_CLR_OFFSET + 0x5f0)->cfa, UNWIND_CFA_NONE);
	teardown(&fixture);
}

/* Each image of a program that is a single file has its rules where it lies in the file. */
TEST(unwind_ready_bundle)
{
	struct fixture fixture = {.image = forged_bundle_make()};
	CHECK_OK(elf_file_open_memory(fixture.image.data, fixture.image.len, &fixture.elf));
	CHECK_OK(unwind_table_build(fixture.elf, &fixture.table));
	CHECK_OK(unwind_table_check(&fixture.table));
	for (uint64_t image = FORGED_BUNDLE_FIRST; image <= FORGED_BUNDLE_SECOND; image += 0x1000) {
		want_rule(&fixture, image + FORGED_CLR_CODE + 1, 7, 16, -16, 0);
		want_rule(&fixture, image + FORGED_CLR_CODE + 8, 7, 56, -16, -32);
		want_rule(&fixture, image + FORGED_CLR_THUNKS + 9, 7, 16, 0, 0);
	}
	teardown(&fixture);
}

/* `saved`: how far below the CFA the frame pointer is, the return address behind it; 0: both are
 * in their registers. */
static void want_rule_of_arm64(
	const struct fixture *fixture, uint64_t place, int cfa_register, int cfa, int saved)
{
	const struct unwind_rule *rule =
		unwind_table_find(&fixture->table, FORGED_CLR_OFFSET + place);
	CHECK_INT(rule->cfa, UNWIND_CFA_REGISTER);
	CHECK_INT(rule->cfa_register, cfa_register);
	CHECK_INT(rule->cfa_offset, cfa);
	CHECK_INT(rule->fp, saved ? UNWIND_AT_CFA : UNWIND_SAME);
	CHECK_INT(rule->ra, saved ? UNWIND_AT_CFA : UNWIND_SAME);
	CHECK_INT(rule->fp_offset, -saved);
	CHECK_INT(rule->ra_offset, saved ? 8 - saved : 0);
}

TEST(unwind_ready_of_arm64)
{
	enum {
		FP = UNWIND_ARM64_FP,
		SP = UNWIND_ARM64_SP,
	};
	struct fixture fixture;
	setup_for(&fixture, true);
	for (uint64_t i = 0; i < 2; i++) {
		uint64_t code = FORGED_CLR_CODE + i * FORGED_CLR_FUNCTION_BYTES;
		want_rule_of_arm64(&fixture, code, SP, 0, 0);
		want_rule_of_arm64(&fixture, code + 4, SP, 48, 48);
		want_rule_of_arm64(&fixture, code + 8, SP, 48, 48);
		want_rule_of_arm64(&fixture, code + 12, FP, 48, 48);
		for (uint64_t epilogue = 16; epilogue <= 36; epilogue += 20) {
			want_rule_of_arm64(&fixture, code + epilogue, SP, 48, 48);
			want_rule_of_arm64(&fixture, code + epilogue + 4, SP, 48, 48);
			want_rule_of_arm64(&fixture, code + epilogue + 8, SP, 0, 0);
		}
		want_rule_of_arm64(&fixture, code + 28, FP, 48, 48);
		want_rule_of_arm64(&fixture, code + 32, FP, 48, 48);
		want_rule_of_arm64(&fixture, code + 48, FP, 48, 48);
		want_rule_of_arm64(&fixture, code + 60, FP, 48, 48);
	}
	uint64_t lambda = FORGED_CLR_CODE + 2 * FORGED_CLR_FUNCTION_BYTES;
	want_rule_of_arm64(&fixture, lambda, SP, 0, 0);
	want_rule_of_arm64(&fixture, lambda + 4, SP, 144, 0);
	want_rule_of_arm64(&fixture, lambda + 8, SP, 144, 128);
	want_rule_of_arm64(&fixture, lambda + 12, FP, 128, 128);
	want_rule_of_arm64(&fixture, lambda + 48, FP, 128, 128);
	want_rule_of_arm64(&fixture, lambda + 52, SP, 144, 128);
	want_rule_of_arm64(&fixture, lambda + 56, SP, 144, 0);
	want_rule_of_arm64(&fixture, lambda + 60, SP, 0, 0);
	want_rule_of_arm64(&fixture, FORGED_CLR_THUNKS + 8, SP, 0, 0);
	teardown(&fixture);
}
