#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/tui/print.h"
#include "tests/unit/report_tui_fixture.h"
#include "tests/unit/unit.h"

/*
 * 100 samples: main is in all; work in 60, 10 of them its own, 30 in leaf, 20 in the kernel;
 * idle in 40, 2 of them its own, the others in leaf.
 */
static struct profile *small_profile(void)
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
	uint32_t in_work = FIXTURE_STACK(&fixture, main, work);
	uint32_t in_idle = FIXTURE_STACK(&fixture, main, idle);
	uint32_t in_kernel = FIXTURE_STACK(&fixture, read);
	uint32_t work_leaf = FIXTURE_STACK(&fixture, main, work, leaf);
	uint32_t idle_leaf = FIXTURE_STACK(&fixture, main, idle, leaf);
	fixture_samples(&fixture, thread, in_work, 0, 10);
	fixture_samples(&fixture, thread, in_work, in_kernel, 20);
	fixture_samples(&fixture, thread, work_leaf, 0, 30);
	fixture_samples(&fixture, thread, in_idle, 0, 2);
	fixture_samples(&fixture, thread, idle_leaf, 0, 38);
	return fixture_profile(&fixture);
}

static void begin_in_tree(struct screen *screen, int width, int height)
{
	struct app_options options = {.file_name = "x.data"};
	screen_init_with(screen, small_profile(), width, height, options, VIEW_TREE);
}

TEST(tree_opens_down_to_where_time_divides)
{
	struct screen screen;
	begin_in_tree(&screen, 80, 12);
	CHECK_STR(screen_lines(&screen, 2, 7),
		"    self    total            function v callees\n"
		"   0.00%  100.00% ########## - main  [vdso]\n"
		"  10.00%   60.00% ######     |-- work  [vdso]\n"
		"  30.00%   30.00% ###        | |-- leaf  [vdso]\n"
		"  20.00%   20.00% ##         | `-- sys_read  [kernel]\n"
		"   2.00%   40.00% ####       `-+ idle  [vdso]\n"
		"\n");
	CHECK(screen_style(&screen, "sys_read") & STYLE_KERNEL);
	screen_deinit(&screen);
}

TEST(tree_opens_and_closes)
{
	struct screen screen;
	screen_init(&screen, small_profile(), 80, 12);
	screen_type(&screen, "3gC");
	CHECK_STR(screen_lines(&screen, 3, 2), "   0.00%  100.00% ########## + main  [vdso]\n"
					       "\n");
	screen_type(&screen, "l");
	CHECK_STR(screen_lines(&screen, 3, 4), "   0.00%  100.00% ########## - main  [vdso]\n"
					       "  10.00%   60.00% ######     |-+ work  [vdso]\n"
					       "   2.00%   40.00% ####       `-+ idle  [vdso]\n"
					       "\n");
	screen_type(&screen, "jje"); /* idle */
	CHECK_STR(screen_lines(&screen, 4, 3), "  10.00%   60.00% ######     |-+ work  [vdso]\n"
					       "   2.00%   40.00% ####       `-- idle  [vdso]\n"
					       "  38.00%   38.00% ####         `-- leaf  [vdso]\n");
	screen_type(&screen, "l"); /* to its child */
	CHECK_INT(screen_selected(&screen), 6);
	screen_type(&screen, "hh"); /* to its parent, which closes */
	CHECK_INT(screen_selected(&screen), 5);
	CHECK_STR(screen_lines(&screen, 5, 2), "   2.00%   40.00% ####       `-+ idle  [vdso]\n"
					       "\n");
	screen_type(&screen, "h-"); /* to main, which closes; it opens as it was */
	CHECK_STR(screen_lines(&screen, 4, 1), "\n");
	screen_type(&screen, "+jE");
	CHECK_STR(screen_lines(&screen, 5, 3),
		"  30.00%   30.00% ###        | |-- leaf  [vdso]\n"
		"  20.00%   20.00% ##         | `-- sys_read  [kernel]\n"
		"   2.00%   40.00% ####       `-+ idle  [vdso]\n");
	screen_deinit(&screen);
}

