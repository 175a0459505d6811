/* How many threads work that can be shared out is given to. */
#ifndef EBPROF_THREAD_COUNT_H
#define EBPROF_THREAD_COUNT_H

enum {
	THREAD_COUNT_MAX = 64,
};

/* As many as there are CPUs for this process: 1 to THREAD_COUNT_MAX. */
unsigned thread_count(void);

#endif
