#include "record/source/wait.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <unistd.h>

#include "bpf/sample.skel.h"
#include "format/base/clock.h"
#include "format/base/mem.h"
#include "format/base/str.h"
#include "format/file/layout.h"
#include "record/host/feature.h"
#include "record/source/asleep_search.h"
#include "record/source/event_tally.h"
#include "record/source/growing_period.h"
#include "record/source/kernel_function.h"
#include "record/source/source_kernel.h"
#include "record/source/switch_interrupts.h"

enum {
	WAIT_TRACEPOINTS = 6,
	/* A second and CPU, of a recorder that never ends: about as many as its timers have. */
	ENDLESS_SAMPLES = 100,
};

struct wait_state {
	struct sample_bpf *bpf;
	uint32_t waits; /* bits */
	bool with_wakers;
	uint64_t period_ns; /* as it was asked for */
	struct growing_period period;
	int tracepoints[WAIT_TRACEPOINTS]; /* descriptors that keep the programs attached */
	int nr_tracepoints;
	struct switch_interrupts interrupts; /* none: the kernel has a tracepoint that needs none */
	struct bpf_program *sleeper; /* the one that walks nothing, that this kernel can run */
	struct bpf_link *sleepers;   /* the iterator over tasks that sleep at the end; NULL: none */
	int sleepers_fd;             /* ... of that, or of what walks; -1: none */
	struct asleep_search search; /* ... by what walks, where that can be had */
	uint64_t seeks_until_ns;     /* it makes no samples yet; 0: it does */
	bool loads_all, awaits_stacks; /* see session_options.h */
	bool has_ended;
	struct str hint;
};

static const struct wait_event {
	uint32_t bit;
	const char *name;
} wait_events[EVENT_WAITS] = {
	[EVENT_WAIT_OFF_CPU] = {SESSION_WAIT_OFF_CPU, "offcpu"},
	[EVENT_WAIT_RUN_QUEUE] = {SESSION_WAIT_RUN_QUEUE, "runq"},
};

/* Both have numbers, so that those of samples are the same whichever were asked for. */
static struct err *wait_probe(struct source *source, const struct session_options *options)
{
	if (!options->waits)
		return NULL;
	struct wait_state *state = source->state = mem_zalloc(sizeof(*state));
	state->waits = options->waits;
	state->with_wakers = options->with_wakers;
	state->loads_all = options->loads_all;
	state->awaits_stacks = state->search.goes_on = options->awaits_stacks;
	state->period_ns = options->wait_period_ns;
	state->period.shrinks = options->ring.folder;
	state->period.max_samples = options->ring.folder ? ENDLESS_SAMPLES : 0;
	state->sleepers_fd = -1;
	for (int i = 0; i < EVENT_WAITS; i++)
		vec_push(&source->events,
			(struct source_event){.name = wait_events[i].name,
				.unit = LAYOUT_UNIT_NS,
				.has_no_samples = !(options->waits & wait_events[i].bit)});
	return NULL;
}

static const char wakers[] = "waker"; /* of on_waker() */

enum wait_function { /* of the kernel */
	SWITCHES,
	SCHEDULES,
	RUNS_ONE,
	COPIES_OF_OTHERS, /* the helper that on_sleeper() uses, Linux 5.18 */
	WAIT_FUNCTIONS,
};

static void wait_load(struct source *source, struct sample_bpf *bpf)
{
	struct wait_state *state = source->state;
	struct kernel_function functions[WAIT_FUNCTIONS] = {
		[SWITCHES].name = "__schedule",
		[SCHEDULES].name = "schedule",
		[RUNS_ONE].name = "bpf_trace_run1",
		[COPIES_OF_OTHERS].name = "bpf_copy_from_user_task",
	};
	kernel_functions_find(functions, WAIT_FUNCTIONS);
	state->bpf = bpf;
	source_kernel_choose(bpf, source->row->program);
	bpf->rodata->config.waits = state->waits;
	bpf->rodata->config.wakers = state->with_wakers;
	bpf->rodata->config.runs_one = functions[RUNS_ONE].at;
	if (state->with_wakers)
		source_kernel_choose(bpf, wakers);
	bpf->bss->wait_period_ns = state->period_ns;
	bpf->rodata->config.switches = functions[SWITCHES].at;
	bpf->rodata->config.schedules = functions[SCHEDULES].at;
	bpf_map__set_max_entries(bpf->maps.waiting, EVENT_MAX_WAITING);
	int nr_possible = libbpf_num_possible_cpus();
	bpf_map__set_max_entries(bpf->maps.interrupts, nr_possible > 0 ? (uint32_t)nr_possible : 1);
	bpf_program__set_autoload(bpf->progs.on_switch, true);
	bpf_program__set_autoload(bpf->progs.on_waking, true);
	bpf_program__set_autoload(bpf->progs.on_wakeup_new, true);
	state->sleeper = functions[COPIES_OF_OTHERS].is_there ? bpf->progs.on_sleeper
							      : bpf->progs.on_sleeper_without_copy;
	bpf_program__set_autoload(state->sleeper, true);
	state->search.bpf = bpf;
	state->search.is_needed = state->sleeper != bpf->progs.on_sleeper;
	bpf_program__set_autoload(bpf->progs.on_division, true);
	bpf_program__set_autoload(bpf->progs.on_thread_end, true);
}

