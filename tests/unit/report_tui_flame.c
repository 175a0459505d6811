#include <string.h>

#include "tests/unit/report_export_fixture.h"
#include "tests/unit/report_tui_flame_fixture.h"
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

static void open_flame(struct flame_fixture *fixture, int width, int height)
{
	flame_fixture_init(fixture, make_profile(), width, height);
	flame_fixture_keys(fixture, "4g");
}

static const char *selected(const struct flame_fixture *fixture)
{
	uint32_t function = app_function(&fixture->app);
	return function ? model_function(fixture->app.model, function)->name : "";
}

enum {
	FIRST = 3 /* line of the first row: below title, tabs and header */
};

TEST(the_root_is_on_top)
{
	struct flame_fixture fixture;
	open_flame(&fixture, 80, 12);
	CHECK_STR(flame_fixture_line(&fixture, 2), "callers on top, by name");
	CHECK_STR(flame_fixture_line(&fixture, FIRST), "▏all  100.00%");
	CHECK_STR(flame_fixture_line(&fixture, FIRST + 1), "▏main  100.00%");
	CHECK_STR(flame_fixture_line(&fixture, FIRST + 2),
		"▏alpha  50.00%                          ▏beta  30.00%           ▏gamma    ▒ +8 ▒");
	CHECK_STR(flame_fixture_line(&fixture, FIRST + 3),
		"▏vfs…ead                                ▏ns::get<...>");
	CHECK_STR(flame_fixture_line(&fixture, FIRST + 4), "");
	flame_fixture_deinit(&fixture);
}

TEST(ascii_needs_no_more_than_ascii)
{
	struct flame_fixture fixture;
	open_flame(&fixture, 40, 12);
	flame_fixture_resize(&fixture, 40, 12, true);
	CHECK_STR(flame_fixture_line(&fixture, FIRST + 2),
		"|alpha  50.00%      |beta       |gamm:::");
	CHECK_STR(flame_fixture_line(&fixture, FIRST + 3), "|vfs                |ns::~...>");
	flame_fixture_deinit(&fixture);
}

/* Whatever the width: each box's cells have one colour, and rows end where their callers do. */
TEST(no_cell_is_left_out_at_any_width)
{
	for (int width = 20; width <= 200; width++) {
		struct flame_fixture fixture;
		open_flame(&fixture, width, 12);
		flame_fixture_text(&fixture);
		for (int x = 0; x < width; x++) {
			unsigned all = flame_fixture_style(&fixture, x, FIRST) & STYLE_MASK;
			unsigned row = flame_fixture_style(&fixture, x, FIRST + 2) & STYLE_MASK;
			CHECK(all >= STYLE_FLAME && all < STYLE_FLAME + STYLE_FLAMES);
			CHECK(row != STYLE_NORMAL); /* its children make up for all of main */
		}
		flame_fixture_deinit(&fixture);
	}
}

TEST(twenty_by_five_is_enough)
{
	struct flame_fixture fixture;
	open_flame(&fixture, 20, 5);
	CHECK_STR(flame_fixture_line(&fixture, 1), "▏all  100.00%");
	CHECK_STR(flame_fixture_line(&fixture, 3), "▏alpha    ▏beta ▏g▒▒");
	flame_fixture_keys(&fixture, "jjj");
	CHECK_STR(selected(&fixture), "vfs_read");
	CHECK_STR(flame_fixture_line(&fixture, 3), "▏v        ▏ns::");
	flame_fixture_deinit(&fixture);
}

TEST(keys_walk_to_callers_callees_and_siblings)
{
	struct flame_fixture fixture;
	open_flame(&fixture, 80, 12);
	flame_fixture_keys(&fixture, "jj");
	CHECK_STR(selected(&fixture), "alpha");
	flame_fixture_text(&fixture);
	CHECK(flame_fixture_style(&fixture, 39, FIRST + 2) & STYLE_SELECTED);
	CHECK(!(flame_fixture_style(&fixture, 40, FIRST + 2) & STYLE_SELECTED));
	flame_fixture_keys(&fixture, "lj");
	CHECK_STR(selected(&fixture), "ns::get<std::vector<int> >()");
	flame_fixture_keys(&fixture, "h");
	CHECK_STR(selected(&fixture), "vfs_read");
	flame_fixture_keys(&fixture, "kk");
	CHECK_STR(selected(&fixture), "main");
	flame_fixture_keys(&fixture, "G");
	CHECK_STR(selected(&fixture), "vfs_read");
	flame_fixture_keys(&fixture, "gkk");
	CHECK_STR(selected(&fixture), "");
	flame_fixture_deinit(&fixture);
}

