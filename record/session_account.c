#include "record/session_account.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/base/mem.h"
#include "format/file/own_heap.h"
#include "record/cgroup_filter.h"
#include "record/generated/jitdump.h"
#include "record/host/proc.h"
#include "record/runtime/runtime.h"
#include "record/source/event_tally.h"

enum {
	TYPICAL_COMPRESSION = 4,
};

/* ---- reading what was counted ---- */

struct err *session_account_read(struct session_account *account, bool is_last)
{
	struct translate *translate = account->recording->translate;
	struct recording_counts *counts = &account->counts;
	vec_each(account->recording->sources, source) {
		struct recording_source_counts *of = &counts->sources[source->number];
		const struct translate_taken *taken = &translate->stats.taken[source->number];
		of->cpus.len = 0;
		try(source->row->read_counters(source, is_last, &of->cpus));
		of->unresolved = taken->unresolved;
		of->samples = event_tally_minus(taken->received, taken->unresolved);
		if (source->row->unseen_ns)
			counts->heap_unseen_ms =
				(source->row->unseen_ns(source) + 999999) / 1000000;
	}
	counts->sideband_lost = sideband_lost(account->sideband);
	counts->gap_samples = translate->gaps.samples_in_gaps;
	counts->mappings_full =
		translate->processes.pool.refused + translate->emitter.mappings_left_out;
	counts->images_read = translate->registered.statistics.read;
	counts->images_given_up = translate->registered.statistics.given_up;
	counts->lacking_labels = translate->stats.lacking_labels;
	counts->targets_full = sampler_targets_full(account->sampler);
	counts->targets_left_out = account->cgroups->nr_left_out;
	counts->files_full = sampler_files_full(account->sampler);
	counts->programs_skipped = sampler_programs_skipped(account->sampler);
	counts->heap_programs_missed = translate->library.nr_without;
	counts->code_unread = sampler_code_unasked(account->sampler);
	if (translate->resolver.code)
		counts->code_unread += translate->resolver.code->statistics.unread;
	if (is_last)
		counts->waits_without_scripts += sleeper_counts_take(&translate->sleepers,
			sources_lacking_runtimes(account->recording->sources));
	return NULL;
}

void session_account_finish(struct session_account *account)
{
	for (uint32_t i = 0; i < EVENT_MAX_SOURCES; i++) {
		struct recording_source_counts *of = &account->counts.sources[i];
		of->lost_write = of->samples.count - recording_samples(account->recording, i);
	}
}

void session_account_deinit(struct session_account *account)
{
	recording_counts_deinit(&account->counts);
	mem_free(account->own_heap);
}

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

/* ---- while it runs ---- */

