/* Sources: "Sysv ABI for AArch64"; the PLTs of ld.bfd 2.40, lld 16 and mold 1.10, with BTI and
 * without; "Arm Architecture Reference Manual for A-profile", C4.1 (how instructions are encoded);
 * Linux 6.1, arch/arm64/kernel/vdso/sigreturn.S, arch/arm64/include/uapi/asm/sigcontext.h. */
#include <elf.h>

#include "format/machine/arm64_return.h"
#include "format/machine/arm64_syscalls.h"
#include "format/machine/machine.h"

/* ---- stubs of the PLT ---- */

enum {
	INSN = 4,
	BTI_C = 0xd503245f,
	INSNS_BEFORE_BR = 3, /* add, and with pointer authentication autia1716 */
};

static uint32_t insn_at(const uint8_t *bytes, size_t len, size_t at)
{
	return at + INSN <= len
		       ? (uint32_t)bytes[at] | (uint32_t)bytes[at + 1] << 8 |
				 (uint32_t)bytes[at + 2] << 16 | (uint32_t)bytes[at + 3] << 24
		       : 0;
}

/* adrp: the page that it names, from 21 bits in two pieces. */
static uint64_t adrp_page(uint32_t insn, uint64_t address)
{
	uint32_t immediate = (insn >> 5 & 0x7ffff) << 2 | (insn >> 29 & 3);
	int64_t pages = (int64_t)((uint64_t)immediate << 43) >> 43;
	return (address & ~(uint64_t)0xfff) + (uint64_t)pages * 4096;
}

/* [bti c] adrp xN, page; ldr xM, [xN, #offset]; some that read nothing; br xM */
static bool arm64_decode_plt_stub(
	const uint8_t *bytes, size_t len, uint64_t address, struct machine_plt_stub *ret)
{
	size_t at = insn_at(bytes, len, 0) == BTI_C ? INSN : 0;
	uint32_t adrp = insn_at(bytes, len, at), ldr = insn_at(bytes, len, at + INSN);
	if ((adrp & 0x9f000000) != 0x90000000 || (ldr & 0xffc00000) != 0xf9400000)
		return false;
	uint32_t page_register = adrp & 31, target_register = ldr & 31;
	if ((ldr >> 5 & 31) != page_register)
		return false;
	uint32_t br = 0xd61f0000 | target_register << 5;
	size_t end = at + 2 * INSN;
	for (int i = 0; i < INSNS_BEFORE_BR; i++, end += INSN) {
		if (insn_at(bytes, len, end) != br)
			continue;
		ret->slot = adrp_page(adrp, address + at) + (ldr >> 10 & 0xfff) * 8;
		ret->max_size = 24;
		return true;
	}
	return false;
}

/* ---- code that no table describes ---- */

enum {
	NOP = 0xd503201f,
	RET = 0xd65f03c0,
	RETAA = 0xd65f0bff,
	SET_SIGRETURN = 0xd2801168, /* mov x8, 139 */
	CALL_KERNEL = 0xd4000001,   /* svc 0 */
	SP = 31,
};

/* A signal handler's stack: siginfo, ucontext, in that at 176 the sigcontext. */
enum {
	SIGNAL_REGISTERS = 128 + 176 + 8,
	SIGNAL_SP = SIGNAL_REGISTERS + 31 * 8,
	SIGNAL_PC = SIGNAL_SP + 8,
};

static const struct unwind_rule arm64_leaf_rule = {.cfa = UNWIND_CFA_REGISTER,
	.cfa_register = UNWIND_ARM64_SP,
	.fp = UNWIND_SAME,
	.ra = UNWIND_SAME,
	.extra = UNWIND_SAME};

