#include "report/write/info.h"
#include "report/model/event_value.h"

#include <string.h>
#include <time.h>

#include "format/base/hex.h"
#include "format/file/first_sources.h"
#include "report/analyse/stack_counts.h"
#include "report/analyse/wakers.h"
#include "report/model/main_event.h"
#include "report/model/text/json.h"
#include "report/name/script_frames.h"
#include "report/write/cause_words.h"
#include "report/write/cut_stacks.h"
#include "report/write/health.h"
#include "report/write/thread_life.h"

/*
 * Many entities can share one long path: a list stops when it has become this long, and says how
 * many are left out.
 */
enum {
	LIST_MAX_BYTES = 16 << 20
};

/* What has to be counted first; text and JSON print the same numbers. */
struct facts {
	const struct profile *profile;
	struct stack_counts stacks;
	struct script_frames scripts;
	uint64_t nr_processes, nr_threads, nr_build_ids;
	uint64_t nr_archived; /* places in code */
	struct str damage;    /* "": none */
};

/* ---- the words of the format; the readers of JSON rely on them ---- */

static const char *counter_word(enum layout_counter counter)
{
	static const char *const words[LAYOUT_COUNTER_COUNT] = {
#define X(name, number, word) [number] = word,
		LAYOUT_COUNTERS(X)
#undef X
	};
	return words[counter];
}

static const char *object_kind_word(enum layout_object_kind kind)
{
	static const char *const words[] = {
#define X(name, number, word) [number] = word,
		LAYOUT_OBJECT_KINDS(X)
#undef X
	};
	bool is_named = (size_t)kind < sizeof(words) / sizeof(*words) && words[kind];
	return is_named ? words[kind] : "other";
}

static const char *end_word(enum layout_end_reason reason)
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

/* Processes by (pid, start) and boot, since an exec makes another record of the same one. */
static void count_tasks(const struct profile *profile, struct facts *facts)
{
	struct map processes = {0}, threads = {0};
	bool added;
	for (size_t i = 1; i < profile->processes.len; i++) {
		map_put(&processes, profile_process_key(profile, (uint32_t)i), &added);
		facts->nr_processes += added;
	}
	for (size_t i = 1; i < profile->threads.len; i++) {
		map_put(&threads, profile_thread_key(profile, (uint32_t)i), &added);
		facts->nr_threads += added;
	}
	map_deinit(&processes);
	map_deinit(&threads);
}

static void facts_init(struct facts *facts, const struct profile *profile)
{
	*facts = (struct facts){.profile = profile, .stacks = stack_counts_of(profile)};
	script_frames_count(profile, &facts->scripts);
	count_tasks(profile, facts);
	vec_each(&profile->objects, object) {
		facts->nr_build_ids += object->info.build_id_len > 0;
		facts->nr_archived += object->nr_archived;
	}
	health_put_damage(profile, &facts->damage);
}

static void facts_deinit(struct facts *facts)
{
	script_frames_deinit(&facts->scripts);
	str_deinit(&facts->damage);
}

/* ---- text ---- */

static void info_put_field(struct str *out, const char *name, const char *value)
{
	str_printf(out, "%-14s ", name);
	str_puts_escaped(out, value);
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
	info_put_field(out, "recorded", text);
}

static void put_recorder(const struct profile *profile, struct str *out)
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
		{"only code of", LAYOUT_META_CODE},
		{"call graph", LAYOUT_META_CALL_GRAPH},
		{"command", LAYOUT_META_COMMAND},
		{"arguments", LAYOUT_META_ARGS},
		{"ebprof", LAYOUT_META_VERSION},
		{"made from", LAYOUT_META_IMPORT},
		{"runs", LAYOUT_META_BASELINE_RUNS},
		{"cut", LAYOUT_META_BASELINE_CUT},
	};
	put_wall_time(profile, out);
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		const char *value = profile_meta(profile, fields[i].key);
		if (value)
			info_put_field(out, fields[i].name, value);
	}
	for (size_t i = 1; i < profile->events.len; i++) {
		const struct profile_event *event = &profile->events.data[i];
		if (event->is_sum)
			continue;
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
		if (main_event_is_counted_only(profile, (uint32_t)i))
			str_puts(&text, ": no samples, it was counted (threads' time, below)");
		info_put_field(out, "event", str_text(&text));
		str_deinit(&text);
	}
}

