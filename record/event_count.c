#include "record/event_count.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/base/mem.h"
#include "record/cgroup/counted_cgroups.h"
#include "record/event/pmu.h"
#include "record/event/pmu_cpus.h"
#include "record/host/cpu.h"
#include "record/host/feature.h"
#include "record/host/tracefs.h"
#include "record/session_signals.h"
#include "record/task/target.h"
#include "record/task/target_tasks.h"
#include "record/task/watched_tasks.h"

#ifndef PERF_COUNT_SW_CGROUP_SWITCHES /* Linux 5.13 */
#define PERF_COUNT_SW_CGROUP_SWITCHES 11
#endif

/* One perf event: of a spec, or of one of the tracepoints that it stands for, on a CPU or of a
 * task. */
struct counting_event {
	int fd;
	size_t spec;
	int leader; /* the descriptor of its group's first; -1: it is that, or has none */
	/* Of a task, which other events of the spec count on other CPUs: one of them at a time. */
	bool is_by_turns;
	bool is_of_some_cores; /* of a task: what it does on others is no part of the event */
	bool is_always_on;     /* it needs no hardware that others take as well */
};

struct counting {
	const struct event_count_options *options;
	struct event_count_run *run;
	VEC(struct perf_event_attr) attrs; /* of all specs, one after the other: */
	VEC(size_t) spec_of;               /* of each attr */
	VEC(struct counting_event) events;
	struct cpu_list cpus; /* that are online */
	struct pmu_cpus pmus;
	struct counted_cgroups cgroups;
	struct target target;
	bool has_target;
	bool sees_kernel; /* what happens in it may be counted */
};

/* What a perf event counts: a CPU, a control group on a CPU, a task, or a task on one CPU. */
struct counted_place {
	int cpu; /* -1: all */
	bool is_task;
	int id; /* of the task; or a descriptor of the control group; -1: all that the CPU runs */
};

static int open_perf_event(
	struct perf_event_attr *attr, const struct counted_place *place, int leader)
{
	bool is_cgroup = !place->is_task && place->id >= 0;
	unsigned long flags = PERF_FLAG_FD_CLOEXEC | (is_cgroup ? PERF_FLAG_PID_CGROUP : 0);
	return (int)syscall(SYS_perf_event_open, attr, place->id, place->cpu, leader, flags);
}

/* ---- what is to be counted ---- */

/* By CPUs, not by tasks. */
static bool is_of_cpus(const struct event_count_options *options)
{
	return options->is_system || options->nr_cgroups;
}

static void refuse_count(struct counting *counting, size_t spec, struct err *err)
{
	struct event_count *count = &counting->run->counts[spec];
	snprintf(count->why, sizeof(count->why), "%s", err_message(err));
	err_destroy(err);
}

static void add_attr(struct counting *counting, size_t spec, struct perf_event_attr attr)
{
	const struct event_count_options *options = counting->options;
	bool is_of_tasks = !is_of_cpus(options);
	attr.sample_period = 0;
	attr.freq = 0;
	attr.precise_ip = 0;
	attr.disabled = 1;
	attr.inherit = is_of_tasks && !options->no_inherit;
	attr.enable_on_exec = is_of_tasks && !options->nr_pids;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	vec_push(&counting->attrs, attr);
	vec_push(&counting->spec_of, spec);
}

static struct err *describe_tracepoints(struct counting *counting, size_t number)
{
	CLEANUP(tracepoints_deinit) struct tracepoints found = {0};
	CLEANUP_FD int root = -1;
	const struct event_spec *spec = &counting->options->specs[number];
	try(err_wrap(tracefs_open(&root), "%s", spec->name));
	try(tracefs_find(root, spec->text, &found));
	vec_each(&found, tracepoint)
		add_attr(counting, number,
			(struct perf_event_attr){.size = sizeof(struct perf_event_attr),
				.type = PERF_TYPE_TRACEPOINT,
				.config = tracepoint->id});
	return NULL;
}

/* kernel.perf_event_paranoid leaves users their programs' own code, if anything. */
static bool may_count_kernel(void)
{
	const struct counted_place self = {.cpu = -1, .is_task = true, .id = 0};
	struct perf_event_attr attr = {.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.disabled = 1};
	CLEANUP_FD int fd = open_perf_event(&attr, &self, -1);
	return fd >= 0 || errno != EACCES;
}

