#include "record/source/probe.h"

#include <bpf/libbpf.h>

#include "bpf/sample.skel.h"
#include "format/base/mem.h"
#include "format/file/layout.h"
#include "record/source/source_kernel.h"
#include "record/uprobe.h"
#include "record/usdt.h"

struct probe_state {
	VEC(struct usdt) probes;
	VEC(struct uprobe) uprobes; /* at all of their places */
	struct sample_bpf *bpf;
};

static struct err *probe_probe(struct source *source, const struct session_options *options)
{
	if (options->nr_usdt > EVENT_MAX_PROBES)
		return err_new(ERR_USAGE, "%zu USDT probes: more than %d at once", options->nr_usdt,
			EVENT_MAX_PROBES);
	if (!options->nr_usdt)
		return NULL;
	struct probe_state *state = source->state = mem_zalloc(sizeof(*state));
	for (size_t i = 0; i < options->nr_usdt; i++) {
		struct usdt probe;
		try(usdt_find(options->usdt[i], &probe));
		vec_push(&state->probes, probe);
		vec_push(&source->events,
			(struct source_event){
				.name = probe.event, .unit = LAYOUT_UNIT_HITS, .period = 1});
	}
	return NULL;
}

static void probe_load(struct source *source, struct sample_bpf *bpf)
{
	((struct probe_state *)source->state)->bpf = bpf;
}

/* A cookie is a probe's number. Without cookies all hits are the first one's. */
static struct err *probe_attach(struct source *source, const struct source_place *place)
{
	struct probe_state *state = source->state;
	bool has_cookies = uprobe_has_cookies();
	if (state->probes.len > 1 && !has_cookies)
		return err_new(ERR_UNSUPPORTED,
			"more than one USDT probe at once needs Linux 5.15 or later");
	int program;
	try(source_kernel_program(place->bpf, source->row->program, &program));
	for (size_t i = 0; i < state->probes.len; i++) {
		const struct usdt *probe = &state->probes.data[i];
		vec_each(&probe->places, at) {
			struct uprobe_place where = {
				probe->path, -1, at->offset, at->semaphore_offset};
			struct uprobe uprobe;
			try(uprobe_attach(&where, program, i, &uprobe));
			vec_push(&state->uprobes, uprobe);
		}
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
	vec_each(&state->uprobes, uprobe)
		uprobe_detach(uprobe);
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
	vec_each(&state->uprobes, uprobe)
		uprobe_detach(uprobe);
	vec_deinit(&state->uprobes);
	vec_each(&state->probes, probe)
		usdt_deinit(probe);
	vec_deinit(&state->probes);
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
