/*
 * How a frame is left whose code has no rules: by following the code itself.
 *
 * Wherever a function was interrupted, some way leads from there to its `ret`, and what the
 * instructions on that way do to the stack pointer says where the return address is. So the code
 * is read forwards, without a need to know where the function begins. Registers and stack slots
 * have symbolic values: what a register held at first, plus a constant; what was in memory then.
 * Ways are followed breadth-first: a branch forks, a call is stepped over, a jump is followed, also
 * into another function that returns on this one's behalf. A jump to what a register says is such
 * a one, too, or else one by a table of cases, which goes on right behind itself as often as not.
 *
 * A `ret` that is reached is only a candidate: code behind a call that never returns belongs to
 * another function, and data may look like code. So the caller accepts it or not, by looking at
 * the return address that it leads to.
 *
 * All instructions on the way get their rule: the frame is the same, as seen from each.
 *
 * What never returns has no such way. Where a return address is a candidate, and the call ahead of
 * it says where it goes, the same reading leads from there, where that address is on top of the
 * stack, to the instruction at hand; so it is known where it is now.
 *
 * Source: System V x86-64 psABI, section 3.2 (which registers calls preserve).
 */
#include "format/machine/x86_64_return.h"

#include <string.h>

#include "format/base/bytes.h"
#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/base/vec.h"
#include "format/machine/x86_64_insn.h"

/* Linux, syscall_64.tbl. */
enum {
	CLONE = 56,
	CLONE3 = 435,
};

enum {
	MAX_STEPS = 3000,
	MOST_STEPS = 100, /* that most ways have */
	MAX_BLOCKS = 512,
	NR_REGISTERS = 16,
	NR_SLOTS = 24,
	FRAME_BYTES = 16, /* the frame pointer and the return address */
	WINDOW_BYTES = 256,
	OFFSET_MAX = 1 << 30, /* of values */
};

/* Registers that a rule restores. */
enum {
	RESTORED_BP,
	RESTORED_BX,
	NR_RESTORED,
};

static const uint8_t restored_registers[NR_RESTORED] = {
	[RESTORED_BP] = X86_64_BP, [RESTORED_BX] = X86_64_BX};

/* What a call does not preserve: rax, rcx, rdx, rsi, rdi, r8 to r11. */
static const uint16_t scratch_registers = 0x0fc7;

enum value_kind {
	UNKNOWN,
	SUM,      /* what `base` held at first, plus `addend` */
	DEREF,    /* what was in memory at what `base` held, plus `offset`; plus `addend` */
	LOADED,   /* what was in memory at a DEREF */
	CONSTANT, /* `addend` */
};

struct value {
	uint8_t kind; /* enum value_kind */
	uint8_t base;
	int32_t offset, addend;
};

/* In the frame, at what a value says. */
struct slot {
	struct value at, value;
};

struct state {
	struct value reg[NR_REGISTERS];
	struct slot slots[NR_SLOTS]; /* written on the way */
	uint8_t nr_slots;
	bool has_lost_slots;                /* there were too many */
	struct value saved_at[NR_RESTORED]; /* where those registers' first values were stored */
	struct slot callee_frame; /* the frame pointer, and below the stack where it is stored */
	bool has_frame_bytes;     /* see struct machine_code */
	int32_t frame_bytes;
	bool is_forking;    /* see struct step */
	struct value ra_at; /* where the return address is, of a way from a call; else unknown */
	uint8_t nr_lost;    /* how often the stack pointer became another one */
};

/* An instruction on a way. */
struct step {
	uint64_t address;
	uint32_t before; /* number of the step before, plus 1; 0: it is the first */
	bool is_forking; /* behind a call of the kernel that makes a thread: see UNWIND_FORKS */
	struct value sp, restored[NR_RESTORED], saved_at[NR_RESTORED];
};

/* Where a way goes on. */
struct block {
	uint64_t address;
	uint32_t before;
	struct state state;
};

struct reading {
	const struct machine_code *code;
	VEC(struct step) steps;
	VEC(struct block) blocks, doubtful; /* the latter only when nothing is found otherwise */
	struct map seen;                    /* addresses */
	uint64_t wanted;                    /* 0: a return is; else where the way is to lead */
	struct state at_wanted;
	uint64_t window_address;
	size_t window_bytes;
	uint8_t window[WINDOW_BYTES];
};

/* ---- values ---- */

static bool x86_64_return_is_same(const struct value *a, const struct value *b)
{
	return a->kind == b->kind && a->base == b->base && a->offset == b->offset &&
	       a->addend == b->addend;
}

/* Whether they differ by a constant at most. */
static bool have_one_origin(const struct value *a, const struct value *b)
{
	return a->kind == b->kind && (a->kind == SUM || a->kind == DEREF) && a->base == b->base &&
	       a->offset == b->offset;
}