/* NULL for the name: the program has it. False with *err as it was: there is none. */
static bool open_tracepoint(
	struct wait_state *state, const char *name, int program, struct err **err)
{
	int fd = bpf_raw_tracepoint_open(name, program);
	if (fd >= 0)
		state->tracepoints[state->nr_tracepoints++] = fd;
	else if (fd != -ENOENT)
		*err = feature_explain(
			err_sys(-fd, "cannot attach to the tracepoints of the scheduler"));
	return fd != -ENOENT;
}

/*
 * What runs in the task that comes: a tracepoint of the scheduler's own (Linux 6.16), or the entry
 * of an interrupt: on x86, or on arm64 that of any that another CPU, or this one, can raise.
 */
static struct err *attach_follower(
	struct wait_state *state, const struct source_place *place, int program)
{
	struct err *err = NULL;
	if (open_tracepoint(state, "sched_exit_tp", program, &err))
		return err;
	if (!open_tracepoint(state, "irq_work_entry", program, &err) &&
		!open_tracepoint(state, "ipi_entry", program, &err))
		return err_new(ERR_UNSUPPORTED,
			"waits cannot be recorded: this kernel has none of the tracepoints "
			"sched_exit_tp (Linux 6.16), irq_work_entry (x86) and ipi_entry (arm64)");
	if (err)
		return err;
	place->bpf->bss->raises_interrupts = true;
	return switch_interrupts_open(&state->interrupts, bpf_map__fd(place->bpf->maps.interrupts));
}

static struct err *wait_attach(struct source *source, const struct source_place *place)
{
	struct wait_state *state = source->state;
	const struct bpf_program *scheduler[] = {place->bpf->progs.on_waking,
		place->bpf->progs.on_wakeup_new, place->bpf->progs.on_thread_end,
		place->bpf->progs.on_switch};
	state->search.runtimes = place->runtimes;
	try(attach_follower(state, place, source_kernel_program(place->bpf, source->row->program)));
	struct err *err = state->loads_all ? asleep_search_try(&state->search) : NULL;
	for (size_t i = 0; !err && i < sizeof(scheduler) / sizeof(scheduler[0]); i++)
		open_tracepoint(state, NULL, bpf_program__fd(scheduler[i]), &err);
	/* Behind on_waking(), which notes when that was. */
	if (!err && state->with_wakers)
		open_tracepoint(
			state, "sched_waking", source_kernel_program(place->bpf, wakers), &err);
	return err;
}

static struct err *wait_renew_cpu(struct source *source, const struct cpu_gap *gap)
{
	struct wait_state *state = source->state;
	return state->interrupts.len ? switch_interrupts_renew(&state->interrupts, gap->cpu) : NULL;
}

static struct err *wait_start(struct source *source, uint64_t now_ns)
{
	struct wait_state *state = source->state;
	struct sample_bpf__bss *bss = state->bpf->bss;
	growing_period_begin(&state->period, &bss->wait_period_ns, now_ns);
	bss->takes_waits_since_ns = now_ns;
	bss->takes_waits = true;
	if (state->awaits_stacks)
		asleep_search_begin(&state->search);
	return NULL;
}

/* The thread may take a moment to end, in which all is still recorded. */
static bool wait_is_ready(struct source *source)
{
	struct asleep_search *search = &((struct wait_state *)source->state)->search;
	bool is_ready = asleep_search_has_found(search);
	if (is_ready)
		asleep_search_end(search);
	return is_ready;
}

