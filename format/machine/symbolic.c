#include "format/machine/symbolic.h"

#include <string.h>

#include "format/base/mem.h"

enum {
	MOST_STEPS = 100, /* that most ways have */
	MAX_BLOCKS = 512,
	BLOCK_STEPS = 256,          /* then the other ways have their turn */
	OFFSET_MAX = (1 << 30) - 1, /* of values: two differ by an int at most */
	NR_LOST_BASES = 64,
};

/* ---- values ---- */

bool symbolic_is_same(const struct symbolic_value *a, const struct symbolic_value *b)
{
	return a->kind == b->kind && a->base == b->base && a->offset == b->offset &&
	       a->addend == b->addend;
}

/* Whether they differ by a constant at most. */
static bool have_one_origin(const struct symbolic_value *a, const struct symbolic_value *b)
{
	return a->kind == b->kind && (a->kind == SYMBOLIC_SUM || a->kind == SYMBOLIC_DEREF) &&
	       a->base == b->base && a->offset == b->offset;
}

struct symbolic_value symbolic_plus(struct symbolic_value value, int64_t addend)
{
	int64_t sum;
	bool is_none = value.kind == SYMBOLIC_UNKNOWN || (value.kind == SYMBOLIC_LOADED && addend);
	if (is_none || __builtin_add_overflow(value.addend, addend, &sum) || sum > OFFSET_MAX ||
		sum < -OFFSET_MAX)
		return (struct symbolic_value){0};
	value.addend = (int32_t)sum;
	return value;
}

struct symbolic_value symbolic_first(uint8_t reg)
{
	return (struct symbolic_value){.kind = SYMBOLIC_SUM, .base = reg};
}

/* One place may be said by the stack pointer and by the frame pointer: here by the former. */
static struct symbolic_value one_address(
	const struct symbolic_state *state, const struct symbolic_value *at)
{
	struct symbolic_value ret = *at;
	if (at->kind == SYMBOLIC_SUM && at->base == state->machine->restored[SYMBOLIC_FP] &&
		state->has_frame_bytes) {
		ret.base = state->machine->sp;
		ret = symbolic_plus(ret, state->frame_bytes);
	}
	return ret;
}

/* The number of the slot, plus 1; 0: nothing was written there. */
static size_t slot_number(const struct symbolic_state *state, const struct symbolic_value *at)
{
	struct symbolic_value wanted = one_address(state, at);
	for (size_t i = state->nr_slots; i > 0; i--) {
		struct symbolic_value slot = one_address(state, &state->slots[i - 1].at);
		if (symbolic_is_same(&slot, &wanted))
			return i;
	}
	return 0;
}

const struct symbolic_value *symbolic_written(
	const struct symbolic_state *state, const struct symbolic_value *at)
{
	size_t number = slot_number(state, at);
	return number ? &state->slots[number - 1].value : NULL;
}

struct symbolic_value symbolic_load(const struct symbolic_state *state, struct symbolic_value at)
{
	const struct symbolic_value *known = symbolic_written(state, &at);
	if (known)
		return *known;
	bool is_below = at.kind == SYMBOLIC_SUM && at.base == state->machine->sp && at.addend < 0;
	if (state->has_lost_slots && is_below)
		return (struct symbolic_value){0};
	if (at.kind == SYMBOLIC_SUM)
		return (struct symbolic_value){
			.kind = SYMBOLIC_DEREF, .base = at.base, .offset = at.addend};
	at.kind = at.kind == SYMBOLIC_DEREF ? SYMBOLIC_LOADED : SYMBOLIC_UNKNOWN;
	return at;
}

void symbolic_store(
	struct symbolic_state *state, struct symbolic_value at, struct symbolic_value value)
{
	if (at.kind != SYMBOLIC_SUM && at.kind != SYMBOLIC_DEREF)
		return;
	for (unsigned i = 0; i < SYMBOLIC_RESTORED; i++) {
		struct symbolic_value first = symbolic_first(state->machine->restored[i]);
		if (symbolic_is_same(&value, &first))
			state->saved_at[i] = at;
	}
	size_t number = slot_number(state, &at);
	if (number) {
		state->slots[number - 1].value = value;
		return;
	}
	if (state->nr_slots < SYMBOLIC_SLOTS)
		state->slots[state->nr_slots++] = (struct symbolic_slot){at, value};
	else
		state->has_lost_slots = true;
}