static void put_script_frames(const struct facts *facts, struct str *out)
{
	const char *field = "script frames";
	vec_each(&facts->scripts.languages, language) {
		str_printf(out, "%-14s ", field);
		str_puts_escaped(out, language->name);
		str_printf(out, " %llu, in %.1f%% of the samples\n",
			(unsigned long long)language->frames,
			profile_percent(language->samples, facts->profile->samples.len));
		field = "";
	}
	for (uint32_t i = 1; i < LAYOUT_SCRIPT_FAILURES_END; i++)
		if (facts->scripts.unnamed[i])
			str_printf(out, "%-14s %llu without a name: %s\n", "",
				(unsigned long long)facts->scripts.unnamed[i],
				cause_of_unnamed_script(i));
}

static void put_causes(const uint64_t *counters, enum layout_counter first, enum layout_counter end,
	struct str *out)
{
	for (enum layout_counter i = first; i < end; i++)
		if (counters[i])
			str_printf(out, "%-14s %llu %s\n", "", (unsigned long long)counters[i],
				cause_of_counter(i));
}

/* Whether there are events of the first two sources: of probes, or else of the timer. */
static bool has_first_events(const struct profile *profile, bool of_probes)
{
	for (size_t i = 1; i < profile->events.len; i++) {
		const struct profile_event *event = &profile->events.data[i];
		if (!event->source && (strcmp(event->unit, LAYOUT_UNIT_HITS) == 0) == of_probes)
			return true;
	}
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
	uint64_t below = profile_source_count(profile, source, LAYOUT_EVENTS_BELOW);
	if (below)
		str_printf(out, " + %llu below", (unsigned long long)below);
	str_printf(out, " + %llu filtered + %llu lost\n",
		(unsigned long long)profile_source_count(profile, source, LAYOUT_EVENTS_FILTERED),
		(unsigned long long)profile_source_lost(profile, source));
}

static bool is_of_source(const struct profile_event *event, const char *source)
{
	return event->source && strcmp(event->source, source) == 0;
}

/* Of events that have sizes: their exact sum, beside the estimate that the samples are. */
static void put_sums(
	const struct profile *profile, const struct profile_source *source, struct str *out)
{
	const struct layout_tally *exact = &source->tallies[LAYOUT_EVENTS];
	const struct profile_event *first = NULL;
	uint64_t estimate = 0;
	vec_each(&profile->events, event)
		if (!first && is_of_source(event, source->name))
			first = event;
	if (!first || exact->sum == exact->count)
		return;
	vec_each(&profile->samples, sample)
		if (is_of_source(&profile->events.data[sample->event], source->name))
			estimate += profile_sample_value(profile, sample);
	/* Of memory that is used only the samples were followed: their sizes are no sum of all. */
	bool are_all_samples = exact->count == source->tallies[LAYOUT_EVENTS_SAMPLES].count;
	bool is_all = strncmp(source->name, "heap", 4) != 0 ||
		      !profile->counters[LAYOUT_COUNTER_HEAP_UNSEEN_MS];
	str_printf(out, "%-14s ", "");
	if (!are_all_samples || exact->sum == estimate) {
		event_value_put(first, exact->sum, false, out);
		str_puts(out, is_all ? " exactly, " : " seen, ");
	}
	event_value_put(first, estimate, false, out);
	str_puts(out, " by the samples\n");
}

/* Of memory in use what was allocated is followed until it is freed. */
static const char *cause_of_source(
	const struct profile_source *source, enum layout_event_counter counter)
{
	bool is_used = strncmp(source->name, "heap-used", strlen("heap-used")) == 0;
	return is_used && counter == LAYOUT_EVENTS_LOST_BUSY
		       ? "lost sight of: whether they were freed is not known"
		       : cause_of_lost_events(counter);
}

