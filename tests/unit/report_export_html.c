#include <string.h>

#include "report/analyse/frame_kind.h"
#include "report/compare/diff_lists.h"
#include "report/compare/difference.h"
#include "report/model/main_event.h"
#include "report/model/text/byte_sink.h"
#include "report/name/symbol/symbol_file_options.h"
#include "report/write/cause_words.h"
#include "report/write/diff/diff_words.h"
#include "report/write/export/html_code.h"
#include "report/write/export/html_data.h"
#include "report/write/export/html_parts.h"
#include "tests/unit/report_export_fixture.h"
#include "tests/unit/report_read_page.h"
#include "tests/unit/unit.h"

static struct page page_of(struct fixture *fixture, const struct html_data_limits *limits)
{
	struct page page = {0};
	struct bytes_buf out = {0};
	struct profile *profile = fixture_profile(fixture);
	struct html_data_side side = {.profile = profile, .event = main_event_of(profile)};
	html_data_put(&side, 1, limits ? limits : &html_data_limits, NULL, &out);
	read_page(&out, 1, 0, &page);
	bytes_buf_deinit(&out);
	profile_destroy(profile);
	return page;
}

/* main calls work (6) and rest (3), each a while itself; two threads. */
static void put_samples(struct fixture *fixture)
{
	uint32_t object = fixture_object(fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t process = fixture_process(fixture, 10, 0);
	uint32_t first = fixture_thread(fixture, process, 10, "app");
	uint32_t second = fixture_thread(fixture, process, 11, "worker");
	uint32_t main = fixture_frame(fixture, object, 0x10, "main");
	uint32_t work = fixture_frame(fixture, object, 0x20, "work");
	uint32_t leaf = fixture_frame(fixture, object, 0x30, "leaf");
	uint32_t rest = fixture_frame(fixture, object, 0x40, "rest");
	fixture_samples(fixture, second, FIXTURE_STACK(fixture, main, rest, leaf), 0, 2);
	fixture_samples(fixture, second, FIXTURE_STACK(fixture, main, rest), 0, 1);
	fixture_samples(fixture, first, FIXTURE_STACK(fixture, main, work), 0, 4);
	fixture_samples(fixture, first, FIXTURE_STACK(fixture, main, work, leaf), 0, 2);
	fixture_samples(fixture, first, 0, 0, 1);
}

TEST(html_data_of_stacks_that_lack_callers)
{
	struct fixture fixture;
	fixture_init(&fixture);
	put_samples(&fixture);
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 12, 0), 12, "cut");
	const struct layout_frame frame = {.offset = LAYOUT_TRUNCATED_NO_RULE};
	uint32_t cut = writer_frame(fixture.writer, &frame);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, cut), 0, 10);
	struct page page = page_of(&fixture, NULL);
	CHECK_STR(page.texts[8], "50.0% of the stacks are cut: callers may be missing. ebprof info "
				 "says in whose code, why, and what helps.");
	CHECK_INT(page.nr_causes, 1);
	CHECK_STR(page.functions[page.of_cause], "[truncated: no_unwind_rule]");
	CHECK_STR(page.cause, cause_of_truncation(LAYOUT_TRUNCATED_NO_RULE));
}

TEST(html_data_of_a_recording)
{
	struct fixture fixture;
	fixture_init(&fixture);
	put_samples(&fixture);
	struct page page = page_of(&fixture, NULL);
	CHECK_STR(page.texts[2], "cpu-clock");
	CHECK_STR(page.texts[3], "ns");
	CHECK_STR(page.texts[8], "");
	CHECK_INT(page.period, 1000000);
	CHECK_INT(page.samples, 10);
	CHECK_INT(page.weight, 10);
	CHECK_INT(page.other_samples + page.lost + page.folded + page.folded_weight, 0);
	CHECK_INT(page.nr_objects, 2);
	CHECK_STR(page.objects[page.function_objects[1]], "[vdso]");
	CHECK_INT(page.nr_threads, 2);
	CHECK_STR(page.comms[0], "app"); /* the busiest is the first */
	CHECK_INT(page.tids[1], 11);
	CHECK_INT(page.merged_threads, 0);
	CHECK_INT(page.nr_nodes, 6);
	CHECK_INT(page.nodes[0].weight, 1);
	read_page_check_node(&page, 1, "main 0");
	read_page_check_node(&page, 2, "main>work 4");
	read_page_check_node(&page, 3, "main>work>leaf 2");
	read_page_check_node(&page, 4, "main>rest 1");
	read_page_check_node(&page, 5, "main>rest>leaf 2");
}

