#include "report/write/text.h"

#include <stdlib.h>
#include <string.h>

#include "report/analyse/focus.h"
#include "report/analyse/hidden_frames.h"
#include "report/analyse/scope.h"
#include "report/analyse/stack_counts.h"
#include "report/model/event_value.h"
#include "report/model/label_sets.h"
#include "report/name/chain_text.h"
#include "report/name/distinct_names.h"
#include "report/name/namesakes.h"
#include "report/name/script_frames.h"
#include "report/write/cause_words.h"
#include "report/write/exact_sum.h"
#include "report/write/health.h"

static uint64_t count_below(const struct profile *profile)
{
	uint64_t below = 0;
	for (size_t i = 0; i < profile_nr_sources(profile); i++)
		below += profile_source_count(profile, i, LAYOUT_EVENTS_BELOW);
	return below;
}

static void put_none(
	const struct profile *profile, const struct text_options *options, struct str *out)
{
	uint64_t below = options->is_empty ? count_below(profile) : 0;
	const char *event = profile->events.data[options->event].name;
	bool is_in_use =
		options->is_event_empty && !options->is_empty && strncmp(event, "inuse_", 6) == 0;
	bool is_unknown = is_in_use && profile->counters[LAYOUT_COUNTER_HEAP_UNSEEN_MS];
	str_puts(out, options->is_empty ? "# the recording has no samples" : "# nothing matches");
	if (is_unknown)
		str_puts(out, ": what stayed in use is not known");
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

static void put_foreign(struct str *out, const char *text)
{
	str_put_escaped(out, text, strlen(text));
}

static void text_put_event(const struct profile_event *event, struct str *out)
{
	put_foreign(out, event->name);
	if (event->frequency_hz)
		str_printf(out, " %u Hz", event->frequency_hz);
	else if (event->period && strcmp(event->unit, LAYOUT_UNIT_HITS) != 0)
		str_printf(out, " every %llu %s", (unsigned long long)event->period, event->unit);
}

/* Of a sum its parts that have samples behind its name; of samples that do not say their event any
 * that it can be. */
static void text_put_shown_event(
	const struct profile *profile, const struct text_head *head, struct str *out)
{
	uint32_t shown = head->event;
	const struct profile_event *event = &profile->events.data[shown];
	if (shown)
		text_put_event(event, out);
	const char *joint = shown ? " = " : "";
	for (size_t i = 1; (!shown || event->is_sum) && i < profile->events.len; i++) {
		const struct profile_event *part = &profile->events.data[i];
		bool is_part = shown ? part->part_of == shown &&
					       event_choices_samples(head->choices, (uint32_t)i)
				     : !part->is_sum && !part->is_second;
		if (!is_part || part->first)
			continue;
		str_puts(out, joint);
		text_put_event(part, out);
		joint = " + ";
	}
}

static void text_put_other_events(
	const struct profile *profile, const struct text_head *head, struct str *out)
{
	size_t count = 0;
	vec_each(&head->choices->list, choice) {
		const struct profile_event *event = &profile->events.data[choice->event];
		if (choice->event == head->event)
			continue;
		str_puts(out, count++ ? ", " : "# also recorded: ");
		put_foreign(out, main_event_name_of(profile, choice->event));
		str_putc(out, ' ');
		/* context-switches count context-switches */
		event_value_put(event, choice->value,
			strcmp(event->unit, main_event_name_of(profile, choice->event)) == 0, out);
	}
	if (count)
		str_puts(out, " (--event NAME shows another)\n");
}

/* Of waits and allocations: of a timer's samples their number says it, and of what is counted the
 * estimate that samples are may be far off what info has exactly. */
static bool has_sum(const struct profile_event *event)
{
	return (event->source || event->is_sum) &&
	       (strcmp(event->unit, "ns") == 0 || strcmp(event->unit, "bytes") == 0 ||
		       strcmp(event->unit, "objects") == 0);
}

static void text_put_sum(
	const struct profile *profile, const struct text_head *head, struct str *out)
{
	const struct profile_event *event = &profile->events.data[head->event];
	vec_each(&head->choices->list, choice) {
		if (!head->event || choice->event != head->event || !has_sum(event))
			continue;
		str_puts(out, " (");
		event_value_put(event, choice->value, false, out);
		str_puts(out, " in all)");
	}
}

static void text_put_whole(
	const struct profile *profile, const struct profile_event *event, struct str *out)
{
	uint64_t value = 0;
	if (!has_sum(event)) {
		str_printf(out, "%zu", profile->samples.len);
		return;
	}
	vec_each(&profile->samples, sample)
		value += profile_sample_value(profile, sample);
	event_value_put(event, value, true, out);
}

/* Filters leave out samples or only rows: of how many samples percents are then. */
static void text_put_filtered(
	const struct profile *profile, const struct text_head *head, struct str *out)
{
	unsigned long long left = head->samples, all = head->samples_before_filter;
	unsigned long long whole = profile->samples.len;
	str_printf(out, ", %llu of %llu %s", left, all, str_plural(all, "sample", "samples"));
	if (!head->has_percent)
		return;
	str_printf(out, " (percent of %s", whole == left ? "these " : whole == all ? "all " : "");
	text_put_whole(profile, &profile->events.data[head->event], out);
	str_putc(out, ')');
}

void text_put_head(const struct profile *profile, const struct text_head *head, struct str *out)
{
	uint64_t samples = head->samples;
	str_puts(out, "# ");
	put_foreign(out, profile_title(profile));
	if (profile->events.len > 1) {
		str_puts(out, ", ");
		text_put_shown_event(profile, head, out);
	}
	if (samples == head->samples_before_filter) {
		str_printf(out, ", %llu %s", (unsigned long long)samples,
			str_plural(samples, "sample", "samples"));
		text_put_sum(profile, head, out);
	} else {
		text_put_filtered(profile, head, out);
	}
	double duration_s = profile_duration_s(profile);
	if (duration_s > 0 || !profile_meta(profile, LAYOUT_META_IMPORT)) /* which has no times */
		str_printf(out, ", %.1f s", duration_s);
	struct stack_counts stacks = stack_counts_of(profile);
	if (stacks.by_guesses)
		str_printf(out, ", %.1f%% of stacks reached by guesses",
			profile_percent(stacks.by_guesses, profile->samples.len));
	if (stacks.guessed_inlined)
		str_printf(out, ", %.1f%% of leaves guessed among inlined functions",
			profile_percent(stacks.guessed_inlined, profile->samples.len));
	if (stacks.truncated)
		str_printf(out, ", %.1f%% of stacks truncated",
			profile_percent(stacks.truncated, profile->samples.len));
	uint64_t lost = profile_lost(profile);
	if (lost)
		str_printf(out, ", %llu lost (%.1f%%)", (unsigned long long)lost,
			profile_percent(lost, lost + head->samples_of_all_events));
	str_putc(out, '\n');
	if (!head->is_filtered)
		exact_sum_put(profile, head->event, out);
	text_put_other_events(profile, head, out);
	str_puts(out, "#\n");
}

/* ---- the table ---- */

static void text_put_name(
	const struct profile_function *function, uint8_t nr_parts, struct str *out)
{
	CLEANUP(str_deinit) struct str name = {0};
	namesakes_put_name(function, nr_parts, &name);
	str_put_escaped(out, str_text(&name), name.len);
}

/* ---- names for as much room as there is ---- */

/* Of a terminal; what is wide there counts too little, and is cut by that. */
static size_t text_columns_of(const char *text, size_t len)
{
	size_t columns = 0;
	for (size_t i = 0; i < len; i++)
		columns += (text[i] & 0xc0) != 0x80;
	return columns;
}

static size_t bytes_of_columns(const char *text, size_t columns)
{
	size_t at = 0;
	while (text[at] && (columns || (text[at] & 0xc0) == 0x80))
		columns -= (text[at++] & 0xc0) != 0x80;
	return at;
}

void text_cut_lines(struct str *text, size_t columns)
{
	struct str cut = {0};
	const char *line = str_text(text);
	for (const char *end; *line; line = end) {
		end = strchr(line, '\n');
		end = end ? end + 1 : line + strlen(line);
		size_t len = (size_t)(end - line),
		       all = text_columns_of(line, len) - (end[-1] == '\n');
		if (line[0] == '#' || all <= columns) {
			str_write(&cut, line, len);
			continue;
		}
		str_write(&cut, line, bytes_of_columns(line, columns > 2 ? columns - 2 : 0));
		str_puts(&cut, "..\n");
	}
	str_deinit(text);
	*text = cut;
}

static size_t escaped_columns(const void *context, const char *text)
{
	(void)context;
	CLEANUP(str_deinit) struct str safe = {0};
	str_put_escaped(&safe, text, strlen(text));
	return text_columns_of(safe.data, safe.len);
}

/* Its middle is left out where there is no room: both ends of a name tell something. */
static void text_put_elided(void *context, const char *text, size_t columns)
{
	struct str *out = context;
	CLEANUP(str_deinit) struct str safe = {0};
	str_put_escaped(&safe, text, strlen(text));
	size_t all = text_columns_of(safe.data, safe.len);
	if (all <= columns) {
		str_puts(out, str_text(&safe));
		return;
	}
	size_t tail = (columns - 2) / 2;
	str_write(out, safe.data, bytes_of_columns(safe.data, columns - 2 - tail));
	str_puts(out, "..");
	str_puts(out, safe.data + bytes_of_columns(safe.data, all - tail));
}

/* Names that are seen at once: found in a first pass, used in a second one. */
struct text_names {
	struct distinct_names names;
	bool is_found;
};

/* `nr_parts`: of its file's path, behind the name; `columns` 0: the whole name. */
static void text_put_fitting(struct text_names *names, const struct profile_function *function,
	uint8_t nr_parts, bool has_object, size_t columns, struct str *out)
{
	enum {
		LEAST = 8, /* less says nothing */
	};
	if (columns) {
		CLEANUP(str_deinit) struct str place = {0};
		namesakes_put_place(function, nr_parts, &place);
		size_t taken = escaped_columns(NULL, str_text(&place));
		const struct name_room room = {columns < LEAST + taken ? LEAST : columns - taken,
			escaped_columns, text_put_elided, out};
		if (!names->is_found)
			distinct_names_add_fitting(&names->names, function, &room);
		distinct_names_put_fitting(names->is_found ? &names->names : NULL, function, &room);
		str_put_escaped(out, str_text(&place), place.len);
	} else if (has_object && function->has_bounds) {
		str_puts(out, profile_function_own_name(function));
	} else {
		text_put_name(function, nr_parts, out);
	}
}

/* What rows of a table are written from. */
struct text_rows {
	const struct profile *profile;
	const struct table *table;
	const struct table_options *table_options;
	const struct text_options *options;
	size_t widths[TABLE_MAX_COLUMNS];
	struct text_names names;
};

static void text_put_symbol(struct text_rows *rows, const struct table_row *row,
	const struct profile_function *function, size_t columns, struct str *out)
{
	const struct table *table = rows->table;
	text_put_fitting(&rows->names, function,
		table->nr_parts ? table->nr_parts[row->function] : 0, table->has_object, columns,
		out);
}

/* Of an ID as much as --container wants, and as other tools show. */
static void text_put_container(const struct profile_process *process, struct str *out)
{
	enum {
		SHORT_ID = 12
	};
	const char *text = scope_container(process);
	bool is_id = text == process->container;
	str_put_escaped(out, text, is_id ? strnlen(text, SHORT_ID) : strlen(text));
}

/* Of all labels where the column has no key. */
static void text_put_labels(
	const struct profile *profile, uint32_t set, const char *key, struct str *out)
{
	CLEANUP(str_deinit) struct str text = {0};
	uint32_t label = key ? label_sets_find(profile, set, key) : 0;
	if (!key)
		label_sets_put(profile, set, &text);
	else if (label)
		label_put_value(profile, label, &text);
	if (key ? label : set)
		str_put_escaped(out, str_text(&text), text.len);
	else
		str_putc(out, '-');
}

/* What stands in the rows: a program that runs in no container has a control group. */
static const char *title_of_containers(const struct text_rows *rows)
{
	bool has_container = false, has_group = false;
	vec_each(&rows->table->rows, row) {
		uint32_t index = rows->profile->threads.data[row->thread].process;
		const struct profile_process *process = &rows->profile->processes.data[index];
		bool is_group = scope_container(process) == process->cgroup;
		has_container |= !is_group;
		has_group |= is_group && process->cgroup[0];
	}
	return !has_group ? "container" : has_container ? "container/cgroup" : "cgroup";
}

static bool has_column_of_cgroups(const struct table_options *options)
{
	for (size_t c = 0; c < options->nr_columns; c++)
		if (options->columns[c] == COLUMN_CGROUP)
			return true;
	return false;
}

static const char *title_of(const struct text_rows *rows, size_t column)
{
	const struct table_options *options = rows->table_options;
	const char *key = options->label_keys[column];
	if (options->columns[column] == COLUMN_CONTAINER && !has_column_of_cgroups(options))
		return title_of_containers(rows);
	return key ? key : column_info(options->columns[column])->title;
}

/* `columns`: how many there are for a name; 0: as many as it takes. */
static void text_put_cell(struct text_rows *rows, const struct table_row *row, size_t column,
	size_t columns, struct str *out)
{
	const struct profile *profile = rows->profile;
	const struct table_options *options = rows->table_options;
	const struct profile_function *function = &profile->functions.data[row->function];
	const struct profile_object *object = &profile->objects.data[function->object];
	const struct profile_thread *thread = &profile->threads.data[row->thread];
	const struct profile_process *process = &profile->processes.data[thread->process];
	enum {
		MARK = 4 /* "[k] " */
	};
	switch (options->columns[column]) {
	case COLUMN_SYM:
		str_puts(out, profile_is_kernel(profile, function->object) ? "[k] " : "[.] ");
		text_put_symbol(rows, row, function, columns > MARK ? columns - MARK : 0, out);
		break;
	case COLUMN_FILE:
		put_foreign(out, object->name[0] ? object->name : "-");
		break;
	case COLUMN_SOURCE:
		put_foreign(out, function->file ? function->file : "-");
		break;
	case COLUMN_COMM:
		put_foreign(out, thread->comm);
		break;
	case COLUMN_PID:
		str_printf(out, "%u", thread->pid);
		break;
	case COLUMN_TID:
		str_printf(out, "%u", thread->tid);
		break;
	case COLUMN_CPU:
		str_printf(out, "%u", row->cpu);
		break;
	case COLUMN_CONTAINER:
		text_put_container(process, out);
		break;
	case COLUMN_CGROUP:
		put_foreign(out, process->cgroup[0] ? process->cgroup : "-");
		break;
	case COLUMN_UNIT:
		put_foreign(out, process->unit[0] ? process->unit : "-");
		break;
	case COLUMN_POD:
		put_foreign(out, scope_pod(process)[0] ? scope_pod(process) : "-");
		break;
	case COLUMN_ORIGIN:
		put_foreign(out, profile_thread_origin(profile, row->thread));
		break;
	case COLUMN_LABEL:
		text_put_labels(profile, row->labels, options->label_keys[column], out);
		break;
	case COLUMN_COUNT:
		break;
	}
}

/* How wide each column must be; the last one is never padded, so symbols may be long. */
static void text_measure(struct text_rows *rows, size_t nr_rows)
{
	enum {
		WIDEST = 64
	};
	const struct table_options *options = rows->table_options;
	size_t *widths = rows->widths;
	CLEANUP(str_deinit) struct str cell = {0};
	for (size_t c = 0; c < options->nr_columns; c++) {
		widths[c] = strlen(title_of(rows, c));
		for (size_t i = 0; i < nr_rows; i++) {
			str_truncate(&cell, 0);
			text_put_cell(rows, &rows->table->rows.data[i], c, 0, &cell);
			if (cell.len > widths[c])
				widths[c] = cell.len > WIDEST ? WIDEST : cell.len;
		}
	}
}

enum {
	GAP = 2, /* between columns */
};

static void put_padded(struct str *out, const char *text, size_t len, size_t width, bool is_number)
{
	size_t pad = len < width ? width - len : 0;
	str_puts(out, "  ");
	if (is_number)
		str_pad(out, ' ', pad);
	str_write(out, text, len);
	if (!is_number)
		str_pad(out, ' ', pad);
}

/* ---- numbers in front of the columns ---- */

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

/* Of a row, or of NULL their titles, behind the # of a comment. */
static void text_put_fields(const struct profile *profile, const struct table *table,
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

/* ---- rows ---- */

static void text_put_row(struct text_rows *rows, const struct table_row *row, struct str *out)
{
	CLEANUP(str_deinit) struct str cell = {0};
	const struct table_options *options = rows->table_options;
	unsigned columns = rows->options->columns;
	size_t line = out->len;
	text_put_fields(rows->profile, rows->table, row, rows->options, out);
	for (size_t c = 0; c < options->nr_columns; c++) {
		str_truncate(&cell, 0);
		bool is_last = c + 1 == options->nr_columns;
		size_t used = out->len - line + GAP;
		text_put_cell(rows, row, c, is_last && columns > used ? columns - used : 0, &cell);
		size_t width = is_last ? 0 : rows->widths[c];
		put_padded(out, str_text(&cell), cell.len, width,
			column_info(options->columns[c])->is_number);
	}
	str_putc(out, '\n');
}

static bool is_below_limit(const struct table *table, const struct table_row *row, bool by_total,
	const struct text_options *options)
{
	uint64_t value = by_total ? row->total : row->self;
	if (value == 0)
		return !by_total && options->percent_limit > 0;
	return profile_percent(value, table->total) < options->percent_limit;
}

/* Rows are in order. A flat profile has many below any limit that fits others. */
static size_t count_shown(
	const struct table *table, bool by_total, const struct text_options *options)
{
	enum {
		MOST_PERCENT = 90,
		ROWS_MAX = 60, /* a screen or two */
	};
	size_t shown = table->rows.len, most = 0;
	while (shown && is_below_limit(table, &table->rows.data[shown - 1], by_total, options))
		shown--;
	uint64_t self = 0;
	while (options->shows_most && !by_total && most < table->rows.len && most < ROWS_MAX &&
		table->rows.data[most].self && profile_percent(self, table->total) < MOST_PERCENT)
		self += table->rows.data[most++].self;
	return shown > most ? shown : most;
}

/* Many small ones can be most of it. Only self can be added up. */
static void put_hidden(const struct table *table, size_t shown, bool by_total,
	const struct text_options *options, struct str *out)
{
	const struct table_row *rows = table->rows.data;
	size_t hidden = table->rows.len - shown;
	bool is_limit = is_below_limit(table, &rows[shown], by_total, options) &&
			(!shown || !is_below_limit(table, &rows[shown - 1], by_total, options));
	str_printf(out, "# %zu more %s", hidden, str_plural(hidden, "row", "rows"));
	if (is_limit)
		str_printf(out, " below %.2g%%", options->percent_limit);
	uint64_t self = 0;
	for (size_t i = shown; i < table->rows.len; i++)
		self += rows[i].self;
	if (!by_total)
		str_printf(out, ", together %.2f%% self", profile_percent(self, table->total));
	str_puts(out, is_limit ? "\n" : " (--percent-limit 0 shows them)\n");
}

static void text_put_rows(struct text_rows *rows, size_t shown, struct str *out)
{
	for (size_t i = 0; i < shown; i++)
		text_put_row(rows, &rows->table->rows.data[i], out);
}

static bool are_rows_functions(const struct table_options *options)
{
	for (size_t c = 0; c < options->nr_columns; c++)
		if (column_info(options->columns[c])->is_of_frame)
			return true;
	return false;
}

/* Samples with functions that are asked for have others, too, which are no rows. */
static void keep_wanted(const struct profile *profile, struct table *table,
	const struct table_options *table_options, const struct filter *filter)
{
	if (!are_rows_functions(table_options))
		return;
	CLEANUP_FREE bool *is_wanted = filter_functions(profile, filter);
	size_t kept = 0;
	vec_each(&table->rows, row)
		if (is_wanted[row->function])
			table->rows.data[kept++] = *row;
	table->rows.len = kept;
}

/* Once without a word, to see which names come out alike. */
static void text_find_names(struct text_rows *rows, size_t shown)
{
	CLEANUP(str_deinit) struct str unused = {0};
	if (rows->options->columns)
		text_put_rows(rows, shown, &unused);
	distinct_names_find(&rows->names.names);
	rows->names.is_found = true;
}

/* A function that is asked for, and does nothing but call others, is a row by what these take. */
static bool is_limit_of_total(const struct table *table, const struct table_options *table_options,
	const struct text_options *options)
{
	const struct filter *filter = options->filter;
	if (table_options->by_total)
		return true;
	if (!are_rows_functions(table_options) || (!filter->symbols.len && !filter->dsos.len))
		return false;
	return table->rows.len &&
	       (filter->symbols.len || is_below_limit(table, table->rows.data, false, options));
}

/* Those that reach the limit by their total come first, all in the order of their self. */
static void put_ahead_by_total(struct table *table, const struct text_options *options)
{
	size_t count = table->rows.len, ahead = 0, behind = 0;
	CLEANUP_FREE struct table_row *below = mem_zalloc_array(count, sizeof(*below));
	vec_each(&table->rows, row)
		if (is_below_limit(table, row, true, options))
			below[behind++] = *row;
		else
			table->rows.data[ahead++] = *row;
	memcpy(table->rows.data + ahead, below, behind * sizeof(*below));
}

static bool has_symbol_column(const struct table_options *options)
{
	for (size_t c = 0; c < options->nr_columns; c++)
		if (options->columns[c] == COLUMN_SYM)
			return true;
	return false;
}

/* Waits, allocations and hits of probes end in the same few functions, which tell nothing. */
static bool ends_in_few_functions(const struct profile *profile, const struct profile_event *event)
{
	bool is_counted = profile_event_is_counted(profile, event);
	return event->wait || event->is_sum || (is_counted && has_sum(event)) ||
	       strcmp(event->unit, LAYOUT_UNIT_HITS) == 0;
}

static double percent_of_first_rows(const struct table *table, size_t count)
{
	uint64_t self = 0;
	for (size_t i = 0; i < count && i < table->rows.len; i++)
		self += table->rows.data[i].self;
	return profile_percent(self, table->total);
}

static void put_hint_at_callers(const struct profile *profile, const struct table *table,
	const struct table_options *table_options, const struct text_options *options,
	struct str *out)
{
	enum {
		FEW = 3,
		MOST_PERCENT = 50,
	};
	const struct profile_event *event = &profile->events.data[options->event];
	if (!has_symbol_column(table_options) || !ends_in_few_functions(profile, event) ||
		percent_of_first_rows(table, FEW) < MOST_PERCENT)
		return;
	str_puts(out, "# their callers: -g; functions by their total: --children");
	str_puts(out, event->wait || event->is_sum ? "; one by one: --waits\n" : "\n");
}

void text_put_table(const struct profile *profile, struct table *table,
	const struct table_options *table_options, const struct text_options *options,
	struct str *out)
{
	keep_wanted(profile, table, table_options, options->filter);
	bool by_total = is_limit_of_total(table, table_options, options);
	if (by_total && !table_options->by_total)
		put_ahead_by_total(table, options);
	size_t shown = count_shown(table, by_total, options);
	struct text_rows rows = {.profile = profile,
		.table = table,
		.table_options = table_options,
		.options = options};
	text_measure(&rows, shown);
	text_find_names(&rows, shown);
	text_put_fields(profile, table, NULL, options, out);
	for (size_t c = 0; c < table_options->nr_columns; c++) {
		const struct column_info *info = column_info(table_options->columns[c]);
		size_t width = c + 1 < table_options->nr_columns ? rows.widths[c] : 0;
		const char *title = title_of(&rows, c);
		put_padded(out, title, strlen(title), width, info->is_number);
	}
	str_putc(out, '\n');
	text_put_rows(&rows, shown, out);
	distinct_names_deinit(&rows.names.names);
	if (!table->rows.len)
		put_none(profile, options, out);
	else if (shown < table->rows.len)
		put_hidden(table, shown, by_total, options, out);
	if (table->rows.len && !by_total)
		put_hint_at_callers(profile, table, table_options, options, out);
}

/* ---- the call tree ---- */

struct text_tree {
	const struct profile *profile;
	const struct text_options *options;
	struct focus *focus;
	uint8_t *nr_parts;
	VEC(uint32_t) indents; /* by depth, of what was printed last there */
	VEC(uint32_t) chain;   /* nodes that share a line */
	struct text_names *names;
};

static void text_put_branch_name(
	const struct text_tree *tree, uint32_t node, size_t columns, struct str *out)
{
	uint32_t function = tree->focus->nodes.data[node].function;
	text_put_fitting(tree->names, &tree->profile->functions.data[function],
		tree->nr_parts[function], false, columns, out);
}

static void text_put_chain_name(const void *context, size_t index, size_t columns, struct str *out)
{
	const struct text_tree *tree = context;
	text_put_branch_name(tree, tree->chain.data[index], columns, out);
}

static size_t text_chain_columns(const void *context, const char *text, size_t len)
{
	(void)context;
	return text_columns_of(text, len);
}

static void text_put_chain(const struct text_tree *tree, size_t columns, struct str *out)
{
	struct chain_text chain = {text_put_chain_name, text_chain_columns, tree};
	chain_text_put(&chain, tree->chain.len, columns, out);
}

/* Of a chain, or of NULL their titles. */
static void put_tree_fields(const struct text_tree *tree, const struct focus_node *first,
	uint64_t self, uint64_t whole, struct str *out)
{
	struct text_options options = *tree->options;
	const struct table table = {.total = whole};
	struct table_row row = {.self = self};
	if (!options.nr_fields) {
		options.fields[options.nr_fields++] = TEXT_FIELD_TOTAL;
		options.fields[options.nr_fields++] = TEXT_FIELD_SELF;
	}
	if (first) {
		row.total = first->total;
		row.total_samples = first->samples;
	}
	text_put_fields(tree->profile, &table, first ? &row : NULL, &options, out);
	str_puts(out, "  ");
}

static void text_put_branch(const struct text_tree *tree, uint64_t whole, struct str *out)
{
	size_t begin = out->len;
	const struct focus_node *nodes = tree->focus->nodes.data;
	const struct focus_node *first = &nodes[tree->chain.data[0]];
	put_tree_fields(tree, first, nodes[tree->chain.data[tree->chain.len - 1]].self, whole, out);
	for (uint32_t i = 1; i < tree->indents.data[first->depth]; i++)
		str_puts(out, "| ");
	str_puts(out, first->is_kernel ? "[k] " : "");
	size_t used = out->len - begin;
	if (tree->options->columns)
		text_put_chain(tree,
			tree->options->columns > used ? tree->options->columns - used : 1, out);
	else
		text_put_branch_name(tree, tree->chain.data[0], 0, out);
	str_putc(out, '\n');
}

static uint32_t only_callee(const struct text_tree *tree, uint32_t at)
{
	uint32_t max_depth = tree->options->max_depth;
	bool is_last = max_depth && tree->focus->nodes.data[at].depth >= max_depth;
	return is_last ? 0 : focus_only_child(tree->focus, at);
}

/* Sets the chain that begins with a node, and how far it is indented. Returns its end. */
static uint32_t text_find_chain(struct text_tree *tree, uint32_t at)
{
	tree->chain.len = 0;
	uint32_t depth = tree->focus->nodes.data[at].depth;
	uint32_t indent = depth > 1 ? tree->indents.data[depth - 1] + 1 : 1;
	for (uint32_t end = at;; at = end) {
		vec_push(&tree->chain, at);
		depth = tree->focus->nodes.data[at].depth;
		while (tree->indents.len <= depth)
			vec_push(&tree->indents, 0);
		tree->indents.data[depth] = indent;
		end = tree->options->columns ? only_callee(tree, at) : 0;
		if (!end)
			return at;
	}
}

/* The next one in the order of printing: down, aside, or aside of what is above. 0: none. */
static uint32_t next_branch(struct focus *focus, uint32_t at, bool goes_down)
{
	if (goes_down) {
		focus_expand(focus, at);
		if (focus->nodes.data[at].first_child)
			return focus->nodes.data[at].first_child;
	}
	while (at && !focus->nodes.data[at].next_sibling)
		at = focus->nodes.data[at].parent;
	return focus->nodes.data[at].next_sibling;
}

/* What there is no room or no reason for. */
struct text_left_out {
	size_t hidden, left_out; /* below the limit, behind the last byte */
};

static struct text_left_out text_put_lines(struct text_tree *tree, uint64_t whole, struct str *out)
{
	const struct text_options *options = tree->options;
	struct focus *focus = tree->focus;
	struct text_left_out rest = {0};
	size_t begin = out->len;
	bool is_shown = true;
	for (uint32_t at = 0; (at = next_branch(focus, at, is_shown));) {
		is_shown = profile_percent(focus->nodes.data[at].total, whole) >=
			   options->percent_limit;
		rest.hidden += !is_shown;
		if (!is_shown)
			continue;
		at = text_find_chain(tree, at);
		if (options->max_bytes && out->len - begin >= options->max_bytes)
			rest.left_out++;
		else
			text_put_branch(tree, whole, out);
		is_shown = !options->max_depth || focus->nodes.data[at].depth < options->max_depth;
	}
	return rest;
}

static void put_branches(const struct profile *profile, struct focus *focus,
	const struct text_options *options, struct str *out)
{
	uint64_t whole = focus->nodes.data[0].total;
	struct text_names names = {0};
	struct text_tree tree = {
		.profile = profile, .options = options, .focus = focus, .names = &names};
	tree.nr_parts = namesakes_find(profile->functions.data, profile->functions.len, NULL);
	put_tree_fields(&tree, NULL, 0, whole, out);
	str_puts(out, "calls\n");
	if (!whole)
		put_none(profile, options, out);
	if (options->columns) { /* once without a word, to see which names come out alike */
		CLEANUP(str_deinit) struct str unused = {0};
		text_put_lines(&tree, whole, &unused);
	}
	distinct_names_find(&names.names);
	names.is_found = true;
	struct text_left_out rest = text_put_lines(&tree, whole, out);
	mem_free(tree.nr_parts);
	vec_deinit(&tree.indents);
	vec_deinit(&tree.chain);
	distinct_names_deinit(&names.names);
	if (rest.left_out)
		str_printf(out,
			"# %zu more %s: the tree is longer than %zu MiB; --max-stack or a greater "
			"--percent-limit make it shorter, --percent-limit 0.5 shows all of it\n",
			rest.left_out, str_plural(rest.left_out, "branch", "branches"),
			options->max_bytes >> 20);
	if (rest.hidden)
		str_printf(out, "# %zu %s below %.2g%%\n", rest.hidden,
			str_plural(rest.hidden, "branch", "branches"), options->percent_limit);
}

void text_put_tree(const struct profile *profile, bool is_inverted,
	const struct text_options *options, struct str *out)
{
	struct slice slice;
	slice_init_all(&slice, profile);
	struct tree tree;
	CLEANUP_FREE uint32_t *groups =
		namesakes_group(profile->functions.data, profile->functions.len);
	tree_init(&tree, profile, &(struct tree_options){.groups = groups});
	CLEANUP_FREE struct tree_weight *weights = tree_weigh(&tree, &slice);
	struct focus focus;
	focus_init(&focus, &tree, weights, profile->functions.data,
		is_inverted ? FOCUS_CALLERS : FOCUS_CALLEES);
	put_branches(profile, &focus, options, out);
	focus_deinit(&focus);
	tree_deinit(&tree);
	slice_deinit(&slice);
}

void text_put_script_hint(
	const struct profile *profile, const struct filter *filter, struct str *out)
{
	if (filter->hidden & HIDDEN_NATIVE)
		return;
	struct script_frames frames;
	script_frames_count(profile, &frames);
	const struct script_language *most = NULL;
	vec_each(&frames.languages, language)
		if (language->samples > (most ? most->samples : 0))
			most = language;
	if (most) {
		str_printf(out, "# %.0f%% of samples are in functions of ",
			profile_percent(most->samples, profile->samples.len));
		put_foreign(out, most->name);
		str_puts(out, ": --no-native shows only these of their stacks\n");
	}
	script_frames_deinit(&frames);
}

void text_put_losses(const struct profile *profile, uint32_t event, struct str *out)
{
	CLEANUP(str_deinit) struct str text = {0};
	if (health_put_sideband_losses(profile, &text))
		str_printf(out, "# %s\n", str_text(&text));
	for (enum layout_counter i = LAYOUT_COUNTER_WAITS_WITHOUT_SCRIPTS;
		i <= LAYOUT_COUNTER_PROGRAMS_SKIPPED; i++)
		if (profile->counters[i])
			str_printf(out, "# %llu %s\n", (unsigned long long)profile->counters[i],
				cause_of_counter(i));
	if (profile->counters[LAYOUT_COUNTER_HEAP_UNSEEN_MS])
		str_printf(out, "# %llu %s\n",
			(unsigned long long)profile->counters[LAYOUT_COUNTER_HEAP_UNSEEN_MS],
			cause_of_counter(LAYOUT_COUNTER_HEAP_UNSEEN_MS));
	bool is_in_use = strncmp(profile->events.data[event].name, "inuse_", 6) == 0;
	enum layout_end_reason reason = profile->end.reason;
	if (is_in_use && (reason == LAYOUT_END_COMMAND || reason == LAYOUT_END_TARGET))
		str_puts(out,
			"# what was freed as the program ended is not among these: record -p, for "
			"a --duration, shows what is in use meanwhile\n");
	if (is_in_use || strncmp(profile->events.data[event].name, "alloc_", 6) == 0)
		health_put_own_heaps(profile, out);
	if (profile->events.data[event].wait || profile->events.data[event].is_sum)
		health_put_own_threads(profile, out);
}
