/* The sampled addresses of one program image that lack names: ascending, each once. */
#ifndef EBPROF_SAMPLED_ADDRESSES_H
#define EBPROF_SAMPLED_ADDRESSES_H

#include <stddef.h>
#include <stdint.h>

/* How many of them are below `limit`: the index of the first one that is not. */
static inline size_t sampled_addresses_below(
	const uint64_t *addresses, size_t count, uint64_t limit)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t mid = (low + high) / 2;
		if (addresses[mid] < limit)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

#endif
