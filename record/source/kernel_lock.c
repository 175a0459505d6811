#include "record/source/kernel_lock.h"

#include <bpf/libbpf.h>

#include "bpf/sample.skel.h"
#include "format/base/mem.h"
#include "format/file/layout.h"
#include "record/event/event_spec.h"
#include "record/source/duration.h"
#include "record/source/kernel_function.h"
#include "record/source/source_kernel.h"

static const char locks[] = "lock"; /* of on_lock() */

static struct err *kernel_lock_probe(struct source *source, const struct session_options *options)
{
	struct duration *duration = NULL;
	for (size_t i = 0; i < options->nr_specs; i++) {
		const struct event_spec *spec = &options->specs[i];
		if (spec->kind != EVENT_SPEC_LOCKS)
			continue;
		if (!duration)
			duration = source->state = mem_zalloc(sizeof(*duration));
		duration->period_ns = spec->period ? spec->period : options->wait_period_ns;
	}
	if (duration)
		vec_push(&source->events,
			(struct source_event){.name = source->row->name, .unit = LAYOUT_UNIT_NS});
	return NULL;
}

static void kernel_lock_load(struct source *source, struct sample_bpf *bpf)
{
	struct kernel_function runs = {.name = "bpf_trace_run2"};
	kernel_functions_find(&runs, 1);
	bpf->rodata->config.runs_two = runs.at;
	duration_load(source->state, bpf, locks);
	bpf_program__set_autoload(bpf->progs.on_lock_wanted, true);
	bpf_map__set_max_entries(bpf->maps.contentions, EVENT_MAX_CONTENTIONS);
}

static struct err *kernel_lock_attach(struct source *source, const struct source_place *place)
{
	static const char *const names[DURATION_ENDS] = {"contention_begin", "contention_end"};
	struct duration *duration = source->state;
	const int programs[DURATION_ENDS] = {bpf_program__fd(place->bpf->progs.on_lock_wanted),
		duration_program(duration, locks)};
	return duration_open(duration, names, programs,
		"locks of the kernel cannot be recorded: their tracepoints are there since Linux "
		"5.19; -e offcpu has what sleeps for them, as [wait: kernel lock]");
}

static struct err *kernel_lock_start(struct source *source, uint64_t now_ns)
{
	duration_start(source->state, source, now_ns);
	return NULL;
}

static void kernel_lock_stop(struct source *source, uint64_t now_ns)
{
	struct duration *duration = source->state;
	(void)now_ns;
	duration_stop(duration, source);
	duration_close(duration);
	source_kernel_settle(source, duration->bpf);
}

static struct err *kernel_lock_read_counters(
	struct source *source, bool with_skipped, struct source_cpus *ret)
{
	(void)with_skipped;
	return source_kernel_read(source, ((struct duration *)source->state)->bpf, ret);
}

static struct err *kernel_lock_update(struct source *source, uint64_t now_ns)
{
	struct duration *duration = source->state;
	return growing_period_update(&duration->period, source, duration->bpf, now_ns);
}

static void kernel_lock_release(struct source *source)
{
	duration_deinit(source->state);
	mem_free(source->state);
}

const struct event_source kernel_lock_source = {
	.name = "lock",
	.tallied = "lock",
	.program = "wait",
	.lane = EVENT_LANE_TASK,
	.probe = kernel_lock_probe,
	.load = kernel_lock_load,
	.attach = kernel_lock_attach,
	.start = kernel_lock_start,
	.stop = kernel_lock_stop,
	.read_counters = kernel_lock_read_counters,
	.release = kernel_lock_release,
	.update = kernel_lock_update,
};
