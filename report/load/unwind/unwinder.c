/*
 * A frame's rules (DWARF 5, section 6.4) say what its caller's registers were:
 * first the canonical frame address, the stack pointer at the call, is computed;
 * then each register is unchanged, or stands at a place relative to that
 * address, or is lost. The caller's pc is the return address, which is a
 * register as well. Where the rules say that this one is lost, there is no
 * caller: the stack is complete. Every other end has a cause.
 *
 * What a rule means is said in format/unwind, for the recorder and its BPF programs as for us. They
 * have 16 bytes for a rule; here is room for all registers, and for expressions.
 */
#include "report/load/unwind/unwinder.h"

#include <stdlib.h>

#include "format/file/truncation.h"
#include "format/machine/machine.h"
#include "format/unwind/unwind_step.h"
#include "report/load/unwind/address_space.h"
#include "report/load/unwind/call_frames.h"
#include "report/load/unwind/expression.h"
#include "report/load/unwind/thread_state.h"
#include "report/model/regular_file.h"

struct unwinder {
	const struct profile *profile;
	const struct symbol_file_options *files;
	struct symbol_file_options usual;  /* where the caller has none */
	size_t nr_mappings_seen;           /* of the profile's, that stand in the spaces */
	VEC(struct address_space) spaces;  /* by process */
	VEC(struct call_frames *) objects; /* by object, as they are needed */
	struct unwound *unwound;
	struct map by_contents; /* hash of a snapshot -> number of its stack */
	uint64_t seed;
};

/*
 * A small file can hold many snapshots, each of which leads to many frames. Together they may take
 * this many steps, and one more for each byte of the file.
 */
enum {
	STEPS_FLOOR = 1 << 20,
};

struct unwinder *unwinder_create(const struct profile *profile,
	const struct symbol_file_options *files, struct unwound *unwound)
{
	struct unwinder *unwinder = mem_zalloc(sizeof(*unwinder));
	if (!files)
		unwinder->usual.rules = regular_file_rules_create(0);
	unwinder->profile = profile;
	unwinder->files = files ? files : &unwinder->usual;
	unwinder->unwound = unwound;
	unwinder->seed = map_random_seed();
	return unwinder;
}

void unwinder_destroy(struct unwinder *unwinder)
{
	if (!unwinder)
		return;
	vec_each(&unwinder->spaces, space)
		address_space_deinit(space);
	vec_each(&unwinder->objects, object)
		call_frames_destroy(*object);
	regular_file_rules_destroy((struct regular_file_rules *)unwinder->usual.rules);
	vec_deinit(&unwinder->spaces);
	vec_deinit(&unwinder->objects);
	map_deinit(&unwinder->by_contents);
	mem_free(unwinder);
}

/* ---- one step ---- */

static long unwinder_read_word(void *context, unsigned long long address, unsigned long long *value)
{
	uint64_t word;
	if (!thread_state_read(context, address, sizeof(word), &word))
		return -1;
	*value = word;
	return 0;
}

static enum event_stack_end find_cfa(const struct unwind_machine *machine,
	const struct unwind_registers *registers, const void *rules, unwind_read_fn *read,
	void *context, unsigned long long *cfa)
{
	const struct call_frames_row *row = rules;
	const struct cfi_row *cfi = &row->cfi;
	uint64_t value = 0;
	enum event_stack_end end;
	switch (cfi->cfa_kind) {
	case UNWIND_CFA_REGISTER:
		return unwind_base(registers, cfi->cfa_register, cfi->cfa_offset, cfa);
	case UNWIND_CFA_DEREF:
		return unwind_deref(registers, cfi->cfa_register, cfi->cfa_offset, cfi->cfa_offset2,
			read, context, cfa);
	case UNWIND_CFA_PLT:
		*cfa = unwind_plt(machine, registers, cfi->cfa_offset);
		return EVENT_END_COMPLETE;
	case UNWIND_CFA_EXPRESSION:
		end = expression_evaluate(
			context, NULL, cfi_expression(row->section, cfi->cfa_offset), &value);
		*cfa = value;
		return end;
	default:
		return EVENT_END_UNSUPPORTED;
	}
}

/* Where a register is, what an expression says of it worked out. Any end: that has no value. */
static enum event_stack_end unwinder_find_register(const struct thread_state *state,
	const struct call_frames_row *rules, unsigned number, uint64_t cfa,
	struct unwind_place *ret)
{
	const struct cfi_register *rule = &rules->cfi.registers[number];
	*ret = (struct unwind_place){number, rule->kind, rule->offset};
	if (rule->kind != UNWIND_EXPRESSION && rule->kind != UNWIND_VALUE)
		return EVENT_END_COMPLETE;
	uint64_t value = cfa;
	enum event_stack_end end = expression_evaluate(
		state, &cfa, cfi_expression(rules->section, rule->offset), &value);
	ret->kind = end                               ? UNWIND_UNDEFINED
		    : rule->kind == UNWIND_EXPRESSION ? UNWIND_AT_CFA
						      : UNWIND_CFA_PLUS;
	ret->offset = (int64_t)(value - cfa);
	return end;
}