/* Of clocks it leaves out nothing, of what the scheduler does all. */
static struct err *leave_out_kernel(
	struct counting *counting, size_t number, struct perf_event_attr *attr)
{
	bool is_software = attr->type == PERF_TYPE_SOFTWARE;
	bool is_of_scheduler =
		is_software && (attr->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
				       attr->config == PERF_COUNT_SW_CPU_MIGRATIONS ||
				       attr->config == PERF_COUNT_SW_CGROUP_SWITCHES);
	bool is_clock = is_software && (attr->config == PERF_COUNT_SW_CPU_CLOCK ||
					       attr->config == PERF_COUNT_SW_TASK_CLOCK);
	if (counting->sees_kernel || attr->exclude_kernel || attr->exclude_user)
		return NULL;
	if (is_of_scheduler)
		return err_wrap(feature_explain(err_sys(EACCES, "perf_event_open")), "%s",
			counting->options->specs[number].name);
	attr->exclude_kernel = attr->exclude_hv = 1;
	counting->run->counts[number].is_of_user = !is_clock;
	return NULL;
}

static struct err *describe_count(struct counting *counting, size_t number)
{
	struct event_spec spec = counting->options->specs[number];
	struct perf_event_attr attr;
	if (spec.kind == EVENT_SPEC_TRACEPOINT)
		return describe_tracepoints(counting, number);
	if (spec.kind == EVENT_SPEC_TIMER && spec.timer != SESSION_EVENT_AUTO) {
		bool is_cycles = spec.timer == SESSION_EVENT_CYCLES;
		spec.kind = EVENT_SPEC_COUNTER;
		spec.type = is_cycles ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE;
		spec.config = is_cycles ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_SW_CPU_CLOCK;
	}
	if (spec.kind != EVENT_SPEC_COUNTER && spec.kind != EVENT_SPEC_PMU)
		return err_new(ERR_USAGE,
			"\"%s\" is not counted by stat: ebprof record samples it, and ebprof info "
			"has its number",
			spec.name);
	spec.period = spec.frequency_hz = 0;
	try(pmu_describe(PMU_DEVICES, &spec, &attr));
	attr.precise_ip = 0;
	if (!counting->options->is_system && pmu_cpus_are_outside(&counting->pmus, attr.type))
		return err_new(ERR_USAGE,
			"%s is counted for the whole machine, not for a %s: use -a", spec.name,
			counting->options->nr_cgroups ? "control group" : "process");
	try(leave_out_kernel(counting, number, &attr));
	try(pmu_try(PMU_DEVICES, &spec, &attr));
	add_attr(counting, number, attr);
	return NULL;
}

static struct err *describe_counts(struct counting *counting)
{
	for (size_t i = 0; i < counting->options->nr_specs; i++) {
		struct err *err = describe_count(counting, i);
		if (err && counting->options->skips_refused && err_code(err) != ERR_USAGE)
			refuse_count(counting, i, err);
		else if (err)
			return err;
	}
	return NULL;
}

/* ---- opening ---- */

/* The first of its group on this CPU, or of this task; `first` is that of its events. */
static int leader_of(const struct counting *counting, size_t first, size_t spec)
{
	const struct event_spec *specs = counting->options->specs;
	for (size_t i = first; specs[spec].group && i < counting->events.len; i++) {
		const struct counting_event *event = &counting->events.data[i];
		if (specs[event->spec].group == specs[spec].group && event->leader < 0)
			return event->fd;
	}
	return -1;
}

static bool is_counted_there(const struct counting *counting, const struct perf_event_attr *attr,
	const struct counted_place *place)
{
	if (!place->is_task)
		return pmu_cpus_has(&counting->pmus, attr->type, place->cpu);
	return pmu_cpus_are_several(&counting->pmus, attr->type) == (place->cpu >= 0);
}

static struct err *open_counts(struct counting *counting, const struct counted_place *place)
{
	size_t first = counting->events.len;
	for (size_t i = 0; i < counting->attrs.len; i++) {
		struct perf_event_attr attr = counting->attrs.data[i];
		size_t spec = counting->spec_of.data[i];
		struct counting_event event = {.spec = spec,
			.leader = leader_of(counting, first, spec),
			.is_by_turns = place->is_task && place->cpu >= 0,
			.is_of_some_cores =
				place->is_task && pmu_cpus_are_some(&counting->pmus, attr.type),
			.is_always_on = !counting->options->specs[spec].group &&
					(attr.type == PERF_TYPE_SOFTWARE ||
						attr.type == PERF_TYPE_TRACEPOINT)};
		if (!is_counted_there(counting, &attr, place))
			continue;
		if (event.leader >= 0) /* with its leader */
			attr.disabled = attr.enable_on_exec = 0;
		event.fd = open_perf_event(&attr, place, event.leader);
		if (event.fd < 0 && errno == ESRCH)
			return NULL; /* it has ended */
		if (event.fd >= 0) {
			vec_push(&counting->events, event);
			continue;
		}
		struct err *err = err_wrap(feature_explain(err_sys(errno, "perf_event_open")), "%s",
			counting->options->specs[spec].name);
		if (!counting->options->skips_refused)
			return err;
		refuse_count(counting, spec, err);
	}
	return NULL;
}

