/*
 * One page that needs nothing but a browser: a flame graph, tables, a time line.
 *
 * What the recording says stands in the page as gzip in base64 (html_data.h), so
 * no foreign byte is ever seen by the browser's HTML parser; the page's script
 * shows texts as texts only. The page's Content-Security-Policy names the hashes
 * of its script and its style and forbids everything else, the network as well.
 *
 * With a baseline it is a page of differences. Else each event of the recording has data of its
 * own, on a line of its own.
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

static struct err *write_two(const struct profile *profile, const struct export_baseline *baseline,
	struct byte_sink sink)
{
	struct html_data_side sides[] = {
		{.profile = profile, .name = baseline->profile_name},
		{.profile = baseline->profile, .name = baseline->name},
	};
	try(main_event_of_both(profile, baseline->profile, &sides[0].event, &sides[1].event));
	try(sink.write(sink.context, page_head, sizeof(page_head)));
	return write_data(sides, 2, baseline->judging, sink);
}

/* One below the other: the one that is shown unasked first. */
static struct err *write_events(const struct profile *profile, const struct export_code *code,
	struct event_choices *choices, struct byte_sink sink)
{
	struct event_choice first = choices->list.data[choices->main];
	choices->list.data[choices->main] = choices->list.data[0];
	choices->list.data[0] = first;
	choices->main = 0;
	vec_each(&choices->list, choice) {
		struct html_data_side side = {.profile = profile,
			.event = choice->event,
			.events = choices,
			.code = code};
		if (choice != choices->list.data)
			try(sink.write(sink.context, "\n", 1));
		try(write_data(&side, 1, NULL, sink));
	}
	return NULL;
}

static struct err *write_one(
	const struct profile *profile, const struct export_code *code, struct byte_sink sink)
{
	struct event_choices choices;
	try(sink.write(sink.context, page_head, sizeof(page_head)));
	event_choices_init(&choices, profile);
	struct err *err = write_events(profile, code, &choices, sink);
	event_choices_deinit(&choices);
	return err;
}

struct err *export_html(
	const struct profile *profile, const struct export_options *options, struct byte_sink sink)
{
	try(options->baseline ? write_two(profile, options->baseline, sink)
			      : write_one(profile, options->code, sink));
	return sink.write(sink.context, page_tail, sizeof(page_tail));
}
