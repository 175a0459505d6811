/*
 * What .NET has on arm64 of each function that its compilers make: an .xdata record, as Windows
 * has it there. Behind a word with lengths, and one for each epilogue, stand codes, of one
 * instruction each, which undo it: those of the prologue, the last instruction first, and those of
 * epilogues, in the order that they run in. From these and a place in the function to the rule for
 * a frame there. The BPF programs run this on what they read of live processes, the recorder on
 * files.
 *
 * Sources: "ARM64 exception handling" of Microsoft's documentation; of .NET 8 to 10
 * src/coreclr/jit/unwindarm64.cpp, which has all codes that occur on Linux, and
 * src/coreclr/jit/codegenarm64.cpp, genSetUseSaveNextPairs(). Records that are packed into the
 * table of functions do not occur. Functions of more than 1 MiB are several records: those behind
 * the first have no prologue of their own, and say so by where the scope ends, ahead of the codes
 * of the function's (unwind.cpp, UnwindFragmentInfo::CopyPrologCodes()).
 */
#ifndef EBPROF_UNWIND_XDATA_H
#define EBPROF_UNWIND_XDATA_H

#include "format/unwind/unwind_step.h"

enum {
	UNWIND_XDATA_HEAD_WORDS =
		2, /* the second one is a part of it where the first has no counts */
	UNWIND_XDATA_CODE_BYTES = 64, /* of a prologue or an epilogue; a fifth of that is usual */
	UNWIND_XDATA_MAX_CODES = 40,
	UNWIND_XDATA_INSN_BYTES = 4,
	UNWIND_XDATA_NO_EPILOGUE = 0xffffffff,

	UNWIND_XDATA_NOT_SAVED = -1, /* no place: these are at multiples of 8 */
	UNWIND_XDATA_FIRST_SAVED = 19,
};

/* What the record begins with; places are counted in bytes, from where it begins. */
struct unwind_xdata_head {
	unsigned int bytes;        /* of the function */
	unsigned int nr_epilogues; /* that have a word each, ... */
	unsigned int epilogues;    /* ... from here on */
	unsigned int last; /* or the only one, at the end of the function: where its codes are */
	unsigned int codes, code_bytes;
};

/* What the prologue has done so far, or an epilogue has not undone yet. */
struct unwind_xdata_state {
	int size;           /* of what is above the base */
	int fp, ra;         /* where these are, above the base; or UNWIND_XDATA_NOT_SAVED */
	unsigned int at;    /* of the next code */
	unsigned int count; /* of those before it */
	unsigned int nexts; /* pairs of registers that follow on that of the next code */
	_Bool is_by_fp;     /* the base is the frame pointer, else the stack pointer */
};

#define UNWIND_XDATA_STATE \
	{ \
		.fp = UNWIND_XDATA_NOT_SAVED, .ra = UNWIND_XDATA_NOT_SAVED \
	}

/* False: it is no such record. */
UNWIND_INLINE _Bool unwind_xdata_take_head(
	const unsigned int words[UNWIND_XDATA_HEAD_WORDS], struct unwind_xdata_head *ret)
{
	unsigned int first = words[0], code_words = first >> 27, epilogues = first >> 22 & 31;
	_Bool is_last = first >> 21 & 1, is_long = !code_words && !epilogues;
	if (is_long) {
		epilogues = words[1] & 0xffff;
		code_words = words[1] >> 16 & 0xff;
	}
	ret->bytes = (first & 0x3ffff) * UNWIND_XDATA_INSN_BYTES;
	ret->nr_epilogues = is_last ? 0 : epilogues;
	ret->epilogues = is_long ? 8 : 4;
	ret->last = is_last ? epilogues : UNWIND_XDATA_NO_EPILOGUE;
	ret->codes = ret->epilogues + 4 * ret->nr_epilogues;
	ret->code_bytes = 4 * code_words;
	return !(first >> 18 & 3) && code_words; /* the version */
}

/* Of the word of an epilogue: how far into the function it begins, and where its codes are. */
UNWIND_INLINE unsigned int unwind_xdata_epilogue_begin(unsigned int word)
{
	return (word & 0x3ffff) * UNWIND_XDATA_INSN_BYTES;
}

