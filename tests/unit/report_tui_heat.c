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
	struct screen tui;
	screen_init(&tui, two_threads(), 67, 12);
	tui.grid.colours = GRID_MONO;
	screen_type(&tui, "5");
	/* Twenty-seven columns of names, forty of 0.1 s each; a little is left at the end. */
	CHECK_STR(screen_line(&tui, 2),
		"0.00 s                     |0 s               |2 s                |");
	CHECK_STR(screen_line(&tui, 3),
		" 100.00% all (2)           @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@");
	CHECK_STR(screen_line(&tui, 4),
		"  80.00% app:100           @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@");
	/* What a name holds stays harmless. */
	CHECK_STR(screen_line(&tui, 5),
		"  20.00% helper\\x1b[2J:101                                .@@@@@@@@");
	CHECK(strstr(screen_line(&tui, 10), "app:100  100 samples in 0.1"));
	screen_deinit(&tui);
}

/* ... and not those that waited longest, as idle ones do. */
TEST(heat_rows_that_ran_come_first)
{
	struct fixture fixture;
	struct screen tui;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_FILE, "/bin/app");
	uint32_t process = fixture_process(&fixture, 100, object);
	uint32_t idle = fixture_thread(&fixture, process, 100, "idle");
	uint32_t busy = fixture_thread(&fixture, process, 101, "busy");
	uint32_t stack = FIXTURE_STACK(&fixture, fixture_frame(&fixture, object, 16, "run"));
	fixture_samples(&fixture, busy, stack, 0, 200);
	struct layout_event event = {
		.name = fixture_string(&fixture, "offcpu"),
		.unit = fixture_string(&fixture, "ns"),
		.source = fixture_string(&fixture, "wait"),
	};
	struct layout_sample wait = {
		.time_ns = fixture.time_ns + 800000000,
		.event = writer_event(fixture.writer, &event),
		.thread = idle,
		.weight = 900000000,
		.measured = 900000000,
	};
	writer_sample(fixture.writer, &wait);
	screen_init(&tui, fixture_profile(&fixture), 67, 12);
	screen_type(&tui, "5");
	CHECK(strstr(screen_line(&tui, 4), "busy:101"));
	CHECK(strstr(screen_line(&tui, 5), "idle:100"));
	screen_deinit(&tui);
}

/* Text has no colours: what is a background on the screen is a character there. */
TEST(heat_is_printed_by_characters)
{
	struct screen tui;
	screen_init(&tui, two_threads(), 67, 12);
	screen_type(&tui, "5P\n");
	const char *text = str_text(&tui.app.to_print.text);
	CHECK(strstr(text, "  80.00% app:100           ████████████████████████████████"));
	app_print_deinit(&tui.app.to_print);
	screen_deinit(&tui);
}

TEST(heat_range_becomes_a_filter)
{
	struct screen tui;
	screen_init(&tui, two_threads(), 67, 12);
	screen_type(&tui, "5");
	screen_type(&tui, "lllllllllv"); /* the tenth column */
	screen_type(&tui, "lllllllll");  /* to the nineteenth */
	CHECK(strstr(screen_line(&tui, 10), "range: 1.0"));
	screen_key(&tui, INPUT_ENTER);
	CHECK_INT(tui.app.wish.scope.terms.len, 1);
	CHECK_INT(tui.app.wish.scope.terms.data[0].kind, SCOPE_TIME);
	/* Ten columns of 0.1 s, one sample a ms. */
	uint64_t samples = tui.app.model->slice.whole.samples;
	CHECK(samples > 990 && samples < 1020);
	/* What is left of the time fills the screen, in finer buckets. */
	CHECK(tui.app.model->timeline.bucket_ns < 100000);
	CHECK_INT(tui.app.model->tasks.nr_threads, 1);
	screen_key(&tui, INPUT_ESCAPE);
	CHECK_INT(tui.app.model->slice.whole.samples, 4000);
	screen_deinit(&tui);
}

