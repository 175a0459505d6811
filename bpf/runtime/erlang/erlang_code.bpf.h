/*
 * Whose code an address is: BEAM keeps modules in tables by address, a module's head has the
 * addresses of its functions, and ahead of each function stands what it is called. Ahead of all
 * modules is code that they share, the emulator's own: pieces of instructions, and what processes
 * begin and end in.
 *
 * A module may be unloaded and another one loaded at its place, with the same size even. So what
 * was found of an address counts only while the table still has the module there, and the module
 * has the same MD5.
 *
 * Sources: erts/emulator/beam/{beam_ranges.c,beam_code.h,code_ix.h,atom.h,index.h} of OTP 25 to
 * 27; what differs in 29 was seen there.
 */
#ifndef EBPROF_ERLANG_CODE_BPF_H
#define EBPROF_ERLANG_CODE_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/erlang/erlang_row.h"
#include "bpf/runtime/known_slot.bpf.h"
#include "bpf/runtime/runtime_code.bpf.h"
#include "bpf/runtime/runtime_process.bpf.h"
#include "bpf/runtime/thread.bpf.h"
#include "bpf/scratch.bpf.h"

#include <bpf/bpf_helpers.h>

enum {
	ERLANG_TABLES = 3,
	ERLANG_TABLE_WORDS = 4,   /* {array, used, allocated, the one found last} */
	ERLANG_TABLES_WORDS = 16, /* a power of two: an index is masked */
	ERLANG_MODULE_BYTES = 16,
	ERLANG_MAX_MODULES_SHIFT = 20,
	ERLANG_MAX_FUNCTIONS_SHIFT = 16,
	ERLANG_MD5_BELOW = 16, /* of a head's functions: the pointer to the MD5 */

	ERLANG_INFO_MFA = 16, /* of a code info: module, function, arity */
	ERLANG_INFO_BYTES = 40,
	ERLANG_ATOM_TAG = 0xb,
	ERLANG_ATOM_TAG_MASK = 0x3f,
	ERLANG_ATOM_SHIFT = 6,
	ERLANG_ATOM_SEGMENT_SHIFT = 10,
	ERLANG_ATOM_LEN = 24,
	ERLANG_ATOM_TEXT = 32, /* the pointer */
	ERLANG_BOXED_TEXT = 16,
	ERLANG_MAX_ATOM_BYTES = 252,
	ERLANG_MAX_ARITY = 255,

	ERLANG_SHARED_BYTES = 64 << 10, /* of shared code, ahead of a module, at most */

	ERLANG_STOP = 88, /* offset in a process: the saved stack pointer */
	ERLANG_MAX_STACK = 64 << 20,
	ERLANG_CODE_BYTES = 512,     /* read of code: a power of two, an index is masked */
	ERLANG_FRAME_SEARCHED = 504, /* of these, ahead of an address */

	ERLANG_TRIES_A_NAME = 8, /* what sending one counts for, see runtime_may_try(), */
	ERLANG_TRIES_A_SCAN = 4, /* ... and going on where a frame was not found at once */
};

enum erlang_code_kind {
	ERLANG_NO_CODE = 0,
	ERLANG_FUNCTION, /* of a module */
	ERLANG_SHARED,
	ERLANG_EXIT, /* shared code that processes return to at their end */
};

/* Where the stack of a process is, by code behind a call of C. */
enum erlang_switch {
	ERLANG_SWITCH_UNKNOWN = 0,
	ERLANG_SWITCH_REGISTER,  /* in a register that callees preserve */
	ERLANG_SWITCH_PROCESS,   /* in the process, ERLANG_STOP */
	ERLANG_SWITCH_SCHEDULER, /* nowhere: the next process was just found */
};

