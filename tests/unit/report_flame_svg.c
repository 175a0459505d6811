#include "report/write/export/flame_svg.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "report/analyse/tree.h"
#include "report/model/text/byte_sink.h"
#include "report/model/text/markup.h"
#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

/* ---- is it well-formed? A reader of the little XML that we write ---- */

static bool skip_entity(const char **at)
{
	static const char *const known[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strncmp(*at, known[i], strlen(known[i])) == 0) {
			*at += strlen(known[i]);
			return true;
		}
	return false;
}

/* One character of text, or of an attribute's value. */
static bool skip_character(const char **at)
{
	unsigned char c = (unsigned char)**at;
	if (c == '&')
		return skip_entity(at);
	if (c == '<' || (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
		return false;
	uint32_t code_point;
	size_t bytes = str_utf8_decode(*at, strlen(*at), &code_point);
	*at += bytes;
	return bytes && code_point != 0xfffe && code_point != 0xffff;
}

static bool skip_attributes(const char **at)
{
	while (**at == ' ') {
		(*at)++;
		while (isalpha((unsigned char)**at))
			(*at)++;
		if (strncmp(*at, "=\"", 2) != 0)
			return false;
		*at += 2;
		while (**at && **at != '"')
			if (!skip_character(at))
				return false;
		if (*(*at)++ != '"')
			return false;
	}
	return true;
}

/* Returns where the element ends, NULL when something is wrong; *rects counts. */
static const char *skip_element(const char *at, int *rects)
{
	const char *name = ++at;
	while (isalpha((unsigned char)*at))
		at++;
	size_t len = (size_t)(at - name);
	*rects += len == 4 && strncmp(name, "rect", 4) == 0;
	if (!len || !skip_attributes(&at))
		return NULL;
	if (strncmp(at, "/>", 2) == 0)
		return at + 2;
	if (*at++ != '>')
		return NULL;
	while (*at && strncmp(at, "</", 2) != 0) {
		if (strncmp(at, "<![CDATA[", 9) == 0) {
			const char *end = strstr(at, "]]>");
			if (!end || len != 6 || strncmp(name, "script", 6) != 0)
				return NULL;
			at = end + 3;
		} else if (*at == '<') {
			at = skip_element(at, rects);
			if (!at)
				return NULL;
		} else if (!skip_character(&at)) {
			return NULL;
		}
	}
	if (!*at || strncmp(at + 2, name, len) != 0 || at[2 + len] != '>')
		return NULL;
	return at + 3 + len;
}

enum {
	KINDS = 3, /* rectangles that say what colours mean */
};

/* How many rectangles there are, -1 when it is not well-formed. */
static int count_rects(const char *text)
{
	static const char declaration[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
	int rects = 0;
	if (strncmp(text, declaration, strlen(declaration)) != 0)
		return -1;
	const char *end = skip_element(text + strlen(declaration), &rects);
	return end && strcmp(end, "\n") == 0 ? rects : -1;
}

/* ---- */

static struct profile *make_profile(const char *odd_name)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t program = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "/usr/bin/a<b>&\"c'");
	uint32_t kernel = fixture_object(&fixture, LAYOUT_OBJECT_KERNEL, "[kernel]");
	uint32_t process = fixture_process(&fixture, 100, program);
	uint32_t thread = fixture_thread(&fixture, process, 100, "program");
	uint32_t main_frame = fixture_frame(&fixture, program, 0x1000, "main");
	uint32_t odd = fixture_frame(&fixture, program, 0x2000, odd_name);
	uint32_t cplus = fixture_frame(&fixture, program, 0x3000, "_ZN2ns3getIiEEvT_");
	uint32_t read = fixture_frame(&fixture, kernel, 0x4000, "vfs_read");
	uint32_t in_odd = FIXTURE_STACK(&fixture, main_frame, odd);
	uint32_t in_cplus = FIXTURE_STACK(&fixture, main_frame, odd, cplus);
	fixture_samples(&fixture, thread, in_odd, 0, 60);
	fixture_samples(&fixture, thread, in_cplus, 0, 30);
	fixture_samples(&fixture, thread, in_cplus, FIXTURE_STACK(&fixture, read), 10);
	return fixture_profile(&fixture);
}

static void put_svg(struct profile *profile, const char *zoom, const char *title, struct str *out)
{
	struct tree tree;
	struct slice slice;
	struct focus focus;
	tree_init(&tree, profile, &(struct tree_options){0});
	slice_init_all(&slice, profile);
	struct tree_weight *weights = tree_weigh(&tree, &slice);
	focus_init(&focus, &tree, weights, profile->functions.data, FOCUS_CALLEES);
	struct flame_svg_options options = {
		.title = title,
		.objects = profile->objects.data,
		.nr_functions = profile->functions.len,
		.frames = profile->frames.data,
		.whole = slice.whole.value,
	};
	for (uint32_t at = 0, depth = 0; zoom && depth < 8; at = options.root, depth++) {
		focus_expand(&focus, at);
		options.root = focus.nodes.data[at].first_child;
		uint32_t function = focus.nodes.data[options.root].function;
		if (strcmp(profile->functions.data[function].name, zoom) == 0)
			zoom = NULL;
	}
	flame_svg_put(&focus, &options, out);
	focus_deinit(&focus);
	mem_free(weights);
	slice_deinit(&slice);
	tree_deinit(&tree);
}

TEST(each_box_is_a_rectangle_with_a_tooltip)
{
	struct profile *profile = make_profile("work");
	CLEANUP(str_deinit) struct str svg = {0};
	put_svg(profile, NULL, "ebprof.data", &svg);
	/* The ground, all, main, work, get, vfs_read. */
	CHECK_INT(count_rects(str_text(&svg)), 6 + KINDS);
	CHECK(strstr(svg.data, "<title>work (a&lt;b&gt;&amp;&quot;c&#39;): 100.00%, 100 samples"
			       "</title><rect class=\"library\""));
	CHECK(strstr(svg.data, "<title>void ns::get&lt;int&gt;(int) (") ||
		strstr(svg.data, "<title>ns::get&lt;int&gt;(int) ("));
	CHECK(strstr(svg.data, ": 10.00%, 10 samples</title><rect class=\"kernel\" x=\"10\" "
			       "y=\"116\" width=\"118\" height=\"16\"/>"));
	CHECK(strstr(svg.data, "y=\"99\" width=\"472\""));
	profile_destroy(profile);
}

/* What stands for missing callers says why. */
TEST(a_cut_stack_says_why)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 12, 0), 12, "cut");
	const struct layout_frame frame = {.offset = LAYOUT_TRUNCATED_DEPTH};
	uint32_t cut = writer_frame(fixture.writer, &frame);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, cut), 0, 10);
	struct profile *profile = fixture_profile(&fixture);
	CLEANUP(str_deinit) struct str svg = {0};
	put_svg(profile, NULL, "ebprof.data", &svg);
	CHECK(strstr(str_text(&svg),
		"<title>[truncated: depth_limit] (the stack is deeper than the "
		"recorder goes): 100.00%, 10 samples</title>"));
	profile_destroy(profile);
}

