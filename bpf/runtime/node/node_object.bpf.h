/*
 * Objects of V8 that lead from a frame to its function, and the numbers of functions.
 *
 * Sources: src/objects/{js-function,shared-function-info,script,string}.tq of V8 10.2, 11.3, 12.4,
 * 13.6, 14.6.
 */
#ifndef EBPROF_NODE_OBJECT_BPF_H
#define EBPROF_NODE_OBJECT_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/known_slot.bpf.h"
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

	NODE_MAP_TYPE = 12,      /* of a map: its objects' instance type */
	NODE_FUNCTION_WORDS = 5, /* that are read; a JSFunction has more */
	NODE_SHARED_WORDS = 8,
	NODE_SHARED_DATA = 1, /* word: its bytecodes, while it has no baseline code */
	NODE_SCRIPT_NAME = 2, /* word */
	NODE_SCRIPT_ID = 8,
	NODE_SCRIPT_WORDS = 9,
	NODE_OBJECT_WORDS = 16, /* the most, and a power of two */
	NODE_SMI_SHIFT = 32,

	NODE_STRING_LENGTH = 12,
	NODE_STRING_CHARACTERS = 16,
	NODE_LAST_STRING = 127, /* instance types of strings are the lowest */
	NODE_STRING_SHAPE = 7,
	NODE_STRING_IS_SEQUENTIAL = 0,
	NODE_STRING_IS_ONE_BYTE = 8,
	NODE_MAX_CHARACTERS = 255,
	NODE_SCOPE_INLINED_LOCALS = 75, /* of a ScopeInfo; more have their names in a table */
	NODE_SCOPE_WORDS = 3,           /* that are looked at behind them */

	NODE_CODE_BYTES = 64, /* instructions that are looked at at once */
};

struct node_walk {
	__u64 frame[NODE_FRAME_WORDS];
	__u64 object[NODE_OBJECT_WORDS]; /* that was read last */
	__u64 shared[NODE_SHARED_WORDS];
	__u8 bytes[NODE_CODE_BYTES + 8]; /* of code */
	struct node_code code;           /* at hand, with the function at hand */
	__u64 name;                      /* the SharedFunctionInfo's name or scope info */
	__u64 script;                    /* its Script, if it has one */
	__u64 code_object;               /* the pointer to the Code at hand */
	__u64 identity;                  /* of what was pushed last */
	__u64 key;                       /* node_key() of the frame at hand */
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

/* ---- types ---- */

/*
 * The instance types of the maps that were met. Those of SharedFunctionInfo, Script, BytecodeArray,
 * Code and InstructionStream are roots of the virtual machine: they neither move nor die. Those of
 * functions may, and another map may come to be there; but what is read of a function is believed
 * for what it leads to, a SharedFunctionInfo.
 */
struct node_known_map {
	__u64 key; /* mix(process, map) */
	__u64 type;
};

enum {
	NODE_KNOWN_MAPS_SHIFT = 7,
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1 << NODE_KNOWN_MAPS_SHIFT); /* of each lane: set by the recorder */
	__type(key, __u32);
	__type(value, struct node_known_map);
} node_known_maps SEC(".maps");

static __always_inline bool node_is_pointer(__u64 word)
{
	return (word & 3) == 1 && word >> 12 && !(word >> 48);
}

static __always_inline bool node_keeps_type(const struct node_row *row, __u32 type)
{
	return (type >= row->first_function && type <= row->last_function) ||
	       type == row->shared_type || type == row->script_type ||
	       type == row->bytecode_array_type || type == row->code_type ||
	       type == row->instructions_type;
}

/*
 * The instance type of an object by its first word; negative: it is none. While objects are moved,
 * that word may say where its object is now.
 */
__noinline int node_type_of_map(__u64 map);
__noinline int node_type_of_map(__u64 map)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_NODE);
	__u16 type = 0;
	if (!scratch || (!(map & 3) && map && !read_word(map, &map)) || !node_is_pointer(map))
		return -1;
	__u64 key = mix(scratch->walk.runtime.process, map);
	struct node_known_map *known =
		known_slot(&node_known_maps, scratch, key, NODE_KNOWN_MAPS_SHIFT);
	if (!known)
		return -1;
	if (known->key == key)
		return known->type;
	if (bpf_probe_read_user(&type, sizeof(type), (const void *)(map - 1 + NODE_MAP_TYPE)))
		return -1;
	if (node_keeps_type(node_row(&scratch->walk.runtime), type)) {
		known->type = type;
		known->key = key;
	}
	return type;
}

/* The same of a pointer. */
static __always_inline int node_type_of(__u64 pointer)
{
	__u64 map = 0;
	if (!node_is_pointer(pointer) || !read_word(pointer - 1, &map))
		return -1;
	return node_type_of_map(map);
}