/* What is known of an address of code. */
struct erlang_code {
	__u64 place;          /* mix(process, address) */
	__u64 module, info;   /* where its module begins, and its function's code info */
	__u64 md5_at, md5[2]; /* of the module */
	/* Where the module stands: in which table, and in that. Of shared code, in each of the
	 * tables how many modules are ahead of it. */
	__u32 index[ERLANG_TABLES + 1]; /* a power of two */
	__u32 table;
	__u32 number; /* of the function; 0: it has none yet */
	__u32 kind;   /* enum erlang_code_kind */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1 << 11); /* of each lane: set by the recorder */
	__type(key, __u32);
	__type(value, struct erlang_code);
} erlang_known_codes SEC(".maps");

enum {
	ERLANG_KNOWN_CODES_SHIFT = 11,
};

struct erlang_walk {
	__u64 word;     /* of a stack, that was found last */
	__u64 stack;    /* the next slot of the Erlang stack at hand, */
	__u64 expected; /* ... and the return address below it; 0: there is no such stack */
	__u64 base; /* where the scheduler's own data begin, at the end of its stack; 0: unknown */
	__u64 link; /* what shared code on the scheduler's stack returns to; 0: there is none */
	__u64 process; /* struct process, as far as it was needed */
	__u64 tables[ERLANG_TABLES_WORDS];
	__u64 low, high;         /* all code is within that */
	struct erlang_code code; /* at hand */
	__u64 pair[4];
	__u64 search[2]; /* what is searched, from and to: of numbers in memory the verifier knows
			    no bounds, by which it would tell each way through the search apart */
	__u64 mfa[3], kept[3]; /* words that are of use for a while */
	struct erlang_code kept_code;
	struct erlang_function given;
	__u64 block[65]; /* of the thread's values, or of code */
};

_Static_assert(sizeof(struct erlang_walk) <= RUNTIME_WALK_WORDS * 8, "it has room in a walk");

static __always_inline struct erlang_walk *erlang_walk(const struct runtime_walk *runtime)
{
	return (struct erlang_walk *)runtime->words;
}

static __always_inline const struct erlang_row *erlang_row(const struct runtime_walk *runtime)
{
	return (const struct erlang_row *)runtime->row.words;
}

static __always_inline bool erlang_may_be_code(const struct walk *walk, __u64 word)
{
	const struct erlang_walk *erlang = erlang_walk(&walk->runtime);
	return word >= erlang->low && word < erlang->high;
}

/* ---- modules ---- */

static __always_inline __u64 erlang_table_word(
	const struct erlang_walk *erlang, __u32 table, __u32 word)
{
	__u64 at = table * ERLANG_TABLE_WORDS + word;
	asm volatile("" : "+r"(at));
	return erlang->tables[at & (ERLANG_TABLES_WORDS - 1)];
}

static __always_inline __u64 erlang_module_at(
	const struct erlang_walk *erlang, __u32 table, __u64 index)
{
	return erlang_table_word(erlang, table, 0) + index * ERLANG_MODULE_BYTES;
}

static __always_inline __u64 erlang_module_count(const struct erlang_walk *erlang, __u32 table)
{
	return erlang_table_word(erlang, table, 1);
}

/* The tables as they are now. 0: there are no modules. */
__noinline int erlang_read_tables(void);
__noinline int erlang_read_tables(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_ERLANG);
	if (!scratch)
		return 0;
	const struct runtime_walk *runtime = &scratch->walk.runtime;
	struct erlang_walk *erlang = erlang_walk(runtime);
	__u64 at = erlang_row(runtime)->ranges - runtime->delta, end[2];
	erlang->low = erlang->high = 0;
	if (bpf_probe_read_user(
		    erlang->tables, ERLANG_TABLES * ERLANG_TABLE_WORDS * 8, (const void *)at))
		return 0;
	for (__u32 i = 0; i < ERLANG_TABLES; i++) {
		__u64 count = erlang_module_count(erlang, i);
		if (!count || !read_word(erlang_module_at(erlang, i, 0), &at) ||
			bpf_probe_read_user(end, sizeof(end),
				(const void *)erlang_module_at(erlang, i, count - 1)))
			continue;
		erlang->low = erlang->low && erlang->low < at ? erlang->low : at;
		erlang->high = erlang->high > end[1] ? erlang->high : end[1];
	}
	if (erlang->low)
		erlang->low -= ERLANG_SHARED_BYTES;
	return erlang->low != 0;
}