static struct value plus(struct value value, int64_t addend)
{
	int64_t sum = value.addend + addend;
	bool is_none = value.kind == UNKNOWN || (value.kind == LOADED && addend);
	if (is_none || sum > OFFSET_MAX || sum < -OFFSET_MAX)
		return (struct value){0};
	value.addend = (int32_t)sum;
	return value;
}

static struct value first_value(uint8_t reg)
{
	return (struct value){.kind = SUM, .base = reg};
}

/* One place may be said by the stack pointer and by the frame pointer: here by the former. */
static struct value one_address(const struct state *state, const struct value *at)
{
	struct value ret = *at;
	if (at->kind == SUM && at->base == X86_64_BP && state->has_frame_bytes) {
		ret.base = X86_64_SP;
		ret = plus(ret, state->frame_bytes);
	}
	return ret;
}

/* The number of the slot, plus 1; 0: nothing was written there. */
static size_t slot_number(const struct state *state, const struct value *at)
{
	struct value wanted = one_address(state, at);
	for (size_t i = state->nr_slots; i > 0; i--) {
		struct value slot = one_address(state, &state->slots[i - 1].at);
		if (x86_64_return_is_same(&slot, &wanted))
			return i;
	}
	return 0;
}

/* A word that was written on the way; NULL: none there. */
static const struct value *written(const struct state *state, const struct value *at)
{
	size_t number = slot_number(state, at);
	return number ? &state->slots[number - 1].value : NULL;
}

static struct value x86_64_return_load(const struct state *state, struct value at)
{
	const struct value *known = written(state, &at);
	if (known)
		return *known;
	bool is_below = at.kind == SUM && at.base == X86_64_SP && at.addend < 0;
	if (state->has_lost_slots && is_below)
		return (struct value){0};
	if (at.kind == SUM)
		return (struct value){.kind = DEREF, .base = at.base, .offset = at.addend};
	at.kind = at.kind == DEREF ? LOADED : UNKNOWN;
	return at;
}

static void store(struct state *state, struct value at, struct value value)
{
	if (at.kind != SUM && at.kind != DEREF)
		return;
	for (unsigned i = 0; i < NR_RESTORED; i++) {
		struct value first = first_value(restored_registers[i]);
		if (x86_64_return_is_same(&value, &first))
			state->saved_at[i] = at;
	}
	size_t number = slot_number(state, &at);
	if (number) {
		state->slots[number - 1].value = value;
		return;
	}
	if (state->nr_slots < NR_SLOTS)
		state->slots[state->nr_slots++] = (struct slot){at, value};
	else
		state->has_lost_slots = true;
}

/* ---- what instructions do ---- */

static struct value of_register(const struct state *state, uint8_t reg)
{
	return reg < NR_REGISTERS ? state->reg[reg] : (struct value){0};
}

static void x86_64_return_forget(struct state *state, uint16_t registers)
{
	for (unsigned i = 0; i < NR_REGISTERS; i++)
		if (registers >> i & 1)
			state->reg[i] = (struct value){0};
}

static void x86_64_return_push(struct state *state, struct value value)
{
	struct value *sp = &state->reg[X86_64_SP];
	*sp = plus(*sp, -8);
	store(state, *sp, value);
}

static struct value x86_64_return_pop(struct state *state)
{
	struct value *sp = &state->reg[X86_64_SP], value = x86_64_return_load(state, *sp);
	if (state->nr_slots && x86_64_return_is_same(&state->slots[state->nr_slots - 1].at, sp))
		state->nr_slots--;
	*sp = plus(*sp, 8);
	return value;
}

static struct value constant(int64_t value)
{
	bool is_small = value >= INT32_MIN && value <= INT32_MAX;
	return is_small ? (struct value){.kind = CONSTANT, .addend = (int32_t)value}
			: (struct value){0};
}

static struct value pushed(const struct state *state, const struct x86_64_insn *insn)
{
	if (insn->reg < NR_REGISTERS)
		return state->reg[insn->reg];
	return insn->base == X86_64_NO_REGISTER ? constant(insn->value) : (struct value){0};
}

/*
 * A caller can make the frame of what it calls: it stores its frame pointer below its own frame,
 * ahead of room for a return address, the frame pointer becomes that place, and the callee leaves
 * as if it had pushed it itself. A function's own frame is right below its return address, unless
 * it was such a callee, which has taken that from there.
 *
 * Source: SBCL 2.2.9, src/compiler/x86-64/call.lisp, "allocate-frame", "call-named".
 */