TEST(tree_opens_all)
{
	struct screen screen;
	screen_init(&screen, small_profile(), 80, 12);
	screen_type(&screen, "3gC");
	CHECK_STR(screen_lines(&screen, 4, 1), "\n");
	screen_type(&screen, "A");
	CHECK_STR(screen_lines(&screen, 3, 6),
		"   0.00%  100.00% ########## - main  [vdso]\n"
		"  10.00%   60.00% ######     |-- work  [vdso]\n"
		"  30.00%   30.00% ###        | |-- leaf  [vdso]\n"
		"  20.00%   20.00% ##         | `-- sys_read  [kernel]\n"
		"   2.00%   40.00% ####       `-- idle  [vdso]\n"
		"  38.00%   38.00% ####         `-- leaf  [vdso]\n");
	CHECK_INT(screen_selected(&screen), 3);
	screen_type(&screen, "IA");
	CHECK(strstr(screen_text(&screen), "`-- main  [kernel]") == NULL);
	CHECK(strstr(screen_text(&screen), "work > main"));
	screen_deinit(&screen);
}

TEST(tree_turns_over)
{
	struct screen screen;
	screen_init_with(&screen, small_profile(), 80, 12,
		(struct app_options){.file_name = "x.data", .is_inverted = true}, VIEW_TREE);
	screen_type(&screen, "l");
	CHECK_STR(screen_lines(&screen, 2, 7),
		"    self    total            function v callers\n"
		"  68.00%   68.00% #######    - leaf  [vdso]\n"
		"           38.00% ####       |-- idle > main  [vdso]\n"
		"           30.00% ###        `-- work > main  [vdso]\n"
		"  20.00%   20.00% ##         + sys_read  [kernel]\n"
		"  10.00%   10.00% #          + work  [vdso]\n"
		"   2.00%    2.00%            + idle  [vdso]\n");
	screen_type(&screen, "I");
	CHECK(strstr(screen_text(&screen), "v callees"));
	screen_type(&screen, "I"); /* as open as it was */
	CHECK_STR(screen_lines(&screen, 4, 1),
		"           38.00% ####       |-- idle > main  [vdso]\n");
	screen_deinit(&screen);
}

TEST(tree_turned_over_twice_is_where_it_was)
{
	struct screen screen;
	begin_in_tree(&screen, 80, 12);
	screen_type(&screen, "gI"); /* main is no leaf */
	CHECK_INT(screen_selected(&screen), 3);
	CHECK(strstr(screen_lines(&screen, 10, 1), "leaf  [vdso]  ")); /* so is it told */
	screen_type(&screen, "I");
	CHECK_INT(screen_selected(&screen), 3);
	screen_type(&screen, "IjI"); /* sys_read was gone to */
	CHECK_INT(screen_selected(&screen), 6);
	screen_deinit(&screen);
}

TEST(tree_zooms_and_comes_back)
{
	struct screen screen;
	screen_init(&screen, small_profile(), 80, 12);
	screen_type(&screen, "3gjjj"); /* main, work, leaf, sys_read */
	CHECK_INT(screen_selected(&screen), 6);
	screen_type(&screen, "h\n"); /* into work */
	CHECK_STR(screen_lines(&screen, 2, 6),
		"> in work\n"
		"    self    total            function v callees\n"
		"  10.00%   60.00% ######     - work  [vdso]\n"
		"  30.00%   30.00% ###        |-- leaf  [vdso]\n"
		"  20.00%   20.00% ##         `-- sys_read  [kernel]\n"
		"\n");
	CHECK_INT(screen_selected(&screen), 4);
	screen_type(&screen, "I"); /* what it calls, and it, as leaves */
	CHECK_STR(screen_lines(&screen, 4, 4), "  30.00%   30.00% ###        + leaf  [vdso]\n"
					       "  20.00%   20.00% ##         + sys_read  [kernel]\n"
					       "  10.00%   10.00% #            work  [vdso]\n"
					       "\n");
	screen_type(&screen, "gl"); /* callers end where the zoom begins */
	CHECK_STR(screen_lines(&screen, 5, 1), "           30.00% ###        `-- work  [vdso]\n");
	screen_type(&screen, "I\x1b");
	CHECK_STR(screen_lines(&screen, 3, 2), "   0.00%  100.00% ########## - main  [vdso]\n"
					       "  10.00%   60.00% ######     |-- work  [vdso]\n");
	screen_deinit(&screen);
}

