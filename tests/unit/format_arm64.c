/* Rules of arm64 code that no table describes, by itself. */
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/str.h"
#include "format/machine/machine.h"
#include "tests/unit/unit.h"

enum {
	NR_INSNS = 32,
	INSN_BYTES = 4,
};

static void note_rule(void *context, uint64_t at, const struct unwind_rule *rule)
{
	const char *kind = !rule                                         ? "none"
			   : rule->flags & UNWIND_SIGNAL_FRAME           ? "signal"
			   : rule->ra == UNWIND_SAME && !rule->fp_offset ? "leaf"
									 : "other";
	str_printf(context, " %llu:%s", (unsigned long long)at, kind);
}

static void check_rules(const uint32_t *insns, size_t count, const char *want)
{
	uint8_t bytes[NR_INSNS * INSN_BYTES];
	CLEANUP(str_deinit) struct str text = {0};
	memcpy(bytes, insns, count * INSN_BYTES);
	machine_arm64.find_gap_rules(&(struct machine_gap){
		.bytes = bytes, .len = count * INSN_BYTES, .on_rule = note_rule, .context = &text});
	CHECK_STR(str_text(&text), want);
}

#define CHECK_RULES(want, ...) \
	check_rules((const uint32_t[]){__VA_ARGS__}, \
		sizeof((const uint32_t[]){__VA_ARGS__}) / INSN_BYTES, want)

enum {
	INSN_NOP = 0xd503201f,
	INSN_RET = 0xd65f03c0,
};

TEST(arm64_stubs_of_the_plt_are_leaves)
{
	/* What binds a symbol makes a frame: stp x16, x30, [sp, -16]!; adrp; ldr; add; br; nop */
	CHECK_RULES(" 0:none 32:leaf 48:leaf", 0xa9bf7bf0, 0x90000110, 0xf947fe11, 0x913fe210,
		0xd61f0220, INSN_NOP, INSN_NOP, INSN_NOP, 0x90000110, 0xf9400211, 0x91000210,
		0xd61f0220, 0x90000110, 0xf9400611, 0x91002210, 0xd61f0220);
}

TEST(arm64_functions_without_a_frame_are_leaves)
{
	/* add; ldr x1, [x0], 8; stur x1, [sp, -16]; cbz; cmp x0, 1; cmn sp, 3; ldr d30, [x0]; ret
	 */
	CHECK_RULES(" 0:leaf", 0x0b010000, 0xf8408401, 0xf81f03e1, 0xb4ffff20, 0xf100041f,
		0xb1000fff, 0xfd40001e, INSN_RET, INSN_NOP);
}

TEST(arm64_functions_with_a_frame_have_no_plain_rule)
{
	static const uint32_t makers[] = {0xa9be7bfd /* stp x29, x30, [sp, -32]! */,
		0x910003fd /* mov x29, sp */, 0x97fffff4 /* bl */, 0xa8c27bfd /* ldp [sp], 32 */,
		0xd10043ff /* sub sp, sp, 16 */, 0xf84107fe /* ldr x30, [sp], 16 */,
		0xaa0103fe /* mov x30, x1 */, 0x927cec1f /* and sp, x0, -16 */,
		0xd63f0060 /* blr x3 */, 0xf80107e0 /* str x0, [sp], 16 */,
		0xa88107e0 /* stp x0, x1, [sp], 16 */, 0xa9407820 /* ldp x0, x30, [x1] */,
		0xd73f0864 /* blraa x3, x4 */, 0xf862683d /* ldr x29, [x1, x2] */};
	for (size_t i = 0; i < sizeof(makers) / sizeof(*makers); i++)
		CHECK_RULES(" 0:none 12:leaf", makers[i], INSN_RET, INSN_NOP, 0x0b010000, INSN_RET);
}

/* It is looked for one byte ahead of the address that a handler returns to. */
TEST(arm64_signal_handlers_return_to_a_frame_of_the_kernel)
{
	CHECK_RULES(" 0:leaf 11:signal 20:leaf", 0x0b010000, INSN_RET, INSN_NOP, 0xd2801168,
		0xd4000001, 0x0b010000, INSN_RET);
	/* Where nothing fills up ahead of it. */
	CHECK_RULES(" 0:leaf 7:signal", 0x0b010000, INSN_RET, 0xd2801168, 0xd4000001);
}