static void note_callee_frame(
	struct state *state, const struct value *at, const struct value *value)
{
	const struct value first_sp = first_value(X86_64_SP);
	bool has_taken_it =
		state->ra_at.kind == SUM && !x86_64_return_is_same(&state->ra_at, &first_sp);
	bool is_own_frame = at->base == X86_64_SP && at->addend > -FRAME_BYTES && !has_taken_it;
	bool is_place = at->kind == SUM || at->kind == DEREF;
	if (is_place && !is_own_frame && x86_64_return_is_same(value, &state->reg[X86_64_BP]))
		state->callee_frame = (struct slot){*at, *value};
}

static void return_from_call(struct state *state)
{
	const struct slot *frame = &state->callee_frame;

	x86_64_return_forget(state, scratch_registers);
	if (frame->at.kind == UNKNOWN || !x86_64_return_is_same(&frame->at, &state->reg[X86_64_BP]))
		return;
	state->reg[X86_64_SP] = plus(frame->at, FRAME_BYTES);
	state->reg[X86_64_BP] = frame->value;
	state->callee_frame = (struct slot){0};
}

/* Where the way begins it is on top of the stack, if it begins where the function does. */
static bool is_return_address(const struct value *value)
{
	return value->kind == DEREF && value->base == X86_64_SP && !value->offset && !value->addend;
}

static void execute(struct state *state, const struct x86_64_insn *insn)
{
	struct value base = of_register(state, insn->base), at, value;
	switch ((enum x86_64_kind)insn->kind) {
	case X86_64_ADDRESS:
		state->reg[insn->reg] = plus(base, insn->value);
		break;
	case X86_64_LOAD:
		state->reg[insn->reg] = x86_64_return_load(state, plus(base, insn->value));
		break;
	case X86_64_STORE: /* a function restores what it saved, not what it does with its data */
		value = of_register(state, insn->reg);
		at = plus(base, insn->value);
		note_callee_frame(state, &at, &value);
		if (value.kind != UNKNOWN)
			store(state, at, value);
		break;
	case X86_64_CONSTANT:
		state->reg[insn->reg] = constant(insn->value);
		break;
	case X86_64_PUSH:
		x86_64_return_push(state, pushed(state, insn));
		break;
	case X86_64_POP:
		value = x86_64_return_pop(state);
		at = plus(base, insn->value);
		if (insn->reg < NR_REGISTERS)
			state->reg[insn->reg] = value;
		else if (is_return_address(&value) && state->ra_at.kind == SUM)
			state->ra_at = at;
		else if (is_return_address(&value)) /* to where no rule finds it */
			x86_64_return_forget(state, 1 << X86_64_SP | 1 << X86_64_BP);
		break;
	case X86_64_LEAVE:
		state->reg[X86_64_SP] = state->reg[X86_64_BP];
		state->reg[X86_64_BP] = x86_64_return_pop(state);
		break;
	case X86_64_CALL:
		if (!insn->value) /* only to learn where it is */
			x86_64_return_push(state, (struct value){0});
		else
			return_from_call(state);
		break;
	case X86_64_CALL_INDIRECT:
		return_from_call(state);
		break;
	case X86_64_OTHER:
		if (!insn->is_cmov) /* else the way goes on that leaves the stack pointer alone */
			x86_64_return_forget(state, insn->writes | 1 << X86_64_SP);
		/* An alignment, say: what follows is relative to a base of its own. */
		if (!insn->is_cmov)
			state->reg[X86_64_SP] = (struct value){.kind = SUM,
				.base = (uint8_t)(NR_REGISTERS + state->nr_lost++ % 64)};
		break;
	default:
		x86_64_return_forget(state, insn->writes);
		break;
	}
}

/* ---- rules ---- */

static uint8_t dwarf_number(uint8_t reg)
{
	static const uint8_t numbers[8] = {0, 2, 1, 3, 7, 6, 4, 5}; /* psABI, figure 3.36 */
	return reg < 8 ? numbers[reg] : reg;
}

static bool x86_64_return_is_short(int64_t value)
{
	return value >= INT16_MIN && value <= INT16_MAX;
}

/*
 * The CFA as seen from a step: from the frame pointer or the stack pointer there, or the base. The
 * former first: a call may pop its arguments, so that behind it the stack pointer is another one.
 */
