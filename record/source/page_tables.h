/* How memory of processes is found in that of the machine: see bpf/walked_task.bpf.h. */
#ifndef EBPROF_PAGE_TABLES_H
#define EBPROF_PAGE_TABLES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bpf/event.h"
#include "format/base/vec.h"

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

/* Where the machine has memory, in pieces of 1 << shift bytes. */
struct memory_pieces {
	uint64_t first, last; /* [first, last] */
};

struct machine_memory {
	VEC(struct memory_pieces) pieces;
};

/* Appends what /proc/iomem says, which tells nothing without CAP_SYS_ADMIN. */
void page_tables_read_memory(FILE *iomem, unsigned shift, struct machine_memory *ret);

#endif
