/* Samples added up by where they stand and whose they are: memory grows with the distinct ones. */
#ifndef EBPROF_TALLY_H
#define EBPROF_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/map.h"
#include "format/base/vec.h"

struct tally_entry {
	uint32_t group; /* the caller's number for what it tells apart besides stacks */
	uint32_t stack;
	uint64_t samples, value;
};

/* {0} is empty. Entries stand in the order of their first coming until they are sorted. */
struct tally {
	VEC(struct tally_entry) entries;
	struct map by_key;
};

void tally_add(struct tally *tally, uint32_t group, uint32_t stack, uint64_t value);
/*
 * By stack, or by group, which are below `nr_stacks` and `nr_groups`; otherwise the order stays.
 * Nothing is added any more.
 */
void tally_sort_by_stack(struct tally *tally, size_t nr_stacks);
void tally_sort_by_group(struct tally *tally, size_t nr_groups);
void tally_deinit(struct tally *tally);

#endif
