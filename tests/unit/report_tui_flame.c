#include <string.h>

#include "tests/unit/report_tui_fixture.h"
#include "tests/unit/unit.h"

/*
 * main 100: alpha 50 (vfs_read of the kernel's 10), beta 30 (ns::get 25), gamma 12,
 * small_0 to small_7 1 each.
 */
static struct profile *make_profile(void)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t program = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "/usr/bin/program");
	uint32_t kernel = fixture_object(&fixture, LAYOUT_OBJECT_KERNEL, "[kernel]");
	uint32_t process = fixture_process(&fixture, 100, program);
	uint32_t thread = fixture_thread(&fixture, process, 100, "program");
	uint32_t main_ = fixture_frame(&fixture, program, 0x1000, "main");
	uint32_t alpha = fixture_frame(&fixture, program, 0x2000, "alpha");
	uint32_t beta = fixture_frame(&fixture, program, 0x3000, "beta");
	uint32_t gamma = fixture_frame(&fixture, program, 0x4000, "gamma");
	uint32_t get = fixture_frame(&fixture, program, 0x5000, "_ZN2ns3getISt6vectorIiEEEvv");
	uint32_t read = fixture_frame(&fixture, kernel, 0x6000, "vfs_read");
	uint32_t in_alpha = FIXTURE_STACK(&fixture, main_, alpha);
	fixture_samples(&fixture, thread, in_alpha, 0, 40);
	fixture_samples(&fixture, thread, in_alpha, FIXTURE_STACK(&fixture, read), 10);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main_, beta), 0, 5);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main_, beta, get), 0, 25);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main_, gamma), 0, 12);
	for (uint32_t i = 0; i < 8; i++) {
		char name[] = "small_0";
		name[6] = (char)('0' + i);
		uint32_t small = fixture_frame(&fixture, program, 0x7000 + i, name);
		fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main_, small), 0, 1);
	}
	return fixture_profile(&fixture);
}

static void open_flame(struct screen *screen, int width, int height)
{
	screen_init(screen, make_profile(), width, height);
	screen->grid.is_ascii = false;
	screen_type(screen, "4g");
}

static const char *selected(const struct screen *screen)
{
	uint32_t function = app_function(&screen->app);
	return function ? model_function(screen->app.model, function)->name : "";
}

enum {
	FIRST = 3 /* line of the first row: below title, tabs and header */
};

TEST(the_root_is_on_top)
{
	struct screen screen;
	open_flame(&screen, 80, 12);
	CHECK_STR(screen_line(&screen, 2), "callers on top, by name   library   kernel");
	CHECK_STR(screen_line(&screen, FIRST), "▏all  100.00%");
	CHECK_STR(screen_line(&screen, FIRST + 1), "▏main  100.00%");
	CHECK_STR(screen_line(&screen, FIRST + 2),
		"▏alpha  50.00%                          ▏beta  30.00%           ▏gamma    ▒ +8 ▒");
	CHECK_STR(screen_line(&screen, FIRST + 3),
		"▏vfs…ead                                ▏ns::get<...>");
	CHECK_STR(screen_line(&screen, FIRST + 4), "");
	screen_deinit(&screen);
}

/* Two instances of a template, and two methods of Java, which are shown alike. */
static struct profile *make_alike(void)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t program = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "/usr/bin/program");
	uint32_t java = fixture_object(&fixture, LAYOUT_OBJECT_SCRIPT, "[java]");
	uint32_t process = fixture_process(&fixture, 100, program);
	uint32_t thread = fixture_thread(&fixture, process, 100, "program");
	uint32_t main_ = fixture_frame(&fixture, program, 0x1000, "main");
	const uint32_t callees[] = {
		fixture_frame(&fixture, program, 0x2000, "_ZN4pool4sortIiEEvi"),
		fixture_frame(&fixture, program, 0x3000, "_ZN4pool4sortIlEEvl"),
		fixture_frame(&fixture, java, 1, "java.util.HashMap.get"),
		fixture_frame(&fixture, java, 2, "org.app.Lines.get"),
	};
	for (size_t i = 0; i < sizeof(callees) / sizeof(*callees); i++)
		fixture_samples(
			&fixture, thread, FIXTURE_STACK(&fixture, main_, callees[i]), 0, 25);
	return fixture_profile(&fixture);
}

