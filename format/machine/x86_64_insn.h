/*
 * One x86-64 instruction, as far as the code that stands between functions with call frame
 * information needs it: how long it is, where it leads, and what it does to the stack pointer and
 * to registers. Start-up code and system calls of C libraries; no floating point, no vectors.
 *
 * Source: Intel SDM, volume 2, chapter 2 and appendix A.
 */
#ifndef EBPROF_X86_64_INSN_H
#define EBPROF_X86_64_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum x86_64_kind {
	X86_64_PLAIN,         /* the stack pointer stays */
	X86_64_PUSH,          /* of `reg`, or of something else */
	X86_64_POP,           /* to `reg` */
	X86_64_ADD_SP,        /* `value` is added to the stack pointer */
	X86_64_CALL,          /* and goes on behind */
	X86_64_JUMP,          /* by `value` */
	X86_64_JUMP_INDIRECT, /* to where nobody can see */
	X86_64_BRANCH,        /* by `value`, or goes on */
	X86_64_BRANCH_ZERO,   /* the same when the result was 0 */
	X86_64_BRANCH_NONZERO,
	X86_64_SYSCALL,
	X86_64_TEST_AX, /* compares rax or eax with 0 */
	X86_64_RETURN,
	X86_64_STOP,  /* never goes on: hlt, ud2, int3 */
	X86_64_OTHER, /* does something else to the stack pointer */
};

enum {
	X86_64_SP = 4, /* numbers as in ModRM bytes */
	X86_64_BP = 5,
	X86_64_BX = 3,
	X86_64_NO_REGISTER = 16,
	X86_64_INSN_MAX = 15, /* bytes */
};

struct x86_64_insn {
	uint8_t kind; /* enum x86_64_kind */
	uint8_t len;  /* bytes */
	uint8_t reg;
	uint16_t writes; /* bit n: register n may be changed; of a call, none that it preserves */
	int32_t value;   /* of jumps from the instruction's end on; of mov $value,%eax */
	bool sets_ax;    /* it is mov $value,%eax */
};

/* False: not one that is known here, or more than `len` bytes; *ret is undefined then. */
bool x86_64_insn_decode(const uint8_t *bytes, size_t len, struct x86_64_insn *ret);

#endif