/* Those that are too narrow are reached one by one, and zoomed to when nothing else helps. */
TEST(siblings_in_one_box_are_reached)
{
	struct flame_fixture fixture;
	open_flame(&fixture, 40, 12);
	flame_fixture_keys(&fixture, "jjlll");
	CHECK_STR(selected(&fixture), "small_0");
	flame_fixture_keys(&fixture, "ll");
	CHECK_STR(selected(&fixture), "small_2");
	flame_fixture_keys(&fixture, "llllllll");
	CHECK_STR(selected(&fixture), "small_7");
	flame_fixture_key(&fixture, INPUT_ENTER); /* main, which is as wide as all */
	flame_fixture_key(&fixture, INPUT_ENTER);
	CHECK_STR(selected(&fixture), "small_7");
	CHECK_STR(flame_fixture_line(&fixture, FIRST + 3), "▏small_7  1.00%");
	flame_fixture_deinit(&fixture);
}

TEST(a_zoom_has_its_callers_above_and_is_undone_once)
{
	struct flame_fixture fixture;
	open_flame(&fixture, 80, 14);
	flame_fixture_keys(&fixture, "jjl");
	flame_fixture_key(&fixture, INPUT_ENTER);
	CHECK_STR(flame_fixture_line(&fixture, 2), "› in beta");
	CHECK_STR(flame_fixture_line(&fixture, 4), "▏all  100.00%");
	CHECK_STR(flame_fixture_line(&fixture, 5), "▏main  100.00%");
	CHECK_STR(flame_fixture_line(&fixture, 6), "▏beta  30.00%");
	CHECK_STR(flame_fixture_line(&fixture, 7), "▏ns::get<std::vector<int> >()  25.00%");
	CHECK_INT(flame_fixture_style(&fixture, 79, 5), STYLE_DIM);
	CHECK(flame_fixture_style(&fixture, 66, 7) >= STYLE_FLAME); /* 25/30 of 80 columns */
	CHECK_INT(flame_fixture_style(&fixture, 67, 7), STYLE_NORMAL);
	flame_fixture_keys(&fixture, "j");
	flame_fixture_key(&fixture, INPUT_ENTER);
	CHECK_STR(flame_fixture_line(&fixture, 2), "› in beta › in ns::get<std::vector<int> >()");
	flame_fixture_key(&fixture, INPUT_ESCAPE);
	CHECK_STR(flame_fixture_line(&fixture, 2), "› in beta");
	CHECK_STR(selected(&fixture), "ns::get<std::vector<int> >()");
	flame_fixture_key(&fixture, INPUT_ESCAPE);
	CHECK_STR(flame_fixture_line(&fixture, FIRST), "▏all  100.00%");
	flame_fixture_deinit(&fixture);
}

TEST(turned_over_leaves_are_on_top)
{
	struct flame_fixture fixture;
	open_flame(&fixture, 80, 14);
	flame_fixture_keys(&fixture, "I");
	CHECK_STR(flame_fixture_line(&fixture, 2), "leaves on top, callers below, by name");
	CHECK_STR(flame_fixture_line(&fixture, FIRST + 1),
		"▏alpha  40.00%                  ▏bet▏gamma    ▏ns::get<...>       ▏vfs…ead▒ +8 ▒");
	flame_fixture_deinit(&fixture);
}

TEST(callers_of_a_leaf_are_zoomed_to)
{
	struct flame_fixture fixture;
	open_flame(&fixture, 80, 14);
	flame_fixture_keys(&fixture, "jjlj");
	flame_fixture_keys(&fixture, "I");
	CHECK_STR(selected(&fixture), "ns::get<std::vector<int> >()");
	flame_fixture_keys(&fixture, "j");
	CHECK_STR(selected(&fixture), "beta");
	flame_fixture_key(&fixture, INPUT_ENTER);
	CHECK_STR(flame_fixture_line(&fixture, 2), "› ns::get<std::vector<int> >() from beta");
	CHECK_STR(flame_fixture_line(&fixture, 6), "▏beta  25.00%");
	CHECK_STR(flame_fixture_line(&fixture, 7), "▏main  25.00%");
	/* With the root on top it is not there; turned over again, it is. */
	flame_fixture_keys(&fixture, "I");
	CHECK_STR(flame_fixture_line(&fixture, 4), "▏all  100.00%");
	flame_fixture_keys(&fixture, "I");
	CHECK_STR(flame_fixture_line(&fixture, 7), "▏main  25.00%");
	flame_fixture_key(&fixture, INPUT_ESCAPE);
	CHECK_STR(flame_fixture_line(&fixture, 2), "leaves on top, callers below, by name");
	flame_fixture_deinit(&fixture);
}

TEST(the_leaves_of_a_zoom_end_at_it)
{
	struct flame_fixture fixture;
	open_flame(&fixture, 80, 14);
	flame_fixture_keys(&fixture, "jj");
	flame_fixture_key(&fixture, INPUT_ENTER);
	flame_fixture_keys(&fixture, "I");
	CHECK_STR(flame_fixture_line(&fixture, 4), "▏all of alpha  50.00%");
	CHECK_STR(flame_fixture_line(&fixture, 5),
		"▏alpha  40.00%                                                  ▏vfs_read [k]");
	CHECK_STR(flame_fixture_line(&fixture, 6),
		"                                                                ▏alpha  10.00%");
	CHECK_STR(flame_fixture_line(&fixture, 7), "");
	flame_fixture_deinit(&fixture);
}

