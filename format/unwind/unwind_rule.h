/*
 * How to get from a frame to its caller: rules, the registers of a frame, and how a walk ends. The
 * BPF programs include it as the recorder and the report do, so it includes nothing and spells its
 * types out.
 */
#ifndef EBPROF_UNWIND_RULE_H
#define EBPROF_UNWIND_RULE_H

#include "format/unwind/unwind_machine.h"

/* How a user stack ended. */
enum event_stack_end {
	EVENT_END_COMPLETE = 0,
	EVENT_END_BROKEN_FRAME_POINTER = 1,
	EVENT_END_UNREADABLE = 2,
	EVENT_END_DEPTH = 3,
	EVENT_END_NO_REGISTERS = 4,
	EVENT_END_NO_TABLE = 5,       /* the file's rules could not be had */
	EVENT_END_NO_RULE = 6,        /* none covers the address */
	EVENT_END_UNSUPPORTED = 7,    /* there is one, beyond struct unwind_rule */
	EVENT_END_REGISTER = 8,       /* it needs a register whose value is not known */
	EVENT_END_JIT = 9,            /* code of no file, and no frame pointer to go by */
	EVENT_END_TABLE_PENDING = 10, /* the file's rules are not here yet */
	EVENT_END_NO_MAPPING = 11,    /* a return address outside of all executable memory */
};

enum unwind_cfa {
	UNWIND_CFA_NONE = 0,    /* no rule covers the address */
	UNWIND_CFA_REGISTER,    /* register + offset */
	UNWIND_CFA_DEREF,       /* *(register + low 16 bits of offset) + high 16 bits */
	UNWIND_CFA_PLT,         /* sp + 8, and 8 more when (ip & 15) >= offset */
	UNWIND_CFA_UNSUPPORTED, /* known, but beyond a rule */
	UNWIND_CFA_EXPRESSION,  /* of call frame information alone, see format/dwarf/cfi.h */
};

enum unwind_register {
	UNWIND_SAME = 0, /* unchanged */
	UNWIND_AT_CFA,   /* saved at CFA + offset */
	UNWIND_AT_SP,    /* saved at sp + offset */
	UNWIND_AT_FP,    /* saved at the frame pointer + offset, where frames are aligned */
	UNWIND_IN_REGISTER,
	UNWIND_UNDEFINED, /* of the return address: this is the outermost frame */
	UNWIND_UNSUPPORTED,
	/* Of rows alone, a rule has no room for them: */
	UNWIND_CFA_PLUS,   /* it is CFA + offset */
	UNWIND_EXPRESSION, /* of call frame information: saved at what it comes to */
	UNWIND_VALUE,      /* ... it is what that comes to */
};

enum unwind_flag {
	UNWIND_SIGNAL_FRAME = 1,    /* the caller was interrupted: its pc is exact */
	UNWIND_SWITCHES_STACKS = 2, /* the caller's frame may lie anywhere */
	UNWIND_INTERPRETER = 4,     /* an interpreter's loop, which has script frames */
	UNWIND_FORKS = 8, /* behind clone(): with the result 0 this is a new thread's first frame */
};

/* How a caller's frame was found. Odd ones are guesses: callers may be missing in between. */
enum unwind_found {
	UNWIND_FOUND_BY_RULE = 0, /* of call frame information, or of a runtime that is known */
	UNWIND_FOUND_BY_FRAME_POINTER = 1,
	UNWIND_FOUND_BY_CODE = 2, /* by reading code to its return: record/unwind/code_rules.h */
	UNWIND_FOUND_BY_SCAN = 3, /* the first of the stack's words that may be one */
	UNWIND_FOUND_KINDS,
	UNWIND_FOUND_GUESSED = 1, /* this bit */
};

/* What does not matter to a rule is zero, so that equal rules have equal bytes. */
struct unwind_rule {
	unsigned char cfa;            /* enum unwind_cfa */
	unsigned char cfa_register;   /* DWARF number */
	unsigned char fp : 4, ra : 4; /* enum unwind_register */
	unsigned char flags;          /* enum unwind_flag */
	int cfa_offset;
	short fp_offset, ra_offset;
	short extra_offset;
	unsigned char extra; /* enum unwind_register, of one more that a callee preserves: */
	unsigned char extra_register; /* DWARF number; 0: the machine's usual one */
};

_Static_assert(sizeof(struct unwind_rule) == 16, "the map of rules is an array of these");

/* Of code that pushed the frame pointer first of all: psABI, figure 3.3. */
#define UNWIND_FRAME_POINTER_RULE \
	{ \
		.cfa = UNWIND_CFA_REGISTER, .cfa_register = UNWIND_FP, .cfa_offset = 16, \
		.fp = UNWIND_AT_CFA, .fp_offset = -16, .ra = UNWIND_AT_CFA, .ra_offset = -8, \
		.extra = UNWIND_UNDEFINED, \
	}

enum {
	UNWIND_REGISTERS = 32, /* by DWARF number; a power of two: an index is masked */
};

/* Where a register of the caller is, with room for all that call frame information can say. */
struct unwind_place {
	unsigned int number; /* the register's */
	unsigned int kind;   /* enum unwind_register */
	long long offset;    /* or the number of the register that has it */
};

/* The state of a frame. */
struct unwind_registers {
	unsigned long long ip;
	unsigned long long known; /* bit n: reg[n] is known */
	unsigned long long reg[UNWIND_REGISTERS];
};

#endif
