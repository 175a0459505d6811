#include "report/write/info.h"

#include <string.h>
#include <time.h>

#include "format/base/hex.h"
#include "format/file/first_sources.h"
#include "report/name/script_frames.h"
#include "report/write/health.h"
#include "report/write/info_origins.h"

const char *info_truncation_word(enum layout_truncation cause)
{
	static const char *const words[LAYOUT_TRUNCATED_END] = {
#define X(name, number, word) [number] = word,
		LAYOUT_TRUNCATIONS(X)
#undef X
	};
	return words[cause];
}

const char *info_counter_word(enum layout_counter counter)
{
	static const char *const words[LAYOUT_COUNTER_COUNT] = {
#define X(name, number, word) [number] = word,
		LAYOUT_COUNTERS(X)
#undef X
	};
	return words[counter];
}

const char *info_object_kind_word(enum layout_object_kind kind)
{
	static const char *const words[] = {
#define X(name, number, word) [number] = word,
		LAYOUT_OBJECT_KINDS(X)
#undef X
	};
	bool is_named = (size_t)kind < sizeof(words) / sizeof(*words) && words[kind];
	return is_named ? words[kind] : "other";
}

const char *info_end_word(enum layout_end_reason reason)
{
	static const char *const words[] = {
#define X(name, number, word) [number] = word,
		LAYOUT_END_REASONS(X)
#undef X
	};
	bool is_named = (size_t)reason < sizeof(words) / sizeof(*words) && words[reason];
	return is_named ? words[reason] : "unknown";
}

/* ---- counting ---- */

/* What is known of the stack that ends at a node. */
struct stack_facts {
	uint8_t cause; /* why its user part is truncated */
	bool is_guessed;
};

static bool is_guess(const struct profile *profile, uint32_t frame)
{
	for (uint32_t at = profile->frames.data[frame].innermost; at && at != frame;
		at = profile->frames.data[at].outer)
		if (profile->frames.data[at].flags & LAYOUT_FRAME_GUESSED)
			return true;
	return profile->frames.data[frame].flags & LAYOUT_FRAME_GUESSED;
}

/* Node by node, callers first, since walking from each stack to the root takes its length. */
static struct stack_facts *judge_nodes(const struct profile *profile)
{
	struct stack_facts *facts = mem_zalloc_array(profile->nodes.len, sizeof(*facts));
	for (size_t i = 1; i < profile->nodes.len; i++) {
		const struct layout_node *node = &profile->nodes.data[i];
		const struct profile_frame *frame = &profile->frames.data[node->frame];
		facts[i] = facts[node->parent];
		if (!node->parent && !frame->object)
			facts[i].cause = (uint8_t)frame->offset;
		facts[i].is_guessed |= node->frame && is_guess(profile, node->frame);
	}
	return facts;
}

static void count_stack(struct info_stacks *out, const struct stack_facts *facts,
	const struct profile_stack *stack, uint64_t samples)
{
	enum layout_truncation cause = facts[stack->user].cause;
	if (!stack->user)
		out->kernel_only += samples;
	else if (cause)
		out->truncated += samples, out->truncated_by[cause] += samples;
	else
		out->complete += samples;
	if (facts[stack->user].is_guessed || facts[stack->kernel].is_guessed)
		out->guessed += samples;
}

struct info_stacks info_count_stacks(const struct profile *profile)
{
	struct info_stacks out = {0};
	CLEANUP_FREE struct stack_facts *facts = judge_nodes(profile);
	CLEANUP_FREE uint64_t *samples = mem_zalloc_array(profile->stacks.len, sizeof(*samples));
	vec_each(&profile->samples, sample)
		samples[sample->stack]++;
	for (size_t i = 0; i < profile->stacks.len; i++)
		count_stack(&out, facts, &profile->stacks.data[i], samples[i]);
	return out;
}

uint64_t info_process_key(const struct layout_process *process)
{
	uint64_t start_ns = process->start_ns;
	return map_mix(process->origin ? map_mix(process->origin) ^ start_ns : start_ns) ^
	       process->pid;
}

uint64_t info_thread_key(const struct profile *profile, uint32_t thread)
{
	const struct profile_thread *it = &profile->threads.data[thread];
	uint64_t key = info_process_key(&profile->processes.data[it->process].info);
	return map_mix(map_mix(key) ^ it->tid);
}

