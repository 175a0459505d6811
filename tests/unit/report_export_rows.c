/* Rows for engines of tables: one for each minute, stack and set of labels. */
#include <string.h>

#include "report/write/export/export.h"
#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

static char *rows_of(struct profile *profile, export_fn *export, uint32_t labels)
{
	struct str out = {0};
	struct export_options options = {.labels = labels};
	CHECK_OK(export(profile, &options, byte_sink_to_text(&out)));
	return str_steal(&out);
}

/* Begins at 2023-11-14 22:13:20; 40 s later a minute ends. */
static struct profile *two_minutes(void)
{
	static const struct layout_clock clock = {1000000000, 1700000000000000000};
	struct fixture fixture;
	fixture_init_at(&fixture, &clock);
	writer_meta(fixture.writer, LAYOUT_META_HOST, "a\tb\"c");
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 7, 0), 7, "app");
	uint32_t frames[] = {fixture_frame(&fixture, object, 0x10, "main"),
		fixture_frame(&fixture, object, 0x20, "work\"\t"), 0};
	uint32_t stack = fixture_stack(&fixture, frames);
	fixture_samples(&fixture, thread, stack, 0, 3);
	fixture.time_ns += 40000000000;
	fixture_samples(&fixture, thread, stack, 0, 2);
	return fixture_load(fixture_finish(&fixture));
}

static size_t count_lines(const char *text)
{
	size_t count = 0;
	for (; *text; text++)
		count += *text == '\n';
	return count;
}

TEST(rows_are_of_minutes)
{
	struct profile *profile = two_minutes();
	CLEANUP_FREE char *rows = rows_of(profile, export_rows, EXPORT_LABEL_COMM);
	CHECK_INT(count_lines(rows), 2);
	CHECK(strstr(rows, "{\"time\":\"2023-11-14 22:13:00\",\"host\":\"a\\u0009b\\\"c\""));
	CHECK(strstr(rows, "{\"time\":\"2023-11-14 22:14:00\""));
	CHECK(strstr(rows, "\"labels\":{\"comm\":\"app\"}"));
	CHECK(strstr(rows, "\"samples\":3,"));
	CHECK(strstr(rows, "\"samples\":2,"));
	profile_destroy(profile);
}

TEST(rows_with_tabs_have_so_many_columns)
{
	struct profile *profile = two_minutes();
	CLEANUP_FREE char *rows = rows_of(profile, export_rows_tsv, 0);
	CHECK_INT(count_lines(rows), 3);
	size_t tabs = 0;
	for (const char *at = rows; *at; at++)
		tabs += *at == '\t';
	CHECK_INT(tabs, 3 * 7);
	CHECK(strstr(rows, "\t{}\t[\""));
	profile_destroy(profile);
}