TEST(html_data_tells_kinds_of_frames)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	uint32_t kernel = fixture_object(&fixture, LAYOUT_OBJECT_KERNEL, "[kernel.kallsyms]");
	uint32_t script = fixture_object(&fixture, LAYOUT_OBJECT_SCRIPT, "[python]");
	uint32_t native = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t loop = fixture_frame(&fixture, native, 0x10, "loop");
	uint32_t f = fixture_frame(&fixture, script, LAYOUT_SCRIPT_FIRST, "f");
	uint32_t fault = fixture_frame(&fixture, kernel, 0x40, "page_fault");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, loop, f),
		FIXTURE_STACK(&fixture, fault), 1);
	struct page page = page_of(&fixture, NULL);
	static const enum frame_kind kinds[] = {
		FRAME_UNNAMED, FRAME_LIBRARY, FRAME_PYTHON, FRAME_KERNEL};
	CHECK_INT(page.nr_functions, 4); /* and what stands for folded ones */
	for (size_t i = 0; i < 4; i++)
		CHECK_INT(page.function_kinds[i], kinds[i]);
}

/* work() was compiled twice. */
TEST(html_data_has_functions_that_are_shown_as_one_once)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	uint32_t native = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t start = fixture_frame(&fixture, native, 0x10, "start");
	uint32_t once = fixture_frame(&fixture, native, 0x20, "work");
	uint32_t again = fixture_frame(&fixture, native, 0x30, "work");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, start, once), 0, 3);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, start, again), 0, 1);
	struct page page = page_of(&fixture, NULL);
	CHECK_INT(page.nr_nodes, 3);
	read_page_check_node(&page, 2, "start>work 4");
}

/* The page has them from the one place that knows how to shorten. */
TEST(html_data_has_shorter_names)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	uint32_t script = fixture_object(&fixture, LAYOUT_OBJECT_SCRIPT, "[python]");
	uint32_t native = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t get = fixture_frame(&fixture, native, 0x10, "_ZN2ns3getIiEEvT_");
	uint32_t f =
		fixture_frame(&fixture, script, LAYOUT_SCRIPT_FIRST, "parse.<locals>.<lambda>");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, get, f), 0, 1);
	struct page page = page_of(&fixture, NULL);
	CHECK_INT(page.nr_functions, 3);
	for (size_t i = 1; i < 3; i++) {
		bool is_script = strcmp(page.functions[i], "parse.<locals>.<lambda>") == 0;
		CHECK_INT(page.nr_forms[i], is_script ? 0 : 4);
		if (!is_script)
			CHECK_STR(page.shortest[i], "get");
	}
}

/* A page of wall time can group by what it is the sum of. */
TEST(html_data_tells_parts_of_a_sum)
{
	struct fixture fixture;
	fixture_init(&fixture);
	put_samples(&fixture);
	struct page page = page_of(&fixture, NULL);
	CHECK_INT(page.nr_parts, 1);
	CHECK_STR(page.parts[0], "cpu-clock");
	CHECK(!page.is_wait[0]);
	CHECK_INT(page.nr_waits, 0);

	fixture_init(&fixture);
	put_samples(&fixture);
	struct layout_event event = {
		.name = fixture_string(&fixture, "offcpu"),
		.unit = fixture_string(&fixture, "ns"),
		.source = fixture_string(&fixture, "wait"),
	};
	struct layout_sample sample = {
		.time_ns = fixture.time_ns + 1000000,
		.event = writer_event(fixture.writer, &event),
		.thread = fixture_thread(&fixture, fixture_process(&fixture, 12, 0), 12, "idle"),
		.weight = 7000000,
		.measured = 7000000,
	};
	writer_sample(fixture.writer, &sample);
	page = page_of(&fixture, NULL);
	CHECK_STR(page.texts[2], "wall");
	CHECK_STR(page.comms[2], "idle"); /* behind those that ran less long than it waited */
	CHECK_INT(page.nr_waits, 1);
	CHECK_STR(page.waiting, "");
	CHECK(strstr(page.wait, "  7.0 ms     1     7.0 ms  idle:12  "));
	CHECK_INT(page.nr_parts, 2);
	CHECK_STR(page.parts[0], "cpu-clock");
	CHECK_STR(page.parts[1], "offcpu");
	CHECK(page.is_wait[1]);
	CHECK_INT(page.of_part[0], 10000000);
	CHECK_INT(page.of_part[1], 7000000);
}

