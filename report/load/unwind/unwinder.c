/*
 * A frame's rules (DWARF 5, section 6.4) say what its caller's registers were:
 * first the canonical frame address, the stack pointer at the call, is computed;
 * then each register is unchanged, or stands at a place relative to that
 * address, or is lost. The caller's pc is the return address, which is a
 * register as well. Where the rules say that this one is lost, there is no
 * caller: the stack is complete. Every other end has a cause.
 *
 * libdwfl could do the walk, but it calls a stack complete as well when the
 * return address could not be read (elfutils 0.188, frame_unwind.c), and follows
 * frame pointers without saying so. So libdw only reads the rules.
 */
#include "report/load/unwind/unwinder.h"

#include <elf.h>

#include "report/load/unwind/address_space.h"
#include "report/load/unwind/call_frames.h"
#include "report/load/unwind/expression.h"
#include "report/load/unwind/thread_state.h"
#include "report/model/regular_file.h"

/* DWARF's register numbers: see struct layout_snapshot. */
struct unwind_machine {
	uint16_t elf_machine;
	uint8_t nr_registers;
	uint8_t frame_pointer, stack_pointer, pc;
	uint64_t pc_mask; /* arm64 keeps a signature in the upper bits of return addresses */
};

static const struct unwind_machine x86_64 = {EM_X86_64, 17, 6, 7, 16, ~0ULL};
static const struct unwind_machine arm64 = {EM_AARCH64, 33, 29, 31, 32, (1ULL << 48) - 1};

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
		unwinder->usual.rules = regular_file_rules_create(false);
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

/* A register of the caller. LAYOUT_COMPLETE without a value: it is lost, by the rules. */
static enum layout_truncation find_register(Dwarf_Frame *rules, int number,
	const struct thread_state *state, uint64_t cfa, struct thread_state *caller)
{
	Dwarf_Op memory[3], *ops;
	size_t count;
	if (dwarf_frame_register(rules, number, memory, &ops, &count))
		return LAYOUT_TRUNCATED_UNSUPPORTED;
	uint64_t value = 0;
	enum layout_truncation fault = LAYOUT_COMPLETE;
	if (count)
		fault = expression_evaluate(state, &cfa, ops, count, &value);
	else if (ops == memory) /* undefined; NULL: unchanged */
		return LAYOUT_COMPLETE;
	else if (!thread_state_get(state, (unsigned)number, &value))
		fault = LAYOUT_TRUNCATED_REGISTER;
	if (!fault)
		thread_state_set(caller, (unsigned)number, value);
	return fault;
}

static bool is_lost(Dwarf_Frame *rules, int number)
{
	Dwarf_Op memory[3], *ops;
	size_t count;
	return !dwarf_frame_register(rules, number, memory, &ops, &count) && !count &&
	       ops == memory;
}

static bool is_unchanged(Dwarf_Frame *rules, int number)
{
	Dwarf_Op memory[3], *ops;
	size_t count;
	return !dwarf_frame_register(rules, number, memory, &ops, &count) && !ops;
}

static enum layout_truncation find_cfa(
	Dwarf_Frame *rules, const struct thread_state *state, uint64_t *cfa)
{
	Dwarf_Op *ops;
	size_t count;
	if (dwarf_frame_cfa(rules, &ops, &count) || !count)
		return LAYOUT_TRUNCATED_UNSUPPORTED;
	return expression_evaluate(state, NULL, ops, count, cfa);
}

/*
 * Stacks grow down, so callers stand above; else rules that lead in a circle would do so for ever.
 * A signal may be handled on another stack, and a function of arm64 that calls nothing needs no
 * stack: its caller has another pc instead.
 */
static bool is_progress(const struct unwind_machine *machine, const struct thread_state *state,
	const struct thread_state *caller)
{
	uint64_t sp = 0, caller_sp = 0;
	if (caller->is_exact || !thread_state_get(state, machine->stack_pointer, &sp))
		return true;
	if (!thread_state_get(caller, machine->stack_pointer, &caller_sp))
		return true;
	return caller_sp > sp || (caller_sp == sp && state->is_exact && machine == &arm64);
}

