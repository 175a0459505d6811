#include <string.h>

#include "tests/unit/report_tui_fixture.h"
#include "tests/unit/unit.h"

/*
 * 100 samples: leaf in 90, called by work (60) and by idle (30); both are called by main. leaf
 * calls itself in 20 of those of idle, and sys_read in 10 of those of work.
 */
static struct profile *crossing_profile(void)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t user = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t kernel = fixture_object(&fixture, LAYOUT_OBJECT_KERNEL, "[kernel]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 10, 0), 10, "app");
	uint32_t main = fixture_frame(&fixture, user, 0x10, "main");
	uint32_t work = fixture_frame(&fixture, user, 0x20, "work");
	uint32_t idle = fixture_frame(&fixture, user, 0x30, "idle");
	uint32_t leaf = fixture_frame(&fixture, user, 0x40, "leaf");
	uint32_t read = fixture_frame(&fixture, kernel, 0x50, "sys_read");
	uint32_t in_main = FIXTURE_STACK(&fixture, main);
	uint32_t in_kernel = FIXTURE_STACK(&fixture, read);
	uint32_t work_leaf = FIXTURE_STACK(&fixture, main, work, leaf);
	uint32_t idle_leaf = FIXTURE_STACK(&fixture, main, idle, leaf);
	uint32_t twice = FIXTURE_STACK(&fixture, main, idle, leaf, leaf);
	fixture_samples(&fixture, thread, in_main, 0, 10);
	fixture_samples(&fixture, thread, work_leaf, 0, 50);
	fixture_samples(&fixture, thread, work_leaf, in_kernel, 10);
	fixture_samples(&fixture, thread, idle_leaf, 0, 10);
	fixture_samples(&fixture, thread, twice, 0, 20);
	return fixture_profile(&fixture);
}

TEST(butterfly_shows_callers_and_callees)
{
	struct screen screen;
	screen_init(&screen, crossing_profile(), 80, 14);
	screen_type(&screen, "g2"); /* leaf is the hottest */
	CHECK_STR(screen_lines(&screen, 2, 6),
		"    self    total            callers ^ function v callees\n"
		"           30.00% ###        ,-+ idle  [vdso]\n"
		"           60.00% ######     | ,-- main  [vdso]\n"
		"           60.00% ######     |-- work  [vdso]\n"
		"  80.00%   90.00% #########  - leaf  (recursive x2) [vdso]\n"
		"  10.00%   10.00% #          `-- sys_read  [kernel]\n");
	CHECK_INT(screen_selected(&screen), 6); /* the hot callers are open */
	screen_type(&screen, "kh");
	CHECK_STR(screen_lines(&screen, 3, 3),
		"           30.00% ###        ,-+ idle  [vdso]\n"
		"           60.00% ######     |-+ work  [vdso]\n"
		"  80.00%   90.00% #########  - leaf  (recursive x2) [vdso]\n");
	screen_type(&screen, "l"); /* work's callers stand above it, it stays where it is */
	CHECK_STR(screen_lines(&screen, 3, 4),
		"           30.00% ###        ,-+ idle  [vdso]\n"
		"           60.00% ######     | ,-- main  [vdso]\n"
		"           60.00% ######     |-- work  [vdso]\n"
		"  80.00%   90.00% #########  - leaf  (recursive x2) [vdso]\n");
	screen_type(&screen, "l");
	CHECK_INT(screen_selected(&screen), 4);
	screen_type(&screen, "hhh"); /* main, work, which closes, leaf */
	CHECK_INT(screen_selected(&screen), 5);
	screen_deinit(&screen);
}

TEST(butterfly_goes_to_others_and_back)
{
	struct screen screen;
	screen_init(&screen, crossing_profile(), 80, 14);
	screen_type(&screen, "g2kkk\n"); /* idle */
	CHECK_STR(screen_lines(&screen, 3, 4),
		"           30.00% ###        ,-- main  [vdso]\n"
		"   0.00%   30.00% ###        - idle  [vdso]\n"
		"  30.00%   30.00% ###        `-- leaf  (recursive x2) [vdso]\n"
		"\n");
	screen_type(&screen, "k\n"); /* main */
	CHECK_STR(screen_lines(&screen, 3, 5),
		"  10.00%  100.00% ########## - main  [vdso]\n"
		"   0.00%   60.00% ######     |-- work  [vdso]\n"
		"  50.00%   60.00% ######     | `-- leaf  [vdso]\n"
		"  10.00%   10.00% #          |   `-- sys_read  [kernel]\n"
		"   0.00%   30.00% ###        `-+ idle  [vdso]\n");
	screen_type(&screen, "\x1b");
	CHECK_STR(screen_lines(&screen, 4, 1), "   0.00%   30.00% ###        - idle  [vdso]\n");
	screen_type(&screen, "\x1b");
	CHECK_STR(screen_lines(&screen, 6, 1),
		"  80.00%   90.00% #########  - leaf  (recursive x2) [vdso]\n");
	screen_type(&screen, "\x1b"); /* to where it was entered from */
	CHECK_INT(screen.app.view, VIEW_TOP);
	screen_type(&screen, "/idle\n2"); /* another function, another middle */
	CHECK_STR(screen_lines(&screen, 5, 1), "   0.00%   30.00% ###        - idle  [vdso]\n");
	screen_deinit(&screen);
}

