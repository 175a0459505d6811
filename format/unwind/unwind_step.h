/*
 * One step of unwinding: from the registers of a frame to those of its caller,
 * by a rule. The only place that knows what a rule means: the BPF programs, the
 * recorder and the report (over snapshots of the stack) all run this code.
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
 * ... at a return address of 0 or behind a rule that there is no caller, which ends a stack only by
 * a rule of the file: code that was read has some caller, so a 0 there is none of its addresses.
 */
UNWIND_INLINE enum event_stack_end unwind_end_at_root(
	enum unwind_found finds, enum event_stack_end guess)
{
	return finds == UNWIND_FOUND_BY_CODE ? EVENT_END_NO_RULE : guess;
}

/*
 * Where the frame is, when the rule was found for `place`, the byte before a
 * return address, and has its own one there. A signal's handler returns to code
 * that was not called: the kernel put its first byte there as return address.
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
	const unsigned char *last = code + UNWIND_CALL_BYTES - 1;
	unsigned char rm = *last & 7;
	_Bool is_rel32 = last[-4] == 0xe8;
	/* *register, *(register); then with disp8, or *(base,index); ... */
	_Bool is_2 = last[-1] == 0xff &&
		     ((*last & 0xf8) == 0xd0 || ((*last & 0xf8) == 0x10 && rm != 4 && rm != 5));
	_Bool is_3 = last[-2] == 0xff &&
		     (((last[-1] & 0xf8) == 0x50 && last[-1] != 0x54) || last[-1] == 0x14);
	_Bool is_4 = last[-3] == 0xff && last[-2] == 0x54;
	_Bool is_6 = last[-5] == 0xff &&
		     (((last[-4] & 0xf8) == 0x90 && last[-4] != 0x94) || last[-4] == 0x15);
	_Bool is_7 = last[-6] == 0xff && (last[-5] == 0x94 || last[-5] == 0x14);
	return is_rel32 || is_2 || is_3 || is_4 || is_6 || is_7;
}

/* What a call has pushed, as long as nothing else was. Not 0: it cannot be read. */
UNWIND_INLINE long unwind_link(const struct unwind_registers *regs, unwind_read_fn *read,
	void *context, unsigned long long *ret)
{
	return read(context, regs->reg[UNWIND_SP], ret);
}

#else
/* The same of the last of these instructions: bl; blr, also with its signature checked. "Arm
 * Architecture Reference Manual for A-profile", C6.2. */
UNWIND_INLINE _Bool unwind_is_call(const unsigned char code[UNWIND_CALL_BYTES])
{
	const unsigned char *last = code + UNWIND_CALL_BYTES - 4;
	unsigned int insn = (unsigned int)last[0] | (unsigned int)last[1] << 8 |
			    (unsigned int)last[2] << 16 | (unsigned int)last[3] << 24;
	_Bool is_signed = (insn & 0xfefff800) == 0xd63f0800;
	return insn >> 26 == 0x25 || (insn & 0xfffffc1f) == 0xd63f0000 || is_signed;
}

/* What a call has put into x30, signature and all. */
UNWIND_INLINE long unwind_link(const struct unwind_registers *regs, unwind_read_fn *read,
	void *context, unsigned long long *ret)
{
	(void)read, (void)context;
	*ret = regs->reg[UNWIND_RA];
	return regs->known >> UNWIND_RA & 1 ? 0 : -1;
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
#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
	regs->reg[UNWIND_SP] += 8;
#else
	regs->known &= ~(1ULL << UNWIND_RA);
#endif
}

/*
 * What a step goes by: a rule, or another source that says the same. It asks for the CFA first, and
 * then for one place after the other, so that nothing needs to be kept meanwhile. All three are
 * constants wherever a step is, and inlined there; an end of `find_place` is that of the step.
 */
enum unwind_part {
	UNWIND_PART_RA,
	UNWIND_PART_FP,
	UNWIND_PART_EXTRA,
};

struct unwind_way {
	enum event_stack_end (*find_cfa)(const struct unwind_machine *machine,
		const struct unwind_registers *regs, const void *source, unwind_read_fn *read,
		void *context, unsigned long long *cfa);
	enum event_stack_end (*find_place)(const struct unwind_machine *machine, const void *source,
		enum unwind_part part, unsigned long long cfa, void *context,
		struct unwind_place *ret);
	unwind_read_fn *read;
};