struct info_distinct info_count_distinct(const struct profile *profile)
{
	struct info_distinct out = {0};
	struct map processes = {0}, threads = {0};
	bool added;
	for (size_t i = 1; i < profile->processes.len; i++) {
		const struct layout_process *info = &profile->processes.data[i].info;
		map_put(&processes, info_process_key(info), &added);
		out.processes += added;
	}
	for (size_t i = 1; i < profile->threads.len; i++) {
		map_put(&threads, info_thread_key(profile, (uint32_t)i), &added);
		out.threads += added;
	}
	for (size_t i = 1; i < profile->objects.len; i++)
		out.build_ids += profile->objects.data[i].info.build_id_len > 0;
	map_deinit(&processes);
	map_deinit(&threads);
	return out;
}

/* ---- health ---- */

uint64_t info_count_archived_places(const struct profile *profile)
{
	uint64_t places = 0;
	vec_each(&profile->objects, object)
		places += object->nr_archived;
	return places;
}

static double seconds_in(const struct profile *profile, uint64_t time_ns)
{
	return (double)(time_ns - profile->first_ns) / 1e9;
}

uint64_t info_count_unwind_losses(const struct profile *profile)
{
	const struct profile_unwind_losses *losses = &profile->unwind_losses;
	return losses->crashed + losses->hung + losses->abandoned;
}

/* No damage of the file perhaps, but as good as that: stacks of it are cut. False: none. */
static bool put_unwind_losses(const struct profile *profile, const char *separator, struct str *out)
{
	const struct profile_unwind_losses *losses = &profile->unwind_losses;
	uint64_t all = info_count_unwind_losses(profile);
	if (!all)
		return false;
	str_printf(out,
		"%s%llu %s could not be unwound: unwinding crashed over %llu and took too long "
		"over %llu",
		separator, (unsigned long long)all, str_plural(all, "snapshot", "snapshots"),
		(unsigned long long)losses->crashed, (unsigned long long)losses->hung);
	if (losses->abandoned)
		str_printf(out, ", %llu were not tried", (unsigned long long)losses->abandoned);
	return true;
}

bool info_put_sideband_losses(const struct profile *profile, struct str *out)
{
	uint64_t lost = profile->counters[LAYOUT_COUNTER_SIDEBAND_LOST];
	uint64_t samples = profile->counters[LAYOUT_COUNTER_GAP_SAMPLES];
	if (!lost)
		return false;
	str_printf(out,
		"%llu record%s of mappings and execs %s lost while %llu sample%s %s taken, whose "
		"frames may lack names or have wrong ones",
		(unsigned long long)lost, lost == 1 ? "" : "s", lost == 1 ? "was" : "were",
		(unsigned long long)samples, samples == 1 ? "" : "s",
		samples == 1 ? "was" : "were");
	return true;
}

void info_put_damage(const struct profile *profile, struct str *out)
{
	health_put_file(&profile->file, seconds_in(profile, profile->last_ns), out);
	const char *separator = out->len ? "; " : "";
	if (profile->end.reason == LAYOUT_END_WRITE_ERROR) {
		str_printf(out, "%sthe recorder stopped at %.3f s because it could not write",
			separator, seconds_in(profile, profile->end.time_ns));
		separator = "; ";
	}
	if (put_unwind_losses(profile, separator, out))
		separator = "; ";
	if (profile->counters[LAYOUT_COUNTER_SIDEBAND_LOST]) {
		str_puts(out, separator);
		info_put_sideband_losses(profile, out);
		separator = "; ";
	}
	uint64_t back = profile->counters[LAYOUT_COUNTER_CPUS_BACK];
	if (back) {
		str_printf(out,
			"%sCPUs came online %llu %s: of what they ran until the recorder saw it, "
			"at most a second each, samples or names are missing",
			separator, (unsigned long long)back, str_plural(back, "time", "times"));
		separator = "; ";
	}
	if (profile->dangling) {
		str_printf(out, "%s%llu %s missing", separator,
			(unsigned long long)profile->dangling,
			str_plural(profile->dangling, "reference to a table entry that is",
				"references to table entries that are"));
		separator = "; ";
	}
	if (profile->too_large)
		str_printf(out, "%s%llu %s too large to be added up, counted as 0", separator,
			(unsigned long long)profile->too_large,
			str_plural(profile->too_large, "sample with a value that is",
				"samples with values that are"));
}

