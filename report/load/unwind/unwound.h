/*
 * The stacks that snapshots led to, each once, and their frames, each once.
 * Numbers are dense from 0, and depend on nothing but what was added in which
 * order: two copies that are given the same agree on them.
 */
#ifndef EBPROF_UNWOUND_H
#define EBPROF_UNWOUND_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/map.h"
#include "format/base/vec.h"
#include "format/file/layout.h"

struct unwound_stack {
	const uint32_t *frames; /* numbers, leaf first */
	size_t count;
	enum layout_truncation cause; /* why it ends there; LAYOUT_COMPLETE: at the outermost */
};

struct unwound_span {
	size_t first, count; /* of the stacks' frames */
	enum layout_truncation cause;
};

struct unwound {                         /* {0} is an empty one */
	VEC(struct layout_frame) frames; /* by number */
	VEC(struct map) frame_numbers;   /* by object: offset and flags -> number */
	VEC(uint32_t) stacks;            /* one behind the other */
	VEC(struct unwound_span) spans;  /* by number */
	struct map numbers;              /* hash of a stack -> number */
	uint64_t seed;                   /* of those hashes, 0: not drawn yet */
	size_t begun;                    /* frames of the stack that is being added */
	uint64_t steps;                  /* what the search for them has cost so far */
};

/* The next frame, leaf first, of the stack that unwound_end() ends. */
void unwound_add(struct unwound *unwound, const struct layout_frame *frame);
/* Its number. */
uint32_t unwound_end(struct unwound *unwound, enum layout_truncation cause);

/* Borrowed until the next unwound_add(). */
struct unwound_stack unwound_at(const struct unwound *unwound, uint32_t number);
struct layout_frame unwound_frame(const struct unwound *unwound, uint32_t number);
void unwound_deinit(struct unwound *unwound);

#endif
