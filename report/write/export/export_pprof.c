/*
 * pprof's profile.proto (github.com/google/pprof/blob/main/proto/profile.proto), gzipped.
 *
 * The fields of a message may come in any order, so everything is written as
 * soon as it is known and nothing is kept but what says which frames were used:
 * samples first, then the tables that they refer to, the strings last.
 *
 * Locations and functions are numbered in order of their first use, without holes.
 */
#include <string.h>

#include "format/base/str.h"
#include "report/model/main_event.h"
#include "report/write/export/dense_ids.h"
#include "report/write/export/export.h"
#include "report/write/export/export_names.h"
#include "report/write/export/gzip.h"
#include "report/write/export/pprof_labels.h"
#include "report/write/export/pprof_mappings.h"
#include "report/write/export/protobuf.h"
#include "report/write/export/tally.h"
#include "report/write/health.h"

enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};

enum value_type_field {
	VALUE_TYPE_TYPE = 1,
	VALUE_TYPE_UNIT = 2,
};

enum sample_field {
	SAMPLE_LOCATION_ID = 1,
	SAMPLE_VALUE = 2,
};

enum location_field {
	LOCATION_ID = 1,
	LOCATION_MAPPING_ID = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
};

enum line_field {
	LINE_FUNCTION_ID = 1,
	LINE_LINE = 2,
};

enum function_field {
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILENAME = 4,
	FUNCTION_START_LINE = 5,
};

enum {
	NO_COLUMN = UINT32_MAX,
	MAX_EVENTS = 64, /* recorders have a handful */
};

struct pprof {
	const struct profile *profile;
	struct byte_sink sink;
	struct gzip *gzip; /* NULL: plain */
	struct bytes_buf out, message;
	struct bytes_buf inner; /* part of a message */
	VEC(uint64_t) values;   /* of a sample: zeros between samples */
	struct strtab strings;
	struct pprof_labels labels;
	struct tally tally;         /* by group of labels and stack */
	VEC(uint32_t) events;       /* those with samples; each has two values in a sample */
	uint32_t *columns;          /* of each event: index of events or NO_COLUMN */
	uint32_t main_column;       /* of the event with the most samples */
	struct dense_ids locations; /* of frames; one more for "no stack" */
	struct dense_ids functions; /* likewise */
	struct pprof_mappings mappings;
};

static struct err *pprof_flush(struct pprof *pprof, size_t limit)
{
	if (pprof->out.len <= limit)
		return NULL;
	if (pprof->gzip)
		try(gzip_write(pprof->gzip, pprof->out.data, pprof->out.len));
	else
		try(pprof->sink.write(pprof->sink.context, pprof->out.data, pprof->out.len));
	pprof->out.len = 0;
	return NULL;
}

/* Ends the message under construction as a field of the profile. */
static struct err *pprof_put_message(struct pprof *pprof, enum profile_field field)
{
	protobuf_put_message(&pprof->out, field, &pprof->message);
	return pprof_flush(pprof, BYTE_SINK_PIECE_BYTES);
}

static uint32_t pprof_string_of(struct pprof *pprof, const char *text)
{
	return pprof_string(&pprof->strings, text);
}

static void pprof_put_text(struct pprof *pprof, uint32_t field, const char *text)
{
	protobuf_put_varint(&pprof->message, field, pprof_string_of(pprof, text));
}

/* ---- values ---- */

static struct err *find_events(struct pprof *pprof)
{
	const struct profile *profile = pprof->profile;
	uint32_t main_event = main_event_of(profile);
	pprof->columns = mem_zalloc_array(profile->events.len, sizeof(*pprof->columns));
	struct event_choices choices;
	event_choices_init(&choices, profile);
	vec_each(&choices.list, choice)
		pprof->columns[choice->event] = 1;
	event_choices_deinit(&choices);
	for (uint32_t i = 0; i < profile->events.len; i++) {
		bool has_samples = pprof->columns[i];
		uint32_t first = profile->events.data[i].first;
		pprof->columns[i] = has_samples ? (uint32_t)pprof->events.len
				    : first     ? pprof->columns[first]
						: NO_COLUMN;
		if (has_samples)
			vec_push(&pprof->events, i);
	}
	pprof->main_column = pprof->columns[main_event];
	if (pprof->events.len > MAX_EVENTS) /* each sample has a value of each */
		return err_new(ERR_UNSUPPORTED, "samples of %zu events are more than pprof is for",
			pprof->events.len);
	return NULL;
}