TEST(heat_escape_forgets_the_range_before_it_undoes)
{
	struct screen tui;
	screen_init(&tui, two_threads(), 80, 24);
	screen_type(&tui, "5t");
	CHECK_INT(tui.app.wish.scope.terms.len, 1);
	CHECK_INT(tui.app.wish.scope.terms.data[0].kind, SCOPE_THREAD);
	screen_type(&tui, "vllv");
	screen_key(&tui, INPUT_ESCAPE);
	CHECK_INT(tui.app.wish.scope.terms.len, 1);
	screen_key(&tui, INPUT_ESCAPE);
	CHECK_INT(tui.app.wish.scope.terms.len, 0);
	screen_deinit(&tui);
}

TEST(heat_dragging_selects_a_range)
{
	struct screen tui;
	screen_init(&tui, two_threads(), 67, 12);
	screen_type(&tui, "5");
	screen_mouse(&tui, INPUT_PRESS, 27 + 32, 5);
	screen_mouse(&tui, INPUT_DRAG, 27 + 20, 5);
	screen_mouse(&tui, INPUT_DRAG, 27 + 24, 5);
	screen_mouse(&tui, INPUT_RELEASE, 27 + 24, 5);
	CHECK_INT(tui.app.selection.thread, 2);
	CHECK(screen_style_at(&tui, 27 + 28, 2) & STYLE_SELECTED);
	CHECK(!(screen_style_at(&tui, 27 + 23, 2) & STYLE_SELECTED));
	CHECK(!(screen_style_at(&tui, 27 + 33, 2) & STYLE_SELECTED));
	screen_key(&tui, INPUT_ENTER);
	uint64_t samples = tui.app.model->slice.whole.samples;
	CHECK(samples > 890 && samples < 920);
	screen_deinit(&tui);
}

TEST(heat_zoom_keeps_the_cursor)
{
	struct screen tui;
	screen_init(&tui, two_threads(), 67, 12);
	screen_type(&tui, "5");
	screen_type(&tui, "llllllllllllllllllll");
	char before[16];
	snprintf(before, sizeof(before), "%.15s", screen_line(&tui, 2));
	screen_type(&tui, "++++");
	CHECK(strncmp(screen_line(&tui, 2), before, 6) == 0);
	screen_type(&tui, "++++++++++++");
	CHECK(strstr(screen_resize(&tui, 67, 12), "as fine as it gets"));
	screen_type(&tui, "hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh");
	screen_type(&tui, "------------------");
	CHECK(strstr(screen_resize(&tui, 67, 12), "this is all of the time"));
	CHECK(strstr(screen_line(&tui, 2), "|0 s               |2 s"));
	screen_deinit(&tui);
}

TEST(heat_cells_have_styles_where_there_are_colours)
{
	struct screen tui;
	screen_init(&tui, two_threads(), 67, 12);
	screen_type(&tui, "5");
	CHECK_INT(screen_style_at(&tui, 30, 3) & STYLE_MASK, STYLE_HEAT + STYLE_HEATS - 1);
	CHECK_INT(screen_style_at(&tui, 30, 5) & STYLE_MASK, STYLE_COLD);
	CHECK_STR(screen_line(&tui, 4), "  80.00% app:100");
	tui.grid.colours = GRID_MONO;
	tui.grid.is_ascii = false;
	screen_resize(&tui, 67, 12);
	CHECK_STR(screen_line(&tui, 4),
		"  80.00% app:100           ████████████████████████████████");
	screen_deinit(&tui);
}

