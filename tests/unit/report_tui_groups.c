#include <string.h>

#include "tests/unit/report_tui_fixture.h"
#include "tests/unit/unit.h"

/*
 * web: 4 samples of main > parse > scan, 2 of main > parse; db, of two threads: 3 of main > scan
 * and 1 without a stack.
 */
static struct profile *two_processes(bool is_of_system)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t user = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t web = fixture_process(&fixture, 10, 0), db = fixture_process(&fixture, 20, 0);
	uint32_t serve = fixture_thread(&fixture, web, 10, "web");
	uint32_t query = fixture_thread(&fixture, db, 20, "db");
	uint32_t flush = fixture_thread(&fixture, db, 21, "flush");
	uint32_t main = fixture_frame(&fixture, user, 0x10, "main");
	uint32_t parse = fixture_frame(&fixture, user, 0x20, "parse");
	uint32_t scan = fixture_frame(&fixture, user, 0x30, "scan");
	fixture_samples(&fixture, serve, FIXTURE_STACK(&fixture, main, parse, scan), 0, 4);
	fixture_samples(&fixture, serve, FIXTURE_STACK(&fixture, main, parse), 0, 2);
	fixture_samples(&fixture, query, FIXTURE_STACK(&fixture, main, scan), 0, 3);
	fixture_samples(&fixture, flush, 0, 0, 1);
	writer_meta(fixture.writer, LAYOUT_META_TARGET,
		is_of_system ? LAYOUT_TARGET_SYSTEM : "command");
	return fixture_profile(&fixture);
}

static void begin(struct screen *screen, enum view_id view, bool is_of_system)
{
	struct app_options options = {.file_name = "x.data"};
	screen_init_with(screen, two_processes(is_of_system), 80, 16, options, view);
	screen->app.wish.serial++; /* as the worker does it first */
	screen_type(screen, "g");
}

/* The rows of the menu: 0 is "nothing". */
static void group_by(struct screen *screen, int row)
{
	screen_type(screen, "bg");
	for (int i = 0; i < row; i++)
		screen_type(screen, "j");
	screen_type(screen, "\n");
}

TEST(all_of_a_system_is_grouped_by_process)
{
	struct screen screen;
	begin(&screen, VIEW_TOP, true);
	CHECK_STR(screen_lines(&screen, 2, 5), "   selfv    total process             function\n"
					       "  40.00%   40.00% web:10              scan\n"
					       "  30.00%   30.00% db:20               scan\n"
					       "  20.00%   60.00% web:10              parse\n"
					       "   0.00%   60.00% web:10              main\n");
	screen_deinit(&screen);
	begin(&screen, VIEW_TOP, false);
	CHECK_STR(screen_lines(&screen, 2, 2),
		"   selfv    total file                         function\n"
		"  70.00%   70.00% [vdso]            #######    scan\n");
	screen_deinit(&screen);
}

/* The line below has the numbers of the row, and those of all groups behind them. */
TEST(what_is_selected_in_a_group_is_told_as_its_row)
{
	struct screen screen;
	begin(&screen, VIEW_TOP, true);
	screen_type(&screen, "gj");
	CHECK_STR(screen_line(&screen, screen_selected(&screen)),
		"  30.00%   30.00% db:20               scan");
	CHECK(strstr(screen_line(&screen, 14), " self 30.00% total 30.00% of 70.00%"));
	screen_type(&screen, "j"); /* in no other group */
	CHECK(strstr(screen_line(&screen, 14), " self 20.00% total 60.00%"));
	CHECK(!strstr(screen_line(&screen, 14), " of "));
	screen_deinit(&screen);
}