/* Of what no file has there are no lines, and that is no function with lines. */
TEST(html_code_of_what_has_none)
{
	struct fixture fixture;
	fixture_init(&fixture);
	put_samples(&fixture);
	struct profile *profile = fixture_profile(&fixture);
	struct symbol_file_options files = {0};
	struct debug_dirs dirs = {0};
	const struct export_code code = {.files = &files, .source_dirs = &dirs};
	const uint32_t functions[] = {0, 1, 2};
	const uint64_t selves[] = {0, 4, 6};
	struct html_code_request request = {
		profile, main_event_of(profile), &code, functions, NULL, selves, 3};
	for (int i = 0; i < 2; i++, request.code = NULL) {
		struct bytes_buf out = {0};
		html_code_put(&request, &out);
		CHECK_INT(out.len, 1);
		CHECK_INT(out.data[0], 0);
		bytes_buf_deinit(&out);
	}
	profile_destroy(profile);
}

/* Events of one name, as merged recordings have them, are one part. */
TEST(html_parts_of_merged_events)
{
	struct profile_event events[] = {{0}, {.name = "cpu-clock"},
		{.name = "offcpu", .part_of = 4}, {.name = "cpu-clock", .first = 1, .part_of = 4},
		{.name = "wall", .is_sum = true}};
	events[1].part_of = 4;
	struct profile profile = {.events = {.data = events, .len = 5}};
	struct html_parts parts;
	struct html_data_side side = {.profile = &profile, .event = 4};
	html_parts_init(&parts, &side, 1);
	CHECK_INT(parts.list.len, 2);
	CHECK_INT(parts.numbers[0][3], parts.numbers[0][1]);
	CHECK(parts.numbers[0][2] != parts.numbers[0][1]);
	html_parts_deinit(&parts);
	side.event = 1;
	html_parts_init(&parts, &side, 1);
	CHECK_INT(parts.list.len, 1);
	html_parts_deinit(&parts);
}

TEST(html_data_of_nothing)
{
	struct fixture fixture;
	fixture_init(&fixture);
	struct page page = page_of(&fixture, NULL);
	CHECK_INT(page.nr_nodes, 1);
	CHECK_INT(page.nr_entries, 0);
	CHECK_INT(page.nr_threads, 1);
}

/* Small branches are folded, and nothing gets lost. */
TEST(html_data_folds_small_branches)
{
	struct fixture fixture;
	fixture_init(&fixture);
	put_samples(&fixture);
	struct html_data_limits limits = html_data_limits;
	limits.nodes = 3; /* the root, main, work */
	struct page page = page_of(&fixture, &limits);
	CHECK_INT(page.folded, 3);
	CHECK_INT(page.folded_weight, 5);
	CHECK_INT(page.weight, 10);
	CHECK_INT(page.nr_nodes, 5);
	read_page_check_node(&page, 2, "main>work 4");
	read_page_check_node(&page, 3, "main>work>[small branches] 2");
	read_page_check_node(&page, 4, "main>[small branches] 3");
	limits.nodes = 0;
	fixture_init(&fixture);
	put_samples(&fixture);
	page = page_of(&fixture, &limits);
	CHECK_INT(page.nr_nodes, 2);
	CHECK_INT(page.nodes[0].weight, 1);
	read_page_check_node(&page, 1, "[small branches] 9");
}

TEST(html_data_puts_idle_threads_together)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t process = fixture_process(&fixture, 10, 0);
	for (uint32_t i = 0; i < 5; i++)
		fixture_samples(
			&fixture, fixture_thread(&fixture, process, 20 + i, "t"), 0, 0, i + 1);
	struct html_data_limits limits = html_data_limits;
	limits.threads = 2;
	struct page page = page_of(&fixture, &limits);
	CHECK_INT(page.nr_threads, 2);
	CHECK_INT(page.tids[0], 24);
	CHECK_INT(page.merged_threads, 4);
	CHECK_INT(page.all_threads, 5);
	CHECK_INT(page.weight, 15);
}

