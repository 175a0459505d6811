/*
 * Code that V8's compilers made, by an address in it. Its instructions begin at a multiple of
 * NODE_CODE_ALIGNMENT, behind a header whose first word is a map that all code has, and whose
 * second leads to what is known of the code (in V8 10 that is the header itself); there stands,
 * again, where the instructions begin. Code of WebAssembly has no header; where it begins is known
 * by its first bytes. Which function it is the recorder finds out.
 *
 * Sources: src/objects/{code,instruction-stream}.h of V8 10.2, 11.3, 12.4, 13.6, 14.6.
 */
#ifndef EBPROF_NODE_CODE_BPF_H
#define EBPROF_NODE_CODE_BPF_H

#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/known_code.bpf.h"
#include "bpf/runtime/node/node_object.bpf.h"
#include "bpf/runtime/node/node_row.h"
#include "bpf/scratch.bpf.h"

#include <bpf/bpf_helpers.h>

#if defined(__TARGET_ARCH_x86)
#include "bpf/runtime/node/node_x86_64.bpf.h"
#elif defined(__TARGET_ARCH_arm64)
#include "bpf/runtime/node/node_arm64.bpf.h"
#endif

enum {
	NODE_CODE_WORDS = 8,      /* of Code that are read, */
	NODE_CODE_HEAD_WORDS = 4, /* ... and of what instructions begin behind */
	NODE_PAGE_SHIFT = 12,
	NODE_PIECES = 256,                                /* of WINDOW_BYTES that are searched */
	NODE_STARTS = WINDOW_BYTES / NODE_CODE_ALIGNMENT, /* in each */
	NODE_CODE_KIND = 15,                              /* of the flags */
	NODE_OPTIMIZED_KINDS = 2,
};

static __always_inline __u32 node_code_u32(const struct node_walk *node, __u32 offset)
{
	__u64 word = node->object[offset / 8 % NODE_OBJECT_WORDS];
	return offset & 4 ? word >> 32 : word;
}

static __always_inline enum node_code_kind node_kind_of(const struct node_row *row, __u32 flags)
{
	__u32 kind = flags & NODE_CODE_KIND, behind = kind - row->baseline_kind;
	if (kind == row->regexp_kind)
		return NODE_CODE_REGEXP;
	if (!behind)
		return NODE_CODE_BASELINE;
	return behind <= NODE_OPTIMIZED_KINDS ? NODE_CODE_OPTIMIZED : NODE_CODE_NONE;
}

/*
 * Makes the code at hand whose instructions begin there, and that has the address. 0: none does;
 * negative: some code does, without the address. All that is said of it is read anew, so it does
 * not matter what was there before.
 */
__noinline int node_try_code(__u64 start, __u64 address);
__noinline int node_try_code(__u64 start, __u64 address)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_NODE);
	if (!scratch || !runtime_may_try(&scratch->walk.runtime))
		return -1;
	const struct node_row *row = node_row(&scratch->walk.runtime);
	struct node_walk *node = node_walk(&scratch->walk.runtime);
	struct node_code *code = &node->code;
	__u64 head[2];
	if (bpf_probe_read_user(head, sizeof(head), (const void *)(start - row->code_header)) ||
		node_type_of_map(head[0]) != row->instructions_type)
		return 0;
	__u64 at = row->code_start ? head[1] : start - row->code_header + 1;
	if (!node_read_object(node, at, NODE_CODE_WORDS, row->code_type))
		return 0;
	__u64 begins = node->object[row->code_start / 8 % NODE_OBJECT_WORDS], moved = head[0];
	/* What was moved has in place of its map where it is now. Stacks may say so before Code
	 * does, or after it. */
	if (row->code_start && begins != start) {
		if ((moved & 1) && !read_word(begins - row->code_header, &moved))
			return 0;
		if (moved != (head[0] & 1 ? start : begins) - row->code_header)
			return 0;
	}
	node->code_object = at;
	code->start = start;
	code->size = node_code_u32(node, row->code_size);
	__u32 flags = node_code_u32(node, row->code_flags);
	code->kind = node_kind_of(row, flags);
	code->is_maglev = (flags & NODE_CODE_KIND) == row->baseline_kind + 1U;
	code->deopt_data = node->object[row->code_deopt / 8 % NODE_OBJECT_WORDS];
	code->positions = node->object[row->code_positions / 8 % NODE_OBJECT_WORDS];
	return address - start < code->size ? 1 : -1;
}