static struct err *open_counts_of_task(void *context, uint32_t tid)
{
	struct counting *counting = context;
	struct counted_place place = {.cpu = -1, .is_task = true, .id = (int)tid};
	try(open_counts(counting, &place));
	vec_each(&counting->cpus, cpu) {
		place.cpu = (int)*cpu;
		try(open_counts(counting, &place));
	}
	return NULL;
}

/* `cgroup`: its descriptor; -1: all that they run. */
static struct err *open_counts_of_cpus(struct counting *counting, int cgroup)
{
	vec_each(&counting->cpus, cpu)
		try(open_counts(counting, &(struct counted_place){.cpu = (int)*cpu, .id = cgroup}));
	return NULL;
}

static struct err *open_all_counts(struct counting *counting)
{
	const struct event_count_options *options = counting->options;
	if (options->nr_pids) {
		struct target_tasks tasks = {.ids = options->pids,
			.nr_ids = options->nr_pids,
			.inherit =
				options->no_inherit ? TARGET_INHERIT_THREADS : TARGET_INHERIT_ALL};
		return target_tasks_each(&tasks, open_counts_of_task, counting);
	}
	if (options->is_system)
		return open_counts_of_cpus(counting, -1);
	if (!options->nr_cgroups)
		return open_counts_of_task(counting, (uint32_t)counting->target.pid);
	vec_each(&counting->cgroups.fds, fd)
		try(open_counts_of_cpus(counting, *fd));
	return NULL;
}

static void switch_counts(const struct counting *counting, unsigned long request)
{
	vec_each(&counting->events, event)
		ioctl(event->fd, request, 0);
}

/* ---- while it runs ---- */

/* True when it is over. */
static bool wait_some(struct counting *counting, const struct session_signals *signals,
	const struct watched_tasks *watched, uint64_t until_ns)
{
	enum {
		LOOK_MS = 100, /* at processes that were there before */
	};
	struct event_count_run *run = counting->run;
	uint64_t now = clock_now_ns();
	if (until_ns && now >= until_ns)
		return true;
	uint64_t left_ms = until_ns ? (until_ns - now) / 1000000 + 1 : LOOK_MS;
	struct pollfd fds[] = {{.fd = signals->fd, .events = POLLIN},
		{.fd = counting->has_target ? counting->target.exit_fd : -1, .events = POLLIN}};
	poll(fds, 2, left_ms < LOOK_MS ? (int)left_ms : LOOK_MS);
	for (int number; (number = session_signals_next(signals));)
		run->end_signal = number;
	if (counting->has_target && target_poll_exit(&counting->target, &run->status)) {
		run->has_status = true;
		return true;
	}
	if (run->end_signal && counting->has_target)
		kill(counting->target.pid, run->end_signal);
	return run->end_signal || (counting->options->nr_pids && watched_tasks_are_gone(watched));
}

/* A signal has ended our waiting; the command gets it, too. */
static void reap_target(struct counting *counting)
{
	struct event_count_run *run = counting->run;
	for (int i = 0; counting->has_target && !run->has_status && i < 50; i++) {
		run->has_status = target_poll_exit(&counting->target, &run->status);
		if (!run->has_status)
			usleep(10000);
	}
}

static double seconds_of(struct timeval since, struct timeval now)
{
	return (double)(now.tv_sec - since.tv_sec) + (double)(now.tv_usec - since.tv_usec) / 1e6;
}

static struct err *run_counts(struct counting *counting, const struct session_signals *signals)
{
	const struct event_count_options *options = counting->options;
	struct event_count_run *run = counting->run;
	struct watched_tasks watched = {0};
	struct rusage before, after;
	struct err *err = watched_tasks_open(options->pids, options->nr_pids, &watched);
	getrusage(RUSAGE_CHILDREN, &before);
	if (!err && (is_of_cpus(options) || options->nr_pids))
		switch_counts(counting, PERF_EVENT_IOC_ENABLE);
	uint64_t begun_ns = clock_now_ns();
	if (!err && counting->has_target)
		err = target_release(&counting->target, &run->exec_errno);
	uint64_t until_ns = options->duration_ns ? begun_ns + options->duration_ns : 0;
	while (!err && !run->exec_errno && !wait_some(counting, signals, &watched, until_ns))
		;
	switch_counts(counting, PERF_EVENT_IOC_DISABLE);
	run->elapsed_s = (double)(clock_now_ns() - begun_ns) / NS_PER_S;
	reap_target(counting);
	getrusage(RUSAGE_CHILDREN, &after);
	run->user_s = seconds_of(before.ru_utime, after.ru_utime);
	run->system_s = seconds_of(before.ru_stime, after.ru_stime);
	watched_tasks_deinit(&watched);
	return err;
}