/* A thread that got another name has two entries; one without samples is none of those shown. */
TEST(html_data_counts_renamed_threads_once)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t process = fixture_process(&fixture, 10, 0);
	fixture_samples(&fixture, fixture_thread(&fixture, process, 20, "sh"), 0, 0, 9);
	fixture_samples(&fixture, fixture_thread(&fixture, process, 20, "make"), 0, 0, 3);
	fixture_samples(&fixture, fixture_thread(&fixture, process, 20, "cc1"), 0, 0, 2);
	fixture_samples(&fixture, fixture_thread(&fixture, process, 21, "other"), 0, 0, 1);
	fixture_thread(&fixture, process, 22, "idle");
	struct html_data_limits limits = html_data_limits;
	limits.threads = 2;
	struct page page = page_of(&fixture, &limits);
	CHECK_INT(page.nr_threads, 2);
	CHECK_INT(page.merged_threads, 2);
	CHECK_INT(page.all_threads, 2);
}

/* The largest weights that a file may have, and too many nodes: nothing of one is lost in another.
 */
TEST(html_data_of_hostile_weights)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "x");
	uint32_t frames[3];
	for (uint32_t i = 0; i < 3; i++)
		frames[i] = fixture_frame(&fixture, object, 0x10 * (i + 1), "abc" + i);
	uint32_t stacks[] = {FIXTURE_STACK(&fixture, frames[0], frames[1]),
		FIXTURE_STACK(&fixture, frames[0], frames[2])};
	for (size_t i = 0; i < 2; i++) {
		struct layout_sample sample = {
			.time_ns = fixture.time_ns += 1000000,
			.event = fixture.event,
			.thread = thread,
			.user_stack = stacks[i],
			.weight = UINT64_MAX / 2 / 1000000, /* of the period */
		};
		writer_sample(fixture.writer, &sample);
	}
	struct html_data_limits limits = html_data_limits;
	limits.nodes = 1;
	struct page page = page_of(&fixture, &limits);
	/* The root, and one for what was left out. */
	CHECK_INT(page.nr_nodes, 2);
	read_page_check_node(&page, 1, "[small branches] 18446744073708");
}

/* First time gets coarser, then threads; an entry for each node remains. */
TEST(html_data_gets_coarser)
{
	struct html_data_limits limits = html_data_limits;
	uint64_t last_entries = UINT64_MAX;
	for (limits.entries = 10; limits.entries; limits.entries--) {
		struct fixture fixture;
		fixture_init(&fixture);
		put_samples(&fixture);
		struct page page = page_of(&fixture, &limits);
		CHECK_INT(page.weight, 10);
		CHECK(page.nr_entries <= last_entries);
		CHECK(page.nr_entries <= limits.entries || page.nr_entries == 5);
		last_entries = page.nr_entries;
		if (limits.entries == 10)
			CHECK_INT(page.nr_slices, 256);
	}
	CHECK_INT(last_entries, 5);
}

TEST(html_data_slices_time)
{
	struct fixture fixture;
	fixture_init(&fixture);
	put_samples(&fixture);
	struct html_data_limits limits = html_data_limits;
	limits.slices = 2;
	struct page page = page_of(&fixture, &limits);
	CHECK(page.slice_ns * 2 > page.span_ns);
	CHECK(page.slice_ns <= page.span_ns / 2 + 1);
	/* main>rest ran early in the second thread, work late in the first one. */
	CHECK_INT(page.slots[0], 2);
	CHECK_INT(page.slots[page.nr_entries - 1], 1);
}

TEST(html_data_keeps_one_event)
{
	struct fixture fixture;
	fixture_init(&fixture);
	put_samples(&fixture);
	fixture.event = fixture_event(&fixture, "off-cpu", "ns", 1);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[other]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "x");
	uint32_t wait = fixture_frame(&fixture, object, 0x10, "wait");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, wait), 0, 3);
	struct page page = page_of(&fixture, NULL);
	CHECK_INT(page.samples, 10);
	CHECK_INT(page.other_samples, 3);
	CHECK_INT(page.nr_nodes, 6); /* what only the other one ran is not there */
	CHECK_INT(page.nr_threads, 2);
}