TEST(heat_many_threads_are_grouped_by_process)
{
	struct screen tui;
	screen_init(&tui, many_threads(5, 20), 80, 16);
	screen_type(&tui, "5");
	CHECK(strstr(screen_line(&tui, 4), "+ app 5000 (20)"));
	CHECK(strstr(screen_line(&tui, 8), "+ app 1000 (20)"));
	screen_type(&tui, "ej");
	CHECK(strstr(screen_line(&tui, 4), "- app 5000 (20)"));
	CHECK(strstr(screen_line(&tui, 5), "  app:5000"));
	CHECK_INT(tui.profile->threads.data[tui.app.selection.thread].tid, 5000);
	screen_type(&tui, "e"); /* from within */
	CHECK(strstr(screen_line(&tui, 5), "+ app 4000 (20)"));
	screen_type(&tui, "E");
	CHECK(strstr(screen_line(&tui, 4), " app:5000"));
	CHECK(strstr(screen_line(&tui, 5), " app:4000"));
	screen_type(&tui, "Cg");
	screen_key(&tui, INPUT_ENTER);
	CHECK_INT(tui.app.wish.scope.terms.data[0].kind, SCOPE_PROCESS);
	CHECK_INT(tui.app.model->tasks.nr_threads, 20);
	screen_deinit(&tui);
}

/* What was summed is kept for a while: it is what would be summed now. */
TEST(heat_rows_are_the_same_when_they_come_back)
{
	struct screen tui;
	screen_init(&tui, many_threads(4, 150), 80, 16);
	screen_type(&tui, "5E");
	CLEANUP_FREE char *top = mem_strdup(screen_text(&tui));
	screen_type(&tui, "G");
	CLEANUP_FREE char *bottom = mem_strdup(screen_text(&tui));
	screen_rename(&tui);
	CHECK_STR(screen_text(&tui), bottom);
	screen_type(&tui, "g");
	CHECK_STR(screen_text(&tui), top);
	screen_deinit(&tui);
}

TEST(heat_names_are_elided_in_front_of_their_numbers)
{
	struct screen tui;
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t process = fixture_process(&fixture, 1234567, 0);
	uint32_t thread = fixture_thread(&fixture, process, 1234567, "a-long-name-000");
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_FILE, "/bin/app");
	fixture_samples(&fixture, thread,
		FIXTURE_STACK(&fixture, fixture_frame(&fixture, object, 16, "run")), 0, 100);
	screen_init(&tui, fixture_profile(&fixture), 80, 12);
	screen_type(&tui, "5");
	CHECK_STR(screen_line(&tui, 4), " 100.00% a-lo~-000:1234567");
	screen_resize(&tui, 120, 12);
	CHECK_STR(screen_line(&tui, 4), " 100.00% a-long-name-000:1234567");
	screen_resize(&tui, 40, 12);
	CHECK_STR(screen_line(&tui, 4), "a-~00:1234567");
	screen_deinit(&tui);
}

TEST(heat_small_screens_and_no_samples)
{
	struct screen tui;
	screen_init(&tui, two_threads(), 20, 5);
	tui.grid.colours = GRID_MONO;
	screen_type(&tui, "5");
	CHECK_STR(screen_line(&tui, 2), "all      @@@@@@@@@@@");
	CHECK_STR(screen_line(&tui, 3), "app:100  @@@@@@@@#");
	screen_type(&tui, "!.");
	screen_key(&tui, INPUT_ENTER);
	CHECK(strstr(screen_resize(&tui, 80, 24), "no samples here"));
	screen_type(&tui, "jklhGg+-eECvl");
	screen_mouse(&tui, INPUT_PRESS, 40, 8);
	screen_mouse(&tui, INPUT_WHEEL_DOWN, 40, 8);
	for (int height = 5; height < 12; height++)
		for (int width = 20; width < 140; width += 7)
			screen_resize(&tui, width, height);
	screen_deinit(&tui);
}

/* Names come before numbers where there is no room for both; of no samples there is no time. */
TEST(heat_narrow_and_empty)
{
	struct screen tui;
	screen_init(&tui, two_threads(), 40, 12);
	screen_type(&tui, "5");
	CHECK_STR(screen_lines(&tui, 4, 1), "app:100\n");
	screen_type(&tui, "!.\n");
	CHECK_STR(screen_lines(&tui, 3, 3), "no samples here: Esc undoes the last fil\n\n\n");
	screen_type(&tui, "jlv+\n\x1b");
	screen_deinit(&tui);
}
