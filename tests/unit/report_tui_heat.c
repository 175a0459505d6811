#include <stdio.h>
#include <string.h>

#include "tests/unit/report_tui_fixture.h"
#include "tests/unit/unit.h"

/* One sample a ms: `a` runs for 3.2 s, then `b` for 0.8 s; both are threads of one process. */
static struct profile *two_threads(void)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_FILE, "/bin/app");
	uint32_t process = fixture_process(&fixture, 100, object);
	uint32_t a = fixture_thread(&fixture, process, 100, "app");
	uint32_t b = fixture_thread(&fixture, process, 101, "helper\033[2J");
	uint32_t stack = FIXTURE_STACK(&fixture, fixture_frame(&fixture, object, 16, "run"));
	fixture_samples(&fixture, a, stack, 0, 3200);
	fixture_samples(&fixture, b, stack, 0, 800);
	return fixture_profile(&fixture);
}

static struct profile *many_threads(unsigned processes, unsigned threads)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_FILE, "/bin/app");
	uint32_t stack = FIXTURE_STACK(&fixture, fixture_frame(&fixture, object, 16, "run"));
	for (unsigned p = 1; p <= processes; p++) {
		uint32_t process = fixture_process(&fixture, p * 1000, object);
		for (unsigned t = 0; t < threads; t++)
			fixture_samples(&fixture,
				fixture_thread(&fixture, process, p * 1000 + t, t ? "pool" : "app"),
				stack, 0, t ? 1 : p);
	}
	return fixture_profile(&fixture);
}

TEST(heat_rows_are_threads_and_columns_time)
{
	struct tui_fixture tui;
	tui_fixture_init(&tui, two_threads());
	tui.colours = GRID_MONO;
	tui_fixture_keys(&tui, "5");
	tui_fixture_screen(&tui, 67, 12);
	/* Twenty-seven columns of names, forty of 0.1 s each; a little is left at the end. */
	CHECK_STR(tui_fixture_line(&tui, 2),
		"0.00 s                     |0 s               |2 s                |");
	CHECK_STR(tui_fixture_line(&tui, 3),
		" 100.00% all: 2 threads    @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@");
	CHECK_STR(tui_fixture_line(&tui, 4),
		"  80.00% app:100           @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@");
	/* What a name holds stays harmless. */
	CHECK_STR(tui_fixture_line(&tui, 5),
		"  20.00% helper\\x1b[2J:101                                .@@@@@@@@");
	CHECK(strstr(tui_fixture_line(&tui, 10), "app:100  100 samples in 0.1"));
	tui_fixture_deinit(&tui);
}

TEST(heat_range_becomes_a_filter)
{
	struct tui_fixture tui;
	tui_fixture_init(&tui, two_threads());
	tui_fixture_keys(&tui, "5");
	tui_fixture_screen(&tui, 67, 12);
	tui_fixture_keys(&tui, "lllllllllv"); /* the tenth column */
	tui_fixture_keys(&tui, "lllllllll");  /* to the nineteenth */
	CHECK(strstr(tui_fixture_line(&tui, 10), "range 0.9"));
	tui_fixture_key(&tui, INPUT_ENTER);
	CHECK_INT(tui.app.wish.scope.terms.len, 1);
	CHECK_INT(tui.app.wish.scope.terms.data[0].kind, SCOPE_TIME);
	/* Ten columns of 0.1 s, one sample a ms. */
	uint64_t samples = tui.app.model->slice.whole.samples;
	CHECK(samples > 990 && samples < 1020);
	/* What is left of the time fills the screen, in finer buckets. */
	CHECK(tui.app.model->timeline.bucket_ns < 100000);
	CHECK_INT(tui.app.model->tasks.nr_threads, 1);
	tui_fixture_key(&tui, INPUT_ESCAPE);
	CHECK_INT(tui.app.model->slice.whole.samples, 4000);
	tui_fixture_deinit(&tui);
}

TEST(heat_escape_forgets_the_range_before_it_undoes)
{
	struct tui_fixture tui;
	tui_fixture_init(&tui, two_threads());
	tui_fixture_keys(&tui, "5t");
	CHECK_INT(tui.app.wish.scope.terms.len, 1);
	CHECK_INT(tui.app.wish.scope.terms.data[0].kind, SCOPE_THREAD);
	tui_fixture_keys(&tui, "vllv");
	tui_fixture_key(&tui, INPUT_ESCAPE);
	CHECK_INT(tui.app.wish.scope.terms.len, 1);
	tui_fixture_key(&tui, INPUT_ESCAPE);
	CHECK_INT(tui.app.wish.scope.terms.len, 0);
	tui_fixture_deinit(&tui);
}

TEST(heat_dragging_selects_a_range)
{
	struct tui_fixture tui;
	tui_fixture_init(&tui, two_threads());
	tui_fixture_keys(&tui, "5");
	tui_fixture_screen(&tui, 67, 12);
	tui_fixture_mouse(&tui, INPUT_PRESS, 27 + 32, 5);
	tui_fixture_mouse(&tui, INPUT_DRAG, 27 + 20, 5);
	tui_fixture_mouse(&tui, INPUT_DRAG, 27 + 24, 5);
	tui_fixture_mouse(&tui, INPUT_RELEASE, 27 + 24, 5);
	CHECK_INT(tui.app.selection.thread, 2);
	CHECK(tui_fixture_style(&tui, 27 + 28, 2) & STYLE_SELECTED);
	CHECK(!(tui_fixture_style(&tui, 27 + 23, 2) & STYLE_SELECTED));
	CHECK(!(tui_fixture_style(&tui, 27 + 33, 2) & STYLE_SELECTED));
	tui_fixture_key(&tui, INPUT_ENTER);
	uint64_t samples = tui.app.model->slice.whole.samples;
	CHECK(samples > 890 && samples < 920);
	tui_fixture_deinit(&tui);
}