UNWIND_INLINE unsigned int unwind_xdata_epilogue_codes(unsigned int word)
{
	return word >> 22;
}

/* ---- codes ---- */

/* What a code undoes. */
struct unwind_xdata_code {
	unsigned int allocated;  /* bytes, behind what is saved */
	unsigned int offset;     /* of what is saved, from the stack pointer as it is behind that */
	unsigned int reg, count; /* registers, one behind the other; 0: none that is looked for */
};

/* One that saves registers; `first`: its first byte. */
UNWIND_INLINE struct unwind_xdata_code unwind_xdata_save(unsigned int first, unsigned int second)
{
	unsigned int wide = first << 8 | second, low = second & 63;
	struct unwind_xdata_code code = {.reg = UNWIND_XDATA_FIRST_SAVED, .count = 2};
	if (first < 0x40) { /* x19, x20 */
		code.allocated = 8 * (first & 31);
	} else if (first < 0xc0) { /* x29, x30 */
		code.reg = UNWIND_ARM64_FP;
		code.offset = first < 0x80 ? 8 * (first & 63) : 0;
		code.allocated = first < 0x80 ? 0 : 8 * (first & 63) + 8;
	} else if (first < 0xd0) { /* a pair */
		code.reg += wide >> 6 & 15;
		code.offset = first < 0xcc ? 8 * low : 0;
		code.allocated = first < 0xcc ? 0 : 8 * low + 8;
	} else if (first < 0xd4) { /* one */
		code.reg += wide >> 6 & 15;
		code.count = 1;
		code.offset = 8 * low;
	} else if (first < 0xd6) {
		code.reg += wide >> 5 & 15;
		code.count = 1;
		code.allocated = 8 * (second & 31) + 8;
	} else if (first < 0xd8) { /* one, and x30 */
		code.reg = UNWIND_ARM64_RA;
		code.count = 1;
		code.offset = 8 * low + 8;
	} else { /* of floating point */
		code.count = 0;
		code.allocated = first == 0xde            ? 8 * (second & 31) + 8
				 : (first & 0xfe) == 0xda ? 8 * low + 8
							  : 0;
	}
	return code;
}

UNWIND_INLINE void unwind_xdata_undo(
	const struct unwind_xdata_code *code, struct unwind_xdata_state *state)
{
	unsigned int size = (unsigned int)state->size; /* sums of what is not sound may wrap */
	unsigned int count = code->count == 2 ? 2 + 2 * state->nexts : code->count;
	unsigned int fp = UNWIND_ARM64_FP - code->reg, ra = UNWIND_ARM64_RA - code->reg;
	state->fp = fp < count ? (int)(size + code->offset + 8 * fp) : state->fp;
	state->ra = ra < count ? (int)(size + code->offset + 8 * ra) : state->ra;
	state->size = (int)(size + code->allocated);
	state->nexts = 0;
}

/*
 * Takes the next code, and undoes its instruction, if that has run: those of the first `skip` have
 * not. 0: it is the end; negative: it is not understood, or there are too many.
 */