TEST(boxes_of_names_that_are_shown_alike_say_what_differs)
{
	struct screen screen;
	screen_init(&screen, make_alike(), 80, 12);
	screen_type(&screen, "4g");
	CHECK_STR(screen_line(&screen, FIRST + 2),
		"|util.HashMap.get   |org.app.Lines.get  |pool::sort<int>    |pool::sort<long>");
	screen_resize(&screen, 56, 12);
	CHECK_STR(screen_line(&screen, FIRST + 2),
		"|HashMap.get  |app.Lines.get|sort {int}   |sort {long}");
	screen_deinit(&screen);
}

TEST(ascii_needs_no_more_than_ascii)
{
	struct screen screen;
	open_flame(&screen, 40, 12);
	screen.grid.is_ascii = true;
	CHECK_STR(screen_line(&screen, FIRST + 2), "|alpha  50.00%      |beta       |gamm:::");
	CHECK_STR(screen_line(&screen, FIRST + 3), "|vfs                |get<...>");
	screen_deinit(&screen);
}

/* Whatever the width: each box's cells have one colour, and rows end where their callers do. */
TEST(no_cell_is_left_out_at_any_width)
{
	for (int width = 20; width <= 200; width++) {
		struct screen screen;
		open_flame(&screen, width, 12);
		screen_text(&screen);
		for (int x = 0; x < width; x++) {
			unsigned all = screen_style_at(&screen, x, FIRST) & STYLE_MASK;
			unsigned row = screen_style_at(&screen, x, FIRST + 2) & STYLE_MASK;
			CHECK(all >= STYLE_FLAME && all < STYLE_FLAME + STYLE_FLAMES);
			CHECK(row != STYLE_NORMAL); /* its children make up for all of main */
		}
		screen_deinit(&screen);
	}
}

TEST(twenty_by_five_is_enough)
{
	struct screen screen;
	open_flame(&screen, 20, 5);
	CHECK_STR(screen_line(&screen, 1), "▏all  100.00%");
	CHECK_STR(screen_line(&screen, 3), "▏alpha    ▏beta ▏g▒▒");
	screen_type(&screen, "jjj");
	CHECK_STR(selected(&screen), "vfs_read");
	CHECK_STR(screen_line(&screen, 3), "▏v        ▏get");
	screen_deinit(&screen);
}

TEST(keys_walk_to_callers_callees_and_siblings)
{
	struct screen screen;
	open_flame(&screen, 80, 12);
	screen_type(&screen, "jj");
	CHECK_STR(selected(&screen), "alpha");
	screen_text(&screen);
	CHECK(screen_style_at(&screen, 39, FIRST + 2) & STYLE_SELECTED);
	CHECK(!(screen_style_at(&screen, 40, FIRST + 2) & STYLE_SELECTED));
	screen_type(&screen, "lj");
	CHECK_STR(selected(&screen), "ns::get<std::vector<int> >()");
	screen_type(&screen, "h");
	CHECK_STR(selected(&screen), "vfs_read");
	screen_type(&screen, "kk");
	CHECK_STR(selected(&screen), "main");
	screen_type(&screen, "G");
	CHECK_STR(selected(&screen), "vfs_read");
	screen_type(&screen, "gkk");
	CHECK_STR(selected(&screen), "");
	screen_deinit(&screen);
}