TEST(html_data_escapes_names)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[<b>]");
	uint32_t thread =
		fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "\x1b[2J</script>");
	uint32_t odd = fixture_frame(&fixture, object, 0x10, "a\xe2\x80\xae\xff\x07</script>");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, odd), 0, 1);
	struct page page = page_of(&fixture, NULL);
	read_page_check_node(&page, 1, "a\\xe2\\x80\\xae\\xff\\x07</script> 1");
	CHECK_STR(page.comms[0], "\\x1b[2J</script>");
}

/* ---- two recordings ---- */

/* main calls work (2 of 4), gone (1) of one, work (3 of 6), fresh (2) of the other, main is 1. */
static struct profile *version_of(bool is_new)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t process = fixture_process(&fixture, is_new ? 20 : 10, 0);
	uint32_t thread = fixture_thread(&fixture, process, is_new ? 20 : 10, "app");
	uint32_t other = fixture_thread(&fixture, process, 11, is_new ? "new" : "old");
	uint32_t at = is_new ? 0x100 : 0;
	uint32_t main = fixture_frame(&fixture, object, at + 0x10, "main");
	uint32_t work = fixture_frame(&fixture, object, at + 0x20, "work");
	uint32_t leaf = fixture_frame(&fixture, object, at + 0x30, is_new ? "fresh" : "gone");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main, work), 0, is_new ? 3 : 2);
	fixture_samples(&fixture, other, FIXTURE_STACK(&fixture, main, leaf), 0, is_new ? 2 : 1);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main), 0, 1);
	return fixture_profile(&fixture);
}

/* Both columns of a page of the two, or of one and itself. */
static void pages_by(const struct profile *new, const struct profile *old,
	const struct html_data_limits *limits, struct page pages[2])
{
	struct bytes_buf out = {0};
	struct html_data_side sides[] = {
		{.profile = new, .name = "new.data"}, {.profile = old, .name = "old.data"}};
	CHECK_OK(main_event_of_both(new, old, &sides[0].event, &sides[1].event));
	html_data_put(sides, 2, limits, NULL, &out);
	for (size_t i = 0; i < 2; i++) {
		pages[i] = (struct page){0};
		read_page(&out, 2, i, &pages[i]);
	}
	bytes_buf_deinit(&out);
}

/* main calls what is called so, half of the time. */
static struct profile *profile_of(const char *name, unsigned half)
{
	struct fixture fixture;
	uint32_t thread, object = fixture_begin(&fixture, "[vdso]", &thread);
	uint32_t main = fixture_frame(&fixture, object, 0x10, "main");
	uint32_t named = fixture_frame(&fixture, object, 0x20, name);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main), 0, half);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main, named), 0, half);
	return fixture_profile(&fixture);
}

static void pages_of(
	const struct profile *new, const struct profile *old, uint32_t nodes, struct page pages[2])
{
	struct html_data_limits limits = html_data_limits_of_two;
	limits.nodes = nodes;
	pages_by(new, old, &limits, pages);
}

/* main calls a so often, and b. */
static struct profile *two_of(unsigned a, unsigned b)
{
	struct fixture fixture;
	uint32_t thread, object = fixture_begin(&fixture, "[vdso]", &thread);
	uint32_t main = fixture_frame(&fixture, object, 0x10, "main");
	uint32_t of_a = fixture_frame(&fixture, object, 0x20, "a");
	uint32_t of_b = fixture_frame(&fixture, object, 0x30, "b");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main, of_a), 0, a);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main, of_b), 0, b);
	return fixture_profile(&fixture);
}

TEST(html_data_of_a_renamed_function)
{
	struct profile *new = profile_of("after", 50), *old = profile_of("before", 100);
	struct page pages[2];
	pages_of(new, old, html_data_limits_of_two.nodes, pages);
	CHECK_INT(pages[0].nr_nodes, 3);
	read_page_check_node(&pages[0], 2, "main>after, was before 50");
	read_page_check_node(&pages[1], 2, "main>after, was before 100");
	profile_destroy(new);
	profile_destroy(old);
}

