/* Rows of tables as recordings: rows_table, import_rows, import_names. */
#include <string.h>

#include "format/import/import_names.h"
#include "format/import/import_rows.h"
#include "format/import/rows_table.h"
#include "tests/unit/import_fixture.h"

static bool is_rows(const char *text)
{
	return import_rows_is((const uint8_t *)text, strlen(text));
}

TEST(rows_are_known_by_their_beginning)
{
	CHECK(is_rows("{\"stack\":[]}\n"));
	CHECK(is_rows("\n [{\"value\":1,\"stack\":[\"a\"]}]"));
	CHECK(is_rows("value\tstack\n1\t[]\n"));
	CHECK(is_rows("\"value\"\t\"stack\"\r\n"));
	CHECK(is_rows("{\"labels\":{\"a\":\"}\\\"\",\"b\":\"{\"}, \"x\" : \"],\" , \"stack\" : "
		      "[\"a\"]}"));
	CHECK(!is_rows("{\"value\":1}\n"));
	CHECK(!is_rows("{\"value\":\"stack\"}\n"));
	/* Firefox's profiles, and what else has stacks somewhere. */
	CHECK(!is_rows("{\"meta\":{\"interval\":1},\"threads\":[{\"stack\":[1]}]}"));
	CHECK(!is_rows("{\"name\":\"x\",\"threads\":[{\"stack\":[1]}]}"));
	CHECK(!is_rows("[[{\"stack\":[]}]]"));
	CHECK(!is_rows("{\"stack\":{}}"));
	CHECK(!is_rows("{\"stack\""));
	CHECK(!is_rows("value\tstacks\n"));
	CHECK(!is_rows("stack\n"));
	CHECK(!is_rows(""));
}

static struct import_seen see_rows(const char *text)
{
	struct import_seen seen = {0};
	CHECK_OK(import_see(text, strlen(text), NULL, &seen));
	CHECK_STR(seen.result.format, "rows of a table");
	return seen;
}

static const char *event_unit(const struct import_seen *seen, uint32_t event)
{
	return seen->strings.data[seen->events.data[event].unit];
}

TEST(rows_become_samples_with_their_times_and_values)
{
	CLEANUP(import_seen_deinit)
	struct import_seen seen =
		see_rows("{\"time\":\"2026-11-26 14:05:00\",\"event\":\"cpu\",\"unit\":\"ns\","
			 "\"stack\":[\"main\",\"run\",\"read_[k]\"],\"samples\":2,\"value\":21}\n"
			 "\n"
			 "{\"time\":\"2026-11-26T14:06:00.5Z\",\"event\":\"cpu\",\"unit\":\"ns\","
			 "\"stack\":[\"main\"],\"samples\":\"1\",\"value\":\"7.6\"}\n");
	CHECK_INT(seen.samples.len, 3);
	CHECK_STR(import_seen_names(&seen, seen.samples.data[0].user_stack), "run;main");
	CHECK_STR(import_seen_names(&seen, seen.samples.data[0].kernel_stack), "read");
	CHECK_INT(seen.samples.data[0].weight + seen.samples.data[1].weight, 21);
	CHECK_INT(seen.samples.data[2].weight, 8);
	CHECK_INT(seen.samples.data[2].time_ns - seen.samples.data[0].time_ns, 60500000000);
	CHECK_STR(event_unit(&seen, seen.samples.data[2].event), "ns");
	CHECK_STR(str_text(&seen.result.notes),
		"1 row with a fraction is rounded: what is counted is whole; units of time (s, ms, "
		"us) are read as ns\n");
}

TEST(rows_of_seconds_keep_their_fractions)
{
	CLEANUP(import_seen_deinit)
	struct import_seen seen = see_rows("{\"stack\":[\"a\"],\"value\":0.3,\"unit\":\"s\"}\n"
					   "{\"unit\":\"s\",\"stack\":[\"b\"],\"value\":\"4\"}\n"
					   "{\"unit\":\"ms\",\"stack\":[],\"value\":1000000.7}\n");
	CHECK_INT(seen.samples.len, 3);
	CHECK_INT(seen.samples.data[0].weight, 300000000);
	CHECK_INT(seen.samples.data[1].weight, 4000000000);
	CHECK_INT(seen.samples.data[2].weight, 1000000700000);
	CHECK_STR(event_unit(&seen, seen.samples.data[0].event), "ns");
	CHECK_INT(seen.samples.data[2].event, seen.samples.data[0].event);
	CHECK_STR(str_text(&seen.result.notes), "");
}

/* As people write them. Samples are counted, whatever unit the value has that is not there. */
TEST(units_of_time_and_samples_without_a_value)
{
	CLEANUP(import_seen_deinit)
	struct import_seen seen = see_rows("{\"stack\":[\"a\"],\"value\":2,\"unit\":\"\u00b5s\"}\n"
					   "{\"stack\":[\"b\"],\"value\":2,\"unit\":\"Minutes\"}\n"
					   "{\"stack\":[\"c\"],\"samples\":5,\"unit\":\"s\"}\n");
	CHECK_INT(seen.samples.data[0].weight, 2000);
	CHECK_INT(seen.samples.data[1].weight, 120 * 1000000000ULL);
	CHECK_STR(event_unit(&seen, seen.samples.data[1].event), "ns");
	CHECK_STR(event_unit(&seen, seen.samples.data[2].event), "samples");
}

