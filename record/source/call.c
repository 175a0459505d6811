#include "record/source/call.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>

#include "bpf/sample.skel.h"
#include "format/base/mem.h"
#include "format/base/str.h"
#include "format/file/layout.h"
#include "record/event/event_spec.h"
#include "record/event/function_probe.h"
#include "record/host/uprobe.h"
#include "record/source/duration.h"
#include "record/source/source_kernel.h"

static const char returns[] = "return"; /* of on_return() */

struct call_state {
	struct duration duration;
	struct function_probe function;
	VEC(struct uprobe) uprobes; /* at entries and returns */
	uint64_t full;              /* calls without room, when gone processes were looked for */
	uint64_t next_sweep_ns;
	struct str hint;
};

/* The one of that number; NULL: there are not so many. */
static const struct event_spec *call_spec(const struct session_options *options, uint32_t number)
{
	for (size_t i = 0; i < options->nr_specs; i++)
		if (options->specs[i].kind == EVENT_SPEC_CALL && !number--)
			return &options->specs[i];
	return NULL;
}

static struct err *call_probe(struct source *source, const struct session_options *options)
{
	uint32_t number = source->number - EVENT_SOURCE_CALL;
	const struct event_spec *spec = call_spec(options, number);
	struct function_probe function;
	if (!spec)
		return NULL;
	if (number + 1 == EVENT_MAX_CALLS && call_spec(options, EVENT_MAX_CALLS))
		return err_new(
			ERR_USAGE, "more than %d functions to be timed at once", EVENT_MAX_CALLS);
	try(function_probe_find("duration", spec->text, &function));
	struct call_state *state = source->state = mem_zalloc(sizeof(*state));
	state->function = function;
	state->duration.period_ns = options->wait_period_ns;
	source->name = function.event;
	source->tallied = function.event;
	vec_push(&source->events,
		(struct source_event){.name = function.event, .unit = LAYOUT_UNIT_NS});
	return NULL;
}

static void call_load(struct source *source, struct sample_bpf *bpf)
{
	struct call_state *state = source->state;
	duration_load(&state->duration, bpf, returns);
	bpf_program__set_autoload(bpf->progs.on_entry, true);
	bpf_map__set_max_entries(bpf->maps.open_calls, EVENT_MAX_OPEN_CALLS);
}

static struct err *attach_end(
	struct call_state *state, const struct uprobe_place *place, uint32_t number)
{
	struct uprobe uprobe;
	int program = place->is_return ? duration_program(&state->duration, returns)
				       : bpf_program__fd(state->duration.bpf->progs.on_entry);
	try(uprobe_attach(place, program, number, &uprobe));
	vec_push(&state->uprobes, uprobe);
	return NULL;
}

/* Entries first: a return whose entry was not seen counts. */
static struct err *call_attach(struct source *source, const struct source_place *place)
{
	struct call_state *state = source->state;
	uint32_t number = source->number - EVENT_SOURCE_CALL;
	(void)place;
	if (number && !uprobe_has_cookies())
		return err_new(ERR_UNSUPPORTED,
			"more than one function to be timed at once needs Linux 5.15 or later");
	for (int is_return = 0; is_return < 2; is_return++)
		vec_each(&state->function.offsets, offset) {
			struct uprobe_place where = {
				state->function.path, -1, *offset, 0, is_return};
			try(attach_end(state, &where, number));
		}
	return NULL;
}

static struct err *call_start(struct source *source, uint64_t now_ns)
{
	duration_start(&((struct call_state *)source->state)->duration, source, now_ns);
	return NULL;
}

static void call_stop(struct source *source, uint64_t now_ns)
{
	struct call_state *state = source->state;
	(void)now_ns;
	duration_stop(&state->duration, source);
	uprobes_detach(state->uprobes.data, state->uprobes.len);
	state->uprobes.len = 0;
	source_kernel_settle(source, state->duration.bpf);
}

static struct err *call_read_counters(
	struct source *source, bool with_skipped, struct source_cpus *ret)
{
	(void)with_skipped;
	return source_kernel_read(source, ((struct call_state *)source->state)->duration.bpf, ret);
}

/* Calls of processes that have ended in their midst. Returns how many there were. */
static uint32_t sweep_open_calls(int map)
{
	struct event_call_key key, next;
	uint32_t removed = 0;
	bool has_next = !bpf_map_get_next_key(map, NULL, &next);
	while (has_next) {
		key = next;
		has_next = !bpf_map_get_next_key(map, &key, &next);
		if (kill((pid_t)key.pid, 0) && errno == ESRCH)
			removed += !bpf_map_delete_elem(map, &key);
	}
	return removed;
}

/* The calls of all functions are in one map: the first one's source looks after it. */
static void make_room_for_calls(const struct source *source, uint64_t now_ns)
{
	enum {
		SWEEP_NS = 1000 * 1000 * 1000,
		VAIN_SWEEPS = 10, /* intervals without one, where the last one was in vain */
	};
	struct call_state *state = source->state;
	const struct sample_bpf *bpf = state->duration.bpf;
	uint64_t full = bpf->bss->open_calls_full;
	/* In a PID namespace the kernel's own numbers say nothing here. */
	bool is_due = source->number == EVENT_SOURCE_CALL && full != state->full &&
		      now_ns >= state->next_sweep_ns && !bpf->bss->pid_namespace_level;
	if (!is_due)
		return;
	bool is_vain = !sweep_open_calls(bpf_map__fd(bpf->maps.open_calls));
	state->full = full;
	state->next_sweep_ns = now_ns + (is_vain ? VAIN_SWEEPS : 1) * (uint64_t)SWEEP_NS;
}

static struct err *call_update(struct source *source, uint64_t now_ns)
{
	struct duration *duration = &((struct call_state *)source->state)->duration;
	make_room_for_calls(source, now_ns);
	return growing_period_update(&duration->period, source, duration->bpf, now_ns);
}

static const char *call_hint(const struct source *source)
{
	struct call_state *state = source->state;
	uint64_t full = state->duration.bpf->bss->open_calls_full;
	if (!full)
		return NULL;
	str_truncate(&state->hint, 0);
	str_printf(&state->hint,
		"%llu calls could not be timed, those that returned are lost: more than %d were "
		"under way at a time, or were left without a return (by exceptions, longjmp); time "
		"fewer functions, or choose processes (-p)",
		(unsigned long long)full, EVENT_MAX_OPEN_CALLS);
	return str_text(&state->hint);
}

static void call_release(struct source *source)
{
	struct call_state *state = source->state;
	uprobes_detach(state->uprobes.data, state->uprobes.len);
	vec_deinit(&state->uprobes);
	function_probe_deinit(&state->function);
	duration_deinit(&state->duration);
	str_deinit(&state->hint);
	mem_free(state);
}

const struct event_source call_source = {
	.name = "duration",
	.tallied = "calls",
	.program = "hit",
	.lane = EVENT_LANE_TASK,
	.probe = call_probe,
	.load = call_load,
	.attach = call_attach,
	.start = call_start,
	.stop = call_stop,
	.read_counters = call_read_counters,
	.release = call_release,
	.update = call_update,
	.hint = call_hint,
};