/* A frame pointer that is not known is lost; without the return address nothing goes on. */
static enum event_stack_end find_place(const struct unwind_machine *machine, const void *rules,
	enum unwind_part part, unsigned long long cfa, void *context, struct unwind_place *ret)
{
	const struct call_frames_row *row = rules;
	switch (part) {
	case UNWIND_PART_RA:
		return unwinder_find_register(context, row, row->cfi.return_register, cfa, ret);
	case UNWIND_PART_FP:
		unwinder_find_register(context, row, machine->frame_pointer, cfa, ret);
		return EVENT_END_COMPLETE;
	default: /* restore_others() does it */
		*ret = (struct unwind_place){.kind = UNWIND_UNDEFINED};
		return EVENT_END_COMPLETE;
	}
}

/* The registers that have no part of their own in a step. */
static void restore_others(const struct thread_state *callee, const struct call_frames_row *rules,
	uint64_t cfa, struct unwind_registers *caller)
{
	const struct unwind_machine *machine = callee->machine;
	for (unsigned i = 0; i < UNWIND_REGISTERS; i++) {
		struct unwind_place place;
		unsigned long long value;
		bool is_known;
		if (i == machine->frame_pointer || i == machine->stack_pointer ||
			i == machine->pc || i == rules->cfi.return_register ||
			unwinder_find_register(callee, rules, i, cfa, &place) ||
			unwind_register(machine, &callee->registers, &place, cfa,
				unwinder_read_word, (void *)callee, &value, &is_known) ||
			!is_known)
			continue;
		caller->known |= 1ULL << i;
		caller->reg[i] = value;
	}
}

/* To the caller by rules; *is_outermost: there is none. */
static enum event_stack_end step_by_rules(
	struct thread_state *state, const struct call_frames_row *rules, bool *is_outermost)
{
	static const struct unwind_way way = {find_cfa, find_place, unwinder_read_word};
	const struct cfi_row *cfi = &rules->cfi;
	struct unwind_registers *registers = &state->registers;
	struct thread_state callee = *state;
	enum event_stack_end end = unwind_step_by(way, state->machine, registers, rules,
		cfi->is_signal_frame ? UNWIND_SIGNAL_FRAME : 0,
		cfi->registers[cfi->return_register].kind, &callee, is_outermost);
	if (end || *is_outermost)
		return end;
	restore_others(&callee, rules, registers->reg[state->machine->stack_pointer], registers);
	state->is_exact = cfi->is_signal_frame;
	return EVENT_END_COMPLETE;
}

/* ... by the frame pointer, which may be one. */
static enum event_stack_end step_by_guess(struct thread_state *state, bool *is_outermost)
{
	state->is_exact = false;
	return unwind_guess(
		state->machine, &state->registers, unwinder_read_word, state, is_outermost);
}

/* ---- where code is ---- */

static struct address_space *unwinder_space_of(struct unwinder *unwinder, uint32_t process)
{
	const struct profile *profile = unwinder->profile;
	vec_resize(&unwinder->spaces, profile->processes.len);
	for (; unwinder->nr_mappings_seen < profile->mappings.len; unwinder->nr_mappings_seen++) {
		const struct layout_mapping *it =
			&profile->mappings.data[unwinder->nr_mappings_seen];
		address_space_add(&unwinder->spaces.data[it->process], it);
	}
	bool is_there = process && process < unwinder->spaces.len;
	return is_there ? &unwinder->spaces.data[process] : NULL;
}

static struct call_frames *call_frames_of(
	struct unwinder *unwinder, uint32_t object, uint16_t machine)
{
	const struct profile *profile = unwinder->profile;
	if (unwinder->objects.len < profile->objects.len)
		vec_resize(&unwinder->objects, profile->objects.len);
	struct call_frames **frames = &unwinder->objects.data[object];
	if (!*frames)
		*frames = call_frames_create(
			&profile->objects.data[object], unwinder->files, machine);
	return *frames;
}

static enum event_stack_end find_rules(struct unwinder *unwinder, const struct layout_frame *frame,
	uint16_t machine, const struct call_frames_row **ret)
{
	switch (unwinder->profile->objects.data[frame->object].info.kind) {
	case LAYOUT_OBJECT_ANONYMOUS:
	case LAYOUT_OBJECT_UNKNOWN:
		return EVENT_END_JIT;
	default:
		return call_frames_find(
			call_frames_of(unwinder, frame->object, machine), frame->offset, ret);
	}
}

/* ---- the walk ---- */