/* Reads the first words of an object; 0: it is not of this type. */
static __always_inline bool node_read_object(
	struct node_walk *node, __u64 pointer, __u32 words, int type)
{
	return node_is_pointer(pointer) &&
	       !bpf_probe_read_user(node->object, words * 8, (const void *)(pointer - 1)) &&
	       node_type_of_map(node->object[0]) == type;
}

/* ---- what the walk has read ---- */

/*
 * What was read in this walk, the same thread at the same moment: the words that were pushed of
 * frames, and the numbers of scripts. A function that calls itself, and functions of one script,
 * are not read anew for each frame. The next walk reads all again: objects move, and others come
 * to be where they were.
 */
struct node_known {
	__u64 key; /* node_key() of what was read */
	__u64 value;
};

enum {
	NODE_KNOWN_SHIFT = 9,
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1 << NODE_KNOWN_SHIFT); /* of each lane: set by the recorder */
	__type(key, __u32);
	__type(value, struct node_known);
} node_known SEC(".maps");

static __always_inline __u64 node_key(const struct scratch *scratch, __u64 what)
{
	__u64 walk = mix(scratch->walk.runtime.process, scratch->sample.tid);
	return mix(mix(walk, scratch->sample.time_ns), what);
}

/* 0: it was not read in this walk. */
static __always_inline __u64 node_find_known(const struct scratch *scratch, __u64 key)
{
	const struct node_known *known = known_slot(&node_known, scratch, key, NODE_KNOWN_SHIFT);
	return known && known->key == key ? known->value : 0;
}

static __always_inline void node_keep_known(const struct scratch *scratch, __u64 key, __u64 value)
{
	struct node_known *known = known_slot(&node_known, scratch, key, NODE_KNOWN_SHIFT);
	if (known) {
		known->value = value;
		known->key = key;
	}
}

/* ---- functions ---- */

/*
 * Makes a SharedFunctionInfo the function at hand, by its script and its place there. 0: it is
 * none.
 */
__noinline int node_take_shared(__u64 shared);
__noinline int node_take_shared(__u64 shared)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_NODE);
	if (!scratch)
		return 0;
	const struct node_row *row = node_row(&scratch->walk.runtime);
	struct node_walk *node = node_walk(&scratch->walk.runtime);
	struct node_function *function = &node->code.function;
	if (!node_is_pointer(shared) ||
		bpf_probe_read_user(
			node->shared, sizeof(node->shared), (const void *)(shared - 1)) ||
		node_type_of_map(node->shared[0]) != row->shared_type)
		return 0;
	function->shared = shared;
	node->name = node->shared[row->shared_name / 8 % NODE_SHARED_WORDS];
	__u64 script = node->shared[row->shared_script / 8 % NODE_SHARED_WORDS];
	function->literal_id = node->shared[row->shared_flags / 8 % NODE_SHARED_WORDS] >> 32;
	__u64 key = node_key(scratch, script);
	function->script_id = node_find_known(scratch, key);
	node->script = script;
	if (!function->script_id &&
		node_read_object(node, script, NODE_SCRIPT_WORDS, row->script_type)) {
		function->script_id = node->object[NODE_SCRIPT_ID] >> NODE_SMI_SHIFT;
		node_keep_known(scratch, key, function->script_id);
	}
	return 1;
}

/* The same of a JSFunction. */
__noinline int node_take_function(__u64 pointer);
__noinline int node_take_function(__u64 pointer)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_NODE);
	if (!scratch)
		return 0;
	const struct node_row *row = node_row(&scratch->walk.runtime);
	struct node_walk *node = node_walk(&scratch->walk.runtime);
	if (!node_is_pointer(pointer) || bpf_probe_read_user(node->object, NODE_FUNCTION_WORDS * 8,
						 (const void *)(pointer - 1)))
		return 0;
	int type = node_type_of_map(node->object[0]);
	return type >= row->first_function && type <= row->last_function &&
	       node_take_shared(node->object[row->function_shared / 8 % NODE_OBJECT_WORDS]);
}

/* ---- sending ---- */

/*
 * What the name leads to where it is a ScopeInfo: the first string behind its variables. How many
 * these are, and where they begin, stands ahead of them.
 */
