/*
 * The labels of a sample, put together by what has some: label_put_text() and label_put_word().
 * What is not read or has no room is said in flags.
 */
#ifndef EBPROF_LABEL_RECORD_BPF_H
#define EBPROF_LABEL_RECORD_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/mapping.bpf.h"
#include "bpf/scratch.bpf.h"

#include <bpf/bpf_helpers.h>

enum {
	LABEL_WORD_BYTES = sizeof(__u64),
	LABEL_AT_MASK = EVENT_LABELS_MAX_BYTES - LABEL_WORD_BYTES, /* where a word may begin */
	/* One that begins before the end, and is put before its length is known to fit. */
	LABEL_SLACK_BYTES = sizeof(struct event_label) + 2 * EVENT_LABEL_MAX_TEXT_BYTES,
	LABEL_MAX_WORDS = LABEL_SLACK_BYTES / LABEL_WORD_BYTES,
	LABEL_ROOM_WORDS = 128,
};

struct label_record {
	struct event_labels head;
	__u8 bytes[EVENT_LABELS_MAX_BYTES + LABEL_SLACK_BYTES];
	__u64 sum;                    /* of the labels' hashes: in whichever order they come */
	__u32 flags;                  /* enum event_labels_flag */
	__u32 has_place;              /* which says something in this process alone */
	__u64 room[LABEL_ROOM_WORDS]; /* of who reads labels */
	/* A text that is put together, whose rest is zeros. */
	__u8 text[2 * EVENT_LABEL_MAX_TEXT_BYTES];
	__u64 text_bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1); /* lanes: set by the recorder */
	__type(key, __u32);
	__type(value, struct label_record);
} label_records SEC(".maps");

/* NULL where no labels are wanted: the verifier sees that what is behind that cannot run. */
static __always_inline struct label_record *get_label_record(void)
{
	struct scratch *scratch = config.label_sources ? get_scratch() : 0;
	if (!scratch)
		return 0;
	__u32 lane = scratch->lane;
	return bpf_map_lookup_elem(&label_records, &lane);
}

static __always_inline bool wants_label(enum event_label_source source)
{
	return config.label_sources >> source & 1;
}

static __always_inline void begin_labels(struct label_record *record)
{
	record->head.bytes = 0;
	record->sum = 0;
	record->flags = 0;
	record->has_place = false;
}

/* The label whose words are those from `at` to `end` is there. A global function, since the
 * verifier looks at it once. */
__noinline int label_add(__u32 at, __u32 end);
__noinline int label_add(__u32 at, __u32 end)
{
	struct label_record *record = get_label_record();
	if (!record)
		return 0;
	__u64 hash = 1;
	for (__u32 i = 0; i < LABEL_MAX_WORDS && at < end; i++, at += LABEL_WORD_BYTES)
		hash = mix(hash, *(__u64 *)(record->bytes + (at & LABEL_AT_MASK)));
	record->sum += hash;
	record->head.bytes = end;
	return 0;
}

static __always_inline __u32 label_padded(__u32 bytes)
{
	return (bytes + LABEL_WORD_BYTES - 1) & ~(LABEL_WORD_BYTES - 1);
}

/* False: it could not be read. What fills the last word up is zeros. */
static __always_inline bool read_label_text(
	struct label_record *record, __u32 at, __u64 from, __u32 bytes)
{
	__u64 to = at, count = bytes;
	asm volatile("" : "+r"(to), "+r"(count)); /* or clang thinks the bounds are known */
	if (!count)
		return true;
	if (count > EVENT_LABEL_MAX_TEXT_BYTES ||
		to > EVENT_LABELS_MAX_BYTES + EVENT_LABEL_MAX_TEXT_BYTES)
		return false;
	__u64 last = (to + count - 1) & ~(__u64)(LABEL_WORD_BYTES - 1);
	asm volatile("" : "+r"(last));
	if (last > EVENT_LABELS_MAX_BYTES + LABEL_SLACK_BYTES - LABEL_WORD_BYTES)
		return false;
	*(__u64 *)(record->bytes + last) = 0;
	return !bpf_probe_read_user(record->bytes + to, count, (const void *)from);
}

/* Both texts stand in the process. A global function, since the verifier looks at it once. */
__noinline int label_put_text(
	__u32 source, __u64 key, __u64 key_bytes, __u64 value, __u64 value_bytes);