TEST(html_data_of_two)
{
	struct profile *new = version_of(true), *old = version_of(false);
	struct page pages[2];
	pages_of(new, old, html_data_limits_of_two.nodes, pages);
	CHECK_STR(pages[0].texts[0], "new.data");
	CHECK_STR(pages[1].texts[0], "old.data");
	CHECK_INT(pages[0].samples, 6);
	CHECK_INT(pages[1].samples, 4);
	CHECK_INT(pages[0].nr_nodes, 5);
	/* By shares of both: 0.5 and 0.5, 0.33 and 0, 0 and 0.25. */
	const char *const want[2][4] = {
		{"main 1", "main>work 3", "main>fresh 2", "main>gone 0"},
		{"main 1", "main>work 2", "main>fresh 0", "main>gone 1"},
	};
	for (size_t i = 0; i < 2; i++)
		for (uint32_t node = 0; node < 4; node++)
			read_page_check_node(&pages[i], node + 1, want[i][node]);
	CHECK_INT(pages[0].nr_threads, 3); /* by name */
	CHECK_STR(pages[0].comms[0], "app");
	CHECK_STR(pages[0].comms[1], "new");
	CHECK_STR(pages[0].processes[1], "app");
	CHECK_INT(pages[0].tids[0], 0);
	profile_destroy(new);
	profile_destroy(old);
}

/* What takes 13 % instead of 10 % of 1,000 samples, and once more than that. */
TEST(html_data_says_of_changes_what_diff_says)
{
	for (unsigned more = 30; more <= 130; more += 100) {
		struct profile *profiles[] = {two_of(100, 900), two_of(100 + more, 900 - more)};
		struct diff_options options = DIFF_OPTIONS_DEFAULT;
		struct html_data_limits limits = html_data_limits_of_two;
		struct difference *diff;
		limits.slices = 1;
		struct page pages[2];
		pages_by(profiles[1], profiles[0], &limits, pages);
		CHECK_OK(difference_create(profiles[0], profiles[1], &options, &diff));
		CHECK_INT(diff->verdict == DIFF_REGRESSION, more > 30);
		CHECK_INT(pages[0].verdict, diff->verdict);
		CHECK_INT(strncmp(pages[0].verdict_text, "REGRESSION: ", 12) == 0, more > 30);
		size_t found = 0;
		vec_each(&diff->rows, row)
			for (size_t i = 1; i < pages[0].nr_functions; i++) {
				if (strcmp(pages[0].functions[i], row->name) != 0)
					continue;
				CHECK_INT(pages[0].verdicts[i][0], row->self.verdict);
				CHECK_INT(pages[0].verdicts[i][1], row->total.verdict);
				found++;
			}
		CHECK_INT(found, 3);
		CHECK_INT(pages[0].nr_lists, DIFF_LISTS);
		CHECK_INT(pages[0].nr_rows[DIFF_LIST_REGRESSIONS], more > 30);
		if (more > 30) {
			const char *const *want =
				(const char *const[]){"a", "10.00%", "23.00%", "+168.8%"};
			for (size_t i = 0; i < 4; i++)
				CHECK_STR(pages[0].row[DIFF_LIST_REGRESSIONS][i], want[i]);
			uint64_t number = pages[0].row_function[DIFF_LIST_REGRESSIONS];
			CHECK_STR(pages[0].functions[number - 1], "a");
		}
		difference_destroy(diff);
		profile_destroy(profiles[0]);
		profile_destroy(profiles[1]);
	}
}

static void check_same_changes(const struct page *a, const struct page *b)
{
	CHECK_INT(a->verdict, b->verdict);
	CHECK_STR(a->verdict_text, b->verdict_text);
	CHECK_INT(a->nr_lists, b->nr_lists);
	for (size_t list = 0; list < DIFF_LISTS; list++) {
		CHECK_INT(a->nr_rows[list], b->nr_rows[list]);
		for (size_t i = 0; i < 5; i++)
			CHECK_STR(a->row[list][i], b->row[list][i]);
		CHECK_INT(!a->row_function[list], !b->row_function[list]);
		if (a->row_function[list])
			CHECK_STR(a->functions[a->row_function[list] - 1],
				b->functions[b->row_function[list] - 1]);
	}
	CHECK_INT(a->nr_functions, b->nr_functions);
	for (size_t i = 1; i < a->nr_functions; i++) {
		size_t k = 1;
		while (k < b->nr_functions && strcmp(a->functions[i], b->functions[k]) != 0)
			k++;
		CHECK(k < b->nr_functions);
		CHECK_INT(a->verdicts[i][0], b->verdicts[k][0]);
		CHECK_INT(a->verdicts[i][1], b->verdicts[k][1]);
	}
}