static void put_causes_of_source(const struct profile_source *source, struct str *out)
{
	for (int i = 0; i < LAYOUT_EVENT_COUNTER_COUNT; i++) {
		const char *cause = cause_of_source(source, (enum layout_event_counter)i);
		unsigned long long count = source->tallies[i].count;
		if (cause && count)
			str_printf(out, "%-14s %llu %s\n", "", count, cause);
	}
}

static void put_other_sources(const struct profile *profile, struct str *out)
{
	for (size_t i = 0; i < profile->sources.len; i++) {
		CLEANUP(str_deinit) struct str name = {0};
		const char *text = profile->sources.data[i].name;
		str_puts_escaped(&name, text);
		put_balance(profile, FIRST_SOURCES + i, str_text(&name), true, out);
		put_causes_of_source(&profile->sources.data[i], out);
		put_sums(profile, &profile->sources.data[i], out);
	}
}

/* What became of all events, by source, and why some are lost. */
static void put_balances(const struct profile *profile, struct str *out)
{
	const uint64_t *counters = profile->counters;
	bool has_other_events = profile->events.len > 1 && !has_first_events(profile, false);
	if (!has_other_events || counters[LAYOUT_COUNTER_TICKS])
		put_balance(profile, FIRST_SOURCE_TIMER, "ticks", true, out);
	put_causes(counters, LAYOUT_COUNTER_LOST_RING, LAYOUT_COUNTER_SKIPPED, out);
	put_causes(counters, LAYOUT_COUNTER_SIDEBAND_LOST, LAYOUT_COUNTER_HITS, out);
	if (has_first_events(profile, true))
		put_balance(profile, FIRST_SOURCE_PROBE, "hits", false, out);
	put_causes(counters, LAYOUT_COUNTER_HITS_LOST_RING, LAYOUT_COUNTER_GAP_SAMPLES, out);
	put_causes(counters, LAYOUT_COUNTER_MAPPINGS_FULL, LAYOUT_COUNTER_CPUS_BACK + 1, out);
	put_causes(counters, LAYOUT_COUNTER_WAITS_WITHOUT_SCRIPTS, LAYOUT_COUNTER_CODE_UNREAD + 1,
		out);
	put_other_sources(profile, out);
	health_put_losses(profile, out);
}

/* Waits that began, or go on, outside of the recording have no waker in it, either. */
static void put_wakers(const struct profile *profile, struct str *out)
{
	if (!profile->wakers.len)
		return;
	struct wakers_known known = wakers_count_known(profile);
	str_printf(out, "%-14s known of %llu of %llu waits (%.1f%%), unknown of %llu\n", "wakers",
		(unsigned long long)(known.waits - known.unknown), (unsigned long long)known.waits,
		profile_percent(known.waits - known.unknown, known.waits),
		(unsigned long long)known.unknown);
}

static void info_put_stacks(const struct facts *facts, struct str *out)
{
	const struct stack_counts *stacks = &facts->stacks;
	uint64_t samples = facts->profile->samples.len;
	str_printf(out, "%-14s ", "stacks");
	stack_counts_put(stacks, samples, out);
	str_putc(out, '\n');
	if (stacks->are_leaves && cut_stacks_has_chains_of_perf(facts->profile))
		str_printf(out, "%-14s perf record -g, or ebprof record, has callers\n", "");
	for (int i = 1; i < LAYOUT_TRUNCATED_END; i++)
		if (stacks->truncated_by[i])
			str_printf(out, "%-14s %.1f%% cut: %s\n", "",
				profile_percent(stacks->truncated_by[i], samples),
				cause_of_truncation((enum layout_truncation)i));
	if (stacks->guessed)
		str_printf(out, "%-14s guessed in part: %.1f%%\n", "",
			profile_percent(stacks->guessed, samples));
	CLEANUP(str_deinit) struct str frames = {0};
	stack_counts_put_frames(stacks, &frames);
	if (frames.len)
		info_put_field(out, "frames", str_text(&frames));
	CLEANUP(str_deinit) struct str inlined = {0};
	stack_counts_put_guessed_inlined(stacks, samples, &inlined);
	if (inlined.len)
		info_put_field(out, "inlined", str_text(&inlined));
	cut_stacks_put(facts->profile, out);
}