/* A map, or, of an object that is being moved, where it is now. */
static __always_inline bool node_is_map_word(__u64 word)
{
	return (word & 3) <= 1 && word >> 12 && !(word >> 48);
}

/* The code of WebAssembly that begins last in the window, at or ahead of an address, is at hand. 0:
 * none begins there. */
static __always_inline int node_search_wasm(struct scratch *scratch, __u64 piece, __u64 address)
{
	const struct node_row *row = node_row(&scratch->walk.runtime);
	struct node_code *code = &node_walk(&scratch->walk.runtime)->code;
	for (int i = NODE_STARTS - 1; i >= 0; i--) {
		__u64 at = i * NODE_CODE_ALIGNMENT;
		__u64 head = *(__u64 *)(scratch->walk.window.bytes + at);
		if (piece + at > address || !node_begins_wasm(head, row->wasm_frame))
			continue;
		code->start = piece + at;
		code->positions = head;
		return 1;
	}
	return 0;
}

/*
 * Tries what looks like code's beginning in a piece of memory, the last first. Negative: there is
 * none, or it cannot be read, so nothing ahead of it has the address. The walk's window is used
 * for it: there is no other room.
 */
__noinline int node_search_piece(__u64 piece, __u64 address, __u32 is_wasm);
__noinline int node_search_piece(__u64 piece, __u64 address, __u32 is_wasm)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_NODE);
	if (!scratch || !runtime_may_try(&scratch->walk.runtime))
		return -1;
	const struct node_row *row = node_row(&scratch->walk.runtime);
	struct window *window = &scratch->walk.window;
	__u32 first = -row->code_header & (NODE_CODE_ALIGNMENT - 1);
	window->address = 0;
	if (bpf_probe_read_user(window->bytes, WINDOW_BYTES, (const void *)piece))
		return -1;
	if (is_wasm)
		return node_search_wasm(scratch, piece, address);
	int found = 0;
	for (int i = NODE_STARTS - 1; i >= 0 && !found; i--) {
		__u64 at = first + i * NODE_CODE_ALIGNMENT;
		asm volatile("" : "+r"(at)); /* or Linux 5.10 does not see the bounds */
		at &= WINDOW_BYTES - 8;
		__u64 start = piece + at + row->code_header;
		if (start > address || !node_is_map_word(*(__u64 *)(window->bytes + at)))
			continue;
		found = node_try_code(start, address);
	}
	return found;
}

/* Makes the code of WebAssembly at hand that begins there. 0: none does. */
__noinline int node_take_wasm(__u64 start);
__noinline int node_take_wasm(__u64 start)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_NODE);
	__u64 head = 0;
	if (!scratch || !read_word(start, &head) ||
		!node_begins_wasm(head, node_row(&scratch->walk.runtime)->wasm_frame))
		return 0;
	struct node_code *code = &node_walk(&scratch->walk.runtime)->code;
	code->start = start;
	code->positions = head;
	return 1;
}

/* Where in the code of WebAssembly at hand the frame at hand is; 0: none is at hand. */
__noinline int node_place_in_wasm(void);
__noinline int node_place_in_wasm(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_NODE);
	if (!scratch)
		return 0;
	const struct walk *walk = &scratch->walk;
	const struct node_code *code = &node_walk(&walk->runtime)->code;
	__u32 is_leaf = walk->is_exact;
	__u32 place = (walk->regs.ip - !is_leaf - code->start) & (RUNTIME_FRAME_IS_LEAF - 1);
	return code->start ? place | is_leaf * RUNTIME_FRAME_IS_LEAF : 0;
}

/* The same as node_try_code() of code that had an address near this one. */
__noinline int node_try_near(__u64 page, __u64 address);
__noinline int node_try_near(__u64 page, __u64 address)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_NODE);
	const struct known_code *near = scratch ? known_code(scratch, page) : 0;
	return near && near->place == page ? node_try_code(near->start, address) : 0;
}

