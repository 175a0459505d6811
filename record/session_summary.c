#include "record/session_summary.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "format/base/clock.h"
#include "record/jitdump.h"
#include "record/runtime/runtime.h"

enum {
	TYPICAL_COMPRESSION = 4,
};

/* ---- while it runs ---- */

/* Over all CPUs. */
static uint64_t sum_counter(
	const struct recording_source_counts *counts, enum event_counter counter)
{
	uint64_t sum = 0;
	vec_each(&counts->cpus, cpu)
		sum += cpu->counted.of[counter].count;
	return sum;
}

static uint64_t source_lost(const struct recording_source_counts *counts)
{
	return counts->unresolved.count + counts->lost_write +
	       sum_counter(counts, EVENT_COUNTER_LOST_RING) +
	       sum_counter(counts, EVENT_COUNTER_LOST_BUSY);
}

static uint64_t sum_lost(const struct recording_counts *counts)
{
	uint64_t lost = 0;
	for (size_t i = 0; i < EVENT_MAX_SOURCES; i++)
		lost += source_lost(&counts->sources[i]);
	return lost;
}

double session_cpu_seconds(int who)
{
	struct rusage usage;
	getrusage(who, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* The share of one CPU that recording takes, without what starting it took. */
static double overhead_percent(const struct session_times *times)
{
	uint64_t since_ns = times->drained_ns - times->running_ns;
	double cpu_s = session_cpu_seconds(RUSAGE_SELF) - times->running_cpu_s;
	return since_ns < NS_PER_S / 2 ? 0 : 100 * cpu_s * NS_PER_S / (double)since_ns;
}

struct session_progress session_progress_of(const struct session_parts *parts,
	const struct recording_counts *counts, const struct session_times *times, bool is_running)
{
	const struct recording *recording = &parts->recording;
	uint64_t since = times->started_ns ? times->started_ns : times->begun_ns;
	uint64_t until = recording->until_ns, now = times->drained_ns;
	uint64_t end = until && until < now ? until : now;
	uint64_t pending = is_running ? writer_bytes_pending(recording->writer) : 0;
	return (struct session_progress){
		.elapsed_s = end > since ? (double)(end - since) / NS_PER_S : 0,
		.samples = translate_resolved(&parts->translate),
		.lost = sum_lost(counts),
		.threads = (uint32_t)parts->translate.emitter.thread_ids.len,
		.bytes = recording_bytes(recording) + pending / TYPICAL_COMPRESSION,
		.overhead_percent = overhead_percent(times),
	};
}

/* ---- when it is over ---- */

static void count_objects(const struct session_parts *parts, struct session_summary *summary)
{
	vec_each(&parts->translate.objects.objects, it) {
		const struct object *object = *it;
		bool is_code =
			object->info.kind == LAYOUT_OBJECT_FILE && !jitdump_is_marker(object->path);
		if (!is_code || !object_ids_has(&parts->translate.emitter.objects, object))
			continue;
		summary->dsos++;
		summary->dsos_with_build_id += object->info.build_id_len > 0;
		summary->dsos_readable += object->info.nr_segments > 0;
		summary->dsos_remote += (object->info.flags & LAYOUT_OBJECT_REMOTE) > 0;
	}
	vec_each(&parts->translate.jit.images, image)
		summary->perf_maps_remote += image->is_tmp_remote;
}

/* Keeps the worst, in order. */
static void blame(struct session_summary *summary, const struct session_blame *one)
{
	enum {
		MAX = sizeof(summary->blame) / sizeof(*summary->blame)
	};
	size_t at = MAX;
	while (at > 0 && summary->blame[at - 1].samples < one->samples)
		at--;
	if (at == MAX)
		return;
	memmove(summary->blame + at + 1, summary->blame + at, (MAX - 1 - at) * sizeof(*one));
	summary->blame[at] = *one;
}

/* Each process has an object of its own for code of no file, but they are called the same. */
static void blame_objects(const struct session_parts *parts, struct session_summary *summary)
{
	static const char generated[] = "[JIT]"; /* as the report calls it */
	uint64_t nowhere[LAYOUT_TRUNCATED_END] = {0};
	vec_each(&parts->translate.objects.objects, it) {
		const struct object *object = *it;
		const struct blame *of = blame_table_get(&parts->translate.blames, object);
		for (uint32_t i = 0; of && i < LAYOUT_TRUNCATED_END; i++) {
			struct session_blame one = {object->path, i, of->stacks[i]};
			if (strcmp(object->path, LAYOUT_ANONYMOUS_PATH) == 0)
				nowhere[i] += of->stacks[i];
			else
				blame(summary, &one);
		}
	}
	for (uint32_t i = 0; i < LAYOUT_TRUNCATED_END; i++)
		blame(summary, &(struct session_blame){generated, i, nowhere[i]});
}

static void name_unknown_runtimes(
	const struct session_parts *parts, struct session_summary *summary)
{
	uint32_t nr_runtimes = 0, named = 0;
	if (!parts->rules.store) /* nothing is unwound by tables */
		return;
	vec_each(&parts->translate.objects.objects, it) {
		enum runtime_kind kind = table_store_unknown_runtime(
			parts->rules.store, rule_source_table(&parts->rules, *it));
		if (!kind || named >> kind & 1)
			continue;
		named |= 1U << kind;
		summary->unknown_runtimes[nr_runtimes++] =
			(struct session_runtime){runtime_of(kind)->name, (*it)->path};
	}
}

/* Programs that find their frames could not be loaded. */
static void name_refused_runtimes(
	const struct session_parts *parts, struct session_summary *summary)
{
	const struct err *why;
	uint32_t nr_runtimes = 0;
	if (!parts->rules.builder)
		return;
	uint32_t refused = table_builder_refused(parts->rules.builder, &why);
	for (enum runtime_kind kind = RUNTIME_NONE + 1; kind < RUNTIME_MAX_KINDS; kind++)
		if (refused >> kind & 1)
			summary->refused_runtimes[nr_runtimes++] = runtime_of(kind)->name;
	if (refused)
		snprintf(summary->refusal, sizeof(summary->refusal), "%s", err_message(why));
}

static void sum_script_probes(const struct script_probes *probes, const struct shadow_cost *cost,
	struct session_script_probes *ret)
{
	*ret = (struct session_script_probes){
		.filtered = cost->counted.filtered,
		.is_timed_by_kernel = cost->clock == SHADOW_CLOCK_KERNEL,
		.unmatched = cost->counted.unmatched,
		.deep = cost->counted.deep,
		.program_ns = cost->program_ns,
		.around_ns = cost->around_ns,
	};
	script_probes_sum(probes, &cost->counted, &ret->entries, &ret->returns);
	script_probes_advise(probes, &cost->counted, ret->advice,
		sizeof(ret->advice) / sizeof(*ret->advice) - 1);
}

static void sum_source(const struct session_parts *parts, const struct source *source,
	const struct recording_source_counts *counts, struct session_summary *summary)
{
	struct session_source *ret = &summary->sources[summary->nr_sources++];
	*ret = (struct session_source){
		.name = source->row->name,
		.tallied = source->row->tallied,
		.has_idle = source->row->has_idle,
		.events = sum_counter(counts, EVENT_COUNTER_EVENTS),
		.samples = recording_samples(&parts->recording, source->number),
		.idle = sum_counter(counts, EVENT_COUNTER_IDLE),
		.filtered = sum_counter(counts, EVENT_COUNTER_FILTERED),
		.lost = source_lost(counts),
		.lost_busy = sum_counter(counts, EVENT_COUNTER_LOST_BUSY),
	};
	vec_each(&counts->cpus, cpu)
		ret->skipped += cpu->skipped;
	summary->final.samples += ret->samples;
	summary->lost_ring += sum_counter(counts, EVENT_COUNTER_LOST_RING);
	summary->lost_unresolved += counts->unresolved.count;
	summary->lost_write += counts->lost_write;
}

const struct session_source *session_summary_source(
	const struct session_summary *summary, const char *name)
{
	static const struct session_source none;
	for (size_t i = 0; i < summary->nr_sources; i++)
		if (strcmp(summary->sources[i].name, name) == 0)
			return &summary->sources[i];
	return &none;
}

void session_summarize(const struct session_parts *parts, const struct recording_counts *counts,
	const struct shadow_cost *cost, struct session_summary *summary)
{
	const struct translate_stats *stats = &parts->translate.stats;
	const struct recording *recording = &parts->recording;
	summary->final.samples = 0; /* while it ran they were those that had come */
	vec_each(&parts->sources, source)
		sum_source(parts, source, &counts->sources[source->number], summary);
	if (cost)
		sum_script_probes(&parts->script_probes, cost, &summary->script_probes);
	summary->complete = stats->complete;
	summary->by_guesses = stats->by_guesses;
	summary->code = (struct session_code){.read = parts->code.statistics.read,
		.inherited = parts->code.statistics.inherited,
		.guessed = parts->code.statistics.guessed,
		.scanned = parts->code.statistics.scanned,
		.unknown = parts->code.statistics.failed};
	summary->kernel_only = stats->kernel_only;
	summary->left = stats->left;
	for (size_t i = 0; i < TRANSLATE_MAX_CAUSES; i++)
		summary->truncated[i] = stats->truncated[i];
	summary->targets_full = counts->targets_full;
	summary->files_full = counts->files_full;
	summary->sideband_lost = counts->sideband_lost;
	summary->gap_samples = counts->gap_samples;
	summary->mappings_full = counts->mappings_full;
	summary->cpus_back = counts->cpus_back;
	summary->kernel_hidden = parts->translate.kernel.is_hidden;
	summary->files = recording->nr_files;
	summary->files_kept = recording_files_kept(recording);
	summary->nr_left_out = left_out_count_busy(&parts->left_out, summary->left_out,
		sizeof(summary->left_out) / sizeof(*summary->left_out));
	count_objects(parts, summary);
	blame_objects(parts, summary);
	name_unknown_runtimes(parts, summary);
	name_refused_runtimes(parts, summary);
}