static bool put_cfa(const struct step *step, const struct value *cfa, struct unwind_rule *rule)
{
	const struct value by_sp = step->sp, by_bp = step->restored[RESTORED_BP];
	rule->cfa = UNWIND_CFA_REGISTER;
	if (have_one_origin(&by_sp, cfa) || have_one_origin(&by_bp, cfa)) {
		bool is_sp = !have_one_origin(&by_bp, cfa);
		rule->cfa_register = is_sp ? UNWIND_X86_64_SP : UNWIND_X86_64_FP;
		rule->cfa_offset = cfa->addend - (is_sp ? by_sp.addend : by_bp.addend);
		return true;
	}
	if (cfa->kind == SUM && cfa->base < NR_REGISTERS && !step->before) {
		rule->cfa_register = dwarf_number(cfa->base);
		rule->cfa_offset = cfa->addend;
		return true;
	}
	if (cfa->kind != DEREF)
		return false;
	struct value base = first_value(cfa->base);
	bool is_sp = !have_one_origin(&by_bp, &base);
	if (is_sp && !have_one_origin(&by_sp, &base))
		return false;
	int64_t offset = (int64_t)cfa->offset - (is_sp ? by_sp.addend : by_bp.addend);
	if (!x86_64_return_is_short(offset) || !x86_64_return_is_short(cfa->addend))
		return false;
	rule->cfa = UNWIND_CFA_DEREF;
	/* Above what it points to, a frame pointer would have the caller's frame: this is none, and
	 * the stack that is kept there another one. */
	rule->flags |= is_sp || offset <= 0 ? 0 : UNWIND_SWITCHES_STACKS;
	rule->cfa_register = is_sp ? UNWIND_X86_64_SP : UNWIND_X86_64_FP;
	rule->cfa_offset = (int)((uint32_t)cfa->addend << 16 | (uint16_t)offset);
	return true;
}

/* Where the memory that a value was loaded from is. */
static struct value x86_64_return_address_of(const struct value *loaded)
{
	if (loaded->kind == DEREF)
		return (struct value){.kind = loaded->addend ? UNKNOWN : SUM,
			.base = loaded->base,
			.addend = loaded->offset};
	struct value at = *loaded;
	at.kind = loaded->kind == LOADED ? DEREF : UNKNOWN;
	return at;
}

/* What a step's rule says of a register that has the value `last` at the return. */
static enum unwind_register restore(const struct step *step, unsigned i, const struct value *last,
	const struct value *cfa, int64_t *offset)
{
	struct value first = first_value(restored_registers[i]),
		     at = x86_64_return_address_of(last);
	*offset = 0;
	if (last->kind != UNKNOWN && x86_64_return_is_same(&step->restored[i], last))
		return UNWIND_SAME;
	if (x86_64_return_is_same(last, &first))
		at = step->saved_at[i];
	*offset = (int64_t)at.addend - cfa->addend;
	if (have_one_origin(&at, cfa) && x86_64_return_is_short(*offset))
		return UNWIND_AT_CFA;
	*offset = (int64_t)at.addend - step->sp.addend;
	if (have_one_origin(&at, &step->sp) && x86_64_return_is_short(*offset))
		return UNWIND_AT_SP;
	*offset = (int64_t)at.addend - step->restored[RESTORED_BP].addend;
	if (have_one_origin(&at, &step->restored[RESTORED_BP]) && x86_64_return_is_short(*offset))
		return UNWIND_AT_FP;
	*offset = 0;
	return UNWIND_UNDEFINED;
}

/* False: a rule cannot say it. `popped`: bytes that the return takes beyond the return address. */
static bool rule_of_step(
	const struct step *step, const struct state *end, int64_t popped, struct unwind_rule *rule)
{
	struct value cfa = plus(end->reg[X86_64_SP], 8 + popped);
	int64_t fp, extra;
	*rule = (struct unwind_rule){.ra = UNWIND_AT_CFA, .ra_offset = (short)(-8 - popped)};
	if (popped > INT16_MAX - 8 || !put_cfa(step, &cfa, rule))
		return false;
	rule->flags |= step->is_forking ? UNWIND_FORKS : 0;
	rule->fp = restore(step, RESTORED_BP, &end->reg[X86_64_BP], &cfa, &fp) & 15;
	rule->fp_offset = (short)fp;
	rule->extra = (unsigned char)restore(step, RESTORED_BX, &end->reg[X86_64_BX], &cfa, &extra);
	rule->extra_offset = (short)extra;
	return true;
}

/* Whether nothing says how far it is from what it was at first. */
static bool is_lost(const struct value *sp)
{
	return sp->kind == UNKNOWN || (sp->kind == SUM && sp->base >= NR_REGISTERS);
}

static bool accept(struct reading *reading, uint32_t last, const struct state *end,
	const struct x86_64_insn *insn)
{
	bool is_jump = insn->kind != X86_64_RETURN;
	int64_t popped = is_jump ? 0 : insn->value;
	struct unwind_rule rule;
	const struct machine_code *code = reading->code;
	if (!rule_of_step(&reading->steps.data[0], end, popped, &rule) ||
		!code->accepts(code->context, &rule, is_jump))
		return false;
	for (uint32_t i = last; i; i = reading->steps.data[i - 1].before) {
		const struct step *step = &reading->steps.data[i - 1];
		if (rule_of_step(step, end, popped, &rule))
			code->on_rule(code->context, step->address, &rule);
	}
	return true;
}

