#include <string.h>

#include "report/compare/difference.h"
#include "report/model/text/byte_sink.h"
#include "report/tui/baseline.h"
#include "report/write/export/export.h"
#include "tests/unit/report_tui_fixture.h"
#include "tests/unit/unit.h"

/* Two threads; what each does is counted in samples. */
struct counts {
	unsigned work, idle, extra, old;
};

static struct profile *recording(const struct counts *counts)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t app = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "app");
	uint32_t lib = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "lib.so.1");
	uint32_t process = fixture_process(&fixture, 10, app);
	uint32_t first = fixture_thread(&fixture, process, 10, "first");
	uint32_t second = fixture_thread(&fixture, process, 11, "second");
	uint32_t main = fixture_frame(&fixture, app, 0x10, "main");
	uint32_t work = fixture_frame(&fixture, app, 0x20, "_Z4worki");
	uint32_t idle = fixture_frame(&fixture, lib, 0x30, "idle");
	uint32_t extra = fixture_frame(&fixture, lib, 0x40, "extra");
	uint32_t old = fixture_frame(&fixture, app, 0x50, "old");
	fixture_samples(&fixture, first, FIXTURE_STACK(&fixture, main, work), 0, counts->work);
	fixture_samples(&fixture, second, FIXTURE_STACK(&fixture, main, idle), 0, counts->idle);
	fixture_samples(&fixture, second, FIXTURE_STACK(&fixture, main, extra), 0, counts->extra);
	fixture_samples(&fixture, first, FIXTURE_STACK(&fixture, main, old), 0, counts->old);
	return fixture_profile(&fixture);
}

static const struct counts before = {.work = 500, .idle = 400, .old = 100};
static const struct counts after = {.work = 1400, .idle = 402, .extra = 198};

/* main calls what is called so, half of the time. */
static struct profile *recording_of(const char *name, unsigned half)
{
	struct fixture fixture;
	uint32_t thread, app = fixture_begin(&fixture, "app", &thread);
	uint32_t main = fixture_frame(&fixture, app, 0x10, "main");
	uint32_t named = fixture_frame(&fixture, app, 0x20, name);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main), 0, half);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main, named), 0, half);
	return fixture_profile(&fixture);
}

struct test {
	struct screen screen;
	struct baseline *baseline;
	unsigned compared; /* serial of the wish */
};

/* What the worker does. */
static void compare(struct test *test)
{
	struct screen *screen = &test->screen;
	if (!screen->app.wish.baseline || test->compared == screen->app.wish.serial)
		return;
	test->compared = screen->app.wish.serial;
	struct model *model = model_create(screen->profile, screen->names, &screen->app.wish, NULL);
	CHECK(baseline_compare(test->baseline, model, &screen->app.wish, NULL));
	app_update(&screen->app, model);
}

static void type(struct test *test, const char *keys)
{
	screen_type(&test->screen, keys);
	compare(test);
}

static void test_init(struct test *test, int width, int height)
{
	*test = (struct test){.baseline = baseline_create("old.data", recording(&before))};
	screen_init(&test->screen, recording(&after), width, height);
	type(test, "Dold.data\n");
}

static void test_deinit(struct test *test)
{
	screen_deinit(&test->screen);
	baseline_destroy(test->baseline);
}

/* What was selected in Top is the last of the list, and would be all that is seen of it. */
TEST(tui_diff_begins_at_its_first_row)
{
	struct test test;
	test = (struct test){.baseline = baseline_create("old.data", recording(&before))};
	screen_init(&test.screen, recording(&after), 80, 12);
	type(&test, "G");
	CHECK(strstr(screen_line(&test.screen, 10), "main"));
	type(&test, "Dold.data\n");
	CHECK(strstr(screen_line(&test.screen, 10), "extra"));
	CHECK(strstr(screen_text(&test.screen), "+9.90"));
	CHECK(screen_style(&test.screen, "+ extra") & STYLE_SELECTED);
	type(&test, "1");
	CHECK_INT(screen_selected(&test.screen), 3);
	type(&test, "j8"); /* what is on the first screen stays selected */
	CHECK(strstr(screen_line(&test.screen, 10), "idle"));
	test_deinit(&test);
}

