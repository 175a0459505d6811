#include "record/task/left_out.h"

#include <string.h>

#include "format/base/mem.h"
#include "record/host/proc.h"
#include "record/host/proc_access.h"

void left_out_begin(struct left_out *left_out, const uint32_t *pids, size_t nr_pids)
{
	CLEANUP(proc_pids_deinit) struct proc_pids all = {0};
	vec_append(&all, pids, nr_pids);
	proc_add_descendants(&all);
	proc_access_set_paced(true);
	for (size_t i = nr_pids; i < all.len; i++) {
		struct proc_stat stat;
		if (proc_read_stat(all.data[i], &stat))
			vec_push(&left_out->processes,
				(struct left_out_process){all.data[i], stat.cpu_ns});
	}
	proc_access_set_paced(false);
}

static void keep_busiest(struct left_out_busy *busy, size_t max, struct left_out_busy one)
{
	size_t at = max;
	while (at > 0 && busy[at - 1].cpu_ns < one.cpu_ns)
		at--;
	if (at == max)
		return;
	memmove(busy + at + 1, busy + at, (max - 1 - at) * sizeof(*busy));
	busy[at] = one;
}

size_t left_out_count_busy(const struct left_out *left_out, struct left_out_busy *ret, size_t max)
{
	size_t count = 0;
	memset(ret, 0, max * sizeof(*ret));
	proc_access_set_paced(true);
	vec_each(&left_out->processes, process) {
		struct proc_stat stat;
		if (!proc_read_stat(process->pid, &stat) || stat.cpu_ns <= process->cpu_ns)
			continue;
		count++;
		keep_busiest(ret, max,
			(struct left_out_busy){process->pid, stat.cpu_ns - process->cpu_ns});
	}
	proc_access_set_paced(false);
	return count;
}

void left_out_deinit(struct left_out *left_out)
{
	vec_deinit(&left_out->processes);
}