TEST(a_zoom_has_its_callers_above)
{
	struct profile *profile = make_profile("work");
	CLEANUP(str_deinit) struct str svg = {0};
	put_svg(profile, "void ns::get<int>(int)", "ebprof.data", &svg);
	CHECK_INT(count_rects(str_text(&svg)), 6 + KINDS);
	CHECK(strstr(svg.data, "class=\"caller\" x=\"10\" y=\"82\" width=\"1180\""));
	CHECK(strstr(svg.data, "y=\"99\" width=\"1180\""));
	CHECK(strstr(svg.data, "class=\"kernel\" x=\"10\" y=\"116\" width=\"295\""));
	CHECK(strstr(svg.data, ">ebprof.data: 40.00%, 40 samples</text>"));
	profile_destroy(profile);
}

TEST(the_same_profile_makes_the_same_picture)
{
	CLEANUP(str_deinit) struct str first = {0}, second = {0};
	struct profile *profile = make_profile("work");
	put_svg(profile, NULL, "x", &first);
	profile_destroy(profile);
	profile = make_profile("work");
	put_svg(profile, NULL, "x", &second);
	profile_destroy(profile);
	CHECK_STR(str_text(&second), str_text(&first));
}

TEST(hostile_names_stay_text)
{
	static const char *const names[] = {
		"</title><script>alert(1)</script>",
		"]]>&amp;<!-- -- -->",
		"\x1b[31mred\a\b\x7f",
		"\xff\xfe\xc0\x80 broken \xe2\x80",
		"\xef\xbf\xbe \xef\xbf\xbf no characters",
		"\xe2\x80\xae reversed \xe2\x80\xa8 line",
		"\xe5\x9b\xbe\xe5\x83\x8f wide",
		"\"' onload='x()' \"",
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct profile *profile = make_profile(names[i]);
		CLEANUP(str_deinit) struct str svg = {0};
		put_svg(profile, NULL, names[i], &svg);
		CHECK_INT(count_rects(str_text(&svg)), 6 + KINDS);
		const char *script = strstr(svg.data, "<script");
		CHECK(script && !strstr(script + 1, "<script")); /* ours alone */
		CHECK_INT(strlen(svg.data), svg.len);
		profile_destroy(profile);
	}
}

TEST(what_is_no_character_is_escaped)
{
	static const char text[] = "a<b>&\"'\x01\xef\xbf\xbf\xc3\xa9";
	CLEANUP(str_deinit) struct str out = {0};
	markup_put(&out, text, strlen(text));
	CHECK_STR(str_text(&out), "a&lt;b&gt;&amp;&quot;&#39;\\x01\\xef\\xbf\\xbf\xc3\xa9");
}

/* ---- two recordings ---- */