static void pprof_put_value_type(
	struct pprof *pprof, enum profile_field field, const char *type, const char *unit)
{
	pprof_put_text(pprof, VALUE_TYPE_TYPE, type);
	pprof_put_text(pprof, VALUE_TYPE_UNIT, unit);
	protobuf_put_message(&pprof->out, field, &pprof->message);
}

static void put_value_types(struct pprof *pprof)
{
	const struct profile *profile = pprof->profile;
	for (size_t i = 0; i < pprof->events.len; i++) {
		uint32_t index = pprof->events.data[i];
		CLEANUP(str_deinit) struct str count = {0};
		if (pprof->events.len > 1)
			str_printf(&count, "%s_", export_event_type(profile, index));
		str_puts(&count, "samples");
		pprof_put_value_type(pprof, PROFILE_SAMPLE_TYPE, str_text(&count), "count");
		pprof_put_value_type(pprof, PROFILE_SAMPLE_TYPE, export_event_type(profile, index),
			export_event_unit(profile, index));
	}
}

/* ---- samples ---- */

static void pprof_count_samples(struct pprof *pprof)
{
	vec_each(&pprof->profile->samples, sample) {
		uint32_t group =
			pprof_labels_group(&pprof->labels, sample, pprof->columns[sample->event]);
		tally_add(&pprof->tally, group, sample->stack,
			profile_sample_value(pprof->profile, sample));
	}
	tally_finish(&pprof->tally);
}

/* The location_id field of samples of this stack. */
static void put_locations(struct pprof *pprof, uint32_t stack, struct bytes_buf *out)
{
	struct bytes_buf *ids = &pprof->message;
	struct profile_walk walk = profile_walk(pprof->profile, stack);
	for (uint32_t frame; (frame = profile_walk_recorded(&walk));) /* lines have the inlined */
		bytes_put_varint(ids, dense_ids_use(&pprof->locations, frame));
	if (!ids->len) /* pprof shows only what has a location */
		bytes_put_varint(ids, dense_ids_use(&pprof->locations, pprof->profile->frames.len));
	protobuf_put_message(out, SAMPLE_LOCATION_ID, ids); /* packed varints look like one */
}

/* Of the event that has this one as a part. */
static uint32_t sum_column_of(const struct pprof *pprof, uint32_t column)
{
	uint32_t sum = pprof->profile->events.data[pprof->events.data[column]].part_of;
	return sum ? pprof->columns[sum] : NO_COLUMN;
}

static void put_values(struct pprof *pprof, const struct tally_entry *entry)
{
	uint32_t column = pprof_labels_column(&pprof->labels, entry->group);
	uint32_t sum = sum_column_of(pprof, column);
	const uint32_t columns[] = {column, sum == NO_COLUMN ? column : sum};
	uint64_t *values = pprof->values.data;
	for (int i = 0; i < 2; i++) {
		values[2 * columns[i]] = entry->samples;
		values[2 * columns[i] + 1] = entry->value;
	}
	protobuf_put_packed(&pprof->message, SAMPLE_VALUE, values, pprof->values.len);
	for (int i = 0; i < 2; i++)
		values[2 * columns[i]] = values[2 * columns[i] + 1] = 0;
}

/* Stack by stack: its locations are put once, and gzip finds them again when they repeat. */
static struct err *write_samples(struct pprof *pprof)
{
	vec_resize(&pprof->values, 2 * pprof->events.len);
	const struct tally_entry *previous = NULL;
	vec_each(&pprof->tally.entries, entry) {
		if (!previous || previous->stack != entry->stack) {
			pprof->inner.len = 0;
			put_locations(pprof, entry->stack, &pprof->inner);
		}
		previous = entry;
		bytes_put(&pprof->message, pprof->inner.data, pprof->inner.len);
		put_values(pprof, entry);
		pprof_labels_put(&pprof->labels, entry->group, entry->stack, &pprof->message);
		try(pprof_put_message(pprof, PROFILE_SAMPLE));
	}
	pprof->inner.len = 0;
	return NULL;
}