static struct thread_state caller_of(const struct thread_state *state)
{
	return (struct thread_state){
		.stack_address = state->stack_address,
		.stack = state->stack,
		.stack_bytes = state->stack_bytes,
	};
}

/* To the caller; *is_outermost: there is none. */
static enum layout_truncation step(const struct unwind_machine *machine, Dwarf_Frame *rules,
	struct thread_state *state, bool *is_outermost)
{
	bool is_interrupted = false;
	int return_address = dwarf_frame_info(rules, NULL, NULL, &is_interrupted);
	if (return_address < 0 || return_address >= machine->nr_registers)
		return LAYOUT_TRUNCATED_UNSUPPORTED;
	*is_outermost = is_lost(rules, return_address);
	if (*is_outermost)
		return LAYOUT_COMPLETE;
	if (return_address == machine->pc && is_unchanged(rules, return_address))
		return LAYOUT_TRUNCATED_UNSUPPORTED;
	uint64_t cfa = 0, pc = 0;
	enum layout_truncation fault = find_cfa(rules, state, &cfa);
	if (fault)
		return fault;
	struct thread_state caller = caller_of(state);
	for (int i = 0; i < machine->nr_registers; i++) {
		enum layout_truncation lost = find_register(rules, i, state, cfa, &caller);
		if (i == return_address)
			fault = lost;
	}
	if (fault)
		return fault;
	if (!thread_state_get(&caller, machine->stack_pointer, &pc))
		thread_state_set(&caller, machine->stack_pointer, cfa);
	thread_state_get(&caller, (unsigned)return_address, &pc);
	thread_state_set(&caller, machine->pc, pc & machine->pc_mask);
	caller.is_exact = is_interrupted;
	if (!is_progress(machine, state, &caller))
		return LAYOUT_TRUNCATED_UNKNOWN;
	*state = caller;
	return LAYOUT_COMPLETE;
}

/*
 * Where no rule covers the code (JIT compilers, assembly), the chain of frame pointers is tried:
 * the caller's stands at ours, the return address behind it.
 */
static bool guess(const struct unwind_machine *machine, struct thread_state *state)
{
	uint64_t fp, sp, caller_fp, pc;
	if (!thread_state_get(state, machine->frame_pointer, &fp) ||
		!thread_state_get(state, machine->stack_pointer, &sp) || fp < sp || fp % 8 ||
		!thread_state_read(state, fp, 8, &caller_fp) ||
		!thread_state_read(state, fp + 8, 8, &pc))
		return false;
	*state = caller_of(state);
	thread_state_set(state, machine->frame_pointer, caller_fp);
	thread_state_set(state, machine->stack_pointer, fp + 16);
	thread_state_set(state, machine->pc, pc & machine->pc_mask);
	return true;
}

/* ---- where code is ---- */

static struct address_space *space_of(struct unwinder *unwinder, uint32_t process)
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

static enum layout_truncation find_rules(struct unwinder *unwinder,
	const struct layout_frame *frame, uint16_t machine, Dwarf_Frame **ret)
{
	switch (unwinder->profile->objects.data[frame->object].info.kind) {
	case LAYOUT_OBJECT_ANONYMOUS:
	case LAYOUT_OBJECT_UNKNOWN:
		return LAYOUT_TRUNCATED_JIT;
	default:
		return call_frames_find(
			call_frames_of(unwinder, frame->object, machine), frame->offset, ret);
	}
}

/* ---- the walk ---- */

struct walk {
	struct unwinder *unwinder;
	const struct unwind_machine *machine;
	struct address_space *space;
	size_t space_state;
	struct thread_state state;
};