/* As in the flame graph, which is then zoomed, too. */
TEST(tree_from_the_leaves_zooms_to_callers)
{
	struct screen screen;
	screen_init_with(&screen, small_profile(), 80, 12,
		(struct app_options){.file_name = "x.data", .is_inverted = true}, VIEW_TREE);
	screen_type(&screen, "lj\n"); /* idle, which calls leaf */
	CHECK_STR(screen_lines(&screen, 2, 4), "> leaf from idle\n"
					       "    self    total            function v callers\n"
					       "           38.00% ####       - idle  [vdso]\n"
					       "           38.00% ####       `-- main  [vdso]\n");
	CHECK_INT(screen_selected(&screen), 4);
	screen_rename(&screen);
	CHECK(strstr(screen_lines(&screen, 4, 1), "38.00% ####       - idle"));
	screen_type(&screen, "1j3"); /* something else is selected */
	CHECK(strstr(screen_lines(&screen, 4, 1), "38.00% ####       - idle"));
	screen_type(&screen, "\x1b");
	CHECK(strstr(screen_lines(&screen, 3, 1), "68.00%   68.00%"));
	screen_type(&screen, "\x12");
	CHECK(strstr(screen_lines(&screen, 4, 1), "38.00% ####       - idle"));
	screen_deinit(&screen);
}

TEST(tree_keeps_what_is_open_and_selected)
{
	struct screen screen;
	screen_init(&screen, small_profile(), 80, 12);
	screen_type(&screen, "3gjj-jl"); /* leaf cannot close; idle opens */
	screen_type(&screen, "jje");
	screen_type(&screen, "gj");
	char *before = mem_strdup(screen_lines(&screen, 2, 8));
	screen_rename(&screen);
	CHECK_STR(screen_lines(&screen, 2, 8), before);
	CHECK_INT(screen_selected(&screen), 4);
	screen_type(&screen, "!work\n"); /* the branch goes, and comes back */
	CHECK(!strstr(screen_lines(&screen, 3, 6), "work"));
	screen_type(&screen, "\x1b");
	CHECK_STR(screen_lines(&screen, 2, 8), before);
	mem_free(before);
	screen_deinit(&screen);
}

/* As when lines have come: a function was inlined into the last one of that name. */
static void inline_into(struct profile *profile, const char *into, const char *name)
{
	uint32_t outer = 0;
	for (uint32_t i = 1; i < profile->frames.len; i++) {
		uint32_t function = profile->frames.data[i].function;
		if (strcmp(profile->functions.data[function].name, into) == 0)
			outer = i;
	}
	struct profile_function function =
		profile->functions.data[profile->frames.data[outer].function];
	function.name = function.system_name = name;
	struct profile_frame frame = profile->frames.data[outer];
	frame.function = (uint32_t)profile->functions.len;
	frame.outer = outer;
	vec_push(&profile->functions, function);
	vec_push(&profile->frames, frame);
	profile->frames.data[outer].innermost = (uint32_t)profile->frames.len - 1;
}

TEST(tree_keeps_branches_that_lead_through_inlined_functions_now)
{
	struct screen screen;
	begin_in_tree(&screen, 80, 12);
	screen_type(&screen, "Glj"); /* idle, leaf below it */
	CHECK_STR(screen_lines(&screen, 7, 2), "   2.00%   40.00% ####       `-- idle  [vdso]\n"
					       "  38.00%   38.00% ####         `-- leaf  [vdso]\n");
	CHECK_INT(screen_selected(&screen), 8);
	inline_into(screen.profile, "idle", "wait");
	screen_rename(&screen);
	CHECK_STR(screen_lines(&screen, 7, 3),
		"   2.00%   40.00% ####       `-- idle > wait  (inlined) [vdso]\n"
		"  38.00%   38.00% ####         `-- leaf  [vdso]\n"
		"\n");
	CHECK_INT(screen_selected(&screen), 8);
	CHECK_INT(screen_style(&screen, "wait") & STYLE_MASK, STYLE_INLINED);
	screen_deinit(&screen);
}

