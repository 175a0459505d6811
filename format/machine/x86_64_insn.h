/*
 * One x86-64 instruction, as far as those who follow code need it: how long it is, where it leads,
 * what it does to the stack pointer, and which of the general registers it writes. All encodings of
 * 64-bit mode are known by their length, APX excepted.
 *
 * Source: Intel SDM, volume 2, chapter 2 (prefixes, VEX, EVEX), chapters 3 to 6, appendix A (maps
 * of opcodes); AMD64 APM, volume 3, chapter 1 (3DNow!) and volume 6 (XOP).
 */
#ifndef EBPROF_X86_64_INSN_H
#define EBPROF_X86_64_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum x86_64_kind {
	X86_64_PLAIN,    /* writes `writes`, and goes on behind itself */
	X86_64_FILLER,   /* nop: does nothing */
	X86_64_ADDRESS,  /* `reg` becomes `base` + `value`; in 64 bits, like the next ones */
	X86_64_LOAD,     /* `reg` becomes what is in memory at `base` + `value` */
	X86_64_STORE,    /* the memory at `base` + `value` becomes `reg` */
	X86_64_CONSTANT, /* `reg` becomes `value` */
	X86_64_PUSH,     /* of `reg`; if that is none, of `value`, unless `base` is a register */
	X86_64_POP,      /* to `reg`, or to memory at `base` + `value` */
	X86_64_LEAVE,    /* the stack pointer becomes the frame pointer, which is popped */
	X86_64_CALL,     /* by `value`, and goes on behind */
	X86_64_CALL_INDIRECT, /* the same, to what a register or memory says */
	X86_64_JUMP,          /* by `value` */
	X86_64_JUMP_INDIRECT, /* to what a register or memory says */
	X86_64_BRANCH,        /* by `value`, or goes on behind */
	X86_64_SYSCALL,
	X86_64_TEST_AX, /* compares rax or eax with 0 */
	X86_64_RETURN,  /* and pops `value` bytes more */
	X86_64_STOP,    /* never goes on: hlt, ud2, int3 */
	X86_64_OTHER,   /* does something else to the stack pointer */
};

enum {
	X86_64_AX = 0, /* numbers as in ModRM bytes */
	X86_64_CX = 1,
	X86_64_DX = 2,
	X86_64_BX = 3,
	X86_64_SP = 4,
	X86_64_BP = 5,
	X86_64_SI = 6,
	X86_64_DI = 7,
	X86_64_NO_REGISTER = 16,
	X86_64_INSN_MAX = 15, /* bytes */
};

enum {
	X86_64_IF_ZERO = 4, /* conditions as in opcodes */
	X86_64_IF_NONZERO = 5,
};

struct x86_64_insn {
	uint8_t kind;      /* enum x86_64_kind */
	uint8_t len;       /* bytes */
	uint8_t reg, base; /* X86_64_NO_REGISTER: none, or more than a register tells */
	uint8_t condition; /* of branches: 0 to 15; of loops 16 */
	bool is_cmov;      /* it may write nothing */
	bool is_notrack;   /* of indirect jumps: by the compiler's own table, not to a function */
	uint16_t writes;   /* bit n: register n may be changed; of a call, none that it preserves */
	int64_t value;     /* of calls, jumps and branches from the instruction's end on */
};

/*
 * False: no instruction, or more than `len` bytes; *ret is undefined then. Of code that is data it
 * may be true.
 */
bool x86_64_insn_decode(const uint8_t *bytes, size_t len, struct x86_64_insn *ret);

#endif
