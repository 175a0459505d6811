#include "record/source/counter.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bpf/sample.skel.h"
#include "format/base/mem.h"
#include "format/base/str.h"
#include "record/event/event_spec.h"
#include "record/event/pmu.h"
#include "record/event/timers.h"
#include "record/host/feature.h"
#include "record/source/event_tally.h"
#include "record/source/source_kernel.h"
#include "record/source/sources.h"

enum {
	GROUP_TRACEPOINTS = 2,
	NS_A_SECOND = 1000000000,
};

struct counter_state {
	struct timers timers;
	struct sample_bpf *bpf;
	char *name; /* with the precise level that could be had */
	uint32_t number;
	bool starts_at_exec; /* that of the command, which is the target */
	bool is_of_tasks;
	uint64_t unseen[2]; /* by the program so far: below, or lost */

	/* Of a group that is read together, see bpf/source/group.bpf.h: */
	uint32_t leader;  /* the number of its first event, which is its own where it is none */
	uint32_t members; /* bits: the numbers of the others, where it is the first */
	int tracepoints[GROUP_TRACEPOINTS]; /* descriptors that keep the programs attached */
	int nr_tracepoints;
	bool has_ended;
};

static bool is_counter(const struct event_spec *spec)
{
	bool is_one = spec->kind == EVENT_SPEC_COUNTER || spec->kind == EVENT_SPEC_PMU;
	return is_one && !spec->is_left_out;
}

/* The one of that number; NULL: there are not so many. */
static const struct event_spec *counter_spec(const struct session_options *options, uint32_t number)
{
	for (size_t i = 0; i < options->nr_specs; i++)
		if (is_counter(&options->specs[i]) && !number--)
			return &options->specs[i];
	return NULL;
}

/* The number of the event that a counter is read with: its own, or that of its group's first. */
static uint32_t leader_of_counter(const struct session_options *options, uint32_t number)
{
	const struct event_spec *spec = counter_spec(options, number);
	const struct event_spec *leader =
		options->specs + event_spec_leader(options->specs, (size_t)(spec - options->specs));
	while (counter_spec(options, number) != leader)
		number--;
	return number;
}

static uint32_t members_of_counter(const struct session_options *options, uint32_t number)
{
	uint32_t members = 0;
	for (uint32_t i = number + 1; i < EVENT_MAX_COUNTERS && counter_spec(options, i); i++)
		members |= (uint32_t)(leader_of_counter(options, i) == number) << i;
	return members;
}

static bool is_member(const struct counter_state *state)
{
	return state->leader != state->number;
}

static char *name_with_level(const struct event_spec *spec, uint32_t level)
{
	struct str text = {0};
	uint32_t wanted = spec->modifiers.is_most_precise ? 0 : spec->modifiers.precise;
	str_puts(&text, spec->name);
	if (level < wanted)
		str_printf(&text, " (precise level %u, %u is refused)", level, wanted);
	return str_steal(&text);
}

static struct err *counter_probe(struct source *source, const struct session_options *options)
{
	uint32_t number = source->number - EVENT_SOURCE_COUNTER;
	const struct event_spec *spec = counter_spec(options, number);
	struct perf_event_attr attr;
	if (!spec)
		return NULL;
	if (number + 1 == EVENT_MAX_COUNTERS && counter_spec(options, EVENT_MAX_COUNTERS))
		return err_new(
			ERR_USAGE, "more than %d counted events at once", EVENT_MAX_COUNTERS);
	try(pmu_describe(PMU_DEVICES, spec, &attr));
	uint32_t leader = leader_of_counter(options, number);
	if (leader != number)
		attr.precise_ip = 0; /* it only counts */
	try(pmu_try(PMU_DEVICES, spec, &attr));
	struct counter_state *state = source->state = mem_zalloc(sizeof(*state));
	state->name = name_with_level(spec, attr.precise_ip);
	state->number = number;
	state->leader = leader;
	state->members = members_of_counter(options, number);
	state->starts_at_exec = options->target == SESSION_COMMAND && !options->delay_ns;
	timers_init_event(&state->timers, &attr, state->name);
	if (timers_count_time(&state->timers) && attr.freq) {
		state->timers.attr.freq = 0;
		state->timers.attr.sample_period = NS_A_SECOND / attr.sample_freq;
	}
	source->name = source->tallied = state->name;
	vec_push(&source->events, (struct source_event){.name = state->name,
					  .unit = spec->unit,
					  .frequency_hz = spec->frequency_hz});
	return NULL;
}

