#include "format/import/import_rows.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/base/clock.h"
#include "format/import/import_counts.h"
#include "format/import/import_names.h"
#include "format/import/rows_table.h"

enum {
	MAX_BYTES = 1 << 30, /* of the file: it is read as a whole */
	MAX_EVENTS = 1024,
	SAMPLES_FROM_NS = 1000,  /* the first of them; 0 is no time */
	NO_KERNELS_PID = 1 << 22 /* PID_MAX_LIMIT: from here on a kernel gives none */
};

/* What a row says; what it lacks is "", or 0. Labels and stack are read where they stand. */
struct import_row {
	const char *event, *unit, *host;
	const char *comm, *thread, *cgroup, *container;
	uint32_t pid, tid;
	const struct json_value *stack;
	uint64_t time_ns; /* since 1970; 0: unknown */
	uint64_t samples, value;
	bool has_samples, has_value, is_negative;
	uint32_t nr_labels;
	struct {
		const char *key, *value;
	} labels[LAYOUT_MAX_LABELS];
};

struct rows_event {
	struct import_counts counts;
	const char *name, *unit; /* of `events` below */
};

struct import_rows {
	struct import_output *output;
	struct import_names names;
	struct strtab events; /* "NAME\0UNIT": its place in the other list */
	VEC(struct rows_event) of_events;
	struct strtab hosts;     /* 0: "" */
	bool has_hostless;       /* rows */
	struct strtab processes; /* all that tells them apart; an id less 1 */
	struct strtab threads;   /* that have no number */
	uint64_t first_ns, last_ns;
	uint64_t nr_negative, nr_uncounted, nr_cut_labels;
};

/* ---- values ---- */

/* "" for NULL; numbers as they stand there. NULL: it is a list or an object. */
static const char *text_of_value(const struct json_value *value)
{
	switch (value->kind) {
	case JSON_STRING:
	case JSON_NUMBER:
		return value->text;
	case JSON_TRUE:
		return "true";
	case JSON_FALSE:
		return "false";
	case JSON_NULL:
		return "";
	default:
		return NULL;
	}
}

/* Engines write sums of integers as texts, too, or as numbers with a point. */
static bool read_row_count(const char *text, uint64_t *ret, bool *is_negative)
{
	char *end;
	errno = 0;
	unsigned long long whole = strtoull(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && !errno) {
		*ret = whole;
		return true;
	}
	double number = strtod(text, &end);
	if (!*text || *end || !isfinite(number) || number >= 0x1p64)
		return false;
	*is_negative |= number < 0;
	*ret = number < 0 ? 0 : (uint64_t)(number + 0.5);
	return true;
}

static bool read_row_id(const char *text, uint32_t *ret)
{
	uint64_t number;
	bool is_negative = false;
	if (!read_row_count(text, &number, &is_negative) || is_negative || number > INT32_MAX)
		return false;
	*ret = (uint32_t)number;
	return true;
}

/* "2026-11-26 14:05:00.25", with a "T" in between, alone or with what says that it is UTC. */
static bool read_row_time(const char *text, uint64_t *ret)
{
	static const char *const zones[] = {"", "Z", "+00", "+00:00", "+0000", " UTC"};
	struct tm day = {0};
	double seconds = 0;
	int len = 0, rest = 0;
	bool has_day =
		sscanf(text, "%4d-%2d-%2d%n", &day.tm_year, &day.tm_mon, &day.tm_mday, &len) == 3 &&
		len;
	if (!has_day || day.tm_year < 1970 || day.tm_mon < 1 || day.tm_mon > 12)
		return false;
	text += len;
	if (*text == ' ' || *text == 'T') {
		if (sscanf(text + 1, "%2d:%2d:%lf%n", &day.tm_hour, &day.tm_min, &seconds, &rest) !=
				3 ||
			!rest || !(seconds >= 0 && seconds < 61))
			return false;
		text += 1 + rest;
	}
	day.tm_year -= 1900;
	day.tm_mon--;
	*ret = (uint64_t)timegm(&day) * NS_PER_S + (uint64_t)(seconds * NS_PER_S);
	for (size_t i = 0; i < sizeof(zones) / sizeof(*zones); i++)
		if (strcmp(text, zones[i]) == 0)
			return true;
	return false;
}

/* ---- columns ---- */

