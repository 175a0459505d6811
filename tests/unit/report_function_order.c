/* The order of functions by their time, one for texts, files and the terminal. */
#include "report/analyse/function_order.h"
#include "report/model/profile.h"
#include "report/model/word_sort.h"
#include "tests/unit/unit.h"

struct ranks {
	enum function_order order;
	struct function_rank rows[8];
};

static bool rank_word(const void *context, uint32_t element, size_t index, uint64_t *ret)
{
	const struct ranks *ranks = context;
	return function_order_word(&ranks->rows[element], ranks->order, index, ret);
}

/* Each row stands ahead of the next, and not the other way round. */
static void want_in_order(const struct ranks *ranks, uint32_t count)
{
	const struct word_order order = {.word = rank_word, .context = ranks};
	for (uint32_t i = 0; i + 1 < count; i++) {
		CHECK(word_less(&order, i, i + 1));
		CHECK(!word_less(&order, i + 1, i));
	}
}

static const struct profile_function first = {.name = "alpha"}, second = {.name = "beta"};

TEST(function_order_by_self)
{
	const struct ranks ranks = {.order = FUNCTION_ORDER_SELF,
		.rows = {
			{.self = 9, .total = 9, .kind = FRAME_KERNEL, .function = &first},
			{.self = 1, .total = 50, .kind = FRAME_LIBRARY, .function = &second},
			{.self = 1, .total = 40, .kind = FRAME_PROGRAM, .function = &first},
			/* the program's own, however little they lead to */
			{.total = 60, .kind = FRAME_PROGRAM, .function = &second},
			{.total = 2, .kind = FRAME_PROGRAM, .function = &first},
			{.total = 2, .kind = FRAME_PROGRAM, .function = &second},
			{.total = UINT64_MAX, .kind = FRAME_LIBRARY, .function = &first},
			{.total = 70, .kind = FRAME_KERNEL, .function = &first},
		}};
	want_in_order(&ranks, 8);
}

TEST(function_order_by_total)
{
	const struct ranks ranks = {.order = FUNCTION_ORDER_TOTAL,
		.rows = {
			{.total = UINT64_MAX, .kind = FRAME_LIBRARY, .function = &first},
			{.self = 3, .total = 60, .kind = FRAME_KERNEL, .function = &second},
			{.self = 2, .total = 60, .kind = FRAME_PROGRAM, .function = &second},
			{.total = 60, .kind = FRAME_PROGRAM, .function = &second},
			{.total = 60, .kind = FRAME_LIBRARY, .function = &first},
			{.total = 60, .kind = FRAME_LIBRARY, .function = &second},
			{.total = 60, .kind = FRAME_KERNEL, .function = &first},
		}};
	want_in_order(&ranks, 7);
}
