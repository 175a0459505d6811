/*
 * How a frame is left whose code has no rules: by following the code itself. A machine's
 * find_return() and find_from_call() are made of this. It says what an instruction does; which ways
 * there are, and what rules they come to, is the same for all machines.
 *
 * Wherever a function was interrupted, some way leads from there to its return, and what the
 * instructions on that way do to the stack pointer says where the return address is. So the code
 * is read forwards, without a need to know where the function begins. Registers and stack slots
 * have symbolic values: what a register held at first, plus a constant; what was in memory then.
 * Ways are followed breadth-first: a branch forks, a call is stepped over, a jump is followed, also
 * into another function that returns on this one's behalf. A jump to what a register says is such
 * a one, too, or else one by a table of cases, which goes on right behind itself as often as not.
 *
 * A return that is reached is only a candidate: code behind a call that never returns belongs to
 * another function, and data may look like code. So the caller accepts it or not, by looking at
 * the return address that it leads to.
 *
 * All instructions on the way get their rule: the frame is the same, as seen from each.
 *
 * What never returns has no such way. Where a return address is a candidate, and the call ahead of
 * it says where it goes, the same reading leads from there, where that address is where calls put
 * it, to the instruction at hand; so it is known where it is now.
 */
#ifndef EBPROF_SYMBOLIC_H
#define EBPROF_SYMBOLIC_H

#include "format/base/map.h"
#include "format/base/vec.h"
#include "format/machine/machine.h"

enum {
	SYMBOLIC_REGISTERS = 32, /* of any machine, at most */
	SYMBOLIC_SLOTS = 24,
	SYMBOLIC_WINDOW_BYTES = 256,
	SYMBOLIC_MAX_STEPS = 8000,
};

/* Registers that a rule restores. */
enum {
	SYMBOLIC_FP,
	SYMBOLIC_SECOND, /* another one: see struct symbolic_machine */
	SYMBOLIC_RESTORED,
};

enum symbolic_kind {
	SYMBOLIC_UNKNOWN,
	SYMBOLIC_SUM,    /* what `base` held at first, plus `addend` */
	SYMBOLIC_DEREF,  /* what was in memory at what `base` held, plus `offset`; plus `addend` */
	SYMBOLIC_LOADED, /* what was in memory at a DEREF */
	SYMBOLIC_CONSTANT, /* `addend` */
};

struct symbolic_value {
	uint8_t kind; /* enum symbolic_kind */
	uint8_t base; /* SYMBOLIC_REGISTERS and above: of no register that is known */
	int32_t offset, addend;
};

/* In the frame, at what a value says. */
struct symbolic_slot {
	struct symbolic_value at, value;
};

struct symbolic_state {
	const struct symbolic_machine *machine;
	struct symbolic_value reg[SYMBOLIC_REGISTERS];
	struct symbolic_slot slots[SYMBOLIC_SLOTS]; /* written on the way */
	uint8_t nr_slots;
	bool has_lost_slots;                               /* there were too many */
	struct symbolic_value saved_at[SYMBOLIC_RESTORED]; /* where those registers' first values
							      were stored */
	struct symbolic_slot callee_frame; /* the frame pointer, and below the stack where it is
					      stored */
	bool has_frame_bytes;              /* see struct machine_code */
	int32_t frame_bytes;
	bool is_forking; /* see struct symbolic_step */
	struct symbolic_value
		ra_at;   /* where the return address is, of a way from a call; else unknown */
	uint8_t nr_lost; /* how often the stack pointer became another one */
};

/* An instruction on a way. */
struct symbolic_step {
	uint64_t address;
	uint32_t before; /* number of the step before, plus 1; 0: it is the first */
	bool is_forking; /* behind a call of the kernel that makes a thread: see UNWIND_FORKS */
	struct symbolic_value sp, restored[SYMBOLIC_RESTORED], saved_at[SYMBOLIC_RESTORED];
};

/* Where a way goes on. */
struct symbolic_block {
	uint64_t address;
	uint32_t before;
	struct symbolic_state state;
};

