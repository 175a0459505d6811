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
UNWIND_INLINE _Bool unwind_may_guess(
	const struct unwind_machine *machine, const struct unwind_registers *regs)
{
	unsigned long long fp = regs->reg[machine->frame_pointer];
	unsigned long long sp = regs->reg[machine->stack_pointer];
	return unwind_is_known(regs, machine->frame_pointer) && !(fp & 7) && fp >= sp &&
	       fp - sp < 1 << 20;
}

/*
 * Whether a walk goes on by the frame pointer where `end` says why there is no rule. A table that
 * is still being made is worth waiting for.
 */
UNWIND_INLINE _Bool unwind_is_guess(const struct unwind_machine *machine,
	const struct unwind_registers *regs, enum event_stack_end end)
{
	return end && end != EVENT_END_TABLE_PENDING && unwind_may_guess(machine, regs);
}

/* How a walk ends outside of all code, whose last frame was guessed for want of a rule, or not. */
UNWIND_INLINE enum event_stack_end unwind_end_nowhere(enum event_stack_end guess)
{
	return guess ? guess : EVENT_END_NO_MAPPING;
}

/*
 * Where the frame is, when the rule was found for `place`, the byte before a
 * return address, and has its own one there. A signal's handler returns to code
 * that nobody called: the kernel put its first byte there as return address.
 */