enum {
	COUNTER_NAME_BYTES = 32,
};

/* Of what its events run: each counter has a program of its own. */
static void name_counter(const struct counter_state *state, char ret[COUNTER_NAME_BYTES])
{
	snprintf(ret, COUNTER_NAME_BYTES, "counter_%u", state->number);
}

static int program_of_counter(const struct counter_state *state)
{
	char name[COUNTER_NAME_BYTES];
	name_counter(state, name);
	return source_kernel_program(state->bpf, name);
}

static void counter_load(struct source *source, struct sample_bpf *bpf)
{
	struct counter_state *state = source->state;
	state->bpf = bpf;
	char name[COUNTER_NAME_BYTES];
	name_counter(state, name);
	if (!is_member(state))
		source_kernel_choose(bpf, name);
	if (!state->members)
		return;
	uint32_t nr_cpus = bpf->rodata->config.nr_cpus;
	bpf->rodata->config.members_of[state->number] = state->members;
	bpf->rodata->config.members |= state->members;
	bpf_map__set_max_entries(bpf->maps.member_counters, nr_cpus * EVENT_MAX_COUNTERS);
	bpf_map__set_max_entries(bpf->maps.group_lanes, nr_cpus);
	bpf_map__set_max_entries(bpf->maps.unsampled_counts, EVENT_MAX_GROUP_THREADS);
	bpf_program__set_autoload(bpf->progs.on_switch_of_group, true);
	bpf_program__set_autoload(bpf->progs.on_exec_of_group, true);
}

/* ---- groups that are read together ---- */

static const struct counter_state *find_leader(
	const struct counter_state *state, const struct sources *sources)
{
	vec_each(sources, source)
		if (source->number == EVENT_SOURCE_COUNTER + state->leader)
			return source->state;
	return NULL;
}

/* Where the programs read it. A new one begins at 0. */
static struct err *put_member(const struct counter_state *state, const struct timer *timer)
{
	uint32_t cpu = (uint32_t)timer->cpu;
	uint32_t place = state->number * state->bpf->rodata->config.nr_cpus + cpu;
	int lanes = bpf_map__fd(state->bpf->maps.group_lanes);
	struct event_group_lane lane;
	int result = bpf_map_lookup_elem(lanes, &cpu, &lane);
	lane.counts[state->number] = 0;
	if (result || bpf_map_update_elem(lanes, &cpu, &lane, BPF_ANY) ||
		bpf_map_update_elem(
			bpf_map__fd(state->bpf->maps.member_counters), &place, &timer->fd, BPF_ANY))
		return err_sys(errno, "cannot let BPF programs read %s", state->name);
	return NULL;
}

static struct err *open_members(struct counter_state *state, const struct source_place *place)
{
	state->timers.leader = &find_leader(state, place->sources)->timers;
	try(timers_open_cpus(&state->timers, place->cpus, place->nr_cpus, -1));
	vec_each(&state->timers.opened, timer)
		try(put_member(state, timer));
	return NULL;
}

/* Tasks of targets and others run by turns: members count where the former come and go. */
static struct err *follow_tasks(struct counter_state *state)
{
	struct sample_bpf *bpf = state->bpf;
	const struct {
		const char *name;
		const struct bpf_program *program;
	} rows[GROUP_TRACEPOINTS] = {
		{NULL, bpf->progs.on_switch_of_group},
		{"sched_process_exec", bpf->progs.on_exec_of_group},
	};
	bool are_all = bpf->rodata->config.filter == EVENT_FILTER_NONE;
	if ((are_all && !bpf->bss->pid_namespace_level) || bpf->bss->members_follow_tasks)
		return NULL;
	for (int i = 0; i < GROUP_TRACEPOINTS; i++) {
		int fd = bpf_raw_tracepoint_open(rows[i].name, bpf_program__fd(rows[i].program));
		if (fd < 0)
			return feature_explain(
				err_sys(-fd, "cannot attach to the tracepoints of the scheduler"));
		state->tracepoints[state->nr_tracepoints++] = fd;
	}
	bpf->bss->members_follow_tasks = true;
	return NULL;
}

static void close_tracepoints(struct counter_state *state)
{
	while (state->nr_tracepoints)
		close(state->tracepoints[--state->nr_tracepoints]);
}

/* What those that ran at the end have counted since they came to their CPU, or had a sample there.
 */
