#include "record/event/timers.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/event/pmu.h"
#include "record/host/cpu.h"
#include "record/host/feature.h"

void timers_init(struct timers *timers, const struct timers_clock *clock)
{
	struct perf_event_attr *attr = &timers->attr;
	*timers = (struct timers){.name = clock->is_cycles ? "cycles" : "cpu-clock"};
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

void timers_init_event(struct timers *timers, const struct perf_event_attr *attr, const char *name)
{
	*timers = (struct timers){.attr = *attr, .name = name};
	timers->attr.size = sizeof(*attr);
	timers->attr.disabled = 1;
}

bool timers_count_time(const struct timers *timers)
{
	const struct perf_event_attr *attr = &timers->attr;
	return attr->type == PERF_TYPE_SOFTWARE &&
	       (attr->config == PERF_COUNT_SW_CPU_CLOCK ||
		       attr->config == PERF_COUNT_SW_TASK_CLOCK);
}

static bool counts_cycles(const struct timers *timers)
{
	return timers->attr.type == PERF_TYPE_HARDWARE &&
	       timers->attr.config == PERF_COUNT_HW_CPU_CYCLES;
}

uint64_t timers_read(const struct timer *timer)
{
	uint64_t count;
	return read(timer->fd, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

static struct timers_count *closed_of(struct timers *timers, int cpu)
{
	vec_each(&timers->closed, closed)
		if (closed->cpu == cpu)
			return closed;
	vec_push(&timers->closed, (struct timers_count){.cpu = cpu});
	return &timers->closed.data[timers->closed.len - 1];
}

void timers_close(struct timers *timers)
{
	vec_each(&timers->opened, timer) {
		closed_of(timers, timer->cpu)->count += timers_read(timer);
		close(timer->fd);
	}
	timers->opened.len = 0;
}

void timers_deinit(struct timers *timers)
{
	timers_close(timers);
	vec_deinit(&timers->opened);
	vec_deinit(&timers->closed);
	pmu_cpus_deinit(&timers->pmus);
}

/* ---- opening ---- */

static struct err *explain_open(const struct timers *timers, const struct timer *timer, int errnum)
{
	const char *name = timers_event_name(timers);
	if (timers->leader && errnum == EINVAL)
		return err_new(ERR_UNSUPPORTED,
			"%s: the processor cannot count so many events at once, with %s: "
			"leave some out of the group",
			name, timers_event_name(timers->leader));
	if (counts_cycles(timers) && (errnum == ENOENT || errnum == EOPNOTSUPP))
		return err_new(ERR_UNSUPPORTED,
			"this machine shows no hardware counters, as most virtual ones: "
			"without -e cycles the CPU's clock is used");
	if (timer->tid)
		return feature_explain(
			err_sys(errnum, "perf_event_open (%s of task %u)", name, timer->tid));
	return feature_explain(err_sys(errnum, "perf_event_open (%s on CPU %d)", name, timer->cpu));
}

static int leader_of_cpu(const struct timers *timers, int cpu)
{
	for (size_t i = 0; timers->leader && i < timers->leader->opened.len; i++)
		if (timers->leader->opened.data[i].cpu == cpu)
			return timers->leader->opened.data[i].fd;
	return -1;
}

static struct err *open_timer(
	struct timers *timers, const struct perf_event_attr *attr, struct timer timer, int program)
{
	struct perf_event_attr copy = *attr;
	int leader = leader_of_cpu(timers, timer.cpu);
	if (!timer.tid && !pmu_cpus_has(&timers->pmus, attr->type, timer.cpu))
		return NULL;
	if (timers->leader && leader < 0)
		return NULL;
	copy.disabled = !timers->leader;
	timer.fd = (int)syscall(SYS_perf_event_open, &copy, timer.tid ? (pid_t)timer.tid : -1,
		timer.cpu, leader, PERF_FLAG_FD_CLOEXEC);
	if (timer.fd < 0 && timer.tid && errno == ESRCH)
		return NULL; /* it has ended */
	if (timer.fd < 0)
		return explain_open(timers, &timer, errno);
	vec_push(&timers->opened, timer);
	if (program < 0)
		return NULL;
	/* Not libbpf's attach, which starts the timer at once. Closing the timer detaches. */
	if (ioctl(timer.fd, PERF_EVENT_IOC_SET_BPF, program))
		return feature_explain(err_sys(errno, "cannot attach the BPF program to a timer"));
	return NULL;
}

/* What software counts, any CPU does. */
static void look_at_pmus(struct timers *timers)
{
	uint32_t type = timers->attr.type;
	bool is_of_software = type == PERF_TYPE_SOFTWARE || type == PERF_TYPE_TRACEPOINT ||
			      type == PERF_TYPE_BREAKPOINT;
	if (!is_of_software && !timers->pmus.len)
		pmu_cpus_read(PMU_DEVICES, &timers->pmus);
}

struct err *timers_open_cpus(struct timers *timers, const int *cpus, size_t nr_cpus, int program)
{
	struct cpu_list online = {0};
	struct err *err = cpu_list_online(&online);
	const int *chosen = nr_cpus ? cpus : online.data;
	size_t nr_chosen = nr_cpus ? nr_cpus : online.len;
	look_at_pmus(timers);
	for (size_t i = 0; !err && i < nr_chosen; i++)
		err = cpu_list_has(&online, chosen[i])
			      ? open_timer(timers, &timers->attr, (struct timer){.cpu = chosen[i]},
					program)
			      : err_new(ERR_USAGE, "CPU %d is not online", chosen[i]);
	vec_deinit(&online);
	if (!err && !timers->opened.len)
		err = err_new(ERR_USAGE, "%s is counted on none of these CPUs",
			timers_event_name(timers));
	return err;
}

bool timers_have_had_cpu(const struct timers *timers, int cpu)
{
	vec_each(&timers->opened, timer)
		if (timer->cpu == cpu)
			return true;
	vec_each(&timers->closed, closed)
		if (closed->cpu == cpu)
			return true;
	return false;
}

/* Closes those of the CPU, which do not fire any more. */
static void close_dead(struct timers *timers, int cpu)
{
	size_t left = 0;
	vec_each(&timers->opened, timer) {
		if (timer->cpu != cpu) {
			timers->opened.data[left++] = *timer;
			continue;
		}
		closed_of(timers, cpu)->count += timers_read(timer);
		close(timer->fd);
	}
	timers->opened.len = left;
}

struct err *timers_renew_cpu(struct timers *timers, const struct cpu_gap *gap, int program)
{
	close_dead(timers, gap->cpu);
	try(open_timer(timers, &timers->attr, (struct timer){.cpu = gap->cpu}, program));
	if (timers_count_time(timers))
		closed_of(timers, gap->cpu)->count += gap->until_ns - gap->from_ns;
	if (timers->leader)
		return NULL;
	vec_each(&timers->opened, timer)
		if (timer->cpu == gap->cpu && ioctl(timer->fd, PERF_EVENT_IOC_ENABLE, 0))
			return err_sys(errno, "cannot start a timer");
	return NULL;
}

/* A descriptor each. */
enum {
	MAX_TASK_TIMERS = 1024,
};

struct opening {
	struct timers *timers;
	struct perf_event_attr attr;
	int program;
};

static struct err *timers_open_task(void *context, uint32_t tid)
{
	struct opening *opening = context;
	if (opening->timers->opened.len >= MAX_TASK_TIMERS)
		return err_new(ERR_UNSUPPORTED, "more than %d threads", MAX_TASK_TIMERS);
	struct timer timer = {.cpu = -1, .tid = tid};
	struct err *err = open_timer(opening->timers, &opening->attr, timer, opening->program);
	int errnum = err ? err_errnum(err) : 0;
	bool is_old_kernel = opening->attr.inherit_thread && (errnum == EINVAL || errnum == E2BIG);
	if (!is_old_kernel && errnum != EMFILE)
		return err;
	err_destroy(err);
	return err_new(ERR_UNSUPPORTED, "no timers of tasks here");
}

struct err *timers_open_tasks(struct timers *timers, const struct target_tasks *tasks, int program)
{
	struct opening opening = {timers, timers->attr, program};
	look_at_pmus(timers);
	if (pmu_cpus_are_several(&timers->pmus, timers->attr.type))
		return err_new(ERR_UNSUPPORTED, "%s is not counted by one PMU on all cores",
			timers_event_name(timers));
	opening.attr.inherit = tasks->inherit != TARGET_INHERIT_NOTHING;
	opening.attr.inherit_thread = tasks->inherit == TARGET_INHERIT_THREADS;
	return target_tasks_each(tasks, timers_open_task, &opening);
}

/* ---- running ---- */

struct err *timers_start(struct timers *timers)
{
	if (timers->attr.enable_on_exec || timers->leader)
		return NULL;
	vec_each(&timers->opened, timer)
		if (ioctl(timer->fd, PERF_EVENT_IOC_ENABLE, 0))
			return err_sys(errno, "cannot start a timer");
	return NULL;
}

void timers_stop(struct timers *timers)
{
	vec_each(&timers->opened, timer)
		ioctl(timer->fd, PERF_EVENT_IOC_DISABLE, 0);
}

uint64_t timers_counted(const struct timers *timers, int cpu)
{
	uint64_t sum = 0;
	vec_each(&timers->closed, closed)
		sum += closed->cpu == cpu ? closed->count : 0;
	vec_each(&timers->opened, timer)
		sum += timer->cpu == cpu ? timers_read(timer) : 0;
	return sum;
}

uint64_t timers_due(const struct timers *timers, int cpu)
{
	uint64_t period = timers_period(timers);
	return period ? timers_counted(timers, cpu) / period : 0;
}

const char *timers_event_name(const struct timers *timers)
{
	return timers->name;
}

const char *timers_event_unit(const struct timers *timers)
{
	return counts_cycles(timers) ? "cycles" : "ns";
}

uint64_t timers_period(const struct timers *timers)
{
	return timers->attr.freq ? 0 : timers->attr.sample_period;
}