TEST(heat_zoom_keeps_the_cursor)
{
	struct tui_fixture tui;
	tui_fixture_init(&tui, two_threads());
	tui_fixture_keys(&tui, "5");
	tui_fixture_screen(&tui, 67, 12);
	tui_fixture_keys(&tui, "llllllllllllllllllll");
	char before[16];
	snprintf(before, sizeof(before), "%.15s", tui_fixture_line(&tui, 2));
	tui_fixture_keys(&tui, "++++");
	CHECK(strncmp(tui_fixture_line(&tui, 2), before, 6) == 0);
	tui_fixture_keys(&tui, "++++++++++++");
	CHECK(strstr(tui_fixture_screen(&tui, 67, 12), "as fine as it gets"));
	tui_fixture_keys(&tui, "hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh");
	tui_fixture_keys(&tui, "------------------");
	CHECK(strstr(tui_fixture_screen(&tui, 67, 12), "this is all of the time"));
	CHECK(strstr(tui_fixture_line(&tui, 2), "|0 s               |2 s"));
	tui_fixture_deinit(&tui);
}

TEST(heat_cells_have_styles_where_there_are_colours)
{
	struct tui_fixture tui;
	tui_fixture_init(&tui, two_threads());
	tui_fixture_keys(&tui, "5");
	tui_fixture_screen(&tui, 67, 12);
	CHECK_INT(tui_fixture_style(&tui, 30, 3) & STYLE_MASK, STYLE_HEAT + STYLE_HEATS - 1);
	CHECK_INT(tui_fixture_style(&tui, 30, 5) & STYLE_MASK, STYLE_NORMAL);
	CHECK_STR(tui_fixture_line(&tui, 4), "  80.00% app:100");
	tui.colours = GRID_MONO;
	tui.is_ascii = false;
	tui_fixture_screen(&tui, 67, 12);
	CHECK_STR(tui_fixture_line(&tui, 4),
		"  80.00% app:100           ████████████████████████████████");
	tui_fixture_deinit(&tui);
}

TEST(heat_many_threads_are_grouped_by_process)
{
	struct tui_fixture tui;
	tui_fixture_init(&tui, many_threads(5, 20));
	tui_fixture_keys(&tui, "5");
	tui_fixture_screen(&tui, 80, 16);
	CHECK(strstr(tui_fixture_line(&tui, 4), "+ app 5000 (20)"));
	CHECK(strstr(tui_fixture_line(&tui, 8), "+ app 1000 (20)"));
	tui_fixture_keys(&tui, "ej");
	CHECK(strstr(tui_fixture_line(&tui, 4), "- app 5000 (20)"));
	CHECK(strstr(tui_fixture_line(&tui, 5), "  app:5000"));
	CHECK_INT(tui.profile->threads.data[tui.app.selection.thread].tid, 5000);
	tui_fixture_keys(&tui, "e"); /* from within */
	CHECK(strstr(tui_fixture_line(&tui, 5), "+ app 4000 (20)"));
	tui_fixture_keys(&tui, "E");
	CHECK(strstr(tui_fixture_line(&tui, 4), " app:5000"));
	CHECK(strstr(tui_fixture_line(&tui, 5), " app:4000"));
	tui_fixture_keys(&tui, "Cg");
	tui_fixture_key(&tui, INPUT_ENTER);
	CHECK_INT(tui.app.wish.scope.terms.data[0].kind, SCOPE_PROCESS);
	CHECK_INT(tui.app.model->tasks.nr_threads, 20);
	tui_fixture_deinit(&tui);
}

TEST(heat_small_screens_and_no_samples)
{
	struct tui_fixture tui;
	tui_fixture_init(&tui, two_threads());
	tui.colours = GRID_MONO;
	tui_fixture_keys(&tui, "5");
	tui_fixture_screen(&tui, 20, 5);
	CHECK_STR(tui_fixture_line(&tui, 2), "all      @@@@@@@@@@@");
	CHECK_STR(tui_fixture_line(&tui, 3), "app:100  @@@@@@@@#");
	tui_fixture_keys(&tui, "\\nothing here");
	tui_fixture_key(&tui, INPUT_ENTER);
	CHECK(strstr(tui_fixture_screen(&tui, 80, 24), "no samples here"));
	tui_fixture_keys(&tui, "jklhGg+-eECvl");
	tui_fixture_mouse(&tui, INPUT_PRESS, 40, 8);
	tui_fixture_mouse(&tui, INPUT_WHEEL_DOWN, 40, 8);
	for (int height = 5; height < 12; height++)
		for (int width = 20; width < 140; width += 7)
			tui_fixture_screen(&tui, width, height);
	tui_fixture_deinit(&tui);
}