TEST(butterfly_finds_matches_on_both_sides)
{
	struct screen screen;
	screen_init(&screen, crossing_profile(), 80, 14);
	screen_type(&screen, "g2/main|sys\n"); /* main above work */
	CHECK_STR(screen_lines(&screen, 4, 3), "           30.00% ###        ,-+ idle  [vdso]\n"
					       "           60.00% ######     | ,-- main  [vdso]\n"
					       "           60.00% ######     |-- work  [vdso]\n");
	CHECK_INT(screen_selected(&screen), 5);
	screen_type(&screen, "n");
	CHECK_INT(screen_selected(&screen), 8); /* sys_read */
	screen_type(&screen, "n");              /* around: main above idle */
	CHECK_STR(screen_lines(&screen, 4, 2), "           30.00% ###          ,-- main  [vdso]\n"
					       "           30.00% ###        ,-- idle  [vdso]\n");
	CHECK_INT(screen_selected(&screen), 4);
	screen_type(&screen, "N");
	CHECK_INT(screen_selected(&screen), 9);
	screen_deinit(&screen);
}

/* Of several the one that takes most; what is on no side of this function comes into the middle. */
TEST(butterfly_goes_to_the_hottest_match)
{
	struct screen screen;
	screen_init(&screen, crossing_profile(), 80, 14);
	screen_type(&screen, "g2/idle|work\n");
	CHECK_INT(screen_selected(&screen), 6);
	CHECK(strstr(screen_line(&screen, 6), "work  [vdso]"));
	screen_type(&screen, "/sys_read\n\n"); /* into the middle */
	CHECK(strstr(screen_line(&screen, screen_selected(&screen)), "sys_read"));
	screen_type(&screen, "/idle\n");
	CHECK(strstr(screen_line(&screen, screen_selected(&screen)), "40.00%") ||
		strstr(screen_line(&screen, screen_selected(&screen)), "30.00%"));
	CHECK(strstr(screen_line(&screen, screen_selected(&screen)), "- idle"));
	CHECK(!strstr(screen_line(&screen, 13), "nothing matches"));
	screen_deinit(&screen);
}

TEST(butterfly_survives_filters)
{
	struct screen screen;
	screen_init(&screen, crossing_profile(), 80, 14);
	screen_type(&screen, "g2!idle\n");
	CHECK_STR(screen_lines(&screen, 4, 4),
		"           85.71% #########    ,-- main  [vdso]\n"
		"           85.71% #########  ,-- work  [vdso]\n"
		"  71.43%   85.71% #########  - leaf  [vdso]\n"
		"  14.29%   14.29% #          `-- sys_read  [kernel]\n");
	screen_type(&screen, "!leaf\n"); /* nothing is left of it */
	CHECK(strstr(screen_text(&screen), "no samples of it here"));
	screen_type(&screen, "\x1b\x1b");
	CHECK_STR(screen_lines(&screen, 6, 1),
		"  80.00%   90.00% #########  - leaf  (recursive x2) [vdso]\n");
	screen_deinit(&screen);
}

TEST(function_list_stands_beside_where_there_is_room)
{
	struct screen screen;
	screen_init(&screen, crossing_profile(), 160, 14);
	screen_type(&screen, "g2");
	CHECK(strncmp(screen_lines(&screen, 2, 1), "    self function  ", 19) == 0);
	CHECK(strncmp(screen_lines(&screen, 3, 1), "  80.00% leaf  ", 15) == 0);
	screen_type(&screen, "]"); /* main and sys_read have as much; main more in all */
	CHECK(strncmp(screen_line(&screen, screen_selected(&screen)), "  10.00% main  ", 15) == 0);
	CHECK(strstr(screen_text(&screen), "- main  [vdso]"));
	screen_type(&screen, "[");
	CHECK(strstr(screen_text(&screen), "- leaf  (recursive x2) [vdso]"));
	screen_mouse(&screen, INPUT_PRESS, 12, 5);
	CHECK(strstr(screen_text(&screen), "#            sys_read  [kernel]"));
	screen_type(&screen, "\x1b");
	CHECK(strstr(screen_text(&screen), "- leaf  (recursive x2) [vdso]"));
	screen_resize(&screen, 80, 14);
	screen_type(&screen, "]"); /* the order is the same without it */
	CHECK(strstr(screen_text(&screen), "- main  [vdso]"));
	screen_type(&screen, "[");
	screen_type(&screen, "[");
	CHECK(strstr(screen_text(&screen), "no function is hotter"));
	screen_deinit(&screen);
}