/* Where something else takes much longer still, its share is smaller than before. */
TEST(tui_diff_says_what_takes_longer_with_a_smaller_share)
{
	static const struct counts few = {.work = 6000, .idle = 3000, .old = 1000};
	static const struct counts many = {.work = 20000, .idle = 3000, .old = 2000};
	struct test test;
	test = (struct test){.baseline = baseline_create("old.data", recording(&few))};
	screen_init(&test.screen, recording(&many), 110, 14);
	type(&test, "Dold.data\n");
	CHECK(strstr(screen_text(&test.screen), "new 80.00%  takes 233.3% longer"));
	type(&test, "j");
	CHECK(strstr(
		screen_text(&test.screen), "-2.00  before 10.00%  new 8.00%  takes 100.0% longer"));
	test_deinit(&test);
}

/* D of a file from which another recording came later: what is better looks worse. */
TEST(tui_diff_says_when_before_is_the_later_one)
{
	struct fixture later;
	fixture_init_at(&later, &(struct layout_clock){1000, 2000000000000000000});
	uint32_t thread = fixture_thread(&later, fixture_process(&later, 10, 0), 10, "first");
	fixture_samples(&later, thread, 0, 0, 10);
	struct test test;
	test = (struct test){.baseline = baseline_create("later.data", fixture_profile(&later))};
	screen_init(&test.screen, recording(&after), 80, 14);
	type(&test, "D");
	CHECK(strstr(screen_line(&test.screen, 13), "(the earlier one, \"before\"):"));
	type(&test, "later.data\n");
	CHECK(strstr(screen_text(&test.screen), "X swaps: \"before\" is the later recording"));
	type(&test, "X");
	CHECK(!strstr(screen_text(&test.screen), "is the later recording"));
	test_deinit(&test);
	test_init(&test, 80, 14);
	CHECK(!strstr(screen_text(&test.screen), "is the later recording"));
	test_deinit(&test);
}

/* The same the other way round: filters and what is selected stay those of what is open. */
TEST(tui_diff_swaps_its_sides)
{
	struct test test;
	test_init(&test, 80, 12);
	type(&test, "X");
	CHECK_STR(screen_lines(&test.screen, 2, 7),
		"before: 2000 samples, 2.00 s  new old.data: 1000 samples, 1.00 s\n"
		"~ cannot tell\n"
		"  before      new        ppv less | more file              function (+new -old)\n"
		"  20.10%   40.00%     +19.90      |+++++ lib.so.1          idle\n"
		"       -   10.00%     +10.00      |+++   app             + old\n"
		"   9.90%        -      -9.90   ---|      lib.so.1        - extra\n"
		"  70.00%   50.00%    ~-20.00 -----|      app               work(int)\n");
	CHECK_INT(screen_selected(&test.screen), 5);
	type(&test, "j\n"); /* what is new is in the other recording */
	CHECK_STR(str_text(&test.screen.app.message), "it is new: only \"new\" has it");
	type(&test, "j");
	CHECK(strstr(screen_line(&test.screen, 10), "extra"));
	type(&test, "kkd"); /* the object of idle, which both have */
	CHECK_STR(screen_lines(&test.screen, 3, 1),
		"before: 600 samples, 600.0 ms  new old.data: 400 samples, 400.0 ms\n");
	type(&test, "\x1b");
	test.screen.app.selection.thread = 2;
	type(&test, "t");
	CHECK(strstr(screen_text(&test.screen), "new is of all threads and of all its time"));
	type(&test, "\x1b");
	type(&test, "X");
	CHECK_STR(screen_lines(&test.screen, 2, 1),
		"before old.data: 1000 samples, 1.00 s  new: 2000 samples, 2.00 s\n");
	type(&test, "1X");
	CHECK(strstr(str_text(&test.screen.app.message), "nothing is compared here"));
	test_deinit(&test);
}

