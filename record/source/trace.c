#include "record/source/trace.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/sample.skel.h"
#include "format/base/mem.h"
#include "format/base/nearest.h"
#include "format/file/layout.h"
#include "record/event/event_spec.h"
#include "record/event/trace_filter.h"
#include "record/host/feature.h"
#include "record/host/tracefs.h"
#include "record/host/uprobe.h"
#include "record/source/event_tally.h"
#include "record/source/source_kernel.h"

struct trace_state {
	const struct event_spec *spec;
	struct tracepoints tracepoints;
	VEC(struct event_trace_point) points; /* of each, what the program is to know */
	struct trace_globs globs;             /* numbers of theirs begin at 0 */
	VEC(struct trace_attached {
		int event_fd;
		int link_fd; /* -1: the kernel has no cookies */
	}) attached;
	struct sample_bpf *bpf;
	uint32_t first; /* number of the first of them among those of all sources */
	uint32_t first_glob;
	int program; /* -1: not attached */
};

/* ---- what is asked for ---- */

static const struct event_spec *trace_spec(const struct session_options *options, uint32_t number)
{
	for (size_t i = 0; i < options->nr_specs; i++)
		if (options->specs[i].kind == EVENT_SPEC_TRACEPOINT &&
			!options->specs[i].is_left_out && !number--)
			return &options->specs[i];
	return NULL;
}

static struct err *find_value(const struct event_spec *spec, const struct tracepoint *tracepoint,
	const struct tracepoint_fields *fields, struct event_trace_point *point)
{
	struct nearest nearest = nearest_to(spec->value_field);
	vec_each(fields, field) {
		bool is_number = !field->is_text && !field->is_located && field->bytes <= 8;
		if (is_number && strcmp(field->name, spec->value_field) == 0) {
			point->value_offset = (uint16_t)field->offset;
			point->value_bytes = (uint8_t)field->bytes;
			point->value_is_signed = field->is_signed;
			return NULL;
		}
		if (is_number)
			nearest_offer(&nearest, field->name);
	}
	return err_new(ERR_USAGE, "tracepoint %s has no number \"%s\"%s%s%s", tracepoint->name,
		spec->value_field, nearest.word ? ": did you mean " : "",
		nearest.word ? nearest.word : "", nearest.word ? "?" : "");
}

/* perf has the program's stack alone of these, too: else each would end in what traces calls. */
static bool is_of_system_calls(const struct tracepoint *tracepoint)
{
	return strncmp(tracepoint->name, "syscalls:", 9) == 0 ||
	       strncmp(tracepoint->name, "raw_syscalls:", 13) == 0;
}

static struct err *describe_points(
	struct trace_state *state, uint32_t source, int root, const char **unit)
{
	const struct event_spec *spec = state->spec;
	for (size_t i = 0; i < state->tracepoints.len; i++) {
		const struct tracepoint *tracepoint = &state->tracepoints.data[i];
		CLEANUP(tracepoint_fields_deinit) struct tracepoint_fields fields = {0};
		struct event_trace_point point = {.source = source,
			.event = (unsigned)i,
			.period = spec->period ? spec->period : 1,
			.has_no_kernel_stack = is_of_system_calls(tracepoint)};
		if (spec->filter || spec->value_field)
			try(tracefs_fields(root, tracepoint, &fields));
		if (spec->filter)
			try(trace_filter_parse(spec->filter, &fields, &state->globs, &point));
		if (spec->value_field) {
			try(find_value(spec, tracepoint, &fields, &point));
			try(tracefs_unit(root, tracepoint, spec->value_field, unit));
		}
		vec_push(&state->points, point);
	}
	return NULL;
}

static struct err *trace_probe(struct source *source, const struct session_options *options)
{
	uint32_t number = source->number - EVENT_SOURCE_TRACE;
	const struct event_spec *spec = trace_spec(options, number);
	CLEANUP_FD int root = -1;
	if (!spec)
		return NULL;
	if (number + 1 == EVENT_MAX_TRACES && trace_spec(options, EVENT_MAX_TRACES))
		return err_new(ERR_USAGE,
			"more than %d names of tracepoints at once: a * in one "
			"stands for many",
			EVENT_MAX_TRACES);
	struct trace_state *state = source->state = mem_zalloc(sizeof(*state));
	state->spec = spec;
	state->program = -1;
	try(err_wrap(tracefs_open(&root), "%s", spec->name));
	try(tracefs_find(root, spec->text, &state->tracepoints));
	const char *unit = LAYOUT_UNIT_HITS;
	try(describe_points(state, source->number, root, &unit));
	source->name = spec->name;
	vec_each(&state->tracepoints, tracepoint)
		vec_push(&source->events,
			(struct source_event){.name = tracepoint->name, .unit = unit});
	return NULL;
}

/* The same of their patterns. There is room for one without any. */
static void make_room_for_globs(struct trace_state *state, struct bpf_map *globs, bool is_first)
{
	state->first_glob = is_first ? 0 : bpf_map__max_entries(globs);
	uint32_t count = state->first_glob + (uint32_t)state->globs.len;
	bpf_map__set_max_entries(globs, count ? count : 1);
}

/* The sources that came before have made room for theirs. */
static void trace_load(struct source *source, struct sample_bpf *bpf)
{
	struct trace_state *state = source->state;
	struct bpf_map *points = bpf->maps.trace_points;
	bool is_first = !bpf->rodata->config.has_traces;
	state->bpf = bpf;
	source_kernel_choose(bpf, source->row->program);
	make_room_for_globs(state, bpf->maps.trace_globs, is_first);
	state->first = is_first ? 0 : bpf_map__max_entries(points);
	bpf->rodata->config.has_traces = true;
	bpf_map__set_max_entries(points, state->first + (uint32_t)state->points.len);
	bpf_map__set_max_entries(
		bpf->maps.trace_passed, state->first + (uint32_t)state->points.len);
}

