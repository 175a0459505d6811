/*
 * V8 of Node.js. Functions of JavaScript run as bytecodes, whose interpreter is one of many
 * builtins, and as code that three compilers make. Builtins are in the file, without call frame
 * information, or a copy of them is in memory of no file; code of the compilers is in no file. All
 * of it keeps frames by the frame pointer, and a function's frame has the function in it. What runs
 * without a frame of its own, a bytecode's handler say, runs on its caller's: so the frame that the
 * frame pointer leads to is that of the innermost function. Where compiled code was interrupted its
 * own frame may be half made or half gone; then the function is found by the code itself, and the
 * caller by the instructions around.
 *
 * Sources: src/execution/frame-constants.h, src/execution/{x64,arm64}/frame-constants-*.h of V8
 * 10.2, 11.3, 12.4, 13.6, 14.6; tools/gen-postmortem-metadata.py.
 */
#ifndef EBPROF_NODE_BPF_H
#define EBPROF_NODE_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/node/node_code.bpf.h"
#include "bpf/runtime/node/node_object.bpf.h"
#include "bpf/runtime/node/node_row.h"
#include "bpf/runtime/runtime_process.bpf.h"
#include "bpf/scratch.bpf.h"

#include <bpf/bpf_helpers.h>

enum {
	NODE_MAX_MARKER = 128,
	NODE_MAX_DISTANCE = 1 << 20,
	NODE_MADE_FRAME = 24, /* bytes below the frame pointer, down to the function */
};

static __always_inline bool node_claims_anonymous(struct scratch *scratch)
{
	return scratch->walk.runtime.row.kind == RUNTIME_NODE ||
	       find_known_runtime(scratch, RUNTIME_NODE);
}

/* ---- frames ---- */

/* Whether the frame pointer leads to a frame of V8; it is at hand then. */
static __always_inline bool node_read_frame(struct walk *walk, struct node_walk *node)
{
	__u64 fp = walk->regs.reg[UNWIND_FP], sp = walk->regs.reg[UNWIND_SP];
	return (walk->regs.known >> UNWIND_FP & 1) && !(fp & 7) && fp + 16 >= sp &&
	       fp - sp + 16 <= NODE_MAX_DISTANCE &&
	       read_stack_words(walk, fp - NODE_FRAME_BELOW, node->frame, sizeof(node->frame));
}

static __always_inline bool node_is_marked(const struct node_walk *node)
{
	__u64 marker = node->frame[NODE_FRAME_MARKER];
	return node_is_pointer(marker) || (!(marker & 1) && marker < NODE_MAX_MARKER);
}

/* Where in its bytecodes the frame at hand is, if it runs as such; else 0. */
static __always_inline __u32 node_place(const struct node_row *row, const struct node_walk *node)
{
	__u64 offset = node->frame[NODE_FRAME_OFFSET], bytecode = node->frame[NODE_FRAME_BYTECODE];
	__u64 place = (offset >> NODE_SMI_SHIFT) - (row->bytecode_data - 1);
	if ((__u32)offset || place >= RUNTIME_FRAME_IS_LEAF)
		return 0;
	/* What the function at hand has as its data is no other object: it is not read then. */
	bool is_own = node_is_pointer(bytecode) && bytecode == node->shared[NODE_SHARED_DATA];
	return is_own || node_type_of(bytecode) == row->bytecode_array_type ? place : 0;
}

static __always_inline __u32 node_place_in_code(
	const struct node_walk *node, __u64 address, bool is_leaf)
{
	__u32 place = (address - node->code.start) & (RUNTIME_FRAME_IS_LEAF - 1);
	return place | (is_leaf ? RUNTIME_FRAME_IS_LEAF : 0);
}

/* Whether C++ entered V8 by the frame at hand. */
static __always_inline bool node_is_entry(const struct node_row *row, const struct node_walk *node)
{
	__u64 marker = node->frame[NODE_FRAME_MARKER];
	return marker && !(marker & 1) &&
	       (marker >> 1 == row->entry_frame || marker >> 1 == row->construct_entry_frame);
}

static __always_inline enum runtime_leave node_leave_by_fp(
	struct walk *walk, const struct node_walk *node)
{
	__u64 saved = 0;
	if (NODE_ENTRY_SAVED_BYTES != 0 && node_is_entry(node_row(&walk->runtime), node))
		saved = NODE_ENTRY_SAVED_BYTES;
	walk->regs.ip = without_signature(node->frame[NODE_FRAME_RETURN]);
	walk->regs.reg[UNWIND_SP] = walk->regs.reg[UNWIND_FP] + 16 + saved;
	walk->regs.reg[UNWIND_FP] = node->frame[NODE_FRAME_LINK];
	walk->regs.known = 1ULL << UNWIND_SP | 1ULL << UNWIND_FP;
	walk->is_exact = false;
	return RUNTIME_LEFT_UNSEEN;
}

