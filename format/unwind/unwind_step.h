/*
 * One step of unwinding: from the registers of a frame to those of its caller,
 * by a rule. The only place that knows what a rule means: the BPF programs, the
 * recorder (over a snapshot of the stack) and the tests all run this code.
 *
 * Sources: DWARF 5, section 6.4.1; System V x86-64 psABI, section 3.4.1; for
 * the PLT, the expression that ld.bfd and lld write into .eh_frame.
 */
#ifndef EBPROF_UNWIND_STEP_H
#define EBPROF_UNWIND_STEP_H

#include "format/unwind/unwind_rule.h"

/* Reads a word of the stack. Not 0: it cannot be read. */
typedef long unwind_read_fn(void *context, unsigned long long address, unsigned long long *value);

/* Always inlined, so that `read` is a direct call: BPF knows no other. */
#define UNWIND_INLINE static inline __attribute__((always_inline))

UNWIND_INLINE _Bool unwind_is_known(const struct unwind_registers *regs, unsigned int number)
{
	return number < UNWIND_REGISTERS && regs->known >> number & 1;
}

/* Whether the frame pointer may be one: it points into the stack, not absurdly far. */
UNWIND_INLINE _Bool unwind_may_guess(const struct unwind_registers *regs)
{
	unsigned long long fp = regs->reg[UNWIND_FP], sp = regs->reg[UNWIND_SP];
	return unwind_is_known(regs, UNWIND_FP) && !(fp & 7) && fp >= sp && fp - sp < 1 << 20;
}

/*
 * Where the frame is, when the rule was found for `place`, the byte before a
 * return address. A signal's handler returns to code that nobody called: the
 * kernel put its first byte there as return address.
 */
UNWIND_INLINE unsigned long long unwind_place(
	unsigned long long place, _Bool is_exact, const struct unwind_rule *rule)
{
	return place + (!is_exact && rule->ra == UNWIND_AT_SP);
}

enum {
	UNWIND_CALL_BYTES = 7, /* the longest call that unwind_is_call() knows */
};

#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
/*
 * Whether a call ends with the last of these bytes: e8 rel32, or ff /2, whose ModRM byte, and SIB
 * byte after ModRM 14, 54 and 94, say how long it is. Intel SDM, volume 2, "CALL", tables 2-2, 2-3.
 */
UNWIND_INLINE _Bool unwind_is_call(const unsigned char code[UNWIND_CALL_BYTES])
{
	const unsigned char *end = code + UNWIND_CALL_BYTES;
	unsigned char rm = end[-1] & 7;
	_Bool is_rel32 = end[-5] == 0xe8;
	/* *register, *(register); then with disp8, or *(base,index); ... */
	_Bool is_2 = end[-2] == 0xff &&
		     ((end[-1] & 0xf8) == 0xd0 || ((end[-1] & 0xf8) == 0x10 && rm != 4 && rm != 5));
	_Bool is_3 = end[-3] == 0xff &&
		     (((end[-2] & 0xf8) == 0x50 && end[-2] != 0x54) || end[-2] == 0x14);
	_Bool is_4 = end[-4] == 0xff && end[-3] == 0x54;
	_Bool is_6 = end[-6] == 0xff &&
		     (((end[-5] & 0xf8) == 0x90 && end[-5] != 0x94) || end[-5] == 0x15);
	_Bool is_7 = end[-7] == 0xff && (end[-6] == 0x94 || end[-6] == 0x14);
	return is_rel32 || is_2 || is_3 || is_4 || is_6 || is_7;
}

#else /* arm64 has it in x30, whose value below a signal frame is not kept */
UNWIND_INLINE _Bool unwind_is_call(const unsigned char code[UNWIND_CALL_BYTES])
{
	(void)code;
	return 0;
}
#endif

/*
 * Registers after a jump to where no code is: to those before the call that got there, whose last
 * byte is one ahead of the new ip. Nothing but the call has touched the stack.
 */
UNWIND_INLINE void unwind_undo_call(
	struct unwind_registers *regs, unsigned long long return_address)
{
	regs->ip = return_address;
	regs->reg[UNWIND_SP] += 8;
}