static uint64_t read_running(const struct counter_state *state)
{
	int lanes = bpf_map__fd(state->bpf->maps.group_lanes);
	struct event_group_lane lane;
	uint64_t sum = 0;
	vec_each(&state->timers.opened, timer) {
		uint32_t cpu = (uint32_t)timer->cpu;
		uint64_t counted = timers_read(timer);
		if (!bpf_map_lookup_elem(lanes, &cpu, &lane) && lane.tid &&
			counted > lane.counts[state->number])
			sum += counted - lane.counts[state->number];
	}
	return sum;
}

/* What threads have counted that was in no sample until the end. */
static uint64_t read_unsampled(const struct counter_state *state)
{
	int map = bpf_map__fd(state->bpf->maps.unsampled_counts);
	struct event_member_counts counts;
	uint32_t tid;
	uint64_t sum = read_running(state);
	for (void *from = NULL; !bpf_map_get_next_key(map, from, &tid); from = &tid)
		if (!bpf_map_lookup_elem(map, &tid, &counts))
			sum += counts.of[state->number];
	return sum;
}

/* ... or, of all tasks, the CPUs since their last one. */
static uint64_t read_member_rest(const struct counter_state *state, const struct source *source,
	const struct source_cpus *cpus)
{
	uint64_t seen = 0, counted = 0;
	if (state->bpf->bss->members_follow_tasks)
		return read_unsampled(state);
	vec_each(cpus, cpu)
		seen += cpu->counted.of[EVENT_COUNTER_EVENTS].sum;
	vec_each(&source->cpus, cpu)
		counted += timers_counted(&state->timers, *cpu);
	return counted > seen ? counted - seen : 0;
}

static void add_member_rest(const struct counter_state *state, const struct source *source,
	const struct source_cpus *cpus)
{
	struct event_tally rest = {1, read_member_rest(state, source, cpus)};
	struct event_counters *counted = &cpus->data[0].counted;
	if (!rest.sum)
		return;
	event_tally_add(&counted->of[EVENT_COUNTER_EVENTS], rest);
	event_tally_add(&counted->of[EVENT_COUNTER_BELOW], rest);
}

/* ---- attaching ---- */

static struct err *open_counters(
	struct counter_state *state, const struct source_place *place, int program)
{
	state->is_of_tasks = place->tasks.nr_ids && !place->nr_cpus && !state->members;
	state->timers.attr.enable_on_exec = state->is_of_tasks && state->starts_at_exec;
	struct err *err =
		state->is_of_tasks
			? timers_open_tasks(&state->timers, &place->tasks, program)
			: timers_open_cpus(&state->timers, place->cpus, place->nr_cpus, program);
	if (!err || !state->is_of_tasks || err_code(err) != ERR_UNSUPPORTED)
		return err;
	/* Too many threads: the CPUs' count, and the program filters. */
	err_destroy(err);
	timers_close(&state->timers);
	state->timers.closed.len = 0;
	state->is_of_tasks = false;
	state->timers.attr.enable_on_exec = false;
	return timers_open_cpus(&state->timers, place->cpus, place->nr_cpus, program);
}

static struct err *counter_attach(struct source *source, const struct source_place *place)
{
	struct counter_state *state = source->state;
	if (is_member(state))
		return open_members(state, place);
	if (state->members)
		try(follow_tasks(state));
	return open_counters(state, place, program_of_counter(state));
}

/*
 * What runs already, and may run for long, was not seen to come to its CPU: the program that does
 * the same at an exec runs there, in the midst of it. Where it cannot, members count from the next
 * time on that a task comes.
 */
static void follow_running_tasks(const struct counter_state *state, const struct source *source)
{
	uint64_t arguments[2] = {0}; /* no other thread had its number before */
	if (!state->bpf->bss->members_follow_tasks)
		return;
	vec_each(&source->cpus, cpu) {
		struct bpf_test_run_opts options = {.sz = sizeof(options),
			.ctx_in = arguments,
			.ctx_size_in = sizeof(arguments),
			.flags = BPF_F_TEST_RUN_ON_CPU,
			.cpu = (uint32_t)*cpu};
		bpf_prog_test_run_opts(
			bpf_program__fd(state->bpf->progs.on_exec_of_group), &options);
	}
}

static struct err *counter_start(struct source *source, uint64_t now_ns)
{
	struct counter_state *state = source->state;
	(void)now_ns;
	if (state->members)
		follow_running_tasks(state, source);
	if (state->is_of_tasks)
		state->bpf->bss->counters_of_tasks |= 1U << state->number;
	return timers_start(&state->timers);
}

static void counter_stop(struct source *source, uint64_t now_ns)
{
	struct counter_state *state = source->state;
	(void)now_ns;
	timers_stop(&state->timers);
	close_tracepoints(state);
	state->has_ended = true;
	source_kernel_settle(source, state->bpf);
}

