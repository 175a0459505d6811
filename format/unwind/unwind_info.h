/*
 * UNWIND_INFO, as .NET has it of each function that its compilers make, ahead of time or just in
 * time: what the prologue does, instruction by instruction, the last one first. From that and a
 * place in the function to the rule for a frame there. The BPF programs run this on what they read
 * of live processes, the recorder on files.
 *
 * Sources: "x64 exception handling" of Microsoft's documentation; of .NET 8 to 10
 * src/coreclr/inc/win64unwind.h and src/coreclr/jit/unwindamd64.cpp: operations 0 to 5, and 11 for
 * frame pointers that are far from the stack pointer. No other ones occur on Linux.
 */
#ifndef EBPROF_UNWIND_INFO_H
#define EBPROF_UNWIND_INFO_H

#include "format/unwind/unwind_step.h"

enum {
	UNWIND_INFO_HEAD_BYTES = 4,
	UNWIND_INFO_MAX_CODES = 32, /* of two bytes; the most that was seen is 21 */
	UNWIND_INFO_BYTES = UNWIND_INFO_HEAD_BYTES + 2 * UNWIND_INFO_MAX_CODES,

	UNWIND_INFO_VERSION = 1,
	UNWIND_INFO_VERSION_MASK = 7,
	UNWIND_INFO_IS_CHAINED = 4 << 3,

	UNWIND_INFO_PUSH = 0,
	UNWIND_INFO_ALLOC_LARGE = 1,
	UNWIND_INFO_ALLOC_SMALL = 2,
	UNWIND_INFO_SET_FRAME = 3,
	UNWIND_INFO_SAVE = 4, /* a register, where room was made before: on-stack replacement */
	UNWIND_INFO_SAVE_FAR = 5,
	UNWIND_INFO_SET_FRAME_LARGE = 11,

	UNWIND_INFO_NOT_PUSHED = -1, /* no place: these are at multiples of 8 */

	/* Numbers of registers in there. */
	UNWIND_INFO_RBX = 3,
	UNWIND_INFO_RBP = 5,
};

/* What the prologue has done so far, or an epilogue has not undone yet. */
struct unwind_info_state {
	int size;          /* of what is above the base, without the return address */
	int rbp, rbx;      /* where these are, above the base; or UNWIND_INFO_NOT_PUSHED */
	unsigned int next; /* of the operations */
	_Bool is_by_fp;    /* the base is the frame pointer, else the stack pointer */
};

#define UNWIND_INFO_STATE \
	{ \
		.rbp = UNWIND_INFO_NOT_PUSHED, .rbx = UNWIND_INFO_NOT_PUSHED \
	}

/* Two bytes of an operation's operand. */
UNWIND_INLINE unsigned int unwind_info_u16(
	const unsigned char bytes[UNWIND_INFO_BYTES], unsigned int code)
{
	unsigned int at = UNWIND_INFO_HEAD_BYTES + 2 * (code & (UNWIND_INFO_MAX_CODES - 1));
	return bytes[at] | (unsigned int)bytes[at + 1] << 8;
}

/*
 * The rule from what has been pushed so far. CFA-relative places are those of a frame that begins
 * with a return address.
 */
UNWIND_INLINE void unwind_info_put_rule(
	const struct unwind_info_state *state, struct unwind_rule *rule)
{
	int cfa = (int)((unsigned int)state->size + 8);
	_Bool has_rbp = state->rbp != UNWIND_INFO_NOT_PUSHED;
	_Bool has_rbx = state->rbx != UNWIND_INFO_NOT_PUSHED;
	rule->cfa = UNWIND_CFA_REGISTER;
	rule->cfa_register = state->is_by_fp ? UNWIND_X86_64_FP : UNWIND_X86_64_SP;
	rule->fp = has_rbp ? UNWIND_AT_CFA : UNWIND_SAME;
	rule->ra = UNWIND_AT_CFA;
	rule->flags = 0;
	rule->cfa_offset = cfa;
	rule->fp_offset = has_rbp ? (short)(state->rbp - cfa) : 0;
	rule->ra_offset = -8;
	rule->extra_offset = has_rbx ? (short)(state->rbx - cfa) : 0;
	rule->extra = has_rbx ? UNWIND_AT_CFA : UNWIND_SAME;
	rule->extra_register = 0;
}

