/*
 * V8 of Node.js. Functions of JavaScript run as bytecodes, whose interpreter is one of many
 * builtins, and as code that three compilers make. Builtins are in the file, without call frame
 * information, or a copy of them is in memory of no file; code of the compilers is in no file. All
 * of it keeps frames by the frame pointer, and a function's frame has the function in it. What runs
 * without a frame of its own, a bytecode's handler say, runs on its caller's: so the frame that the
 * frame pointer leads to is that of the innermost function, wherever the thread was interrupted.
 *
 * Sources: src/execution/frame-constants.h, src/objects/{shared-function-info,script,string}.tq of
 * V8 10.2, 11.3, 12.4, 13.6; tools/gen-postmortem-metadata.py.
 */
#ifndef EBPROF_NODE_BPF_H
#define EBPROF_NODE_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/node/node_row.h"
#include "bpf/runtime/runtime_code.bpf.h"
#include "bpf/runtime/runtime_process.bpf.h"
#include "bpf/runtime/thread.bpf.h"
#include "bpf/scratch.bpf.h"

#include <bpf/bpf_helpers.h>

enum {
	/* Words around the frame pointer, the first of which is 5 below it. */
	NODE_FRAME_BELOW = 40,
	NODE_FRAME_OFFSET = 0,   /* of the bytecode, a small integer */
	NODE_FRAME_BYTECODE = 1, /* the array of them */
	NODE_FRAME_FUNCTION = 3,
	NODE_FRAME_MARKER = 4, /* the context, or, not a pointer, what kind of frame it is */
	NODE_FRAME_LINK = 5,
	NODE_FRAME_RETURN = 6,
	NODE_FRAME_WORDS = 7,
	NODE_MAX_MARKER = 128,
	NODE_MAX_DISTANCE = 1 << 20,

	NODE_MAP_TYPE = 12, /* of a map: its objects' instance type */
	NODE_SHARED_WORDS = 8,
	NODE_SCRIPT_ID = 64,
	NODE_SMI_SHIFT = 32,

	NODE_STRING_LENGTH = 12,
	NODE_STRING_CHARACTERS = 16,
	NODE_LAST_STRING = 127, /* instance types of strings are the lowest */
	NODE_STRING_SHAPE = 7,
	NODE_STRING_IS_SEQUENTIAL = 0,
	NODE_STRING_IS_ONE_BYTE = 8,
	NODE_MAX_CHARACTERS = 255,
};

struct node_walk {
	__u64 frame[NODE_FRAME_WORDS];
	__u64 shared[NODE_SHARED_WORDS];
	struct node_code code; /* with the function */
	__u64 code_at,
		start; /* of the optimized code at hand: its pointer, 0: none; instructions */
	__u32 size;
	__u64 name; /* the SharedFunctionInfo's name or scope info */
};

_Static_assert(sizeof(struct node_walk) <= RUNTIME_WALK_WORDS * 8, "it has room in a walk");

static __always_inline struct node_walk *node_walk(const struct runtime_walk *runtime)
{
	return (struct node_walk *)runtime->words;
}

static __always_inline const struct node_row *node_row(const struct runtime_walk *runtime)
{
	return (const struct node_row *)runtime->row.words;
}

/* ---- objects ---- */

static __always_inline bool node_is_pointer(__u64 word)
{
	return (word & 3) == 1 && word >> 12 && !(word >> 48);
}

/*
 * The instance type of an object; negative: it is none. While objects are moved, a map's word may
 * say where its object is now.
 */
__noinline int node_type_of(__u64 pointer);
__noinline int node_type_of(__u64 pointer)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_NODE);
	__u64 map = 0;
	__u16 type = 0;
	if (!scratch || !node_is_pointer(pointer) || !read_word(pointer - 1, &map))
		return -1;
	if (!(map & 3) && map && !read_word(map, &map))
		return -1;
	if (!node_is_pointer(map) ||
		bpf_probe_read_user(&type, sizeof(type), (const void *)(map - 1 + NODE_MAP_TYPE)))
		return -1;
	return type;
}

/* ---- functions ---- */