/* main, of no time of its own, calls 1,200 functions, the first of which is the hottest. */
static struct profile *wide_profile(void)
{
	enum {
		CALLED = 1200
	};
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t user = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 10, 0), 10, "app");
	uint32_t main = fixture_frame(&fixture, user, 0x10, "main");
	for (unsigned i = 0; i < CALLED; i++) {
		CLEANUP(str_deinit) struct str name = {0};
		str_printf(&name, "f%04u", i);
		uint32_t called = fixture_frame(&fixture, user, 0x20 + 0x10 * i, str_text(&name));
		fixture_samples(
			&fixture, thread, FIXTURE_STACK(&fixture, main, called), 0, i ? 1 : CALLED);
	}
	return fixture_profile(&fixture);
}

static const char *selected_name(const struct screen *screen)
{
	return model_function(screen->app.model, app_function(&screen->app))->name;
}

/* The list of the hottest has an end, below which there are others. */
TEST(next_functions_of_many)
{
	struct screen screen;
	screen_init(&screen, wide_profile(), 100, 14);
	screen_type(&screen, "/main\n");
	screen_type(&screen, "2");
	CHECK_STR(selected_name(&screen), "main");
	screen_type(&screen, "]");
	CHECK_STR(selected_name(&screen), "main");
	CHECK(strstr(screen_text(&screen), "these are the 1000 hottest"));
	screen_type(&screen, "[");
	CHECK_STR(selected_name(&screen), "f0999");
	screen_type(&screen, "]");
	CHECK(strstr(screen_text(&screen), "these are the 1000 hottest"));
	screen_type(&screen, "[");
	CHECK_STR(selected_name(&screen), "f0998");
	screen_deinit(&screen);
}

TEST(butterfly_asks_for_a_function)
{
	struct fixture fixture;
	fixture_init(&fixture);
	struct screen screen;
	screen_init(&screen, fixture_profile(&fixture), 40, 10);
	screen_type(&screen, "2");
	CHECK(strstr(screen_text(&screen), "select a function first"));
	screen_type(&screen, "jlhECF\n/x\nnI"); /* nothing of that hurts */
	screen_type(&screen, "3jlhECF\nnI\n");
	CHECK(strstr(screen_text(&screen), "no samples here"));
	screen_deinit(&screen);
}

/*
 * 100 samples: main calls walk, which calls itself to three levels: 5, 0 and 10 of their own; the
 * first calls mark in 5, the second in 10, and the second and the third visit, of whose 70 samples
 * 55 are in a mark that it calls through walk.
 */
static struct profile *recursive_profile(void)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t user = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 10, 0), 10, "app");
	uint32_t main = fixture_frame(&fixture, user, 0x10, "main");
	uint32_t walk = fixture_frame(&fixture, user, 0x20, "walk");
	uint32_t mark = fixture_frame(&fixture, user, 0x30, "mark");
	uint32_t visit = fixture_frame(&fixture, user, 0x40, "visit");
	uint32_t stacks[] = {
		FIXTURE_STACK(&fixture, main, walk),
		FIXTURE_STACK(&fixture, main, walk, mark),
		FIXTURE_STACK(&fixture, main, walk, walk, mark),
		FIXTURE_STACK(&fixture, main, walk, walk, visit),
		FIXTURE_STACK(&fixture, main, walk, walk, walk),
		FIXTURE_STACK(&fixture, main, walk, walk, walk, visit),
		FIXTURE_STACK(&fixture, main, walk, walk, walk, visit, walk, mark),
	};
	static const unsigned samples[] = {5, 5, 10, 10, 10, 5, 55};
	for (size_t i = 0; i < sizeof(stacks) / sizeof(*stacks); i++)
		fixture_samples(&fixture, thread, stacks[i], 0, samples[i]);
	return fixture_profile(&fixture);
}

/*
 * What all levels call stands beside each other, and the parts make up the whole: 15 of its own, 70
 * and 15. The hot path does not lead back to where it came from.
 */