static void take_row_label(
	struct import_rows *rows, struct import_row *row, const char *key, const char *value)
{
	const struct {
		const char *key, **member;
	} texts[] = {
		{"comm", &row->comm},
		{"thread", &row->thread},
		{"cgroup", &row->cgroup},
		{"container", &row->container},
	};
	if (!*value || !*key)
		return;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (strcmp(key, texts[i].key) == 0) {
			*texts[i].member = value;
			return;
		}
	if ((strcmp(key, "pid") == 0 && read_row_id(value, &row->pid)) ||
		(strcmp(key, "tid") == 0 && read_row_id(value, &row->tid)))
		return;
	if (row->nr_labels == LAYOUT_MAX_LABELS) {
		rows->nr_cut_labels++;
		return;
	}
	row->labels[row->nr_labels].key = key;
	row->labels[row->nr_labels++].value = value;
}

static struct err *take_row_labels(
	struct import_rows *rows, struct import_row *row, const struct json_value *labels)
{
	if (labels->kind != JSON_OBJECT)
		return err_new(ERR_FORMAT, "its labels are no object");
	for (const struct json_value *it = labels->first; it; it = it->next) {
		const char *text = text_of_value(it);
		if (!text)
			return err_new(ERR_FORMAT, "its label \"%s\" is no text", it->key);
		take_row_label(rows, row, it->key, text);
	}
	return NULL;
}

static struct err *take_row_text(
	struct import_rows *rows, struct import_row *row, const char *column, const char *text)
{
	const struct {
		const char *column, **member;
	} texts[] = {{"event", &row->event}, {"unit", &row->unit}, {"host", &row->host}};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (strcmp(column, texts[i].column) == 0) {
			*texts[i].member = text;
			return NULL;
		}
	bool is_samples = strcmp(column, "samples") == 0, is_value = strcmp(column, "value") == 0;
	if (is_samples || is_value) {
		row->has_samples |= is_samples;
		row->has_value |= is_value;
		return read_row_count(
			       text, is_value ? &row->value : &row->samples, &row->is_negative)
			       ? NULL
			       : err_new(ERR_FORMAT, "\"%s\" is no number of %s", text, column);
	}
	if (strcmp(column, "time") == 0)
		return read_row_time(text, &row->time_ns)
			       ? NULL
			       : err_new(ERR_FORMAT,
					 "\"%s\" is no time of UTC as 2026-11-26 14:05:00", text);
	if (strchr(column, '('))
		return err_new(ERR_FORMAT,
			"the column \"%s\" has no name of its own: is it the samples or the value? "
			"The query says so by AS value",
			column);
	take_row_label(rows, row, column, text);
	return NULL;
}

static struct err *take_column(
	struct import_rows *rows, struct import_row *row, const struct json_value *cell)
{
	const char *text = text_of_value(cell);
	if (strcmp(cell->key, "stack") == 0) {
		row->stack = cell;
		return NULL;
	}
	if (text && !*text)
		return NULL;
	if (strcmp(cell->key, "labels") == 0)
		return take_row_labels(rows, row, cell);
	if (!text)
		return err_new(
			ERR_FORMAT, "the column \"%s\" is neither text nor number", cell->key);
	return take_row_text(rows, row, cell->key, text);
}

static struct err *check_stack(const struct json_value *stack)
{
	if (!stack || stack->kind != JSON_ARRAY)
		return err_new(ERR_FORMAT, "it has no stack, an array of names");
	for (const struct json_value *it = stack->first; it; it = it->next)
		if (it->kind != JSON_STRING)
			return err_new(ERR_FORMAT, "its stack has something else than names");
	return NULL;
}

static struct err *read_row_of_table(
	struct import_rows *rows, const struct json_value *table, struct import_row *ret)
{
	*ret = (struct import_row){.event = "samples",
		.unit = "",
		.host = "",
		.comm = "",
		.thread = "",
		.cgroup = "",
		.container = ""};
	for (const struct json_value *it = table->first; it; it = it->next)
		try(take_column(rows, ret, it));
	try(check_stack(ret->stack));
	if (!ret->has_samples)
		ret->samples = 1;
	if (!ret->has_value)
		ret->value = ret->samples;
	if (!*ret->unit)
		ret->unit = ret->has_value ? "count" : "samples";
	return NULL;
}

/* ---- the first time: what there is ---- */

static uint32_t event_of_row(struct import_rows *rows, const struct import_row *row)
{
	CLEANUP(str_deinit) struct str key = {0};
	str_write(&key, row->event, strlen(row->event) + 1);
	str_puts(&key, row->unit);
	uint32_t id = strtab_intern(&rows->events, key.data, key.len);
	if (id == rows->of_events.len) {
		const char *name = strtab_get(&rows->events, id);
		vec_push(&rows->of_events,
			(struct rows_event){.name = name, .unit = name + strlen(name) + 1});
	}
	return id;
}