static void put_tables(const struct facts *facts, struct str *out)
{
	const struct profile *profile = facts->profile;
	if (profile->nr_snapshots)
		str_printf(out, "%-14s %llu %s of stacks unwound here, %llu bytes\n", "",
			(unsigned long long)profile->nr_snapshots,
			str_plural(profile->nr_snapshots, "snapshot", "snapshots"),
			(unsigned long long)profile->snapshot_bytes);
	if (facts->nr_archived)
		str_printf(out, "%-14s %llu archived %s in code\n", "",
			(unsigned long long)facts->nr_archived,
			str_plural(facts->nr_archived, "place", "places"));
	str_printf(out, "%-14s %llu %s, %llu %s%s, %zu %s, %llu %s\n", "",
		(unsigned long long)facts->nr_processes,
		str_plural(facts->nr_processes, "process", "processes"),
		(unsigned long long)facts->nr_threads,
		str_plural(facts->nr_threads, "thread", "threads"),
		profile->wakers.len ? " with those that woke them or were interrupted" : "",
		profile->mappings.len, str_plural(profile->mappings.len, "mapping", "mappings"),
		(unsigned long long)facts->nr_build_ids,
		str_plural(facts->nr_build_ids, "build ID", "build IDs"));
}

static void put_images(const struct profile *profile, struct str *out)
{
	uint64_t read = profile->counters[LAYOUT_COUNTER_IMAGES_READ];
	uint64_t given_up = profile->counters[LAYOUT_COUNTER_IMAGES_GIVEN_UP];
	if (read || given_up)
		str_printf(out,
			"%-14s %llu %s of code that processes registered for debuggers, %llu "
			"given up\n",
			"", (unsigned long long)read, str_plural(read, "image", "images"),
			(unsigned long long)given_up);
}

/* What lacks some, by each cause. */
static void put_lacking_labels(const struct profile *profile, struct str *out)
{
	static const struct {
		enum layout_counter counter;
		const char *why;
	} causes[] = {
		{LAYOUT_COUNTER_LABELS_UNKNOWN,
			"how the program keeps them is not known, or was not yet"},
		{LAYOUT_COUNTER_LABELS_UNREAD, "they could not be read"},
		{LAYOUT_COUNTER_LABELS_CUT, "they are too many or too long"},
		{LAYOUT_COUNTER_LABELS_LEFT_OUT, "there are too many different ones"},
	};
	for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++) {
		uint64_t count = profile->counters[causes[i].counter];
		if (count)
			str_printf(out, "%-14s %llu %s labels: %s\n", "", (unsigned long long)count,
				str_plural(count, "sample lacks", "samples lack"), causes[i].why);
	}
}

/* The keys that samples have, and how many sets of labels there are. */
static void info_put_labels(const struct profile *profile, struct str *out)
{
	enum {
		MAX_KEYS = 20,
	};
	struct strtab keys = {0};
	vec_each(&profile->labels, label)
		if (label->key[0])
			strtab_intern(&keys, label->key, strlen(label->key));
	if (keys.entries.len)
		str_printf(out, "%-14s %zu %s of ", "labels", profile->labels.len - 1,
			str_plural(profile->labels.len - 1, "set", "sets"));
	for (size_t i = 0; i < keys.entries.len && i < MAX_KEYS; i++) {
		str_puts(out, i ? ", " : "");
		str_put_escaped(out, keys.entries.data[i].bytes, keys.entries.data[i].len);
	}
	if (keys.entries.len > MAX_KEYS)
		str_printf(out, " and %zu more", keys.entries.len - MAX_KEYS);
	str_puts(out, keys.entries.len ? "\n" : "");
	strtab_deinit(&keys);
	put_lacking_labels(profile, out);
}