TEST(butterfly_has_one_row_for_recursion)
{
	struct screen screen;
	screen_init(&screen, recursive_profile(), 80, 14);
	screen_type(&screen, "/walk\n2");
	CHECK_STR(screen_lines(&screen, 4, 6),
		"          100.00% ########## ,-- main  [vdso]\n"
		"  15.00%  100.00% ########## - walk  (recursive x3) [vdso]\n"
		"  15.00%   70.00% #######    |-- visit  [vdso]\n"
		"   0.00%   55.00% ######     | `-+ walk  [vdso]\n"
		"  15.00%   15.00% ##         `-- mark  [vdso]\n"
		"\n");
	screen_deinit(&screen);
}

TEST(butterfly_has_one_row_for_recursion_of_callers)
{
	struct screen screen;
	screen_init(&screen, recursive_profile(), 80, 14);
	screen_type(&screen, "/mark\n2");
	CHECK_STR(screen_lines(&screen, 4, 6),
		"           15.00% ##           ,-- main  [vdso]\n"
		"           55.00% ######       |   ,-- main  [vdso]\n"
		"           55.00% ######       | ,-- walk  (recursive x3) [vdso]\n"
		"           55.00% ######       |-- visit  [vdso]\n"
		"           70.00% #######    ,-- walk  (recursive x2) [vdso]\n"
		"  70.00%   70.00% #######      mark  [vdso]\n");
	screen_type(&screen, "kF");
	CHECK_STR(selected_name(&screen), "walk");
	CHECK(!strstr(screen_text(&screen), "recursive"));
	screen_type(&screen, "F");
	CHECK_STR(selected_name(&screen), "walk");
	CHECK(strstr(screen_lines(&screen, 8, 1), "70.00% #######    ,-- walk  (recursive x2)"));
	screen_deinit(&screen);
}

TEST(levels_of_recursion_are_unfolded)
{
	struct screen screen;
	screen_init(&screen, recursive_profile(), 80, 16);
	screen_type(&screen, "/walk\n2");
	CLEANUP(str_deinit) struct str folded = {0};
	str_puts(&folded, screen_lines(&screen, 4, 6));
	screen_type(&screen, "F");
	CHECK_STR(screen_lines(&screen, 5, 8), "  15.00%  100.00% ########## - walk  [vdso]\n"
					       "   0.00%   90.00% #########  |-- walk  [vdso]\n"
					       "  10.00%   70.00% #######    | |-+ walk  [vdso]\n"
					       "  10.00%   10.00% #          | |-- mark  [vdso]\n"
					       "  10.00%   10.00% #          | `-- visit  [vdso]\n"
					       "   5.00%    5.00% #          `-- mark  [vdso]\n"
					       "\n"
					       "\n");
	screen_type(&screen, "jjF"); /* from any of the levels */
	CHECK_STR(screen_lines(&screen, 4, 6), str_text(&folded));
	CHECK_INT(screen_selected(&screen), 5);
	screen_type(&screen, "FjjjC"); /* closed is folded */
	CHECK_STR(screen_lines(&screen, 5, 4),
		"  15.00%  100.00% ########## - walk  (recursive x3) [vdso]\n"
		"  15.00%   70.00% #######    |-+ visit  [vdso]\n"
		"  15.00%   15.00% ##         `-- mark  [vdso]\n"
		"\n");
	screen_type(&screen, "F!visit\n"); /* what is unfolded stays so */
	screen_rename(&screen);
	CHECK(!strstr(screen_text(&screen), "recursive"));
	screen_deinit(&screen);
}

/* Nothing is above the outermost level: there is nothing to open. */
TEST(folded_recursion_has_no_caller_of_its_own)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t user = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 10, 0), 10, "app");
	uint32_t walk = fixture_frame(&fixture, user, 0x20, "walk");
	uint32_t mark = fixture_frame(&fixture, user, 0x30, "mark");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, walk, walk, mark), 0, 10);
	struct screen screen;
	screen_init(&screen, fixture_profile(&fixture), 80, 14);
	screen_type(&screen, "g2C");
	CHECK_STR(screen_lines(&screen, 3, 2),
		"          100.00% ########## ,-- walk  (recursive x2) [vdso]\n"
		" 100.00%  100.00% ##########   mark  [vdso]\n");
	screen_deinit(&screen);
}

/* The function in the middle stands in a row of its own, that of the top: there is nothing above.
 */
TEST(butterfly_folds_nothing_in_the_middle)
{
	struct screen screen;
	screen_init(&screen, crossing_profile(), 80, 14);
	screen_type(&screen, "g2F");
	CHECK_INT(screen_selected(&screen), 6);
	CHECK(strstr(screen_lines(&screen, 6, 1), "- leaf"));
	screen_deinit(&screen);
}