/* ---- following ---- */

static bool decode_at(struct reading *reading, uint64_t address, struct x86_64_insn *insn)
{
	const struct machine_code *code = reading->code;
	uint64_t at = address - reading->window_address;
	bool is_within = at < reading->window_bytes;
	size_t left = is_within ? reading->window_bytes - at : 0;
	if (left < X86_64_INSN_MAX) {
		reading->window_address = address;
		reading->window_bytes =
			code->read(code->context, address, reading->window, WINDOW_BYTES);
		at = 0;
		left = reading->window_bytes;
	}
	return left && x86_64_insn_decode(reading->window + at, left, insn);
}

static bool is_code(const struct reading *reading, uint64_t address)
{
	uint8_t byte;
	return reading->code->read(reading->code->context, address, &byte, 1) == 1;
}

static void x86_64_return_add_block(struct reading *reading, bool is_doubtful, uint64_t address,
	uint32_t before, const struct state *state)
{
	if (reading->blocks.len + reading->doubtful.len >= MAX_BLOCKS)
		return;
	struct block block = {address, before, *state};
	if (is_doubtful)
		vec_push(&reading->doubtful, block);
	else
		vec_push(&reading->blocks, block);
}

static uint32_t x86_64_return_add_step(
	struct reading *reading, uint64_t address, uint32_t before, const struct state *state)
{
	struct step step = {.address = address,
		.before = before,
		.is_forking = state->is_forking,
		.sp = state->reg[X86_64_SP]};
	for (unsigned i = 0; i < NR_RESTORED; i++) {
		step.restored[i] = state->reg[restored_registers[i]];
		step.saved_at[i] = state->saved_at[i];
	}
	vec_push(&reading->steps, step);
	return (uint32_t)reading->steps.len;
}

/*
 * At the top of the stack stands an address that the way has put there itself: the jump or return
 * at hand goes there, or calls something that will. False: none does.
 */
static bool follow_pushed(struct reading *reading, uint32_t step, struct state *state)
{
	const struct value *top = written(state, &state->reg[X86_64_SP]);
	if (!top || top->kind != CONSTANT || !is_code(reading, (uint32_t)top->addend))
		return false;
	uint64_t address = (uint32_t)top->addend;
	x86_64_return_pop(state);
	x86_64_return_forget(state, scratch_registers);
	x86_64_return_add_block(reading, false, address, step, state);
	return true;
}

/* Never goes on: exit, rt_sigreturn, exit_group. Linux, syscall_64.tbl. */
static bool is_last_call(const struct state *state)
{
	const struct value *number = &state->reg[X86_64_AX];
	return number->kind == CONSTANT &&
	       (number->addend == 15 || number->addend == 60 || number->addend == 231);
}

/* Returns twice, once as 0 where nothing has called: clone, clone3. */
static bool is_forking_call(const struct state *state)
{
	const struct value *number = &state->reg[X86_64_AX];
	return number->kind == CONSTANT && (number->addend == CLONE || number->addend == CLONE3);
}

/* The same of one that ends at an address: mov $number, %eax; syscall. */
static bool is_behind_forking_call(const struct machine_code *code, uint64_t address)
{
	static const uint8_t calls[][7] = {
		{0xb8, CLONE & 255, CLONE >> 8, 0, 0, 0x0f, 0x05},
		{0xb8, CLONE3 & 255, CLONE3 >> 8, 0, 0, 0x0f, 0x05},
	};
	uint8_t bytes[sizeof(calls[0])];
	return code->read(code->context, address - sizeof(bytes), bytes, sizeof(bytes)) ==
		       sizeof(bytes) &&
	       (memcmp(bytes, calls[0], sizeof(bytes)) == 0 ||
		       memcmp(bytes, calls[1], sizeof(bytes)) == 0);
}

enum way {
	GOES_ON,
	ENDS,
	FOUND,
};

/*
 * A function whose callers push as many arguments as they like pops them with its return address in
 * a register, which it pushes again to return there: the caller's stack pointer is not known then,
 * but where the return address was. False: that is not what it does.
 *
 * Source: V8 15.6, MacroAssembler::DropArguments(), src/codegen/x64/macro-assembler-x64.cc.
 */
static bool accept_pushed_again(struct reading *reading, uint32_t step, const struct state *state,
	const struct value *top, const struct x86_64_insn *insn)
{
	struct state end;
	if (!is_lost(&state->reg[X86_64_SP]) || insn->kind != X86_64_RETURN)
		return false;
	end = *state;
	end.reg[X86_64_SP] = x86_64_return_address_of(top);
	return end.reg[X86_64_SP].kind != UNKNOWN && accept(reading, step, &end, insn);
}