/* Makes the function of the frame at hand that at hand. 0: there is none. */
__noinline int node_take_function(__u64 pointer);
__noinline int node_take_function(__u64 pointer)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_NODE);
	if (!scratch)
		return 0;
	const struct node_row *row = node_row(&scratch->walk.runtime);
	struct node_walk *node = node_walk(&scratch->walk.runtime);
	struct node_function *function = &node->code.function;
	__u64 script_id = 0;
	int type = node_type_of(pointer);
	if (type < row->first_function || type > row->last_function ||
		!read_word(pointer - 1 + row->function_shared, &function->shared) ||
		node_type_of(function->shared) != row->shared_type ||
		bpf_probe_read_user(
			node->shared, sizeof(node->shared), (const void *)(function->shared - 1)))
		return 0;
	node->name = node->shared[row->shared_name / 8 % NODE_SHARED_WORDS];
	__u64 script = node->shared[row->shared_script / 8 % NODE_SHARED_WORDS];
	__u64 flags = node->shared[row->shared_flags / 8 % NODE_SHARED_WORDS];
	function->literal_id = flags >> 32;
	function->script_id = 0;
	if (node_type_of(script) == row->script_type &&
		read_word(script - 1 + NODE_SCRIPT_ID, &script_id))
		function->script_id = script_id >> NODE_SMI_SHIFT;
	return 1;
}

/* Where in its bytecodes the frame at hand is, if it runs as such; else 0. */
static __always_inline __u32 node_place(const struct node_row *row, const struct node_walk *node)
{
	__u64 offset = node->frame[NODE_FRAME_OFFSET];
	__u64 place = (offset >> NODE_SMI_SHIFT) - (row->bytecode_data - 1);
	if ((__u32)offset || place >= RUNTIME_FRAME_IS_LEAF ||
		node_type_of(node->frame[NODE_FRAME_BYTECODE]) != row->bytecode_array_type)
		return 0;
	return place;
}

/* The name, where it is a string that lies there as it is; the recorder reads others. */
static __always_inline __u32 node_append_name(const struct node_walk *node)
{
	__u32 length = 0;
	int type = node_type_of(node->name);
	if (type < 0 || type > NODE_LAST_STRING ||
		(type & NODE_STRING_SHAPE) != NODE_STRING_IS_SEQUENTIAL ||
		!(type & NODE_STRING_IS_ONE_BYTE) ||
		bpf_probe_read_user(&length, sizeof(length),
			(const void *)(node->name - 1 + NODE_STRING_LENGTH)))
		return append_text(0, RUNTIME_TEXT_NAME, 0, 0, NODE_MAX_CHARACTERS);
	return append_text(0, RUNTIME_TEXT_NAME, node->name - 1 + NODE_STRING_CHARACTERS, length,
		NODE_MAX_CHARACTERS);
}

/* The function at hand, or the code that it and others were made to. */
__noinline int node_send_function(__u64 identity);
__noinline int node_send_function(__u64 identity)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_NODE);
	struct runtime_record *record = get_runtime_record(scratch);
	if (!scratch || !record)
		return 0;
	struct event_code *head = &record->head;
	struct node_walk *node = node_walk(&scratch->walk.runtime);
	head->unit[0] = 1; /* Latin-1 */
	head->unit[1] = RUNTIME_UNIT_UTF8;
	head->version = node_row(&scratch->walk.runtime)->version;
	head->first_line = 0;
	__u64 at = node_append_name(node);
	head->address[RUNTIME_TEXT_NAME] = head->address[RUNTIME_TEXT_FILE] = 0;
	head->bytes[RUNTIME_TEXT_FILE] = head->whole_bytes[RUNTIME_TEXT_FILE] = 0;
	head->whole_bytes[RUNTIME_TEXT_NAME] = head->bytes[RUNTIME_TEXT_NAME];
	node->code.function.row = *node_row(&scratch->walk.runtime);
	head->is_inlined = true;
	head->address[RUNTIME_TEXT_LINES] = node->code.function.shared;
	head->bytes[RUNTIME_TEXT_LINES] = sizeof(node->code);
	head->whole_bytes[RUNTIME_TEXT_LINES] = 0;
	asm volatile("" : "+r"(at));
	if (at > RUNTIME_MAX_NAME_BYTES)
		return 0;
	__builtin_memcpy(record->text + at, &node->code, sizeof(node->code));
	__u32 number = send_code(scratch, record, at + sizeof(node->code), false, identity);
	head->is_inlined = false; /* the next one's, which may be another runtime's */
	return number;
}

/*
 * Pushes the function at hand, or the code at hand. Objects move, so a function goes by its script
 * and its place there, whose numbers are an isolate's own: each thread has one.
 */
