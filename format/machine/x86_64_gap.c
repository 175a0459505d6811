#include "format/machine/x86_64_gap.h"

#include <string.h>

#include "format/base/mem.h"
#include "format/base/vec.h"
#include "format/machine/x86_64_insn.h"

/* Linux, arch/x86/entry/syscalls/syscall_64.tbl. */
enum {
	CALL_RT_SIGRETURN = 15,
	CALL_CLONE = 56,
	CALL_EXIT = 60,
	CALL_EXIT_GROUP = 231,
	CALL_CLONE3 = 435,
	CALL_UNKNOWN = -1,
};

enum {
	MAX_ROUNDS = 64, /* of carrying on: a few are usual, a hostile file might need thousands */
};

/* Registers that a function has to preserve and that rules have room for. */
enum {
	SAVED_BP,
	SAVED_BX,
	NR_SAVED,
};

enum saved_kind {
	SAVED_SAME, /* it still has the caller's value */
	SAVED_SLOT, /* that stands in the frame */
	SAVED_LOST,
};

struct saved {
	uint8_t kind;
	int32_t slot; /* address - CFA */
};

enum state_kind {
	STATE_UNKNOWN = 0,
	STATE_KNOWN,
	STATE_OUTERMOST, /* a thread begins here: there is no caller */
};

/* Before an instruction. */
struct state {
	uint8_t kind;
	int32_t cfa; /* CFA - stack pointer */
	struct saved saved[NR_SAVED];
};

struct step {
	struct x86_64_insn insn;
	uint32_t at; /* in the gap */
	struct state state;
	bool is_forking;    /* behind a system call that makes a thread: see UNWIND_FORKS */
	bool blocks_next;   /* a new thread may go on there, on another stack */
	bool blocks_target; /* ... there */
};

struct deriving {
	const struct machine_gap *gap;
	VEC(struct step) steps;
	uint16_t number_at[X86_64_GAP_MAX_BYTES]; /* of the step that begins there, plus 1 */
	bool has_changed, is_contradictory;
};

/* ---- instructions ---- */

static const uint8_t saved_registers[NR_SAVED] = {[SAVED_BP] = X86_64_BP, [SAVED_BX] = X86_64_BX};

static void decode_steps(struct deriving *deriving)
{
	const struct machine_gap *gap = deriving->gap;
	struct step step = {0};
	while (step.at < gap->len &&
		x86_64_insn_decode(gap->bytes + step.at, gap->len - step.at, &step.insn)) {
		vec_push(&deriving->steps, step);
		deriving->number_at[step.at] = (uint16_t)deriving->steps.len;
		step.at += step.insn.len;
	}
}

static bool is_branch_if(const struct x86_64_insn *insn, unsigned condition)
{
	return insn->kind == X86_64_BRANCH && insn->condition == condition;
}

static bool is_call(const struct x86_64_insn *insn)
{
	return insn->kind == X86_64_CALL || insn->kind == X86_64_CALL_INDIRECT;
}

static bool has_target(const struct x86_64_insn *insn)
{
	return insn->kind == X86_64_JUMP || insn->kind == X86_64_BRANCH;
}

static bool goes_on(const struct x86_64_insn *insn)
{
	return insn->kind != X86_64_JUMP && insn->kind != X86_64_JUMP_INDIRECT &&
	       insn->kind != X86_64_RETURN && insn->kind != X86_64_STOP;
}

static uint64_t next_of(const struct step *step)
{
	return step->at + step->insn.len;
}

/* Distances from the gap's start; those before it wrap around. */
static uint64_t gap_target_of(const struct step *step)
{
	return next_of(step) + (uint64_t)step->insn.value;
}

/* NULL: outside of the gap, or not where an instruction begins. */
static struct step *step_at(struct deriving *deriving, uint64_t at)
{
	if (at >= deriving->gap->len || !deriving->number_at[at])
		return NULL;
	return &deriving->steps.data[deriving->number_at[at] - 1];
}

/* ---- from an instruction to the next, and back ---- */

static bool writes(const struct x86_64_insn *insn, unsigned saved)
{
	return insn->writes >> saved_registers[saved] & 1;
}

static bool writes_sp(const struct x86_64_insn *insn)
{
	return insn->writes >> X86_64_SP & 1;
}