/* ---- locations, mappings, functions ---- */

static void pprof_put_line(struct pprof *pprof, size_t function, uint32_t line)
{
	protobuf_put_varint(
		&pprof->inner, LINE_FUNCTION_ID, dense_ids_use(&pprof->functions, function));
	protobuf_put_varint(&pprof->inner, LINE_LINE, line);
	protobuf_put_message(&pprof->message, LOCATION_LINE, &pprof->inner);
}

/* A line for each function that the address stands in, innermost first. */
static void pprof_put_lines(struct pprof *pprof, size_t recorded)
{
	const struct profile_frame *frames = pprof->profile->frames.data;
	size_t frame = frames[recorded].innermost ? frames[recorded].innermost : recorded;
	for (; frame; frame = frames[frame].outer)
		pprof_put_line(pprof, frames[frame].function, frames[frame].line);
}

static struct err *write_locations(struct pprof *pprof)
{
	const struct profile *profile = pprof->profile;
	vec_each(&pprof->locations.used, used) {
		size_t i = *used;
		struct pprof_place place = {0};
		if (i < profile->frames.len)
			place = pprof_mappings_place(&pprof->mappings, &profile->frames.data[i]);
		protobuf_put_varint(&pprof->message, LOCATION_ID, pprof->locations.id_of[i]);
		protobuf_put_varint(&pprof->message, LOCATION_MAPPING_ID, place.mapping);
		protobuf_put_varint(&pprof->message, LOCATION_ADDRESS, place.address);
		if (i < profile->frames.len)
			pprof_put_lines(pprof, i);
		else
			pprof_put_line(pprof, profile->functions.len, 0); /* "no stack" */
		try(pprof_put_message(pprof, PROFILE_LOCATION));
	}
	return NULL;
}

static struct err *write_mappings(struct pprof *pprof)
{
	for (size_t i = 0; i < pprof->mappings.entries.len; i++) {
		pprof_mappings_put(&pprof->mappings, i, &pprof->strings, &pprof->message);
		try(pprof_put_message(pprof, PROFILE_MAPPING));
	}
	return NULL;
}

static struct err *write_functions(struct pprof *pprof)
{
	static const struct profile_function no_stack = {
		.name = "[no stack]", .system_name = "[no stack]"};
	const struct profile *profile = pprof->profile;
	vec_each(&pprof->functions.used, used) {
		const struct profile_function *function = &no_stack;
		if (*used < profile->functions.len)
			function = &profile->functions.data[*used];
		const char *system_name = function->system_name;
		protobuf_put_varint(&pprof->message, FUNCTION_ID, pprof->functions.id_of[*used]);
		uint32_t name = pprof_string_of(pprof, function->name);
		protobuf_put_varint(&pprof->message, FUNCTION_NAME, name);
		if (system_name && system_name != function->name)
			name = pprof_string_of(pprof, system_name);
		protobuf_put_varint(&pprof->message, FUNCTION_SYSTEM_NAME, name);
		if (function->file)
			pprof_put_text(pprof, FUNCTION_FILENAME, function->file);
		protobuf_put_varint(&pprof->message, FUNCTION_START_LINE, function->line);
		try(pprof_put_message(pprof, PROFILE_FUNCTION));
	}
	return NULL;
}

/* ---- the profile ---- */

static void put_comment(struct pprof *pprof, const char *what, const char *value)
{
	if (!value || !value[0])
		return;
	CLEANUP(str_deinit) struct str text = {0};
	str_printf(&text, "%s: %s", what, value); /* pprof hides comments that begin with '#' */
	protobuf_put_varint(&pprof->out, PROFILE_COMMENT, pprof_string_of(pprof, str_text(&text)));
}

