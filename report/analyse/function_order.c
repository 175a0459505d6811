#include "report/analyse/function_order.h"

#include "report/model/word_sort.h"

/* Rows without self may be most, so that distance and total are in one word of theirs, where totals
 * beyond 62 bits are equal. */
static bool word_by_self(const struct function_rank *row, size_t index, uint64_t *ret)
{
	enum {
		TOTAL_BITS = 62
	};
	const uint64_t most = (UINT64_C(1) << TOTAL_BITS) - 1;
	uint64_t total = row->total < most ? row->total : most;
	if (index > 1)
		return word_of_text(profile_function_own_name(row->function), index - 2, ret);
	if (index == 0)
		*ret = ~row->self;
	else if (row->self)
		*ret = ~row->total;
	else
		*ret = (uint64_t)frame_kind_distance(row->kind) << TOTAL_BITS | (most - total);
	return true;
}

static bool word_by_total(const struct function_rank *row, size_t index, uint64_t *ret)
{
	if (index > 2)
		return word_of_text(profile_function_own_name(row->function), index - 3, ret);
	if (index < 2)
		*ret = ~(index ? row->self : row->total);
	else
		*ret = row->self ? 0 : frame_kind_distance(row->kind);
	return true;
}

bool function_order_word(
	const struct function_rank *row, enum function_order order, size_t index, uint64_t *ret)
{
	return order == FUNCTION_ORDER_SELF ? word_by_self(row, index, ret)
					    : word_by_total(row, index, ret);
}