/*
 * The module that has an address, by one of the tables: it is at hand then. 0: none has; how many
 * are ahead of it is there then.
 */
__noinline int erlang_search_table(__u64 address, __u32 table);
__noinline int erlang_search_table(__u64 address, __u32 table)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_ERLANG);
	if (!scratch)
		return 0;
	struct erlang_walk *erlang = erlang_walk(&scratch->walk.runtime);
	volatile __u64 *search = erlang->search;
	search[0] = 0;
	search[1] = erlang_module_count(erlang, table);
	for (int i = 0; i <= ERLANG_MAX_MODULES_SHIFT; i++) {
		__u64 low = search[0], high = search[1], middle = (low + high) / 2;
		if (low >= high)
			break;
		if (bpf_probe_read_user(erlang->pair, ERLANG_MODULE_BYTES,
			    (const void *)erlang_module_at(erlang, table, middle)))
			return 0;
		if (address < erlang->pair[0]) {
			search[1] = middle;
		} else if (address >= erlang->pair[1]) {
			search[0] = middle + 1;
		} else {
			erlang->code.module = erlang->pair[0];
			erlang->code.table = table;
			erlang->code.index[0] = middle;
			return 1;
		}
	}
	erlang->code.index[table & ERLANG_TABLES] = search[0];
	return 0;
}

/* The function of the module at hand that has an address: it is at hand then. 0: none has. */
__noinline int erlang_search_functions(__u64 address);
__noinline int erlang_search_functions(__u64 address)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_ERLANG);
	if (!scratch)
		return 0;
	struct erlang_walk *erlang = erlang_walk(&scratch->walk.runtime);
	__u64 high = 0,
	      functions = erlang->code.module + erlang_row(&scratch->walk.runtime)->functions_at;
	if (!read_word(erlang->code.module, &high) ||
		!read_word(functions - ERLANG_MD5_BELOW, &erlang->code.md5_at) ||
		bpf_probe_read_user(erlang->code.md5, sizeof(erlang->code.md5),
			(const void *)erlang->code.md5_at))
		return 0;
	volatile __u64 *search = erlang->search;
	search[0] = 0;
	search[1] = high;
	for (int i = 0; i <= ERLANG_MAX_FUNCTIONS_SHIFT; i++) {
		__u64 low = search[0], middle = (low + search[1]) / 2;
		if (low >= search[1])
			return 0;
		if (bpf_probe_read_user(erlang->pair, 16, (const void *)(functions + middle * 8)))
			return 0;
		if (address < erlang->pair[0]) {
			search[1] = middle;
		} else if (address >= erlang->pair[1]) {
			search[0] = middle + 1;
		} else {
			erlang->code.info = erlang->pair[0];
			erlang->code.kind = ERLANG_FUNCTION;
			return 1;
		}
	}
	return 0;
}

/* Whether processes return to the byte behind `place` at their end: ahead of it stands what it is.
 */
static __always_inline bool erlang_is_exit(const struct erlang_row *row, __u64 place)
{
	__u64 mfa[3];
	return !bpf_probe_read_user(mfa, sizeof(mfa),
		       (const void *)(place + 1 - (ERLANG_INFO_BYTES - ERLANG_INFO_MFA))) &&
	       mfa[0] == row->own_module && mfa[1] == row->normal_exit && !mfa[2];
}