/* The second column's changes are those of a page whose sides are swapped. */
TEST(html_data_has_the_changes_with_the_sides_swapped)
{
	struct profile *profiles[] = {two_of(1000, 9000), two_of(2300, 7700)};
	struct html_data_limits limits = html_data_limits_of_two;
	limits.slices = 1;
	struct page pages[2], swapped[2];
	pages_by(profiles[1], profiles[0], &limits, pages);
	pages_by(profiles[0], profiles[1], &limits, swapped);
	CHECK_INT(pages[0].verdict, DIFF_REGRESSION);
	CHECK(strcmp(pages[0].verdict_text, pages[1].verdict_text) != 0);
	check_same_changes(&pages[1], &swapped[0]);
	check_same_changes(&pages[0], &swapped[1]);
	profile_destroy(profiles[0]);
	profile_destroy(profiles[1]);
}

TEST(html_data_of_two_folds_by_shares)
{
	struct profile *new = version_of(true), *old = version_of(false);
	struct page pages[2];
	pages_of(new, old, 3, pages); /* the root, main, work */
	CHECK_INT(pages[0].folded, 2);
	CHECK_INT(pages[0].folded_weight, 2);
	CHECK_INT(pages[1].folded_weight, 1);
	read_page_check_node(&pages[0], 3, "main>[small branches] 2");
	read_page_check_node(&pages[1], 3, "main>[small branches] 1");
	profile_destroy(new);
	profile_destroy(old);
}

TEST(html_data_of_one_and_itself_or_nothing)
{
	struct profile *new = version_of(true);
	struct page pages[2];
	pages_of(new, new, html_data_limits_of_two.nodes, pages);
	CHECK_INT(pages[0].nr_nodes, 4);
	for (uint32_t node = 0; node < 4; node++)
		CHECK_INT(pages[0].nodes[node].weight, pages[1].nodes[node].weight);
	struct fixture fixture;
	fixture_init(&fixture);
	struct profile *empty = fixture_profile(&fixture);
	for (size_t i = 0; i < 2; i++) {
		pages_of(i ? empty : new, i ? new : empty, html_data_limits_of_two.nodes, pages);
		CHECK_INT(pages[i].weight, 6);
		CHECK_INT(pages[1 - i].weight, 0);
		CHECK_STR(pages[1 - i].texts[2], "cpu-clock");
	}
	pages_of(empty, empty, html_data_limits_of_two.nodes, pages);
	CHECK_INT(pages[0].nr_nodes, 1);
	profile_destroy(empty);
	profile_destroy(new);
}

TEST(export_refuses_other_events)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "x");
	fixture.event = fixture_event(&fixture, "cycles", "", 1);
	fixture_samples(&fixture, thread, 0, 0, 1);
	struct profile *cycles = fixture_profile(&fixture), *new = version_of(true);
	struct export_baseline baseline = {.profile = cycles, .name = "a", .profile_name = "b"};
	struct export_options options = {.baseline = &baseline};
	struct bytes_buf out = {0};
	struct err *err = export_html(new, &options, byte_sink_to_bytes(&out));
	CHECK(err);
	CHECK_STR(err_message(err), "the recordings cannot be compared: this one counts cpu-clock, "
				    "the baseline cycles (--event chooses what both have; "
				    "diff --force compares them nevertheless)");
	CHECK_INT(out.len, 0);
	err_destroy(err);
	bytes_buf_deinit(&out);
	profile_destroy(cycles);
	profile_destroy(new);
}

/* ---- the page ---- */

TEST(html_page_has_no_foreign_byte)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[<b>]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "evil");
	uint32_t odd = fixture_frame(&fixture, object, 0x10, "evil</script>");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, odd), 0, 1);
	struct profile *profile = fixture_profile(&fixture);
	struct bytes_buf out = {0};
	fixture_export(profile, EXPORT_HTML, 0, &out);
	const char *page = (const char *)out.data;
	CHECK(strncmp(page, "<!doctype html>", 15) == 0);
	CHECK(strstr(page, "default-src 'none'; script-src 'sha256-"));
	CHECK(!strstr(page, "_HASH@") && !strstr(page, "@DATA@"));
	CHECK(!strstr(page, "evil"));
	const char *data = strstr(page, "base64\">");
	CHECK(data && strncmp(data + 8, "H4sI", 4) == 0); /* gzip */
	size_t len = strspn(data + 8, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789+/=");
	CHECK(strncmp(data + 8 + len, "</script>", 9) == 0);
	bytes_buf_deinit(&out);
	profile_destroy(profile);
}
