/*
 * Samples added up by where they stand and whose they are. What was added is put down as it comes
 * and added up from time to time, so memory grows with the distinct ones; sorting by counting takes
 * a fraction of the time that looking each of them up in a hash map would.
 */
#ifndef EBPROF_TALLY_H
#define EBPROF_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/vec.h"

struct tally_entry {
	uint32_t group; /* the caller's number for what it tells apart besides stacks */
	uint32_t stack;
	uint64_t samples, value;
};

/* {0} is empty. Groups and stacks are numbered from 0 with few holes. */
struct tally {
	VEC(struct tally_entry) entries;
	size_t nr_distinct; /* the first of them, which were added up and are in order */
};

void tally_add(struct tally *tally, uint32_t group, uint32_t stack, uint64_t value);
/* Entries are distinct from now on, by stack, and by group within it. */
void tally_finish(struct tally *tally);
void tally_deinit(struct tally *tally);

#endif