__noinline int node_take_scope_name(__u64 scope);
__noinline int node_take_scope_name(__u64 scope)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_NODE);
	if (!scratch)
		return 0;
	const struct node_row *row = node_row(&scratch->walk.runtime);
	struct node_walk *node = node_walk(&scratch->walk.runtime);
	__u64 locals = 0, first = 0;
	node->name = 0;
	if (node_type_of(scope) != row->scope_info_type ||
		!read_word(scope - 1 + 8 + 8 * row->scope_locals, &locals) ||
		!read_word(scope - 1 + 8 + 8 * row->scope_first, &first))
		return 0;
	locals >>= NODE_SMI_SHIFT;
	__u64 at =
		row->scope_first + (locals < NODE_SCOPE_INLINED_LOCALS ? 2 * locals : locals + 1);
	if (locals && !(__u32)first)
		at++; /* a module has the number of its variables ahead of the locals */
	if (bpf_probe_read_user(node->object, NODE_SCOPE_WORDS * 8,
		    (const void *)(scope - 1 + 8 + 8 * (at & 0xffffff))))
		return 0;
	__u32 length = 0;
	node->name = node->object[0];
	/* Behind an empty name and its number: what the function was assigned to. */
	if (!bpf_probe_read_user(
		    &length, sizeof(length), (const void *)(node->name - 1 + NODE_STRING_LENGTH)) &&
		!length && !(__u32)node->object[1])
		node->name = node->object[2];
	return 0;
}

/* Texts where they are strings that lie there as they are; the recorder reads others. */
__noinline int node_append_string(__u32 at, __u32 what, __u64 string);
__noinline int node_append_string(__u32 at, __u32 what, __u64 string)
{
	__u32 length = 0;
	int type = node_type_of(string);
	if (type < 0 || type > NODE_LAST_STRING ||
		(type & NODE_STRING_SHAPE) != NODE_STRING_IS_SEQUENTIAL ||
		!(type & NODE_STRING_IS_ONE_BYTE) ||
		bpf_probe_read_user(
			&length, sizeof(length), (const void *)(string - 1 + NODE_STRING_LENGTH)))
		length = 0;
	return append_text(at, what, string - 1 + NODE_STRING_CHARACTERS, length,
		what == RUNTIME_TEXT_NAME ? NODE_MAX_CHARACTERS : RUNTIME_MAX_FILE_BYTES);
}

#define NODE_PUT_NAME(record, name) \
	do { \
		(record)->head.bytes[RUNTIME_TEXT_NAME] = sizeof(name) - 1; \
		__builtin_memcpy((record)->text, name, sizeof(name) - 1); \
	} while (0)

/*
 * Code of no function of JavaScript has a name of ours. Nothing leads from the code of a regular
 * expression to its text; from that of WebAssembly the recorder finds the function.
 */
static __always_inline __u32 node_send_other(struct scratch *scratch, struct runtime_record *record,
	enum node_code_kind kind, __u64 identity)
{
	struct event_code *head = &record->head;
	struct node_walk *node = node_walk(&scratch->walk.runtime);
	head->unit[0] = RUNTIME_UNIT_UTF8;
	head->version = RUNTIME_VERSION_LINES;
	for (int i = 0; i < RUNTIME_TEXTS; i++)
		head->bytes[i] = head->whole_bytes[i] = head->address[i] = 0;
	if (kind == NODE_CODE_REGEXP)
		NODE_PUT_NAME(record, "(regular expression)");
	else if (kind == NODE_CODE_WASM)
		NODE_PUT_NAME(record, "(WebAssembly)");
	else
		NODE_PUT_NAME(record, "(V8)");
	if (kind == NODE_CODE_WASM && node->code.start) {
		head->address[RUNTIME_TEXT_LINES] = node->code.start;
		head->bytes[RUNTIME_TEXT_LINES] = sizeof(node->code);
		__builtin_memcpy(record->text + head->bytes[RUNTIME_TEXT_NAME], &node->code,
			sizeof(node->code));
		return send_marked_code(scratch, record,
			head->bytes[RUNTIME_TEXT_NAME] + sizeof(node->code), false, identity,
			CODE_IS_INLINED);
	}
	return send_marked_code(scratch, record, head->bytes[RUNTIME_TEXT_NAME], true, identity,
		kind == NODE_CODE_OTHER ? CODE_IS_OF_RUNTIME : 0);
}

/*
 * What tells the code at hand apart wherever it and its data are moved: its function, size, and the
 * first numbers of its data for deoptimization, which say among others how often its isolate had
 * optimized, how many calls it makes, and where the first of them return to. 0: it is no such code,
 * or cannot be read.
 */