enum symbolic_way {
	SYMBOLIC_GOES_ON,
	SYMBOLIC_ENDS,
	SYMBOLIC_FOUND,
};

struct symbolic_reading {
	const struct symbolic_machine *machine;
	const struct machine_code *code;
	VEC(struct symbolic_step) steps;
	VEC(struct symbolic_block)
	blocks, doubtful;    /* the latter only when nothing is found otherwise */
	struct map seen;     /* addresses */
	bool leads_anywhere; /* some way goes where is not known */
	uint64_t wanted;     /* 0: a return is; else where the way is to lead */
	struct symbolic_state at_wanted;
	uint64_t window_address;
	size_t window_bytes;
	uint8_t window[SYMBOLIC_WINDOW_BYTES];
};

struct symbolic_machine {
	uint8_t sp;
	uint8_t restored[SYMBOLIC_RESTORED]; /* numbers of its registers */
	/* The second one has the return address, which calls do not push. */
	bool has_link;
	uint8_t pushed_bytes; /* by a call */
	uint8_t insn_max;     /* bytes of an instruction */
	uint8_t (*dwarf_number)(uint8_t reg);
	/*
	 * Does what one instruction does, that of a step: *address becomes that of the one behind
	 * it, or where it jumps. Where there is no instruction the way ends.
	 */
	enum symbolic_way (*follow)(struct symbolic_reading *reading, uint32_t step,
		struct symbolic_state *state, uint64_t *address);
};

struct symbolic_value symbolic_first(uint8_t reg);
struct symbolic_value symbolic_constant(int64_t value);
bool symbolic_is_same(const struct symbolic_value *a, const struct symbolic_value *b);
struct symbolic_value symbolic_plus(struct symbolic_value value, int64_t addend);
/* Where the memory that a value was loaded from is. */
struct symbolic_value symbolic_address_of(const struct symbolic_value *loaded);

/* A word that was written on the way; NULL: none there. */
const struct symbolic_value *symbolic_written(
	const struct symbolic_state *state, const struct symbolic_value *at);
struct symbolic_value symbolic_load(const struct symbolic_state *state, struct symbolic_value at);
void symbolic_store(
	struct symbolic_state *state, struct symbolic_value at, struct symbolic_value value);
/* Bit n: register n has changed. */
void symbolic_forget(struct symbolic_state *state, uint32_t registers);
/* The stack pointer is another one: what follows is relative to a base of its own. */
void symbolic_lose_sp(struct symbolic_state *state);
/* Whether nothing says how far it is from what it was at first. */
bool symbolic_is_lost(const struct symbolic_value *sp);

/* The rule of a step of a frame that is left with `end`; false: there is none. `popped`: bytes that
 * the return takes beyond the return address. */
bool symbolic_rule(const struct symbolic_machine *machine, const struct symbolic_step *step,
	const struct symbolic_state *end, int64_t popped, struct unwind_rule *rule);
/* Of a state, what its step has. */
struct symbolic_step symbolic_step_of(
	const struct symbolic_state *state, uint64_t address, uint32_t before);

/* A return or a jump out of the frame behind `last`, if it is accepted: then the rules of the way
 * are told. */
bool symbolic_accept(struct symbolic_reading *reading, uint32_t last,
	const struct symbolic_state *end, int64_t popped, bool is_jump);
void symbolic_add_block(struct symbolic_reading *reading, bool is_doubtful, uint64_t address,
	uint32_t before, const struct symbolic_state *state);
/* The bytes of an instruction, and how many there are of them and those behind; NULL: none. */
const uint8_t *symbolic_code(struct symbolic_reading *reading, uint64_t address, size_t *len);
/* With `machine`, `code`, `wanted` set; of `state` what is known beside its registers. False: no
 * return was found, or no way to what is wanted. Of *reading at_wanted and leads_anywhere are left.
 */
bool symbolic_follow(
	struct symbolic_reading *reading, uint64_t address, struct symbolic_state *state);

#endif
