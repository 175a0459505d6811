#include "report/name/distinct_names.h"

#include "tests/unit/unit.h"

static struct profile_function functions[] = {
	{.name = "std::vector<int, std::allocator<int> >::push_back(int const&)"},
	{.name = "std::vector<long, std::allocator<long> >::push_back(long const&)"},
	{.name = "std::vector<long, arena>::push_back(long const&)"},
	{.name = "sum(int)"},
	{.name = "sum(int, int)"},
	{.name = "main"},
	{.name = "load (a.py:1)", .is_script = true},
	{.name = "load (b.py:1)", .is_script = true},
};

TEST(names_that_are_shown_alike_get_what_differs)
{
	static const char *const shown[] = {"vector<...>::push_back", "vector<...>::push_back",
		"vector<...>::push_back", "sum", "sum", "main", "load", "load"};
	static const char *const wants[] = {
		"int", "long,std::allocator", "long,arena", "", "int", "", "", ""};
	CLEANUP(distinct_names_deinit) struct distinct_names names = {0};
	for (size_t round = 0; round < 2; round++) /* rows of a tree: they come again */
		for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
			distinct_names_add(&names, &functions[i], shown[i]);
	distinct_names_find(&names);
	for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
		CHECK_STR(distinct_names_of(&names, &functions[i]), wants[i]);
}

TEST(names_of_their_own_are_left_alone)
{
	CLEANUP(distinct_names_deinit) struct distinct_names names = {0};
	distinct_names_find(&names);
	CHECK_STR(distinct_names_of(&names, &functions[0]), "");
	for (size_t i = 0; i < 5; i++)
		distinct_names_add(&names, &functions[i], functions[i].name);
	distinct_names_find(&names);
	for (size_t i = 0; i < 5; i++)
		CHECK_STR(distinct_names_of(&names, &functions[i]), "");
}