/* Whether it is known what it does to the stack pointer. */
static bool is_understood(const struct x86_64_insn *insn)
{
	bool is_sum = insn->kind == X86_64_ADDRESS && insn->base == X86_64_SP;
	return insn->kind != X86_64_OTHER && (!writes_sp(insn) || is_sum);
}

/* Of one that is understood. */
static int64_t growth_of(const struct x86_64_insn *insn)
{
	return insn->kind == X86_64_PUSH  ? 8
	       : insn->kind == X86_64_POP ? -8
	       : writes_sp(insn)          ? -insn->value
					  : 0;
}

static bool gap_is_sound(int64_t cfa)
{
	return cfa >= 8 && cfa <= INT16_MAX;
}

static struct saved saved_after(const struct x86_64_insn *insn, unsigned i,
	const struct saved *before, int32_t cfa_before, int32_t cfa_after)
{
	static const struct saved same = {.kind = SAVED_SAME}, lost = {.kind = SAVED_LOST};
	bool is_own = insn->reg == saved_registers[i];
	if (insn->kind == X86_64_PUSH && is_own && before->kind == SAVED_SAME)
		return (struct saved){SAVED_SLOT, -cfa_after};
	if (insn->kind == X86_64_POP && is_own)
		return before->kind == SAVED_SLOT && before->slot == -cfa_before ? same : lost;
	if (before->kind == SAVED_SLOT) /* what is below the stack pointer may be gone */
		return before->slot >= -cfa_after ? *before : lost;
	return writes(insn, i) ? lost : *before;
}

static struct saved saved_before(const struct x86_64_insn *insn, unsigned i,
	const struct saved *after, int32_t cfa_before, int32_t cfa_after)
{
	static const struct saved same = {.kind = SAVED_SAME}, lost = {.kind = SAVED_LOST};
	bool is_own = insn->reg == saved_registers[i];
	if (insn->kind == X86_64_PUSH && after->kind == SAVED_SLOT && after->slot == -cfa_after)
		return is_own ? same : lost;
	if (insn->kind == X86_64_POP && is_own)
		return after->kind == SAVED_SAME ? (struct saved){SAVED_SLOT, -cfa_before} : lost;
	return after->kind == SAVED_SAME && writes(insn, i) ? lost : *after;
}

static struct state state_after(const struct x86_64_insn *insn, const struct state *before)
{
	struct state after = *before;
	if (before->kind != STATE_KNOWN)
		return after;
	int64_t cfa = before->cfa + growth_of(insn);
	if (!is_understood(insn) || !gap_is_sound(cfa))
		return (struct state){0};
	after.cfa = (int32_t)cfa;
	for (unsigned i = 0; i < NR_SAVED; i++)
		after.saved[i] = saved_after(insn, i, &before->saved[i], before->cfa, after.cfa);
	return after;
}

static struct state state_before(const struct x86_64_insn *insn, const struct state *after)
{
	struct state before = *after;
	int64_t cfa = after->cfa - growth_of(insn);
	if (after->kind != STATE_KNOWN || !is_understood(insn) || !gap_is_sound(cfa))
		return (struct state){0};
	before.cfa = (int32_t)cfa;
	for (unsigned i = 0; i < NR_SAVED; i++)
		before.saved[i] = saved_before(insn, i, &after->saved[i], before.cfa, after->cfa);
	return before;
}

/* ---- code that has rules ---- */

static struct saved saved_by_rule(unsigned kind, int offset)
{
	if (kind == UNWIND_AT_CFA)
		return (struct saved){SAVED_SLOT, offset};
	return (struct saved){.kind = kind == UNWIND_SAME ? SAVED_SAME : SAVED_LOST};
}

static struct state state_outside(const struct deriving *deriving, uint64_t at)
{
	const struct machine_gap *gap = deriving->gap;
	struct unwind_rule rule;
	if (!gap->rule_at(gap->context, gap->offset + at, &rule))
		return (struct state){0};
	if (rule.ra == UNWIND_UNDEFINED)
		return (struct state){.kind = STATE_OUTERMOST};
	if (rule.cfa != UNWIND_CFA_REGISTER || rule.cfa_register != UNWIND_SP ||
		rule.ra != UNWIND_AT_CFA || rule.ra_offset != -8 ||
		!gap_is_sound(rule.cfa_offset) || rule.flags || rule.extra_register)
		return (struct state){0};
	return (struct state){
		.kind = STATE_KNOWN,
		.cfa = rule.cfa_offset,
		.saved = {saved_by_rule(rule.fp, rule.fp_offset),
			saved_by_rule(rule.extra, rule.extra_offset)},
	};
}