bool info_is_whole(const struct profile *profile)
{
	const struct reader_result *file = &profile->file;
	vec_each(&profile->origins, origin)
		if (origin->info.flags & (LAYOUT_ORIGIN_CUT | LAYOUT_ORIGIN_DAMAGED) ||
			origin->info.reason == LAYOUT_END_WRITE_ERROR)
			return false;
	return file->ended && !file->damage.regions && !file->damage.truncated &&
	       !file->bad_chunks && !profile->dangling && !profile->too_large &&
	       profile->end.reason != LAYOUT_END_WRITE_ERROR;
}

/* ---- text ---- */

static void put_field(struct str *out, const char *name, const char *value)
{
	str_printf(out, "%-14s ", name);
	str_put_escaped(out, value, strlen(value));
	str_putc(out, '\n');
}

static void put_wall_time(const struct profile *profile, struct str *out)
{
	time_t seconds = (time_t)(profile_wall_ns(profile, profile->first_ns) / 1000000000ULL);
	struct tm utc;
	char text[64];
	if (!seconds || !gmtime_r(&seconds, &utc))
		return;
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &utc);
	put_field(out, "recorded", text);
}

static void put_origin(const struct profile *profile, struct str *out)
{
	static const struct {
		const char *name, *key;
	} fields[] = {
		{"host", LAYOUT_META_HOST},
		{"kernel", LAYOUT_META_KERNEL},
		{"architecture", LAYOUT_META_ARCH},
		{"CPU", LAYOUT_META_CPU_MODEL},
		{"CPUs online", LAYOUT_META_CPUS},
		{"target", LAYOUT_META_TARGET},
		{"command", LAYOUT_META_COMMAND},
		{"arguments", LAYOUT_META_ARGS},
		{"ebprof", LAYOUT_META_VERSION},
		{"runs", LAYOUT_META_BASELINE_RUNS},
		{"cut", LAYOUT_META_BASELINE_CUT},
	};
	put_wall_time(profile, out);
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		const char *value = profile_meta(profile, fields[i].key);
		if (value)
			put_field(out, fields[i].name, value);
	}
	for (size_t i = 1; i < profile->events.len; i++) {
		const struct profile_event *event = &profile->events.data[i];
		struct str text = {0};
		str_puts(&text, event->name);
		if (event->frequency_hz)
			str_printf(&text, ", %u Hz", event->frequency_hz);
		if (event->period && strcmp(event->unit, LAYOUT_UNIT_HITS) != 0)
			str_printf(&text, ", every %llu %s", (unsigned long long)event->period,
				event->unit);
		if (event->is_second)
			str_printf(&text, ": %llu second %s of ticks, counted in no sum",
				(unsigned long long)profile->nr_second_samples,
				str_plural(profile->nr_second_samples, "sample", "samples"));
		put_field(out, "event", str_text(&text));
		str_deinit(&text);
	}
}

static void put_script_frames(const struct profile *profile, struct str *out)
{
	struct script_frames frames;
	script_frames_count(profile, &frames);
	const char *field = "script frames";
	vec_each(&frames.languages, language) {
		str_printf(out, "%-14s ", field);
		str_put_escaped(out, language->name, strlen(language->name));
		str_printf(out, " %llu, in %.1f%% of the samples\n",
			(unsigned long long)language->frames,
			profile_percent(language->samples, profile->samples.len));
		field = "";
	}
	for (uint32_t i = 1; i < LAYOUT_SCRIPT_FAILURES_END; i++)
		if (frames.unnamed[i])
			str_printf(out, "%-14s unnamed because of %s: %llu\n", "",
				script_frames_cause(i), (unsigned long long)frames.unnamed[i]);
	script_frames_deinit(&frames);
}

static void put_causes(const uint64_t *counters, enum layout_counter first, enum layout_counter end,
	struct str *out)
{
	for (enum layout_counter i = first; i < end; i++)
		if (counters[i])
			str_printf(out, "%-14s %s %llu\n", "", info_counter_word(i),
				(unsigned long long)counters[i]);
}

