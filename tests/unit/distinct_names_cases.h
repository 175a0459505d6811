/*
 * Names that are seen at once: what they are shown as, and what has to be added by
 * report/name/distinct_names.c and by report/write/export/distinct_names.js, which reads this file.
 */
#ifndef EBPROF_DISTINCT_NAMES_CASES_H
#define EBPROF_DISTINCT_NAMES_CASES_H

/* name, shown, difference */
#define DISTINCT_NAMES_CASES(X) \
	X("std::vector<int, std::allocator<int> >::push_back(int const&)", \
		"vector<...>::push_back", "int") \
	X("std::vector<long, std::allocator<long> >::push_back(long const&)", \
		"vector<...>::push_back", "long,std::allocator") \
	X("std::vector<long, arena>::push_back(long const&)", "vector<...>::push_back", \
		"long,arena") \
	X("sum(int)", "sum", "") \
	X("sum(int, int)", "sum", "int") \
	X("main", "main", "") \
	X("work", "work", "") \
	X("app::deep::work", "work", "app::deep") \
	X("java.util.HashMap.get", "get", "HashMap") \
	X("java.util.TreeMap.get", "get", "TreeMap") \
	X("org.a.Cache.put", "Cache.put", "a") \
	X("org.b.Cache.put", "Cache.put", "b") \
	X("App\\Http\\Kernel::handle", "Kernel::handle", "App\\Http") \
	X("Kernel::handle", "Kernel::handle", "") \
	X("run<main::{lambda(int)#1}>(int)", "run<...>", "#1") \
	X("run<main::{lambda(int)#2}>(int)", "run<...>", "#2") \
	X("[no symbol]", "no", "") \
	X("alone(int)", "alone", "")

#endif