/* x30 is the caller's as well: where a leaf was interrupted it has the return address. */
static const struct unwind_rule arm64_signal_rule = {.cfa = UNWIND_CFA_DEREF,
	.cfa_register = UNWIND_ARM64_SP,
	.cfa_offset = SIGNAL_SP,
	.fp = UNWIND_AT_SP,
	.fp_offset = SIGNAL_REGISTERS + UNWIND_ARM64_FP * 8,
	.ra = UNWIND_AT_SP,
	.ra_offset = SIGNAL_PC,
	.extra = UNWIND_AT_SP,
	.extra_register = UNWIND_ARM64_RA,
	.extra_offset = SIGNAL_REGISTERS + UNWIND_ARM64_RA * 8,
	.flags = UNWIND_SIGNAL_FRAME | UNWIND_SWITCHES_STACKS};

/* Whether an instruction may write the stack pointer, the frame pointer or x30, or calls. */
static bool makes_frame(uint32_t insn)
{
	uint32_t first = insn & 31, base = insn >> 5 & 31, second = insn >> 10 & 31;
	bool is_pair = (insn & 0x3a000000) == 0x28000000;
	bool is_single = (insn & 0x3a000000) == 0x38000000;
	bool is_load = insn & (is_pair ? 1 << 22 : 3 << 22);
	bool is_vector = insn >> 26 & 1;
	bool writes_base = (is_pair && insn >> 23 & 1) ||
			   (is_single && !(insn >> 24 & 1) && !(insn >> 21 & 1) && insn >> 10 & 1);
	if (is_pair || is_single)
		return (writes_base && base == SP) ||
		       (is_load && !is_vector &&
			       (first == 29 || first == 30 ||
				       (is_pair && (second == 29 || second == 30))));
	bool is_call = (insn & 0xfc000000) == 0x94000000 || (insn & 0xfefff800) == 0xd63f0800 ||
		       (insn & 0xfffffc1f) == 0xd63f0000;
	/* Of what computes, what may name the stack pointer: where 31 is not the zero register. */
	bool is_sum = (insn & 0x1f000000) == 0x11000000 || (insn & 0x1fe00000) == 0x0b200000;
	bool is_logical = (insn & 0x1f800000) == 0x12000000;
	bool sets_sp = first == SP &&
		       ((is_sum && !(insn >> 29 & 1)) || (is_logical && (insn >> 29 & 3) != 3));
	/* By numbers, by registers; loads of constants, and those of atomic pairs. */
	bool computes = (insn & 0x1c000000) == 0x10000000 || (insn & 0x0e000000) == 0x0a000000 ||
			(insn & 0x3b000000) == 0x18000000 || (insn & 0x3f000000) == 0x08000000;
	return is_call || sets_sp || (computes && (first == 29 || first == 30));
}

/* What fills up behind functions. */
static bool arm64_is_padding(uint32_t insn)
{
	return !insn || insn == NOP;
}

static bool is_signal_return(const uint8_t *bytes, size_t len, size_t at)
{
	return insn_at(bytes, len, at) == SET_SIGRETURN &&
	       insn_at(bytes, len, at + INSN) == CALL_KERNEL;
}

/*
 * From a function's first instruction to the one behind its end: what fills up stands there, or the
 * code ends. A piece of a function may stand behind a return, so that alone does not end it.
 */
static size_t function_end(const uint8_t *bytes, size_t len, size_t at, bool *is_plain)
{
	*is_plain = true;
	bool has_returned = false;
	for (; at + INSN <= len; at += INSN) {
		uint32_t insn = insn_at(bytes, len, at);
		if ((has_returned && arm64_is_padding(insn)) || is_signal_return(bytes, len, at))
			break;
		*is_plain &= !makes_frame(insn);
		has_returned = insn == RET || (insn & 0xfffffbff) == RETAA ||
			       (insn & 0xfc000000) == 0x14000000 /* b */ ||
			       (insn & 0xfffffc1f) == 0xd61f0000 /* br */;
	}
	return at;
}