/* Skipped ticks are no lost samples: nobody knows what ran, or whether anything did. */
void info_put_losses(const struct profile *profile, struct str *out)
{
	const uint64_t *counters = profile->counters;
	uint64_t lost = profile_lost(profile), ticks = counters[LAYOUT_COUNTER_TICKS];
	uint64_t skipped = counters[LAYOUT_COUNTER_SKIPPED], due = ticks + skipped;
	uint64_t taken = lost;
	for (size_t i = 0; i < profile_nr_sources(profile); i++)
		taken += profile_source_count(profile, i, LAYOUT_EVENTS_SAMPLES);
	str_printf(out, "%-14s %llu of %llu %s (%.1f%%)\n", "lost", (unsigned long long)lost,
		(unsigned long long)taken, str_plural(taken, "sample", "samples"),
		profile_percent(lost, taken));
	if (skipped)
		str_printf(out,
			"%-14s about %llu of %llu %s due (%.1f%%): the CPU was idle, or its timer "
			"was late\n",
			"skipped", (unsigned long long)skipped, (unsigned long long)due,
			str_plural(due, "tick that was", "ticks that were"),
			profile_percent(skipped, due));
}

static bool has_probes(const struct profile *profile)
{
	for (size_t i = 1; i < profile->events.len; i++)
		if (strcmp(profile->events.data[i].unit, LAYOUT_UNIT_HITS) == 0)
			return true;
	return false;
}

/* What became of a source's events; `with_idle`: they may come upon the idle task. */
static void put_balance(const struct profile *profile, size_t source, const char *name,
	bool with_idle, struct str *out)
{
	uint64_t samples = profile_source_count(profile, source, LAYOUT_EVENTS_SAMPLES);
	str_printf(out, "%-14s %llu = %llu %s", name,
		(unsigned long long)profile_source_count(profile, source, LAYOUT_EVENTS),
		(unsigned long long)samples, str_plural(samples, "sample", "samples"));
	if (with_idle)
		str_printf(out, " + %llu idle",
			(unsigned long long)profile_source_count(
				profile, source, LAYOUT_EVENTS_IDLE));
	str_printf(out, " + %llu filtered + %llu lost\n",
		(unsigned long long)profile_source_count(profile, source, LAYOUT_EVENTS_FILTERED),
		(unsigned long long)profile_source_lost(profile, source));
}

static void put_other_sources(const struct profile *profile, struct str *out)
{
	for (size_t i = 0; i < profile->sources.len; i++) {
		CLEANUP(str_deinit) struct str name = {0};
		const char *text = profile->sources.data[i].name;
		str_put_escaped(&name, text, strlen(text));
		put_balance(profile, FIRST_SOURCES + i, str_text(&name), true, out);
	}
}

static void put_counts(const struct profile *profile, struct str *out)
{
	const uint64_t *counters = profile->counters;
	struct info_distinct distinct = info_count_distinct(profile);
	struct info_stacks stacks = info_count_stacks(profile);
	uint64_t samples = profile->samples.len;
	str_printf(out, "%-14s %llu in %.3f s, %llu bytes", "samples", (unsigned long long)samples,
		profile_duration_s(profile), (unsigned long long)profile->file.file_bytes);
	if (samples)
		str_printf(out, " (%.1f a sample)",
			(double)profile->file.file_bytes / (double)samples);
	str_putc(out, '\n');
	put_balance(profile, FIRST_SOURCE_TIMER, "ticks", true, out);
	put_causes(counters, LAYOUT_COUNTER_LOST_RING, LAYOUT_COUNTER_SKIPPED, out);
	put_causes(counters, LAYOUT_COUNTER_SIDEBAND_LOST, LAYOUT_COUNTER_HITS, out);
	if (has_probes(profile))
		put_balance(profile, FIRST_SOURCE_PROBE, "hits", false, out);
	put_causes(counters, LAYOUT_COUNTER_HITS_LOST_RING, LAYOUT_COUNTER_GAP_SAMPLES, out);
	put_causes(counters, LAYOUT_COUNTER_MAPPINGS_FULL, LAYOUT_COUNTER_CPUS_BACK + 1, out);
	put_other_sources(profile, out);
	info_put_losses(profile, out);
	str_printf(out, "%-14s %.1f%% complete, %.1f%% truncated, %.1f%% kernel only\n", "stacks",
		profile_percent(stacks.complete, samples),
		profile_percent(stacks.truncated, samples),
		profile_percent(stacks.kernel_only, samples));
	for (int i = 1; i < LAYOUT_TRUNCATED_END; i++)
		if (stacks.truncated_by[i])
			str_printf(out, "%-14s truncated by %s: %.1f%%\n", "",
				info_truncation_word(i),
				profile_percent(stacks.truncated_by[i], samples));
	if (stacks.guessed)
		str_printf(out, "%-14s guessed in part, by frame pointers: %.1f%%\n", "",
			profile_percent(stacks.guessed, samples));
	put_script_frames(profile, out);
	if (profile->nr_stale)
		str_printf(out,
			"%-14s %.1f%% with stale names: another compiled function may have had the "
			"address\n",
			"", profile_percent(profile->nr_stale, samples));
	if (profile->nr_snapshots)
		str_printf(out, "%-14s %llu %s of stacks unwound here, %llu bytes\n", "",
			(unsigned long long)profile->nr_snapshots,
			str_plural(profile->nr_snapshots, "snapshot", "snapshots"),
			(unsigned long long)profile->snapshot_bytes);
	uint64_t places = info_count_archived_places(profile);
	if (places)
		str_printf(out, "%-14s %llu archived %s in code\n", "", (unsigned long long)places,
			str_plural(places, "place", "places"));
	str_printf(out, "%-14s %llu %s, %llu %s, %zu %s, %llu %s\n", "",
		(unsigned long long)distinct.processes,
		str_plural(distinct.processes, "process", "processes"),
		(unsigned long long)distinct.threads,
		str_plural(distinct.threads, "thread", "threads"), profile->mappings.len,
		str_plural(profile->mappings.len, "mapping", "mappings"),
		(unsigned long long)distinct.build_ids,
		str_plural(distinct.build_ids, "build ID", "build IDs"));
}