TEST(rows_of_tabs_may_have_quotes_and_labels_of_their_own)
{
	CLEANUP(import_seen_deinit)
	struct import_seen seen =
		see_rows("stack\tteam\tvalue\tlabels\r\n"
			 "[\"main\"]\tshop\t5\t{\"comm\":\"sh\",\"tid\":\"7\"}\r\n"
			 "\"[\"\"a\"\",\"\"b\"\"]\"\t\"cart\"\t6\t\n");
	CHECK_INT(seen.samples.len, 2);
	CHECK_STR(import_seen_names(&seen, seen.samples.data[1].user_stack), "b;a");
	CHECK_INT(seen.samples.data[1].weight, 6);
	CHECK(seen.samples.data[0].labels && seen.samples.data[1].labels);
	CHECK(seen.samples.data[0].labels != seen.samples.data[1].labels);
	CHECK_STR(event_unit(&seen, seen.samples.data[0].event), "count");
	const struct layout_thread *thread = &seen.threads.data[seen.samples.data[0].thread];
	CHECK_INT(thread->tid, 7);
	CHECK_STR(seen.strings.data[thread->comm], "sh");
	CHECK(seen.processes.data[thread->process].pid > 1 << 22);
}

/* A thread's row has the name that its process had, not that of a later process of that number. */
TEST(rows_of_one_number_may_be_of_several_processes)
{
	CLEANUP(import_seen_deinit)
	struct import_seen seen = see_rows("stack\tpid\ttid\tcomm\tthread\n"
					   "[\"a\"]\t7\t8\tmake\tjobs\n"
					   "[\"b\"]\t7\t7\tmake\t\n"
					   "[\"c\"]\t7\t7\tcc1\t\n"
					   "[\"d\"]\t7\t9\tcc1\treader\n");
	uint32_t processes[4];
	CHECK_INT(seen.samples.len, 4);
	for (size_t i = 0; i < 4; i++)
		processes[i] = seen.threads.data[seen.samples.data[i].thread].process;
	CHECK_INT(processes[0], processes[1]);
	CHECK_INT(processes[2], processes[3]);
	CHECK(processes[0] != processes[2]);
	CHECK_INT(seen.processes.data[processes[0]].pid, 7);
	CHECK_INT(seen.processes.data[processes[2]].pid, 7);
}

TEST(rows_are_read_as_such_whatever_they_begin_with)
{
	CLEANUP(import_seen_deinit)
	struct import_seen seen = {0};
	CLEANUP(str_deinit) struct str text = {0};
	str_printf(&text, "{\"x\":\"%*s\",\"stack\":[\"main\"]}\n", IMPORT_HEAD_BYTES, "");
	CHECK(!import_format_of(str_text(&text), IMPORT_HEAD_BYTES));
	CHECK_OK(import_see_as(IMPORT_AS_ROWS, text.data, text.len, NULL, &seen));
	CHECK_INT(seen.samples.len, 1);
	CHECK_STR(import_seen_names(&seen, seen.samples.data[0].user_stack), "main");
	struct import_seen none = {0};
	static const char folded[] = "main;run 5\n";
	CHECK_ERR(import_see_as(IMPORT_AS_ROWS, folded, strlen(folded), NULL, &none), ERR_FORMAT,
		"rows of a table: its first line names no column \"stack\"");
}

/* Names of threads that the kernel writes in brackets are no JSON. */
TEST(rows_of_tabs_have_json_in_two_columns)
{
	CLEANUP(import_seen_deinit)
	struct import_seen seen = see_rows("comm\tstack\t{x}\n[idle]\t[\"a\"]\t{1\n");
	CHECK_INT(seen.samples.len, 1);
	const struct layout_thread *thread = &seen.threads.data[seen.samples.data[0].thread];
	CHECK_STR(seen.strings.data[thread->comm], "[idle]");
	CHECK(seen.samples.data[0].labels);
}

TEST(hosts_are_origins_where_they_are_several)
{
	CLEANUP(import_seen_deinit)
	struct import_seen one =
		see_rows("{\"host\":\"a\",\"stack\":[]}\n{\"host\":\"a\",\"stack\":[]}\n");
	CLEANUP(import_seen_deinit)
	struct import_seen two =
		see_rows("{\"host\":\"a\",\"stack\":[]}\n{\"host\":\"b\",\"stack\":[]}\n");
	CLEANUP(import_seen_deinit)
	struct import_seen lacking = see_rows("{\"host\":\"a\",\"stack\":[]}\n{\"stack\":[]}\n");
	CHECK_INT(one.processes.len, 2);
	CHECK_INT(one.processes.data[1].origin, 0);
	CHECK_INT(two.processes.data[1].origin, 1);
	CHECK_INT(two.processes.data[2].origin, 2);
	CHECK_INT(lacking.processes.data[1].origin, 1);
	CHECK_INT(lacking.processes.data[2].origin, 0);
}

