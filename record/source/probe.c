#include "record/source/probe.h"

#include <bpf/libbpf.h>
#include <unistd.h>

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

static uint64_t count_unfinished(const struct event_counters *counted)
{
	const struct event_tally *of = counted->of;
	return of[EVENT_COUNTER_EVENTS].count - of[EVENT_COUNTER_SAMPLES].count -
	       of[EVENT_COUNTER_FILTERED].count - of[EVENT_COUNTER_LOST_RING].count -
	       of[EVENT_COUNTER_LOST_BUSY].count;
}

/* Detaching waits for programs that run. Should it not, on some kernel: a while, until all of the
 * hits that began have come to their end. */
static void wait_for_hits(const struct source *source)
{
	enum {
		MAX_WAITS = 1000,
		WAIT_US = 1000,
	};
	const struct probe_state *state = source->state;
	for (int i = 0; i < MAX_WAITS; i++) {
		CLEANUP_FREE struct event_counters *counted = NULL;
		struct err *err = source_kernel_count(source, state->bpf, &counted);
		uint64_t left = 0;
		for (int cpu = 0; !err && cpu < libbpf_num_possible_cpus(); cpu++)
			left += count_unfinished(&counted[cpu]);
		err_destroy(err);
		if (!left)
			return;
		usleep(WAIT_US);
	}
}

static void probe_stop(struct source *source, uint64_t now_ns)
{
	struct probe_state *state = source->state;
	(void)now_ns;
	state->bpf->bss->takes_hits = false;
	vec_each(&state->uprobes, uprobe)
		uprobe_detach(uprobe);
	wait_for_hits(source);
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
	.help = "usdt:PATH:PROVIDER:NAME",
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
