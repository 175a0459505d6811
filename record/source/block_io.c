#include "record/source/block_io.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "bpf/sample.skel.h"
#include "format/base/mem.h"
#include "format/file/layout.h"
#include "record/event/event_spec.h"
#include "record/host/feature.h"
#include "record/source/kernel_function.h"
#include "record/source/source_kernel.h"

static const char requests[] = "block"; /* of on_block() */

enum {
	BLOCK_TRACEPOINTS = 4,
};

struct block_io_state {
	struct sample_bpf *bpf;
	uint64_t distance; /* one of so many requests; 0: by how many there are */
	int tracepoints[BLOCK_TRACEPOINTS];
	int nr_tracepoints;
};

static struct err *block_io_probe(struct source *source, const struct session_options *options)
{
	for (size_t i = 0; i < options->nr_specs; i++) {
		const struct event_spec *spec = &options->specs[i];
		if (spec->kind != EVENT_SPEC_BLOCK_IO)
			continue;
		if (spec->period > UINT32_MAX)
			return err_new(ERR_USAGE, "\"%s\": the period is one of so many requests",
				spec->name);
		if (!source->state)
			source->state = mem_zalloc(sizeof(struct block_io_state));
		((struct block_io_state *)source->state)->distance = spec->period;
	}
	if (source->state)
		vec_push(&source->events,
			(struct source_event){.name = source->row->name, .unit = LAYOUT_UNIT_NS});
	return NULL;
}

/*
 * How many arguments the kernel's tracepoint has, by its BTF: there is a function type of it, with
 * one more in front. 0: it is not there.
 */
static int count_arguments(const struct btf *types, const char *typedef_name)
{
	int id = btf__find_by_name_kind(types, typedef_name, BTF_KIND_TYPEDEF);
	const struct btf_type *type = id > 0 ? btf__type_by_id(types, (uint32_t)id) : NULL;
	type = type ? btf__type_by_id(types, type->type) : NULL;
	const struct btf_type *function =
		type && btf_is_ptr(type) ? btf__type_by_id(types, type->type) : NULL;
	return function && btf_is_func_proto(function) && btf_vlen(function) > 0
		       ? btf_vlen(function) - 1
		       : 0;
}

/* Linux before 5.11, include/trace/events/block.h: (queue, request), then (request). */
static bool has_queue_argument(void)
{
	struct btf *types = btf__load_vmlinux_btf();
	bool has = types && count_arguments(types, "btf_trace_block_rq_issue") == 2;
	btf__free(types);
	return has;
}

static void block_io_load(struct source *source, struct sample_bpf *bpf)
{
	enum {
		RUNS_ONE,
		RUNS_TWO,
		FUNCTIONS,
	};
	struct block_io_state *state = source->state;
	struct kernel_function runs[FUNCTIONS] = {
		[RUNS_ONE].name = "bpf_trace_run1",
		[RUNS_TWO].name = "bpf_trace_run2",
	};
	kernel_functions_find(runs, FUNCTIONS);
	state->bpf = bpf;
	bpf->rodata->config.runs_one = runs[RUNS_ONE].at;
	bpf->rodata->config.runs_two = runs[RUNS_TWO].at;
	bpf->rodata->config.has_block_io = true;
	bpf->rodata->config.has_queue_argument = has_queue_argument();
	bpf->bss->block_distance = (uint32_t)state->distance;
	source_kernel_choose(bpf, requests);
	bpf_program__set_autoload(bpf->progs.on_block_end, true);
	bpf_map__set_max_entries(bpf->maps.open_requests, EVENT_MAX_OPEN_REQUESTS);
}

static struct err *open_block_tracepoint(
	struct block_io_state *state, const char *name, int program, bool is_needed)
{
	int fd = bpf_raw_tracepoint_open(name, program);
	if (fd == -ENOENT && !is_needed)
		return NULL;
	if (fd == -ENOENT)
		return err_new(ERR_UNSUPPORTED,
			"requests to disks cannot be recorded: this kernel has no tracepoint %s",
			name);
	if (fd < 0)
		return feature_explain(err_sys(-fd, "cannot attach to the tracepoint %s", name));
	state->tracepoints[state->nr_tracepoints++] = fd;
	return NULL;
}

/* The end first, so that no request is followed that has none. */
static struct err *block_io_attach(struct source *source, const struct source_place *place)
{
	struct block_io_state *state = source->state;
	int begin = source_kernel_program(place->bpf, requests);
	try(open_block_tracepoint(
		state, "block_rq_complete", bpf_program__fd(place->bpf->progs.on_block_end), true));
	try(open_block_tracepoint(state, "block_io_start", begin, false));
	try(open_block_tracepoint(state, "block_rq_insert", begin, true));
	return open_block_tracepoint(state, "block_rq_issue", begin, true);
}

static uint32_t bit_of_block_io(void)
{
	return 1U << (EVENT_SOURCE_BLOCK_IO - EVENT_SOURCE_DURATION);
}

static struct err *block_io_start(struct source *source, uint64_t now_ns)
{
	(void)now_ns;
	((struct block_io_state *)source->state)->bpf->bss->takes_durations |= bit_of_block_io();
	return NULL;
}

static void close_block_tracepoints(struct block_io_state *state)
{
	while (state->nr_tracepoints)
		mem_close_fd(&state->tracepoints[--state->nr_tracepoints]);
}

static void block_io_stop(struct source *source, uint64_t now_ns)
{
	struct block_io_state *state = source->state;
	(void)now_ns;
	state->bpf->bss->takes_durations &= ~bit_of_block_io();
	close_block_tracepoints(state);
	source_kernel_settle(source, state->bpf);
}

static struct err *block_io_read_counters(
	struct source *source, bool with_skipped, struct source_cpus *ret)
{
	(void)with_skipped;
	return source_kernel_read(source, ((struct block_io_state *)source->state)->bpf, ret);
}

static void block_io_release(struct source *source)
{
	close_block_tracepoints(source->state);
	mem_free(source->state);
}

const struct event_source block_io_source = {
	.name = "blk-io",
	.tallied = "blk-io",
	.program = "wait",
	.lane = EVENT_LANE_TASK,
	.probe = block_io_probe,
	.load = block_io_load,
	.attach = block_io_attach,
	.start = block_io_start,
	.stop = block_io_stop,
	.read_counters = block_io_read_counters,
	.release = block_io_release,
};
