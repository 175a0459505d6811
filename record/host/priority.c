#include "record/host/priority.h"

#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	RAISED_NICE = -10
};

static _Thread_local bool is_raised;

static bool set_nice(int nice)
{
	return !setpriority(PRIO_PROCESS, (id_t)gettid(), nice);
}

void priority_raise(void)
{
	set_nice(RAISED_NICE);
}

void priority_raise_alone(void)
{
	static const struct sched_param none;
	bool is_usual = sched_getscheduler(0) == SCHED_OTHER && !getpriority(PRIO_PROCESS, 0);
	if (is_usual && !sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none))
		is_raised = set_nice(RAISED_NICE);
}

void priority_lower(void)
{
	if (is_raised)
		set_nice(0);
	is_raised = false;
}