TEST(top_goes_from_a_row_to_its_group_in_the_tree)
{
	struct screen screen;
	begin(&screen, VIEW_TOP, true);
	screen_type(&screen, "j3");
	CHECK_STR(screen_lines(&screen, 3, 6),
		"   0.00%   60.00% ######     - web:10  [process]\n"
		"  20.00%   60.00% ######     `-- main > parse  [vdso]\n"
		"  40.00%   40.00% ####         `-- scan  [vdso]\n"
		"  10.00%   40.00% ####       - db:20  [process]\n"
		"  30.00%   30.00% ###        `-- main > scan  [vdso]\n"
		"\n");
	CHECK_STR(screen_line(&screen, screen_selected(&screen)),
		"  30.00%   30.00% ###        `-- main > scan  [vdso]");
	screen_deinit(&screen);
}

/* Where there is room: each function once, with what it has in all of the groups. */
TEST(the_list_of_functions_stands_beside_callers_of_groups)
{
	struct screen screen;
	begin(&screen, VIEW_TOP, true);
	screen_resize(&screen, 160, 16);
	screen_type(&screen, "2");
	CHECK(strncmp(screen_line(&screen, 2), "    self function", 17) == 0);
	CHECK(strncmp(screen_line(&screen, 3), "  70.00% scan", 13) == 0);
	CHECK(strncmp(screen_line(&screen, 4), "  20.00% parse", 14) == 0);
	screen_type(&screen, "A");
	CHECK(strstr(screen_text(&screen), "web:10  [process]"));
	CHECK(strstr(screen_text(&screen), "db:20  [process]"));
	screen_type(&screen, "]");
	CHECK_STR(model_function(screen.app.model, app_function(&screen.app))->name, "parse");
	screen_mouse(&screen, INPUT_PRESS, 12, 3);
	CHECK_STR(model_function(screen.app.model, app_function(&screen.app))->name, "scan");
	screen_deinit(&screen);
}

/* Going from one to the next needs no room for the list, and begins with the hottest. */
TEST(the_next_function_needs_no_list)
{
	struct screen screen;
	begin(&screen, VIEW_TREE, true);
	screen_type(&screen, "g2");
	CHECK(strstr(screen_text(&screen), "web:10  [process]"));
	screen_type(&screen, "]");
	CHECK_STR(model_function(screen.app.model, app_function(&screen.app))->name, "scan");
	screen_type(&screen, "]]");
	CHECK_STR(model_function(screen.app.model, app_function(&screen.app))->name, "main");
	screen_type(&screen, "[");
	CHECK_STR(model_function(screen.app.model, app_function(&screen.app))->name, "parse");
	screen_deinit(&screen);
}

/* By way of its callers in all groups, too. */
TEST(callers_lead_back_to_the_group)
{
	struct screen screen;
	begin(&screen, VIEW_TOP, true);
	screen_type(&screen, "gj\n");
	CHECK(strstr(screen_line(&screen, 14), " self 70.00% total 70.00%"));
	screen_type(&screen, "3");
	CHECK_STR(screen_line(&screen, screen_selected(&screen)),
		"  30.00%   30.00% ###        `-- main > scan  [vdso]");
	screen_type(&screen, "1");
	CHECK(strstr(screen_line(&screen, screen_selected(&screen)), "db:20"));
	screen_deinit(&screen);
}

TEST(groups_stand_ahead_of_leaves)
{
	struct screen screen;
	begin(&screen, VIEW_TREE, false);
	group_by(&screen, 2);
	CHECK(strstr(screen_text(&screen), "web:10  [thread]"));
	screen_type(&screen, "I");
	screen_type(&screen, "gEjjE");
	CHECK_STR(screen_lines(&screen, 2, 8),
		"    self    total            function v callers\n"
		"           60.00% ######     - web:10  [thread]\n"
		"  40.00%   40.00% ####       |-- scan  [vdso]\n"
		"           40.00% ####       | `-- parse > main  [vdso]\n"
		"  20.00%   20.00% ##         `-+ parse  [vdso]\n"
		"           30.00% ###        + db:20  [thread]\n"
		"           10.00% #            flush:21  [thread]\n"
		"\n");
	screen_deinit(&screen);
}

