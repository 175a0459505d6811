/*
 * A row for each minute, stack and set of labels, for engines that store and query tables: as
 * NDJSON (a JSON object a line), or with tabs, where labels and stack are JSON in their columns.
 * man/ebprof-convert.1 has the columns.
 *
 * Stacks are arrays of names, outermost first. Equal ones are written again in each row: engines
 * compress columns, and a row is to stand for itself.
 */
#include <string.h>
#include <time.h>

#include "format/base/clock.h"
#include "report/model/text/json.h"
#include "report/write/export/export.h"
#include "report/write/export/function_table.h"
#include "report/write/export/json_labels.h"
#include "report/write/export/tally.h"

enum {
	BUCKET_S = 60
};

struct row_group {
	uint64_t bucket; /* minutes since 1970 */
	uint32_t set, event, origin;
};

struct rows {
	const struct profile *profile;
	bool has_tabs;
	struct function_table functions;
	struct json_labels labels; /* all texts: a column of maps has one type */
	struct strtab groups;      /* struct row_group */
	struct tally tally;
	struct byte_sink sink;
	struct str out;
};

/* ---- rows ---- */

static void rows_count_samples(struct rows *rows)
{
	const struct profile *profile = rows->profile;
	vec_each(&profile->samples, sample) {
		const struct profile_thread *thread = &profile->threads.data[sample->thread];
		struct row_group group;
		memset(&group, 0, sizeof(group)); /* its padding is a part of the key */
		group.bucket = profile_wall_ns(profile, sample->time_ns) / NS_PER_S / BUCKET_S;
		group.set = json_labels_of(&rows->labels, sample);
		group.event = sample->event;
		group.origin = profile->processes.data[thread->process].info.origin;
		uint32_t id = strtab_intern(&rows->groups, (const char *)&group, sizeof(group));
		tally_add(&rows->tally, id, sample->stack, profile_sample_value(profile, sample));
	}
	tally_finish(&rows->tally);
}

/* The machine of one of several recordings, or of this one. */
static const char *host_of(const struct profile *profile, uint32_t index)
{
	const struct profile_origin *origin =
		index && index < profile->origins.len ? &profile->origins.data[index] : NULL;
	for (uint32_t i = 0; origin && i < origin->info.nr_meta; i++)
		if (strcmp(origin->meta[i].key, LAYOUT_META_HOST) == 0)
			return origin->meta[i].value;
	const char *host = profile_meta(profile, LAYOUT_META_HOST);
	return host ? host : "";
}

static void rows_put_stack(const struct rows *rows, uint32_t stack, struct str *out)
{
	const struct profile *profile = rows->profile;
	VEC(uint32_t) frames = {0};
	struct profile_walk walk = profile_walk(profile, stack);
	for (uint32_t frame; (frame = profile_walk_next(&walk));)
		vec_push(&frames, frame);
	if (!frames.len)
		vec_push(&frames, (uint32_t)profile->frames.len); /* that of no stack */
	str_putc(out, '[');
	for (size_t i = frames.len; i-- > 0;) {
		CLEANUP(str_deinit) struct str name = {0};
		uint32_t entry = rows->functions.of_frame[frames.data[i]];
		function_table_put_name(&rows->functions.entries.data[entry], &name);
		json_quote(out, str_text(&name));
		str_puts(out, i ? "," : "");
	}
	str_putc(out, ']');
	vec_deinit(&frames);
}

/* "2026-11-26 14:05:00", UTC: every engine reads that as a time. */
static void put_bucket(uint64_t bucket, struct str *out)
{
	time_t seconds = (time_t)(bucket * BUCKET_S);
	struct tm utc;
	char text[32];
	gmtime_r(&seconds, &utc);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &utc);
	str_puts(out, text);
}

/* Texts that a tab or a newline would break do not come: those of a recording are escaped. */
static void rows_put_cell(const struct rows *rows, const char *text, struct str *out)
{
	if (rows->has_tabs)
		str_puts_escaped(out, text);
	else
		json_quote(out, text);
}

static void rows_put_row(struct rows *rows, const struct tally_entry *entry)
{
	static const char *const json[] = {"{\"time\":\"", "\",\"host\":", ",\"event\":",
		",\"unit\":", ",\"labels\":", ",\"stack\":", ",\"samples\":", ",\"value\":", "}\n"};
	static const char *const tabs[] = {"", "\t", "\t", "\t", "\t", "\t", "\t", "\t", "\n"};
	const char *const *between = rows->has_tabs ? tabs : json;
	const struct profile *profile = rows->profile;
	struct str *out = &rows->out;
	struct row_group group;
	memcpy(&group, strtab_get(&rows->groups, entry->group), sizeof(group));
	str_puts(out, between[0]);
	put_bucket(group.bucket, out);
	str_puts(out, between[1]);
	rows_put_cell(rows, host_of(profile, group.origin), out);
	str_puts(out, between[2]);
	rows_put_cell(rows, profile->events.data[group.event].name, out);
	str_puts(out, between[3]);
	rows_put_cell(rows, profile->events.data[group.event].unit, out);
	str_puts(out, between[4]);
	str_puts(out, strtab_get(&rows->labels.sets, group.set));
	str_puts(out, between[5]);
	rows_put_stack(rows, entry->stack, out);
	str_printf(out, "%s%llu%s%llu%s", between[6], (unsigned long long)entry->samples,
		between[7], (unsigned long long)entry->value, between[8]);
}

static struct err *rows_write(struct rows *rows)
{
	if (rows->has_tabs)
		str_puts(&rows->out, "time\thost\tevent\tunit\tlabels\tstack\tsamples\tvalue\n");
	vec_each(&rows->tally.entries, entry) {
		rows_put_row(rows, entry);
		if (rows->out.len < BYTE_SINK_PIECE_BYTES)
			continue;
		try(rows->sink.write(rows->sink.context, rows->out.data, rows->out.len));
		str_truncate(&rows->out, 0);
	}
	return rows->sink.write(rows->sink.context, str_text(&rows->out), rows->out.len);
}

static struct err *export_as_rows(const struct profile *profile,
	const struct export_options *options, struct byte_sink sink, bool has_tabs)
{
	struct rows rows = {
		.profile = profile,
		.has_tabs = has_tabs,
		.sink = sink,
	};
	function_table_init(&rows.functions, profile);
	json_labels_init(
		&rows.labels, profile, options->labels & ~(uint32_t)EXPORT_LABEL_ORIGIN, true);
	rows_count_samples(&rows);
	struct err *err = rows_write(&rows);
	function_table_deinit(&rows.functions);
	json_labels_deinit(&rows.labels);
	strtab_deinit(&rows.groups);
	tally_deinit(&rows.tally);
	str_deinit(&rows.out);
	return err;
}

struct err *export_rows(
	const struct profile *profile, const struct export_options *options, struct byte_sink sink)
{
	return export_as_rows(profile, options, sink, false);
}

struct err *export_rows_tsv(
	const struct profile *profile, const struct export_options *options, struct byte_sink sink)
{
	return export_as_rows(profile, options, sink, true);
}
