#include "record/source/probe.h"

#include <bpf/libbpf.h>

#include "bpf/sample.skel.h"
#include "format/base/mem.h"
#include "format/file/layout.h"
#include "record/event/event_spec.h"
#include "record/event/function_probe.h"
#include "record/event/usdt.h"
#include "record/host/uprobe.h"
#include "record/source/source_kernel.h"

/* A place of one of the probes. */
struct probe_place {
	struct uprobe_place where; /* the path is the probe's */
	uint64_t number;           /* of the probe, as its program gets it */
};

struct probe_state {
	VEC(struct usdt) usdt;
	VEC(struct function_probe) functions;
	VEC(struct probe_place) places;
	VEC(struct uprobe) uprobes; /* attached at all of the places */
	struct sample_bpf *bpf;
};

static void add_probe_event(struct source *source, const char *name)
{
	vec_push(&source->events,
		(struct source_event){.name = name, .unit = LAYOUT_UNIT_HITS, .period = 1});
}

static struct err *probe_find_usdt(struct source *source, const char *text)
{
	struct probe_state *state = source->state;
	struct usdt probe;
	try(usdt_find(text, &probe));
	vec_push(&state->usdt, probe);
	vec_each(&probe.places, at) {
		struct uprobe_place where = {
			probe.path, -1, at->offset, at->semaphore_offset, false};
		vec_push(&state->places, (struct probe_place){where, source->events.len});
	}
	add_probe_event(source, probe.event);
	return NULL;
}

static struct err *probe_find_function(struct source *source, const struct event_spec *spec)
{
	struct probe_state *state = source->state;
	struct function_probe probe;
	bool is_return = spec->kind == EVENT_SPEC_URETPROBE;
	uint64_t number = source->events.len | (is_return ? EVENT_PROBE_IS_RETURN : 0);
	try(function_probe_find(is_return ? "uretprobe" : "uprobe", spec->text, &probe));
	vec_push(&state->functions, probe);
	vec_each(&probe.offsets, offset) {
		struct uprobe_place where = {probe.path, -1, *offset, 0, is_return};
		vec_push(&state->places, (struct probe_place){where, number});
	}
	add_probe_event(source, probe.event);
	return NULL;
}

static bool is_function_probe(const struct event_spec *spec)
{
	return spec->kind == EVENT_SPEC_UPROBE || spec->kind == EVENT_SPEC_URETPROBE;
}

static struct err *probe_probe(struct source *source, const struct session_options *options)
{
	size_t count = options->nr_usdt;
	for (size_t i = 0; i < options->nr_specs; i++)
		count += is_function_probe(&options->specs[i]);
	if (count > EVENT_MAX_PROBES)
		return err_new(
			ERR_USAGE, "%zu probes: more than %d at once", count, EVENT_MAX_PROBES);
	if (!count)
		return NULL;
	source->state = mem_zalloc(sizeof(struct probe_state));
	for (size_t i = 0; i < options->nr_usdt; i++)
		try(probe_find_usdt(source, options->usdt[i]));
	for (size_t i = 0; i < options->nr_specs; i++)
		if (is_function_probe(&options->specs[i]))
			try(probe_find_function(source, &options->specs[i]));
	return NULL;
}

static void probe_load(struct source *source, struct sample_bpf *bpf)
{
	((struct probe_state *)source->state)->bpf = bpf;
	source_kernel_choose(bpf, source->row->program);
}

/* A cookie is a probe's number. Without cookies all hits are the first one's. */
static struct err *probe_attach(struct source *source, const struct source_place *place)
{
	struct probe_state *state = source->state;
	bool has_cookies = uprobe_has_cookies();
	if (source->events.len > 1 && !has_cookies)
		return err_new(ERR_UNSUPPORTED,
			"more than one USDT probe at once needs Linux 5.15 or later");
	int program = source_kernel_program(place->bpf, source->row->program);
	vec_each(&state->places, at) {
		struct uprobe uprobe;
		try(uprobe_attach(&at->where, program, at->number, &uprobe));
		vec_push(&state->uprobes, uprobe);
	}
	return NULL;
}

static struct err *probe_start(struct source *source, uint64_t now_ns)
{
	(void)now_ns;
	((struct probe_state *)source->state)->bpf->bss->takes_hits = true;
	return NULL;
}

static void probe_stop(struct source *source, uint64_t now_ns)
{
	struct probe_state *state = source->state;
	(void)now_ns;
	state->bpf->bss->takes_hits = false;
	uprobes_detach(state->uprobes.data, state->uprobes.len);
	state->uprobes.len = 0;
	source_kernel_settle(source, state->bpf);
}

static struct err *probe_read_counters(
	struct source *source, bool with_skipped, struct source_cpus *ret)
{
	(void)with_skipped;
	return source_kernel_read(source, ((struct probe_state *)source->state)->bpf, ret);
}

static void probe_release(struct source *source)
{
	struct probe_state *state = source->state;
	uprobes_detach(state->uprobes.data, state->uprobes.len);
	vec_deinit(&state->uprobes);
	vec_deinit(&state->places);
	vec_each(&state->usdt, usdt)
		usdt_deinit(usdt);
	vec_deinit(&state->usdt);
	vec_each(&state->functions, function)
		function_probe_deinit(function);
	vec_deinit(&state->functions);
	mem_free(state);
}

const struct event_source probe_source = {
	.name = "probe",
	.tallied = "hits",
	.program = "hit",
	.lane = EVENT_LANE_TASK,
	.probe = probe_probe,
	.load = probe_load,
	.attach = probe_attach,
	.start = probe_start,
	.stop = probe_stop,
	.read_counters = probe_read_counters,
	.release = probe_release,
};