/* The address register + offset; *(register + offset) + offset2. */
UNWIND_INLINE enum event_stack_end unwind_base(const struct unwind_registers *regs,
	unsigned int number, long long offset, unsigned long long *ret)
{
	if (!unwind_is_known(regs, number))
		return EVENT_END_REGISTER;
	*ret = regs->reg[number & (UNWIND_REGISTERS - 1)] + offset;
	return EVENT_END_COMPLETE;
}

UNWIND_INLINE enum event_stack_end unwind_deref(const struct unwind_registers *regs,
	unsigned int number, long long offset, long long offset2, unwind_read_fn *read,
	void *context, unsigned long long *ret)
{
	unsigned long long address;
	enum event_stack_end end = unwind_base(regs, number, offset, &address);
	if (end)
		return end;
	if (read(context, address, ret))
		return EVENT_END_UNREADABLE;
	*ret += offset2;
	return EVENT_END_COMPLETE;
}

/* The CFA within a stub of a PLT, which pushes at `threshold`. */
UNWIND_INLINE unsigned long long unwind_plt(
	const struct unwind_machine *machine, const struct unwind_registers *regs, int threshold)
{
	unsigned long long sp = regs->reg[machine->stack_pointer];
	return (int)(regs->ip & 15) >= threshold ? sp + 16 : sp + 8;
}

/* The canonical frame address by a rule. EVENT_END_COMPLETE: *cfa is set. */
UNWIND_INLINE enum event_stack_end unwind_cfa(const struct unwind_machine *machine,
	const struct unwind_registers *regs, const void *source, unwind_read_fn *read,
	void *context, unsigned long long *cfa)
{
	const struct unwind_rule *rule = source;
	if (rule->cfa == UNWIND_CFA_NONE)
		return EVENT_END_NO_RULE;
	if (rule->cfa == UNWIND_CFA_UNSUPPORTED)
		return EVENT_END_UNSUPPORTED;
	if (rule->cfa == UNWIND_CFA_PLT) {
		*cfa = unwind_plt(machine, regs, rule->cfa_offset);
		return EVENT_END_COMPLETE;
	}
	if (rule->cfa == UNWIND_CFA_REGISTER)
		return unwind_base(regs, rule->cfa_register, rule->cfa_offset, cfa);
	return unwind_deref(regs, rule->cfa_register, (short)rule->cfa_offset,
		rule->cfa_offset >> 16, read, context, cfa);
}

/* What a rule says of a part. */
UNWIND_INLINE enum event_stack_end unwind_rule_place(const struct unwind_machine *machine,
	const void *source, enum unwind_part part, unsigned long long cfa, void *context,
	struct unwind_place *ret)
{
	const struct unwind_rule *rule = source;
	unsigned int extra;
	(void)cfa, (void)context;
	switch (part) {
	case UNWIND_PART_RA:
		*ret = (struct unwind_place){machine->return_address, rule->ra, rule->ra_offset};
		break;
	case UNWIND_PART_FP:
		*ret = (struct unwind_place){machine->frame_pointer, rule->fp, rule->fp_offset};
		break;
	case UNWIND_PART_EXTRA:
		extra = rule->extra_register ? rule->extra_register : machine->extra;
		*ret = (struct unwind_place){
			extra, extra ? rule->extra : UNWIND_UNDEFINED, rule->extra_offset};
		break;
	}
	return EVENT_END_COMPLETE;
}

/*
 * A register of the caller: the value, or *is_known becomes false. gcc 12 says of the
 * end of a function that aligned its frame that registers are saved at the frame pointer, though
 * all are restored already, the frame pointer last: then it is not within the frame any more.
 */