UNWIND_INLINE int unwind_xdata_take(const unsigned char codes[UNWIND_XDATA_CODE_BYTES],
	unsigned int skip, struct unwind_xdata_state *state)
{
	enum {
		ALLOC_LARGE = 0xe0,
		SET_FP = 0xe1,
		ADD_FP = 0xe2,
		NOP = 0xe3,
		END = 0xe4,
		END_OF_SCOPE = 0xe5,
		SAVE_NEXT = 0xe6,
		SIGN = 0xfc,
		LONGEST = 4,
	};
	unsigned int at = state->at;
	if (at > UNWIND_XDATA_CODE_BYTES - LONGEST)
		return -1;
	unsigned int first = codes[at], second = codes[at + 1];
	_Bool is_done = state->count >= skip;
	/* Behind the end of the scope are codes of the function's prologue, which ran ahead of it.
	 */
	if (first == END || (first == END_OF_SCOPE && !is_done))
		return 0;
	state->at += first == ALLOC_LARGE                                 ? 4
		     : (first >= 0xc0 && first < 0xdf) || first == ADD_FP ? 2
									  : 1;
	state->count += first != END_OF_SCOPE;
	if (first > SAVE_NEXT && first != SIGN)
		return -1;
	if (first == 0xdf)
		return -1;
	if (!is_done || first == NOP || first == SIGN || first == END_OF_SCOPE)
		return 1;
	if (first == SAVE_NEXT) {
		state->nexts++;
	} else if (first == SET_FP || first == ADD_FP) {
		state->is_by_fp = 1;
		state->size = first == SET_FP ? 0 : -8 * (int)second;
	} else {
		struct unwind_xdata_code code = {0};
		if (first < 0x20)
			code.allocated = 16 * first;
		else if (first == ALLOC_LARGE)
			code.allocated = 16 * (second << 16 | (unsigned int)codes[at + 2] << 8 |
						      codes[at + 3]);
		else if (first >= 0xc0 && first < 0xc8)
			code.allocated = 16 * ((first & 7) << 8 | second);
		else
			code = unwind_xdata_save(first, second);
		unwind_xdata_undo(&code, state);
	}
	return 1;
}

/* ---- rules ---- */

/* Where a register is; false: that is beyond a rule. */
UNWIND_INLINE _Bool unwind_xdata_place(
	const struct unwind_xdata_state *state, int saved, unsigned int *kind, short *offset)
{
	int below = saved - state->size;
	*kind = UNWIND_SAME;
	*offset = 0;
	if (saved == UNWIND_XDATA_NOT_SAVED)
		return 1;
	_Bool is_near = below == (short)below;
	*kind = is_near ? UNWIND_AT_CFA : state->is_by_fp ? UNWIND_AT_FP : UNWIND_AT_SP;
	*offset = is_near ? (short)below : (short)saved;
	return is_near || saved == (short)saved;
}

UNWIND_INLINE _Bool unwind_xdata_put_rule(
	const struct unwind_xdata_state *state, struct unwind_rule *rule)
{
	unsigned int fp, ra;
	short fp_offset, ra_offset;
	if (!unwind_xdata_place(state, state->fp, &fp, &fp_offset) ||
		!unwind_xdata_place(state, state->ra, &ra, &ra_offset))
		return 0;
	rule->cfa = UNWIND_CFA_REGISTER;
	rule->cfa_register = state->is_by_fp ? UNWIND_ARM64_FP : UNWIND_ARM64_SP;
	rule->fp = fp;
	rule->ra = ra;
	rule->flags = 0;
	rule->cfa_offset = state->size;
	rule->fp_offset = fp_offset;
	rule->ra_offset = ra_offset;
	rule->extra_offset = 0;
	rule->extra = UNWIND_UNDEFINED;
	rule->extra_register = 0;
	return 1;
}

/* How many instructions codes are of. Negative: one is not understood. */
UNWIND_INLINE int unwind_xdata_count(const unsigned char codes[UNWIND_XDATA_CODE_BYTES])
{
	struct unwind_xdata_state state = UNWIND_XDATA_STATE;
	int taken = 1;
	for (int i = 0; i < UNWIND_XDATA_MAX_CODES && taken > 0; i++)
		taken = unwind_xdata_take(codes, UNWIND_XDATA_MAX_CODES, &state);
	return taken ? -1 : (int)state.count;
}

/* The rule for where the first `skip` of the instructions have not run. False: there is none. */
UNWIND_INLINE _Bool unwind_xdata_rule(const unsigned char codes[UNWIND_XDATA_CODE_BYTES],
	unsigned int skip, struct unwind_rule *rule)
{
	struct unwind_xdata_state state = UNWIND_XDATA_STATE;
	int taken = 1;
	for (int i = 0; i < UNWIND_XDATA_MAX_CODES && taken > 0; i++)
		taken = unwind_xdata_take(codes, skip, &state);
	return !taken && unwind_xdata_put_rule(&state, rule);
}

#endif
