/* Spans of samples, as OTLP links to them. */
#include "report/write/export/otlp_links.h"

#include "report/write/export/protobuf.h"
#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

static uint32_t put_fixture_label(
	struct fixture *fixture, uint32_t rest, const char *key, const char *value)
{
	struct layout_label label = {.rest = rest,
		.key = fixture_string(fixture, key),
		.kind = LAYOUT_LABEL_TEXT,
		.value = fixture_string(fixture, value)};
	return writer_label(fixture->writer, &label);
}

TEST(a_trace_and_its_span_are_a_link)
{
	static const char trace[] = "0123456789abcdef0123456789ABCDEF";
	struct fixture fixture;
	struct otlp_links links;
	struct bytes_buf table = {0};
	fixture_init(&fixture);
	uint32_t with_trace = put_fixture_label(&fixture, 0, "trace_id", trace);
	uint32_t both = put_fixture_label(&fixture, with_trace, "span_id", "fedcba9876543210");
	uint32_t more = put_fixture_label(&fixture, both, "user", "alice");
	uint32_t no_span = put_fixture_label(&fixture, with_trace, "span_id", "fedcba987654321");
	uint32_t no_digits = put_fixture_label(&fixture, with_trace, "span_id", "fedcba987654321x");
	struct profile *profile = fixture_profile(&fixture);
	otlp_links_init(&links, profile);
	CHECK_INT(otlp_links_index(&links, 0), 0);
	CHECK_INT(otlp_links_index(&links, with_trace), 0);
	CHECK_INT(otlp_links_index(&links, both), 1);
	CHECK_INT(otlp_links_index(&links, more), 1);
	CHECK_INT(otlp_links_index(&links, no_span), 0);
	CHECK_INT(otlp_links_index(&links, no_digits), 0);
	CHECK(otlp_links_have("span_id") && !otlp_links_have("user"));
	otlp_links_put(&links, 4, &table);
	CHECK_INT(table.len, 2 * (2 + 2 + 16 + 2 + 8));
	CHECK_INT(table.data[30 + 4], 0x01);
	CHECK_INT(table.data[30 + 19], 0xef);
	CHECK_INT(table.data[30 + 22], 0xfe);
	bytes_buf_deinit(&table);
	otlp_links_deinit(&links);
	profile_destroy(profile);
}
