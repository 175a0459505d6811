/* Instructions of arm64, as binutils 2.40 assembles them, and what is known behind them. */
#include "format/machine/arm64_insn.h"

#include "tests/unit/unit.h"

enum {
	ADDRESS = 0x401000,
};

static struct arm64_insn decode(uint32_t insn)
{
	uint8_t bytes[ARM64_INSN_BYTES];
	for (unsigned i = 0; i < ARM64_INSN_BYTES; i++)
		bytes[i] = (uint8_t)(insn >> 8 * i);
	return arm64_insn_decode(bytes, sizeof(bytes), ADDRESS);
}

static void check_leads(uint32_t insn, enum arm64_kind kind, int64_t distance)
{
	struct arm64_insn got = decode(insn);
	CHECK_INT(got.kind, kind);
	CHECK_INT((int64_t)(got.value - ADDRESS), distance);
}

TEST(branches_lead_by_their_distance)
{
	check_leads(0xb4000080, ARM64_BRANCH, 16);               /* cbz x0 */
	check_leads(0x371fffc0, ARM64_BRANCH, -8);               /* tbnz w0, #3 */
	check_leads(0x54000101, ARM64_BRANCH, 32);               /* b.ne */
	check_leads(0x94000010, ARM64_CALL, 64);                 /* bl */
	check_leads(0x17feb9aa, ARM64_JUMP, -0x51958);           /* b */
	CHECK_INT(decode(0xd61f0060).kind, ARM64_JUMP_INDIRECT); /* br x3 */
	CHECK_INT(decode(0xd61f0060).base, 3);
	CHECK_INT(decode(0xd63f0080).kind, ARM64_CALL_INDIRECT); /* blr x4 */
	CHECK_INT(decode(0xd63f0080).base, 4);
	CHECK_INT(decode(0xd65f03c0).kind, ARM64_RETURN);
	CHECK_INT(decode(0xd65f0bff).kind, ARM64_RETURN); /* retaa */
}

static void check_memory(uint32_t insn, enum arm64_kind kind, unsigned reg, unsigned base,
	unsigned bytes, int64_t value)
{
	struct arm64_insn got = decode(insn);
	CHECK_INT(got.kind, kind);
	CHECK_INT(got.reg, reg);
	CHECK_INT(got.base, base);
	CHECK_INT(got.bytes, bytes);
	CHECK_INT((int64_t)got.value, value);
}

TEST(loads_and_stores_have_a_base_and_an_offset)
{
	check_memory(0xf9401401, ARM64_LOAD, 1, 0, 8, 40);  /* ldr x1, [x0, #40] */
	check_memory(0xb9426400, ARM64_LOAD, 0, 0, 4, 612); /* ldr w0, [x0, #612] */
	check_memory(0x39400022, ARM64_LOAD, 2, 1, 1, 0);   /* ldrb w2, [x1] */
	check_memory(0xf85f8083, ARM64_LOAD, 3, 4, 8, -8);  /* ldur x3, [x4, #-8] */
	check_memory(
		0xa90153f3, ARM64_STORE_PAIR, 19, ARM64_SP, 8, 16); /* stp x19, x20, [sp, 16] */
	CHECK_INT(decode(0xa90153f3).index, 20);
	CHECK_INT(decode(0xf8616840).kind, ARM64_LOAD_OF); /* ldr x0, [x2, x1] */
	CHECK_INT(decode(0xf8616840).base, 2);
	CHECK_INT(decode(0xf8616840).index, 1);
}

TEST(memory_may_move_its_base)
{
	struct arm64_insn insn = decode(0xa9be7bfd); /* stp x29, x30, [sp, #-32]! */
	CHECK_INT(insn.kind, ARM64_STORE_PAIR);
	CHECK(insn.reg == ARM64_FP && insn.index == ARM64_LR && insn.base == ARM64_SP);
	CHECK((int64_t)insn.value == -32 && insn.step == -32 && insn.writes == 1U << ARM64_SP);
	insn = decode(0xa8c27bfd); /* ldp x29, x30, [sp], #32 */
	CHECK_INT(insn.kind, ARM64_LOAD_PAIR);
	CHECK(!insn.value && insn.step == 32);
	CHECK(insn.writes == (1U << ARM64_FP | 1U << ARM64_LR | 1U << ARM64_SP));
	insn = decode(0xa9410861); /* ldp x1, x2, [x3, #16] */
	CHECK(insn.kind == ARM64_LOAD_PAIR && insn.value == 16 && !insn.step && insn.writes == 6);
	insn = decode(0xf84086c1); /* ldr x1, [x22], #8 */
	CHECK(insn.kind == ARM64_LOAD && !insn.value && insn.step == 8);
	CHECK(insn.writes == (1U << 22 | 2));
	insn = decode(0xf81f0ffe); /* str x30, [sp, #-16]! */
	CHECK(insn.kind == ARM64_STORE && insn.reg == ARM64_LR && insn.step == -16);
	insn = decode(0x6dbf27e8); /* stp d8, d9, [sp, #-16]! */
	CHECK(insn.kind == ARM64_SUM && insn.reg == ARM64_SP && insn.base == ARM64_SP);
	CHECK_INT((int64_t)insn.value, -16);
	insn = decode(0x3cc10420); /* ldr q0, [x1], #16 */
	CHECK(insn.kind == ARM64_SUM && insn.reg == 1 && insn.value == 16);
	insn = decode(0x28c10be1); /* ldp w1, w2, [sp], #8 */
	CHECK(insn.kind == ARM64_SUM && insn.value == 8);
	CHECK(insn.writes == (1U << ARM64_SP | 6));
	CHECK_INT(decode(0x6d4127e8).writes, 0); /* ldp d8, d9, [sp, #16] */
}