UNWIND_INLINE unsigned long long unwind_place(
	unsigned long long place, _Bool is_exact, enum unwind_register ra)
{
	return place + (!is_exact && ra == UNWIND_AT_SP);
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

UNWIND_INLINE struct unwind_row unwind_row_of(
	const struct unwind_machine *machine, const struct unwind_rule *rule)
{
	_Bool is_deref = rule->cfa == UNWIND_CFA_DEREF;
	unsigned int extra = rule->extra_register ? rule->extra_register : machine->extra;
	return (struct unwind_row){
		.cfa = rule->cfa,
		.cfa_register = rule->cfa_register,
		.cfa_offset = is_deref ? (short)rule->cfa_offset : rule->cfa_offset,
		.cfa_offset2 = is_deref ? rule->cfa_offset >> 16 : 0,
		.fp = {rule->fp, rule->fp_offset},
		.ra = {rule->ra, rule->ra_offset},
		.extra = {extra ? rule->extra : UNWIND_UNDEFINED, rule->extra_offset},
		.extra_register = extra,
		.flags = rule->flags,
	};
}

/* What a guess goes by. */
UNWIND_INLINE struct unwind_row unwind_guess_row(const struct unwind_machine *machine)
{
	struct unwind_rule rule = UNWIND_FRAME_POINTER_RULE;
	rule.cfa_register = machine->frame_pointer;
	return unwind_row_of(machine, &rule);
}

/* The canonical frame address. EVENT_END_COMPLETE: *cfa is set. */
UNWIND_INLINE enum event_stack_end unwind_cfa(const struct unwind_machine *machine,
	const struct unwind_registers *regs, const struct unwind_row *row, unwind_read_fn *read,
	void *context, unsigned long long *cfa)
{
	if (row->cfa == UNWIND_CFA_NONE)
		return EVENT_END_NO_RULE;
	if (row->cfa == UNWIND_CFA_UNSUPPORTED)
		return EVENT_END_UNSUPPORTED;
	if (row->cfa == UNWIND_CFA_PLT) {
		*cfa = regs->reg[machine->stack_pointer] + 8;
		if ((long long)(regs->ip & 15) >= row->cfa_offset)
			*cfa += 8;
		return EVENT_END_COMPLETE;
	}
	if (!unwind_is_known(regs, row->cfa_register))
		return EVENT_END_REGISTER;
	*cfa = regs->reg[row->cfa_register & (UNWIND_REGISTERS - 1)] + row->cfa_offset;
	if (row->cfa == UNWIND_CFA_DEREF) {
		unsigned long long word;
		if (read(context, *cfa, &word))
			return EVENT_END_UNREADABLE;
		*cfa = word + row->cfa_offset2;
	}
	return EVENT_END_COMPLETE;
}

/* A register of the caller: the value, or *is_known becomes false. */
UNWIND_INLINE enum event_stack_end unwind_register(const struct unwind_machine *machine,
	const struct unwind_registers *regs, unsigned int number, const struct unwind_place *place,
	unsigned long long cfa, unwind_read_fn *read, void *context, unsigned long long *value,
	_Bool *is_known)
{
	_Bool is_at_sp = place->kind == UNWIND_AT_SP;
	unsigned long long base = is_at_sp ? regs->reg[machine->stack_pointer] : cfa;
	*is_known = 1;
	*value = regs->reg[number & (UNWIND_REGISTERS - 1)];
	if (place->kind == UNWIND_AT_CFA || is_at_sp) {
		if (read(context, base + place->offset, value))
			return EVENT_END_UNREADABLE;
	} else if (place->kind == UNWIND_SAME) {
		*is_known = unwind_is_known(regs, number);
	} else if (place->kind == UNWIND_IN_REGISTER) {
		*is_known = unwind_is_known(regs, place->offset);
		*value = regs->reg[place->offset & (UNWIND_REGISTERS - 1)];
	} else if (place->kind == UNWIND_CFA_PLUS) {
		*value = cfa + place->offset;
	} else {
		*is_known = 0;
	}
	return EVENT_END_COMPLETE;
}

/*
 * Whether that may be the caller's frame. It lies above its callee's, or rules that lead in a
 * circle would do so for ever; but where a signal or the rule switched stacks it may lie anywhere,
 * and right at it where the callee has nothing on the stack, not even its return address.
 */
UNWIND_INLINE _Bool unwind_is_upward(const struct unwind_machine *machine,
	const struct unwind_registers *regs, const struct unwind_row *row, unsigned long long cfa)
{
	_Bool is_empty = row->ra.kind == UNWIND_IN_REGISTER || row->ra.kind == UNWIND_SAME;
	_Bool is_elsewhere = row->flags & (UNWIND_SIGNAL_FRAME | UNWIND_SWITCHES_STACKS);
	return is_elsewhere || cfa + is_empty > regs->reg[machine->stack_pointer];
}

/*
 * Turns *regs into the caller's: the instruction pointer, the stack pointer, and of the others
 * those that a row names. EVENT_END_COMPLETE with *is_outermost: there is no caller; any other end
 * but EVENT_END_COMPLETE: *regs is untouched.
 */
UNWIND_INLINE enum event_stack_end unwind_step(const struct unwind_machine *machine,
	struct unwind_registers *regs, const struct unwind_row *row, unwind_read_fn *read,
	void *context, _Bool *is_outermost)
{
	_Bool is_forking = row->flags & UNWIND_FORKS;
	if (is_forking && !unwind_is_known(regs, machine->result))
		return EVENT_END_REGISTER;
	*is_outermost =
		row->ra.kind == UNWIND_UNDEFINED || (is_forking && !regs->reg[machine->result]);
	if (*is_outermost)
		return EVENT_END_COMPLETE;
	unsigned long long cfa, ra, fp, extra;
	enum event_stack_end end = unwind_cfa(machine, regs, row, read, context, &cfa);
	if (end)
		return end;
	_Bool has_ra, has_fp, has_extra;
	end = unwind_register(
		machine, regs, machine->return_address, &row->ra, cfa, read, context, &ra, &has_ra);
	if (end)
		return end;
	if (!has_ra)
		return row->ra.kind == UNWIND_UNSUPPORTED ? EVENT_END_UNSUPPORTED
							  : EVENT_END_REGISTER;
	if (!unwind_is_upward(machine, regs, row, cfa))
		return EVENT_END_BROKEN_FRAME_POINTER;
	end = unwind_register(
		machine, regs, machine->frame_pointer, &row->fp, cfa, read, context, &fp, &has_fp);
	if (end)
		return end;
	end = unwind_register(machine, regs, row->extra_register, &row->extra, cfa, read, context,
		&extra, &has_extra);
	if (end)
		return end;
	unsigned int extra_register = row->extra_register & (UNWIND_REGISTERS - 1);
	regs->ip = ra & machine->pc_mask;
	regs->reg[extra_register] = extra;
	regs->reg[machine->stack_pointer] = cfa;
	regs->reg[machine->frame_pointer] = fp;
	regs->known = (unsigned long long)has_extra << extra_register |
		      (unsigned long long)has_fp << machine->frame_pointer |
		      1ULL << machine->stack_pointer;
	/* Where nobody can return to; but a call through NULL can be interrupted there. */
	*is_outermost = !regs->ip && !(row->flags & UNWIND_SIGNAL_FRAME);
	return EVENT_END_COMPLETE;
}

#endif
