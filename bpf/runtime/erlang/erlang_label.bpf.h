/*
 * Which of Erlang's processes a thread runs, for labels: its identifier, as Erlang shows it, and
 * its registered name or else the function that it began with.
 *
 * A thread that runs processes, a scheduler, keeps what is known of it in a value of its own (of
 * pthread_setspecific()); there stand the thread's own pointer, which proves it, and the process at
 * hand. While a match program of ETS runs, a pseudo process is at hand; the real one is the only
 * one that this scheduler has, and a pointer to it is in a register or on the stack.
 *
 * Processes that a library function begins (gen_server and the like) all begin in
 * proc_lib:init_p(); that keeps which function it stands for in the process's dictionary.
 *
 * Sources: erts/emulator/beam/{erl_process,erl_process_dict,erl_term,register}.h and
 * erl_process_dict.c of OTP 25 to 27, lib/stdlib/src/proc_lib.erl; offsets as they were seen in
 * Debian's builds of OTP 25.2.3, 27.3.4 and 29.1.2.
 */
#ifndef EBPROF_ERLANG_LABEL_BPF_H
#define EBPROF_ERLANG_LABEL_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/label/label_record.bpf.h"
#if defined(__TARGET_ARCH_x86)
#include "bpf/runtime/erlang/erlang_x86_64.bpf.h"
#elif defined(__TARGET_ARCH_arm64)
#include "bpf/runtime/erlang/erlang_arm64.bpf.h"
#endif
#include "bpf/runtime/erlang/erlang_row.h"
#include "bpf/runtime/thread.bpf.h"
#include "bpf/scratch.bpf.h"

#include <bpf/bpf_helpers.h>

enum {
	ERLANG_LABEL_VALUES = 32, /* of a thread, in glibc's first block */
	ERLANG_LABEL_WORDS = 32,  /* of a stack, or of a dictionary, that are tried at once */
	ERLANG_LABEL_STACK_SEARCHED = 16, /* times that */
	ERLANG_LABEL_CHAIN = 4,           /* entries of a dictionary in one place */
	ERLANG_SCHEDULER_TYPE = 8,        /* behind the process at hand */
	ERLANG_LABEL_PROCESS_TAG = 3,     /* the low four bits of its first word */
	ERLANG_NAME_OF_REGISTERED = 32,

	ERLANG_DICTIONARY_SIZE = 8, /* offset of a u32: how many places it has */
	ERLANG_DICTIONARY_DATA = 24,
	ERLANG_TAG_MASK = 3, /* of a term */
	ERLANG_TAG_LIST = 1,
	ERLANG_TAG_BOXED = 2,
	ERLANG_SMALL_TAG = 0xf, /* the low four bits */
	ERLANG_PAIR = 2 << 6,   /* the first word of a tuple of two, */
	ERLANG_TRIPLE = 3 << 6, /* ... and of three */
};

/* What is read for a sample's labels: in its record's room. */
struct erlang_labels {
	struct erlang_row row;
	__u64 delta;
	__u64 self;    /* pthread_self() */
	__u64 data;    /* what is known of the thread's scheduler */
	__u64 process; /* at hand; 0: none */
	__u32 type;    /* enum event_label_scheduler */
	__u64 mfa[3];  /* what the process began with */
	__u64 values[2 * ERLANG_LABEL_VALUES];
};

_Static_assert(sizeof(struct erlang_labels) <= LABEL_ROOM_WORDS * 8, "it has room");

/* NULL: no labels of Erlang are wanted, and the verifier sees that nothing behind that can run. */
static __always_inline struct label_record *erlang_label_record(void)
{
	return wants_label(EVENT_LABEL_ERLANG_PID) || wants_label(EVENT_LABEL_ERLANG_PROCESS)
		       ? get_label_record()
		       : 0;
}

static __always_inline struct erlang_labels *erlang_labels_of(struct label_record *record)
{
	return (struct erlang_labels *)record->room;
}

/* ---- which process ---- */