TEST(tui_diff_without_a_baseline)
{
	struct screen screen;
	screen_init(&screen, recording(&after), 60, 10);
	screen_type(&screen, "8");
	CHECK_STR(screen_lines(&screen, 2, 3),
		"There is nothing to compare with yet.\n"
		"D loads an earlier recording: the baseline, \"before\".\n"
		"Or: ebprof report x.data --baseline FILE\n");
	screen_type(&screen, "jkG>s%nN");
	screen_deinit(&screen);
}

TEST(tui_diff_rows)
{
	struct test test;
	test_init(&test, 80, 12);
	CHECK_STR(screen_lines(&test.screen, 2, 8),
		"before old.data: 1000 samples, 1.00 s  new: 2000 samples, 2.00 s\n"
		"~ cannot tell\n"
		"  before      new        ppv less | more file              function (+new -old)\n"
		"       -    9.90%      +9.90      |+++   lib.so.1        + extra\n"
		"  40.00%   20.10%     -19.90 -----|      lib.so.1          idle\n"
		"  10.00%        -     -10.00   ---|      app             - old\n"
		"  50.00%   70.00%    ~+20.00      |+++++ app               work(int)\n"
		"   0.00%    0.00%      +0.00      |      app               main\n");
	CHECK_INT(screen_style(&test.screen, "+20.00") & 0xff, STYLE_DIM);
	CHECK_INT(screen_style(&test.screen, "-19.90") & 0xff, STYLE_BETTER);
	CHECK_INT(screen_style(&test.screen, "+9.90") & 0xff, STYLE_WORSE);
	test_deinit(&test);
}

/* Where there is room: what `ebprof diff` says first. What is sure comes first in the list, too. */
TEST(tui_diff_says_a_verdict)
{
	struct test test;
	test_init(&test, 80, 24);
	CHECK(strncmp(screen_line(&test.screen, 2), "REGRESSION: ", 12) == 0);
	CHECK_INT(screen_style(&test.screen, "REGRESSION") & 0xff, STYLE_WORSE);
	CHECK(strstr(screen_line(&test.screen, 6), "+ extra"));
	CHECK(strstr(screen_line(&test.screen, 9), "work(int)"));
	test_deinit(&test);
}

/* 13 % instead of 10 % of 1,000 samples: `ebprof diff` cannot tell that from chance. */
TEST(tui_diff_does_not_contradict_diff)
{
	struct profile *base = recording(&(struct counts){.work = 100, .idle = 900});
	struct profile *new = recording(&(struct counts){.work = 130, .idle = 870});
	struct diff_options options = DIFF_OPTIONS_DEFAULT;
	struct difference *diff;
	CHECK_OK(difference_create(base, new, &options, &diff));
	CHECK_INT(diff->rows.data[0].self.verdict, DIFF_INCONCLUSIVE);
	difference_destroy(diff);
	struct test test = {.baseline = baseline_create("old.data", base)};
	screen_init(&test.screen, new, 80, 12);
	type(&test, "Dold.data\n");
	CHECK(strstr(screen_text(&test.screen), " ~+3.00 "));
	CHECK_INT(screen_style(&test.screen, "~+3.00") & 0xff, STYLE_DIM);
	test_deinit(&test);
}

/* Percent of the base's share, then time, then samples. */
TEST(tui_diff_units)
{
	struct test test;
	test_init(&test, 60, 12);
	type(&test, "%");
	CHECK_STR(screen_lines(&test.screen, 5, 4), "       -    9.90%        new + extra\n"
						    "  40.00%   20.10%     -49.7%   idle\n"
						    "  10.00%        -    removed - old\n"
						    "  50.00%   70.00%    ~+40.0%   work(int)\n");
	type(&test, "%");
	CHECK_STR(screen_lines(&test.screen, 5, 3), "       - 198.0 ms  +198.0 ms + extra\n"
						    "100.0 ms        -  -100.0 ms - old\n"
						    "400.0 ms 402.0 ms    +2.0 ms   idle\n");
	type(&test, "%");
	CHECK_STR(screen_lines(&test.screen, 5, 1), "       -      198       +198 + extra\n");
	test_deinit(&test);
}

