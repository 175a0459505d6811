/* The labels of a sample: its own, those of its process, and what it lacks of them. */
#ifndef EBPROF_SAMPLE_LABELS_H
#define EBPROF_SAMPLE_LABELS_H

#include <stdint.h>

#include "bpf/event.h"
#include "record/label/label_table.h"
#include "record/label/process_labels.h"

struct lacking_labels {                /* samples without some or all of their labels: */
	uint64_t unknown, unread, cut; /* as enum event_labels_flag says */
	uint64_t left_out;             /* there are too many */
};

/* The set of the table; what it lacks is counted. */
uint32_t sample_labels_find(struct process_labels *labels, struct label_table *table,
	struct process *process, const struct event_sample *sample, struct lacking_labels *lacking);

#endif