TEST(tree_goes_from_match_to_match)
{
	struct screen screen;
	screen_init(&screen, small_profile(), 80, 14);
	screen_type(&screen, "3gC/leaf\n");
	CHECK_STR(screen_lines(&screen, 4, 6), "   0.00%  100.00% ########## - main  [vdso]\n"
					       "  10.00%   60.00% ######     |-+ work  [vdso]\n"
					       "   2.00%   40.00% ####       `-- idle  [vdso]\n"
					       "  38.00%   38.00% ####         `-- leaf  [vdso]\n"
					       "\n"
					       "\n");
	CHECK_INT(screen_selected(&screen), 7); /* the hottest */
	screen_type(&screen, "n");              /* below work, around */
	CHECK_INT(screen_selected(&screen), 6);
	screen_type(&screen, "n");
	CHECK_INT(screen_selected(&screen), 9);
	screen_type(&screen, "NN");
	CHECK_INT(screen_selected(&screen), 9);
	screen_type(&screen, "/nothing\nn");
	CHECK(strstr(screen_text(&screen), "nothing matches"));
	CHECK_INT(screen_style(&screen, "nothing matches") & STYLE_MASK, STYLE_WARNING);
	screen_deinit(&screen);
}

TEST(tree_follows_the_selection_of_others)
{
	struct screen screen;
	screen_init(&screen, small_profile(), 80, 12);
	screen_type(&screen, "3gC"); /* main */
	screen_type(&screen, "1g3"); /* the hottest of the functions: leaf */
	CHECK_STR(screen_lines(&screen, 5, 3), "   2.00%   40.00% ####       `-- idle  [vdso]\n"
					       "  38.00%   38.00% ####         `-- leaf  [vdso]\n"
					       "\n");
	CHECK_INT(screen_selected(&screen), 6);
	screen_deinit(&screen);
}

TEST(tree_obeys_the_mouse)
{
	struct screen screen;
	begin_in_tree(&screen, 80, 12);
	screen_mouse(&screen, INPUT_PRESS, 31, 7); /* the marker of idle */
	CHECK_INT(screen_selected(&screen), 7);
	CHECK_STR(screen_lines(&screen, 8, 1), "  38.00%   38.00% ####         `-- leaf  [vdso]\n");
	screen_mouse(&screen, INPUT_DOUBLE, 31, 7); /* again, and nothing else */
	CHECK_STR(screen_lines(&screen, 7, 1), "   2.00%   40.00% ####       `-+ idle  [vdso]\n");
	screen_mouse(&screen, INPUT_WHEEL_UP, 31, 7);
	CHECK_INT(screen_selected(&screen), 4);
	screen_mouse(&screen, INPUT_DOUBLE, 40, 4); /* Enter */
	CHECK_STR(screen_lines(&screen, 2, 1), "> in work\n");
	screen_deinit(&screen);
}

TEST(tree_counts_samples)
{
	struct screen screen;
	begin_in_tree(&screen, 40, 9);
	screen_type(&screen, "%%");
	CHECK_STR(screen_lines(&screen, 1, 4), "   total function v callees\n"
					       "     100 - main  [vdso]\n"
					       "      60 |-- work  [vdso]\n"
					       "      30 | |-- leaf  [vdso]\n");
	screen_deinit(&screen);
}

