/*
 * What is mapped where in a process: the newest mapping of an address holds. A forked process has
 * its parent's, and both share them until one of them maps something.
 */
#ifndef EBPROF_PERF_SPACE_H
#define EBPROF_PERF_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/vec.h"

struct perf_mapping {
	uint64_t start, end, offset; /* offset in the file of `start` */
	uint32_t object;
};

struct perf_space {
	size_t owners;
	VEC(struct perf_mapping) mappings; /* by address, apart from each other */
};

struct perf_space *perf_space_create(void);
/* One more owner of the same. */
struct perf_space *perf_space_share(struct perf_space *space);
/* NULL is safe. */
void perf_space_release(struct perf_space *space);

/*
 * Replaces what stands at the addresses of `mapping`; *space becomes one's own for it. Returns how
 * many mappings there are now more than before, in all spaces together.
 */
size_t perf_space_map(struct perf_space **space, const struct perf_mapping *mapping);
/* NULL: nothing is known there. Borrowed until the space changes. */
const struct perf_mapping *perf_space_find(const struct perf_space *space, uint64_t address);

#endif