/* Functions that make no frame and call nothing, beside what is the same in all files. */
static void arm64_find_gap_rules(const struct machine_gap *gap)
{
	const uint8_t *bytes = gap->bytes;
	size_t len = gap->len, at = 0;
	while (at + INSN <= len) {
		bool is_plain = false;
		size_t end = at + 2 * INSN;
		struct machine_plt_stub stub;
		if (is_signal_return(bytes, len, at)) {
			/* A return address is looked for one byte ahead of it. */
			gap->on_rule(
				gap->context, gap->offset + (at ? at - 1 : 0), &arm64_signal_rule);
		} else if (arm64_decode_plt_stub(bytes + at, len - at, 0, &stub)) {
			gap->on_rule(gap->context, gap->offset + at, &arm64_leaf_rule);
			end = at + 4 * INSN;
		} else if (arm64_is_padding(insn_at(bytes, len, at))) {
			end = at + INSN;
		} else {
			end = function_end(bytes, len, at, &is_plain);
			gap->on_rule(
				gap->context, gap->offset + at, is_plain ? &arm64_leaf_rule : NULL);
		}
		at = end;
	}
}

/* ---- the row ---- */

/* Offsets: struct user_pt_regs of arch/arm64/include/uapi/asm/ptrace.h. */
static const struct machine_user_register arm64_user_registers[] = {
	{{"x0", "w0", NULL, NULL}, 0 * 8},
	{{"x1", "w1", NULL, NULL}, 1 * 8},
	{{"x2", "w2", NULL, NULL}, 2 * 8},
	{{"x3", "w3", NULL, NULL}, 3 * 8},
	{{"x4", "w4", NULL, NULL}, 4 * 8},
	{{"x5", "w5", NULL, NULL}, 5 * 8},
	{{"x6", "w6", NULL, NULL}, 6 * 8},
	{{"x7", "w7", NULL, NULL}, 7 * 8},
	{{"x8", "w8", NULL, NULL}, 8 * 8},
	{{"x9", "w9", NULL, NULL}, 9 * 8},
	{{"x10", "w10", NULL, NULL}, 10 * 8},
	{{"x11", "w11", NULL, NULL}, 11 * 8},
	{{"x12", "w12", NULL, NULL}, 12 * 8},
	{{"x13", "w13", NULL, NULL}, 13 * 8},
	{{"x14", "w14", NULL, NULL}, 14 * 8},
	{{"x15", "w15", NULL, NULL}, 15 * 8},
	{{"x16", "w16", NULL, NULL}, 16 * 8},
	{{"x17", "w17", NULL, NULL}, 17 * 8},
	{{"x18", "w18", NULL, NULL}, 18 * 8},
	{{"x19", "w19", NULL, NULL}, 19 * 8},
	{{"x20", "w20", NULL, NULL}, 20 * 8},
	{{"x21", "w21", NULL, NULL}, 21 * 8},
	{{"x22", "w22", NULL, NULL}, 22 * 8},
	{{"x23", "w23", NULL, NULL}, 23 * 8},
	{{"x24", "w24", NULL, NULL}, 24 * 8},
	{{"x25", "w25", NULL, NULL}, 25 * 8},
	{{"x26", "w26", NULL, NULL}, 26 * 8},
	{{"x27", "w27", NULL, NULL}, 27 * 8},
	{{"x28", "w28", NULL, NULL}, 28 * 8},
	{{"x29", "w29", NULL, NULL}, 29 * 8},
	{{"x30", "w30", NULL, NULL}, 30 * 8},
	{{"sp", "wsp", NULL, NULL}, 31 * 8},
};

/* ---- functions of Go ---- */

/* Source: cmd/internal/obj/arm64/obj7.go of Go 1.19, stacksplit(): what is compared is computed
 * between the first of the instructions and the last, with five at most. */