static void put_counts(const struct facts *facts, struct str *out)
{
	const struct profile *profile = facts->profile;
	uint64_t samples = profile->samples.len;
	str_printf(out, "%-14s %llu in %.3f s, %llu bytes", "samples", (unsigned long long)samples,
		profile_duration_s(profile), (unsigned long long)profile->file.file_bytes);
	if (samples)
		str_printf(out, " (%.1f a sample)",
			(double)profile->file.file_bytes / (double)samples);
	str_putc(out, '\n');
	put_balances(profile, out);
	thread_life_put(profile, out);
	put_wakers(profile, out);
	info_put_stacks(facts, out);
	put_script_frames(facts, out);
	if (profile->nr_stale)
		str_printf(out,
			"%-14s %.1f%% with stale names: another compiled function may have had the "
			"address\n",
			"", profile_percent(profile->nr_stale, samples));
	put_images(profile, out);
	info_put_labels(profile, out);
	put_tables(facts, out);
}

static const char *info_origin_meta(const struct profile_origin *origin, const char *key)
{
	for (uint32_t i = 0; i < origin->info.nr_meta; i++)
		if (strcmp(origin->meta[i].key, key) == 0)
			return origin->meta[i].value;
	return NULL;
}

static void put_origin_row(const struct profile_origin *origin, struct str *out)
{
	const char *keys[] = {LAYOUT_META_HOST, LAYOUT_META_TARGET, LAYOUT_META_COMMAND};
	str_puts(out, "  ");
	str_puts_escaped(out, origin->name);
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const char *value = info_origin_meta(origin, keys[i]);
		if (!value)
			continue;
		str_puts(out, ", ");
		str_puts_escaped(out, value);
	}
	if (origin->info.shift_ns)
		str_printf(out, ", its clock %.6f s later", (double)origin->info.shift_ns / 1e9);
	str_puts(out, origin->info.flags & LAYOUT_ORIGIN_CUT ? ", cut" : "");
	str_puts(out, origin->info.flags & LAYOUT_ORIGIN_DAMAGED ? ", damaged" : "");
	str_putc(out, '\n');
}

static void put_origins(const struct profile *profile, struct str *out)
{
	if (!profile_nr_origins(profile))
		return;
	str_puts(out, "\nmerged of:\n");
	size_t limit = out->len + LIST_MAX_BYTES;
	for (size_t i = 1; i < profile->origins.len; i++) {
		if (out->len > limit) {
			str_printf(out, "  ... and %zu more\n", profile->origins.len - i);
			return;
		}
		put_origin_row(&profile->origins.data[i], out);
	}
}

static void info_put_objects(const struct profile *profile, struct str *out)
{
	str_puts(out, "\nobjects:\n");
	size_t limit = out->len + LIST_MAX_BYTES;
	for (size_t i = 1; i < profile->objects.len; i++) {
		if (out->len > limit) {
			str_printf(out, "  ... and %zu more\n", profile->objects.len - i);
			return;
		}
		const struct profile_object *object = &profile->objects.data[i];
		CLEANUP(str_deinit) struct str build_id = {0};
		hex_put(&build_id, object->info.build_id, object->info.build_id_len);
		str_printf(out, "  %-9s %-40s ", object_kind_word(object->info.kind),
			build_id.len ? str_text(&build_id) : "-");
		str_puts_escaped(out, object->path);
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
	size_t limit = out->len + LIST_MAX_BYTES;
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
		str_puts_escaped(out, object->path);
		str_putc(out, '\n');
	}
}

void info_put_text(const struct profile *profile, bool with_mappings, struct str *out)
{
	CLEANUP(facts_deinit) struct facts facts;
	facts_init(&facts, profile);
	put_recorder(profile, out);
	put_counts(&facts, out);
	info_put_field(out, "ended",
		profile->file.ended ? end_word(profile->end.reason) : "no: it was cut");
	if (facts.damage.len)
		info_put_field(out, "health", str_text(&facts.damage));
	else
		info_put_field(out, "file", "intact");
	if (profile->file.unknown_chunks)
		str_printf(out, "%-14s %llu %s of kinds that this version does not know\n", "",
			(unsigned long long)profile->file.unknown_chunks,
			str_plural(profile->file.unknown_chunks, "chunk", "chunks"));
	put_origins(profile, out);
	if (with_mappings) {
		info_put_objects(profile, out);
		put_mappings(profile, out);
	}
}

