#include "report/name/distinct_names.h"

#include <string.h>

#include "tests/unit/distinct_names_cases.h"
#include "tests/unit/unit.h"

static const struct {
	struct profile_function function;
	const char *shown, *want;
} cases[] = {
#define X(text, seen, difference) {{.name = text, .system_name = text}, seen, difference},
	DISTINCT_NAMES_CASES(X)
#undef X
};

enum {
	CASES = sizeof(cases) / sizeof(*cases)
};

TEST(names_that_are_shown_alike_get_what_differs)
{
	CLEANUP(distinct_names_deinit) struct distinct_names names = {0};
	for (size_t round = 0; round < 2; round++) /* rows of a tree: they come again */
		for (size_t i = 0; i < CASES; i++)
			distinct_names_add(&names, &cases[i].function, cases[i].shown);
	distinct_names_find(&names);
	for (size_t i = 0; i < CASES; i++)
		CHECK_STR(distinct_names_of(&names, &cases[i].function), cases[i].want);
}

/* Where it is shown as two names, what tells the one apart is said of it everywhere. */
TEST(names_that_are_shown_in_two_ways_have_one_difference)
{
	CLEANUP(distinct_names_deinit) struct distinct_names names = {0};
	for (size_t i = 0; i < 2; i++) {
		distinct_names_add(&names, &cases[i].function, "push_back");
		distinct_names_add(&names, &cases[i].function, cases[i].function.name);
	}
	distinct_names_find(&names);
	CHECK_STR(distinct_names_of(&names, &cases[0].function), "int");
	CHECK_STR(distinct_names_of(&names, &cases[1].function), "long");
	CHECK_INT(names.names.len, 2);
}

static size_t byte_columns(const void *context, const char *text)
{
	(void)context;
	return strlen(text);
}

static void put_bytes(void *context, const char *text, size_t columns)
{
	str_printf(context, "%.*s", (int)columns, text);
}

TEST(names_share_their_room_with_what_differs)
{
	static const struct {
		size_t columns;
		const char *want;
	} rows[] = {
		{60, "std::vector<int, std::allocator<int> >::push_back {int}"},
		{28, "vector<...>::push_back {int}"},
		{20, "push_back {int}"},
		{15, "push_back {int}"},
		{13, "push_ba {int}"},
		{12, "push_back"},
		{8, "push_bac"},
	};
	CLEANUP(distinct_names_deinit) struct distinct_names names = {0};
	for (size_t i = 0; i < CASES; i++)
		distinct_names_add(&names, &cases[i].function, cases[i].shown);
	distinct_names_find(&names);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CLEANUP(str_deinit) struct str text = {0};
		const struct name_room room = {rows[i].columns, byte_columns, put_bytes, &text};
		distinct_names_put_fitting(&names, &cases[0].function, &room);
		CHECK_STR(str_text(&text), rows[i].want);
	}
}

TEST(names_of_their_own_are_left_alone)
{
	CLEANUP(distinct_names_deinit) struct distinct_names names = {0};
	distinct_names_find(&names);
	CHECK_STR(distinct_names_of(&names, &cases[0].function), "");
	for (size_t i = 0; i < CASES; i++)
		distinct_names_add(&names, &cases[i].function, cases[i].function.name);
	distinct_names_find(&names);
	for (size_t i = 0; i < CASES; i++)
		CHECK_STR(distinct_names_of(&names, &cases[i].function), "");
}