/* ---- system calls ---- */

/* The number of the call at a step, from the newest instruction before it that writes rax. */
static int64_t call_number(const struct deriving *deriving, size_t syscall)
{
	for (size_t i = syscall; i-- > 0;) {
		const struct x86_64_insn *insn = &deriving->steps.data[i].insn;
		if (insn->kind == X86_64_CONSTANT && insn->reg == X86_64_AX)
			return insn->value;
		if (insn->writes >> X86_64_AX & 1 || is_call(insn) || !goes_on(insn))
			break;
	}
	return CALL_UNKNOWN;
}

/* Where a new thread goes on: the way that the branch takes when the result is 0. */
static void block_zero(struct deriving *deriving, size_t first, size_t branch, bool is_clone)
{
	struct step *step = &deriving->steps.data[branch];
	bool is_target = step->insn.condition == X86_64_IF_ZERO;
	uint64_t at = is_target ? gap_target_of(step) : next_of(step);
	struct step *inside = step_at(deriving, at);
	if (!inside)
		is_clone = state_outside(deriving, at).kind == STATE_OUTERMOST;
	else if (is_clone)
		inside->state = (struct state){.kind = STATE_OUTERMOST};
	*(is_target ? &step->blocks_target : &step->blocks_next) = is_clone || inside;
	for (size_t i = first; is_clone && i <= branch; i++)
		deriving->steps.data[i].is_forking = true;
}

/*
 * clone() returns twice, the second time as 0 on the new thread's stack. Of a call whose number
 * stands outside of the gap it is said by where the branch leads: rules say that it is the
 * outermost frame. Where neither says it, that way is not taken.
 */
static void look_at_call(struct deriving *deriving, size_t syscall)
{
	struct step *steps = deriving->steps.data;
	int64_t number = call_number(deriving, syscall);
	if (number == CALL_EXIT || number == CALL_EXIT_GROUP || number == CALL_RT_SIGRETURN)
		steps[syscall].insn.kind = X86_64_STOP;
	bool is_clone = number == CALL_CLONE || number == CALL_CLONE3;
	if (!is_clone && number != CALL_UNKNOWN)
		return;
	bool is_tested = false;
	for (size_t i = syscall + 1; i < deriving->steps.len; i++) {
		const struct x86_64_insn *insn = &steps[i].insn;
		is_tested |= insn->kind == X86_64_TEST_AX;
		if (is_tested && (is_branch_if(insn, X86_64_IF_ZERO) ||
					 is_branch_if(insn, X86_64_IF_NONZERO)))
			block_zero(deriving, syscall + 1, i, is_clone);
		if (insn->kind != X86_64_TEST_AX && insn->kind != X86_64_BRANCH)
			return;
	}
}

/* ---- carrying on ---- */

static void put_state(struct deriving *deriving, struct step *step, const struct state *state)
{
	if (!state->kind)
		return;
	if (!step->state.kind) {
		step->state = *state;
		deriving->has_changed = true;
	} else if (step->state.kind != state->kind || step->state.cfa != state->cfa) {
		deriving->is_contradictory = true;
	}
}

/* Along one way out of an instruction, in both directions. */
static void carry(struct deriving *deriving, struct step *step, uint64_t at)
{
	struct step *next = step_at(deriving, at);
	struct state there = next ? next->state : (struct state){0};
	if (!next && at >= deriving->gap->len) /* before the gap it wraps around */
		there = state_outside(deriving, at);
	else if (!next) /* within an instruction, or behind what is not known */
		deriving->is_contradictory |= at < deriving->steps.data[deriving->steps.len - 1].at;
	struct state here = state_before(&step->insn, &there);
	put_state(deriving, step, &here);
	struct state after = state_after(&step->insn, &step->state);
	if (next)
		put_state(deriving, next, &after);
}

/* nop, its longer forms, endbr64: what may fill up the space behind a function, or begin one. */
static bool is_filler(const struct deriving *deriving, const struct step *step)
{
	const uint8_t *bytes = deriving->gap->bytes + step->at;
	return bytes[0] == 0x90 || bytes[0] == 0x66 || bytes[0] == 0x2e || bytes[0] == 0xf3 ||
	       (bytes[0] == 0x0f && bytes[1] == 0x1f); /* of two bytes at least: it was decoded */
}

