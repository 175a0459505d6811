/*
 * One arm64 instruction, as far as those who read code for an address or an offset need it: where
 * it leads, what it loads, and what registers have when it has run.
 *
 * Source: "Arm Architecture Reference Manual for A-profile", C4.1 (how instructions are encoded).
 */
#ifndef EBPROF_ARM64_INSN_H
#define EBPROF_ARM64_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum arm64_kind {
	ARM64_PLAIN,         /* goes on behind itself */
	ARM64_CONSTANT,      /* `reg` becomes `value` */
	ARM64_SUM,           /* `reg` becomes `base` + `value` */
	ARM64_SUM_OF,        /* `reg` becomes `base` + `index` */
	ARM64_DIFFERENCE_OF, /* `reg` becomes `base` - `index` */
	ARM64_INSERT,        /* 16 bits of `reg`, from bit `shift` on, become those of `value` */
	ARM64_THREAD,        /* `reg` becomes the thread's pointer */
	ARM64_COMPARE,       /* `base` with `value` */
	ARM64_LOAD,          /* `reg` becomes what is in memory at `base` + `value` */
	ARM64_LOAD_OF,       /* ... at `base` + `index` */
	ARM64_STORE,         /* the memory at `base` + `value` becomes `reg` */
	ARM64_STORE_PAIR,    /* ... becomes `reg` and, behind it, `index` */
	ARM64_LOAD_PAIR,     /* `reg` and `index` become what is there, and behind it */
	ARM64_CALL,          /* of the address `value`, and goes on behind */
	ARM64_CALL_INDIRECT, /* the same, of what `base` says */
	ARM64_JUMP,          /* to the address `value` */
	ARM64_JUMP_INDIRECT, /* to what `base` says */
	ARM64_BRANCH,        /* to the address `value`, or goes on behind */
	ARM64_RETURN,        /* to what `base` says */
	ARM64_KERNEL,        /* a system call */
	ARM64_STOP,          /* never goes on: udf, brk, hlt */
};

enum {
	ARM64_INSN_BYTES = 4,
	ARM64_FP = 29,
	ARM64_LR = 30,
	ARM64_SP = 31, /* of `base`, and of `reg` of sums */
	ARM64_NO_REGISTER = 32,
	ARM64_IF_ZERO = 0,
	ARM64_IF_NONZERO = 1,
	ARM64_IF_BIT = 16,
};

struct arm64_insn {
	uint8_t kind;             /* enum arm64_kind */
	uint8_t reg, base, index; /* ARM64_NO_REGISTER: none, or the one that is always 0 */
	uint8_t bytes;            /* of what is loaded or stored, each */
	uint8_t shift;
	uint8_t condition; /* of branches: that of b.cond; cbz has ARM64_IF_ZERO, tbz none */
	int16_t step;      /* what memory's `base` is moved by, behind all else */
	uint32_t writes; /* bit n: register n may be changed, 31 is the stack pointer; of a call, by
			    the call itself */
	uint64_t value;
};

/* The instruction of `len` bytes of code at the virtual address; beyond their end a plain one. */
struct arm64_insn arm64_insn_decode(const uint8_t *code, size_t len, uint64_t address);

/* What registers have, by the instructions since all was unknown. */
struct arm64_values {
	uint64_t value[ARM64_SP + 1];
	uint32_t known;     /* bit n: `value` of register n is known, */
	uint32_t of_thread; /* ... as the distance from the thread's pointer */
};

/*
 * The address that a load, a store or a sum comes to, by what was known before it. False: it is
 * none, or that is not known. *of_thread: it is the distance from the thread's pointer.
 */
bool arm64_values_address(const struct arm64_values *values, const struct arm64_insn *insn,
	uint64_t *ret, bool *of_thread);
/* Goes on behind the instruction. */
void arm64_values_run(struct arm64_values *values, const struct arm64_insn *insn);

#endif