static struct err *wait_update(struct source *source, uint64_t now_ns)
{
	enum {
		SEARCH_AFTER_NS = 200000000, /* shorter recordings do without, or wait at the end */
	};
	struct wait_state *state = source->state;
	if (now_ns >= state->bpf->bss->takes_waits_since_ns + SEARCH_AFTER_NS)
		asleep_search_begin(&state->search);
	return growing_period_update(&state->period, source, state->bpf, now_ns);
}

static uint64_t wait_raised_period(const struct source *source)
{
	return growing_period_raised(&((const struct wait_state *)source->state)->period);
}

static void close_events(struct wait_state *state)
{
	while (state->nr_tracepoints)
		close(state->tracepoints[--state->nr_tracepoints]);
	switch_interrupts_close(&state->interrupts);
}

static void iterate_over_sleepers(struct wait_state *state)
{
	struct asleep *asleep = state->search.asleep;
	if (asleep) {
		state->sleepers_fd = asleep_begin(asleep, state->seeks_until_ns);
		return;
	}
	state->sleepers = bpf_program__attach_iter(state->sleeper, NULL);
	if (state->sleepers)
		state->sleepers_fd = bpf_iter_create(bpf_link__fd(state->sleepers));
}

/*
 * Without scripts' functions stacks are complete without any table here: the recorder goes on with
 * them. Where a file ends threads go on, and while tables are sought waits come to their end; nor
 * are they sought once more where that went on up to now.
 */
static void begin_sleepers(struct wait_state *state)
{
	enum {
		MAX_SEEKING_NS = 400000000,
	};
	asleep_search_end(&state->search);
	asleep_search_renew(&state->search);
	asleep_mark_waits(state->bpf);
	bool seeks = state->search.asleep && *state->search.runtimes &&
		     !state->bpf->bss->divides_waits && !state->awaits_stacks;
	state->seeks_until_ns = seeks ? clock_now_ns() + MAX_SEEKING_NS : 0;
	iterate_over_sleepers(state);
}

/*
 * What measures waits runs in the scheduler with interrupts off, for less than a microsecond: it is
 * over long before the first sleeper is looked at. That of threads that end may come later, if its
 * task is preempted (Linux 7.0): its times are then beside those that sleepers are looked at for,
 * as differences to them.
 *
 * The tracepoints stay until the last sleeper was looked at: closing them takes so long that many
 * would have gone on, and on_switch() notes which did.
 */
static void wait_stop(struct source *source, uint64_t now_ns)
{
	struct wait_state *state = source->state;
	struct sample_bpf__bss *bss = state->bpf->bss;
	bool has_taken = bss->takes_waits;
	bss->waits_end_ns = bss->until_ns && bss->until_ns < now_ns ? bss->until_ns : now_ns;
	bss->takes_waits = bss->divides_waits = false;
	state->has_ended = true;
	if (has_taken)
		begin_sleepers(state);
}

/* The tasks go on: what they wait for then is divided. */
static void wait_divide(struct source *source, uint64_t now_ns)
{
	struct wait_state *state = source->state;
	struct sample_bpf__bss *bss = state->bpf->bss;
	if (!bss->takes_waits)
		return;
	bss->waits_end_ns = now_ns;
	bss->divides_waits = true;
	begin_sleepers(state);
}

static void close_sleepers(struct wait_state *state)
{
	mem_close_fd(&state->sleepers_fd);
	bpf_link__destroy(state->sleepers);
	state->sleepers = NULL;
}

/* Once more: while tables are being made that were not there, then for the samples. */
static void go_on_with_sleepers(struct wait_state *state, bool is_pending)
{
	enum {
		PAUSE_US = 2000,
	};
	if (is_pending && clock_now_ns() < state->seeks_until_ns)
		usleep(PAUSE_US);
	else
		state->seeks_until_ns = 0;
	asleep_search_renew(&state->search);
	iterate_over_sleepers(state);
}

/* No event comes any more, and no sample is under way. False, as finish_some(): that was all. */
static bool finish_waits(struct source *source)
{
	struct wait_state *state = source->state;
	if (state->has_ended && state->nr_tracepoints) {
		close_events(state);
		source_kernel_settle(source, state->bpf);
	}
	return false;
}