/* Those that are too narrow are reached one by one, and zoomed to when nothing else helps. */
TEST(siblings_in_one_box_are_reached)
{
	struct screen screen;
	open_flame(&screen, 40, 12);
	screen_type(&screen, "jjlll");
	CHECK_STR(selected(&screen), "small_0");
	screen_type(&screen, "ll");
	CHECK_STR(selected(&screen), "small_2");
	screen_type(&screen, "llllllll");
	CHECK_STR(selected(&screen), "small_7");
	screen_key(&screen, INPUT_ENTER); /* main, which is as wide as all */
	screen_key(&screen, INPUT_ENTER);
	CHECK_STR(selected(&screen), "small_7");
	CHECK_STR(screen_line(&screen, FIRST + 3), "▏small_7  1.00%");
	screen_deinit(&screen);
}

TEST(a_zoom_has_its_callers_above_and_is_undone_once)
{
	struct screen screen;
	open_flame(&screen, 80, 14);
	screen_type(&screen, "jjl");
	screen_key(&screen, INPUT_ENTER);
	CHECK_STR(screen_line(&screen, 2), "› in beta");
	CHECK_STR(screen_line(&screen, 4), "▏all  100.00%");
	CHECK_STR(screen_line(&screen, 5), "▏main  100.00%");
	CHECK_STR(screen_line(&screen, 6), "▏beta  30.00%");
	CHECK_STR(screen_line(&screen, 7), "▏ns::get<std::vector<int> >()  25.00%");
	CHECK_INT(screen_style_at(&screen, 79, 5), STYLE_DIM);
	CHECK(screen_style_at(&screen, 66, 7) >= STYLE_FLAME); /* 25/30 of 80 columns */
	CHECK_INT(screen_style_at(&screen, 67, 7), STYLE_NORMAL);
	screen_type(&screen, "j");
	screen_key(&screen, INPUT_ENTER);
	CHECK_STR(screen_line(&screen, 2), "› in beta › in ns::get<std::vector<int> >()");
	screen_key(&screen, INPUT_ESCAPE);
	CHECK_STR(screen_line(&screen, 2), "› in beta");
	CHECK_STR(selected(&screen), "ns::get<std::vector<int> >()");
	screen_key(&screen, INPUT_ESCAPE);
	CHECK_STR(screen_line(&screen, FIRST), "▏all  100.00%");
	screen_deinit(&screen);
}

TEST(turned_over_leaves_are_on_top)
{
	struct screen screen;
	open_flame(&screen, 80, 14);
	screen_type(&screen, "I");
	CHECK_STR(screen_line(&screen, 2),
		"leaves on top, callers below, by name   library   kernel");
	CHECK_STR(screen_line(&screen, FIRST + 1),
		"▏alpha  40.00%                  ▏bet▏gamma    ▏ns::get<...>       ▏vfs…ead▒ +8 ▒");
	screen_deinit(&screen);
}

TEST(callers_of_a_leaf_are_zoomed_to)
{
	struct screen screen;
	open_flame(&screen, 80, 14);
	screen_type(&screen, "jjlj");
	screen_type(&screen, "I");
	CHECK_STR(selected(&screen), "ns::get<std::vector<int> >()");
	screen_type(&screen, "j");
	CHECK_STR(selected(&screen), "beta");
	screen_key(&screen, INPUT_ENTER);
	CHECK_STR(screen_line(&screen, 2), "› ns::get<std::vector<int> >() from beta");
	CHECK_STR(screen_line(&screen, 6), "▏beta  25.00%");
	CHECK_STR(screen_line(&screen, 7), "▏main  25.00%");
	/* With the root on top it is not there; turned over again, it is. */
	screen_type(&screen, "I");
	CHECK_STR(screen_line(&screen, 4), "▏all  100.00%");
	screen_type(&screen, "I");
	CHECK_STR(screen_line(&screen, 7), "▏main  25.00%");
	screen_key(&screen, INPUT_ESCAPE);
	CHECK_STR(screen_line(&screen, 2),
		"leaves on top, callers below, by name   library   kernel");
	screen_deinit(&screen);
}

