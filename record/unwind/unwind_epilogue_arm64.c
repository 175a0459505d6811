#include "record/unwind/unwind_epilogue_arm64.h"

#include "format/machine/arm64_insn.h"
#include "format/unwind/unwind_xdata.h"

enum {
	MAX_INSNS = 24, /* 12 pairs can be saved */
	MAX_FRAME_BYTES = 1 << 28,
	LOADS = 1 << 22, /* of an instruction for memory: it is no store */
};

/* The instructions that undo a prologue, ahead of the one that leaves the function. */
struct arm64_epilogue {
	int moved[MAX_INSNS]; /* the stack pointer, by each */
	unsigned count;
	int bytes;      /* all of what it is moved by */
	unsigned frame; /* the one that loads the frame pointer and the return address, ... */
	int saved;      /* ... and where from, above the stack pointer ahead of the first */
};

static struct arm64_insn epilogue_insn_at(const uint8_t *code, size_t at)
{
	return arm64_insn_decode(code + at, ARM64_INSN_BYTES, at);
}

static bool leaves_function(const struct arm64_insn *insn)
{
	return insn->kind == ARM64_RETURN || insn->kind == ARM64_JUMP ||
	       insn->kind == ARM64_JUMP_INDIRECT;
}

static bool is_frame_load(const struct arm64_insn *insn)
{
	return insn->kind == ARM64_LOAD_PAIR && insn->reg == ARM64_FP && insn->index == ARM64_LR;
}

/* What the instructions ahead of a sum set its register to; -1: they do not. */
static int64_t number_ahead(const uint8_t *code, size_t at, uint8_t reg)
{
	struct arm64_insn last = epilogue_insn_at(code, at - ARM64_INSN_BYTES);
	bool has_insert =
		last.kind == ARM64_INSERT && last.reg == reg && at >= 2 * ARM64_INSN_BYTES;
	struct arm64_insn first =
		has_insert ? epilogue_insn_at(code, at - 2 * ARM64_INSN_BYTES) : last;
	uint64_t mask = has_insert ? (uint64_t)UINT16_MAX << last.shift : 0;
	if (first.kind != ARM64_CONSTANT || first.reg != reg)
		return -1;
	return (int64_t)((first.value & ~mask) | (last.value & mask));
}

/* By how much an instruction of an epilogue moves the stack pointer; negative: it is none of these.
 */
static int64_t bytes_of_insn(const uint8_t *code, size_t at)
{
	enum {
		FIRST_SCRATCH = 9, /* registers that nothing is returned in, nor kept */
		LAST_SCRATCH = 17,
	};
	struct arm64_insn insn = epilogue_insn_at(code, at);
	bool is_number = insn.kind == ARM64_CONSTANT || insn.kind == ARM64_INSERT;
	if (is_number)
		return insn.reg >= FIRST_SCRATCH && insn.reg <= LAST_SCRATCH ? 0 : -1;
	if (insn.base != ARM64_SP)
		return -1;
	if (insn.kind == ARM64_LOAD || insn.kind == ARM64_LOAD_PAIR)
		return insn.step;
	if (insn.kind == ARM64_SUM && insn.reg == ARM64_SP)
		return (int64_t)insn.value;
	if (insn.kind == ARM64_SUM_OF && insn.reg == ARM64_SP && at >= ARM64_INSN_BYTES)
		return number_ahead(code, at, insn.index);
	bool is_of_vectors = insn.kind == ARM64_PLAIN && !insn.writes && code[at + 2] & LOADS >> 16;
	return is_of_vectors ? 0 : -1;
}

/* Whether an instruction may stand in an epilogue; by how much it moves the stack pointer. */
static bool take_epilogue_insn(const uint8_t *code, size_t at, int *moved)
{
	int64_t bytes = bytes_of_insn(code, at);
	*moved = (int)bytes;
	return bytes >= 0 && bytes < MAX_FRAME_BYTES / MAX_INSNS && bytes % 8 == 0;
}

/* False: what is ahead of that place is no epilogue. */
static bool read_arm64_epilogue(
	const uint8_t *code, size_t from, size_t leaving, struct arm64_epilogue *ret)
{
	int moved[MAX_INSNS] = {0}; /* the last one first */
	bool has_frame = false;
	*ret = (struct arm64_epilogue){0};
	for (size_t at = leaving; at >= from + ARM64_INSN_BYTES && ret->count < MAX_INSNS;
		ret->count++) {
		at -= ARM64_INSN_BYTES;
		if (!take_epilogue_insn(code, at, &moved[ret->count]))
			break;
		ret->bytes += moved[ret->count];
	}
	int done = 0;
	for (unsigned i = 0; i < ret->count; i++) {
		struct arm64_insn insn = epilogue_insn_at(
			code, leaving - (size_t)(ret->count - i) * ARM64_INSN_BYTES);
		if (is_frame_load(&insn)) {
			has_frame = true;
			ret->frame = i;
			ret->saved = done + (int)insn.value;
		}
		ret->moved[i] = moved[ret->count - 1 - i];
		done += ret->moved[i];
	}
	return has_frame;
}

/* A row wherever another instruction has moved the stack pointer, or loaded the frame. */
static void put_arm64_epilogue(const struct unwind_epilogue_rows *rows,
	const struct arm64_epilogue *epilogue, size_t leaving)
{
	int done = 0;
	for (unsigned i = 0; i < epilogue->count; i++) {
		struct unwind_xdata_state state = UNWIND_XDATA_STATE;
		struct unwind_rule rule = {0};
		done += epilogue->moved[i];
		if (!epilogue->moved[i] && i != epilogue->frame)
			continue;
		state.size = epilogue->bytes - done;
		if (i < epilogue->frame) {
			state.fp = epilogue->saved - done;
			state.ra = state.fp + 8;
		}
		size_t behind = leaving - (epilogue->count - 1 - i) * ARM64_INSN_BYTES;
		if (unwind_xdata_put_rule(&state, &rule))
			rows->on_rule(rows->context, rows->start + behind, &rule);
	}
	rows->on_rule(rows->context, rows->start + leaving + ARM64_INSN_BYTES, &rows->body);
}

void unwind_epilogue_put_arm64(
	const struct unwind_epilogue_rows *rows, const uint8_t *code, size_t from, size_t len)
{
	struct arm64_epilogue epilogue;
	for (size_t at = from; at + ARM64_INSN_BYTES <= len; at += ARM64_INSN_BYTES) {
		struct arm64_insn insn = epilogue_insn_at(code, at);
		if (leaves_function(&insn) && read_arm64_epilogue(code, from, at, &epilogue))
			put_arm64_epilogue(rows, &epilogue, at);
	}
}