/* A byte is a sleeper. The stacks of so many have room in the ring. */
static bool wait_finish_some(struct source *source)
{
	enum {
		SLEEPERS = 32,
	};
	struct wait_state *state = source->state;
	char sleepers[SLEEPERS];
	if (state->sleepers_fd < 0)
		return finish_waits(source);
	if (read(state->sleepers_fd, sleepers, sizeof(sleepers)) > 0)
		return true;
	close_sleepers(state);
	bool is_pending = state->search.asleep && asleep_end(state->search.asleep, true);
	if (!state->seeks_until_ns)
		return finish_waits(source);
	go_on_with_sleepers(state, is_pending);
	return true;
}

/* The last ones that were selected on a CPU, where the task that came was not seen there any more.
 */
static void count_unfollowed(const struct event_wait_lane *lane, struct event_counters *counted)
{
	for (int kind = 0; kind < EVENT_WAITS; kind++) {
		const struct event_selected_wait *wait = &lane->selected[kind];
		if (!wait->value_ns)
			continue;
		event_tally_count(&counted->of[EVENT_COUNTER_EVENTS], wait->measured_ns);
		event_tally_count(&counted->of[EVENT_COUNTER_LOST_BUSY], wait->measured_ns);
	}
}

static struct err *wait_read_counters(
	struct source *source, bool with_skipped, struct source_cpus *ret)
{
	(void)with_skipped;
	const struct wait_state *state = source->state;
	try(source_kernel_read(source, state->bpf, ret));
	if (!state->has_ended)
		return NULL;
	uint32_t zero = 0;
	CLEANUP_FREE struct event_wait_lane *lanes =
		mem_zalloc_array((size_t)libbpf_num_possible_cpus(), sizeof(*lanes));
	if (bpf_map_lookup_elem(bpf_map__fd(state->bpf->maps.wait_lanes), &zero, lanes))
		return err_sys(errno, "cannot read the BPF programs' waits");
	vec_each(ret, cpu)
		count_unfollowed(&lanes[cpu->cpu], &cpu->counted);
	return NULL;
}

/* What was not followed, which no counter of events has. */
static const char *wait_hint(const struct source *source)
{
	struct wait_state *state = source->state;
	const struct sample_bpf__bss *bss = state->bpf->bss;
	CLEANUP(str_deinit) struct str lacking = {0};
	str_truncate(&state->hint, 0);
	if (bss->waiting_full)
		str_printf(&state->hint,
			"%llu waits are not in the recording: more than %d threads were followed "
			"at "
			"a time; choose processes (-p) or a user (-u)",
			(unsigned long long)bss->waiting_full, EVENT_MAX_WAITING);
	if (bss->thread_times_lost)
		str_printf(&state->hint,
			"%sthe times of %llu threads are not in the recording: a larger buffer "
			"(-m) has room for them",
			state->hint.len ? "; " : "", (unsigned long long)bss->thread_times_lost);
	asleep_search_put_lacking(&state->search, &lacking);
	if (lacking.len)
		str_printf(&state->hint, "%s%s", state->hint.len ? "; " : "", str_text(&lacking));
	return state->hint.len ? str_text(&state->hint) : NULL;
}

/* What was not loaded at all lacks those of all. */
static uint32_t wait_lacking_runtimes(const struct source *source)
{
	const struct wait_state *state = source->state;
	return asleep_search_lacking(&state->search);
}

static void wait_release(struct source *source)
{
	close_events(source->state);
	close_sleepers(source->state);
	asleep_search_deinit(&((struct wait_state *)source->state)->search);
	growing_period_deinit(&((struct wait_state *)source->state)->period);
	str_deinit(&((struct wait_state *)source->state)->hint);
	mem_free(source->state);
}

const struct event_source wait_source = {
	.name = "wait",
	.tallied = "waits",
	.program = "wait",
	.lane = EVENT_LANE_SWITCH,
	.walks_sleepers = true,
	.probe = wait_probe,
	.load = wait_load,
	.attach = wait_attach,
	.start = wait_start,
	.is_ready = wait_is_ready,
	.stop = wait_stop,
	.divide = wait_divide,
	.finish_some = wait_finish_some,
	.read_counters = wait_read_counters,
	.release = wait_release,
	.update = wait_update,
	.renew_cpu = wait_renew_cpu,
	.raised_period = wait_raised_period,
	.hint = wait_hint,
	.lacking_runtimes = wait_lacking_runtimes,
};