TEST(the_leaves_of_a_zoom_end_at_it)
{
	struct screen screen;
	open_flame(&screen, 80, 14);
	screen_type(&screen, "jj");
	screen_key(&screen, INPUT_ENTER);
	screen_type(&screen, "I");
	CHECK_STR(screen_line(&screen, 4), "▏all of alpha  50.00%");
	CHECK_STR(screen_line(&screen, 5),
		"▏alpha  40.00%                                                  ▏vfs_read [k]");
	CHECK_STR(screen_line(&screen, 6),
		"                                                                ▏alpha  10.00%");
	CHECK_STR(screen_line(&screen, 7), "");
	screen_deinit(&screen);
}

TEST(matches_are_marked_and_gone_to)
{
	struct screen screen;
	open_flame(&screen, 80, 14);
	screen_type(&screen, "/a$");
	screen_key(&screen, INPUT_ENTER);
	CHECK_STR(screen_line(&screen, 2), "/a$: 1/3, 92.00%");
	CHECK_STR(screen_line(&screen, 6),
		"*alpha  50.00%                          *beta  30.00%           *gamma    ▒ +8 ▒");
	CHECK(screen_style_at(&screen, 0, 6) & STYLE_MATCH);
	CHECK(!(screen_style_at(&screen, 0, 5) & STYLE_MATCH));
	CHECK_STR(selected(&screen), "alpha");
	screen_type(&screen, "n");
	CHECK_STR(selected(&screen), "beta");
	screen_type(&screen, "NN");
	CHECK_STR(selected(&screen), "gamma");
	screen_deinit(&screen);
}

TEST(siblings_are_ordered_by_total_when_asked)
{
	struct screen screen;
	open_flame(&screen, 80, 14);
	screen_type(&screen, "I>");
	CHECK_STR(screen_line(&screen, FIRST + 1),
		"▏alpha  40.00%                  ▏ns::get<...>       ▏gamma    ▏vfs…ead▏bet▒ +8 ▒");
	screen_deinit(&screen);
}

TEST(the_mouse_selects_zooms_and_scrolls)
{
	struct screen screen;
	open_flame(&screen, 80, 9); /* four rows */
	screen_mouse(&screen, INPUT_PRESS, 64, 4);
	CHECK_STR(selected(&screen), "gamma");
	screen_mouse(&screen, INPUT_DOUBLE, 63, 4);
	CHECK_STR(selected(&screen), "beta");
	CHECK_STR(screen_line(&screen, 1), "› in beta");
	screen_mouse(&screen, INPUT_WHEEL_DOWN, 1, 4);
	CHECK(strstr(screen_text(&screen), "ns::get<std::vector<int> >()  25.00%"));
	screen_deinit(&screen);
}

TEST(the_selection_is_shared_and_outlives_models)
{
	struct screen screen;
	open_flame(&screen, 80, 14);
	screen_type(&screen, "jjl");
	screen_rename(&screen);
	screen_text(&screen);
	CHECK(screen_style_at(&screen, 40, FIRST + 2) & STYLE_SELECTED);
	/* What is selected elsewhere is where it takes most. */
	app_select(&screen.app, 1 + screen.app.model->names->tree.nodes.data[1].frame);
	CHECK_STR(selected(&screen), "alpha");
	screen_type(&screen, "14");
	screen_text(&screen);
	CHECK(screen_style_at(&screen, 0, FIRST + 2) & STYLE_SELECTED);
	screen_deinit(&screen);
}

TEST(no_samples_are_no_graph)
{
	struct screen screen;
	open_flame(&screen, 80, 14);
	screen_type(&screen, "!main");
	screen_key(&screen, INPUT_ENTER);
	screen_type(&screen, "jlkhG");
	CHECK(strstr(screen_text(&screen), "no samples here"));
	screen_key(&screen, INPUT_ESCAPE);
	CHECK(strstr(screen_text(&screen), "▏alpha  50.00%"));
	screen_deinit(&screen);
}

