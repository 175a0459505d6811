#include "record/host/cpu_watch.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "record/host/cpu.h"

enum {
	CHECK_INTERVAL_NS = 1000 * 1000 * 1000,
};

static int cpu_watch_open_event(int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
	};
	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* 0: it cannot be read. */
static uint64_t read_enabled_ns(int fd)
{
	struct {
		uint64_t count, enabled_ns;
	} values;
	return read(fd, &values, sizeof(values)) == sizeof(values) ? values.enabled_ns : 0;
}

static struct watched_cpu *cpu_watch_find(const struct cpu_watch *watch, int cpu)
{
	vec_each(&watch->cpus, watched)
		if (watched->cpu == cpu)
			return watched;
	return NULL;
}

/* False: nothing tells that it is online. */
static bool add_cpu(struct cpu_watch *watch, int cpu)
{
	int fd = cpu_watch_open_event(cpu);
	if (fd >= 0)
		vec_push(&watch->cpus, (struct watched_cpu){cpu, fd, read_enabled_ns(fd)});
	return fd >= 0;
}

void cpu_watch_init(struct cpu_watch *watch, uint64_t now_ns)
{
	struct cpu_list online = {0};
	*watch = (struct cpu_watch){.checked_ns = now_ns};
	err_destroy(cpu_list_online(&online));
	vec_each(&online, cpu)
		add_cpu(watch, *cpu);
	vec_deinit(&online);
}

void cpu_watch_deinit(struct cpu_watch *watch)
{
	vec_each(&watch->cpus, watched)
		close(watched->fd);
	vec_deinit(&watch->cpus);
	vec_deinit(&watch->gaps);
}

/* The time of an event that was detached stands still, whether its CPU is back or not. */
static void drop_dead_events(struct cpu_watch *watch)
{
	size_t nr_alive = 0;
	vec_each(&watch->cpus, watched) {
		uint64_t enabled_ns = read_enabled_ns(watched->fd);
		bool is_alive = enabled_ns > watched->enabled_ns;
		watched->enabled_ns = enabled_ns;
		if (is_alive)
			watch->cpus.data[nr_alive++] = *watched;
		else
			close(watched->fd);
	}
	watch->cpus.len = nr_alive;
}

void cpu_watch_check(struct cpu_watch *watch, uint64_t now_ns)
{
	struct cpu_list online = {0};
	watch->gaps.len = 0;
	if (!watch->cpus.len || now_ns < watch->checked_ns + CHECK_INTERVAL_NS)
		return;
	drop_dead_events(watch);
	err_destroy(cpu_list_online(&online));
	vec_each(&online, cpu)
		if (!cpu_watch_find(watch, *cpu) && add_cpu(watch, *cpu))
			vec_push(&watch->gaps, (struct cpu_gap){*cpu, watch->checked_ns, now_ns});
	vec_deinit(&online);
	watch->checked_ns = now_ns;
}
