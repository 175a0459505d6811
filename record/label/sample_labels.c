#include "record/label/sample_labels.h"

/*
 * Until the recorder has looked at a program's file its samples have no labels: that it should have
 * had some is known with the first one that has. Where threads publish what they work at, they may
 * work at nothing.
 */
static void count_unlabelled(
	struct process *process, const struct event_sample *sample, struct lacking_labels *lacking)
{
	bool has_labels = sample->labels & EVENT_LABELS_SET;
	if (process->has_labels)
		return;
	bool may_lack = !process->thread_context_ns || sample->time_ns < process->thread_context_ns;
	process->unlabelled += !has_labels && sample->user_hash && !sample->labels && may_lack;
	process->has_labels = has_labels;
	if (has_labels)
		lacking->unknown += process->unlabelled;
}

uint32_t sample_labels_find(struct process_labels *labels, struct label_table *table,
	struct process *process, const struct event_sample *sample, struct lacking_labels *lacking)
{
	uint64_t flags = sample->labels & EVENT_LABELS_FLAGS;
	bool is_short = false;
	uint32_t set = 0;
	process_contexts_meet(&labels->contexts, process, sample->time_ns);
	if (flags & EVENT_LABELS_SET)
		set = label_table_find(
			table, sample->labels & ~(uint64_t)EVENT_LABELS_FLAGS, &is_short);
	set = process_labels_add(labels, table, process, set, sample->time_ns, &is_short);
	if (sample->type == EVENT_SAMPLE_AGAIN)
		return set;
	count_unlabelled(process, sample, lacking);
	lacking->unknown += (flags & EVENT_LABELS_UNKNOWN) || process->lacks_thread_context;
	lacking->unread += (flags & EVENT_LABELS_UNREAD) || process->lacks_labels;
	lacking->cut += (flags & EVENT_LABELS_CUT) != 0;
	lacking->left_out += is_short;
	return set;
}
