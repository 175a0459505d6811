/* Archived answers of several recordings for the same objects. */
#ifndef EBPROF_MERGE_ANSWERS_H
#define EBPROF_MERGE_ANSWERS_H

#include "format/base/map.h"
#include "format/file/writer.h"

struct merge_answers {
	VEC(struct merge_answers_part {
		uint32_t object; /* in the output */
		struct answers answers;
	})
	parts;
	struct map of_source; /* object -> index of the part that the source at hand has */
};

/* Where those of the object go that the source at hand has. Valid until the next call. */
struct answers *merge_answers_of(struct merge_answers *answers, uint32_t object);
void merge_answers_end_source(struct merge_answers *answers);
struct err *merge_answers_write(
	struct merge_answers *answers, struct writer *writer) ERR_MUST_CHECK;
void merge_answers_deinit(struct merge_answers *answers);

#endif
