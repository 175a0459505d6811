#include "record/timers.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/cpu.h"
#include "record/feature.h"

void timers_init(struct timers *timers, const struct timers_clock *clock)
{
	struct perf_event_attr *attr = &timers->attr;
	*timers = (struct timers){.is_cycles = clock->is_cycles};
	*attr = (struct perf_event_attr){
		.size = sizeof(*attr),
		.type = clock->is_cycles ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.config = clock->is_cycles ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_SW_CPU_CLOCK,
		.disabled = 1,
		.exclude_user = clock->exclude_user,
		.exclude_kernel = clock->exclude_kernel,
		.exclude_hv = 1,
	};
	if (!clock->frequency_hz) {
		attr->sample_period = clock->period;
	} else if (clock->is_cycles) {
		attr->freq = 1;
		attr->sample_freq = clock->frequency_hz;
	} else {
		attr->sample_period = 1000000000ULL / clock->frequency_hz;
	}
}

void timers_deinit(struct timers *timers)
{
	vec_each(&timers->opened, timer)
		close(timer->fd);
	vec_deinit(&timers->opened);
}

/* ---- opening ---- */

static int open_event(const struct perf_event_attr *attr, int cpu)
{
	struct perf_event_attr copy = *attr;
	return (int)syscall(SYS_perf_event_open, &copy, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static struct err *open_timer(struct timers *timers, int cpu, int program)
{
	struct timer timer = {.cpu = cpu, .fd = open_event(&timers->attr, cpu)};
	if (timer.fd < 0 && timers->is_cycles && (errno == ENOENT || errno == EOPNOTSUPP))
		return err_new(ERR_UNSUPPORTED,
			"this machine shows no hardware counters, as most virtual ones: "
			"without -e cycles the CPU's clock is used");
	if (timer.fd < 0)
		return feature_explain(err_sys(
			errno, "perf_event_open (%s on CPU %d)", timers_event_name(timers), cpu));
	vec_push(&timers->opened, timer);
	/* Not libbpf's attach, which starts the timer at once. Closing the timer detaches. */
	if (ioctl(timer.fd, PERF_EVENT_IOC_SET_BPF, program))
		return feature_explain(err_sys(
			errno, "cannot attach the BPF program to the timer of CPU %d", cpu));
	return NULL;
}

static bool has_cpu(const struct cpu_list *list, int cpu)
{
	for (size_t i = 0; i < list->len; i++)
		if (list->data[i] == cpu)
			return true;
	return false;
}

struct err *timers_open(struct timers *timers, const int *cpus, size_t nr_cpus, int program)
{
	struct cpu_list online = {0};
	struct err *err = cpu_list_online(&online);
	const int *chosen = nr_cpus ? cpus : online.data;
	size_t nr_chosen = nr_cpus ? nr_cpus : online.len;
	for (size_t i = 0; !err && i < nr_chosen; i++)
		err = has_cpu(&online, chosen[i])
			      ? open_timer(timers, chosen[i], program)
			      : err_new(ERR_USAGE, "CPU %d is not online", chosen[i]);
	vec_deinit(&online);
	return err;
}

/* ---- running ---- */

struct err *timers_start(struct timers *timers)
{
	vec_each(&timers->opened, timer)
		if (ioctl(timer->fd, PERF_EVENT_IOC_ENABLE, 0))
			return err_sys(errno, "cannot start the timer of CPU %d", timer->cpu);
	return NULL;
}

void timers_stop(struct timers *timers)
{
	vec_each(&timers->opened, timer)
		ioctl(timer->fd, PERF_EVENT_IOC_DISABLE, 0);
}

static const struct timer *timer_of(const struct timers *timers, int cpu)
{
	vec_each(&timers->opened, timer)
		if (timer->cpu == cpu)
			return timer;
	return NULL;
}

bool timers_has_cpu(const struct timers *timers, int cpu)
{
	return timer_of(timers, cpu);
}

uint64_t timers_due(const struct timers *timers, int cpu)
{
	const struct timer *timer = timer_of(timers, cpu);
	uint64_t count = 0;
	uint64_t period = timers_period(timers);
	if (!timer || !period || read(timer->fd, &count, sizeof(count)) != sizeof(count))
		return 0;
	return count / period;
}

const char *timers_event_name(const struct timers *timers)
{
	return timers->is_cycles ? "cycles" : "cpu-clock";
}

const char *timers_event_unit(const struct timers *timers)
{
	return timers->is_cycles ? "cycles" : "ns";
}

uint64_t timers_period(const struct timers *timers)
{
	return timers->attr.freq ? 0 : timers->attr.sample_period;
}
