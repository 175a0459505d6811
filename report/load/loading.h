/*
 * A profile while its recording is read: what only loading needs, and the nodes and stacks that
 * the file has or that turn up when stacks are unwound or split.
 */
#ifndef EBPROF_LOADING_H
#define EBPROF_LOADING_H

#include <stdint.h>

#include "format/base/map.h"
#include "format/base/vec.h"
#include "report/load/load.h"

struct snapshots;

struct loading {
	struct profile *profile;
	const struct profile_options *options;
	VEC(uint16_t) node_depths;
	VEC(struct loading_labels {
		uint32_t count; /* of a set's labels */
		uint64_t bytes; /* of their texts */
	}) label_sets;
	struct map label_uses; /* thread << 32 | set, of samples */
	uint64_t label_bytes;  /* of all these together */
	VEC(struct loading_call {
		size_t sample;
		uint32_t syscall; /* the number plus 1; 0: none */
		uint32_t waker;   /* index of the profile's; else 0 */
	}) calls;
	struct map waker_stacks;    /* user << 32 | kernel -> a number */
	struct map wakers;          /* that << 32 | thread -> index of the profile's */
	VEC(uint32_t) plain_stacks; /* user node -> its stack without kernel frames, plus 1 */
	uint64_t walk_frames;       /* of all stacks together */
	uint64_t value_sum;         /* of all samples, in the units of their events */
	struct map stack_index;     /* user << 32 | kernel -> stack */
	struct map archived_stacks; /* snapshot -> node */
	struct map counter_values;  /* counter << 32 | cpu -> value */
	struct map source_places;   /* string -> index in profile->sources, plus 1 */
	struct map tally_places;    /* source << 32 | counter << 16 | cpu -> index, plus 1 */
	VEC(struct layout_tally) tallies;
	struct snapshots *snapshots; /* NULL: there were none yet */
};

/*
 * The node of `frame` called from `parent`; `known` is the caller's, of all that it has added. New
 * nodes stand behind all others.
 */
uint32_t loading_add_node(
	struct loading *loading, struct map *known, uint32_t parent, uint32_t frame);
/* Of the stack of two nodes in stack_index. */
static inline uint64_t loading_stack_key(uint32_t user, uint32_t kernel)
{
	return (uint64_t)user << 32 | kernel;
}

/*
 * The stack of two nodes, its index in profile->stacks: the same for the same ones. An empty one
 * where all stacks together would be too long for a file of this size; that is counted.
 */
uint32_t loading_add_stack(struct loading *loading, uint32_t user, uint32_t kernel);

/* What the reader visits: the context is a struct loading. */
void loading_on_thread_times(void *context, const struct layout_thread_times *times);

#endif
