/*
 * Where inside of one function the time went: by address, by line, and by line of what was inlined
 * there. The self of an address is split between the last two: each sample whose leaf address is of
 * the function's code is self of one line of the function, or of one line of inlined code. All
 * places that the recording has stand here, also those that none of the samples looked at has met.
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

/* What was inlined there is not among self: that has lines of its own. */
struct annotation_line {
	const char *file; /* "": unknown, and line is 0 */
	uint32_t line;
	struct annotation_weight weight;
};

/* A line of another function's code that the compiler put into a line of this one. */
struct annotation_inlined {
	uint32_t line; /* index of lines: of the annotated function */
	const char *file;
	uint32_t number;  /* 0: unknown, and file is "" */
	const char *text; /* "inlined: vector.h:90 push_back" */
	struct annotation_weight weight;
};

struct annotation {
	uint32_t function;
	struct annotation_weight whole;
	VEC(struct annotation_place) places;    /* by object and offset, each once */
	VEC(struct annotation_line) lines;      /* by file and line, each once */
	VEC(struct annotation_inlined) inlined; /* by line, file and number */
	struct annotation_weight whole_inlined; /* self alone: of all that is inlined */
	struct strtab files;                    /* private: their names */
	struct strtab texts;                    /* private: of what was inlined */
};

/* Frames as they are called now: the profile's own, or a copy. */
struct annotation_names {
	const struct profile_frame *frames;
	size_t nr_frames;
	const struct profile_function *functions;
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