/* ---- JSON ---- */

static void put_json_count(struct str *out, const char *key, uint64_t value)
{
	str_printf(out, "  \"%s\": %llu,\n", key, (unsigned long long)value);
}

static void put_json_stacks(const struct stack_counts *stacks, struct str *out)
{
	str_printf(out,
		"  \"stacks\": {\"complete\": %llu, \"by_guesses\": %llu, \"truncated\": %llu, "
		"\"kernel_only\": %llu},\n",
		(unsigned long long)stacks->complete, (unsigned long long)stacks->by_guesses,
		(unsigned long long)stacks->truncated, (unsigned long long)stacks->kernel_only);
	str_puts(out, "  \"truncated_by\": ");
	cut_stacks_put_json_causes(stacks->truncated_by, out);
	str_puts(out, ",\n");
	put_json_count(out, "guessed_stacks", stacks->guessed);
	put_json_count(out, "guessed_inlined", stacks->guessed_inlined);
	str_puts(out, "  \"frames\": ");
	cut_stacks_put_json_found(stacks->frames, out);
	str_puts(out, ",\n");
}

static void put_json_script_frames(const struct script_frames *frames, struct str *out)
{
	str_puts(out, "  \"script_frames\": {");
	const char *separator = "";
	vec_each(&frames->languages, language) {
		str_puts(out, separator);
		json_quote(out, language->name);
		str_printf(out, ": {\"frames\": %llu, \"samples\": %llu}",
			(unsigned long long)language->frames,
			(unsigned long long)language->samples);
		separator = ", ";
	}
	str_puts(out, "},\n  \"unnamed_script_frames\": {");
	separator = "";
	for (uint32_t i = 1; i < LAYOUT_SCRIPT_FAILURES_END; i++) {
		if (!frames->unnamed[i])
			continue;
		str_printf(out, "%s\"%s\": %llu", separator, script_frames_cause(i),
			(unsigned long long)frames->unnamed[i]);
		separator = ", ";
	}
	str_puts(out, "},\n");
}

static void put_json_objects(const struct profile *profile, struct str *out)
{
	str_puts(out, "  \"objects\": [");
	size_t limit = out->len + LIST_MAX_BYTES, i;
	for (i = 1; i < profile->objects.len && out->len <= limit; i++) {
		const struct profile_object *object = &profile->objects.data[i];
		str_printf(out, "%s\n    {\"kind\": \"%s\", \"path\": ", i > 1 ? "," : "",
			object_kind_word(object->info.kind));
		json_quote(out, object->path);
		str_puts(out, ", \"build_id\": \"");
		hex_put(out, object->info.build_id, object->info.build_id_len);
		str_puts(out, "\"}");
	}
	str_puts(out, "\n  ],\n");
	put_json_count(out, "objects_omitted", profile->objects.len - i);
}

/* Beside "counters": what they do not have. */
static void put_json_sources(const struct profile *profile, struct str *out)
{
	static const char *const words[LAYOUT_EVENT_COUNTER_COUNT] = {
#define X(name, number, word) [number] = word,
		LAYOUT_EVENT_COUNTERS(X)
#undef X
	};
	if (!profile->sources.len)
		return;
	str_puts(out, "  \"sources\": [");
	vec_each(&profile->sources, source) {
		str_puts(out, source == profile->sources.data ? "\n    {\"name\": "
							      : ",\n    {\"name\": ");
		json_quote(out, source->name);
		for (int i = 1; i < LAYOUT_EVENT_COUNTER_COUNT; i++)
			str_printf(out, ", \"%s\": {\"count\": %llu, \"sum\": %llu}", words[i],
				(unsigned long long)source->tallies[i].count,
				(unsigned long long)source->tallies[i].sum);
		str_putc(out, '}');
	}
	str_puts(out, "\n  ],\n");
}