void symbolic_forget(struct symbolic_state *state, uint32_t registers)
{
	for (unsigned i = 0; i < SYMBOLIC_REGISTERS; i++)
		if (registers >> i & 1)
			state->reg[i] = (struct symbolic_value){0};
}

struct symbolic_value symbolic_constant(int64_t value)
{
	bool is_small = value >= INT32_MIN && value <= INT32_MAX;
	return is_small ? (struct symbolic_value){.kind = SYMBOLIC_CONSTANT,
				  .addend = (int32_t)value}
			: (struct symbolic_value){0};
}

static bool is_short(int64_t value)
{
	return value >= INT16_MIN && value <= INT16_MAX;
}

/*
 * The CFA as seen from a step: from the frame pointer or the stack pointer there, or the base. The
 * former first where calls push: one may pop its arguments, so that behind it the stack pointer is
 * another one.
 */
static bool put_cfa(const struct symbolic_machine *machine, const struct symbolic_step *step,
	const struct symbolic_value *cfa, struct unwind_rule *rule)
{
	const struct symbolic_value by_sp = step->sp, by_bp = step->restored[SYMBOLIC_FP];
	rule->cfa = UNWIND_CFA_REGISTER;
	if (have_one_origin(&by_sp, cfa) || have_one_origin(&by_bp, cfa)) {
		bool is_sp = machine->has_link ? have_one_origin(&by_sp, cfa)
					       : !have_one_origin(&by_bp, cfa);
		rule->cfa_register =
			machine->dwarf_number(is_sp ? machine->sp : machine->restored[SYMBOLIC_FP]);
		rule->cfa_offset = cfa->addend - (is_sp ? by_sp.addend : by_bp.addend);
		return true;
	}
	if (cfa->kind == SYMBOLIC_SUM && cfa->base < SYMBOLIC_REGISTERS && !step->before) {
		rule->cfa_register = machine->dwarf_number(cfa->base);
		rule->cfa_offset = cfa->addend;
		return true;
	}
	if (cfa->kind != SYMBOLIC_DEREF)
		return false;
	struct symbolic_value base = symbolic_first(cfa->base);
	bool is_sp = !have_one_origin(&by_bp, &base);
	if (is_sp && !have_one_origin(&by_sp, &base))
		return false;
	int64_t offset = (int64_t)cfa->offset - (is_sp ? by_sp.addend : by_bp.addend);
	if (!is_short(offset) || !is_short(cfa->addend))
		return false;
	rule->cfa = UNWIND_CFA_DEREF;
	/* Above what it points to, a frame pointer would have the caller's frame: this is none, and
	 * the stack that is kept there another one. */
	rule->flags |= is_sp || offset <= 0 ? 0 : UNWIND_SWITCHES_STACKS;
	rule->cfa_register =
		machine->dwarf_number(is_sp ? machine->sp : machine->restored[SYMBOLIC_FP]);
	rule->cfa_offset = (int)((uint32_t)cfa->addend << 16 | (uint16_t)offset);
	return true;
}

struct symbolic_value symbolic_address_of(const struct symbolic_value *loaded)
{
	if (loaded->kind == SYMBOLIC_DEREF)
		return (struct symbolic_value){
			.kind = loaded->addend ? SYMBOLIC_UNKNOWN : SYMBOLIC_SUM,
			.base = loaded->base,
			.addend = loaded->offset};
	struct symbolic_value at = *loaded;
	at.kind = loaded->kind == SYMBOLIC_LOADED ? SYMBOLIC_DEREF : SYMBOLIC_UNKNOWN;
	return at;
}

