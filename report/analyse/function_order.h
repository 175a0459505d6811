/*
 * The order of functions by their time, the same in texts, files and the terminal. Of those that
 * took nothing themselves, as all do that wait, the program's own come before those of libraries,
 * and these before the kernel's: they are what the reader can change.
 */
#ifndef EBPROF_FUNCTION_ORDER_H
#define EBPROF_FUNCTION_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/analyse/frame_kind.h"

enum function_order {
	FUNCTION_ORDER_SELF,
	FUNCTION_ORDER_TOTAL,
};

/* What a row is ordered by. */
struct function_rank {
	uint64_t self, total;
	enum frame_kind kind;
	const struct profile_function *function; /* for its name */
};

/* Its words, for a struct word_order. */
bool function_order_word(
	const struct function_rank *row, enum function_order order, size_t index, uint64_t *ret);

#endif