__noinline __u64 node_content(__u64 function);
__noinline __u64 node_content(__u64 function)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_NODE);
	if (!scratch)
		return 0;
	struct node_walk *node = node_walk(&scratch->walk.runtime);
	const struct node_code *code = &node->code;
	__u64 content = mix(mix(function, code->size), code->kind + (code->is_maglev << 8));
	if (code->kind == NODE_CODE_BASELINE)
		return content;
	if (code->kind != NODE_CODE_OPTIMIZED || !node_is_pointer(code->deopt_data) ||
		bpf_probe_read_user(
			node->object, sizeof(node->object), (const void *)(code->deopt_data - 1)))
		return 0;
	for (int i = 1; i < NODE_OBJECT_WORDS; i++)
		if (!(__u32)node->object[i]) /* a number: addresses would change */
			content = mix(content, node->object[i]);
	return content;
}

/* By script and place there; both are an isolate's own, as each thread has one. */
static __always_inline __u64 node_function_identity(const struct scratch *scratch)
{
	const struct node_function *function = &node_walk(&scratch->walk.runtime)->code.function;
	__u64 identity = mix(scratch->walk.runtime.process, scratch->sample.tid);
	identity = mix(identity, (__u64)function->script_id << 32 | function->literal_id);
	/* That of a builtin has no script, and does not move. */
	return function->script_id ? identity : mix(identity, function->shared);
}

/* The name of the script of the function at hand; 0: it has none. */
static __always_inline __u64 node_script_name(struct scratch *scratch)
{
	const struct node_row *row = node_row(&scratch->walk.runtime);
	struct node_walk *node = node_walk(&scratch->walk.runtime);
	bool has_script = node_read_object(node, node->script, NODE_SCRIPT_WORDS, row->script_type);
	return has_script ? node->object[NODE_SCRIPT_NAME] : 0;
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
	head->unit[0] = head->unit[1] = 1; /* Latin-1 */
	head->version = node_row(&scratch->walk.runtime)->version;
	head->first_line = 0;
	if (node->code.kind >= NODE_CODE_REGEXP)
		return node_send_other(scratch, record, node->code.kind, identity);
	if (node_is_pointer(node->name) && node_type_of(node->name) > NODE_LAST_STRING)
		node_take_scope_name(node->name);
	__u64 at = node_append_string(0, RUNTIME_TEXT_NAME, node->name);
	asm volatile("" : "+r"(at));
	if (!at) { /* an empty one, say; what the recorder reads takes its place */
		NODE_PUT_NAME(record, "(anonymous)");
		at = head->bytes[RUNTIME_TEXT_NAME];
	}
	at = node_append_string(at, RUNTIME_TEXT_FILE, node_script_name(scratch));
	for (int i = 0; i < RUNTIME_TEXTS; i++) {
		head->address[i] = 0;
		head->whole_bytes[i] = head->bytes[i];
	}
	node->code.function.row = *node_row(&scratch->walk.runtime);
	head->content = node_content(node_function_identity(scratch));
	head->address[RUNTIME_TEXT_LINES] = node->code.function.shared;
	head->bytes[RUNTIME_TEXT_LINES] = sizeof(node->code);
	head->whole_bytes[RUNTIME_TEXT_LINES] = 0;
	asm volatile("" : "+r"(at));
	if (at > RUNTIME_MAX_NAME_BYTES + RUNTIME_MAX_FILE_BYTES)
		return 0;
	__builtin_memcpy(record->text + at, &node->code, sizeof(node->code));
	return send_marked_code(scratch, record, at + sizeof(node->code), false, identity,
		CODE_IS_INLINED | CODE_HAS_CONTENT);
}

/*
 * Pushes the function at hand, or the code at hand; returns its number, 0: it has none. Objects
 * move, so a function goes by its script and its place there. Code goes by where it is, too: what
 * is made in its place later has other data, or is of another function.
 */
__noinline int node_push_function(__u32 place);
__noinline int node_push_function(__u32 place)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_NODE);
	if (!scratch)
		return 0;
	struct node_walk *node = node_walk(&scratch->walk.runtime);
	struct node_code *code = &node->code;
	__u64 identity = node_function_identity(scratch);
	if (code->kind >= NODE_CODE_REGEXP) {
		identity = mix(scratch->walk.runtime.process, scratch->sample.tid);
		identity = mix(identity, code->kind);
	}
	bool is_wasm = code->kind == NODE_CODE_WASM && code->start;
	if (is_wasm || code->kind == NODE_CODE_BASELINE || code->kind == NODE_CODE_OPTIMIZED) {
		identity = mix(mix(identity, code->start), code->size);
		identity = mix(mix(identity, code->deopt_data), code->positions);
	}
	node->identity = identity;
	__u32 number = find_code(identity);
	if (!number)
		number = node_send_function(identity);
	if (number)
		push_runtime_word(scratch, number, place);
	else
		push_runtime_failure(scratch, LAYOUT_SCRIPT_NO_NUMBER);
	return number;
}

#endif