TEST(rows_that_count_nothing_are_told_of)
{
	CLEANUP(import_seen_deinit)
	struct import_seen seen = see_rows("[{\"stack\":[\"a\"]},{\"stack\":[\"a\"],\"value\":-2.5}"
					   ",{\"stack\":[],\"samples\":0}]");
	CHECK_INT(seen.samples.len, 1);
	CHECK_STR(str_text(&seen.result.notes),
		"1 row with a value below 0 is left out: ebprof diff compares recordings\n"
		"1 row has neither samples nor value: each counts once\n");
}

static void check_rows_refused(const char *text, const char *why)
{
	struct import_seen seen = {0};
	CHECK_ERR(import_see(text, strlen(text), NULL, &seen), ERR_FORMAT, why);
	import_seen_deinit(&seen);
}

TEST(rows_are_refused_with_their_number)
{
	check_rows_refused("{\"stack\":[\"a\"]}\n{\"stack\":\"a;b\"}\n",
		"rows of a table: row 2: it has no stack, an array of names");
	check_rows_refused("{\"stack\":[1]}", "row 1: its stack has something else than names");
	check_rows_refused(
		"{\"stack\":[],\"value\":\"much\"}", "row 1: \"much\" is no number of value");
	check_rows_refused("{\"stack\":[],\"value\":1e30}", "no number of value");
	check_rows_refused("{\"stack\":[],\"sum(value)\":1}", "The query says so by AS value");
	check_rows_refused(
		"{\"stack\":[],\"value\":20000000000,\"unit\":\"s\"}", "no number of value");
	check_rows_refused("{\"stack\":[],\"samples\":\"x\"}", "no number of samples");
	check_rows_refused("{\"stack\":[],\"time\":\"14:05\"}", "is no time of UTC");
	check_rows_refused("{\"stack\":[],\"time\":\"2026-02-29\"}", "is no time of UTC");
	check_rows_refused("{\"stack\":[],\"time\":\"2026-02-31 99:99:00\"}", "is no time of UTC");
	check_rows_refused("{\"stack\":[],\"time\":\"2026-02-03 04:60:00\"}", "is no time of UTC");
	check_rows_refused("{\"stack\":[],\"time\":\"9999-01-01\"}", "is no time of UTC");
	check_rows_refused(
		"{\"stack\":[],\"time\":\"2026-11-26 14:05:00+02\"}", "is no time of UTC");
	check_rows_refused(
		"{\"stack\":[],\"x\":[1]}", "the column \"x\" is neither text nor number");
	check_rows_refused("{\"stack\":[],\"labels\":1}", "row 1: its labels are no object");
	check_rows_refused("{\"stack\":[]}\n{\"stack\":\n", "row 2: no JSON at byte 9");
	check_rows_refused("stack\tvalue\n[]\n", "row 1 has 1 of 2 cells");
	check_rows_refused("stack\tvalue\n[]\t1\t2\n", "row 1 has more cells than the 2 columns");
	check_rows_refused("stack\tvalue\n[main, run]\t1\n",
		"row 1, column \"stack\" (to_json() of an engine writes JSON): no JSON at byte 1");
	check_rows_refused("[{\"stack\":[]}, 1]", "row 2 is no object");
}

TEST(rows_table_ends_with_its_text)
{
	struct rows_table table;
	const struct json_value *row = NULL;
	static const char text[] = "{\"stack\":[]}";
	CHECK_OK(rows_table_begin(&table, text, strlen(text)));
	CHECK_OK(rows_table_next(&table, &row));
	CHECK(row && json_value_member(row, "stack"));
	CHECK_OK(rows_table_next(&table, &row));
	CHECK(!row);
	CHECK_INT(table.nr_rows, 1);
	rows_table_deinit(&table);
}

TEST(import_names_counts_stacks_that_are_too_deep)
{
	struct bytes_buf made = {0};
	struct import_output *output =
		import_output_create((struct writer_sink){import_seen_write, &made});
	struct import_names names;
	CLEANUP(str_deinit) struct str notes = {0};
	struct layout_sample sample = {0};
	import_names_init(&names, output, "[rows]");
	for (size_t extra = 0; extra < 2; extra++) {
		import_names_begin(&names, &sample);
		for (size_t i = 0; i < IMPORT_MAX_DEPTH + extra; i++)
			import_names_add(&names, "f", 1);
		import_names_end(&names);
	}
	import_names_put_notes(&names, &notes);
	CHECK(strncmp(str_text(&notes), "1 stack is deeper", 17) == 0);
	import_names_deinit(&names);
	import_output_destroy(output);
	bytes_buf_deinit(&made);
}
