#include "record/session_summary.h"

#include <string.h>

#include "record/jitdump.h"
#include "record/vm/runtime.h"

static void count_objects(const struct session_parts *parts, struct session_summary *summary)
{
	vec_each(&parts->translate->objects.objects, it) {
		const struct object *object = *it;
		bool is_code =
			object->info.kind == LAYOUT_OBJECT_FILE && !jitdump_is_marker(object->path);
		if (!is_code || !object->file_epoch)
			continue;
		summary->dsos++;
		summary->dsos_with_build_id += object->info.build_id_len > 0;
		summary->dsos_readable += object->info.nr_segments > 0;
	}
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
	static const char anonymous[] = "[anon]";
	uint64_t nowhere[LAYOUT_TRUNCATED_END] = {0};
	vec_each(&parts->translate->objects.objects, it) {
		const struct object *object = *it;
		for (uint32_t i = 0; i < LAYOUT_TRUNCATED_END; i++) {
			struct session_blame one = {object->path, i, object->truncated[i]};
			if (strcmp(object->path, anonymous) == 0)
				nowhere[i] += object->truncated[i];
			else
				blame(summary, &one);
		}
	}
	for (uint32_t i = 0; i < LAYOUT_TRUNCATED_END; i++)
		blame(summary, &(struct session_blame){anonymous, i, nowhere[i]});
}

static void name_unknown_runtimes(
	const struct session_parts *parts, struct session_summary *summary)
{
	_Static_assert(VM_KINDS_END <= sizeof(summary->unknown_runtimes) /
					       sizeof(*summary->unknown_runtimes),
		"there is one for each kind, and an end");
	uint32_t nr_runtimes = 0, named = 0;
	if (!parts->rules->store) /* nothing is unwound by tables */
		return;
	vec_each(&parts->translate->objects.objects, it) {
		enum vm_kind kind = table_store_unknown_vm(parts->rules->store, (*it)->table);
		if (!kind || named >> kind & 1)
			continue;
		named |= 1U << kind;
		summary->unknown_runtimes[nr_runtimes++] =
			(struct session_runtime){vm_runtime(kind)->name, (*it)->path};
	}
}

static void sum_hits(const struct session_parts *parts, struct session_hits *ret)
{
	const struct recording_taken *taken = &parts->counts->taken[TRANSLATE_HIT];
	ret->samples = recording_samples(parts->recording, TRANSLATE_HIT);
	ret->lost = taken->unresolved + taken->lost_write;
	vec_each(&parts->counts->cpus, cpu) {
		const struct event_counters *counted = &cpu->counted;
		ret->hits += counted->hits;
		ret->filtered += counted->hits_filtered;
		ret->lost += counted->hits_lost_ring + counted->hits_lost_busy;
		ret->lost_busy += counted->hits_lost_busy;
	}
}

static void sum_script_probes(const struct session_parts *parts, struct session_script_probes *ret)
{
	struct shadow_cost cost;
	if (!sampler_read_shadow_cost(parts->sampler, &cost))
		return;
	*ret = (struct session_script_probes){
		.filtered = cost.counted.filtered,
		.is_timed_by_kernel = cost.clock == SHADOW_CLOCK_KERNEL,
		.unmatched = cost.counted.unmatched,
		.deep = cost.counted.deep,
		.program_ns = cost.program_ns,
		.around_ns = cost.around_ns,
	};
	const struct script_probes *probes = parts->script_probes;
	script_probes_sum(probes, &cost.counted, &ret->entries, &ret->returns);
	script_probes_advise(
		probes, &cost.counted, ret->advice, sizeof(ret->advice) / sizeof(*ret->advice) - 1);
}

void session_summarize(const struct session_parts *parts, struct session_summary *summary)
{
	const struct translate_stats *stats = &parts->translate->stats;
	sum_hits(parts, &summary->hits);
	sum_script_probes(parts, &summary->script_probes);
	summary->final.samples =
		recording_samples(parts->recording, TRANSLATE_TICK) + summary->hits.samples;
	vec_each(&parts->counts->cpus, cpu) {
		summary->ticks += cpu->counted.ticks;
		summary->idle += cpu->counted.idle;
		summary->filtered += cpu->counted.filtered;
		summary->lost_ring += cpu->counted.lost_ring + cpu->counted.hits_lost_ring;
		if (cpu->due > cpu->counted.ticks)
			summary->skipped += cpu->due - cpu->counted.ticks;
	}
	for (size_t i = 0; i < TRANSLATE_CAUSES; i++) {
		summary->lost_unresolved += parts->counts->taken[i].unresolved;
		summary->lost_write += parts->counts->taken[i].lost_write;
	}
	summary->complete = stats->complete;
	summary->kernel_only = stats->kernel_only;
	summary->left = stats->left;
	for (size_t i = 0; i < TRANSLATE_MAX_CAUSES; i++)
		summary->truncated[i] = stats->truncated[i];
	summary->targets_full = parts->counts->targets_full;
	summary->files_full = parts->counts->files_full;
	summary->sideband_lost = parts->counts->sideband_lost;
	summary->kernel_hidden = parts->translate->kernel.is_hidden;
	summary->files = parts->recording->nr_files;
	summary->files_kept = recording_files_kept(parts->recording);
	count_objects(parts, summary);
	blame_objects(parts, summary);
	name_unknown_runtimes(parts, summary);
}