TEST(tui_diff_order_selection_and_search)
{
	struct test test;
	test_init(&test, 80, 12);
	type(&test, "gjj"); /* what has gone stays selected, without a frame */
	CHECK_INT(test.screen.app.selection.frame, 0);
	int gone = screen_selected(&test.screen);
	CHECK_INT(gone, 7);
	CHECK_STR(screen_line(&test.screen, 10), "old  app  -10.00  before 10.00%  new -");
	CHECK(strstr(screen_line(&test.screen, 11), "Enter callers"));
	type(&test, "\n");
	CHECK_STR(str_text(&test.screen.app.message), "it was removed: only \"before\" has it");
	CHECK_INT(screen_style(&test.screen, "it was removed") & STYLE_MASK, STYLE_KEY);
	type(&test, ">"); /* over what is not shown, or has no order of its own */
	CHECK_STR(screen_lines(&test.screen, 4, 2),
		"  before      new         pp less | more file^             function (+new -old)\n"
		"  50.00%   70.00%    ~+20.00      |+++++ app               work(int)\n");
	CHECK_INT(screen_selected(&test.screen), 5); /* another order begins at its first row */
	type(&test, "/ol\n");
	type(&test, "gn");
	CHECK(screen_style(&test.screen, "old  ") & STYLE_MATCH);
	CHECK_INT(screen_selected(&test.screen), 7);
	type(&test, "<s");
	test_deinit(&test);
}

/* Which of the matches is selected, by the time of both recordings, in both forms of the trees. */
TEST(tui_diff_counts_matches_in_both_trees)
{
	struct test test;
	test_init(&test, 80, 20);
	type(&test, "8/work|idle");
	type(&test, "\n");
	CHECK(strstr(screen_text(&test.screen), "/work|idle: 1/2\n"));
	type(&test, "n");
	CHECK(strstr(screen_text(&test.screen), "/work|idle: 2/2\n"));
	type(&test, "8");
	CHECK(strstr(screen_text(&test.screen), "/work|idle: 2/2\n"));
	type(&test, "n");
	CHECK(strstr(screen_text(&test.screen), "/work|idle: 1/2\n"));
	type(&test, "g");
	CHECK(strstr(screen_text(&test.screen), "/work|idle: 2 matches\n"));
	test_deinit(&test);
}

/* Names mean the same on both sides; threads do not. */
/* What was removed is none of the functions that are there now. */
TEST(tui_diff_finds_what_was_removed)
{
	struct test test;
	test_init(&test, 80, 20);
	type(&test, "/old");
	type(&test, "\n");
	CHECK(strstr(screen_line(&test.screen, screen_selected(&test.screen)), "- old"));
	CHECK(strstr(screen_text(&test.screen), "/old: 1/1"));
	CHECK(!strstr(screen_line(&test.screen, 19), "nothing matches"));
	CHECK_INT(screen_style(&test.screen, "+ extra") & STYLE_MASK, STYLE_DIM);
	type(&test, "8"); /* in the tree of both, as in their flames */
	CHECK(strstr(screen_text(&test.screen), "/old: 1 match\n")); /* selected is another one */
	type(&test, "n");
	CHECK(strstr(screen_text(&test.screen), "/old: 1/1\n"));
	type(&test, "l");
	CHECK_INT(screen_style(&test.screen, "idle  lib") & STYLE_MASK, STYLE_DIM);
	CHECK(screen_style(&test.screen, "old  (removed)") & STYLE_MATCH);
	type(&test, "g\n/old");
	type(&test, "\n");
	CHECK(strstr(screen_line(&test.screen, screen_selected(&test.screen)), "old"));
	test_deinit(&test);
}