__noinline int node_push_function(__u32 place);
__noinline int node_push_function(__u32 place)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_NODE);
	if (!scratch)
		return 0;
	struct node_walk *node = node_walk(&scratch->walk.runtime);
	const struct node_function *function = &node->code.function;
	__u64 identity = mix(scratch->walk.runtime.process, scratch->sample.tid);
	identity = mix(identity, (__u64)function->script_id << 32 | function->literal_id);
	if (!function->script_id) /* of a builtin, which does not move */
		identity = mix(identity, function->shared);
	if (node->code_at) {
		identity = mix(mix(identity, node->start), node->size);
		identity = mix(identity, node->code.deopt_data);
	} else {
		node->code.deopt_data = 0;
	}
	__u32 number = find_code(identity);
	if (!number)
		number = node_send_function(identity);
	if (number)
		push_runtime_word(scratch, number, place);
	else
		push_runtime_failure(scratch, LAYOUT_SCRIPT_NO_NUMBER);
	return 0;
}

/* ---- code ---- */

enum {
	NODE_CODE_ALIGNMENT = 64,
	NODE_SEARCHED = 16, /* places at once where code may begin, ... */
	NODE_SEARCHES = 32, /* ... so often, further and further back: 32 KiB */
	NODE_WITHOUT_CODE_SHIFT = 27,
	NODE_CODE_KIND = 15, /* of the flags */
	NODE_OPTIMIZED_KINDS = 2,
};

/* Where code began that an address was in, when it was looked for last. */
struct node_known_code {
	__u64 place; /* mix(process, address without its lowest bits) */
	__u64 start;
};

enum {
	NODE_KNOWN_CODES_SHIFT = 10,
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1 << NODE_KNOWN_CODES_SHIFT); /* of each lane: set by the recorder */
	__type(key, __u32);
	__type(value, struct node_known_code);
} node_known_codes SEC(".maps");

/*
 * Makes the code at hand whose instructions begin there, and that has the address. 0: none does;
 * negative: some code does, without the address.
 */
__noinline int node_try_code(__u64 start, __u64 address);
__noinline int node_try_code(__u64 start, __u64 address)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_NODE);
	if (!scratch)
		return 0;
	const struct node_row *row = node_row(&scratch->walk.runtime);
	struct node_walk *node = node_walk(&scratch->walk.runtime);
	__u64 head[2], is_at = 0;
	if (bpf_probe_read_user(head, sizeof(head), (const void *)(start - row->code_header)) ||
		!node_is_pointer(head[0]) ||
		node_type_of(start - row->code_header + 1) != row->instructions_type)
		return 0;
	node->code_at = row->code_start ? head[1] : start - row->code_header + 1;
	if (row->code_start &&
		(node_type_of(node->code_at) != row->code_type ||
			!read_word(node->code_at - 1 + row->code_start, &is_at) || is_at != start))
		return 0;
	node->start = start;
	if (bpf_probe_read_user(&node->size, sizeof(node->size),
		    (const void *)(node->code_at - 1 + row->code_size)))
		return 0;
	return address - start < node->size ? 1 : -1;
}

/* The same of the places from `start` on backwards. A global function: it is verified once. */
__noinline int node_search_code(__u64 start, __u64 address);
__noinline int node_search_code(__u64 start, __u64 address)
{
	int found = 0;
	for (int i = 0; i < NODE_SEARCHED && !found; i++)
		found = node_try_code(start - i * NODE_CODE_ALIGNMENT, address);
	return found;
}