static void put_objects(const struct profile *profile, struct str *out)
{
	str_puts(out, "\nobjects:\n");
	size_t limit = out->len + INFO_MAX_LIST_BYTES;
	for (size_t i = 1; i < profile->objects.len; i++) {
		if (out->len > limit) {
			str_printf(out, "  ... and %zu more\n", profile->objects.len - i);
			return;
		}
		const struct profile_object *object = &profile->objects.data[i];
		CLEANUP(str_deinit) struct str build_id = {0};
		hex_put(&build_id, object->info.build_id, object->info.build_id_len);
		str_printf(out, "  %-9s %-40s ", info_object_kind_word(object->info.kind),
			build_id.len ? str_text(&build_id) : "-");
		str_put_escaped(out, object->path, strlen(object->path));
		if (object->info.flags & LAYOUT_OBJECT_DELETED)
			str_puts(out, " (deleted)");
		if (object->info.flags & LAYOUT_OBJECT_CHANGED)
			str_puts(out, " (replaced by another build while recording)");
		else if (object->info.flags & LAYOUT_OBJECT_REMOTE)
			str_puts(out, " (not opened: remote or FUSE, of another user)");
		else if (object->info.flags & LAYOUT_OBJECT_UNREADABLE)
			str_puts(out, " (could not be read)");
		if (object->info.flags & LAYOUT_OBJECT_UNSEARCHED)
			str_puts(out, " (too many notes to look for a build ID in all)");
		str_putc(out, '\n');
	}
}

static void put_mappings(const struct profile *profile, struct str *out)
{
	str_puts(out, "\nexecutable mappings:\n");
	size_t limit = out->len + INFO_MAX_LIST_BYTES;
	vec_each(&profile->mappings, mapping) {
		if (out->len > limit) {
			str_printf(out, "  ... and %zu more\n", (size_t)(mapping_end_ - mapping));
			return;
		}
		const struct profile_process *process = &profile->processes.data[mapping->process];
		const struct profile_object *object = &profile->objects.data[mapping->object];
		str_printf(out, "  %7u %016llx-%016llx +%llx ", process->info.pid,
			(unsigned long long)mapping->start,
			(unsigned long long)(mapping->start + mapping->length),
			(unsigned long long)mapping->offset);
		str_put_escaped(out, object->path, strlen(object->path));
		str_putc(out, '\n');
	}
}

void info_put_text(const struct profile *profile, bool with_mappings, struct str *out)
{
	put_origin(profile, out);
	put_counts(profile, out);
	CLEANUP(str_deinit) struct str damage = {0};
	info_put_damage(profile, &damage);
	put_field(out, "ended",
		profile->file.ended ? info_end_word(profile->end.reason) : "no: it was cut");
	put_field(out, "health", damage.len ? str_text(&damage) : "whole");
	if (profile->file.unknown_chunks)
		str_printf(out, "%-14s %llu %s of kinds that this version does not know\n", "",
			(unsigned long long)profile->file.unknown_chunks,
			str_plural(profile->file.unknown_chunks, "chunk", "chunks"));
	info_put_origins(profile, out);
	if (with_mappings) {
		put_objects(profile, out);
		put_mappings(profile, out);
	}
}