/* Whether an address that no module has is of shared code: the next module is near. */
static __always_inline bool erlang_is_shared(struct erlang_walk *erlang, __u64 address)
{
	for (__u32 table = 0; table < ERLANG_TABLES; table++) {
		__u64 next = 0;
		__u64 index = erlang->code.index[table & ERLANG_TABLES];
		if (index < erlang_module_count(erlang, table) &&
			read_word(erlang_module_at(erlang, table, index), &next) &&
			next > address && next - address <= ERLANG_SHARED_BYTES)
			return true;
	}
	return false;
}

/* Makes the code that has an address that at hand, by the tables. */
__noinline int erlang_search_code(__u64 address);
__noinline int erlang_search_code(__u64 address)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_ERLANG);
	if (!scratch)
		return 0;
	struct erlang_walk *erlang = erlang_walk(&scratch->walk.runtime);
	erlang->code.kind = ERLANG_NO_CODE;
	erlang->code.number = 0;
	erlang->code.info = 0;
	/* Where code is loaded, or was unloaded, tables differ. */
	for (__u32 table = 0; table < ERLANG_TABLES; table++)
		if (erlang_search_table(address, table) && erlang_search_functions(address))
			return 1;
	if (erlang_is_exit(erlang_row(&scratch->walk.runtime), address))
		erlang->code.kind = ERLANG_EXIT;
	else if (erlang_is_shared(erlang, address))
		erlang->code.kind = ERLANG_SHARED;
	return 1;
}

/* Whether no module that a table has now has the address of the shared code at hand. */
static __always_inline bool erlang_is_unused(struct erlang_walk *erlang, __u32 table, __u64 address)
{
	__u64 index = erlang->code.index[table & ERLANG_TABLES];
	__u64 *pair = erlang->pair;
	if (!erlang_module_count(erlang, table))
		return true;
	if (index >= erlang_module_count(erlang, table))
		return false;
	if (!index)
		return read_word(erlang_module_at(erlang, table, 0), pair) && address < pair[0];
	return !bpf_probe_read_user(pair, 2 * ERLANG_MODULE_BYTES,
		       (const void *)erlang_module_at(erlang, table, index - 1)) &&
	       address >= pair[1] && address < pair[2];
}

/* Whether the code at hand is what it was: nothing else was loaded there. */
static __always_inline bool erlang_is_same(
	const struct erlang_row *row, struct erlang_walk *erlang, __u64 address)
{
	const struct erlang_code *code = &erlang->code;
	__u64 at = erlang_module_at(erlang, code->table, code->index[0]), md5 = 0;
	if (code->kind == ERLANG_EXIT)
		return erlang_is_exit(row, address);
	if (code->kind == ERLANG_SHARED)
		return erlang_is_unused(erlang, 0, address) &&
		       erlang_is_unused(erlang, 1, address) && erlang_is_unused(erlang, 2, address);
	return code->index[0] < erlang_module_count(erlang, code->table) &&
	       !bpf_probe_read_user(erlang->pair, ERLANG_MODULE_BYTES, (const void *)at) &&
	       erlang->pair[0] == code->module && address < erlang->pair[1] &&
	       read_word(code->md5_at, &md5) && md5 == code->md5[0];
}

static __always_inline struct erlang_code *erlang_code_slot(
	const struct scratch *scratch, __u64 place)
{
	return known_slot(&erlang_known_codes, scratch, place, ERLANG_KNOWN_CODES_SHIFT);
}

/* Makes the code that has an address that at hand. Its enum erlang_code_kind. */
__noinline int erlang_take_code(__u64 address);
__noinline int erlang_take_code(__u64 address)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_ERLANG);
	if (!scratch)
		return ERLANG_NO_CODE;
	struct erlang_walk *erlang = erlang_walk(&scratch->walk.runtime);
	__u64 place = mix(scratch->walk.runtime.process, address);
	struct erlang_code *known = erlang_code_slot(scratch, place);
	if (known && known->place == place) {
		erlang->code = *known;
		if (erlang_is_same(erlang_row(&scratch->walk.runtime), erlang, address))
			return erlang->code.kind;
	}
	erlang_search_code(address);
	erlang->code.place = place;
	if (known && erlang->code.kind != ERLANG_NO_CODE)
		*known = erlang->code;
	return erlang->code.kind;
}