/* Whether a value of the thread's is what it keeps of its scheduler: its process is taken then. */
__noinline int erlang_label_try_value(__u32 number);
__noinline int erlang_label_try_value(__u32 number)
{
	struct label_record *record = erlang_label_record();
	if (!record)
		return 0;
	struct erlang_labels *labels = erlang_labels_of(record);
	__u64 data = labels->values[(number * 2 + 1) & (2 * ERLANG_LABEL_VALUES - 1)];
	__u64 thread = 0, at_hand[2];
	if (!data || data & 63 || !read_word(data + labels->row.thread_at, &thread) ||
		thread != labels->self ||
		bpf_probe_read_user(
			at_hand, sizeof(at_hand), (const void *)(data + labels->row.current_at)) ||
		(__u32)at_hand[1] >= EVENT_LABEL_SCHEDULERS)
		return 0;
	labels->data = data;
	labels->process = at_hand[0];
	labels->type = at_hand[1];
	return 1;
}

/* 0: the thread is no scheduler. */
static __always_inline bool erlang_label_find_scheduler(struct erlang_labels *labels)
{
	labels->self = glibc_self(thread_pointer());
	if (bpf_probe_read_user(labels->values, sizeof(labels->values),
		    (const void *)(labels->self + GLIBC_FIRST_BLOCK)))
		return false;
	for (__u32 i = 0; i < ERLANG_LABEL_VALUES; i++)
		if (erlang_label_try_value(i))
			return true;
	return false;
}

/* The first word of a process: of a pseudo process all its bits but the tag are 1, or these 28. */
static __always_inline bool erlang_label_is_pseudo(__u64 id)
{
	return (__u32)id >> 4 == 0xfffffff;
}

/* Whether a word is the real process that the scheduler has; it is taken then. */
__noinline int erlang_label_try_process(__u64 word);
__noinline int erlang_label_try_process(__u64 word)
{
	struct label_record *record = erlang_label_record();
	if (!record)
		return 0;
	struct erlang_labels *labels = erlang_labels_of(record);
	__u64 id = 0, data = 0;
	if (word & 7 || !(word >> 20) || word >> UNWIND_ADDRESS_BITS ||
		!read_word(word + labels->row.scheduler_at, &data) || data != labels->data ||
		!read_word(word, &id) || erlang_label_is_pseudo(id) ||
		(id & 15) != ERLANG_LABEL_PROCESS_TAG)
		return 0;
	labels->process = word;
	return 1;
}

/* ... a word of the stack, of ERLANG_LABEL_WORDS. */
__noinline int erlang_label_search_words(__u64 from);
__noinline int erlang_label_search_words(__u64 from)
{
	__u64 word = 0;
	int is_found = 0;
	for (int i = 0; i < ERLANG_LABEL_WORDS && !is_found; i++)
		is_found = read_word(from + i * 8, &word) && erlang_label_try_process(word);
	return is_found;
}

static __always_inline bool erlang_label_search(const struct scratch *scratch)
{
	__u64 from = scratch->leaf.reg[UNWIND_SP];
	if (erlang_label_try_process(scratch->leaf.reg[ERLANG_PROCESS_REGISTER]))
		return true;
	for (int i = 0; i < ERLANG_LABEL_STACK_SEARCHED; i++)
		if (erlang_label_search_words(from + i * ERLANG_LABEL_WORDS * 8))
			return true;
	return false;
}

/* ---- its name ---- */

/* Where the text of an atom is, and of how many bytes; 0 bytes: it cannot be read. */
static __always_inline __u64 erlang_label_atom(
	const struct erlang_labels *labels, __u64 atom, __u64 *text)
{
	__u64 segments = 0, segment = 0, entry = 0;
	__u32 index = atom >> ERLANG_ATOM_SHIFT;
	__s16 len = 0;
	if (!erlang_is_atom(atom) || !read_word(labels->row.atoms - labels->delta, &segments) ||
		!read_word(segments + (index >> ERLANG_ATOM_SEGMENT_SHIFT) * 8, &segment) ||
		!read_word(
			segment + (index & ((1 << ERLANG_ATOM_SEGMENT_SHIFT) - 1)) * 8, &entry) ||
		!read_word(entry + ERLANG_ATOM_TEXT, text) ||
		bpf_probe_read_user(&len, sizeof(len), (const void *)(entry + ERLANG_ATOM_LEN)) ||
		len <= 0)
		return 0;
	if (labels->row.flags & ERLANG_BOXED_ATOMS)
		*text = (*text & ~3ULL) + ERLANG_BOXED_TEXT;
	return len;
}