/* The frame of the current pc; false: it lies in no mapping. */
static bool locate(struct walk *walk, struct layout_frame *ret)
{
	uint64_t pc;
	if (!thread_state_get(&walk->state, walk->machine->pc, &pc))
		return false;
	uint64_t address = pc - !walk->state.is_exact, before = walk->space->scanned;
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

static bool is_within_budget(struct unwinder *unwinder)
{
	return unwinder->unwound->steps++ < STEPS_FLOOR + unwinder->profile->file.file_bytes;
}

/* To the caller by rules, which is located; *is_outermost: there is none. */
static enum layout_truncation go_by_rules(
	struct walk *walk, Dwarf_Frame *rules, struct layout_frame *frame, bool *is_outermost)
{
	enum layout_truncation fault = step(walk->machine, rules, &walk->state, is_outermost);
	if (!fault && !*is_outermost && !locate(walk, frame))
		fault = LAYOUT_TRUNCATED_NO_MAPPING;
	return fault;
}

/* To the caller without rules; `fault` says what they lack. */
static enum layout_truncation go_by_guess(
	struct walk *walk, enum layout_truncation fault, struct layout_frame *frame)
{
	bool may_guess = fault == LAYOUT_TRUNCATED_JIT || fault == LAYOUT_TRUNCATED_NO_RULE;
	if (!may_guess || !guess(walk->machine, &walk->state) || !locate(walk, frame))
		return fault;
	frame->flags = LAYOUT_FRAME_GUESSED;
	return LAYOUT_COMPLETE;
}

/*
 * A signal's handler returns to code that nobody called: the kernel put its first byte there as
 * the return address. Its rules hold from the byte before on, for unwinders that look there, but
 * its name does not.
 */
static bool is_trampoline(const struct walk *walk, Dwarf_Frame *rules)
{
	bool is_signal_frame = false;
	return !walk->state.is_exact &&
	       dwarf_frame_info(rules, NULL, NULL, &is_signal_frame) >= 0 && is_signal_frame;
}

static enum layout_truncation walk_frames(struct walk *walk)
{
	struct unwinder *unwinder = walk->unwinder;
	struct layout_frame frame;
	if (!(walk->state.known >> walk->machine->pc & 1))
		return LAYOUT_TRUNCATED_REGISTER;
	if (!locate(walk, &frame))
		return LAYOUT_TRUNCATED_NO_MAPPING;
	for (size_t count = 0; count < UNWINDER_MAX_FRAMES; count++) {
		if (!is_within_budget(unwinder))
			return LAYOUT_TRUNCATED_UNKNOWN;
		Dwarf_Frame *rules = NULL;
		bool is_outermost = false;
		enum layout_truncation fault =
			find_rules(unwinder, &frame, walk->machine->elf_machine, &rules);
		frame.offset += !fault && is_trampoline(walk, rules);
		unwound_add(unwinder->unwound, &frame);
		fault = fault ? go_by_guess(walk, fault, &frame)
			      : go_by_rules(walk, rules, &frame, &is_outermost);
		if (fault || is_outermost)
			return fault;
	}
	return LAYOUT_TRUNCATED_DEPTH;
}

static uint32_t unwind(struct unwinder *unwinder, const struct layout_snapshot *snapshot,
	struct address_space *space, size_t space_state)
{
	bool is_arm64 = snapshot->known >> arm64.pc & 1;
	struct walk walk = {
		.unwinder = unwinder,
		.machine = is_arm64 ? &arm64 : &x86_64,
		.space = space,
		.space_state = space_state,
		.state = {.known = snapshot->known,
			.is_exact = snapshot->is_exact,
			.stack_address = snapshot->stack_address,
			.stack = snapshot->stack,
			.stack_bytes = snapshot->stack_bytes},
	};
	for (int i = 0; i < LAYOUT_MAX_REGISTERS; i++)
		walk.state.registers[i] = snapshot->registers[i];
	return unwound_end(
		unwinder->unwound, space ? walk_frames(&walk) : LAYOUT_TRUNCATED_NO_MAPPING);
}

/* ---- the face ---- */

static uint64_t hash_of(
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
	struct address_space *space = space_of(unwinder, snapshot->process);
	size_t space_state = space ? address_space_state(space, snapshot->time_ns) : 0;
	bool added;
	uint64_t *number =
		map_put(&unwinder->by_contents, hash_of(unwinder, snapshot, space_state), &added);
	if (added)
		*number = unwind(unwinder, snapshot, space, space_state);
	return (uint32_t)*number;
}