/* The canonical frame address. EVENT_END_COMPLETE: *cfa is set. */
UNWIND_INLINE enum event_stack_end unwind_cfa(const struct unwind_registers *regs,
	const struct unwind_rule *rule, unwind_read_fn *read, void *context,
	unsigned long long *cfa)
{
	if (rule->cfa == UNWIND_CFA_NONE)
		return EVENT_END_NO_RULE;
	if (rule->cfa == UNWIND_CFA_UNSUPPORTED)
		return EVENT_END_UNSUPPORTED;
	if (rule->cfa == UNWIND_CFA_PLT) {
		*cfa = regs->reg[UNWIND_SP] + 8;
		if ((int)(regs->ip & 15) >= rule->cfa_offset)
			*cfa += 8;
		return EVENT_END_COMPLETE;
	}
	if (!unwind_is_known(regs, rule->cfa_register))
		return EVENT_END_REGISTER;
	unsigned long long base = regs->reg[rule->cfa_register & (UNWIND_REGISTERS - 1)];
	if (rule->cfa == UNWIND_CFA_REGISTER) {
		*cfa = base + (long long)rule->cfa_offset;
		return EVENT_END_COMPLETE;
	}
	if (read(context, base + (long long)(short)rule->cfa_offset, cfa))
		return EVENT_END_UNREADABLE;
	*cfa += (long long)(rule->cfa_offset >> 16);
	return EVENT_END_COMPLETE;
}

/* A callee-saved register of the caller: the new value, or *is_known becomes false. */
UNWIND_INLINE enum event_stack_end unwind_saved(const struct unwind_registers *regs,
	unsigned int number, unsigned int kind, int offset, unsigned long long cfa,
	unwind_read_fn *read, void *context, unsigned long long *value, _Bool *is_known)
{
	unsigned long long base = kind == UNWIND_AT_SP ? regs->reg[UNWIND_SP] : cfa;
	*is_known = 1;
	*value = regs->reg[number];
	if (kind == UNWIND_AT_CFA || kind == UNWIND_AT_SP) {
		if (read(context, base + (long long)offset, value))
			return EVENT_END_UNREADABLE;
	} else if (kind == UNWIND_SAME) {
		*is_known = unwind_is_known(regs, number);
	} else if (kind == UNWIND_IN_REGISTER) {
		*is_known = unwind_is_known(regs, offset);
		*value = regs->reg[offset & (UNWIND_REGISTERS - 1)];
	} else {
		*is_known = 0;
	}
	return EVENT_END_COMPLETE;
}

/*
 * Turns *regs into the caller's. EVENT_END_COMPLETE with *is_outermost: there
 * is no caller; any other end but EVENT_END_COMPLETE: *regs is untouched.
 */
UNWIND_INLINE enum event_stack_end unwind_step(struct unwind_registers *regs,
	const struct unwind_rule *rule, unwind_read_fn *read, void *context, _Bool *is_outermost)
{
	_Bool is_forking = rule->flags & UNWIND_FORKS;
	if (is_forking && !unwind_is_known(regs, UNWIND_RESULT))
		return EVENT_END_REGISTER;
	*is_outermost = rule->ra == UNWIND_UNDEFINED || (is_forking && !regs->reg[UNWIND_RESULT]);
	if (*is_outermost)
		return EVENT_END_COMPLETE;
	unsigned long long cfa, ra, fp, rbx;
	enum event_stack_end end = unwind_cfa(regs, rule, read, context, &cfa);
	if (end)
		return end;
	/*
	 * A caller's frame lies above its callee's, but where a signal or the rule switched stacks;
	 * and right at it where the callee has nothing on the stack, not even its return address.
	 */
	_Bool is_empty = rule->ra == UNWIND_IN_REGISTER || rule->ra == UNWIND_SAME;
	_Bool is_elsewhere = rule->flags & (UNWIND_SIGNAL_FRAME | UNWIND_SWITCHES_STACKS);
	if (cfa + is_empty <= regs->reg[UNWIND_SP] && !is_elsewhere)
		return EVENT_END_BROKEN_FRAME_POINTER;
	_Bool has_ra, has_fp, has_rbx;
	end = unwind_saved(
		regs, UNWIND_RA, rule->ra, rule->ra_offset, cfa, read, context, &ra, &has_ra);
	if (end)
		return end;
	if (!has_ra)
		return rule->ra == UNWIND_UNSUPPORTED ? EVENT_END_UNSUPPORTED : EVENT_END_REGISTER;
	end = unwind_saved(
		regs, UNWIND_FP, rule->fp, rule->fp_offset, cfa, read, context, &fp, &has_fp);
	if (end)
		return end;
	end = unwind_saved(
		regs, UNWIND_RBX, rule->rbx, rule->rbx_offset, cfa, read, context, &rbx, &has_rbx);
	if (end)
		return end;
	regs->ip = ra;
	regs->reg[UNWIND_SP] = cfa;
	regs->reg[UNWIND_FP] = fp;
	regs->reg[UNWIND_RBX] = rbx;
	regs->known = 1ULL << UNWIND_SP | (unsigned long long)has_fp << UNWIND_FP |
		      (unsigned long long)has_rbx << UNWIND_RBX;
	/* Where nobody can return to; but a call through NULL can be interrupted there. */
	*is_outermost = ra == 0 && !(rule->flags & UNWIND_SIGNAL_FRAME);
	return EVENT_END_COMPLETE;
}

#endif