TEST(tui_diff_filters)
{
	struct test test;
	test_init(&test, 80, 12);
	type(&test, "\\idle\n");
	CHECK_STR(screen_lines(&test.screen, 3, 3),
		"before old.data: 400 samples, 400.0 ms  new: 402 samples, 402.0 ms\n"
		"  before      new        ppv less | more file              function (+new -old)\n"
		" 100.00%  100.00%      +0.00             lib.so.1          idle\n");
	type(&test, "\x1b");
	test.screen.app.selection.thread = 2;
	type(&test, "t");
	CHECK_STR(screen_lines(&test.screen, 3, 2),
		"before old.data: 1000 samples, 1.00 s  new: 600 samples, 600.0 ms\n"
		"before is of all threads and of all its time; ~ cannot tell\n");
	type(&test, "\x1b");
	type(&test, "/idle\n");
	type(&test, "n");
	type(&test, "d");
	CHECK_STR(screen_lines(&test.screen, 3, 1),
		"before old.data: 400 samples, 400.0 ms  new: 600 samples, 600.0 ms\n");
	test_deinit(&test);
}

/* Both call trees as one: what has gone stands beside what is new. */
TEST(tui_diff_tree)
{
	struct test test;
	test_init(&test, 80, 14);
	type(&test, "8E");
	CHECK_STR(screen_lines(&test.screen, 4, 6),
		"  before      new     change function v callees\n"
		" 100.00%  100.00%      +0.00 - main  app\n"
		"  50.00%   70.00%    ~+20.00 |-- work(int)  app\n"
		"  40.00%   20.10%     -19.90 |-- idle  lib.so.1\n"
		"  10.00%        -     -10.00 |-- old  (removed) app\n"
		"       -    9.90%      +9.90 `-- extra  (new) lib.so.1\n");
	CHECK_INT(screen_style(&test.screen, "old  (removed)") & STYLE_MASK, STYLE_BETTER);
	CHECK_INT(screen_style(&test.screen, "extra  (new)") & STYLE_MASK, STYLE_WORSE);
	type(&test, "G\n");
	CHECK_STR(screen_lines(&test.screen, 2, 1), "> diff in extra\n");
	CHECK_STR(screen_lines(&test.screen, 6, 2),
		"       -    9.90%      +9.90   extra  (new) lib.so.1\n\n");
	type(&test, "\x1b");
	CHECK_STR(screen_lines(&test.screen, 5, 2),
		" 100.00%  100.00%      +0.00 - main  app\n"
		"  50.00%   70.00%    ~+20.00 |-- work(int)  app\n");
	type(&test, "I");
	CHECK_STR(screen_lines(&test.screen, 4, 5),
		"  before      new     change function v callers\n"
		"  50.00%   70.00%    ~+20.00 + work(int)  app\n"
		"  40.00%   20.10%     -19.90 + idle  lib.so.1\n"
		"  10.00%        -     -10.00 + old  (removed) app\n"
		"       -    9.90%      +9.90 + extra  (new) lib.so.1\n");
	type(&test, "/ext\n");
	type(&test, "gn");
	CHECK(screen_style(&test.screen, "extra") & STYLE_MATCH);
	type(&test, "%%");
	CHECK_STR(screen_lines(&test.screen, 6, 1),
		"500.0 ms   1.40 s ~+900.0 ms + work(int)  app\n");
	test_deinit(&test);
}

/* What changed most is seen first, however little of the time it is. */
TEST(tui_diff_tree_is_ordered_by_change)
{
	struct test test = {.baseline = baseline_create(
				    "old.data", recording(&(struct counts){800, 100, .old = 100}))};
	screen_init(&test.screen, recording(&(struct counts){820, 20, .extra = 160}), 80, 14);
	type(&test, "Dold.data\n");
	type(&test, "8E");
	CHECK_STR(screen_lines(&test.screen, 5, 5),
		" 100.00%  100.00%      +0.00 - main  app\n"
		"       -   16.00%     +16.00 |-- extra  (new) lib.so.1\n"
		"  10.00%        -     -10.00 |-- old  (removed) app\n"
		"  10.00%    2.00%      -8.00 |-- idle  lib.so.1\n"
		"  80.00%   82.00%      +2.00 `-- work(int)  app\n");
	type(&test, "%%%");
	type(&test, "I");
	CHECK(strstr(screen_line(&test.screen, 5), "extra"));
	CHECK(strstr(screen_line(&test.screen, 8), "work"));
	test_deinit(&test);
}

