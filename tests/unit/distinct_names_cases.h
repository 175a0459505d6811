/*
 * Names that are seen at once: what they are shown as, and what has to be added by
 * report/name/distinct_names.c and by report/write/export/distinct_names.js, which reads this file.
 */
#ifndef EBPROF_DISTINCT_NAMES_CASES_H
#define EBPROF_DISTINCT_NAMES_CASES_H

/* name, shown, is a script's, difference */
#define DISTINCT_NAMES_CASES(X) \
	X("std::vector<int, std::allocator<int> >::push_back(int const&)", \
		"vector<...>::push_back", false, "int") \
	X("std::vector<long, std::allocator<long> >::push_back(long const&)", \
		"vector<...>::push_back", false, "long,std::allocator") \
	X("std::vector<long, arena>::push_back(long const&)", "vector<...>::push_back", false, \
		"long,arena") \
	X("sum(int)", "sum", false, "") \
	X("sum(int, int)", "sum", false, "int") \
	X("main", "main", false, "") \
	X("work", "work", false, "work") \
	X("app::deep::work", "work", false, "app::deep::work") \
	X("load (a.py:1)", "load", true, "") \
	X("load (b.py:1)", "load", true, "") \
	X("[no symbol]", "no", false, "") \
	X("alone(int)", "alone", false, "")

#endif