TEST(the_stack_pointer_is_moved_by_numbers_and_registers)
{
	struct arm64_insn insn = decode(0xcb3063ff); /* sub sp, sp, x16 */
	CHECK(insn.kind == ARM64_DIFFERENCE_OF && insn.reg == ARM64_SP && insn.base == ARM64_SP);
	CHECK_INT(insn.index, 16);
	CHECK_INT(decode(0x8b3063ff).kind, ARM64_SUM_OF);   /* add sp, sp, x16 */
	CHECK(decode(0x927ae53f).writes == 1U << ARM64_SP); /* and sp, x9, #0xffffffffffffffc0 */
	CHECK(decode(0x8b2073ff).writes == 1U << ARM64_SP); /* add sp, sp, x0, uxtx #4 */
	insn = decode(0xf2a00030);                          /* movk x16, #1, lsl #16 */
	CHECK(insn.kind == ARM64_INSERT && insn.shift == 16 && insn.value == 1 << 16);
	insn = decode(0x92800001); /* mov x1, #-1 */
	CHECK(insn.kind == ARM64_CONSTANT && insn.value == ~0ULL);
}

TEST(what_ends_code_is_known)
{
	CHECK_INT(decode(0xd4000001).kind, ARM64_KERNEL); /* svc 0 */
	CHECK_INT(decode(0x00000000).kind, ARM64_STOP);   /* udf 0 */
	CHECK_INT(decode(0xd4207d00).kind, ARM64_STOP);   /* brk 0x3e8 */
	CHECK_INT(decode(0xd65f03c0).base, ARM64_LR);
	CHECK_INT(decode(0xd65f0bff).base, ARM64_LR); /* retaa */
	CHECK_INT(decode(0xd65f0140).base, 10);       /* ret x10 */
}

/* Vectors, signatures, and addresses that registers say: the link register keeps what it has. */
TEST(what_is_not_understood_writes_what_it_may_and_no_more)
{
	CHECK_INT(decode(0xf2800025).writes, 1 << 5);         /* movk x5, #1 */
	CHECK_INT(decode(0x4ebe87be).writes, 0);              /* add v30.4s, v29.4s, v30.4s */
	CHECK_INT(decode(0x9e66005e).writes, 1U << ARM64_LR); /* fmov x30, d2 */
	CHECK_INT(decode(0x9e6703de).writes, 0);              /* fmov d30, x30 */
	CHECK_INT(decode(0x4e083c5e).writes, 1U << ARM64_LR); /* mov x30, v2.d[0] */
	CHECK_INT(decode(0xdac103fe).writes, 0);              /* pacia x30, sp */
	CHECK_INT(decode(0xd503233f).writes, 0);              /* paciasp */
	CHECK_INT(decode(0xf8627820).writes, 1);              /* ldr x0, [x1, x2, lsl #3] */
	CHECK_INT(decode(0xf822783e).writes, 0);              /* str x30, [x1, x2, lsl #3] */
	CHECK_INT(decode(0x58000100).writes, 1);              /* ldr x0, pc+32 */
	uint8_t none = 0;
	CHECK_INT(arm64_insn_decode(&none, 0, ADDRESS).kind, ARM64_PLAIN);
}

static void run(struct arm64_values *values, uint32_t insn)
{
	struct arm64_insn decoded = decode(insn);
	arm64_values_run(values, &decoded);
}

static uint64_t address_of(const struct arm64_values *values, uint32_t insn, bool *of_thread)
{
	struct arm64_insn decoded = decode(insn);
	uint64_t ret = 0;
	return arm64_values_address(values, &decoded, &ret, of_thread) ? ret : 0;
}

TEST(addresses_are_followed_through_sums)
{
	struct arm64_values values = {.known = 0};
	bool of_thread;
	run(&values, 0x90002e20); /* adrp x0, 0x5c4000 pages on */
	run(&values, 0x913fe000); /* add x0, x0, #0xff8 */
	CHECK_INT(address_of(&values, 0xb9426400, &of_thread), 0x9c5000 + 0xff8 + 612);
	CHECK(!of_thread);
	run(&values, 0xaa0003e6); /* mov x6, x0 */
	CHECK_INT(values.value[6], 0x9c5ff8);
	run(&values, 0xf9401401); /* ldr x1, [x0, #40]: nothing is known of what is there */
	CHECK_INT(values.known & 2, 0);
	run(&values, 0x94000010); /* a call */
	CHECK_INT(address_of(&values, 0xb9426400, &of_thread), 0);
}

TEST(the_threads_pointer_is_told_from_addresses)
{
	struct arm64_values values = {.known = 0};
	bool of_thread = false;
	run(&values, 0xd53bd040); /* mrs x0, tpidr_el0 */
	run(&values, 0x91400400); /* add x0, x0, #0x1, lsl #12 */
	CHECK_INT(address_of(&values, 0xf9401401, &of_thread), 0x1000 + 40);
	CHECK(of_thread);
	run(&values, 0xd2a24680); /* mov x0, #0x12340000 */
	CHECK_INT(values.value[0], 0x12340000);
	CHECK_INT(address_of(&values, 0xf9401401, &of_thread), 0x12340028);
	CHECK(!of_thread);
}