/* main calls work, which took half and takes more, and one that only this version has. */
static struct profile *version_of(bool is_new)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	uint32_t main = fixture_frame(&fixture, object, 0x10, "main");
	uint32_t work = fixture_frame(&fixture, object, 0x20, "work");
	uint32_t own = fixture_frame(&fixture, object, 0x30, is_new ? "fresh<" : "gone<");
	fixture_samples(
		&fixture, thread, FIXTURE_STACK(&fixture, main, work), 0, is_new ? 150 : 50);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main, own), 0, 50);
	return fixture_profile(&fixture);
}

static void check_diff(const struct profile *new, const struct export_baseline *baseline,
	const char *const *wanted)
{
	struct str out = {0};
	struct export_options options = {.baseline = baseline};
	CHECK_OK(export_svg(new, &options, byte_sink_to_text(&out)));
	for (; *wanted; wanted++)
		if (!strstr(str_text(&out), *wanted)) {
			fprintf(stderr, "%s\n", *wanted);
			CHECK(!"it says so");
		}
	str_deinit(&out);
}

TEST(flame_svg_of_two)
{
	struct profile *new = version_of(true), *old = version_of(false);
	struct export_baseline baseline = {old, "<old>", "<new>", NULL};
	check_diff(new, &baseline,
		(const char *const[]){
			"&lt;old&gt; \xe2\x86\x92 &lt;new&gt;, 100 \xe2\x86\x92 200 samples",
			"work ([vdso]): 50.00% \xe2\x86\x92 75.00%, +25.00 pp, 50 \xe2\x86\x92 "
			"150 "
			"samples</title><rect class=\"same\"", /* nothing that did not change */
			"gone&lt; ([vdso]): 50.00% \xe2\x86\x92 0.00%, \xe2\x88\x92"
			"50.00 pp, 50 \xe2\x86\x92 0 samples</title><rect class=\"less4\"",
			"fresh&lt; ([vdso]): 0.00% \xe2\x86\x92 25.00%, +25.00 pp, 0 "
			"\xe2\x86\x92 50 samples</title><rect class=\"more4\"",
			"main ([vdso]): 100.00% \xe2\x86\x92 100.00%, +0.00 pp, 100 "
			"\xe2\x86\x92 200 "
			"samples</title><rect class=\"same\"",
			"<g id=\"legend\">", NULL});
	baseline.profile = new;
	check_diff(new, &baseline,
		(const char *const[]){"work ([vdso]): 75.00% \xe2\x86\x92 75.00%, +0.00 pp, 150 "
				      "\xe2\x86\x92 150 samples</title><rect class=\"same\"",
			NULL});
	profile_destroy(new);
	profile_destroy(old);
}

/* main calls what is called so, half of the time. */
static struct profile *profile_of(const char *name, unsigned half)
{
	struct fixture fixture;
	uint32_t thread, object = fixture_begin(&fixture, "app", &thread);
	uint32_t main = fixture_frame(&fixture, object, 0x10, "main");
	uint32_t named = fixture_frame(&fixture, object, 0x20, name);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main), 0, half);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main, named), 0, half);
	return fixture_profile(&fixture);
}

/* Of a name that does not fit, "m.." says nothing. */
TEST(a_label_says_something)
{
	static const struct {
		const char *name, *label; /* NULL: there is none */
		unsigned samples;
	} rows[] = {
		{"whole_name", ">whole_name</text>", 830},
		{"longer_name_here", ">long..ere</text>", 62},          /* 9 columns */
		{"medium_name", NULL, 38},                              /* 5 */
		{"short", ">short</text>", 38}, {"cut_name", NULL, 32}, /* 4 */
	};
	struct fixture fixture;
	uint32_t thread, object = fixture_begin(&fixture, "app", &thread);
	uint32_t main = fixture_frame(&fixture, object, 0x10, "main");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint32_t frame =
			fixture_frame(&fixture, object, 0x20 + (uint32_t)i * 0x10, rows[i].name);
		fixture_samples(
			&fixture, thread, FIXTURE_STACK(&fixture, main, frame), 0, rows[i].samples);
	}
	struct profile *profile = fixture_profile(&fixture);
	struct str out = {0};
	CHECK_OK(export_svg(profile, &(struct export_options){0}, byte_sink_to_text(&out)));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		CHECK(!rows[i].label || strstr(str_text(&out), rows[i].label));
	CHECK(!strstr(str_text(&out), ">m..") && !strstr(str_text(&out), ">me..") &&
		!strstr(str_text(&out), ">c.."));
	CHECK(!strstr(str_text(&out), "></text>"));
	str_deinit(&out);
	profile_destroy(profile);
}

TEST(flame_svg_of_a_renamed_function)
{
	struct profile *new = profile_of("after", 50), *old = profile_of("before", 100);
	struct export_baseline baseline = {old, "old", "new", NULL};
	check_diff(new, &baseline,
		(const char *const[]){
			"after, was before (app): 50.00% \xe2\x86\x92 50.00%, +0.00 pp, 100 "
			"\xe2\x86\x92 50 samples</title><rect class=\"same\"",
			NULL});
	profile_destroy(new);
	profile_destroy(old);
}