static struct err *expect_row(struct import_rows *rows, const struct import_row *row)
{
	uint32_t event = event_of_row(rows, row);
	strtab_intern(&rows->hosts, row->host, strlen(row->host));
	rows->has_hostless |= !*row->host;
	if (event >= MAX_EVENTS)
		return err_new(ERR_FORMAT, "it has more than %d events", MAX_EVENTS);
	rows->nr_uncounted += !row->has_samples && !row->has_value;
	rows->nr_negative += row->is_negative;
	if (row->is_negative)
		return NULL;
	if (row->time_ns && (!rows->first_ns || row->time_ns < rows->first_ns))
		rows->first_ns = row->time_ns;
	if (row->time_ns > rows->last_ns)
		rows->last_ns = row->time_ns;
	if (!import_counts_expect(&rows->of_events.data[event].counts, row->samples))
		return err_new(ERR_FORMAT, "the samples are too many to be added");
	return NULL;
}

/* ---- the second time: what becomes of it ---- */

/* One host that all rows have is the recording's; else each is an origin of its own. */
static bool are_hosts_origins(const struct import_rows *rows)
{
	size_t count = rows->hosts.entries.len - 1;
	return count > 1 || (count && rows->has_hostless);
}

static uint32_t origin_of_row(struct import_rows *rows, const struct import_row *row)
{
	if (!are_hosts_origins(rows))
		return 0;
	return strtab_intern(&rows->hosts, row->host, strlen(row->host));
}

static uint32_t process_of_row(
	struct import_rows *rows, const struct import_row *row, uint32_t *pid)
{
	struct import_output *output = rows->output;
	CLEANUP(str_deinit) struct str key = {0};
	str_printf(&key, "%u %u\n%s\n%s\n%s", origin_of_row(rows, row), row->pid, row->cgroup,
		row->container, row->pid ? "" : row->comm);
	size_t count = rows->processes.entries.len;
	uint32_t id = strtab_intern(&rows->processes, key.data, key.len) + 1;
	*pid = row->pid ? row->pid : NO_KERNELS_PID + id;
	if (rows->processes.entries.len > count)
		writer_process(output->writer,
			&(struct layout_process){
				.pid = *pid,
				.cgroup =
					*row->cgroup ? import_output_text(output, row->cgroup) : 0,
				.container = *row->container
						     ? import_output_text(output, row->container)
						     : 0,
				.origin = origin_of_row(rows, row),
			});
	return id;
}

/* What has a name of its own is another thread than the first, which has the process's. */
static uint32_t thread_of_row(struct import_rows *rows, const struct import_row *row)
{
	uint32_t pid, process = process_of_row(rows, row, &pid), tid = row->tid;
	uint32_t first = import_output_thread(rows->output, process, pid, row->comm);
	if (!*row->thread && (!tid || tid == pid))
		return first;
	if (!tid) {
		CLEANUP(str_deinit) struct str key = {0};
		str_printf(&key, "%u %s", process, row->thread);
		tid = 2 * NO_KERNELS_PID + strtab_intern(&rows->threads, key.data, key.len);
	}
	return import_output_thread(
		rows->output, process, tid, *row->thread ? row->thread : row->comm);
}

static uint32_t labels_of_row(struct import_rows *rows, const struct import_row *row)
{
	uint32_t set = 0;
	for (uint32_t i = 0; i < row->nr_labels; i++)
		set = import_output_label(rows->output,
			&(struct layout_label){.rest = set,
				.key = import_output_text(rows->output, row->labels[i].key),
				.kind = LAYOUT_LABEL_TEXT,
				.value = import_output_text(rows->output, row->labels[i].value)});
	return set;
}

static struct err *write_row(struct import_rows *rows, const struct import_row *row)
{
	if (row->is_negative)
		return NULL;
	struct layout_sample sample = {
		.time_ns = SAMPLES_FROM_NS + (row->time_ns ? row->time_ns - rows->first_ns : 0),
		.thread = thread_of_row(rows, row),
		.labels = labels_of_row(rows, row),
	};
	import_names_begin(&rows->names, &sample);
	for (const struct json_value *it = row->stack->first; it; it = it->next)
		import_names_add(&rows->names, it->text, strlen(it->text));
	import_names_end(&rows->names);
	import_counts_put(&rows->of_events.data[event_of_row(rows, row)].counts, rows->output,
		&sample, row->samples, row->value);
	return NULL;
}

