#include "format/import/import_rows.h"

#include <string.h>

#include "format/import/import_counts.h"
#include "format/import/import_names.h"
#include "format/import/rows_table.h"
#include "format/import/table_row.h"

enum {
	MAX_BYTES = 1 << 30, /* of the file: it is read as a whole */
	MAX_EVENTS = 1024,
	SAMPLES_FROM_NS = 1000,  /* the first of them; 0 is no time */
	NO_KERNELS_PID = 1 << 22 /* PID_MAX_LIMIT: from here on a kernel gives none */
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
	uint64_t nr_negative, nr_uncounted, nr_rounded, nr_cut_labels;
};

/* ---- the first time: what there is ---- */

static uint32_t event_of_row(struct import_rows *rows, const struct table_row *row)
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

static struct err *expect_row(struct import_rows *rows, const struct table_row *row)
{
	uint32_t event = event_of_row(rows, row);
	strtab_intern(&rows->hosts, row->host, strlen(row->host));
	rows->has_hostless |= !*row->host;
	if (event >= MAX_EVENTS)
		return err_new(ERR_FORMAT, "it has more than %d events", MAX_EVENTS);
	rows->nr_uncounted += !row->has_samples && !row->has_value;
	rows->nr_rounded += row->is_rounded;
	rows->nr_cut_labels += row->nr_cut_labels;
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

static uint32_t origin_of_row(struct import_rows *rows, const struct table_row *row)
{
	if (!are_hosts_origins(rows))
		return 0;
	return strtab_intern(&rows->hosts, row->host, strlen(row->host));
}

/* Of one number may be several, one after the other; a row has what its own one is called. */
static uint32_t process_of_row(struct import_rows *rows, const struct table_row *row, uint32_t *pid)
{
	struct import_output *output = rows->output;
	CLEANUP(str_deinit) struct str key = {0};
	str_printf(&key, "%u %u\n%s\n%s\n%s", origin_of_row(rows, row), row->pid, row->cgroup,
		row->container, row->comm);
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
static uint32_t thread_of_row(struct import_rows *rows, const struct table_row *row)
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

static uint32_t labels_of_row(struct import_rows *rows, const struct table_row *row)
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

static struct err *write_row(struct import_rows *rows, const struct table_row *row)
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
	struct err *(*fn)(struct import_rows *rows, const struct table_row *row))
{
	struct rows_table table;
	const struct json_value *found = NULL;
	struct err *err = rows_table_begin(&table, text, len);
	while (!err && !(err = rows_table_next(&table, &found)) && found) {
		struct table_row row;
		err = table_row_read(found, &row);
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
	if (rows->nr_rounded)
		str_printf(notes,
			"%llu %s rounded: what is counted is whole; units of time (s, ms, us) are "
			"read as ns\n",
			(unsigned long long)rows->nr_rounded,
			str_plural(rows->nr_rounded, "row with a fraction is",
				"rows with fractions are"));
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
