/* How memory of processes is found in that of the machine: see bpf/walked_task.bpf.h. */
#ifndef EBPROF_PAGE_TABLES_H
#define EBPROF_PAGE_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/event.h"

/* Of the program try_page_tables(), and of its variables. */
struct page_tables_trial {
	int program;
	const volatile unsigned long long *own_page_tables;
	volatile struct page_tables *page_tables;
};

/*
 * Finds it out by trying what is possible on memory of this process, and leaves it where programs
 * have it. False: nothing leads there; then direct_map is 0.
 */
bool page_tables_find(const struct page_tables_trial *trial);

#endif