struct walk {
	struct unwinder *unwinder;
	uint16_t elf_machine;
	struct address_space *space;
	size_t space_state;
	struct thread_state state;
};

/* The frame of the current pc; false: it lies in no mapping. */
static bool locate(struct walk *walk, struct layout_frame *ret)
{
	uint64_t address = walk->state.registers.ip - !walk->state.is_exact;
	uint64_t before = walk->space->scanned;
	const struct layout_mapping *mapping =
		address_space_find(walk->space, address, walk->space_state);
	walk->unwinder->unwound->steps += (walk->space->scanned - before) / 64;
	if (!mapping || !mapping->object)
		return false;
	*ret = (struct layout_frame){
		.object = mapping->object,
		.offset = mapping->offset + (address - mapping->start),
	};
	return true;
}

static bool unwinder_is_within_budget(struct unwinder *unwinder)
{
	return unwinder->unwound->steps++ < STEPS_FLOOR + unwinder->profile->file.file_bytes;
}

static enum layout_truncation walk_frames(struct walk *walk)
{
	struct unwinder *unwinder = walk->unwinder;
	struct thread_state *state = &walk->state;
	enum event_stack_end guess = EVENT_END_COMPLETE; /* why the frame at hand was guessed */
	for (size_t count = 0; count < UNWINDER_MAX_FRAMES; count++) {
		struct layout_frame frame;
		if (!locate(walk, &frame))
			return truncation_of_end(unwind_end_nowhere(guess));
		if (!unwinder_is_within_budget(unwinder))
			return LAYOUT_TRUNCATED_UNKNOWN;
		const struct call_frames_row *rules = NULL;
		enum event_stack_end end = find_rules(unwinder, &frame, walk->elf_machine, &rules);
		frame.flags = guess ? UNWIND_FOUND_BY_FRAME_POINTER : UNWIND_FOUND_BY_RULE;
		if (!end)
			frame.offset = unwind_place(frame.offset, state->is_exact,
				rules->cfi.registers[rules->cfi.return_register].kind);
		unwound_add(unwinder->unwound, &frame);
		bool is_guess = unwind_is_guess(state->machine, &state->registers, end);
		if (end && !is_guess)
			return truncation_of_end(end);
		guess = end;
		bool is_outermost = false;
		end = is_guess ? step_by_guess(state, &is_outermost)
			       : step_by_rules(state, rules, &is_outermost);
		if (end || is_outermost)
			return truncation_of_end(is_outermost ? guess : end);
	}
	return LAYOUT_TRUNCATED_DEPTH;
}

/* Of the machine that recorded; above them it may have signed return addresses. 0: the usual
 * number. */
static unsigned address_bits_of(const struct profile *profile)
{
	const char *bits = profile_meta(profile, LAYOUT_META_ADDRESS_BITS);
	return bits ? (unsigned)strtoul(bits, NULL, 10) : 0;
}

static uint32_t unwind(struct unwinder *unwinder, const struct layout_snapshot *snapshot,
	struct address_space *space, size_t space_state)
{
	const struct machine *machine = machine_of_snapshot(snapshot->known);
	if (!machine)
		return unwound_end(unwinder->unwound, LAYOUT_TRUNCATED_REGISTER);
	if (!space)
		return unwound_end(unwinder->unwound, LAYOUT_TRUNCATED_NO_MAPPING);
	struct walk walk = {
		.unwinder = unwinder,
		.elf_machine = machine->elf,
		.space = space,
		.space_state = space_state,
		.state = thread_state_of(
			machine_registers_within(machine, address_bits_of(unwinder->profile)),
			snapshot),
	};
	return unwound_end(unwinder->unwound, walk_frames(&walk));
}

/* ---- the face ---- */

static uint64_t unwinder_hash_of(
	const struct unwinder *unwinder, const struct layout_snapshot *snapshot, size_t space_state)
{
	const uint64_t head[] = {snapshot->process, space_state, snapshot->known,
		snapshot->is_exact, snapshot->stack_address};
	uint64_t hash = map_hash_bytes(head, sizeof(head), unwinder->seed);
	hash = map_hash_bytes(snapshot->registers, sizeof(snapshot->registers), hash);
	return map_hash_bytes(snapshot->stack, snapshot->stack_bytes, hash);
}

uint32_t unwinder_take(struct unwinder *unwinder, const struct layout_snapshot *snapshot)
{
	struct address_space *space = unwinder_space_of(unwinder, snapshot->process);
	size_t space_state = space ? address_space_state(space, snapshot->time_ns) : 0;
	bool added;
	uint64_t *number = map_put(
		&unwinder->by_contents, unwinder_hash_of(unwinder, snapshot, space_state), &added);
	if (added)
		*number = unwind(unwinder, snapshot, space, space_state);
	return (uint32_t)*number;
}