__noinline int label_put_text(
	__u32 source, __u64 key, __u64 key_bytes, __u64 value, __u64 value_bytes)
{
	struct label_record *record = get_label_record();
	if (!record || !key_bytes)
		return 0;
	__u32 at = record->head.bytes & LABEL_AT_MASK;
	if (value_bytes > EVENT_LABEL_MAX_TEXT_BYTES) {
		record->flags |= EVENT_LABELS_CUT;
		value_bytes = EVENT_LABEL_MAX_TEXT_BYTES;
	}
	__u64 key_at = at + sizeof(struct event_label);
	__u64 value_at = key_at + label_padded(key_bytes);
	__u64 end = value_at + label_padded(value_bytes);
	if (key_bytes > EVENT_LABEL_MAX_TEXT_BYTES || end > EVENT_LABELS_MAX_BYTES ||
		record->head.bytes + LABEL_SLACK_BYTES > EVENT_LABELS_MAX_BYTES) {
		record->flags |= EVENT_LABELS_CUT;
		return 0;
	}
	struct event_label *label = (void *)(record->bytes + at);
	label->source = source;
	label->kind = EVENT_LABEL_TEXT;
	label->zero[0] = label->zero[1] = 0;
	label->key_bytes = key_bytes;
	label->value_bytes = value_bytes;
	if (!read_label_text(record, key_at, key, key_bytes) ||
		!read_label_text(record, value_at, value, value_bytes)) {
		record->flags |= EVENT_LABELS_UNREAD;
		return 0;
	}
	return label_add(at, end);
}

/* ---- texts that are put together ---- */

static __always_inline void label_begin_text(struct label_record *record)
{
	record->text_bytes = 0;
	__builtin_memset(record->text, 0, EVENT_LABEL_MAX_TEXT_BYTES);
}

/* Appends a text that stands in the process; 0: it could not be read. */
__noinline int label_append(__u64 from, __u64 bytes);
__noinline int label_append(__u64 from, __u64 bytes)
{
	struct label_record *record = get_label_record();
	__u64 count = bytes;
	if (!record)
		return 0;
	__u64 at = record->text_bytes;
	asm volatile("" : "+r"(at), "+r"(count)); /* or clang thinks the bounds are known */
	if (at > EVENT_LABEL_MAX_TEXT_BYTES || !count)
		return 1;
	if (count > EVENT_LABEL_MAX_TEXT_BYTES)
		count = EVENT_LABEL_MAX_TEXT_BYTES;
	if (bpf_probe_read_user(record->text + at, count, (const void *)from)) {
		record->flags |= EVENT_LABELS_UNREAD;
		return 0;
	}
	record->text_bytes = at + count;
	return 1;
}

static __always_inline void label_append_character(struct label_record *record, char character)
{
	__u64 at = record->text_bytes;
	asm volatile("" : "+r"(at));
	if (at >= EVENT_LABEL_MAX_TEXT_BYTES)
		return;
	record->text[at] = character;
	record->text_bytes = at + 1;
}

/* The text is the value of a label of the source's own key. */
__noinline int label_put_appended(__u32 source);
__noinline int label_put_appended(__u32 source)
{
	struct label_record *record = get_label_record();
	if (!record)
		return 0;
	__u64 bytes = record->text_bytes, at = record->head.bytes & LABEL_AT_MASK;
	if (bytes > EVENT_LABEL_MAX_TEXT_BYTES) {
		record->flags |= EVENT_LABELS_CUT;
		bytes = EVENT_LABEL_MAX_TEXT_BYTES;
	}
	__u64 end = at + sizeof(struct event_label) + label_padded(bytes);
	if (end > EVENT_LABELS_MAX_BYTES ||
		record->head.bytes + LABEL_SLACK_BYTES > EVENT_LABELS_MAX_BYTES) {
		record->flags |= EVENT_LABELS_CUT;
		return 0;
	}
	struct event_label *label = (void *)(record->bytes + at);
	label->source = source;
	label->kind = EVENT_LABEL_TEXT;
	label->zero[0] = label->zero[1] = 0;
	label->key_bytes = 0;
	label->value_bytes = bytes;
	__u64 *to = (void *)(label + 1), *from = (void *)record->text;
	for (__u32 i = 0; i < EVENT_LABEL_MAX_TEXT_BYTES / sizeof(__u64); i++)
		to[i] = from[i]; /* what is behind it is overwritten by the next one */
	return label_add(at, end);
}

/* ---- numbers ---- */

/* A number, or an address in the process. */
static __always_inline void label_put_word(
	struct label_record *record, __u32 source, enum event_label_kind kind, __u64 value)
{
	__u32 at = record->head.bytes & LABEL_AT_MASK;
	__u32 end = at + sizeof(struct event_label) + sizeof(value);
	if (end > EVENT_LABELS_MAX_BYTES) {
		record->flags |= EVENT_LABELS_CUT;
		return;
	}
	struct event_label *label = (void *)(record->bytes + at);
	label->source = source;
	label->kind = kind;
	label->zero[0] = label->zero[1] = 0;
	label->key_bytes = 0;
	label->value_bytes = sizeof(value);
	*(__u64 *)(record->bytes + at + sizeof(*label)) = value;
	record->has_place |= kind == EVENT_LABEL_PLACE;
	label_add(at, end);
}

#endif
