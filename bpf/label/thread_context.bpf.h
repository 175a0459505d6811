/*
 * What the thread that was interrupted publishes of its work: OpenTelemetry's thread context. A
 * variable of the thread, whose place in the process the recorder has found, points to a record
 * with the IDs of the trace and of the span, and with attributes. Nothing but the thread itself
 * changes it, so it is read whole; `valid` says that it is just being changed.
 *
 * The record is the program's own, so reads fail and lengths lie: that costs labels, never the
 * sample.
 *
 * Source: opentelemetry-specification, oteps/profiles/4947-thread-ctx.md.
 */
#ifndef EBPROF_THREAD_CONTEXT_BPF_H
#define EBPROF_THREAD_CONTEXT_BPF_H

#include "bpf/label/label_record.bpf.h"
#include "bpf/runtime/thread.bpf.h"

#include <bpf/bpf_helpers.h>

enum {
	THREAD_CONTEXT_HEAD_BYTES = 28,
	THREAD_CONTEXT_MAX_ATTRIBUTES = 16,
	THREAD_CONTEXT_MAX_BYTES = 640, /* with the head: what is recommended */
};

struct thread_context_head {
	__u64 trace[2];
	__u64 span;
	__u8 valid, flags;
	__u16 bytes; /* of attributes */
	__u32 zero;  /* not read */
};

/* Of each: its key, the length of its value, and that. */
struct thread_context_walk {
	struct thread_context_head head;
	__u64 next, end;
};

_Static_assert(
	sizeof(struct thread_context_walk) <= LABEL_ROOM_WORDS * sizeof(__u64), "it has room");

/* By process; of those that have such a variable. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, EVENT_MAX_THREAD_CONTEXTS);
	__type(key, __u32);
	__type(value, struct event_thread_context);
} thread_contexts SEC(".maps");

/* Whether there was one. The recorder sets it. */
volatile __u32 has_thread_contexts;

/* NULL: the process has none, or that of the map is of what it ran before. */
static __always_inline const struct event_thread_context *find_thread_context(
	const struct event_sample *sample)
{
	__u32 pid = sample->pid;
	const struct event_thread_context *context =
		has_thread_contexts ? bpf_map_lookup_elem(&thread_contexts, &pid) : 0;
	bool is_of_image = context && context->start_ns == sample->start_ns &&
			   context->exec_id == sample->exec_id;
	return is_of_image ? context : 0;
}

/*
 * The block that the thread has of a module's variables. False: it has none so far, as long as it
 * has not used any. How many entries the vector has stands in its first one, with glibc in that
 * ahead of the first.
 */
static __always_inline bool find_thread_block(
	const struct event_thread_context *context, __u64 thread, __u64 *ret)
{
	__u64 blocks, count;
	__u32 shift = context->module_shift == GLIBC_MODULE_SHIFT ? GLIBC_MODULE_SHIFT
								  : MUSL_MODULE_SHIFT;
	__u64 ahead = shift == GLIBC_MODULE_SHIFT ? 1ULL << GLIBC_MODULE_SHIFT : 0;
	return module_blocks(thread, shift, &blocks) && read_word(blocks - ahead, &count) &&
	       context->module <= count && module_block(thread, context->module, shift, ret) &&
	       *ret + 1 > 1;
}

static __always_inline void label_put_id(
	struct label_record *record, __u32 source, const __u64 *words, __u32 count)
{
	__u32 at = record->head.bytes & LABEL_AT_MASK;
	__u32 bytes = count * sizeof(*words), end = at + sizeof(struct event_label) + bytes;
	if (end > EVENT_LABELS_MAX_BYTES) {
		record->flags |= EVENT_LABELS_CUT;
		return;
	}
	struct event_label *label = (void *)(record->bytes + at);
	label->source = source;
	label->kind = EVENT_LABEL_BYTES;
	label->zero[0] = label->zero[1] = 0;
	label->key_bytes = 0;
	label->value_bytes = bytes;
	for (__u32 i = 0; i < count; i++)
		((__u64 *)(label + 1))[i] = words[i];
	label_add(at, end);
}

/* 0: that was the last one. A global function, since the verifier looks at it once. */
__noinline int put_thread_attribute(void);
__noinline int put_thread_attribute(void)
{
	struct label_record *record = get_label_record();
	struct {
		__u8 key, bytes;
	} head;
	if (!record)
		return 0;
	struct thread_context_walk *walk = (void *)record->room;
	__u64 key = walk->next, value = key + sizeof(head);
	if (value > walk->end)
		return 0;
	if (bpf_probe_read_user(&head, sizeof(head), (const void *)key)) {
		record->flags |= EVENT_LABELS_UNREAD;
		return 0;
	}
	walk->next = value + head.bytes;
	if (walk->next > walk->end)
		return 0;
	record->has_place = true; /* a key says something in this process alone */
	label_put_text(EVENT_LABEL_THREAD, key, sizeof(head.key), value, head.bytes);
	return walk->next < walk->end;
}

static __always_inline void put_thread_attributes(
	struct label_record *record, struct thread_context_walk *walk, __u64 address)
{
	__u32 bytes = walk->head.bytes;
	if (bytes > THREAD_CONTEXT_MAX_BYTES - THREAD_CONTEXT_HEAD_BYTES) {
		record->flags |= EVENT_LABELS_CUT;
		bytes = THREAD_CONTEXT_MAX_BYTES - THREAD_CONTEXT_HEAD_BYTES;
	}
	walk->next = address + THREAD_CONTEXT_HEAD_BYTES;
	walk->end = walk->next + bytes;
	for (int i = 0; i < THREAD_CONTEXT_MAX_ATTRIBUTES; i++)
		if (!put_thread_attribute())
			return;
	record->flags |= EVENT_LABELS_CUT;
}

/* Puts what the thread publishes. A global function, which the verifier looks at once. */
__noinline int put_thread_context(void);
__noinline int put_thread_context(void)
{
	struct label_record *record = get_label_record();
	struct scratch *scratch = get_scratch();
	if (!record || !scratch)
		return 0;
	const struct event_thread_context *context = find_thread_context(&scratch->sample);
	__u64 block = thread_pointer(), address = 0;
	if (!context || (context->module && !find_thread_block(context, block, &block)))
		return 0;
	struct thread_context_walk *walk = (void *)record->room;
	if (!read_word(block + context->place, &address) ||
		(address && bpf_probe_read_user(&walk->head, THREAD_CONTEXT_HEAD_BYTES,
				    (const void *)address))) {
		record->flags |= EVENT_LABELS_UNREAD;
		return 0;
	}
	if (!address || walk->head.valid != 1)
		return 0;
	bool is_traced = walk->head.trace[0] || walk->head.trace[1];
	if (is_traced && wants_label(EVENT_LABEL_TRACE))
		label_put_id(record, EVENT_LABEL_TRACE, walk->head.trace, 2);
	if (is_traced && wants_label(EVENT_LABEL_SPAN))
		label_put_id(record, EVENT_LABEL_SPAN, &walk->head.span, 1);
	if (walk->head.bytes && wants_label(EVENT_LABEL_THREAD))
		put_thread_attributes(record, walk, address);
	return 0;
}

#endif