/* ---- the result ---- */

struct count_part {
	double value, enabled, running;
};

struct count_sum {
	struct count_part all, by_turns; /* the latter is no part of the former yet */
	bool has_any;
};

/* Of the time that it did not run, as much as of the time that it did. */
static double extrapolate_count(const struct count_part *part)
{
	bool has_run = part->running > 0 && part->running < part->enabled;
	return has_run ? part->value * part->enabled / part->running : part->value;
}

static void add_count(struct count_sum *sum, const struct counting_event *event,
	const struct count_part *read, size_t nr_cpus)
{
	sum->has_any = true;
	if (event->is_by_turns) { /* the time that it could run is each of these events' */
		sum->by_turns.value += read->value;
		sum->by_turns.enabled += read->enabled / (double)nr_cpus;
		sum->by_turns.running += read->running;
		return;
	}
	sum->all.value += event->is_of_some_cores ? read->value : extrapolate_count(read);
	sum->all.enabled += read->enabled;
	sum->all.running += read->running;
}

static void read_counts(struct counting *counting)
{
	size_t nr_specs = counting->options->nr_specs;
	CLEANUP_FREE struct count_sum *sums = mem_zalloc_array(nr_specs, sizeof(*sums));
	vec_each(&counting->events, event) {
		struct {
			uint64_t value, enabled, running;
		} now;
		if (read(event->fd, &now, sizeof(now)) != sizeof(now))
			continue;
		struct count_part part = {
			(double)now.value, (double)now.enabled, (double)now.running};
		/* Of a control group's on a CPU the kernel's two times may differ. */
		if (event->is_always_on)
			part.running = part.enabled;
		add_count(&sums[event->spec], event, &part, counting->cpus.len);
	}
	for (size_t i = 0; i < nr_specs; i++) {
		struct event_count *count = &counting->run->counts[i];
		const struct count_part *all = &sums[i].all, *by_turns = &sums[i].by_turns;
		double enabled = all->enabled + by_turns->enabled;
		count->is_counted = sums[i].has_any;
		count->value = all->value + extrapolate_count(by_turns);
		count->ran = enabled > 0 ? (all->running + by_turns->running) / enabled : 1;
	}
}

static struct err *count_once(struct counting *counting, struct session_signals *signals)
{
	const struct event_count_options *options = counting->options;
	try(cpu_list_online(&counting->cpus));
	pmu_cpus_read(PMU_DEVICES, &counting->pmus);
	counting->sees_kernel = may_count_kernel();
	try(counted_cgroups_open(options->cgroups, options->nr_cgroups, &counting->cgroups));
	try(describe_counts(counting));
	try(session_signals_take(signals));
	if (options->argv) {
		try(target_start(options->argv, &(struct target_variables){0}, &signals->old, false,
			&counting->target));
		counting->has_target = true;
	}
	try(open_all_counts(counting));
	try(run_counts(counting, signals));
	read_counts(counting);
	return NULL;
}

struct err *event_count_run(const struct event_count_options *options, struct event_count_run *ret)
{
	struct counting counting = {.options = options, .run = ret};
	struct session_signals signals = {.fd = -1};
	memset(ret->counts, 0, options->nr_specs * sizeof(*ret->counts));
	struct err *err = count_once(&counting, &signals);
	vec_each(&counting.events, event)
		close(event->fd);
	vec_deinit(&counting.events);
	vec_deinit(&counting.attrs);
	vec_deinit(&counting.spec_of);
	vec_deinit(&counting.cpus);
	pmu_cpus_deinit(&counting.pmus);
	counted_cgroups_deinit(&counting.cgroups);
	if (counting.has_target)
		target_deinit(&counting.target);
	if (signals.fd < 0)
		return err;
	session_signals_restore(&signals);
	signal(SIGPIPE, signals.old.on_pipe); /* another run's command is to find them, too */
	signal(SIGXFSZ, signals.old.on_file_size);
	return err;
}