/* Recursion as deep as recorders go. */
static struct profile *deep_profile(uint32_t depth)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t user = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 10, 0), 10, "app");
	uint32_t frame = fixture_frame(&fixture, user, 0x10, "a_recursive_function");
	CLEANUP_FREE uint32_t *frames = mem_zalloc_array(depth + 1, sizeof(*frames));
	for (uint32_t i = 0; i < depth; i++)
		frames[i] = frame;
	fixture_samples(&fixture, thread, fixture_stack(&fixture, frames), 0, 1);
	return fixture_profile(&fixture);
}

TEST(deep_trees_keep_their_names_in_sight)
{
	struct screen screen;
	screen_init(&screen, deep_profile(1000), 80, 12);
	screen_type(&screen, "3gFG");
	const char *text = screen_lines(&screen, 2, 8);
	CHECK(strstr(text, "levels  function"));
	CHECK(strstr(text, "a_recursive_function"));
	CHECK_INT(screen_selected(&screen), 9);
	screen_deinit(&screen);

	screen_init(&screen, deep_profile(1000), 20, 5);
	screen_type(&screen, "3gFG");
	CHECK_STR(screen_lines(&screen, 1, 1), " 100.00% - a_re~tion\n");
	screen_deinit(&screen);
}

/* ---- rows that several functions share ---- */

/* 100 samples below start, begin and main; 60 of them in a function three times inlined. */
static struct profile *chained_profile(void)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t user = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 10, 0), 10, "app");
	uint32_t start = fixture_frame(&fixture, user, 0x10, "start");
	uint32_t begin = fixture_frame(&fixture, user, 0x20, "begin");
	uint32_t main = fixture_frame(&fixture, user, 0x30, "main");
	uint32_t work = fixture_frame(&fixture, user, 0x40, "work");
	uint32_t leaf = fixture_frame(&fixture, user, 0x50, "leaf");
	uint32_t in_work = FIXTURE_STACK(&fixture, start, begin, main, work);
	uint32_t in_leaf = FIXTURE_STACK(&fixture, start, begin, main, leaf);
	fixture_samples(&fixture, thread, in_work, 0, 60);
	fixture_samples(&fixture, thread, in_leaf, 0, 40);
	struct profile *profile = fixture_profile(&fixture);
	inline_into(profile, "work", "sort");
	inline_into(profile, "sort", "swap");
	inline_into(profile, "swap", "move");
	for (uint32_t i = 1; i < profile->frames.len; i++)
		if (profile->frames.data[i].innermost)
			profile->frames.data[i].innermost = (uint32_t)profile->frames.len - 1;
	return profile;
}

static void begin_chained(struct screen *screen, enum view_id view)
{
	struct app_options options = {.file_name = "x.data"};
	screen_init_with(screen, chained_profile(), 80, 14, options, view);
}

TEST(chains_are_one_row)
{
	struct screen screen;
	begin_chained(&screen, VIEW_TREE);
	CHECK_STR(screen_lines(&screen, 3, 5),
		"   0.00%  100.00% ########## - start > begin > main  [vdso]\n"
		"   0.00%   60.00% ######     |-- work  [vdso]\n"
		"  60.00%   60.00% ######     | `-+ 3 inlined frames  sort > swap > move\n"
		"  40.00%   40.00% ####       `-- leaf  [vdso]\n"
		"\n");
	screen_type(&screen, "gF"); /* the first is selected, all have rows */
	CHECK_INT(screen_selected(&screen), 3);
	CHECK_STR(screen_lines(&screen, 3, 4),
		"   0.00%  100.00% ########## - start  [vdso]\n"
		"   0.00%  100.00% ########## `-- begin  [vdso]\n"
		"   0.00%  100.00% ##########   `-- main  [vdso]\n"
		"   0.00%   60.00% ######         |-- work  [vdso]\n");
	screen_type(&screen, "jF"); /* from any of them */
	CHECK(strstr(screen_lines(&screen, 3, 1), "start > begin > main"));
	CHECK_INT(screen_selected(&screen), 3);
	screen_type(&screen, "/begin\n"); /* what is gone to ends its row */
	CHECK_STR(screen_lines(&screen, 4, 2),
		"   0.00%  100.00% ########## - start > begin  [vdso]\n"
		"   0.00%  100.00% ########## `-- main  [vdso]\n");
	CHECK_INT(screen_selected(&screen), 4);
	screen_rename(&screen);
	CHECK(strstr(screen_lines(&screen, 4, 1), "- start > begin  [vdso]"));
	screen_type(&screen, "C");
	CHECK(strstr(screen_lines(&screen, 4, 1), "+ start > begin > main  [vdso]"));
	screen_deinit(&screen);
}

