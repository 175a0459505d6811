#include "record/turn_time.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/base/mem.h"
#include "record/host/proc.h"

void turn_time_init(struct turn_time *time)
{
	*time = (struct turn_time){
		.schedstat_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC),
	};
}

void turn_time_deinit(struct turn_time *time)
{
	mem_close_fd(&time->schedstat_fd);
}

void turn_time_begin(struct turn_time *time)
{
	time->begun_starved_ns = proc_queued_ns(time->schedstat_fd);
	time->begun_cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	time->begun_ns = clock_now_ns();
}

static uint64_t at_most(uint64_t value, uint64_t limit)
{
	return value < limit ? value : limit;
}

void turn_time_end(struct turn_time *time)
{
	const struct turn *longest = &time->longest;
	uint64_t took_ns = clock_now_ns() - time->begun_ns;
	/* Without starved_ns it would not be shorter: most turns cost one look at a clock. */
	if (took_ns <= longest->cpu_ns + longest->blocked_ns)
		return;
	struct turn turn;
	uint64_t cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - time->begun_cpu_ns;
	uint64_t starved_ns = proc_queued_ns(time->schedstat_fd) - time->begun_starved_ns;
	turn.cpu_ns = at_most(cpu_ns, took_ns);
	turn.starved_ns = at_most(starved_ns, took_ns - turn.cpu_ns);
	turn.blocked_ns = took_ns - turn.cpu_ns - turn.starved_ns;
	if (turn.cpu_ns + turn.blocked_ns > longest->cpu_ns + longest->blocked_ns)
		time->longest = turn;
}