/* It has neither gone nor is it new, and is found in the base by its new name. */
TEST(tui_diff_of_a_renamed_function)
{
	struct test test = {.baseline = baseline_create("old.data", recording_of("before", 500))};
	screen_init(&test.screen, recording_of("after", 600), 100, 14);
	type(&test, "Dold.data\n");
	CHECK(strstr(screen_text(&test.screen), "  after, was before\n"));
	type(&test, "8E");
	CHECK_STR(screen_lines(&test.screen, 4, 2),
		" 100.00%  100.00%      +0.00 - main  app\n"
		"  50.00%   50.00%      +0.00 `-- after, was before  app\n");
	type(&test, "8");
	CHECK(strstr(screen_text(&test.screen), "after, was before  +0.00"));
	type(&test, "/after\n");
	type(&test, "n");
	type(&test, "f");
	CHECK_STR(screen_lines(&test.screen, 3, 1),
		"before old.data: 500 samples, 500.0 ms  new: 600 samples, 600.0 ms\n");
	test_deinit(&test);
}

/* Of both forms, and not of the tree of one recording. */
TEST(tui_diff_zooms_are_steps_of_the_trail)
{
	struct test test;
	test_init(&test, 80, 14);
	type(&test, "8EGk\n");
	type(&test, "8");
	CHECK_STR(screen_line(&test.screen, 2), "> diff in old");
	CHECK_INT(app_zoomed_node(&test.screen.app), 0);
	const struct model *model = test.screen.app.model;
	type(&test, "\x1b");
	CHECK(strstr(screen_text(&test.screen), "|work(int)"));
	screen_key(&test.screen, INPUT_CTRL('r'));
	CHECK_STR(screen_line(&test.screen, 2), "> diff in old");
	CHECK(!strstr(screen_text(&test.screen), "|work(int)"));
	type(&test, "R");
	CHECK(strstr(screen_text(&test.screen), "|work(int)"));
	CHECK(test.screen.app.model == model); /* nothing was to be computed */
	screen_key(&test.screen, INPUT_CTRL('r'));
	type(&test, "I"); /* a zoom of the other direction is none here */
	CHECK(strstr(screen_text(&test.screen), "|work(int)"));
	type(&test, "Dother.data\n");
	CHECK_INT(test.screen.app.trail.done.len, 0);
	test_deinit(&test);
}

/* ... however little room there is for the file. */
TEST(tui_diff_tree_says_what_was_removed)
{
	struct test test;
	test_init(&test, 80, 14);
	type(&test, "X");
	type(&test, "8A");
	for (int width = 46; width < 70; width++)
		CHECK(strstr(screen_resize(&test.screen, width, 14), "extra  (removed)"));
	test_deinit(&test);
}

/* It is merged once of the same names, and what only the base has is found by new ones. */
TEST(tui_diff_tree_goes_on)
{
	struct test test;
	test_init(&test, 80, 14);
	type(&test, "8EGk\n");
	const struct app *app = &test.screen.app;
	const char *zoomed = "callees\n  10.00%        -     -10.00   old  (removed) app\n\n";
	CHECK(strstr(screen_text(&test.screen), zoomed));
	const struct model_names *names = app->model->comparison->both->names;
	type(&test, "/idle\n");
	CHECK(app->model->comparison->both->names == names);
	CHECK(strstr(screen_text(&test.screen), zoomed));
	screen_rename(&test.screen);
	test.compared = 0;
	compare(&test);
	CHECK(strstr(screen_text(&test.screen), zoomed));
	type(&test, "\\idle\n");
	CHECK(strstr(screen_text(&test.screen), " 100.00%  100.00%"));
	test_deinit(&test);
}