UNWIND_INLINE enum event_stack_end unwind_register(const struct unwind_machine *machine,
	const struct unwind_registers *regs, const struct unwind_place *place,
	unsigned long long cfa, unwind_read_fn *read, void *context, unsigned long long *value,
	_Bool *is_known)
{
	_Bool is_at_sp = place->kind == UNWIND_AT_SP;
	unsigned long long sp = regs->reg[machine->stack_pointer];
	unsigned long long fp = regs->reg[machine->frame_pointer];
	_Bool is_by_fp =
		place->kind == UNWIND_AT_FP && unwind_is_known(regs, machine->frame_pointer);
	_Bool is_at_fp = is_by_fp && fp - sp < cfa - sp;
	unsigned long long base = is_at_sp ? sp : is_at_fp ? fp : cfa;
	*is_known = 1;
	*value = regs->reg[place->number & (UNWIND_REGISTERS - 1)];
	if (place->kind == UNWIND_AT_CFA || is_at_sp || is_at_fp) {
		if (read(context, base + place->offset, value))
			return EVENT_END_UNREADABLE;
	} else if (place->kind == UNWIND_SAME || is_by_fp) {
		*is_known = unwind_is_known(regs, place->number);
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
	const struct unwind_registers *regs, const struct unwind_place *ra, unsigned int flags,
	unsigned long long cfa)
{
	_Bool is_empty = ra->kind == UNWIND_IN_REGISTER || ra->kind == UNWIND_SAME;
	_Bool is_elsewhere = flags & (UNWIND_SIGNAL_FRAME | UNWIND_SWITCHES_STACKS);
	return is_elsewhere || cfa + is_empty > regs->reg[machine->stack_pointer];
}

/*
 * Turns *regs into the caller's: the instruction pointer, the stack pointer, and of the others
 * those that have a part. `flags` are those of the rules (enum unwind_flag), `ra_kind` what they
 * say of the return address. EVENT_END_COMPLETE with *is_outermost: there is no caller; any other
 * end but EVENT_END_COMPLETE: *regs is untouched. Where the rule is a guess, *is_outermost proves
 * nothing, since any word on the stack may be 0: the walk then ends for the reason of the guess.
 */
UNWIND_INLINE enum event_stack_end unwind_step_by(struct unwind_way way,
	const struct unwind_machine *machine, struct unwind_registers *regs, const void *source,
	unsigned int flags, unsigned int ra_kind, void *context, _Bool *is_outermost)
{
	_Bool is_forking = flags & UNWIND_FORKS;
	if (is_forking && !unwind_is_known(regs, machine->result))
		return EVENT_END_REGISTER;
	*is_outermost = ra_kind == UNWIND_UNDEFINED || (is_forking && !regs->reg[machine->result]);
	if (*is_outermost)
		return EVENT_END_COMPLETE;
	unsigned long long cfa, ra, fp, extra;
	enum event_stack_end end = way.find_cfa(machine, regs, source, way.read, context, &cfa);
	if (end)
		return end;
	struct unwind_place place;
	_Bool has_ra, has_fp, has_extra;
	end = way.find_place(machine, source, UNWIND_PART_RA, cfa, context, &place);
	if (!end)
		end = unwind_register(machine, regs, &place, cfa, way.read, context, &ra, &has_ra);
	if (end)
		return end;
	if (!has_ra)
		return place.kind == UNWIND_UNSUPPORTED ? EVENT_END_UNSUPPORTED
							: EVENT_END_REGISTER;
	if (!unwind_is_upward(machine, regs, &place, flags, cfa))
		return EVENT_END_BROKEN_FRAME_POINTER;
	end = way.find_place(machine, source, UNWIND_PART_FP, cfa, context, &place);
	if (!end)
		end = unwind_register(machine, regs, &place, cfa, way.read, context, &fp, &has_fp);
	if (end)
		return end;
	end = way.find_place(machine, source, UNWIND_PART_EXTRA, cfa, context, &place);
	if (!end)
		end = unwind_register(
			machine, regs, &place, cfa, way.read, context, &extra, &has_extra);
	if (end)
		return end;
	unsigned int number = place.number & (UNWIND_REGISTERS - 1);
	regs->ip = ra & machine->pc_mask;
	regs->reg[number] = extra;
	regs->reg[machine->stack_pointer] = cfa;
	regs->reg[machine->frame_pointer] = fp;
	regs->known = (unsigned long long)has_extra << number |
		      (unsigned long long)has_fp << machine->frame_pointer |
		      1ULL << machine->stack_pointer;
	/* No function can return to 0; but a call through NULL can be interrupted there. */
	*is_outermost = !regs->ip && !(flags & UNWIND_SIGNAL_FRAME);
	return EVENT_END_COMPLETE;
}

/* The same by a rule. */
UNWIND_INLINE enum event_stack_end unwind_step(const struct unwind_machine *machine,
	struct unwind_registers *regs, const struct unwind_rule *rule, unwind_read_fn *read,
	void *context, _Bool *is_outermost)
{
	struct unwind_way way = {unwind_cfa, unwind_rule_place, read};
	return unwind_step_by(
		way, machine, regs, rule, rule->flags, rule->ra, context, is_outermost);
}

/* ... by the frame pointer, which may be one. */
UNWIND_INLINE enum event_stack_end unwind_guess(const struct unwind_machine *machine,
	struct unwind_registers *regs, unwind_read_fn *read, void *context, _Bool *is_outermost)
{
	struct unwind_rule rule = UNWIND_FRAME_POINTER_RULE;
	rule.cfa_register = machine->frame_pointer;
	return unwind_step(machine, regs, &rule, read, context, is_outermost);
}

#endif