/* Whether bytes are such information, as far as their head says. */
UNWIND_INLINE _Bool unwind_info_is_known(const unsigned char bytes[UNWIND_INFO_BYTES])
{
	return (bytes[0] & UNWIND_INFO_VERSION_MASK) == UNWIND_INFO_VERSION &&
	       !(bytes[0] & UNWIND_INFO_IS_CHAINED) && bytes[2] <= UNWIND_INFO_MAX_CODES;
}

/*
 * Takes the next operation, if a frame that is `offset` bytes behind where its function begins has
 * done it. The state begins with no register pushed. False: it is not understood.
 */
UNWIND_INLINE _Bool unwind_info_take(const unsigned char bytes[UNWIND_INFO_BYTES],
	unsigned int offset, struct unwind_info_state *state)
{
	unsigned int code = unwind_info_u16(bytes, state->next);
	unsigned int op = code >> 8 & 15, info = code >> 12;
	unsigned int low = unwind_info_u16(bytes, state->next + 1);
	unsigned int wide = low | unwind_info_u16(bytes, state->next + 2) << 16;
	_Bool is_done = (code & 255) <= offset, is_known = 1;
	_Bool is_save = op == UNWIND_INFO_SAVE || op == UNWIND_INFO_SAVE_FAR;
	int saved_at = op == UNWIND_INFO_SAVE ? 8 * (int)low : (int)wide;
	unsigned int size = (unsigned int)state->size; /* sums of what is not sound may wrap */
	state->next += op == UNWIND_INFO_ALLOC_LARGE       ? 2 + !!info
		       : op == UNWIND_INFO_SAVE            ? 2
		       : op == UNWIND_INFO_SET_FRAME_LARGE ? 3
		       : op == UNWIND_INFO_SAVE_FAR        ? 3
							   : 1;
	if (op == UNWIND_INFO_PUSH) {
		state->rbp = is_done && info == UNWIND_INFO_RBP ? state->size : state->rbp;
		state->rbx = is_done && info == UNWIND_INFO_RBX ? state->size : state->rbx;
		size += is_done ? 8 : 0;
	} else if (op == UNWIND_INFO_ALLOC_SMALL) {
		size += is_done ? 8 * info + 8 : 0;
	} else if (op == UNWIND_INFO_ALLOC_LARGE) {
		size += !is_done ? 0 : info ? wide : 8 * low;
	} else if (is_save) {
		state->rbp = is_done && info == UNWIND_INFO_RBP ? saved_at : state->rbp;
		state->rbx = is_done && info == UNWIND_INFO_RBX ? saved_at : state->rbx;
	} else if ((op == UNWIND_INFO_SET_FRAME || op == UNWIND_INFO_SET_FRAME_LARGE) &&
		   (bytes[3] & 15) == UNWIND_INFO_RBP) {
		unsigned int distance = op == UNWIND_INFO_SET_FRAME ? bytes[3] >> 4 : wide;
		state->is_by_fp |= is_done;
		size = is_done ? 0 - 16 * distance : size;
	} else {
		is_known = 0;
	}
	state->size = (int)size;
	return is_known;
}

/* The rule for a frame, all at once. False: the bytes are no such information, or beyond a rule. */
UNWIND_INLINE _Bool unwind_info_rule(
	const unsigned char bytes[UNWIND_INFO_BYTES], unsigned int offset, struct unwind_rule *rule)
{
	struct unwind_info_state state = UNWIND_INFO_STATE;
	if (!unwind_info_is_known(bytes))
		return 0;
	while (state.next < bytes[2])
		if (!unwind_info_take(bytes, offset, &state))
			return 0;
	unwind_info_put_rule(&state, rule);
	return 1;
}

#endif