__noinline int erlang_label_append_atom(__u64 atom);
__noinline int erlang_label_append_atom(__u64 atom)
{
	struct label_record *record = erlang_label_record();
	if (!record)
		return 0;
	__u64 text = 0, bytes = erlang_label_atom(erlang_labels_of(record), atom, &text);
	return bytes && label_append(text, bytes);
}

union erlang_label_text { /* filled up with zeros */
	char bytes[16];
	__u64 words[2];
};

/* Whether an atom is this text, of so many bytes. */
static __always_inline bool erlang_label_is_atom(
	const struct erlang_labels *labels, __u64 atom, union erlang_label_text text, __u32 bytes)
{
	union erlang_label_text found = {.words = {0, 0}};
	__u64 at = 0;
	return erlang_label_atom(labels, atom, &at) == bytes &&
	       !bpf_probe_read_user(found.bytes, bytes, (const void *)at) &&
	       found.words[0] == text.words[0] && found.words[1] == text.words[1];
}

/* Takes the function from an entry of a dictionary, {'$initial_call', {M, F, A}}. */
__noinline int erlang_label_try_entry(__u64 term);
__noinline int erlang_label_try_entry(__u64 term)
{
	const union erlang_label_text key = {"$initial_call"};
	struct label_record *record = erlang_label_record();
	__u64 pair[3], triple[4];
	if (!record || (term & ERLANG_TAG_MASK) != ERLANG_TAG_BOXED)
		return 0;
	struct erlang_labels *labels = erlang_labels_of(record);
	if (bpf_probe_read_user(pair, sizeof(pair), (const void *)(term & ~3ULL)) ||
		pair[0] != ERLANG_PAIR || (pair[2] & ERLANG_TAG_MASK) != ERLANG_TAG_BOXED ||
		!erlang_label_is_atom(labels, pair[1], key, sizeof("$initial_call") - 1) ||
		bpf_probe_read_user(triple, sizeof(triple), (const void *)(pair[2] & ~3ULL)) ||
		triple[0] != ERLANG_TRIPLE || (triple[3] & 15) != ERLANG_SMALL_TAG)
		return 0;
	labels->mfa[0] = triple[1];
	labels->mfa[1] = triple[2];
	labels->mfa[2] = triple[3] >> 4;
	return 1;
}

/* ... from those in a place, a tuple or a list of tuples. */
__noinline int erlang_label_try_place(__u64 at);
__noinline int erlang_label_try_place(__u64 at)
{
	__u64 term = 0, cell[2];
	if (!read_word(at, &term))
		return 0;
	for (int i = 0; i < ERLANG_LABEL_CHAIN; i++) {
		if ((term & ERLANG_TAG_MASK) != ERLANG_TAG_LIST)
			return erlang_label_try_entry(term);
		if (bpf_probe_read_user(cell, sizeof(cell), (const void *)(term & ~3ULL)))
			return 0;
		if (erlang_label_try_entry(cell[0]))
			return 1;
		term = cell[1];
	}
	return 0;
}

/* What a process of a library function stands for, where that is known. */
static __always_inline void erlang_label_take_library_call(struct erlang_labels *labels)
{
	__u64 dictionary = 0;
	__u32 places = 0;
	if (!read_word(labels->process + labels->row.dictionary_at, &dictionary) || !dictionary ||
		bpf_probe_read_user(&places, sizeof(places),
			(const void *)(dictionary + ERLANG_DICTIONARY_SIZE)))
		return;
	dictionary += ERLANG_DICTIONARY_DATA;
	for (__u32 i = 0; i < ERLANG_LABEL_WORDS && i < places; i++)
		if (erlang_label_try_place(dictionary + i * 8))
			return;
}