/* What a step's rule says of a register that has the value `last` at the return. */
static enum unwind_register restore(const struct symbolic_machine *machine,
	const struct symbolic_step *step, unsigned i, const struct symbolic_value *last,
	const struct symbolic_value *cfa, int64_t *offset)
{
	struct symbolic_value first = symbolic_first(machine->restored[i]),
			      at = symbolic_address_of(last);
	*offset = 0;
	if (last->kind != SYMBOLIC_UNKNOWN && symbolic_is_same(&step->restored[i], last))
		return UNWIND_SAME;
	if (symbolic_is_same(last, &first))
		at = step->saved_at[i];
	*offset = (int64_t)at.addend - cfa->addend;
	if (have_one_origin(&at, cfa) && is_short(*offset))
		return UNWIND_AT_CFA;
	*offset = (int64_t)at.addend - step->sp.addend;
	if (have_one_origin(&at, &step->sp) && is_short(*offset))
		return UNWIND_AT_SP;
	*offset = (int64_t)at.addend - step->restored[SYMBOLIC_FP].addend;
	if (have_one_origin(&at, &step->restored[SYMBOLIC_FP]) && is_short(*offset))
		return UNWIND_AT_FP;
	*offset = 0;
	return UNWIND_UNDEFINED;
}

/* Of the return address, which calls leave in a register. */
static bool put_link(const struct symbolic_machine *machine, const struct symbolic_step *step,
	const struct symbolic_value *last, const struct symbolic_value *cfa,
	struct unwind_rule *rule)
{
	int64_t offset;
	enum unwind_register kind = restore(machine, step, SYMBOLIC_SECOND, last, cfa, &offset);
	rule->ra = kind & 15;
	rule->ra_offset = (short)offset;
	rule->extra = UNWIND_UNDEFINED;
	/* Below the stack it is none of this frame's, and what is said to be at the stack pointer
	 * is of a signal's, see unwind_place(). */
	bool is_below = have_one_origin(&step->sp, cfa) && cfa->addend + offset < step->sp.addend;
	return kind == UNWIND_SAME || (kind == UNWIND_AT_CFA && !is_below);
}

bool symbolic_rule(const struct symbolic_machine *machine, const struct symbolic_step *step,
	const struct symbolic_state *end, int64_t popped, struct unwind_rule *rule)
{
	int64_t beyond = machine->pushed_bytes + popped, fp, second;
	struct symbolic_value cfa = symbolic_plus(end->reg[machine->sp], beyond);
	const struct symbolic_value *last_fp = &end->reg[machine->restored[SYMBOLIC_FP]];
	const struct symbolic_value *last = &end->reg[machine->restored[SYMBOLIC_SECOND]];
	*rule = (struct unwind_rule){.ra = UNWIND_AT_CFA, .ra_offset = (short)-beyond};
	if (beyond > INT16_MAX || !put_cfa(machine, step, &cfa, rule))
		return false;
	rule->flags |= step->is_forking ? UNWIND_FORKS : 0;
	rule->fp = restore(machine, step, SYMBOLIC_FP, last_fp, &cfa, &fp) & 15;
	rule->fp_offset = (short)fp;
	if (machine->has_link)
		return put_link(machine, step, last, &cfa, rule);
	rule->extra = (unsigned char)restore(machine, step, SYMBOLIC_SECOND, last, &cfa, &second);
	rule->extra_offset = (short)second;
	return true;
}

void symbolic_lose_sp(struct symbolic_state *state)
{
	state->reg[state->machine->sp] = (struct symbolic_value){.kind = SYMBOLIC_SUM,
		.base = (uint8_t)(SYMBOLIC_REGISTERS + state->nr_lost++ % NR_LOST_BASES)};
}

bool symbolic_is_lost(const struct symbolic_value *sp)
{
	return sp->kind == SYMBOLIC_UNKNOWN ||
	       (sp->kind == SYMBOLIC_SUM && sp->base >= SYMBOLIC_REGISTERS);
}

bool symbolic_accept(struct symbolic_reading *reading, uint32_t last,
	const struct symbolic_state *end, int64_t popped, bool is_jump)
{
	struct unwind_rule rule;
	const struct machine_code *code = reading->code;
	const struct symbolic_machine *machine = reading->machine;
	if (!symbolic_rule(machine, &reading->steps.data[0], end, popped, &rule) ||
		!code->accepts(code->context, &rule, is_jump))
		return false;
	for (uint32_t i = last; i; i = reading->steps.data[i - 1].before) {
		const struct symbolic_step *step = &reading->steps.data[i - 1];
		if (symbolic_rule(machine, step, end, popped, &rule))
			code->on_rule(code->context, step->address, &rule);
	}
	return true;
}

/* ---- following ---- */