/*
 * Makes the code at hand that an address lies in, of WebAssembly or JavaScript. 0: there is none. A
 * function's code may be of any size, so it is looked for far back, once: then it is known where
 * code began that had an address near this one.
 */
__noinline int node_find_code(__u64 address, __u32 is_wasm);
__noinline int node_find_code(__u64 address, __u32 is_wasm)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_NODE);
	if (!scratch)
		return 0;
	__u64 process = mix(scratch->walk.runtime.process, is_wasm);
	__u64 place = mix(process, address / NODE_CODE_ALIGNMENT);
	struct known_code *known = known_code(scratch, place);
	if (!known || known->place == without_known_code(scratch, place))
		return 0;
	if (known->place == place &&
		(is_wasm ? node_take_wasm(known->start) : node_try_code(known->start, address) > 0))
		return 1;
	__u64 page = mix(~process, address >> NODE_PAGE_SHIFT);
	int found = node_try_near(page, address);
	__u64 piece = address & ~(__u64)(WINDOW_BYTES - 1);
	if (found < 0)
		found = 0;
	for (int i = 0; i < NODE_PIECES && !found; i++) {
		found = node_search_piece(piece, address, is_wasm);
		piece -= WINDOW_BYTES;
		asm volatile("" : "+r"(piece)); /* or it is counted again from `i` each time */
	}
	keep_known_code(known,
		found > 0                     ? place
		: scratch->walk.runtime.tries ? without_known_code(scratch, place)
					      : 0,
		node_walk(&scratch->walk.runtime)->code.start);
	struct known_code *near = found > 0 && !is_wasm ? known_code(scratch, page) : 0;
	if (near)
		keep_known_code(near, page, node_walk(&scratch->walk.runtime)->code.start);
	return found > 0;
}

/* Makes the function at hand that the optimized code at hand was made for, by its own word. */
static __always_inline bool node_take_code_function(
	const struct node_row *row, struct node_walk *node)
{
	__u64 shared = 0;
	if (!node_is_pointer(node->code.deopt_data) ||
		!read_word(node->code.deopt_data - 1 + row->deopt_shared, &shared))
		return false;
	if (row->deopt_shared_is_wrapped &&
		(!node_is_pointer(shared) || !read_word(shared - 1 + 8, &shared)))
		return false;
	return node_take_shared(shared);
}

/* ---- code that was met before ---- */

/*
 * Where an address is in code that begins where it did and belongs to the Code that it did, and one
 * thing more is what it was, it is the same code, and need not be read anew. Of optimized code that
 * is the number that its isolate gave the optimization, which stands in its data for
 * deoptimization; nor is its function read then. Of baseline code it is the function, as the frame
 * has it, of which it is the code. In V8 10 Code and its instructions are one, so whose Code it is
 * says where they begin.
 */
struct node_met_code {
	__u64 key; /* mix(process, address without its lowest bits) */
	__u64 start, code_object;
	__u64 deopt_data; /* of baseline code the bytecodes */
	__u64 proof;      /* the number, or node_function_identity() */
	__u64 identity;   /* node_push_function()'s */
	__u64 kind;       /* enum node_code_kind */
};

enum {
	NODE_MET_CODES_SHIFT = 10,
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1 << NODE_MET_CODES_SHIFT); /* of each lane: set by the recorder */
	__type(key, __u32);
	__type(value, struct node_met_code);
} node_met_codes SEC(".maps");

static __always_inline __u64 node_met_key(const struct scratch *scratch, __u64 address)
{
	return mix(scratch->walk.runtime.process, address / NODE_CODE_ALIGNMENT);
}

static __always_inline struct node_met_code *node_find_met(const struct scratch *scratch, __u64 key)
{
	return known_slot_of_two(&node_met_codes, scratch, key, NODE_MET_CODES_SHIFT);
}

/* Where the number of an optimization stands: ahead of the outermost function. */
static __always_inline bool node_read_number(
	const struct node_row *row, __u64 deopt_data, __u64 *word)
{
	return read_word(deopt_data - 1 + row->deopt_shared - 8, word);
}

/* Whether the instructions that begin there still belong to this Code; in V8 10 that begins ahead
 * of them, and may have other data. A global function, which is verified once. */