/* "lists:map/2". Returns 0 where it cannot be read. */
static __always_inline bool erlang_label_append_call(
	struct label_record *record, const struct erlang_labels *labels)
{
	__u32 arity = labels->mfa[2];
	if (labels->mfa[2] > ERLANG_MAX_ARITY || !erlang_label_append_atom(labels->mfa[0]))
		return false;
	label_append_character(record, ':');
	if (!erlang_label_append_atom(labels->mfa[1]))
		return false;
	label_append_character(record, '/');
	if (arity >= 100)
		label_append_character(record, '0' + arity / 100);
	if (arity >= 10)
		label_append_character(record, '0' + arity / 10 % 10);
	label_append_character(record, '0' + arity % 10);
	return true;
}

/* The registered name, or what the process began with. */
__noinline int erlang_label_put_name(void);
__noinline int erlang_label_put_name(void)
{
	const union erlang_label_text library = {"proc_lib"}, function = {"init_p"};
	struct label_record *record = erlang_label_record();
	if (!record)
		return 0;
	struct erlang_labels *labels = erlang_labels_of(record);
	__u64 registered = 0, name = 0;
	label_begin_text(record);
	if (read_word(labels->process + labels->row.registered_at, &registered) && registered &&
		read_word(registered + ERLANG_NAME_OF_REGISTERED, &name) &&
		erlang_label_append_atom(name))
		return label_put_appended(EVENT_LABEL_ERLANG_PROCESS);
	label_begin_text(record);
	if (bpf_probe_read_user(labels->mfa, sizeof(labels->mfa),
		    (const void *)(labels->process + labels->row.initial_at))) {
		record->flags |= EVENT_LABELS_UNREAD;
		return 0;
	}
	if (erlang_label_is_atom(labels, labels->mfa[0], library, sizeof("proc_lib") - 1) &&
		erlang_label_is_atom(labels, labels->mfa[1], function, sizeof("init_p") - 1))
		erlang_label_take_library_call(labels);
	if (erlang_label_append_call(record, labels))
		return label_put_appended(EVENT_LABEL_ERLANG_PROCESS);
	record->flags |= EVENT_LABELS_UNREAD;
	return 0;
}

/* ---- the hook ---- */

/* The number and the serial number that Erlang shows. */
static __always_inline void erlang_label_put_id(
	struct label_record *record, const struct erlang_labels *labels, __u64 id)
{
	__u64 data = id >> (labels->row.id_shift & 63), bits = labels->row.id_bits & 31;
	__u64 serial = data >> bits;
	if (bits < 28) /* 28 of both */
		serial &= (1 << (28 - bits)) - 1;
	label_put_word(record, EVENT_LABEL_ERLANG_PID, EVENT_LABEL_NUMBER,
		(data & ((1ULL << bits) - 1)) | serial << 32);
}

static __always_inline void erlang_put_labels(
	struct label_record *record, const struct scratch *scratch, struct erlang_labels *labels)
{
	__u64 id = 0;
	if (!erlang_label_find_scheduler(labels))
		return;
	if (!labels->process) {
		if (wants_label(EVENT_LABEL_ERLANG_PROCESS))
			label_put_word(record, EVENT_LABEL_ERLANG_PROCESS, EVENT_LABEL_NUMBER,
				labels->type);
		return;
	}
	if (!read_word(labels->process, &id) ||
		(erlang_label_is_pseudo(id) &&
			(!erlang_label_search(scratch) || !read_word(labels->process, &id))) ||
		(id & 15) != ERLANG_LABEL_PROCESS_TAG) {
		record->flags |= EVENT_LABELS_UNREAD;
		return;
	}
	if (wants_label(EVENT_LABEL_ERLANG_PID) && labels->row.id_bits)
		erlang_label_put_id(record, labels, id);
	if (wants_label(EVENT_LABEL_ERLANG_PROCESS))
		erlang_label_put_name();
}

static __always_inline void erlang_labels(
	struct label_record *record, const struct runtime_row *it, __u64 delta)
{
	const struct scratch *scratch = get_scratch();
	if (!it || it->kind != RUNTIME_ERLANG || !erlang_label_record() || !scratch)
		return;
	struct erlang_labels *labels = erlang_labels_of(record);
	__builtin_memcpy(&labels->row, it->words, sizeof(labels->row));
	labels->delta = delta;
	if (labels->row.is_complete)
		erlang_put_labels(record, scratch, labels);
	else
		record->flags |= EVENT_LABELS_UNKNOWN;
}

#endif