/* ---- attaching ---- */

static struct err *attach_point(struct trace_state *state, size_t i)
{
	const struct tracepoint *tracepoint = &state->tracepoints.data[i];
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_TRACEPOINT,
		.config = tracepoint->id,
		.sample_period = 1,
	};
	struct trace_attached attached = {.link_fd = -1};
	uint32_t number = state->first + (uint32_t)i;
	LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event.bpf_cookie = number);
	/* Of one CPU: the program runs on all. */
	attached.event_fd =
		(int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (attached.event_fd < 0)
		return feature_explain(err_sys(errno, "tracepoint %s", tracepoint->name));
	vec_push(&state->attached, attached);
	if (!uprobe_has_cookies()) {
		if (ioctl(attached.event_fd, PERF_EVENT_IOC_SET_BPF, state->program))
			return err_sys(errno, "cannot attach to tracepoint %s", tracepoint->name);
		return NULL;
	}
	int link = bpf_link_create(state->program, attached.event_fd, BPF_PERF_EVENT, &options);
	if (link < 0)
		return feature_explain(
			err_sys(-link, "cannot attach to tracepoint %s", tracepoint->name));
	state->attached.data[state->attached.len - 1].link_fd = link;
	return NULL;
}

/* Its patterns by the numbers that they have among those of all sources. */
static struct err *describe_to_kernel(
	const struct trace_state *state, const struct sample_bpf *bpf, size_t i)
{
	struct event_trace_point point = state->points.data[i];
	uint32_t number = state->first + (uint32_t)i;
	for (uint32_t term = 0; term < point.nr_terms; term++)
		point.terms[term].glob += state->first_glob;
	if (bpf_map_update_elem(bpf_map__fd(bpf->maps.trace_points), &number, &point, BPF_ANY))
		return err_sys(errno, "cannot write to a BPF map");
	return NULL;
}

static struct err *give_globs(const struct trace_state *state, const struct sample_bpf *bpf)
{
	for (size_t i = 0; i < state->globs.len; i++) {
		uint32_t number = state->first_glob + (uint32_t)i;
		if (bpf_map_update_elem(bpf_map__fd(bpf->maps.trace_globs), &number,
			    &state->globs.data[i], BPF_ANY))
			return err_sys(errno, "cannot write to a BPF map");
	}
	return NULL;
}

static struct err *trace_attach(struct source *source, const struct source_place *place)
{
	struct trace_state *state = source->state;
	uint32_t all = bpf_map__max_entries(place->bpf->maps.trace_points);
	if (all > EVENT_MAX_TRACE_POINTS)
		return err_new(ERR_USAGE, "%u tracepoints: more than %d at once", all,
			EVENT_MAX_TRACE_POINTS);
	if (all > 1 && !uprobe_has_cookies())
		return err_new(ERR_UNSUPPORTED,
			"more than one tracepoint at once needs Linux 5.15 or later");
	state->program = source_kernel_program(place->bpf, source->row->program);
	try(give_globs(state, place->bpf));
	for (size_t i = 0; i < state->points.len; i++) {
		try(describe_to_kernel(state, place->bpf, i));
		try(attach_point(state, i));
	}
	return NULL;
}

static struct err *trace_start(struct source *source, uint64_t now_ns)
{
	(void)now_ns;
	((struct trace_state *)source->state)->bpf->bss->takes_traces = true;
	return NULL;
}

static void detach_points(struct trace_state *state)
{
	vec_each(&state->attached, attached) {
		mem_close_fd(&attached->link_fd);
		mem_close_fd(&attached->event_fd);
	}
	state->attached.len = 0;
}

static void trace_stop(struct source *source, uint64_t now_ns)
{
	struct trace_state *state = source->state;
	(void)now_ns;
	state->bpf->bss->takes_traces = false;
	detach_points(state);
	source_kernel_settle(source, state->bpf);
}

/* ---- counters ---- */

/*
 * Hits while another program of perf's ran on the CPU. The kernel counts them for the program, not
 * for each tracepoint, so they are those of the first source.
 */
static uint64_t read_missed(const struct trace_state *state)
{
	struct bpf_prog_info info = {0};
	uint32_t bytes = sizeof(info);
	if (state->first || state->program < 0 ||
		bpf_obj_get_info_by_fd(state->program, &info, &bytes))
		return 0;
	return info.recursion_misses;
}

static struct err *trace_read_counters(
	struct source *source, bool with_skipped, struct source_cpus *ret)
{
	const struct trace_state *state = source->state;
	uint64_t missed = read_missed(state);
	struct event_tally more = {missed, missed};
	(void)with_skipped;
	try(source_kernel_read(source, state->bpf, ret));
	if (!ret->len)
		return NULL;
	struct event_tally *of = ret->data[0].counted.of;
	event_tally_add(&of[EVENT_COUNTER_EVENTS], more);
	event_tally_add(&of[EVENT_COUNTER_LOST_BUSY], more);
	return NULL;
}

static void trace_release(struct source *source)
{
	struct trace_state *state = source->state;
	detach_points(state);
	vec_deinit(&state->attached);
	vec_deinit(&state->points);
	vec_deinit(&state->globs);
	tracepoints_deinit(&state->tracepoints);
	mem_free(state);
}

const struct event_source trace_source = {
	.name = "tracepoint",
	.tallied = "hits",
	.program = "trace",
	.lane = EVENT_LANE_INTERRUPT,
	.has_idle = true,
	.probe = trace_probe,
	.load = trace_load,
	.attach = trace_attach,
	.start = trace_start,
	.stop = trace_stop,
	.read_counters = trace_read_counters,
	.release = trace_release,
};
