/*
 * Searching what is sorted: bisect(count, i, holds) is how many of the indices 0 .. count - 1 are
 * those for which the expression `holds`, said of `i`, is true. It is true of the first ones, up
 * to some index, and of none behind: of the first that is not it is the index.
 *
 *     size_t behind = bisect(list.len, i, list.data[i].start <= address);
 */
#ifndef EBPROF_BISECT_H
#define EBPROF_BISECT_H

#include <stddef.h>

#define bisect(count, i, holds) \
	__extension__({ \
		size_t bisect_low_ = 0, bisect_high_ = (count); \
		while (bisect_low_ < bisect_high_) { \
			size_t i = bisect_low_ + (bisect_high_ - bisect_low_) / 2; \
			if (holds) \
				bisect_low_ = i + 1; \
			else \
				bisect_high_ = i; \
		} \
		bisect_low_; \
	})

#endif