/* ---- names ---- */

static __always_inline bool erlang_is_atom(__u64 term)
{
	return (term & ERLANG_ATOM_TAG_MASK) == ERLANG_ATOM_TAG && !(term >> 32);
}

/* Puts an atom behind the `at` bytes that there are already; returns how many there are then. */
__noinline int erlang_append_atom(__u32 at, __u64 atom);
__noinline int erlang_append_atom(__u32 at, __u64 atom)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_ERLANG);
	if (!scratch)
		return at;
	const struct runtime_walk *runtime = &scratch->walk.runtime;
	const struct erlang_row *row = erlang_row(runtime);
	__u64 segments = 0, segment = 0, entry = 0, text = 0;
	__u32 index = atom >> ERLANG_ATOM_SHIFT;
	__s16 len = 0;
	if (!erlang_is_atom(atom) || !read_word(row->atoms - runtime->delta, &segments) ||
		!read_word(segments + (index >> ERLANG_ATOM_SEGMENT_SHIFT) * 8, &segment) ||
		!read_word(
			segment + (index & ((1 << ERLANG_ATOM_SEGMENT_SHIFT) - 1)) * 8, &entry) ||
		!read_word(entry + ERLANG_ATOM_TEXT, &text) ||
		bpf_probe_read_user(&len, sizeof(len), (const void *)(entry + ERLANG_ATOM_LEN)) ||
		len <= 0)
		return at;
	if (row->flags & ERLANG_BOXED_ATOMS)
		text = (text & ~3ULL) + ERLANG_BOXED_TEXT;
	return append_text(at, RUNTIME_TEXT_NAME, text, len, ERLANG_MAX_ATOM_BYTES);
}

/* Puts one character there. */
static __always_inline __u32 erlang_append_character(
	struct runtime_record *record, __u32 at, char character)
{
	__u64 place = at;
	asm volatile("" : "+r"(place));
	if (place < RUNTIME_MAX_NAME_BYTES)
		record->text[place] = character;
	return at + 1;
}

/* "lists:map/2", of the function at hand. Returns how many bytes there are. */
static __always_inline __u32 erlang_append_name(
	struct erlang_walk *erlang, struct runtime_record *record)
{
	__u64 *mfa = erlang->mfa;
	if (bpf_probe_read_user(mfa, sizeof(erlang->mfa),
		    (const void *)(erlang->code.info + ERLANG_INFO_MFA)) ||
		mfa[2] > ERLANG_MAX_ARITY)
		return 0;
	__u32 arity = mfa[2], at = erlang_append_atom(0, mfa[0]);
	if (!at)
		return 0;
	__u32 colon = at, name = erlang_append_character(record, at, ':');
	at = erlang_append_atom(name, mfa[1]);
	if (at == name && colon)
		return 0;
	at = erlang_append_character(record, at, '/');
	if (arity >= 100)
		at = erlang_append_character(record, at, '0' + arity / 100);
	if (arity >= 10)
		at = erlang_append_character(record, at, '0' + arity / 10 % 10);
	return erlang_append_character(record, at, '0' + arity % 10);
}