double session_account_cpu_s(int who)
{
	struct rusage usage;
	getrusage(who, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* The share of one CPU that recording takes, without what starting it took. */
static double overhead_percent(const struct session_account *account)
{
	uint64_t since_ns = account->drain->drained_ns - account->running_ns;
	double cpu_s = session_account_cpu_s(RUSAGE_SELF) - account->running_cpu_s;
	return since_ns < NS_PER_S / 2 ? 0 : 100 * cpu_s * NS_PER_S / (double)since_ns;
}

struct session_progress session_account_progress(
	const struct session_account *account, bool is_running)
{
	const struct recording *recording = account->recording;
	const struct translate *translate = recording->translate;
	uint64_t since = account->started_ns ? account->started_ns : account->begun_ns;
	uint64_t until = recording->until_ns, now = account->drain->drained_ns;
	uint64_t end = until && until < now ? until : now;
	uint64_t pending = is_running ? writer_bytes_pending(recording->writer) : 0;
	return (struct session_progress){
		.elapsed_s = end > since ? (double)(end - since) / NS_PER_S : 0,
		.samples = translate_resolved(translate),
		.lost = sum_lost(&account->counts),
		.threads = (uint32_t)translate->emitter.thread_ids.len,
		.bytes = recording_bytes(recording) + pending / TYPICAL_COMPRESSION,
		.overhead_percent = overhead_percent(account),
	};
}

/* ---- when it is over ---- */

static void count_objects(const struct translate *translate, struct session_summary *summary)
{
	vec_each(&translate->objects.objects, it) {
		const struct object *object = *it;
		bool is_code =
			object->info.kind == LAYOUT_OBJECT_FILE && !jitdump_is_marker(object->path);
		if (!is_code || !object_ids_has(&translate->emitter.objects, object))
			continue;
		summary->dsos++;
		summary->dsos_with_build_id += object->info.build_id_len > 0;
		summary->dsos_readable += object->info.nr_segments > 0;
		summary->dsos_remote += (object->info.flags & LAYOUT_OBJECT_REMOTE) > 0;
	}
	vec_each(&translate->jit.images, image)
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
static void blame_objects(const struct translate *translate, struct session_summary *summary)
{
	static const char generated[] = "[JIT]"; /* as the report calls it */
	uint64_t nowhere[LAYOUT_TRUNCATED_END] = {0};
	vec_each(&translate->objects.objects, it) {
		const struct object *object = *it;
		const struct blame *of = blame_table_get(&translate->blames, object);
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
	const struct translate *translate, struct session_summary *summary)
{
	const struct rule_source *rules = translate->resolver.rules;
	uint32_t nr_runtimes = 0, named = 0;
	if (!rules) /* nothing is unwound by tables */
		return;
	vec_each(&translate->objects.objects, it) {
		enum runtime_kind kind =
			table_store_unknown_runtime(rules->store, rule_source_table(rules, *it));
		if (!kind || named >> kind & 1)
			continue;
		named |= 1U << kind;
		summary->unknown_runtimes[nr_runtimes++] =
			(struct session_runtime){runtime_of(kind)->name, (*it)->path};
	}
}

/* A program and its library are one. */
static bool is_listed(const struct session_summary *summary, const char *objects)
{
	for (size_t i = 0; summary->own_heaps[i].path; i++)
		if (strcmp(summary->own_heaps[i].objects, objects) == 0)
			return true;
	return false;
}

static bool find_own_heap(void *context, const struct proc_mapping *mapping)
{
	struct session_account *account = context;
	if (own_heap_of(mapping->path))
		account->own_heap = mem_strdup(mapping->path);
	return !account->own_heap;
}

/* What such a runtime allocates may make no sample at all: then only its mappings tell of it. */
static void find_unsampled_heap(struct session_account *account, struct session_summary *summary)
{
	const struct session_options *options = account->recording->options;
	for (size_t i = 0; i < options->nr_pids && !account->own_heap; i++)
		proc_each_mapping(options->pids[i], NULL, find_own_heap, account);
	if (account->own_heap)
		summary->own_heaps[0] = (struct session_own_heap){account->own_heap,
			own_heap_of(account->own_heap), own_heap_remedy(account->own_heap)};
}

static void list_own_heaps(const struct translate *translate, struct session_summary *summary)
{
	size_t count = 0, room = sizeof(summary->own_heaps) / sizeof(*summary->own_heaps) - 1;
	vec_each(&translate->objects.objects, it) {
		const char *objects = own_heap_of((*it)->path);
		if (count < room && objects && !is_listed(summary, objects) &&
			object_ids_has(&translate->emitter.objects, *it))
			summary->own_heaps[count++] = (struct session_own_heap){
				(*it)->path, objects, own_heap_remedy((*it)->path)};
	}
}

/* Programs that find their frames could not be loaded. */
static void name_refused_runtimes(const struct rule_source *rules, struct session_summary *summary)
{
	const struct err *why;
	uint32_t nr_runtimes = 0;
	if (!rules)
		return;
	uint32_t refused = table_builder_refused(rules->builder, &why);
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

static void sum_source(const struct session_account *account, const struct source *source,
	struct session_summary *summary)
{
	const struct recording_source_counts *counts = &account->counts.sources[source->number];
	struct session_source *ret = &summary->sources[summary->nr_sources++];
	*ret = (struct session_source){
		.name = source->name,
		.tallied = source->tallied,
		.has_idle = source->row->has_idle,
		.events = sum_counter(counts, EVENT_COUNTER_EVENTS),
		.samples = recording_samples(account->recording, source->number),
		.idle = sum_counter(counts, EVENT_COUNTER_IDLE),
		.filtered = sum_counter(counts, EVENT_COUNTER_FILTERED),
		.below = sum_counter(counts, EVENT_COUNTER_BELOW),
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

static struct session_code sum_code_places(const struct code_rules *code)
{
	if (!code) /* none is unwound by tables */
		return (struct session_code){0};
	return (struct session_code){
		.read = code->statistics.read,
		.inherited = code->statistics.inherited,
		.guessed = code->statistics.guessed,
		.scanned = code->statistics.scanned,
		.unknown = code->statistics.failed,
	};
}

/* The size of the folder, from Linux 6.2 on: listing it costs a microsecond a descriptor. */
static uint64_t count_own_files(void)
{
	struct stat st;
	uint64_t count = 0;
	if (!stat("/proc/self/fd", &st) && st.st_size)
		return (uint64_t)st.st_size;
	DIR *folder = opendir("/proc/self/fd");
	for (const struct dirent *entry; folder && (entry = readdir(folder));)
		count += entry->d_name[0] != '.';
	if (folder)
		closedir(folder);
	return count - (count > 0); /* the folder's own */
}

/* Where /proc does not tell, they stay zeros. */
static void read_own_size(struct session_summary *summary)
{
	unsigned long long pages = 0, resident = 0;
	FILE *file = fopen("/proc/self/statm", "re");
	if (file && fscanf(file, "%llu %llu", &pages, &resident) == 2)
		summary->resident_bytes = resident * (uint64_t)sysconf(_SC_PAGESIZE);
	if (file)
		fclose(file);
	summary->open_files = count_own_files();
}

static double seconds_since_start(const struct session_account *account, uint64_t time_ns)
{
	uint64_t start_ns = account->started_ns ? account->started_ns : account->begun_ns;
	return time_ns > start_ns ? (double)(time_ns - start_ns) / NS_PER_S : 0;
}

static void sum_counts(const struct session_account *account, struct session_summary *summary)
{
	const struct recording_counts *counts = &account->counts;
	const struct recording *recording = account->recording;
	const struct translate *translate = recording->translate;
	const struct translate_stats *stats = &translate->stats;
	summary->final.samples = 0; /* while it ran they were those that had come */
	vec_each(recording->sources, source)
		sum_source(account, source, summary);
	summary->complete = stats->complete;
	summary->by_guesses = stats->by_guesses;
	summary->code = sum_code_places(translate->resolver.code);
	summary->kernel_only = stats->kernel_only;
	summary->left = stats->left;
	for (size_t i = 0; i < TRANSLATE_MAX_CAUSES; i++)
		summary->truncated[i] = stats->truncated[i];
	summary->targets_full = counts->targets_full + counts->targets_left_out;
	summary->files_full = counts->files_full;
	summary->sideband_lost = counts->sideband_lost;
	summary->gap_samples = counts->gap_samples;
	summary->gap_from_s = seconds_since_start(account, translate->gaps.from_ns);
	summary->gap_until_s = seconds_since_start(account, translate->gaps.until_ns);
	summary->programs_skipped = counts->programs_skipped;
	summary->ticks_due = counts->ticks_due;
	summary->heap_programs_missed = counts->heap_programs_missed;
	summary->heap_program_missed = translate->library.program;
	summary->mappings_full = counts->mappings_full;
	summary->cpus_back = counts->cpus_back;
	summary->kernel_hidden = translate->kernel.is_hidden;
	summary->files = recording->nr_files;
	summary->files_kept = recording_files_kept(recording);
	summary->is_ring = recording->ring != NULL;
	if (!recording->ring)
		return;
	summary->files_for_room = recording->ring->removed_for_room;
	summary->files_removed = recording->ring->removed;
	summary->ring_bytes = recording->ring->ended_bytes + output_bytes(recording->output);
}

void session_account_health(const struct session_account *account, struct session_summary *summary)
{
	summary->final = session_account_progress(account, true);
	sum_counts(account, summary);
	summary->cpu_s = session_account_cpu_s(RUSAGE_SELF);
	read_own_size(summary);
}

void session_account_summarize(struct session_account *account, const struct shadow_cost *cost,
	struct session_summary *summary)
{
	struct translate *translate = account->recording->translate;
	sum_counts(account, summary);
	if (cost)
		sum_script_probes(account->script_probes, cost, &summary->script_probes);
	summary->nr_left_out = left_out_count_busy(account->left_out, summary->left_out,
		sizeof(summary->left_out) / sizeof(*summary->left_out));
	count_objects(translate, summary);
	blame_objects(translate, summary);
	name_unknown_runtimes(translate, summary);
	list_own_heaps(translate, summary);
	if (account->recording->options->heap_bytes && !summary->own_heaps[0].path)
		find_unsampled_heap(account, summary);
	name_refused_runtimes(translate->resolver.rules, summary);
}