TEST(matches_are_marked_and_gone_to)
{
	struct flame_fixture fixture;
	open_flame(&fixture, 80, 14);
	flame_fixture_keys(&fixture, "/a$");
	flame_fixture_key(&fixture, INPUT_ENTER);
	CHECK_STR(flame_fixture_line(&fixture, 2), "/a$: 3 functions, 92.00%");
	CHECK_STR(flame_fixture_line(&fixture, 6),
		"*alpha  50.00%                          *beta  30.00%           *gamma    ▒ +8 ▒");
	CHECK(flame_fixture_style(&fixture, 0, 6) & STYLE_MATCH);
	CHECK(!(flame_fixture_style(&fixture, 0, 5) & STYLE_MATCH));
	flame_fixture_keys(&fixture, "nn");
	CHECK_STR(selected(&fixture), "beta");
	flame_fixture_keys(&fixture, "NN");
	CHECK_STR(selected(&fixture), "gamma");
	flame_fixture_deinit(&fixture);
}

TEST(siblings_are_ordered_by_total_when_asked)
{
	struct flame_fixture fixture;
	open_flame(&fixture, 80, 14);
	flame_fixture_keys(&fixture, "I>");
	CHECK_STR(flame_fixture_line(&fixture, FIRST + 1),
		"▏alpha  40.00%                  ▏ns::get<...>       ▏gamma    ▏vfs…ead▏bet▒ +8 ▒");
	flame_fixture_deinit(&fixture);
}

TEST(the_mouse_selects_zooms_and_scrolls)
{
	struct flame_fixture fixture;
	open_flame(&fixture, 80, 9); /* four rows */
	flame_fixture_input(&fixture, &(struct input){.kind = INPUT_PRESS, .x = 64, .y = 4});
	CHECK_STR(selected(&fixture), "gamma");
	flame_fixture_input(&fixture, &(struct input){.kind = INPUT_DOUBLE, .x = 63, .y = 4});
	CHECK_STR(selected(&fixture), "beta");
	CHECK_STR(flame_fixture_line(&fixture, 1), "› in beta");
	flame_fixture_input(&fixture, &(struct input){.kind = INPUT_WHEEL_DOWN, .x = 1, .y = 4});
	CHECK(strstr(flame_fixture_text(&fixture), "ns::get<std::vector<int> >()  25.00%"));
	flame_fixture_deinit(&fixture);
}

TEST(the_selection_is_shared_and_outlives_models)
{
	struct flame_fixture fixture;
	open_flame(&fixture, 80, 14);
	flame_fixture_keys(&fixture, "jjl");
	flame_fixture_rename(&fixture);
	flame_fixture_text(&fixture);
	CHECK(flame_fixture_style(&fixture, 40, FIRST + 2) & STYLE_SELECTED);
	/* What is selected elsewhere is where it takes most. */
	app_select(&fixture.app, 1 + fixture.app.model->names->tree.nodes.data[1].frame);
	CHECK_STR(selected(&fixture), "alpha");
	flame_fixture_keys(&fixture, "14");
	flame_fixture_text(&fixture);
	CHECK(flame_fixture_style(&fixture, 0, FIRST + 2) & STYLE_SELECTED);
	flame_fixture_deinit(&fixture);
}

TEST(no_samples_are_no_graph)
{
	struct flame_fixture fixture;
	open_flame(&fixture, 80, 14);
	flame_fixture_keys(&fixture, "!main");
	flame_fixture_key(&fixture, INPUT_ENTER);
	flame_fixture_keys(&fixture, "jlkhG");
	CHECK(strstr(flame_fixture_text(&fixture), "no samples here"));
	flame_fixture_key(&fixture, INPUT_ESCAPE);
	CHECK(strstr(flame_fixture_text(&fixture), "▏alpha  50.00%"));
	flame_fixture_deinit(&fixture);
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
	struct flame_fixture fixture;
	flame_fixture_init(&fixture, fixture_profile(&recording), 40, 14);
	flame_fixture_keys(&fixture, "4gG");
	CHECK_STR(selected(&fixture), "f999");
	CHECK_STR(flame_fixture_line(&fixture, 11), "▏f999  100.00%");
	CHECK_STR(flame_fixture_line(&fixture, 2), "callers on top, by name             ▲992");
	flame_fixture_key(&fixture, INPUT_ENTER);
	CHECK(strstr(flame_fixture_text(&fixture), "▏f997  100.00%"));
	flame_fixture_keys(&fixture, "kkk");
	CHECK_STR(selected(&fixture), "f996");
	CHECK(strstr(flame_fixture_text(&fixture), "▏f996  100.00%"));
	flame_fixture_deinit(&fixture);
}