TEST(a_group_is_a_filter)
{
	struct screen screen;
	begin(&screen, VIEW_TREE, true);
	screen_type(&screen, "gf");
	CHECK(strstr(screen_line(&screen, 2), "pid 10"));
	CHECK_INT(screen.app.model->slice.whole.samples, 6);
	screen_key(&screen, INPUT_ESCAPE);
	screen_type(&screen, "gx");
	CHECK(strstr(screen_line(&screen, 2), "not pid 10"));
	CHECK_INT(screen.app.model->slice.whole.samples, 4);
	screen_deinit(&screen);
}

TEST(zooms_end_with_their_groups)
{
	struct screen screen;
	begin(&screen, VIEW_TREE, true);
	screen_type(&screen, "g\n");
	CHECK(strstr(screen_line(&screen, 2), "in web:10"));
	group_by(&screen, 3);
	CHECK(strstr(screen_text(&screen), "the zoom has ended"));
	CHECK(strstr(screen_text(&screen), "[no container]  [container]"));
	group_by(&screen, 0);
	CHECK(!strstr(screen_text(&screen), "[container]"));
	screen_deinit(&screen);
}

TEST(groups_are_searched_for)
{
	struct screen screen;
	begin(&screen, VIEW_TREE, true);
	screen_type(&screen, "/db\n");
	CHECK(strstr(screen_line(&screen, screen_selected(&screen)), "db:20  [process]"));
	CHECK(strstr(screen_text(&screen), "40.00%"));
	screen_type(&screen, "1n");
	CHECK(strstr(screen_line(&screen, screen_selected(&screen)), "db:20"));
	screen_deinit(&screen);
}

/* A function has a row in each group that it is in, and each is a match of its own. */
TEST(matches_are_rows_of_groups)
{
	struct screen screen;
	begin(&screen, VIEW_TOP, true);
	screen_type(&screen, "/scan\n");
	CHECK(strstr(screen_line(&screen, 2), "/scan: 1/2"));
	screen_type(&screen, "n");
	CHECK(strstr(screen_line(&screen, 2), "/scan: 2/2"));
	CHECK(strstr(screen_line(&screen, screen_selected(&screen)), "db:20"));
	screen_deinit(&screen);
}

TEST(groups_of_files_and_events)
{
	struct screen screen;
	begin(&screen, VIEW_TREE, false);
	group_by(&screen, 4);
	CHECK(strstr(screen_text(&screen), "90.00% #########  - [vdso]  [file]"));
	screen_type(&screen, "gf");
	CHECK(strstr(screen_text(&screen), "d keeps stacks that pass through one"));
	group_by(&screen, 5);
	CHECK(strstr(screen_text(&screen), "[event]"));
	screen_deinit(&screen);
}

/* What is summed of samples is not summed again for a search, or for a function's lines. */
TEST(models_of_the_same_samples_share_their_sums)
{
	struct screen screen;
	begin(&screen, VIEW_TOP, true);
	struct model *before = screen.app.model;
	struct model_wish wish = {.serial = 2, .search = (char *)"a"};
	struct model *searched =
		model_renew(before->sums, screen.profile, before->names, &wish, NULL);
	CHECK(searched->weights == before->weights);
	CHECK(searched->matches && !before->matches);
	struct scope_term term = {.kind = SCOPE_COMM, .text = (char *)"web"};
	scope_add(&wish.scope, &term);
	struct model *filtered =
		model_renew(before->sums, screen.profile, before->names, &wish, NULL);
	CHECK(filtered->weights != before->weights);
	CHECK(filtered->slice.whole.samples < before->slice.whole.samples);
	struct model *again =
		model_renew(filtered->sums, screen.profile, before->names, &wish, NULL);
	CHECK(again->weights == filtered->weights);
	term.excludes = true;
	scope_add(&wish.scope, &term);
	struct model *other =
		model_renew(filtered->sums, screen.profile, before->names, &wish, NULL);
	CHECK(other->weights != filtered->weights);
	model_release(filtered);
	CHECK_INT(again->weights->samples, again->slice.whole.samples);
	model_release(again);
	model_release(other);
	model_release(searched);
	scope_deinit(&wish.scope);
	screen_deinit(&screen);
}