/* The code that an address lies in, if a compiler has optimized it; it is at hand. */
__noinline int node_find_code(__u64 address);
__noinline int node_find_code(__u64 address)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_NODE);
	if (!scratch)
		return 0;
	const struct node_row *row = node_row(&scratch->walk.runtime);
	struct node_walk *node = node_walk(&scratch->walk.runtime);
	__u64 place = mix(scratch->walk.runtime.process, address / NODE_CODE_ALIGNMENT);
	__u32 slot = (place >> (64 - NODE_KNOWN_CODES_SHIFT)) +
		     (scratch->lane << NODE_KNOWN_CODES_SHIFT);
	struct node_known_code *known = bpf_map_lookup_elem(&node_known_codes, &slot);
	__u32 flags = 0;
	/* Where none was found there is none for a while. */
	__u64 nowhere = mix(place, scratch->sample.time_ns >> NODE_WITHOUT_CODE_SHIFT);
	if (!known || known->place == nowhere)
		return 0;
	int found = known->place == place ? node_try_code(known->start, address) : 0;
	__u64 start = address & ~(__u64)(NODE_CODE_ALIGNMENT - 1);
	if (found <= 0) {
		found = 0;
		for (int i = 0; i < NODE_SEARCHES && !found; i++)
			found = node_search_code(
				start - i * NODE_SEARCHED * NODE_CODE_ALIGNMENT, address);
		known->place = 0;
		known->start = node->start;
		known->place = found > 0 ? place : nowhere;
	}
	if (found <= 0 || bpf_probe_read_user(&flags, sizeof(flags),
				  (const void *)(node->code_at - 1 + row->code_flags)))
		return 0;
	__u32 kind = (flags & NODE_CODE_KIND) - row->baseline_kind;
	return kind && kind <= NODE_OPTIMIZED_KINDS &&
	       read_word(node->code_at - 1 + row->code_deopt, &node->code.deopt_data) &&
	       read_word(node->code_at - 1 + row->code_positions, &node->code.positions);
}

/* ---- frames ---- */

static __always_inline bool node_claims_anonymous(struct scratch *scratch)
{
	return find_known_runtime(scratch, RUNTIME_NODE);
}

/* Whether the frame pointer leads to a frame of V8; it is at hand then. */
static __always_inline bool node_read_frame(const struct walk *walk, struct node_walk *node)
{
	__u64 fp = walk->regs.reg[UNWIND_FP], sp = walk->regs.reg[UNWIND_SP];
	if (!(walk->regs.known >> UNWIND_FP & 1) || fp & 7 || fp + 16 < sp ||
		fp - sp + 16 > NODE_MAX_DISTANCE ||
		bpf_probe_read_user(
			node->frame, sizeof(node->frame), (const void *)(fp - NODE_FRAME_BELOW)))
		return false;
	__u64 marker = node->frame[NODE_FRAME_MARKER];
	return node_is_pointer(marker) || (!(marker & 1) && marker < NODE_MAX_MARKER);
}

/* Where in its bytecodes or its code the function at hand is. */
static __always_inline __u32 node_place_of_frame(
	const struct walk *walk, struct node_walk *node, bool is_leaf)
{
	const struct node_row *row = node_row(&walk->runtime);
	__u32 place = node_place(row, node);
	node->code_at = 0;
	if (place || walk->mapping.kind != EVENT_FRAME_ANONYMOUS || !row->code_header)
		return place;
	if (node_find_code(walk->regs.ip - !is_leaf)) {
		place = walk->regs.ip - !is_leaf - node->start;
		return (place & (RUNTIME_FRAME_IS_LEAF - 1)) |
		       (is_leaf ? RUNTIME_FRAME_IS_LEAF : 0);
	}
	node->code_at = 0;
	return 0;
}

static __always_inline enum runtime_leave node_leave_jit(struct scratch *scratch)
{
	struct walk *walk = &scratch->walk;
	struct node_walk *node = node_walk(&walk->runtime);
	bool is_builtin = walk->mapping.kind == EVENT_FRAME_FILE, is_leaf = walk->is_exact;
	if (!take_known_runtime(scratch, RUNTIME_NODE) || !node_read_frame(walk, node))
		return RUNTIME_STAYS;
	bool has_function = node_is_pointer(node->frame[NODE_FRAME_MARKER]);
	if (has_function && !node_take_function(node->frame[NODE_FRAME_FUNCTION]))
		return RUNTIME_STAYS;
	if (is_builtin && (is_leaf || !has_function))
		push_frame(scratch, walk->regs.ip - !is_leaf);
	if (has_function)
		node_push_function(node_place_of_frame(walk, node, is_leaf));
	walk->regs.ip = node->frame[NODE_FRAME_RETURN];
	walk->regs.reg[UNWIND_SP] = walk->regs.reg[UNWIND_FP] + 16;
	walk->regs.reg[UNWIND_FP] = node->frame[NODE_FRAME_LINK];
	walk->regs.known = 1ULL << UNWIND_SP | 1ULL << UNWIND_FP;
	walk->is_exact = false;
	return RUNTIME_LEFT_UNSEEN;
}

/* ---- the row ---- */

static const struct runtime_hooks node_hooks = {
	.has_compiler = true,
	.has_builtins = true,
	.claims_anonymous = node_claims_anonymous,
	.leave_jit = node_leave_jit,
};

#endif