/* ---- compiled code that was interrupted ---- */

/*
 * Makes the function at hand that the code at hand is of. Baseline code does not say it: its frame
 * has the function, if it has the same bytecodes, or at its beginning the register that functions
 * are called with.
 */
static __always_inline bool node_take_leaf_function(
	struct walk *walk, struct node_walk *node, bool has_frame, enum node_frame_state *state)
{
	const struct node_row *row = node_row(&walk->runtime);
	if (node->code.kind != NODE_CODE_BASELINE)
		return node_take_code_function(row, node);
	if (!*state && has_frame && node->frame[NODE_FRAME_BYTECODE] == node->code.deopt_data)
		return node_take_function(node->frame[NODE_FRAME_FUNCTION]);
	bool is_begun = walk->regs.ip - node->code.start < NODE_CODE_BYTES;
	if (!*state)
		*state = NODE_FRAME_IS_NONE;
	return is_begun && node_take_function(walk->regs.reg[NODE_FUNCTION_REGISTER]);
}

/* The code that was interrupted is at hand. */
static __always_inline enum runtime_leave node_leave_interrupted(
	struct scratch *scratch, struct node_walk *node)
{
	struct walk *walk = &scratch->walk;
	enum node_frame_state state = node_frame_state(walk->regs.ip);
	bool has_frame = node_read_frame(walk, node),
	     is_regexp = node->code.kind == NODE_CODE_REGEXP;
	__u32 place = node_place_in_code(node, walk->regs.ip, true);
	if (!is_regexp && !node_take_leaf_function(walk, node, has_frame, &state))
		push_runtime_failure(scratch, LAYOUT_SCRIPT_TORN);
	else
		node_push_function(is_regexp ? 0 : place);
	if (state)
		return node_leave_unmade(walk, state);
	return has_frame ? node_leave_by_fp(walk, node) : RUNTIME_STAYS;
}

/* ---- builtins that were interrupted ---- */

/* The place in compiled code of the function at hand, whose frame is at hand too. 0: not found. */
static __always_inline __u32 node_find_caller(struct scratch *scratch, struct node_walk *node)
{
	struct walk *walk = &scratch->walk;
	const struct node_row *row = node_row(&walk->runtime);
	__u64 shared = node->code.function.shared, address = node_return_of_builtin(walk);
	bool is_found = address && node_find_code(address - 1, false);
	if (is_found && node->code.kind == NODE_CODE_BASELINE &&
		node->frame[NODE_FRAME_BYTECODE] == node->code.deopt_data)
		return node_place_in_code(node, address - 1, false);
	if (is_found && node->code.kind == NODE_CODE_OPTIMIZED) {
		if (node_take_code_function(row, node) && node->code.function.shared == shared)
			return node_place_in_code(node, address - 1, false);
		node_take_shared(shared);
	}
	node->code.kind = NODE_CODE_NONE;
	return 0;
}

/* ---- leaving ---- */

/* Where in its bytecodes or its code the function at hand is. */
static __always_inline __u32 node_place_of_frame(
	struct scratch *scratch, struct node_walk *node, bool is_leaf)
{
	struct walk *walk = &scratch->walk;
	const struct node_row *row = node_row(&walk->runtime);
	bool is_code = walk->mapping.kind == EVENT_FRAME_ANONYMOUS && !is_leaf && row->code_header;
	if (is_code && node_find_code(walk->regs.ip - 1, false) && node->code.kind)
		return node_place_in_code(node, walk->regs.ip - 1, false);
	node->code.kind = NODE_CODE_NONE;
	__u32 place = node_place(row, node);
	/* A builtin that has a frame has no script. */
	if (!place && is_leaf && row->code_header && node->code.function.script_id)
		place = node_find_caller(scratch, node);
	return place;
}

/*
 * What the word of the frame at hand, a caller's function, is known by in this walk: the function
 * and where it goes on, and, where that may be the interpreter, at which bytecode. What compiled
 * code keeps in these two places may look like it; then its frames are read one by one.
 */
static __always_inline __u64 node_key_of_frame(
	const struct scratch *scratch, const struct node_walk *node)
{
	__u64 offset = node->frame[NODE_FRAME_OFFSET], bytecode = node->frame[NODE_FRAME_BYTECODE];
	/* One after the other: two addresses alone may differ from another two by the same bits. */
	__u64 key = mix(node_key(scratch, node->frame[NODE_FRAME_FUNCTION]), scratch->walk.regs.ip);
	if (!(__u32)offset && node_is_pointer(bytecode))
		key = mix(mix(key, bytecode), offset);
	return key;
}