const uint8_t *symbolic_code(struct symbolic_reading *reading, uint64_t address, size_t *len)
{
	const struct machine_code *code = reading->code;
	uint64_t at = address - reading->window_address;
	bool is_within = at < reading->window_bytes;
	*len = is_within ? reading->window_bytes - at : 0;
	if (*len < reading->machine->insn_max) {
		reading->window_address = address;
		reading->window_bytes =
			code->read(code->context, address, reading->window, SYMBOLIC_WINDOW_BYTES);
		at = 0;
		*len = reading->window_bytes;
	}
	return *len ? reading->window + at : NULL;
}

static bool has_room_for_block(const struct symbolic_reading *reading)
{
	return reading->blocks.len + reading->doubtful.len < MAX_BLOCKS;
}

void symbolic_add_block(struct symbolic_reading *reading, bool is_doubtful, uint64_t address,
	uint32_t before, const struct symbolic_state *state)
{
	if (!has_room_for_block(reading))
		return;
	struct symbolic_block block = {address, before, *state};
	if (is_doubtful)
		vec_push(&reading->doubtful, block);
	else
		vec_push(&reading->blocks, block);
}

struct symbolic_step symbolic_step_of(
	const struct symbolic_state *state, uint64_t address, uint32_t before)
{
	const struct symbolic_machine *machine = state->machine;
	struct symbolic_step step = {.address = address,
		.before = before,
		.is_forking = state->is_forking,
		.sp = state->reg[machine->sp]};
	for (unsigned i = 0; i < SYMBOLIC_RESTORED; i++) {
		step.restored[i] = state->reg[machine->restored[i]];
		step.saved_at[i] = state->saved_at[i];
	}
	return step;
}

/*
 * True: a return was found. What goes on for long without one waits behind the ways that branched
 * off: kernels of linear algebra are thousands of instructions long, and a branch leads past them.
 */
static bool follow_block(struct symbolic_reading *reading, struct symbolic_block *block)
{
	uint64_t address = block->address;
	uint32_t before = block->before;
	enum symbolic_way way = SYMBOLIC_GOES_ON;
	size_t end = reading->steps.len + BLOCK_STEPS;
	while (way == SYMBOLIC_GOES_ON && reading->steps.len < SYMBOLIC_MAX_STEPS) {
		bool is_new;
		if (reading->steps.len >= end && has_room_for_block(reading)) {
			symbolic_add_block(reading, false, address, before, &block->state);
			return false;
		}
		if (reading->wanted && address == reading->wanted) {
			reading->at_wanted = block->state;
			return true;
		}
		map_put(&reading->seen, map_mix(address), &is_new);
		if (!is_new)
			return false;
		vec_push(&reading->steps, symbolic_step_of(&block->state, address, before));
		before = (uint32_t)reading->steps.len;
		way = reading->machine->follow(reading, before, &block->state, &address);
	}
	return way == SYMBOLIC_FOUND;
}

bool symbolic_follow(
	struct symbolic_reading *reading, uint64_t address, struct symbolic_state *state)
{
	bool is_found = false;
	state->machine = reading->machine;
	for (unsigned i = 0; i < SYMBOLIC_REGISTERS; i++)
		state->reg[i] = symbolic_first((uint8_t)i);
	symbolic_add_block(reading, false, address, 0, state);
	size_t at = 0, doubtful_at = 0;
	const bool *is_over = reading->code->is_over;
	map_reserve(&reading->seen, MOST_STEPS);
	vec_reserve(&reading->steps, MOST_STEPS);
	while (!is_found && reading->steps.len < SYMBOLIC_MAX_STEPS && !(is_over && *is_over)) {
		struct symbolic_block block; /* a copy: following adds blocks */
		if (at < reading->blocks.len)
			block = reading->blocks.data[at++];
		else if (doubtful_at < reading->doubtful.len)
			block = reading->doubtful.data[doubtful_at++];
		else
			break;
		is_found = follow_block(reading, &block);
	}
	reading->leads_anywhere |= reading->steps.len >= SYMBOLIC_MAX_STEPS;
	vec_deinit(&reading->steps);
	vec_deinit(&reading->blocks);
	vec_deinit(&reading->doubtful);
	map_deinit(&reading->seen);
	return is_found;
}
