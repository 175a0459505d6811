/*
 * The labels of the sample at hand: asks the runtimes that have some, which the process was seen to
 * have, takes what the thread publishes itself, and sends the set when it is new. A runtime that
 * reads labels has the hook `labels`.
 */
#ifndef EBPROF_LABELS_BPF_H
#define EBPROF_LABELS_BPF_H

#include "bpf/label/label_record.bpf.h"
#include "bpf/label/thread_context.bpf.h"
#include "bpf/runtime/runtime.bpf.h"
#include "bpf/stack.bpf.h"

/* Bits: the runtimes that some file is known to have. The recorder sets those. */
volatile __u32 row_kinds;

/* False when the ring had no room. */
static __always_inline bool send_labels(struct scratch *scratch, struct label_record *record)
{
	struct event_labels *head = &record->head;
	__u64 hash = mix(first_hash(), record->sum);
	if (record->has_place)
		hash = mix(hash, code_space(scratch));
	head->hash = hash & ~(__u64)EVENT_LABELS_FLAGS;
	scratch->sample.labels = head->hash | EVENT_LABELS_SET | record->flags;
	__u64 *seen_hash = seen_slot(head->hash);
	if (!seen_hash || *seen_hash == head->hash)
		return true;
	head->type = EVENT_LABELS;
	head->pid = scratch->sample.pid;
	head->time_ns = scratch->sample.time_ns;
	__u64 bytes = head->bytes;
	asm volatile("" : "+r"(bytes));
	if (bytes > EVENT_LABELS_MAX_BYTES)
		return true; /* cannot be */
	if (!send(head, sizeof(*head) + bytes, wakeup_flag()))
		return false;
	*seen_hash = head->hash;
	return true;
}

/* Whether the process has a runtime with labels, or threads that publish some: until those are
 * read, they count as unread. */
static __always_inline bool expects_labels(struct scratch *scratch)
{
	if (!config.label_sources || !(row_kinds | has_thread_contexts))
		return false;
	if (find_thread_context(&scratch->sample))
		scratch->sample.labels = EVENT_LABELS_UNREAD;
#define X(constant, number, name) \
	if (name##_hooks.labels && row_kinds >> constant & 1 && \
		find_known_runtime(scratch, constant)) \
		scratch->sample.labels = EVENT_LABELS_UNREAD;
	RUNTIMES(X)
#undef X
	return scratch->sample.labels;
}

/* Not 0 when the ring had no room. A global function, which the verifier looks at once. */
__noinline int take_labels(void);
__noinline int take_labels(void)
{
	struct label_record *record = get_label_record();
	struct scratch *scratch = get_scratch();
	if (!record || !scratch || !(row_kinds | has_thread_contexts))
		return 0;
	begin_labels(record);
#define X(constant, number, name) \
	if (name##_hooks.labels && row_kinds >> constant & 1) { \
		const struct known_runtime *known = find_known_runtime(scratch, constant); \
		if (known && (!known->user || is_users_row(known))) \
			name##_hooks.labels(record, row_of_number(known->row), known->delta); \
	}
	RUNTIMES(X)
#undef X
	if (has_thread_contexts)
		put_thread_context();
	scratch->sample.labels = record->flags;
	return record->head.bytes && !send_labels(scratch, record);
}

#endif