__noinline int node_is_met_still(__u64 start, __u64 code_object, __u64 deopt_data);
__noinline int node_is_met_still(__u64 start, __u64 code_object, __u64 deopt_data)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_NODE);
	if (!scratch)
		return 0;
	const struct node_row *row = node_row(&scratch->walk.runtime);
	struct node_walk *node = node_walk(&scratch->walk.runtime);
	if (bpf_probe_read_user(node->object, NODE_CODE_HEAD_WORDS * 8,
		    (const void *)(start - row->code_header)) ||
		node_type_of_map(node->object[0]) != row->instructions_type)
		return 0;
	if (row->code_start)
		return node->object[1] == code_object;
	return node->object[row->code_deopt / 8 % NODE_OBJECT_WORDS] == deopt_data;
}

/* The frame at hand, which goes on at an address, was pushed by the code at hand. */
static __always_inline void node_keep_code(const struct scratch *scratch, __u64 address)
{
	const struct node_row *row = node_row(&scratch->walk.runtime);
	const struct node_walk *node = node_walk(&scratch->walk.runtime);
	const struct node_code *code = &node->code;
	__u64 proof = 0, key = node_met_key(scratch, address);
	struct node_met_code *met = node_find_met(scratch, key);
	if (!met || !node_is_pointer(code->deopt_data))
		return;
	if (code->kind == NODE_CODE_BASELINE)
		proof = node_function_identity(scratch);
	else if (!node_read_number(row, code->deopt_data, &proof) || !proof || (__u32)proof)
		return;
	met->start = code->start;
	met->code_object = node->code_object;
	met->deopt_data = code->deopt_data;
	met->proof = proof;
	met->identity = node->identity;
	met->kind = code->kind;
	met->key = key;
}

/* Pushes the frame at hand, which is of code that was met. 0: that has no number any more. Global,
 * as above. */
__noinline int node_push_met_code(__u64 identity, __u32 place);
__noinline int node_push_met_code(__u64 identity, __u32 place)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_NODE);
	__u32 number = scratch ? find_code(identity) : 0;
	if (!number)
		return 0;
	push_runtime_word(scratch, number, place);
	node_keep_known(
		scratch, node_walk(&scratch->walk.runtime)->key, runtime_word(number, place));
	return number;
}

/* Pushes the frame at hand, which goes on at an address, if it is of optimized code that was met
 * before. 0: it is not. */
__noinline int node_push_optimized(__u64 address);
__noinline int node_push_optimized(__u64 address)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_NODE);
	if (!scratch)
		return 0;
	const struct node_row *row = node_row(&scratch->walk.runtime);
	__u64 number = 0, key = node_met_key(scratch, address);
	const struct node_met_code *met = node_find_met(scratch, key);
	if (!met || met->key != key || met->kind != NODE_CODE_OPTIMIZED ||
		!node_is_met_still(met->start, met->code_object, met->deopt_data) ||
		!node_read_number(row, met->deopt_data, &number) || number != met->proof)
		return 0;
	return node_push_met_code(
		met->identity, (address - met->start) & (RUNTIME_FRAME_IS_LEAF - 1));
}

/*
 * The same of baseline code of the function at hand, whose frame is at hand, too. The function has
 * its baseline code, if it has any, in place of its bytecodes, which the frame has.
 */
__noinline int node_push_baseline(__u64 address);
__noinline int node_push_baseline(__u64 address)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_NODE);
	if (!scratch)
		return 0;
	const struct node_row *row = node_row(&scratch->walk.runtime);
	const struct node_walk *node = node_walk(&scratch->walk.runtime);
	__u64 key = node_met_key(scratch, address);
	const struct node_met_code *met = node_find_met(scratch, key);
	if (!met || met->key != key || met->kind != NODE_CODE_BASELINE ||
		met->code_object != node->shared[NODE_SHARED_DATA] ||
		met->deopt_data != node->frame[NODE_FRAME_BYTECODE] ||
		met->proof != node_function_identity(scratch) ||
		(row->code_start &&
			!node_is_met_still(met->start, met->code_object, met->deopt_data)))
		return 0;
	return node_push_met_code(
		met->identity, (address - met->start) & (RUNTIME_FRAME_IS_LEAF - 1));
}

#endif