static enum way x86_64_return_leave(struct reading *reading, uint32_t step, struct state *state,
	const struct x86_64_insn *insn, uint64_t next)
{
	bool is_return = insn->kind == X86_64_RETURN;
	const struct value *own = written(state, &state->reg[X86_64_SP]);
	if (own && accept_pushed_again(reading, step, state, own, insn))
		return FOUND;
	if (follow_pushed(reading, step, state))
		return ENDS;
	if (!own && !insn->is_notrack && accept(reading, step, state, insn))
		return FOUND;
	if (!is_return)
		x86_64_return_add_block(reading, !insn->is_notrack, next, step, state);
	return ENDS;
}

/* Both ways, but for that of a new thread. `*address` is that of the next instruction. */
static enum way x86_64_return_branch(struct reading *reading, uint32_t step, struct state *state,
	const struct x86_64_insn *insn, uint64_t *address)
{
	uint64_t target = *address + (uint64_t)insn->value;
	bool is_zero = insn->condition == X86_64_IF_ZERO;
	bool is_nonzero = insn->condition == X86_64_IF_NONZERO;
	bool is_new_threads = state->is_forking && (is_zero || is_nonzero);
	bool goes_on_forking = state->is_forking && !is_new_threads;
	x86_64_return_forget(state, insn->writes);
	state->is_forking = false;
	if (is_new_threads && is_nonzero)
		*address = target;
	else if (!is_new_threads)
		x86_64_return_add_block(reading, false, target, step, state);
	state->is_forking = goes_on_forking;
	return GOES_ON;
}

/* One instruction. */
static enum way x86_64_return_follow(struct reading *reading, uint32_t step, struct state *state,
	const struct x86_64_insn *insn, uint64_t *address)
{
	uint64_t next = *address + insn->len, target = next + (uint64_t)insn->value;
	*address = next;
	switch ((enum x86_64_kind)insn->kind) {
	case X86_64_RETURN:
	case X86_64_JUMP_INDIRECT:
		return x86_64_return_leave(reading, step, state, insn, next);
	case X86_64_JUMP:
		if (follow_pushed(reading, step, state))
			return ENDS;
		*address = target;
		return GOES_ON;
	case X86_64_BRANCH:
		return x86_64_return_branch(reading, step, state, insn, address);
	case X86_64_TEST_AX:
		return GOES_ON;
	case X86_64_SYSCALL:
		if (is_last_call(state))
			return ENDS;
		state->is_forking = is_forking_call(state);
		x86_64_return_forget(state, insn->writes);
		return GOES_ON;
	case X86_64_STOP:
		return ENDS;
	default:
		break;
	}
	state->is_forking = false;
	execute(state, insn);
	return is_lost(&state->reg[X86_64_SP]) && state->reg[X86_64_BP].kind == UNKNOWN &&
			       state->ra_at.kind != SUM
		       ? ENDS
		       : GOES_ON;
}

/* True: a return was found. */
static bool follow_block(struct reading *reading, struct block *block)
{
	uint64_t address = block->address;
	uint32_t before = block->before;
	enum way way = GOES_ON;
	while (way == GOES_ON && reading->steps.len < MAX_STEPS) {
		struct x86_64_insn insn;
		bool is_new;
		if (reading->wanted && address == reading->wanted) {
			reading->at_wanted = block->state;
			return true;
		}
		map_put(&reading->seen, map_mix(address), &is_new);
		if (!is_new || !decode_at(reading, address, &insn))
			return false;
		before = x86_64_return_add_step(reading, address, before, &block->state);
		way = x86_64_return_follow(reading, before, &block->state, &insn, &address);
	}
	return way == FOUND;
}

static bool follow_from(struct reading *reading, uint64_t address, struct state *state)
{
	bool is_found = false;
	for (unsigned i = 0; i < NR_REGISTERS; i++)
		state->reg[i] = first_value((uint8_t)i);
	x86_64_return_add_block(reading, false, address, 0, state);
	size_t at = 0, doubtful_at = 0;
	const bool *is_over = reading->code->is_over;
	map_reserve(&reading->seen, MOST_STEPS);
	while (!is_found && reading->steps.len < MAX_STEPS && !(is_over && *is_over)) {
		struct block block; /* a copy: following adds blocks */
		if (at < reading->blocks.len)
			block = reading->blocks.data[at++];
		else if (doubtful_at < reading->doubtful.len)
			block = reading->doubtful.data[doubtful_at++];
		else
			break;
		is_found = follow_block(reading, &block);
	}
	vec_deinit(&reading->steps);
	vec_deinit(&reading->blocks);
	vec_deinit(&reading->doubtful);
	map_deinit(&reading->seen);
	return is_found;
}