static void put_json_meta(const struct profile_meta *meta, size_t count, struct str *out)
{
	str_puts(out, "\"meta\": {");
	for (size_t i = 0; i < count; i++) {
		str_puts(out, i ? ", " : "");
		json_quote(out, meta[i].key);
		str_puts(out, ": ");
		json_quote(out, meta[i].value);
	}
	str_puts(out, "}");
}

static void put_json_origin(const struct profile_origin *origin, struct str *out)
{
	str_puts(out, "{\"name\": ");
	json_quote(out, origin->name);
	str_printf(out, ", \"shift_ns\": \"%llu\", \"cut\": %s, \"damaged\": %s, ",
		(unsigned long long)origin->info.shift_ns,
		origin->info.flags & LAYOUT_ORIGIN_CUT ? "true" : "false",
		origin->info.flags & LAYOUT_ORIGIN_DAMAGED ? "true" : "false");
	put_json_meta(origin->meta, origin->info.nr_meta, out);
	str_putc(out, '}');
}

static void put_json_origins(const struct profile *profile, struct str *out)
{
	str_puts(out, "  \"origins\": [");
	size_t limit = out->len + LIST_MAX_BYTES, i;
	for (i = 1; i < profile->origins.len && out->len <= limit; i++) {
		str_puts(out, i > 1 ? ",\n    " : "\n    ");
		put_json_origin(&profile->origins.data[i], out);
	}
	str_puts(out, "],\n");
	str_printf(out, "  \"origins_omitted\": %zu,\n", profile->origins.len - i);
}

void info_put_json(const struct profile *profile, struct str *out)
{
	const uint64_t *counters = profile->counters;
	CLEANUP(facts_deinit) struct facts facts;
	facts_init(&facts, profile);
	str_puts(out, "{\n");
	put_json_count(out, "samples", profile->samples.len);
	if (profile->nr_second_samples)
		put_json_count(out, "second_samples", profile->nr_second_samples);
	put_json_count(out, "ticks", counters[LAYOUT_COUNTER_TICKS]);
	put_json_count(out, "lost", profile_lost(profile));
	put_json_count(out, "idle", counters[LAYOUT_COUNTER_IDLE]);
	put_json_count(out, "filtered", counters[LAYOUT_COUNTER_FILTERED]);
	str_printf(out, "  \"duration_s\": %.6f,\n", profile_duration_s(profile));
	put_json_count(out, "file_bytes", profile->file.file_bytes);
	put_json_count(out, "processes", facts.nr_processes);
	put_json_count(out, "threads", facts.nr_threads);
	put_json_count(out, "mappings", profile->mappings.len);
	put_json_count(out, "build_ids", facts.nr_build_ids);
	put_json_stacks(&facts.stacks, out);
	cut_stacks_put_json(profile, out);
	put_json_script_frames(&facts.scripts, out);
	put_json_count(out, "snapshots", profile->nr_snapshots);
	put_json_count(out, "snapshot_bytes", profile->snapshot_bytes);
	put_json_count(out, "snapshots_lost", health_count_unwind_losses(profile));
	put_json_count(out, "stale_names", profile->nr_stale);
	put_json_count(out, "archived_places", facts.nr_archived);
	str_puts(out, "  \"counters\": {");
	for (int i = 1; i < LAYOUT_COUNTER_COUNT; i++)
		str_printf(out, "%s\"%s\": %llu", i > 1 ? ", " : "", counter_word(i),
			(unsigned long long)counters[i]);
	str_puts(out, "},\n");
	put_json_sources(profile, out);
	thread_life_put_json(profile, out);
	if (profile->wakers.len)
		put_json_count(out, "unknown_wakers", wakers_count_known(profile).unknown);
	str_puts(out, "  ");
	put_json_meta(profile->meta.data, profile->meta.len, out);
	str_puts(out, ",\n");
	put_json_objects(profile, out);
	put_json_origins(profile, out);
	str_puts(out, "  \"ended\": ");
	json_quote(out, profile->file.ended ? end_word(profile->end.reason) : "");
	str_puts(out, ",\n  \"damage\": ");
	json_quote(out, str_text(&facts.damage));
	str_puts(out, "\n}\n");
}