/* A thousand calls deep: rows scroll with the selection. */
TEST(deep_graphs_scroll)
{
	struct fixture recording;
	fixture_init(&recording);
	uint32_t program = fixture_object(&recording, LAYOUT_OBJECT_VDSO, "/usr/bin/program");
	uint32_t process = fixture_process(&recording, 100, program);
	uint32_t thread = fixture_thread(&recording, process, 100, "program");
	uint32_t frames[1001] = {0};
	for (uint32_t i = 0; i < 1000; i++) {
		char name[] = "f000";
		name[1] = (char)('0' + i / 100);
		name[2] = (char)('0' + i / 10 % 10);
		name[3] = (char)('0' + i % 10);
		frames[i] = fixture_frame(&recording, program, 0x1000 + i, name);
	}
	fixture_samples(&recording, thread, fixture_stack(&recording, frames), 0, 7);
	struct screen screen;
	screen_init(&screen, fixture_profile(&recording), 40, 14);
	screen.grid.is_ascii = false;
	screen_type(&screen, "4gG");
	CHECK_STR(selected(&screen), "f999");
	CHECK_STR(screen_line(&screen, 11), "▏f999  100.00%");
	CHECK_STR(screen_line(&screen, 2), "callers on top, by name             ▲992");
	screen_key(&screen, INPUT_ENTER);
	CHECK(strstr(screen_text(&screen), "▏f997  100.00%"));
	screen_type(&screen, "kkk");
	CHECK_STR(selected(&screen), "f996");
	CHECK(strstr(screen_text(&screen), "▏f996  100.00%"));
	screen_type(&screen, "Rg");
	CHECK_STR(screen_line(&screen, 2), "callers on top, by name                ▼");
	screen_resize(&screen, 60, 14);
	CHECK_STR(screen_line(&screen, 2),
		"callers on top, by name                    more rows below ▼");
	screen_type(&screen, "Gk");
	screen_mouse(&screen, INPUT_WHEEL_UP, 2, 6);
	CHECK(strstr(screen_line(&screen, 2), " rows above, more rows below ▼"));
	screen_deinit(&screen);
}

/* ---- the legend ---- */

/* main 10: parse of Python 50 in the program, render of Ruby 30, sys_read of the kernel 10. */
static struct profile *make_languages(void)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t program = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "/usr/bin/program");
	uint32_t python = fixture_object(&fixture, LAYOUT_OBJECT_SCRIPT, "[python]");
	uint32_t ruby = fixture_object(&fixture, LAYOUT_OBJECT_SCRIPT, "[ruby]");
	uint32_t kernel = fixture_object(&fixture, LAYOUT_OBJECT_KERNEL, "[kernel]");
	uint32_t process = fixture_process(&fixture, 100, program);
	uint32_t thread = fixture_thread(&fixture, process, 100, "program");
	uint32_t main_ = fixture_frame(&fixture, program, 0x1000, "main");
	uint32_t parse = fixture_frame(&fixture, python, 1, "parse");
	uint32_t render = fixture_frame(&fixture, ruby, 1, "render");
	uint32_t read = fixture_frame(&fixture, kernel, 0x6000, "sys_read");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main_), 0, 10);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main_, parse), 0, 50);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main_, render), 0, 30);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main_),
		FIXTURE_STACK(&fixture, read), 10);
	return fixture_profile(&fixture);
}

TEST(the_legend_has_the_kinds_that_are_there)
{
	struct screen screen;
	screen_init(&screen, make_languages(), 100, 12);
	screen_type(&screen, "4g");
	CHECK_STR(screen_line(&screen, 2),
		"callers on top, by name   Python   Ruby   library   kernel");
	CHECK_INT(screen_style(&screen, "Python"), STYLE_FLAME_OF(FRAME_PYTHON, false));
	CHECK_INT(screen_style(&screen, "Ruby"), STYLE_FLAME_OF(FRAME_RUBY, false));
	screen_resize(&screen, 48, 12); /* the rest has no room */
	CHECK_STR(screen_line(&screen, 2), "callers on top, by name   Python   Ruby");
	screen.grid.colours = GRID_MONO;
	CHECK_STR(screen_resize(&screen, 100, 12) ? screen_line(&screen, 2) : "",
		"callers on top, by name");
	screen_deinit(&screen);
}

