/*
 * Where inside of one function the time went: by address and by line. All places of it that the
 * recording has stand here, also those that none of the samples looked at has met.
 */
#ifndef EBPROF_ANNOTATION_H
#define EBPROF_ANNOTATION_H

#include <stdatomic.h>
#include <stdbool.h>

#include "format/base/str.h"
#include "report/model/profile.h"
#include "report/model/slice.h"

struct annotation_weight {
	uint64_t self, total; /* in the event's unit (ns) */
	uint64_t self_samples, samples;
};

/* An address. What was inlined there counts as well: it runs at this address. */
struct annotation_place {
	uint32_t object;
	uint64_t offset; /* as of frames; of a call, inside of it */
	uint32_t body;   /* the function that this is compiled code of; another one: inlined */
	uint32_t line;   /* index of lines: where in the annotated function this is */
	struct annotation_weight weight;
};

/* What was inlined there is not among self: it is another function. */
struct annotation_line {
	const char *file; /* "": unknown, and line is 0 */
	uint32_t line;
	struct annotation_weight weight;
};

struct annotation {
	uint32_t function;
	struct annotation_weight whole;
	VEC(struct annotation_place) places; /* by object and offset, each once */
	VEC(struct annotation_line) lines;   /* by file and line, each once */
	struct strtab files;                 /* private: their names */
};

/* Frames as they are called now: the profile's own, or a copy. */
struct annotation_names {
	const struct profile_frame *frames;
	size_t nr_frames;
	const uint32_t *groups; /* as of tree_options */
	bool hides_inlined;
};

/*
 * `function` is one that stands for its group. Of the profile only nodes and stacks are read. NULL
 * when it was cancelled; `is_cancelled` may be NULL.
 */
struct annotation *annotation_create(const struct profile *profile,
	const struct annotation_names *names, const struct slice *slice, uint32_t function,
	const atomic_bool *is_cancelled);
/* NULL is safe. */
void annotation_destroy(struct annotation *annotation);

/* Where it was compiled to: the place of the most time. NULL: nowhere. */
const struct annotation_place *annotation_hottest(const struct annotation *annotation);

void annotation_weight_add(struct annotation_weight *to, const struct annotation_weight *from);

#endif
