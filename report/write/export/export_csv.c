/*
 * A row for each function (RFC 4180), hottest first, as `report` shows them, for
 * spreadsheets and scripts. Values are in the unit of the event, nanoseconds as a rule.
 */
#include <string.h>

#include "format/base/str.h"
#include "report/analyse/table.h"
#include "report/model/main_event.h"
#include "report/model/text/csv.h"
#include "report/write/export/export.h"

static void csv_put_row(const struct profile *profile, const struct table_row *row,
	const char *unit, struct str *out)
{
	const struct profile_function *function = &profile->functions.data[row->function];
	str_printf(out, "%llu,%llu,%llu,", (unsigned long long)row->self,
		(unsigned long long)row->total, (unsigned long long)row->self_samples);
	csv_put_field(out, profile->objects.data[function->object].path);
	str_putc(out, ',');
	csv_put_field(out, profile_function_own_name(function));
	str_putc(out, ',');
	csv_put_field(out, function->file ? function->file : "");
	str_putc(out, ',');
	if (function->file && profile_function_line(function))
		str_printf(out, "%u", profile_function_line(function));
	str_putc(out, ',');
	csv_put_field(out, unit);
	str_puts(out, "\r\n");
}

static struct err *write_rows(
	const struct profile *profile, const struct table *table, struct byte_sink sink)
{
	CLEANUP(str_deinit) struct str out = {0};
	const char *unit = profile->events.data[main_event_of(profile)].unit;
	str_puts(&out, "self,total,samples,dso,symbol,file,line,unit\r\n");
	vec_each(&table->rows, row) {
		csv_put_row(profile, row, unit, &out);
		if (out.len > BYTE_SINK_PIECE_BYTES) {
			try(sink.write(sink.context, out.data, out.len));
			str_truncate(&out, 0);
		}
	}
	return sink.write(sink.context, out.data, out.len);
}

struct err *export_csv(
	const struct profile *profile, const struct export_options *options, struct byte_sink sink)
{
	(void)options;
	struct table_options columns = {.columns = {COLUMN_FILE, COLUMN_SYM}, .nr_columns = 2};
	struct table table;
	table_init(&table, profile, &columns);
	struct err *err = write_rows(profile, &table, sink);
	table_deinit(&table);
	return err;
}
