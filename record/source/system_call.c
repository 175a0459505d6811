#include "record/source/system_call.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>

#include "bpf/sample.skel.h"
#include "format/base/mem.h"
#include "format/base/nearest.h"
#include "format/file/layout.h"
#include "format/machine/machine.h"
#include "record/event/event_spec.h"
#include "record/host/feature.h"
#include "record/source/duration.h"
#include "record/source/source_kernel.h"

static const char calls[] = "syscall"; /* of on_syscall() */

struct system_call_state {
	struct duration duration;
	uint64_t wanted[EVENT_MAX_SYSCALLS / 64]; /* bits; where there are none, all */
	bool wants_some;
	char name[64];   /* of the event */
	int thread_ends; /* the tracepoint where places of threads are given back; 0: not open */
};

static struct err *want_syscall(struct system_call_state *state, const char *name)
{
	const struct machine *machine = machine_native();
	struct nearest nearest = nearest_to(name);
	state->wants_some = true;
	for (uint32_t number = 0; number < EVENT_MAX_SYSCALLS; number++) {
		const char *known = machine_syscall_name(machine, number);
		if (known && strcmp(known, name) == 0) {
			state->wanted[number / 64] |= 1ULL << number % 64;
			return NULL;
		}
		if (known)
			nearest_offer(&nearest, known);
	}
	return err_new(ERR_USAGE, "there is no system call \"%s\"%s%s%s", name,
		nearest.word ? ": did you mean " : "", nearest.word ? nearest.word : "",
		nearest.word ? "?" : "");
}

/* Of one that was chosen as the user has it, else that of all. */
static void name_event(struct system_call_state *state, const struct source *source)
{
	const char *chosen = NULL;
	size_t count = 0;
	for (uint32_t number = 0; state->wants_some && number < EVENT_MAX_SYSCALLS; number++)
		if (state->wanted[number / 64] >> number % 64 & 1) {
			chosen = machine_syscall_name(machine_native(), number);
			count++;
		}
	if (count == 1)
		snprintf(state->name, sizeof(state->name), "syscall:%s", chosen);
	else
		snprintf(state->name, sizeof(state->name), "%s", source->row->name);
}

static struct err *system_call_probe(struct source *source, const struct session_options *options)
{
	struct system_call_state *state = NULL;
	bool wants_all = false;
	for (size_t i = 0; i < options->nr_specs; i++) {
		const struct event_spec *spec = &options->specs[i];
		if (spec->kind != EVENT_SPEC_SYSCALLS)
			continue;
		if (!state) {
			state = source->state = mem_zalloc(sizeof(*state));
			state->duration.period_ns = options->wait_period_ns;
		}
		if (spec->period)
			state->duration.period_ns = spec->period;
		wants_all |= !spec->text;
		if (spec->text)
			try(want_syscall(state, spec->text));
	}
	if (!state)
		return NULL;
	state->wants_some &= !wants_all;
	name_event(state, source);
	vec_push(&source->events,
		(struct source_event){.name = state->name, .unit = LAYOUT_UNIT_NS});
	return NULL;
}

static void system_call_load(struct source *source, struct sample_bpf *bpf)
{
	struct system_call_state *state = source->state;
	duration_load(&state->duration, bpf, calls);
	bpf_program__set_autoload(bpf->progs.on_syscall_enter, true);
	bpf_program__set_autoload(bpf->progs.on_syscall_thread_end, true);
	bpf_map__set_max_entries(bpf->maps.open_syscalls, EVENT_MAX_OPEN_SYSCALLS);
	bpf->bss->wants_some_syscalls = state->wants_some;
	for (size_t i = 0; i < EVENT_MAX_SYSCALLS / 64; i++)
		bpf->bss->wanted_syscalls[i] = state->wanted[i];
}

static struct err *system_call_attach(struct source *source, const struct source_place *place)
{
	static const char *const names[DURATION_ENDS] = {"sys_enter", "sys_exit"};
	struct system_call_state *state = source->state;
	const int programs[DURATION_ENDS] = {bpf_program__fd(place->bpf->progs.on_syscall_enter),
		duration_program(&state->duration, calls)};
	state->thread_ends = bpf_raw_tracepoint_open(
		"sched_process_exit", bpf_program__fd(place->bpf->progs.on_syscall_thread_end));
	if (state->thread_ends < 0)
		return feature_explain(err_sys(
			-state->thread_ends, "cannot attach to the tracepoint sched_process_exit"));
	return duration_open(&state->duration, names, programs,
		"system calls cannot be recorded: this kernel has no tracepoints of them "
		"(CONFIG_FTRACE_SYSCALLS)");
}

static void close_thread_ends(struct system_call_state *state)
{
	if (state->thread_ends > 0)
		mem_close_fd(&state->thread_ends);
}

static struct err *system_call_start(struct source *source, uint64_t now_ns)
{
	duration_start(&((struct system_call_state *)source->state)->duration, source, now_ns);
	return NULL;
}

static void system_call_stop(struct source *source, uint64_t now_ns)
{
	struct system_call_state *state = source->state;
	(void)now_ns;
	duration_stop(&state->duration, source);
	close_thread_ends(state);
	duration_close(&state->duration);
	source_kernel_settle(source, state->duration.bpf);
}

static struct err *system_call_read_counters(
	struct source *source, bool with_skipped, struct source_cpus *ret)
{
	(void)with_skipped;
	return source_kernel_read(
		source, ((struct system_call_state *)source->state)->duration.bpf, ret);
}

static struct err *system_call_update(struct source *source, uint64_t now_ns)
{
	struct duration *duration = &((struct system_call_state *)source->state)->duration;
	return growing_period_update(&duration->period, source, duration->bpf, now_ns);
}

static void system_call_release(struct source *source)
{
	struct system_call_state *state = source->state;
	close_thread_ends(state);
	duration_deinit(&state->duration);
	mem_free(state);
}

const struct event_source system_call_source = {
	.name = "syscalls",
	.tallied = "syscalls",
	.program = "wait",
	.lane = EVENT_LANE_TASK,
	.probe = system_call_probe,
	.load = system_call_load,
	.attach = system_call_attach,
	.start = system_call_start,
	.stop = system_call_stop,
	.read_counters = system_call_read_counters,
	.release = system_call_release,
	.update = system_call_update,
};
