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

TEST(what_is_not_understood_writes_all_that_it_may)
{
	CHECK_INT(decode(0xa9410861).kind, ARM64_PLAIN); /* ldp x1, x2, [x3, #16] */
	CHECK_INT(decode(0xa9410861).writes & 6, 6);
	CHECK_INT(decode(0xf84086c1).writes & (1U << 22 | 2), 1U << 22 | 2); /* ldr x1, [x22], #8 */
	CHECK_INT(decode(0xf2800025).kind, ARM64_PLAIN);                     /* movk x5, #1 */
	CHECK_INT(decode(0xf2800025).writes, 1 << 5);
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