/*
 * Behind a call goes on what called, unless the callee never returns: then it is another function.
 * So that is believed only where nothing else is known, and nothing looks like the end of one.
 */
static void carry_over_call(struct deriving *deriving, const struct step *step)
{
	struct step *next = step_at(deriving, next_of(step));
	if (next && !next->state.kind && !is_filler(deriving, next))
		put_state(deriving, next, &step->state);
}

static void carry_step(struct deriving *deriving, struct step *step, bool is_over_calls)
{
	if (is_call(&step->insn)) {
		if (is_over_calls)
			carry_over_call(deriving, step);
		return;
	}
	if (goes_on(&step->insn) && !step->blocks_next)
		carry(deriving, step, next_of(step));
	if (has_target(&step->insn) && !step->blocks_target)
		carry(deriving, step, gap_target_of(step));
}

static void carry_all(struct deriving *deriving, bool is_over_calls)
{
	deriving->has_changed = true;
	for (int i = 0; deriving->has_changed && !deriving->is_contradictory; i++) {
		deriving->has_changed = false;
		deriving->is_contradictory = i == MAX_ROUNDS;
		for (size_t k = deriving->steps.len; k-- > 0;)
			carry_step(deriving, &deriving->steps.data[k], false);
		vec_each(&deriving->steps, step)
			carry_step(deriving, step, false);
		for (size_t k = 0;
			!deriving->has_changed && is_over_calls && k < deriving->steps.len; k++)
			carry_step(deriving, &deriving->steps.data[k], true);
	}
}

static void gap_begin(struct deriving *deriving)
{
	struct step *steps = deriving->steps.data;
	for (size_t i = 0; i < deriving->steps.len; i++) {
		if (steps[i].insn.kind != X86_64_RETURN)
			continue;
		steps[i].state = (struct state){.kind = STATE_KNOWN, .cfa = 8};
		/* push, ret: that is a jump */
		deriving->is_contradictory |= i && steps[i - 1].insn.kind == X86_64_PUSH;
	}
	for (size_t i = 0; i < deriving->steps.len; i++)
		if (steps[i].insn.kind == X86_64_SYSCALL)
			look_at_call(deriving, i);
}

/* ---- rules ---- */

static unsigned gap_kind_of(const struct saved *saved)
{
	return saved->kind == SAVED_SLOT   ? UNWIND_AT_CFA
	       : saved->kind == SAVED_SAME ? UNWIND_SAME
					   : UNWIND_UNDEFINED;
}

static void gap_put_rule(const struct deriving *deriving, const struct step *step)
{
	const struct machine_gap *gap = deriving->gap;
	const struct state *state = &step->state;
	const struct saved *bp = &state->saved[SAVED_BP], *bx = &state->saved[SAVED_BX];
	struct unwind_rule rule = {.cfa = UNWIND_CFA_REGISTER, .ra = UNWIND_UNDEFINED};
	if (state->kind == STATE_KNOWN)
		rule = (struct unwind_rule){
			.cfa = UNWIND_CFA_REGISTER,
			.cfa_register = UNWIND_SP,
			.cfa_offset = state->cfa,
			.ra = UNWIND_AT_CFA,
			.ra_offset = -8,
			.fp = gap_kind_of(bp) & 15,
			.fp_offset = (short)(bp->kind == SAVED_SLOT ? bp->slot : 0),
			.extra = (unsigned char)gap_kind_of(bx),
			.extra_offset = (short)(bx->kind == SAVED_SLOT ? bx->slot : 0),
			.flags = step->is_forking ? UNWIND_FORKS : 0,
		};
	gap->on_rule(gap->context, gap->offset + step->at, state->kind ? &rule : NULL);
}

void x86_64_find_gap_rules(const struct machine_gap *gap)
{
	struct deriving deriving = {.gap = gap};
	if (gap->len > X86_64_GAP_MAX_BYTES)
		return;
	decode_steps(&deriving);
	gap_begin(&deriving);
	carry_all(&deriving, false);
	if (!deriving.is_contradictory)
		carry_all(&deriving, true);
	if (!deriving.is_contradictory) {
		vec_each(&deriving.steps, step)
			gap_put_rule(&deriving, step);
		if (deriving.steps.len) {
			const struct step *last = &deriving.steps.data[deriving.steps.len - 1];
			gap->on_rule(gap->context, gap->offset + next_of(last), NULL);
		}
	}
	vec_deinit(&deriving.steps);
}