static size_t arm64_go_stack_check(const uint8_t *code, size_t len)
{
	enum {
		LOAD_LIMIT = 0xf9400b90U, /* ldr x16, [x28, #16] */
		BRANCH_IF_BELOW = 0x54000009U,
		OF_BRANCH = 0xff00001fU,
		MAX_INSTRUCTIONS = 8,
	};
	if (len < INSN || insn_at(code, len, 0) != LOAD_LIMIT)
		return 0;
	for (size_t at = INSN; at < MAX_INSTRUCTIONS * INSN && at + INSN <= len; at += INSN)
		if ((insn_at(code, len, at) & OF_BRANCH) == BRANCH_IF_BELOW)
			return at + INSN;
	return 0;
}

/* ---- signed return addresses ---- */

/*
 * XPACLRI (HINT #7) takes from x30 the signature that the kernel has the CPU put there: of one that
 * has all bits but the 55th, which tells the kernel's addresses, it leaves those of a program's
 * address. A CPU without pointer authentication takes it for a NOP, and leaves them all.
 */
static unsigned arm64_address_bits(void)
{
#if defined(__aarch64__)
	register uint64_t address __asm__("x30") = ~(1ULL << 55);
	__asm__ volatile("hint #7" : "+r"(address));
	unsigned bits = (unsigned)__builtin_ctzll(~address);
	return bits < 55 ? bits : 0;
#else
	return 0;
#endif
}

/* Those of the kernel's choices of CONFIG_ARM64_VA_BITS (Linux 7.2, arch/arm64/Kconfig). */
static const struct unwind_machine *arm64_unwind_within(unsigned address_bits)
{
	static const struct unwind_machine within_36 = UNWIND_ARM64_WITHIN(36),
					   within_39 = UNWIND_ARM64_WITHIN(39),
					   within_42 = UNWIND_ARM64_WITHIN(42),
					   within_47 = UNWIND_ARM64_WITHIN(47),
					   within_52 = UNWIND_ARM64_WITHIN(52);
	switch (address_bits) {
	case 36:
		return &within_36;
	case 39:
		return &within_39;
	case 42:
		return &within_42;
	case 47:
		return &within_47;
	case 52:
		return &within_52;
	default:
		return &unwind_arm64;
	}
}

const struct machine machine_arm64 = {
	.elf = EM_AARCH64,
	.uname = "aarch64",
	.syscalls = arm64_syscalls,
	.nr_syscalls = ARM64_SYSCALLS,
	.unwind = &unwind_arm64,
	.address_bits = arm64_address_bits,
	.unwind_within = arm64_unwind_within,
	.direct_map_shift = 29, /* at least, of all sizes of pages: ARM64_MEMSTART_ALIGN */
	.relocations = {.relative = R_AARCH64_RELATIVE,
		.irelative = R_AARCH64_IRELATIVE,
		.jump_slot = R_AARCH64_JUMP_SLOT,
		.glob_dat = R_AARCH64_GLOB_DAT,
		.word64 = R_AARCH64_ABS64,
		.word32 = {R_AARCH64_ABS32},
		.relative64 = R_AARCH64_PREL64,
		.relative32 = R_AARCH64_PREL32,
		.thread_distance = R_AARCH64_TLS_TPREL,
		.thread_module = R_AARCH64_TLS_DTPMOD,
		.thread_descriptor = R_AARCH64_TLSDESC},
	.thread_head_bytes = 16,
	.plt_align = INSN,
	.plt_stub_min = 3 * INSN, /* behind bti c there would be the same once more */
	.decode_plt_stub = arm64_decode_plt_stub,
	.find_gap_rules = arm64_find_gap_rules,
	.gap_max_bytes = SIZE_MAX,
	.find_return = arm64_find_return,
	.may_have_called = arm64_may_have_called,
	.find_from_call = arm64_find_from_call,
	.go_stack_check = arm64_go_stack_check,
	.go_start = "_rt0_arm64_linux",
	.operand_syntax = MACHINE_OPERANDS_ARM64,
	.user_registers = arm64_user_registers,
	.nr_user_registers = sizeof(arm64_user_registers) / sizeof(*arm64_user_registers),
	.library_folders = {"/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu"},
};