bool x86_64_find_return(const struct machine_code *code, uint64_t address)
{
	struct reading reading = {.code = code};
	struct state state = {.has_frame_bytes = code->has_frame_bytes,
		.frame_bytes = code->frame_bytes,
		.is_forking = is_behind_forking_call(code, address)};
	return follow_from(&reading, address, &state);
}

/* ---- from a call ---- */

static uint32_t word_of_code(const uint8_t *bytes)
{
	struct bytes_cursor cursor = bytes_cursor(bytes, sizeof(uint32_t));
	return bytes_get_u32(&cursor);
}

/* Where the call that ends at an address goes; 0: it does not tell. Intel SDM, volume 2, "CALL". */
static uint64_t target_of_call(const struct machine_code *code, uint64_t ra)
{
	enum {
		REL32_BYTES = 5,
		RIP_BYTES = 6, /* call *disp32(%rip) */
		CALL_REL32 = 0xe8,
	};
	uint8_t call[RIP_BYTES], target[sizeof(uint64_t)];
	if (code->read(code->context, ra - REL32_BYTES, call + 1, REL32_BYTES) != REL32_BYTES)
		return 0;
	uint64_t place = ra + (uint64_t)(int64_t)(int32_t)word_of_code(call + 2);
	if (call[1] == CALL_REL32)
		return place;
	if (code->read(code->context, ra - RIP_BYTES, call, RIP_BYTES) != RIP_BYTES ||
		call[0] != 0xff || call[1] != 0x15 ||
		code->read(code->context, place, target, sizeof(target)) != sizeof(target))
		return 0;
	struct bytes_cursor cursor = bytes_cursor(target, sizeof(target));
	return bytes_get_u64(&cursor);
}

static bool accept_no_return(void *context, const struct unwind_rule *rule, bool is_jump)
{
	(void)context, (void)rule, (void)is_jump;
	return false;
}

/* The rule of `address`, by the way there from where a function begins. */
static bool find_from(
	const struct machine_code *code, uint64_t begin, uint64_t address, struct unwind_rule *ret)
{
	const struct machine_code reader = {
		.read = code->read, .accepts = accept_no_return, .context = code->context};
	struct reading reading = {.code = &reader, .wanted = address};
	struct state state = {.ra_at = first_value(X86_64_SP)};
	if (!follow_from(&reading, begin, &state))
		return false;
	const struct state *there = &reading.at_wanted;
	struct step step = {.before = 1, .sp = there->reg[X86_64_SP]};
	struct value cfa = plus(there->ra_at, 8);
	int64_t fp = -FRAME_BYTES, extra;
	for (unsigned i = 0; i < NR_RESTORED; i++) {
		step.restored[i] = there->reg[restored_registers[i]];
		step.saved_at[i] = there->saved_at[i];
	}
	*ret = (struct unwind_rule){.ra = UNWIND_AT_CFA, .ra_offset = -8};
	if (!put_cfa(&step, &cfa, ret))
		return false;
	struct value first_fp = first_value(X86_64_BP), first_bx = first_value(X86_64_BX);
	/* Where the caller has made the frame its own frame pointer is there, too. */
	ret->fp = cfa.base == X86_64_BP ? UNWIND_AT_CFA
					: restore(&step, RESTORED_BP, &first_fp, &cfa, &fp) & 15;
	ret->fp_offset = (short)fp;
	ret->extra = (unsigned char)restore(&step, RESTORED_BX, &first_bx, &cfa, &extra);
	ret->extra_offset = (short)extra;
	return true;
}

/* Where the function that begins there has made its frame pointer and saved registers; 0: it makes
 * none at once. */
static uint64_t find_end_of_pushes(struct reading *reading, uint64_t begin)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	struct x86_64_insn insn;
	uint64_t at = begin;
	bool has_frame = false;
	if (decode_at(reading, at, &insn) && insn.len == sizeof(endbr64) &&
		memcmp(reading->window + (at - reading->window_address), endbr64,
			sizeof(endbr64)) == 0)
		at += insn.len;
	if (!decode_at(reading, at, &insn) || insn.kind != X86_64_PUSH || insn.reg != X86_64_BP)
		return 0;
	at += insn.len;
	while (decode_at(reading, at, &insn)) {
		bool is_frame = insn.kind == X86_64_ADDRESS && insn.reg == X86_64_BP &&
				insn.base == X86_64_SP && !insn.value;
		if (!(has_frame ? insn.kind == X86_64_PUSH : is_frame))
			break;
		has_frame = true;
		at += insn.len;
	}
	return has_frame ? at : 0;
}

/* Whether an address is an instruction of the function that begins there, as far as another one is
 * seen by what fills up the space ahead of it. */
