#include "report/write/text/text_fields.h"

#include <string.h>

#include "report/model/event_value.h"

bool text_has_sum(const struct profile_event *event)
{
	return (event->source || event->is_sum) &&
	       (strcmp(event->unit, "ns") == 0 || strcmp(event->unit, "bytes") == 0 ||
		       strcmp(event->unit, "objects") == 0);
}

static uint64_t count_below(const struct profile *profile)
{
	uint64_t below = 0;
	for (size_t i = 0; i < profile_nr_sources(profile); i++)
		below += profile_source_count(profile, i, LAYOUT_EVENTS_BELOW);
	return below;
}

/* Whether allocations are all that was recorded. */
static bool is_of_heap_alone(const struct profile *profile)
{
	for (size_t i = 1; i < profile->events.len; i++) {
		const char *source = profile->events.data[i].source;
		if (!source || strncmp(source, "heap", 4) != 0)
			return false;
	}
	return profile->events.len > 1;
}

void text_put_none(
	const struct profile *profile, const struct text_options *options, struct str *out)
{
	uint64_t below = options->is_empty ? count_below(profile) : 0;
	const char *event = profile->events.data[options->event].name;
	bool is_in_use =
		options->is_event_empty && !options->is_empty && strncmp(event, "inuse_", 6) == 0;
	enum layout_end_reason end = profile->end.reason;
	bool has_end = end && end != LAYOUT_END_SWITCH && end != LAYOUT_END_WRITE_ERROR;
	bool is_unknown =
		is_in_use && (profile->counters[LAYOUT_COUNTER_HEAP_UNSEEN_MS] || !has_end);
	str_puts(out, options->is_empty ? "# the recording has no samples" : "# nothing matches");
	if (is_unknown)
		str_puts(out, ": what stayed in use is not known");
	else if (options->is_empty && is_of_heap_alone(profile))
		str_puts(out, ": only calls of malloc() and the like are seen, and the objects of "
			      "Java, for one, are on a heap of its own");
	else if (is_in_use)
		str_puts(out, ": all of it was freed by the end, as some runtimes do when they "
			      "exit (record -p, for a --duration, to see what is used meanwhile)");
	if (below)
		str_printf(out,
			": %llu events were counted that together took less than one stands for "
			"(record with a shorter --wait-period, or -c)",
			(unsigned long long)below);
	str_putc(out, '\n');
}

static const struct field_info {
	const char *title;
	unsigned width;
} field_infos[TEXT_FIELDS] = {
	[TEXT_FIELD_SELF] = {"self", 8},
	[TEXT_FIELD_TOTAL] = {"total", 8},
	[TEXT_FIELD_SAMPLES] = {"samples", 9},
	[TEXT_FIELD_VALUE] = {"value", 9},
	[TEXT_FIELD_TOTAL_SAMPLES] = {"total-samples", 13},
	[TEXT_FIELD_TOTAL_VALUE] = {"total-value", 11},
};

static const enum text_field usual_fields[] = {
	TEXT_FIELD_SELF, TEXT_FIELD_TOTAL, TEXT_FIELD_SAMPLES};

static const enum text_field *fields_of(const struct text_options *options, size_t *count)
{
	*count = options->nr_fields ? options->nr_fields
				    : sizeof(usual_fields) / sizeof(*usual_fields);
	return options->nr_fields ? options->fields : usual_fields;
}

static void text_put_field(const struct profile *profile, const struct table *table,
	const struct table_row *row, enum text_field field, const struct text_options *options,
	struct str *out)
{
	switch (field) {
	case TEXT_FIELD_SELF:
		str_printf(out, "%.2f%%", profile_percent(row->self, table->total));
		break;
	case TEXT_FIELD_TOTAL:
		str_printf(out, "%.2f%%", profile_percent(row->total, table->total));
		break;
	case TEXT_FIELD_SAMPLES:
		str_printf(out, "%llu", (unsigned long long)row->self_samples);
		break;
	case TEXT_FIELD_VALUE:
		event_value_put(&profile->events.data[options->event], row->self, true, out);
		break;
	case TEXT_FIELD_TOTAL_SAMPLES:
		str_printf(out, "%llu", (unsigned long long)row->total_samples);
		break;
	case TEXT_FIELD_TOTAL_VALUE:
		event_value_put(&profile->events.data[options->event], row->total, true, out);
		break;
	case TEXT_FIELDS:
		break;
	}
}

void text_put_fields(const struct profile *profile, const struct table *table,
	const struct table_row *row, const struct text_options *options, struct str *out)
{
	size_t count;
	const enum text_field *fields = fields_of(options, &count);
	CLEANUP(str_deinit) struct str cell = {0};
	for (size_t i = 0; i < count; i++) {
		const struct field_info *info = &field_infos[fields[i]];
		size_t width = info->width - (!row && !i);
		str_truncate(&cell, 0);
		if (row)
			text_put_field(profile, table, row, fields[i], options, &cell);
		else
			str_puts(&cell, info->title);
		if (i || !row)
			str_putc(out, i ? ' ' : '#');
		str_pad(out, ' ', cell.len < width ? width - cell.len : 0);
		str_write(out, cell.data, cell.len);
	}
}