static void put_comments(struct pprof *pprof)
{
	const struct profile *profile = pprof->profile;
	put_comment(pprof, "recorder", profile_meta(profile, LAYOUT_META_VERSION));
	put_comment(pprof, "host", profile_meta(profile, LAYOUT_META_HOST));
	put_comment(pprof, "kernel", profile_meta(profile, LAYOUT_META_KERNEL));
	put_comment(pprof, "command", profile_meta(profile, LAYOUT_META_COMMAND));
	put_comment(pprof, "target", profile_meta(profile, LAYOUT_META_TARGET));
	put_comment(pprof, "note", profile_meta(profile, LAYOUT_META_NOTE));
	put_comment(pprof, "only", profile->only);
	CLEANUP(str_deinit) struct str text = {0};
	uint64_t lost = profile_lost(profile);
	if (lost)
		str_printf(&text, "%llu", (unsigned long long)lost);
	put_comment(pprof, "lost samples", str_text(&text));
	str_truncate(&text, 0);
	health_put_damage(profile, &text);
	put_comment(pprof, "damage", str_text(&text));
}

static void pprof_put_head(struct pprof *pprof)
{
	const struct profile *profile = pprof->profile;
	uint32_t index = pprof->events.data[pprof->main_column];
	const char *type = export_event_type(profile, index);
	put_value_types(pprof);
	protobuf_put_varint(&pprof->out, PROFILE_TIME_NANOS,
		profile_wall_ns(profile, export_begin_ns(profile)));
	protobuf_put_varint(&pprof->out, PROFILE_DURATION_NANOS, export_duration_ns(profile));
	pprof_put_value_type(pprof, PROFILE_PERIOD_TYPE, type, export_event_unit(profile, index));
	protobuf_put_varint(&pprof->out, PROFILE_PERIOD, export_event_period(profile, index));
	/* Else pprof shows the last type, whichever that is. */
	protobuf_put_varint(&pprof->out, PROFILE_DEFAULT_SAMPLE_TYPE, pprof_string_of(pprof, type));
	put_comments(pprof);
}

static struct err *write_strings(struct pprof *pprof)
{
	vec_each(&pprof->strings.entries, string) {
		protobuf_put_bytes(&pprof->out, PROFILE_STRING_TABLE, string->bytes, string->len);
		try(pprof_flush(pprof, BYTE_SINK_PIECE_BYTES));
	}
	return pprof_flush(pprof, 0);
}

static struct err *write_profile(struct pprof *pprof)
{
	pprof_string_of(pprof, ""); /* string 0 */
	try(find_events(pprof));
	pprof_put_head(pprof);
	pprof_count_samples(pprof);
	try(write_samples(pprof));
	try(write_locations(pprof)); /* finds the mappings */
	try(write_mappings(pprof));
	try(write_functions(pprof));
	try(write_strings(pprof));
	return pprof->gzip ? gzip_finish(pprof->gzip) : NULL;
}

struct err *export_pprof(
	const struct profile *profile, const struct export_options *options, struct byte_sink sink)
{
	struct pprof pprof = {
		.profile = profile,
		.sink = sink,
		.gzip = options->is_plain ? NULL : gzip_create(sink),
	};
	dense_ids_init(&pprof.locations, profile->frames.len + 1);
	dense_ids_init(&pprof.functions, profile->functions.len + 1);
	pprof_mappings_init(&pprof.mappings, profile);
	pprof_labels_init(&pprof.labels, profile, options->labels, &pprof.strings);
	struct err *err = write_profile(&pprof);
	pprof_labels_deinit(&pprof.labels);
	gzip_destroy(pprof.gzip);
	bytes_buf_deinit(&pprof.out);
	bytes_buf_deinit(&pprof.message);
	bytes_buf_deinit(&pprof.inner);
	strtab_deinit(&pprof.strings);
	tally_deinit(&pprof.tally);
	vec_deinit(&pprof.events);
	vec_deinit(&pprof.values);
	mem_free(pprof.columns);
	dense_ids_deinit(&pprof.locations);
	dense_ids_deinit(&pprof.functions);
	pprof_mappings_deinit(&pprof.mappings);
	return err;
}
