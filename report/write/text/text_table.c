#include "report/write/text/text.h"

#include <string.h>

#include "report/analyse/scope.h"
#include "report/model/label_sets.h"
#include "report/write/text/text_fields.h"
#include "report/write/text/text_names.h"

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
		str_puts_escaped(out, str_text(&text));
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
		str_puts_escaped(out, object->name[0] ? object->name : "-");
		break;
	case COLUMN_SOURCE:
		str_puts_escaped(out, function->file ? function->file : "-");
		break;
	case COLUMN_COMM:
		str_puts_escaped(out, thread->comm);
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
		str_puts_escaped(out, process->cgroup[0] ? process->cgroup : "-");
		break;
	case COLUMN_UNIT:
		str_puts_escaped(out, process->unit[0] ? process->unit : "-");
		break;
	case COLUMN_POD:
		str_puts_escaped(out, scope_pod(process)[0] ? scope_pod(process) : "-");
		break;
	case COLUMN_ORIGIN:
		str_puts_escaped(out, profile_thread_origin(profile, row->thread));
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
	return event->wait || event->is_sum || (is_counted && text_has_sum(event)) ||
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
		text_put_none(profile, options, out);
	else if (shown < table->rows.len)
		put_hidden(table, shown, by_total, options, out);
	if (table->rows.len && !by_total)
		put_hint_at_callers(profile, table, table_options, options, out);
}
