/*
 * The threads that the page of --html tells apart; those of two recordings by their names and those
 * of their processes.
 */
#ifndef EBPROF_HTML_THREADS_H
#define EBPROF_HTML_THREADS_H

#include "format/base/str.h"
#include "format/base/vec.h"
#include "report/write/export/html_data.h"
#include "report/write/export/html_tree.h"

struct html_thread {
	uint32_t pid, tid; /* 0: all threads of that name */
	const char *comm;
	const char *container; /* or its cgroup; "" where the thread stands for all of that name */
	const char *process;   /* the name of its process */
	uint64_t weight, running; /* the latter of it on a CPU */
	uint64_t key;             /* equal for the names that one thread had */
	uint32_t id;              /* before they were put in order */
};

struct html_threads {
	VEC(struct html_thread) list;      /* those that ran most first, of others the heaviest */
	uint32_t *ranks[HTML_COLUMNS_MAX]; /* of each thread of a side: where it is in the list */
	struct strtab processes;           /* their names */
};

/* Those that were seen by the event of their side. */
void html_threads_init(
	struct html_threads *threads, const struct html_data_side *sides, size_t nr_sides);
/* How many threads those from the list's `first` on are. */
uint64_t html_threads_count(const struct html_threads *threads, size_t first);
void html_threads_deinit(struct html_threads *threads);

#endif
