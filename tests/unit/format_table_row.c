/* What the columns of one row of a table mean: table_row. */
#include <string.h>

#include "format/base/str.h"
#include "format/import/table_row.h"
#include "tests/unit/unit.h"

/* Of a row as JSON, whose texts live in the arena. */
static struct err *read_row(const char *text, struct arena *arena, struct table_row *ret)
{
	const struct json_value *table;
	CHECK_OK(json_value_parse(text, strlen(text), arena, &table));
	return table_row_read(table, ret);
}

static void check_row_refused(const char *text, const char *why)
{
	struct arena arena = {0};
	struct table_row row;
	CHECK_ERR(read_row(text, &arena, &row), ERR_FORMAT, why);
	arena_deinit(&arena);
}

TEST(table_row_has_something_for_each_column_that_is_missing)
{
	struct arena arena = {0};
	struct table_row row;
	CHECK_OK(read_row("{\"stack\":[]}", &arena, &row));
	CHECK_STR(row.event, "samples");
	CHECK_STR(row.unit, "samples");
	CHECK_STR(row.host, "");
	CHECK_STR(row.comm, "");
	CHECK_INT(row.pid, 0);
	CHECK_INT(row.time_ns, 0);
	CHECK_INT(row.samples, 1);
	CHECK_INT(row.value, 1);
	CHECK(!row.has_samples && !row.has_value && !row.is_negative && !row.is_rounded);
	CHECK_OK(read_row("{\"stack\":[],\"value\":5}", &arena, &row));
	CHECK_STR(row.unit, "count");
	CHECK_INT(row.samples, 1);
	CHECK_INT(row.value, 5);
	CHECK_OK(read_row("{\"stack\":[],\"samples\":5}", &arena, &row));
	CHECK_STR(row.unit, "samples");
	CHECK_INT(row.value, 5);
	arena_deinit(&arena);
}

/* Those of tasks are known, as columns or as labels, whatever form numbers have; all else labels.
 */
TEST(table_row_knows_tasks_among_labels)
{
	struct arena arena = {0};
	struct table_row row;
	CHECK_OK(read_row("{\"stack\":[\"a\"],\"pid\":7,\"team\":\"shop\",\"labels\":{"
			  "\"comm\":\"sh\",\"tid\":\"8\",\"thread\":\"jobs\",\"cgroup\":\"/a\","
			  "\"container\":\"c\",\"on\":true,\"none\":null,\"n\":1.5}}",
		&arena, &row));
	CHECK_INT(row.pid, 7);
	CHECK_INT(row.tid, 8);
	CHECK_STR(row.comm, "sh");
	CHECK_STR(row.thread, "jobs");
	CHECK_STR(row.cgroup, "/a");
	CHECK_STR(row.container, "c");
	CHECK_INT(row.nr_labels, 3);
	CHECK_STR(row.labels[0].key, "team");
	CHECK_STR(row.labels[1].value, "true");
	CHECK_STR(row.labels[2].value, "1.5");
	/* What is no number of a task is a label. */
	CHECK_OK(read_row("{\"stack\":[],\"pid\":\"-7\",\"tid\":4294967296}", &arena, &row));
	CHECK_INT(row.pid, 0);
	CHECK_INT(row.tid, 0);
	CHECK_INT(row.nr_labels, 2);
	arena_deinit(&arena);
}

TEST(table_row_counts_labels_that_are_too_many)
{
	struct arena arena = {0};
	struct table_row row;
	CLEANUP(str_deinit) struct str text = {0};
	str_puts(&text, "{\"stack\":[]");
	for (int i = 0; i < LAYOUT_MAX_LABELS + 3; i++)
		str_printf(&text, ",\"k%d\":\"v\"", i);
	str_puts(&text, "}");
	CHECK_OK(read_row(str_text(&text), &arena, &row));
	CHECK_INT(row.nr_labels, LAYOUT_MAX_LABELS);
	CHECK_INT(row.nr_cut_labels, 3);
	arena_deinit(&arena);
}

static uint64_t time_of(const char *text)
{
	struct arena arena = {0};
	struct table_row row;
	CLEANUP(str_deinit) struct str table = {0};
	str_printf(&table, "{\"stack\":[],\"time\":\"%s\"}", text);
	CHECK_OK(read_row(str_text(&table), &arena, &row));
	arena_deinit(&arena);
	return row.time_ns;
}

TEST(table_row_reads_times_of_utc)
{
	CHECK_INT(time_of("1970-01-01 00:00:01"), 1000000000);
	CHECK_INT(time_of("1970-01-02"), 86400000000000);
	CHECK_INT(time_of("2026-11-26T14:05:00.25Z"), 1795701900250000000);
	CHECK_INT(time_of("2026-11-26 14:05:00+00:00"), 1795701900000000000);
	CHECK_INT(time_of("2024-02-29 00:00:00 UTC"), 1709164800000000000);
	const char *const none[] = {"2026-02-29", "2026-13-01", "2026-11-26 24:00:00",
		"2026-11-26 14:05:00+01:00", "2026-11-26 14:05", "1969-12-31", "2201-01-01", "now",
		"2026-11-26 14:05:00x"};
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		CLEANUP(str_deinit) struct str table = {0};
		str_printf(&table, "{\"stack\":[],\"time\":\"%s\"}", none[i]);
		check_row_refused(str_text(&table), "is no time of UTC");
	}
}

/* Units of time are scaled to ns; what is lost of a fraction is told, and so is what is below 0. */
TEST(table_row_scales_and_rounds_values)
{
	const struct {
		const char *columns;
		uint64_t value;
		bool is_rounded, is_negative;
	} cases[] = {
		{"\"value\":0.3,\"unit\":\"s\"", 300000000, false, false},
		{"\"unit\":\"us\",\"value\":\"7\"", 7000, false, false},
		{"\"value\":1.4", 1, true, false},
		{"\"value\":\"1e3\"", 1000, false, false},
		{"\"value\":18446744073709551615", UINT64_MAX, false, false},
		{"\"value\":-1", 0, false, true},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct arena arena = {0};
		struct table_row row;
		CLEANUP(str_deinit) struct str table = {0};
		str_printf(&table, "{\"stack\":[],%s}", cases[i].columns);
		CHECK_OK(read_row(str_text(&table), &arena, &row));
		CHECK_INT(row.value, cases[i].value);
		CHECK_INT(row.is_rounded, cases[i].is_rounded);
		CHECK_INT(row.is_negative, cases[i].is_negative);
		arena_deinit(&arena);
	}
	check_row_refused("{\"stack\":[],\"value\":\"many\"}", "is no number of value");
	check_row_refused("{\"stack\":[],\"value\":1e30}", "is no number of value");
	check_row_refused("{\"stack\":[],\"value\":18446744073709551615,\"unit\":\"us\"}",
		"is no number of value");
	check_row_refused("{\"stack\":[],\"samples\":\"nan\"}", "is no number of samples");
}

TEST(table_row_refuses_what_a_column_cannot_have)
{
	check_row_refused("{\"value\":1}", "it has no stack");
	check_row_refused("{\"stack\":\"main\"}", "it has no stack");
	check_row_refused("{\"stack\":[1]}", "something else than names");
	check_row_refused("{\"stack\":[],\"labels\":[]}", "its labels are no object");
	check_row_refused("{\"stack\":[],\"labels\":{\"a\":[]}}", "its label \"a\" is no text");
	check_row_refused("{\"stack\":[],\"team\":[]}", "neither text nor number");
	check_row_refused("{\"stack\":[],\"sum(value)\":1}", "has no name of its own");
}