TEST(inlined_functions_are_one_row)
{
	struct screen screen;
	begin_chained(&screen, VIEW_TREE);
	screen_type(&screen, "gjjl"); /* opens to them; so does Enter */
	CHECK_INT(screen_selected(&screen), 5);
	CHECK_STR(screen_lines(&screen, 4, 4),
		"   0.00%   60.00% ######     |-- work  [vdso]\n"
		"   0.00%   60.00% ######     | `-- sort  (inlined) [vdso]\n"
		"   0.00%   60.00% ######     |   `-- swap  (inlined) [vdso]\n"
		"  60.00%   60.00% ######     |     `-- move  (inlined) [vdso]\n");
	screen_type(&screen, "h");
	CHECK(strstr(screen_lines(&screen, 5, 1), "`-+ 3 inlined frames"));
	screen_type(&screen, "\n");
	CHECK(strstr(screen_lines(&screen, 6, 1), "`-- swap  (inlined) [vdso]"));
	screen_deinit(&screen);

	begin_chained(&screen, VIEW_BUTTERFLY);
	screen_type(&screen, "1/work\n2jj"); /* chains of other calls stay as they are */
	CHECK(strstr(screen_text(&screen), "`-+ 3 inlined frames  sort > swap > move"));
	screen_mouse(&screen, INPUT_PRESS, 31, screen_selected(&screen));
	CHECK(strstr(screen_text(&screen), "`-- sort  (inlined) [vdso]"));
	screen_deinit(&screen);
}

/* ---- printing ---- */

TEST(tree_is_printed)
{
	struct screen screen;
	begin_in_tree(&screen, 40, 12);
	screen_type(&screen, "P");
	CHECK(strstr(screen_text(&screen), "write to: ebprof-tree.txt"));
	screen_type(&screen, "2\n");
	CHECK_STR(screen.app.to_print.path, "ebprof-tree.txt2");
	CHECK_STR(str_text(&screen.app.to_print.text),
		"# Tree, x.data, cpu-clock, 100 samples, 0.1 s\n"
		"     self     total  function ▼ callees\n"
		"    0.00%   100.00%    main  [vdso]\n"
		"   10.00%    60.00%      work  [vdso]\n"
		"   30.00%    30.00%        leaf  [vdso]\n"
		"   20.00%    20.00%        sys_read  [kernel]\n"
		"    2.00%    40.00%    + idle  [vdso]\n");
	screen_deinit(&screen);
}

TEST(what_is_printed_says_what_it_is_of)
{
	struct screen screen;
	screen_init(&screen, small_profile(), 80, 12);
	screen_type(&screen, "!idle\nHP\n");
	const char *text = str_text(&screen.app.to_print.text);
	CHECK(strstr(text, "# Top, x.data, cpu-clock, 60 of 100 samples, 0.1 s\n"
			   "# without the kernel's frames\n"
			   "# not /idle/\n") == text);
	app_print_deinit(&screen.app.to_print);
	screen_type(&screen, "4P");
	screen_key(&screen, INPUT_CTRL('u'));
	screen_type(&screen, "flame.txt\n");
	CHECK(!screen.app.to_print.path);
	CHECK(strstr(screen_text(&screen), "this view is written as a picture: call it .svg"));
	screen_deinit(&screen);
}

