/* The executable mappings of one process over time: what an address meant at an instant. */
#ifndef EBPROF_ADDRESS_SPACE_H
#define EBPROF_ADDRESS_SPACE_H

#include "format/base/map.h"
#include "format/base/vec.h"
#include "format/file/layout.h"

struct address_space {                       /* {0} is an empty one */
	VEC(struct layout_mapping) mappings; /* by time, and as they came */
	struct map places; /* address -> index + 1, 0: nowhere; since the newest mapping */
	uint64_t displaced, scanned; /* what keeping the order, and searches, have cost */
};

/*
 * Mappings come nearly in the order of time. Where that turns out to be wrong, some count as newer
 * than they are.
 */
void address_space_add(struct address_space *space, const struct layout_mapping *mapping);
/* How many mappings there were: with the process, this names a state of its memory. */
size_t address_space_state(const struct address_space *space, uint64_t time_ns);
/* The newest one of that state that holds the address, or NULL. Borrowed until the next add. */
const struct layout_mapping *address_space_find(
	struct address_space *space, uint64_t address, size_t state);
void address_space_deinit(struct address_space *space);

#endif