/* The function at hand, with what leads to its lines. */
__noinline int erlang_send_function(__u64 identity);
__noinline int erlang_send_function(__u64 identity)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_ERLANG);
	struct runtime_record *record = get_runtime_record(scratch);
	if (!scratch || !record)
		return 0;
	const struct runtime_walk *runtime = &scratch->walk.runtime;
	const struct erlang_row *row = erlang_row(runtime);
	struct erlang_walk *erlang = erlang_walk(runtime);
	struct event_code *head = &record->head;
	head->unit[0] = head->unit[1] = RUNTIME_UNIT_UTF8;
	head->version = row->version;
	head->first_line = 0;
	__u64 at = erlang_append_name(erlang, record);
	head->address[RUNTIME_TEXT_NAME] = head->address[RUNTIME_TEXT_FILE] = 0;
	head->bytes[RUNTIME_TEXT_NAME] = head->whole_bytes[RUNTIME_TEXT_NAME] = at;
	head->bytes[RUNTIME_TEXT_FILE] = head->whole_bytes[RUNTIME_TEXT_FILE] = 0;
	erlang->given = (struct erlang_function){.module = erlang->code.module,
		.info = erlang->code.info,
		.atoms = row->atoms - runtime->delta,
		.md5_at = erlang->code.md5_at,
		.md5 = {erlang->code.md5[0], erlang->code.md5[1]},
		.functions_at = row->functions_at,
		.flags = row->flags};
	head->address[RUNTIME_TEXT_LINES] = erlang->code.info;
	head->bytes[RUNTIME_TEXT_LINES] = sizeof(erlang->given);
	head->whole_bytes[RUNTIME_TEXT_LINES] = 0;
	asm volatile("" : "+r"(at));
	if (!at || at > RUNTIME_MAX_NAME_BYTES)
		return 0;
	__builtin_memcpy(record->text + at, &erlang->given, sizeof(erlang->given));
	return send_marked_code(
		scratch, record, at + sizeof(erlang->given), false, identity, CODE_IS_INLINED);
}

/* Shared code, by the name that the emulator has for all of it. */
__noinline int erlang_send_shared(__u64 identity);
__noinline int erlang_send_shared(__u64 identity)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_ERLANG);
	struct runtime_record *record = get_runtime_record(scratch);
	if (!scratch || !record)
		return 0;
	struct event_code *head = &record->head;
	head->unit[0] = head->unit[1] = RUNTIME_UNIT_UTF8;
	head->version = RUNTIME_VERSION_LINES; /* it has none */
	head->first_line = 0;
	for (int i = 0; i < RUNTIME_TEXTS; i++)
		head->address[i] = head->bytes[i] = head->whole_bytes[i] = 0;
	__u32 at = erlang_append_atom(0, erlang_row(&scratch->walk.runtime)->own_module);
	return send_marked_code(scratch, record, at, true, identity, CODE_IS_OF_RUNTIME);
}

/* ---- frames ---- */

/*
 * Pushes the code at hand, at an address of it. A function goes by its module's contents, not by
 * where it lies alone.
 */
__noinline int erlang_push_code(__u64 address, __u32 is_leaf);
__noinline int erlang_push_code(__u64 address, __u32 is_leaf)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_ERLANG);
	if (!scratch)
		return 0;
	struct erlang_code *code = &erlang_walk(&scratch->walk.runtime)->code;
	bool is_function = code->kind == ERLANG_FUNCTION;
	__u32 number = code->number, place = address - code->info;
	if (!number) {
		__u64 identity = mix(scratch->walk.runtime.process, is_function ? code->info : 0);
		if (is_function)
			identity = mix(mix(identity, code->md5[0]), code->md5[1]);
		number = find_code(identity);
		if (!number && is_function &&
			runtime_may_try_as(&scratch->walk.runtime, ERLANG_TRIES_A_NAME))
			number = erlang_send_function(identity);
		if (!number && !is_function)
			number = erlang_send_shared(identity);
		struct erlang_code *known = erlang_code_slot(scratch, code->place);
		if (known && known->place == code->place)
			known->number = number;
	}
	place = is_function ? (place & (RUNTIME_FRAME_IS_LEAF - 1)) |
				      (is_leaf ? RUNTIME_FRAME_IS_LEAF : 0)
			    : 0;
	if (number)
		push_runtime_word(scratch, number, place);
	else
		push_runtime_failure(scratch, LAYOUT_SCRIPT_NO_NUMBER);
	return 0;
}

#endif
