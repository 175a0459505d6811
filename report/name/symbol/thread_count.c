#include "report/name/symbol/thread_count.h"

#include <sched.h>

unsigned thread_count(void)
{
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
	return count < 1 ? 1 : count > THREAD_COUNT_MAX ? THREAD_COUNT_MAX : (unsigned)count;
}
