/* The sampled addresses of one program image that lack names: ascending, each once. */
#ifndef EBPROF_SAMPLED_ADDRESSES_H
#define EBPROF_SAMPLED_ADDRESSES_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/bisect.h"

/* How many of them are below `limit`: the index of the first one that is not. */
static inline size_t sampled_addresses_below(
	const uint64_t *addresses, size_t count, uint64_t limit)
{
	return bisect(count, i, addresses[i] < limit);
}

#endif
