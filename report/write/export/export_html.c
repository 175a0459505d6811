/*
 * One page that needs nothing but a browser: a flame graph, tables, a time line.
 *
 * What the recording says stands in the page as gzip in base64 (html_data.h), so
 * no foreign byte is ever seen by the browser's HTML parser; the page's script
 * shows texts as texts only. The page's Content-Security-Policy names the hashes
 * of its script and its style and forbids everything else, the network as well.
 *
 * With a baseline it is a page of differences.
 *
 * The page is made from html/ when this program is built.
 */
#include "report/model/main_event.h"
#include "report/model/text/base64.h"
#include "report/write/export/export.h"
#include "report/write/export/gzip.h"
#include "report/write/export/html_data.h"

static const unsigned char page_head[] = {
#include "report/write/export/html/page_head.inc"
};

static const unsigned char page_tail[] = {
#include "report/write/export/html/page_tail.inc"
};

static struct err *write_data(const struct html_data_side *sides, size_t nr_sides,
	const struct diff_options *judging, struct byte_sink sink)
{
	struct base64_sink base64 = {.sink = sink};
	CLEANUP(bytes_buf_deinit) struct bytes_buf data = {0};
	html_data_put(sides, nr_sides, nr_sides > 1 ? &html_data_limits_of_two : &html_data_limits,
		judging, &data);
	struct gzip *gzip = gzip_create(base64_sink_open(&base64));
	struct err *err = gzip_write(gzip, data.data, data.len);
	if (!err)
		err = gzip_finish(gzip);
	if (!err)
		err = base64_sink_finish(&base64);
	gzip_destroy(gzip);
	return err;
}

struct err *export_html(
	const struct profile *profile, const struct export_options *options, struct byte_sink sink)
{
	const struct export_baseline *baseline = options->baseline;
	struct html_data_side sides[] = {{.profile = profile}, {0}};
	if (baseline) {
		sides[0].name = baseline->profile_name;
		sides[1] = (struct html_data_side){baseline->profile, baseline->name, 0};
		try(main_event_of_both(
			profile, baseline->profile, &sides[0].event, &sides[1].event));
	} else {
		sides[0].event = main_event_of(profile);
	}
	try(sink.write(sink.context, page_head, sizeof(page_head)));
	try(write_data(sides, baseline ? 2 : 1, baseline ? baseline->judging : NULL, sink));
	return sink.write(sink.context, page_tail, sizeof(page_tail));
}