TEST(prints_never_overwrite)
{
	char directory[] = "/tmp/ebprof-print-XXXXXX";
	CHECK(mkdtemp(directory));
	CLEANUP(str_deinit) struct str path = {0}, text = {0};
	str_printf(&path, "%s/x.txt", directory);
	str_puts(&text, "text\n");
	CHECK_OK(print_write(str_text(&path), &text));
	struct stat status;
	CHECK_INT(stat(str_text(&path), &status), 0);
	CHECK_INT(status.st_mode & 0777, 0600);
	CHECK_INT(status.st_size, 5);
	CHECK_ERR(print_write(str_text(&path), &text), ERR_IO, "exists");
	unlink(str_text(&path));
	CHECK_INT(symlink("/nonexistent/x", str_text(&path)), 0);
	CHECK_ERR(print_write(str_text(&path), &text), ERR_IO, "");
	unlink(str_text(&path));
	rmdir(directory);
}

/* A function that took nothing itself is no leaf: its hottest place is below one. */
TEST(inverted_tree_goes_to_callers_that_match)
{
	struct screen screen;
	begin_in_tree(&screen, 80, 16);
	screen_type(&screen, "I/main\n");
	int line = screen_selected(&screen);
	CHECK(strstr(screen_line(&screen, line), " main  [vdso]"));
	CHECK(!strstr(screen_line(&screen, 15), "nothing matches"));
	screen_deinit(&screen);
}

/* What is first in the tree is nothing that the user chose: inverted, it is seen from its top. */
TEST(inverted_tree_begins_at_its_top)
{
	struct screen screen;
	struct fixture fixture;
	uint32_t thread, object = fixture_begin(&fixture, "app", &thread);
	uint32_t main = fixture_frame(&fixture, object, 0x10, "main");
	uint32_t work = fixture_frame(&fixture, object, 0x20, "work");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main), 0, 1);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main, work), 0, 9);
	struct app_options options = {.file_name = "x.data"};
	screen_init_with(&screen, fixture_profile(&fixture), 80, 12, options, VIEW_TREE);
	CHECK(strstr(screen_line(&screen, screen_selected(&screen)), "main"));
	screen_type(&screen, "I");
	CHECK(strstr(screen_line(&screen, screen_selected(&screen)), "work"));
	screen_type(&screen, "I"); /* as it was */
	CHECK(strstr(screen_line(&screen, screen_selected(&screen)), "main"));
	screen_type(&screen, "jkI"); /* now it is chosen */
	CHECK(strstr(screen_line(&screen, screen_selected(&screen)), "main"));
	screen_deinit(&screen);
}

/* main calls walk, which calls itself to four levels: of each of them mark takes a tenth. */
TEST(hot_path_does_not_go_on_through_recursion)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t user = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 10, 0), 10, "app");
	uint32_t main = fixture_frame(&fixture, user, 0x10, "main");
	uint32_t walk = fixture_frame(&fixture, user, 0x20, "walk");
	uint32_t mark = fixture_frame(&fixture, user, 0x30, "mark");
	uint32_t stacks[] = {
		FIXTURE_STACK(&fixture, main, walk, mark),
		FIXTURE_STACK(&fixture, main, walk, walk, mark),
		FIXTURE_STACK(&fixture, main, walk, walk, walk, mark),
		FIXTURE_STACK(&fixture, main, walk, walk, walk, walk),
	};
	static const unsigned samples[] = {10, 10, 10, 70};
	for (size_t i = 0; i < sizeof(stacks) / sizeof(*stacks); i++)
		fixture_samples(&fixture, thread, stacks[i], 0, samples[i]);
	struct app_options options = {.file_name = "x.data"};
	struct screen screen;
	screen_init_with(&screen, fixture_profile(&fixture), 80, 14, options, VIEW_TREE);
	CHECK_STR(screen_lines(&screen, 3, 6),
		"   0.00%  100.00% ########## - main > walk  [vdso]\n"
		"   0.00%   90.00% #########  |-- walk  [vdso]\n"
		"   0.00%   80.00% ########   | |-+ walk  [vdso]\n"
		"  10.00%   10.00% #          | `-- mark  [vdso]\n"
		"  10.00%   10.00% #          `-- mark  [vdso]\n"
		"\n");
	screen_deinit(&screen);
}
