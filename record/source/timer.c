#include "record/source/timer.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "bpf/sample.skel.h"
#include "format/base/mem.h"
#include "record/host/feature.h"
#include "record/host/proc.h"
#include "record/source/source_kernel.h"

struct timer_state {
	struct ticker ticker;
	struct sample_bpf *bpf;
	bool has_targets; /* tasks that are known by their ids; else those of a user, or all */
};

static struct timers_clock clock_of(const struct session_options *options)
{
	return (struct timers_clock){
		.is_cycles = options->event == SESSION_EVENT_CYCLES ||
			     (options->event == SESSION_EVENT_AUTO && feature_cycles_count()),
		.frequency_hz = options->frequency_hz,
		.period = options->period,
		.exclude_user = options->exclude_user,
		.exclude_kernel = options->exclude_kernel,
	};
}

static struct err *timer_probe(struct source *source, const struct session_options *options)
{
	if (options->event == SESSION_EVENT_NONE)
		return NULL;
	struct timer_state *timer = source->state = mem_zalloc(sizeof(*timer));
	struct timers_clock clock = clock_of(options);
	ticker_init(&timer->ticker, &clock);
	timer->has_targets = !session_is_system_wide(options);
	const struct timers *timers = &timer->ticker.timers[0];
	struct source_event event = {
		.name = timers_event_name(timers),
		.unit = timers_event_unit(timers),
		.period = timers_period(timers),
		.frequency_hz = options->frequency_hz,
	};
	vec_push(&source->events, event);
	return NULL;
}

static void timer_load(struct source *source, struct sample_bpf *bpf)
{
	((struct timer_state *)source->state)->bpf = bpf;
	source_kernel_choose(bpf, source->row->program);
}

static void list_targets(void *context, struct proc_pids *ret)
{
	const struct timer_state *timer = context;
	int targets = bpf_map__fd(timer->bpf->maps.targets);
	uint32_t id = 0;
	while (!bpf_map_get_next_key(targets, ret->len ? &id : NULL, &id))
		vec_push(ret, id);
}

static struct err *timer_attach(struct source *source, const struct source_place *place)
{
	struct timer_state *timer = source->state;
	struct ticker_options ticker = {
		.follows_tasks = &place->bpf->bss->targets_have_timers,
		.cpus = place->nr_cpus ? source->cpus.data : NULL,
		.nr_cpus = place->nr_cpus ? source->cpus.len : 0,
		.tasks = place->tasks,
		.list_targets = list_targets,
		.context = timer,
	};
	ticker.program = source_kernel_program(place->bpf, source->row->program);
	return ticker_open(&timer->ticker, &ticker);
}

static struct err *timer_start(struct source *source, uint64_t now_ns)
{
	return ticker_start(&((struct timer_state *)source->state)->ticker, now_ns);
}

static void timer_stop(struct source *source, uint64_t now_ns)
{
	ticker_stop(&((struct timer_state *)source->state)->ticker, now_ns);
}

/* ---- counters ---- */

/* Of tasks' own timers, by CPU, of all possible ones; yours. */
static struct err *read_task_ticks(const struct timer_state *timer, struct event_task_ticks **ret)
{
	uint32_t zero = 0;
	CLEANUP_FREE struct event_task_ticks *ticks =
		mem_zalloc_array((size_t)libbpf_num_possible_cpus(), sizeof(*ticks));
	if (bpf_map_lookup_elem(bpf_map__fd(timer->bpf->maps.task_ticks), &zero, ticks))
		return err_sys(errno, "cannot read the BPF programs' counters");
	*ret = steal_ptr(ticks);
	return NULL;
}

static uint64_t beyond(uint64_t due, uint64_t came)
{
	return due > came ? due - came : 0;
}

