#include "report/write/info_json.h"

#include "format/base/hex.h"
#include "report/model/text/json.h"
#include "report/name/script_frames.h"
#include "report/write/info.h"
#include "report/write/info_origins.h"

static void put_json_count(struct str *out, const char *key, uint64_t value)
{
	str_printf(out, "  \"%s\": %llu,\n", key, (unsigned long long)value);
}

static void put_json_stacks(const struct info_stacks *stacks, struct str *out)
{
	str_printf(out,
		"  \"stacks\": {\"complete\": %llu, \"truncated\": %llu, \"kernel_only\": %llu},\n",
		(unsigned long long)stacks->complete, (unsigned long long)stacks->truncated,
		(unsigned long long)stacks->kernel_only);
	str_puts(out, "  \"truncated_by\": {");
	const char *separator = "";
	for (int i = 1; i < LAYOUT_TRUNCATED_END; i++) {
		if (!stacks->truncated_by[i])
			continue;
		str_printf(out, "%s\"%s\": %llu", separator, info_truncation_word(i),
			(unsigned long long)stacks->truncated_by[i]);
		separator = ", ";
	}
	str_puts(out, "},\n");
}

static void put_json_script_frames(const struct profile *profile, struct str *out)
{
	struct script_frames frames;
	script_frames_count(profile, &frames);
	str_puts(out, "  \"script_frames\": {");
	const char *separator = "";
	vec_each(&frames.languages, language) {
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
		if (!frames.unnamed[i])
			continue;
		str_printf(out, "%s\"%s\": %llu", separator, script_frames_cause(i),
			(unsigned long long)frames.unnamed[i]);
		separator = ", ";
	}
	str_puts(out, "},\n");
	script_frames_deinit(&frames);
}

static void put_json_objects(const struct profile *profile, struct str *out)
{
	str_puts(out, "  \"objects\": [");
	size_t limit = out->len + INFO_MAX_LIST_BYTES, i;
	for (i = 1; i < profile->objects.len && out->len <= limit; i++) {
		const struct profile_object *object = &profile->objects.data[i];
		str_printf(out, "%s\n    {\"kind\": \"%s\", \"path\": ", i > 1 ? "," : "",
			info_object_kind_word(object->info.kind));
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

void info_put_json(const struct profile *profile, struct str *out)
{
	const uint64_t *counters = profile->counters;
	struct info_distinct distinct = info_count_distinct(profile);
	struct info_stacks stacks = info_count_stacks(profile);
	CLEANUP(str_deinit) struct str damage = {0};
	info_put_damage(profile, &damage);
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
	put_json_count(out, "processes", distinct.processes);
	put_json_count(out, "threads", distinct.threads);
	put_json_count(out, "mappings", profile->mappings.len);
	put_json_count(out, "build_ids", distinct.build_ids);
	put_json_stacks(&stacks, out);
	put_json_count(out, "guessed_stacks", stacks.guessed);
	put_json_script_frames(profile, out);
	put_json_count(out, "snapshots", profile->nr_snapshots);
	put_json_count(out, "snapshot_bytes", profile->snapshot_bytes);
	put_json_count(out, "snapshots_lost", info_count_unwind_losses(profile));
	put_json_count(out, "stale_names", profile->nr_stale);
	put_json_count(out, "archived_places", info_count_archived_places(profile));
	str_puts(out, "  \"counters\": {");
	for (int i = 1; i < LAYOUT_COUNTER_COUNT; i++)
		str_printf(out, "%s\"%s\": %llu", i > 1 ? ", " : "", info_counter_word(i),
			(unsigned long long)counters[i]);
	str_puts(out, "},\n");
	put_json_sources(profile, out);
	str_puts(out, "  ");
	info_put_json_meta(profile->meta.data, profile->meta.len, out);
	str_puts(out, ",\n");
	put_json_objects(profile, out);
	info_put_json_origins(profile, out);
	str_puts(out, "  \"ended\": ");
	json_quote(out, profile->file.ended ? info_end_word(profile->end.reason) : "");
	str_puts(out, ",\n  \"damage\": ");
	json_quote(out, str_text(&damage));
	str_puts(out, "\n}\n");
}
