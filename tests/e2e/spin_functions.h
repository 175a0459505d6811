/*
 * Two functions that use a millisecond or less of CPU time and do nothing, for generated code that
 * calls one or the other, and the time that the process has used.
 */
#ifndef EBPROF_SPIN_FUNCTIONS_H
#define EBPROF_SPIN_FUNCTIONS_H

#include <time.h>

static double cpu_seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static volatile unsigned sink;

static void spin(void)
{
	for (unsigned i = 0; i < 200000; i++)
		sink += i;
}

__attribute__((noinline)) void spin_small(void)
{
	spin();
	__asm__ volatile("");
}

__attribute__((noinline)) void spin_large(void)
{
	spin();
	__asm__ volatile("");
}

#endif