/* Late ones are those of the timers that ran last. */
static uint64_t came_by(const struct timer_state *timer, const struct source_cpu *cpu,
	uint64_t task_ticks, enum timer_kind kind)
{
	const struct event_tally *of = cpu->counted.of;
	uint64_t late = timer->ticker.choice.kind == kind ? of[EVENT_COUNTER_LATE].count : 0;
	uint64_t ticks = of[EVENT_COUNTER_EVENTS].count;
	return (kind == TIMERS_OF_TASKS ? task_ticks : ticks - task_ticks) + late;
}

/* Ticks that were due by the clock, its count divided by the period, and did not come. What the
 * timers of tasks lack is no CPU's: it goes to the first. */
static void count_skipped(const struct timer_state *timer,
	const struct event_task_ticks *task_ticks, struct source_cpus *cpus)
{
	uint64_t came = 0;
	vec_each(cpus, cpu) {
		uint64_t of_tasks = task_ticks[cpu->cpu].ticks;
		came += came_by(timer, cpu, of_tasks, TIMERS_OF_TASKS);
		cpu->skipped = beyond(ticker_due(&timer->ticker, TIMERS_OF_CPUS, (int)cpu->cpu),
			came_by(timer, cpu, of_tasks, TIMERS_OF_CPUS));
	}
	if (cpus->len)
		cpus->data[0].skipped +=
			beyond(ticker_due(&timer->ticker, TIMERS_OF_TASKS, -1), came);
}

static struct err *timer_read_counters(
	struct source *source, bool with_skipped, struct source_cpus *ret)
{
	const struct timer_state *timer = source->state;
	CLEANUP_FREE struct event_task_ticks *task_ticks = NULL;
	try(source_kernel_read(source, timer->bpf, ret));
	if (!with_skipped)
		return NULL;
	try(read_task_ticks(timer, &task_ticks));
	count_skipped(timer, task_ticks, ret);
	return NULL;
}

/* ---- timers of another kind, when those are the better ones by now ---- */

static struct err *timer_update(struct source *source, uint64_t now_ns)
{
	struct timer_state *timer = source->state;
	CLEANUP_FREE struct event_counters *counted = NULL;
	CLEANUP_FREE struct event_task_ticks *task_ticks = NULL;
	if (!timer->has_targets)
		return NULL;
	try(source_kernel_count(source, timer->bpf, &counted));
	try(read_task_ticks(timer, &task_ticks));
	struct timer_load load = {
		.now_ns = now_ns,
		.processes_forked = timer->bpf->bss->processes_forked,
		.threads_forked = timer->bpf->bss->threads_forked,
	};
	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++) {
		load.samples += counted[cpu].of[EVENT_COUNTER_SAMPLES].count +
				counted[cpu].of[EVENT_COUNTER_LOST_RING].count;
		load.task_ticks += task_ticks[cpu].ticks;
		load.switch_rates += task_ticks[cpu].switch_rates;
	}
	return ticker_update(&timer->ticker, &load);
}

static struct err *timer_renew_cpu(struct source *source, const struct cpu_gap *gap)
{
	return ticker_renew_cpu(&((struct timer_state *)source->state)->ticker, gap);
}

static struct ticker_times timer_times(const struct source *source, uint64_t now_ns)
{
	return ticker_times_until(&((const struct timer_state *)source->state)->ticker, now_ns);
}

static void timer_release(struct source *source)
{
	ticker_deinit(&((struct timer_state *)source->state)->ticker);
	mem_free(source->state);
}

const struct event_source timer_source = {
	.name = "timer",
	.tallied = "ticks",
	.program = "tick",
	.lane = EVENT_LANE_INTERRUPT,
	.has_idle = true,
	.has_second_samples = true,
	.probe = timer_probe,
	.load = timer_load,
	.attach = timer_attach,
	.start = timer_start,
	.stop = timer_stop,
	.read_counters = timer_read_counters,
	.release = timer_release,
	.update = timer_update,
	.renew_cpu = timer_renew_cpu,
	.times = timer_times,
};