TEST(the_legend_is_clicked)
{
	struct screen screen;
	screen_init(&screen, make_languages(), 100, 12);
	screen_type(&screen, "4g");
	screen_text(&screen);
	screen_mouse(&screen, INPUT_PRESS, 36, 2); /* Ruby */
	CHECK_INT(screen.app.model->slice.whole.samples, 30);
	CHECK(strstr(screen_line(&screen, 2), "> [ruby]"));
	screen_key(&screen, INPUT_ESCAPE);
	CHECK_INT(screen.app.model->slice.whole.samples, 100);
	screen_text(&screen);
	screen_mouse(&screen, INPUT_PRESS, 53, 2); /* the kernel */
	CHECK_INT(screen.app.model->slice.whole.samples, 10);
	screen_key(&screen, INPUT_ESCAPE);
	screen_text(&screen);
	screen_mouse(&screen, INPUT_PRESS, 44, 2);
	CHECK_INT(screen.app.model->slice.whole.samples, 100);
	CHECK(strstr(screen_text(&screen), "library: d keeps the file"));
	screen_deinit(&screen);
}

/* A kind that several files have is none of them. */
TEST(the_legend_keeps_no_part_of_a_kind)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t program = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "/usr/bin/program");
	uint32_t thread =
		fixture_thread(&fixture, fixture_process(&fixture, 100, program), 100, "x");
	uint32_t main_ = fixture_frame(&fixture, program, 0x1000, "main");
	static const char *const names[] = {"[racket]", "[raku]"};
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main_), 0, 10);
	for (int i = 0; i < 2; i++) {
		uint32_t script = fixture_object(&fixture, LAYOUT_OBJECT_SCRIPT, names[i]);
		uint32_t run = fixture_frame(&fixture, script, 1, names[i]);
		fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main_, run), 0, 30);
	}
	struct screen screen;
	screen_init(&screen, fixture_profile(&fixture), 100, 12);
	screen_type(&screen, "4g");
	CHECK(strstr(screen_line(&screen, 2), "by name   other scripts"));
	screen_mouse(&screen, INPUT_PRESS, 30, 2);
	CHECK_INT(screen.app.model->slice.whole.samples, 70);
	CHECK(strstr(screen_text(&screen), "other scripts: d keeps the file"));
	screen_deinit(&screen);
}

/* The same colours where functions stand in rows, by the names of their files. */
TEST(rows_have_the_colours_of_languages)
{
	struct screen screen;
	screen_init(&screen, make_languages(), 100, 12);
	CHECK_INT(screen_style(&screen, "[python]") & STYLE_MASK,
		STYLE_FLAME_OF(FRAME_PYTHON, false));
	CHECK_INT(screen_style(&screen, "[ruby]"), STYLE_FLAME_OF(FRAME_RUBY, false));
	CHECK_INT(screen_style(&screen, "[kernel]"), STYLE_DIM);
	screen_type(&screen, "j3A");
	CHECK_INT(screen_style(&screen, "[python]") & STYLE_MASK,
		STYLE_FLAME_OF(FRAME_PYTHON, false));
	CHECK_INT(screen_style(&screen, "[ruby]") & STYLE_MASK, STYLE_FLAME_OF(FRAME_RUBY, false));
	screen_type(&screen, "/parse\n"); /* what is not searched for is dim */
	CHECK_INT(screen_style(&screen, "[ruby]"), STYLE_DIM);
	screen_key(&screen, INPUT_ESCAPE);
	screen.grid.colours = GRID_POOR; /* without a colour for each language */
	CHECK_INT(screen_style(&screen, "[ruby]"), STYLE_DIM);
	screen_deinit(&screen);
}