static bool is_in_function(struct reading *reading, uint64_t begin, uint64_t address)
{
	struct x86_64_insn insn;
	bool goes_on = true;
	uint64_t at = begin;
	for (int i = 0; at < address && i < MAX_STEPS; i++) {
		if (!decode_at(reading, at, &insn) || (!goes_on && insn.kind == X86_64_FILLER))
			return false;
		goes_on = insn.kind != X86_64_RETURN && insn.kind != X86_64_JUMP &&
			  insn.kind != X86_64_JUMP_INDIRECT && insn.kind != X86_64_STOP;
		at += insn.len;
	}
	return at == address;
}

/*
 * The rule of an instruction that no way leads to but by a table of cases, which is not read: where
 * its function makes a frame pointer before anything else, it has it all along, as have those
 * registers their places that are pushed then.
 */
static bool find_by_prologue(
	const struct machine_code *code, uint64_t begin, uint64_t address, struct unwind_rule *ret)
{
	struct reading reading = {.code = code};
	uint64_t pushed = find_end_of_pushes(&reading, begin);
	return pushed && address > pushed && is_in_function(&reading, begin, address) &&
	       find_from(code, begin, pushed, ret) && ret->cfa_register == UNWIND_X86_64_FP;
}

bool x86_64_find_from_call(
	const struct machine_code *code, uint64_t ra, uint64_t address, struct unwind_rule *ret)
{
	uint64_t target = target_of_call(code, ra);
	return target && (find_from(code, target, address, ret) ||
				 find_by_prologue(code, target, address, ret));
}

/* How functions begin that make a frame, or say otherwise that they begin. */
struct begin {
	uint8_t len, ahead; /* bytes; how many of them stand ahead of the function */
	bool is_in_frame;   /* that the caller has made, but for the return address */
	uint8_t bytes[6];
};

/* Whether a function begins `ret->ahead` bytes behind the first of these; else NULL. */
static const struct begin *find_begin(const uint8_t *bytes)
{
	static const struct begin begins[] = {
		{4, 0, false, {0x55, 0x48, 0x89, 0xe5}}, /* push %rbp; mov %rsp, %rbp */
		{4, 0, false, {0x55, 0x48, 0x8b, 0xec}},
		{3, 0, true, {0x8f, 0x45, 0x08}}, /* pop 8(%rbp) */
		/* Poly/ML 5.7, X86CodeGen.ML: of a code object's length word the byte that says
		 * what it is; then, whether the stack has room: cmp 24(%rbp), %rsp; jae. Loops
		 * begin like that, too, but for the byte. */
		{6, 1, false, {0x02, 0x48, 0x3b, 0x65, 0x18, 0x73}},
	};
	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (memcmp(bytes, begins[i].bytes, begins[i].len) == 0)
			return &begins[i];
	return NULL;
}

/* The rule of `address`, by the way there from the begin that was seen at `at`. */
static bool find_from_seen(const struct machine_code *code, const struct begin *seen, uint64_t at,
	uint64_t address, struct unwind_rule *ret)
{
	static const struct unwind_rule at_once = {.cfa = UNWIND_CFA_REGISTER,
		.cfa_register = UNWIND_X86_64_FP,
		.cfa_offset = FRAME_BYTES,
		.fp = UNWIND_AT_CFA,
		.fp_offset = -FRAME_BYTES,
		.ra = UNWIND_AT_SP};
	if (!seen->is_in_frame || at != address)
		return find_from(code, at + seen->ahead, address, ret);
	*ret = at_once;
	return true;
}

bool x86_64_find_from_begin(
	const struct machine_code *code, uint64_t address, struct unwind_rule *ret)
{
	enum {
		MAX_BLOCKS_BACK = 16,
		BLOCK_BYTES = 512, /* none lies in two pages, of which one may not be there */
		MORE_BYTES = 6,    /* of the last one */
		MAX_TRIES = 4,
	};
	int tries = 0;
	uint8_t bytes[BLOCK_BYTES + MORE_BYTES];
	uint64_t block = address - address % BLOCK_BYTES;
	for (int i = 0; i < MAX_BLOCKS_BACK && block; i++, block -= BLOCK_BYTES) {
		size_t got = code->read(code->context, block, bytes, sizeof(bytes));
		if (got < BLOCK_BYTES && i)
			return false;
		size_t end = got > MORE_BYTES ? got - MORE_BYTES : 0;
		size_t last = address - block < end ? address - block + 1 : end;
		for (size_t at = last; at-- > 0;) {
			const struct begin *seen = find_begin(bytes + at);
			if (!seen)
				continue;
			if (tries++ == MAX_TRIES)
				return false;
			if (find_from_seen(code, seen, block + at, address, ret))
				return code->accepts(code->context, ret, false);
		}
	}
	return false;
}