/* Pushes the frame at hand, a caller's function, by what was met before. 0: nothing was. */
__noinline int node_push_met(void);
__noinline int node_push_met(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_NODE);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct node_walk *node = node_walk(&walk->runtime);
	node->key = node_key_of_frame(scratch, node);
	__u64 word = node_find_known(scratch, node->key);
	if (!word)
		return walk->mapping.kind == EVENT_FRAME_ANONYMOUS &&
		       node_push_optimized(walk->regs.ip - 1);
	push_word(scratch, word);
	return 1;
}

/* It was pushed now. */
__noinline int node_keep_met(__u32 number, __u32 place);
__noinline int node_keep_met(__u32 number, __u32 place)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_NODE);
	if (!scratch || !number)
		return 0;
	const struct node_walk *node = node_walk(&scratch->walk.runtime);
	node_keep_known(scratch, node->key, runtime_word(number, place));
	if (node->code.kind == NODE_CODE_BASELINE || node->code.kind == NODE_CODE_OPTIMIZED)
		node_keep_code(scratch, scratch->walk.regs.ip - 1);
	return 0;
}

/* Pushes the frame at hand, of no function of JavaScript. */
static __always_inline void node_push_other(struct scratch *scratch, bool is_wasm)
{
	struct walk *walk = &scratch->walk;
	struct node_walk *node = node_walk(&walk->runtime);
	node->code.kind = is_wasm ? NODE_CODE_WASM : NODE_CODE_OTHER;
	node->code.deopt_data = node->frame[NODE_FRAME_FUNCTION];
	node->code.start = node->code.size = node->code.positions = 0;
	if (is_wasm)
		node_find_code(walk->regs.ip - !walk->is_exact, true);
	node_push_function(node_place_in_wasm());
}

static __always_inline enum runtime_leave node_leave_jit(struct scratch *scratch)
{
	struct walk *walk = &scratch->walk;
	struct node_walk *node = node_walk(&walk->runtime);
	bool is_builtin = walk->mapping.kind == EVENT_FRAME_FILE, is_leaf = walk->is_exact;
	if (!take_known_runtime(scratch, RUNTIME_NODE))
		return RUNTIME_STAYS;
	if (is_leaf && !is_builtin && node_row(&walk->runtime)->code_header &&
		node_find_code(walk->regs.ip, false) && node->code.kind)
		return node_leave_interrupted(scratch, node);
	if (!node_read_frame(walk, node) || !node_is_marked(node))
		return RUNTIME_STAYS;
	node->code.kind = NODE_CODE_NONE;
	bool has_function = node_is_pointer(node->frame[NODE_FRAME_MARKER]);
	if (has_function && !is_leaf && node_push_met())
		return node_leave_by_fp(walk, node);
	/* Of a frame that is half made the function is where functions are called with it. */
	bool is_half =
		is_leaf && walk->regs.reg[UNWIND_FP] - walk->regs.reg[UNWIND_SP] < NODE_MADE_FRAME;
	__u64 function =
		is_half ? walk->regs.reg[NODE_FUNCTION_REGISTER] : node->frame[NODE_FRAME_FUNCTION];
	if (has_function && !node_take_function(function)) {
		if (!is_half)
			return RUNTIME_STAYS;
		has_function = false;
	}
	if (has_function && !is_leaf && !is_builtin && node_push_baseline(walk->regs.ip - 1))
		return node_leave_by_fp(walk, node);
	if (is_builtin && (is_leaf || !has_function))
		push_frame(scratch, walk->regs.ip - !is_leaf);
	if (!is_builtin && !has_function) {
		__u64 marker = node->frame[NODE_FRAME_MARKER] >> 1;
		bool is_wasm = marker && marker == node_row(&walk->runtime)->wasm_frame;
		node_push_other(scratch, is_wasm);
	}
	if (has_function) {
		__u32 place = is_half ? 0 : node_place_of_frame(scratch, node, is_leaf);
		__u32 number = node_push_function(place);
		if (!is_leaf)
			node_keep_met(number, place);
	}
	return node_leave_by_fp(walk, node);
}

/* ---- the row ---- */

static const struct runtime_hooks node_hooks = {
	.has_compiler = true,
	.has_builtins = true,
	.claims_anonymous = node_claims_anonymous,
	.leave_jit = node_leave_jit,
};

#endif