/* ---- counters ---- */

static uint64_t events_on_cpu(const struct source_cpu *cpu)
{
	return cpu->counted.of[EVENT_COUNTER_EVENTS].count +
	       cpu->counted.of[EVENT_COUNTER_LATE].count;
}

static uint64_t sum_events(const struct source_cpus *cpus)
{
	uint64_t sum = 0;
	vec_each(cpus, cpu)
		sum += events_on_cpu(cpu);
	return sum;
}

static uint64_t read_counted(const struct counter_state *state, const struct source *source)
{
	uint64_t sum = state->is_of_tasks ? timers_counted(&state->timers, -1) : 0;
	for (size_t i = 0; !state->is_of_tasks && i < source->cpus.len; i++)
		sum += timers_counted(&state->timers, source->cpus.data[i]);
	return sum;
}

/* Of a clock there is nothing between two ticks: those that were due and did not come. Each CPU's
 * clock ticks by itself; tasks take theirs along. */
static void find_skipped(const struct counter_state *state, struct source_cpus *cpus)
{
	uint64_t due = state->is_of_tasks ? timers_due(&state->timers, -1) : 0;
	uint64_t came = sum_events(cpus);
	if (due > came && cpus->len)
		cpus->data[0].skipped = due - came;
	for (size_t i = 0; !state->is_of_tasks && i < cpus->len; i++) {
		struct source_cpu *cpu = &cpus->data[i];
		due = timers_due(&state->timers, (int)cpu->cpu), came = events_on_cpu(cpu);
		cpu->skipped = due > came ? due - came : 0;
	}
}

/*
 * Events that ran no program are between two that are a period apart; or, where each of them is to
 * run it, were lost, since another program was under way on the CPU.
 */
static void find_unseen(
	struct counter_state *state, const struct source *source, const struct source_cpus *cpus)
{
	uint64_t counted = read_counted(state, source), seen = sum_events(cpus);
	uint64_t *unseen = &state->unseen[timers_period(&state->timers) == 1];
	if (counted > seen && counted - seen > *unseen)
		*unseen = counted - seen;
}

static void add_unseen(const struct counter_state *state, struct event_counters *counted)
{
	static const enum event_counter counters[] = {EVENT_COUNTER_BELOW, EVENT_COUNTER_LOST_BUSY};
	for (int i = 0; i < 2; i++) {
		struct event_tally more = {state->unseen[i], state->unseen[i]};
		event_tally_add(&counted->of[EVENT_COUNTER_EVENTS], more);
		event_tally_add(&counted->of[counters[i]], more);
	}
}

/* The counters themselves are asked only at an end: that interrupts CPUs. */
static struct err *counter_read_counters(
	struct source *source, bool with_skipped, struct source_cpus *ret)
{
	struct counter_state *state = source->state;
	try(source_kernel_read(source, state->bpf, ret));
	if (with_skipped && timers_count_time(&state->timers) && !is_member(state))
		find_skipped(state, ret);
	else if (with_skipped && !is_member(state))
		find_unseen(state, source, ret);
	if (ret->len && is_member(state) && state->has_ended)
		add_member_rest(state, source, ret);
	else if (ret->len)
		add_unseen(state, &ret->data[0].counted);
	return NULL;
}

static struct err *counter_renew_cpu(struct source *source, const struct cpu_gap *gap)
{
	struct counter_state *state = source->state;
	if (state->is_of_tasks || !timers_have_had_cpu(&state->timers, gap->cpu))
		return NULL;
	if (is_member(state)) {
		try(timers_renew_cpu(&state->timers, gap, -1));
		return put_member(state, &state->timers.opened.data[state->timers.opened.len - 1]);
	}
	return timers_renew_cpu(&state->timers, gap, program_of_counter(state));
}

static void counter_release(struct source *source)
{
	struct counter_state *state = source->state;
	close_tracepoints(state);
	timers_deinit(&state->timers);
	mem_free(state->name);
	mem_free(state);
}

const struct event_source counter_source = {
	.name = "counter",
	.tallied = "events",
	.program = "tick",
	.lane = EVENT_LANE_INTERRUPT,
	.has_idle = true,
	.probe = counter_probe,
	.load = counter_load,
	.attach = counter_attach,
	.start = counter_start,
	.stop = counter_stop,
	.read_counters = counter_read_counters,
	.release = counter_release,
	.renew_cpu = counter_renew_cpu,
};