TEST(tui_diff_flame)
{
	struct test test;
	test_init(&test, 82, 12);
	type(&test, "88");
	CHECK_STR(screen_lines(&test.screen, 4, 4),
		"callers on top, by name\n"
		"|all  +0.00\n"
		"|main  +0.00\n"
		"+ext<idle  -19.90            -old|work(int)  ~+20.00\n");
	CHECK_INT(
		screen_style(&test.screen, "+ext") & STYLE_MASK, STYLE_CHANGE + STYLE_CHANGES - 1);
	CHECK_INT(screen_style(&test.screen, "-old") & STYLE_MASK, STYLE_CHANGE);
	type(&test, "jjlll");
	CHECK_STR(screen_line(&test.screen, 10),
		"work(int)  app  ~+20.00  before 50.00%  new 70.00%");
	type(&test, "\n");
	CHECK_STR(screen_lines(&test.screen, 7, 1), "|work(int)  ~+20.00\n");
	type(&test, "\x1bI");
	CHECK_STR(screen_lines(&test.screen, 5, 3),
		"|all  +0.00\n"
		"+ext<idle  -19.90            -old|work(int)  ~+20.00\n"
		"+mai<main  -19.90            -mai|main  ~+20.00\n");
	type(&test, "8"); /* and the list again */
	CHECK_STR(screen_lines(&test.screen, 5, 1),
		"       -    9.90%      +9.90      |+++   lib.so.1        + extra\n");
	test_deinit(&test);
}

/* The picture is the one that an export makes of the same. */
TEST(tui_diff_flame_is_printed_as_a_picture)
{
	struct test test;
	test_init(&test, 82, 12);
	type(&test, "88P");
	CHECK_STR(str_text(&test.screen.app.typed), "ebprof-diff.svg");
	type(&test, "\n");
	struct profile *base = recording(&before);
	struct export_baseline baseline = {base, "old.data", "x.data", NULL};
	struct export_options options = {.baseline = &baseline};
	CLEANUP(str_deinit) struct str want = {0};
	CHECK(!export_svg(test.screen.profile, &options, byte_sink_to_text(&want)));
	CHECK_STR(str_text(&test.screen.app.to_print.text), str_text(&want));
	profile_destroy(base);
	app_print_deinit(&test.screen.app.to_print);
	type(&test, "jjl\nP\n"); /* and of a zoom */
	CHECK(strstr(str_text(&test.screen.app.to_print.text), "class=\"caller\""));
	app_print_deinit(&test.screen.app.to_print);
	type(&test, "8P");
	CHECK_STR(str_text(&test.screen.app.typed), "ebprof-diff.txt");
	test_deinit(&test);
}

TEST(tui_diff_narrow)
{
	struct test test;
	test_init(&test, 20, 5);
	CHECK_STR(screen_text(&test.screen), "x.data  2000 samples\n"
					     "       ppv   functio\n"
					     "     +9.90 + extra\n"
					     "    -19.90   idle\n"
					     "? help  q quit\n");
	test_deinit(&test);
}

/* No file, no recording, no file at all: a message. */
TEST(tui_diff_problems)
{
	static const struct {
		const char *path, *problem;
	} cases[] = {
		{"/nonexistent/x", "cannot open it: No such file or directory"},
		{"/dev/zero", "it is no regular file"},
		{"/", "it is no regular file"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct test test = {0};
		test.baseline = baseline_load(
			cases[i].path, &(struct symbolize_options){0}, &(struct filter){0}, NULL);
		screen_init(&test.screen, recording(&after), 80, 12);
		app_compare_with(&test.screen.app, cases[i].path);
		compare(&test);
		CLEANUP(str_deinit) struct str want = {0};
		str_printf(&want, "%s: %s\nD chooses another recording.\n", cases[i].path,
			cases[i].problem);
		CHECK_STR(screen_lines(&test.screen, 2, 2), str_text(&want));
		test_deinit(&test);
	}
}