/* ---- the file ---- */

static struct err *each_row(struct import_rows *rows, const char *text, size_t len,
	struct err *(*fn)(struct import_rows *rows, const struct import_row *row))
{
	struct rows_table table;
	const struct json_value *found = NULL;
	struct err *err = rows_table_begin(&table, text, len);
	while (!err && !(err = rows_table_next(&table, &found)) && found) {
		struct import_row row;
		err = read_row_of_table(rows, found, &row);
		if (!err)
			err = fn(rows, &row);
		err = err_wrap(err, "row %llu", (unsigned long long)table.nr_rows);
	}
	rows_table_deinit(&table);
	return err;
}

static void write_hosts(struct import_rows *rows)
{
	struct import_output *output = rows->output;
	uint32_t count = (uint32_t)rows->hosts.entries.len;
	bool are_origins = are_hosts_origins(rows);
	if (count > 1 && !are_origins)
		import_output_meta(output, LAYOUT_META_HOST, strtab_get(&rows->hosts, 1));
	for (uint32_t i = 1; are_origins && i < count; i++) {
		const struct strtab_entry *host = &rows->hosts.entries.data[i];
		struct layout_text name = {host->bytes, host->len};
		struct layout_origin_meta meta = {
			{LAYOUT_META_HOST, strlen(LAYOUT_META_HOST)}, name};
		writer_origin(output->writer, &(struct layout_origin){
						      .name = name,
						      .meta = &meta,
						      .nr_meta = 1,
					      });
	}
}

static void put_rows_notes(const struct import_rows *rows, struct str *notes)
{
	vec_each(&rows->of_events, event)
		import_counts_finish(&event->counts, rows->output, notes);
	import_names_put_notes(&rows->names, notes);
	if (rows->nr_negative)
		str_printf(notes, "%llu %s left out: ebprof diff compares recordings\n",
			(unsigned long long)rows->nr_negative,
			str_plural(rows->nr_negative, "row with a value below 0 is",
				"rows with values below 0 are"));
	if (rows->nr_uncounted)
		str_printf(notes, "%llu %s neither samples nor value: each counts once\n",
			(unsigned long long)rows->nr_uncounted,
			str_plural(rows->nr_uncounted, "row has", "rows have"));
	if (rows->nr_cut_labels)
		str_printf(notes, "%llu %s left out: a sample has %d at most\n",
			(unsigned long long)rows->nr_cut_labels,
			str_plural(rows->nr_cut_labels, "label is", "labels are"),
			LAYOUT_MAX_LABELS);
}

static struct err *read_rows_text(
	struct import_rows *rows, const char *text, size_t len, struct import_result *result)
{
	struct import_output *output = rows->output;
	strtab_intern(&rows->hosts, "", 0);
	try(each_row(rows, text, len, expect_row));
	rows->nr_cut_labels = 0; /* they come once more */
	write_hosts(rows);
	if (rows->first_ns) {
		writer_clock(
			output->writer, &(struct layout_clock){SAMPLES_FROM_NS, rows->first_ns});
		output->last_ns = SAMPLES_FROM_NS + rows->last_ns - rows->first_ns;
	}
	vec_each(&rows->of_events, event)
		import_counts_event(&event->counts, output, event->name, event->unit);
	try(each_row(rows, text, len, write_row));
	put_rows_notes(rows, &result->notes);
	return NULL;
}

bool import_rows_is(const uint8_t *head, size_t len)
{
	return rows_table_is((const char *)head, len);
}

struct err *import_rows_read(
	const struct import_file *file, struct import_output *output, struct import_result *result)
{
	struct import_rows rows = {.output = output};
	struct bytes_buf text = {0};
	if (file->bytes > MAX_BYTES)
		return err_new(ERR_FORMAT, "tables of more than 1 GiB are not read: "
					   "sum up rows by a query first");
	import_names_init(&rows.names, output, "[rows]");
	struct err *err = import_file_read(file, 0, file->bytes, "the table", &text);
	if (!err)
		err = read_rows_text(&rows, (const char *)text.data, text.len, result);
	import_names_deinit(&rows.names);
	strtab_deinit(&rows.events);
	vec_deinit(&rows.of_events);
	strtab_deinit(&rows.hosts);
	strtab_deinit(&rows.processes);
	strtab_deinit(&rows.threads);
	bytes_buf_deinit(&text);
	return err;
}
