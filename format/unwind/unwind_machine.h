/*
 * What a walk has to know of a machine: which registers are which. Numbers are DWARF's: System V
 * x86-64 psABI, figure 3.36; "DWARF for the Arm 64-bit Architecture", section 4.1. It includes
 * nothing, see unwind_rule.h.
 */
#ifndef EBPROF_UNWIND_MACHINE_H
#define EBPROF_UNWIND_MACHINE_H

struct unwind_machine {
	unsigned char result; /* what a function returns its value in */
	unsigned char frame_pointer, stack_pointer;
	unsigned char return_address; /* where call frame information has it */
	unsigned char pc;             /* where snapshots have the instruction pointer */
	unsigned char nr_registers;   /* that snapshots have, pc included */
	/* Which register `extra` of a rule is, where the rule does not say; 0: none. */
	unsigned char extra;
	/* Bit n: it has the caller's value until call frame information says where that is saved.
	 */
	unsigned long long preserved;
	unsigned long long pc_mask; /* of a return address: what is not its signature */
};

enum {
	UNWIND_X86_64_EXTRA = 3, /* rbx: ld.so keeps its CFA there while it binds a symbol */
	UNWIND_X86_64_FP = 6,
	UNWIND_X86_64_SP = 7,
	UNWIND_X86_64_RA = 16,
};

static const struct unwind_machine unwind_x86_64 = {
	.frame_pointer = UNWIND_X86_64_FP,
	.stack_pointer = UNWIND_X86_64_SP,
	.return_address = UNWIND_X86_64_RA,
	.pc = UNWIND_X86_64_RA,
	.nr_registers = 17,
	.extra = UNWIND_X86_64_EXTRA,
	.preserved = 0xf048, /* rbx, rbp, r12 to r15 */
	.pc_mask = ~0ULL,
};

enum {
	UNWIND_ARM64_EXTRA = 20, /* x20: code of BEAM keeps the stack of a process there */
	UNWIND_ARM64_FP = 29,
	UNWIND_ARM64_RA = 30,
	UNWIND_ARM64_SP = 31,
};

/*
 * Pointer authentication signs above the bits that a program's addresses have, which the kernel and
 * the CPU settle together: 48 mostly, 39 and 47 with some sizes of pages, 52 with large addresses.
 */
#define UNWIND_ARM64_WITHIN(address_bits) \
	{ \
		.frame_pointer = UNWIND_ARM64_FP, .stack_pointer = UNWIND_ARM64_SP, \
		.return_address = UNWIND_ARM64_RA, .pc = 32, .nr_registers = 33, \
		.extra = UNWIND_ARM64_EXTRA, .preserved = 0x7ff80000, /* x19 to x30 */ \
			.pc_mask = (1ULL << (address_bits)) - 1, \
	}

/* The usual one: programs are given no addresses of 52 bits that do not ask for them. */
static const struct unwind_machine unwind_arm64 = UNWIND_ARM64_WITHIN(48);

/* The machine that this is compiled for: the recorder and its BPF programs know no other. */
#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#define UNWIND_NATIVE (&unwind_x86_64)
enum {
	UNWIND_EXTRA = UNWIND_X86_64_EXTRA,
	UNWIND_FP = UNWIND_X86_64_FP,
	UNWIND_SP = UNWIND_X86_64_SP,
	UNWIND_RA = UNWIND_X86_64_RA,
	UNWIND_ADDRESS_BITS = 47, /* that programs are given who ask for no more */
	UNWIND_ARGUMENT_1 = 5,    /* rdi, rsi: where functions get what they are called with */
	UNWIND_ARGUMENT_2 = 4,
};
#elif defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#define UNWIND_NATIVE (&unwind_arm64)
enum {
	UNWIND_EXTRA = UNWIND_ARM64_EXTRA,
	UNWIND_FP = UNWIND_ARM64_FP,
	UNWIND_SP = UNWIND_ARM64_SP,
	UNWIND_RA = UNWIND_ARM64_RA,
	UNWIND_ADDRESS_BITS = 48,
	UNWIND_ARGUMENT_1 = 0,
	UNWIND_ARGUMENT_2 = 1,
};
#else
#error "no registers for this machine"
#endif

#endif
