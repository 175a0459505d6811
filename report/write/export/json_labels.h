/* The labels of samples as objects of JSON, each set of them once. */
#ifndef EBPROF_JSON_LABELS_H
#define EBPROF_JSON_LABELS_H

#include <stdbool.h>

#include "format/base/map.h"
#include "format/base/str.h"
#include "report/model/profile.h"

struct json_labels {
	const struct profile *profile; /* borrowed */
	uint32_t wanted;               /* enum export_label */
	bool are_texts;                /* numbers, too: all values are of one type */
	struct strtab sets;            /* "{...}" */
	uint32_t *set_of_thread;
	struct map joined; /* a thread's set << 32 | a sample's labels -> both */
};

/* With the sets of all threads that have samples. */
void json_labels_init(
	struct json_labels *labels, const struct profile *profile, uint32_t wanted, bool are_texts);
/* The number in `sets` of the labels of a sample and of its thread. */
uint32_t json_labels_of(struct json_labels *labels, const struct profile_sample *sample);
void json_labels_deinit(struct json_labels *labels);

#endif
