#include "record/source/counter.h"

#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>

#include "bpf/sample.skel.h"
#include "format/base/mem.h"
#include "format/base/str.h"
#include "record/event/event_spec.h"
#include "record/event/pmu.h"
#include "record/event/timers.h"
#include "record/source/event_tally.h"
#include "record/source/source_kernel.h"

struct counter_state {
	struct timers timers;
	struct sample_bpf *bpf;
	char *name; /* with the precise level that could be had */
	uint32_t number;
	bool starts_at_exec; /* that of the command, which is the target */
	bool is_of_tasks;
	uint64_t unseen[2]; /* by the program so far: below, or lost */
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
	try(pmu_try(&attr, spec->name));
	struct counter_state *state = source->state = mem_zalloc(sizeof(*state));
	state->name = name_with_level(spec, attr.precise_ip);
	state->number = number;
	state->starts_at_exec = options->target == SESSION_COMMAND && !options->delay_ns;
	timers_init_event(&state->timers, &attr, state->name);
	source->name = source->tallied = state->name;
	vec_push(&source->events, (struct source_event){.name = state->name,
					  .unit = spec->unit,
					  .frequency_hz = spec->frequency_hz});
	return NULL;
}

static struct bpf_program *program_of_counter(const struct counter_state *state)
{
	char name[32];
	snprintf(name, sizeof(name), "on_counter_%u", state->number);
	return bpf_object__find_program_by_name(state->bpf->obj, name);
}

static void counter_load(struct source *source, struct sample_bpf *bpf)
{
	struct counter_state *state = source->state;
	state->bpf = bpf;
	bpf_program__set_autoload(program_of_counter(state), true);
}

static struct err *open_counters(
	struct counter_state *state, const struct source_place *place, int program)
{
	state->is_of_tasks = place->tasks.nr_ids && !place->nr_cpus;
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
	int ticks;
	try(source_kernel_program(place->bpf, source->row->program, &ticks));
	return open_counters(state, place, bpf_program__fd(program_of_counter(state)));
}

static struct err *counter_start(struct source *source, uint64_t now_ns)
{
	struct counter_state *state = source->state;
	(void)now_ns;
	if (state->is_of_tasks)
		state->bpf->bss->counters_of_tasks |= 1U << state->number;
	return timers_start(&state->timers);
}

static void counter_stop(struct source *source, uint64_t now_ns)
{
	struct counter_state *state = source->state;
	(void)now_ns;
	timers_stop(&state->timers);
	source_kernel_settle(source, state->bpf);
}

/* ---- counters ---- */

static uint64_t sum_events(const struct source_cpus *cpus)
{
	uint64_t sum = 0;
	vec_each(cpus, cpu)
		sum += cpu->counted.of[EVENT_COUNTER_EVENTS].count +
		       cpu->counted.of[EVENT_COUNTER_LATE].count;
	return sum;
}

static uint64_t read_counted(const struct counter_state *state, const struct source *source)
{
	uint64_t sum = state->is_of_tasks ? timers_counted(&state->timers, -1) : 0;
	for (size_t i = 0; !state->is_of_tasks && i < source->cpus.len; i++)
		sum += timers_counted(&state->timers, source->cpus.data[i]);
	return sum;
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
	if (with_skipped)
		find_unseen(state, source, ret);
	if (ret->len)
		add_unseen(state, &ret->data[0].counted);
	return NULL;
}

static struct err *counter_renew_cpu(struct source *source, const struct cpu_gap *gap)
{
	struct counter_state *state = source->state;
	if (state->is_of_tasks || !timers_have_had_cpu(&state->timers, gap->cpu))
		return NULL;
	return timers_renew_cpu(&state->timers, gap, bpf_program__fd(program_of_counter(state)));
}

static void counter_release(struct source *source)
{
	struct counter_state *state = source->state;
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
