/*
 * A machine of this test's own, with the registers of RISC-V: rows of call frame information,
 * rules and steps need nothing else of it.
 */
#include <elf.h>

#include "format/machine/machine.h"
#include "format/unwind/unwind_step.h"
#include "record/unwind/cfi_rule.h"
#include "tests/unit/unit.h"

static const struct unwind_machine riscv64 = {
	.result = 10, /* a0 */
	.frame_pointer = 8,
	.stack_pointer = 2,
	.return_address = 1,
	.pc = 32,
	.nr_registers = 33,
	.extra = 9,              /* s1 */
	.preserved = 0x0ffc0302, /* ra, until it is saved; s0 to s11 */
	.pc_mask = ~0ULL,
};

/* addi sp,sp,-32; sd ra,24(sp); sd s0,16(sp); sd s1,8(sp): behind 4, 8 and 12 bytes. */
static const uint8_t section[] = {16, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 1, 1, 0x03,
	0x0c, 2, 0,                                              /* zR, -8, ra, udata4; CFA is sp */
	21, 0, 0, 0, 24, 0, 0, 0, 0, 0x10, 0, 0, 64, 0, 0, 0, 0, /* 64 bytes at 0x1000 */
	0x44, 0x0e, 32, 0x48, 0x81, 1, 0x88, 2};

static const uint64_t words[] = {0, 0x51, 0xf0, 0x2000, 0, 0x3000};

static long read_word(void *context, unsigned long long address, unsigned long long *value)
{
	(void)context;
	if (address / 8 >= sizeof(words) / sizeof(*words))
		return -1;
	*value = words[address / 8];
	return 0;
}

static void keep_row(void *context, uint64_t address, const struct cfi_row *row)
{
	struct unwind_rule *rules = context;
	rules[(address - 0x1000) / 4] = cfi_rule(row, &riscv64);
}

TEST(a_machine_is_a_row)
{
	struct unwind_rule rules[16] = {{0}};
	struct cfi_result result;
	cfi_walk(
		&(struct cfi_section){
			.bytes = section, .len = sizeof(section), .machine = &riscv64},
		&(struct cfi_visitor){.context = rules, .row = keep_row}, &result);
	CHECK_INT(result.functions, 1);
	CHECK_INT(result.bad_functions, 0);
	/* Before anything is saved the return address is in ra; the stack is the caller's. */
	struct unwind_registers regs = {.ip = 0x1000, .known = 0xffffffff, .reg = {[1] = 0x2000}};
	bool is_outermost;
	CHECK_INT(unwind_step(&riscv64, &regs, &rules[0], read_word, NULL, &is_outermost),
		EVENT_END_COMPLETE);
	CHECK_INT(regs.ip, 0x2000);
	CHECK_INT(regs.known, 1 << 2 | 1 << 8 | 1 << 9);
	/* Then it is on the stack, as is s0. */
	CHECK_INT(unwind_step(&riscv64, &regs, &rules[3], read_word, NULL, &is_outermost),
		EVENT_END_COMPLETE);
	CHECK_INT(regs.ip, 0x2000);
	CHECK_INT(regs.reg[2], 32);
	CHECK_INT(regs.reg[8], 0xf0);
	CHECK(unwind_may_guess(&riscv64, &regs));
}

/* The signature of a return address stands above the bits that addresses have on the machine. */
TEST(signatures_are_taken_off_by_the_width_of_addresses)
{
	static const struct {
		unsigned address_bits;
		uint64_t ip;
	} widths[] = {{39, 0x5512345678}, {47, 0x2ad512345678}, {48, 0xaad512345678},
		{0, 0xaad512345678}, {64, 0xaad512345678}, {52, 0xcaad512345678}};
	const struct machine *machine = machine_find(EM_AARCH64);
	const struct unwind_rule rule = {
		.cfa = UNWIND_CFA_REGISTER, .cfa_register = UNWIND_ARM64_SP, .ra = UNWIND_SAME};
	for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++) {
		const struct unwind_machine *registers =
			machine_registers_within(machine, widths[i].address_bits);
		struct unwind_registers regs = {.ip = 0x1000,
			.known = 0xffffffff,
			.reg = {[UNWIND_ARM64_RA] = 0x7bcaad512345678, [UNWIND_ARM64_SP] = 0x2000}};
		bool is_outermost;
		CHECK_INT(unwind_step(registers, &regs, &rule, read_word, NULL, &is_outermost),
			EVENT_END_COMPLETE);
		CHECK_INT(regs.ip, widths[i].ip);
	}
	machine = machine_find(EM_X86_64);
	CHECK(machine_registers_within(machine, 47) == machine->unwind);
}
