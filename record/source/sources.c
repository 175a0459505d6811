#include "record/source/sources.h"

#include "record/source/block_io.h"
#include "record/source/call.h"
#include "record/source/counter.h"
#include "record/source/heap.h"
#include "record/source/kernel_lock.h"
#include "record/source/probe.h"
#include "record/source/source_kernel.h"
#include "record/source/system_call.h"
#include "record/source/timer.h"
#include "record/source/trace.h"
#include "record/source/wait.h"

const struct event_source *const event_sources[EVENT_SOURCES] = {
	[EVENT_SOURCE_TIMER] = &timer_source,
	[EVENT_SOURCE_PROBE] = &probe_source,
	[EVENT_SOURCE_WAIT] = &wait_source,
	[EVENT_SOURCE_COUNTER... EVENT_SOURCE_COUNTER + EVENT_MAX_COUNTERS - 1] = &counter_source,
	[EVENT_SOURCE_TRACE... EVENT_SOURCE_TRACE + EVENT_MAX_TRACES - 1] = &trace_source,
	[EVENT_SOURCE_HEAP + EVENT_HEAP_ALLOCATED_BYTES] = &heap_source,
	[EVENT_SOURCE_HEAP + EVENT_HEAP_ALLOCATED_OBJECTS] = &heap_objects_source,
	[EVENT_SOURCE_HEAP + EVENT_HEAP_USED_BYTES] = &heap_used_source,
	[EVENT_SOURCE_HEAP + EVENT_HEAP_USED_OBJECTS] = &heap_used_objects_source,
	[EVENT_SOURCE_HEAP + EVENT_HEAP_LIFETIME] = &heap_lifetime_source,
	[EVENT_SOURCE_CALL... EVENT_SOURCE_CALL + EVENT_MAX_CALLS - 1] = &call_source,
	[EVENT_SOURCE_SYSCALL] = &system_call_source,
	[EVENT_SOURCE_LOCK] = &kernel_lock_source,
	[EVENT_SOURCE_BLOCK_IO] = &block_io_source,
};

_Static_assert((int)EVENT_SOURCES <= (int)EVENT_MAX_SOURCES, "tables have room for them");

static void deinit_source(struct source *source)
{
	if (source->state)
		source->row->release(source);
	vec_deinit(&source->events);
	vec_deinit(&source->cpus);
}

struct err *sources_probe(struct sources *sources, const struct event_source *const *rows,
	size_t nr_rows, const struct session_options *options)
{
	for (size_t i = 0; i < nr_rows; i++) {
		vec_push(sources, (struct source){.row = rows[i],
					  .number = (uint32_t)i,
					  .name = rows[i]->name,
					  .tallied = rows[i]->tallied});
		struct source *source = &sources->data[sources->len - 1];
		try(rows[i]->probe(source, options));
		if (!source->events.len)
			sources->len--;
	}
	return NULL;
}

void sources_deinit(struct sources *sources)
{
	vec_each(sources, source)
		deinit_source(source);
	vec_deinit(sources);
}

void sources_put_variables(const struct sources *sources, struct target_variables *variables)
{
	vec_each(sources, source)
		if (source->row->put_variables)
			source->row->put_variables(source, variables);
}

uint32_t sources_nr_lanes(const struct sources *sources, bool has_tasks)
{
	bool is_used[EVENT_LANES] = {[EVENT_LANE_INTERRUPT] = true, [EVENT_LANE_TASK] = has_tasks};
	uint32_t count = 0;
	vec_each(sources, source)
		is_used[source->row->lane] = true;
	for (int lane = 0; lane < EVENT_LANES; lane++)
		count += is_used[lane];
	return count;
}

bool sources_walk_sleepers(const struct sources *sources)
{
	bool walks = false;
	vec_each(sources, source)
		walks |= source->row->walks_sleepers;
	return walks;
}

void sources_load(struct sources *sources, struct sample_bpf *bpf)
{
	vec_each(sources, source) {
		if (source->row->program)
			source_kernel_choose_walker(bpf, source->row->program);
		source->row->load(source, bpf);
	}
}

struct err *sources_attach(struct sources *sources, const struct source_place *place)
{
	vec_each(sources, source) {
		for (size_t i = 0; i < place->nr_cpus; i++)
			cpu_list_add(&source->cpus, place->cpus[i]);
		if (!place->nr_cpus)
			try(cpu_list_online(&source->cpus));
		try(source->row->attach(source, place));
	}
	return NULL;
}

struct err *sources_start(struct sources *sources, uint64_t now_ns)
{
	vec_each(sources, source)
		try(source->row->start(source, now_ns));
	return NULL;
}

bool sources_are_ready(struct sources *sources)
{
	vec_each(sources, source)
		if (source->row->is_ready && !source->row->is_ready(source))
			return false;
	return true;
}

void sources_stop(struct sources *sources, uint64_t now_ns)
{
	vec_each(sources, source)
		source->row->stop(source, now_ns);
}

void sources_divide(struct sources *sources, uint64_t now_ns)
{
	vec_each(sources, source)
		if (source->row->divide)
			source->row->divide(source, now_ns);
}

bool sources_finish_some(struct sources *sources)
{
	bool is_more = false;
	vec_each(sources, source)
		is_more |= source->row->finish_some && source->row->finish_some(source);
	return is_more;
}

void sources_end_kept(struct sources *sources, const struct source_image *image, source_kept_fn *fn,
	void *context)
{
	vec_each(sources, source)
		if (source->row->end_kept)
			source->row->end_kept(source, image, fn, context);
}

struct err *sources_update(struct sources *sources, uint64_t now_ns)
{
	vec_each(sources, source)
		if (source->row->update)
			try(source->row->update(source, now_ns));
	return NULL;
}

void sources_renew_cpu(struct sources *sources, const struct cpu_gap *gap)
{
	vec_each(sources, source) {
		if (!source->row->renew_cpu)
			continue;
		cpu_list_add(&source->cpus, gap->cpu);
		err_destroy(source->row->renew_cpu(source, gap));
	}
}

struct ticker_times sources_times(const struct sources *sources, uint64_t now_ns)
{
	vec_each(sources, source)
		if (source->row->times)
			return source->row->times(source, now_ns);
	return (struct ticker_times){0};
}

uint64_t sources_raised_period(const struct sources *sources)
{
	uint64_t ret = 0;
	vec_each(sources, source)
		if (source->row->raised_period)
			ret = source->row->raised_period(source);
	return ret;
}

uint32_t sources_lacking_runtimes(const struct sources *sources)
{
	uint32_t ret = 0;
	vec_each(sources, source)
		if (source->row->lacking_runtimes)
			ret |= source->row->lacking_runtimes(source);
	return ret;
}

void sources_put_names(const struct sources *sources, struct str *names)
{
	enum {
		MANY = 5,
	};
	vec_each(sources, source) {
		size_t count = source->events.len;
		if (count >= MANY && source->name != source->row->name) {
			str_printf(
				names, "%s%s (%zu)", names->len ? ", " : "", source->name, count);
			continue;
		}
		vec_each(&source->events, event)
			if (!event->has_no_samples)
				str_printf(names, "%s%s", names->len ? ", " : "", event->name);
	}
}
