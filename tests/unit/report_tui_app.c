#include <string.h>

#include "tests/unit/report_tui_fixture.h"
#include "tests/unit/unit.h"

/* 100 samples: 60 in hot(int), 30 in cold of another file, 10 in the kernel below hot(int). */
static struct profile *named_profile(const char *name)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t user = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "/usr/bin/program");
	uint32_t library = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "/usr/lib/libcold.so");
	uint32_t kernel = fixture_object(&fixture, LAYOUT_OBJECT_KERNEL, "[kernel]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 10, 0), 10, "app");
	uint32_t hot = fixture_frame(&fixture, user, 0x10, name);
	uint32_t cold = fixture_frame(&fixture, library, 0x20, "cold");
	uint32_t read = fixture_frame(&fixture, kernel, 0x50, "sys_read");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, hot), 0, 60);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, cold), 0, 30);
	fixture_samples(
		&fixture, thread, FIXTURE_STACK(&fixture, hot), FIXTURE_STACK(&fixture, read), 10);
	return fixture_profile(&fixture);
}

static void begin(struct screen *screen, int width, int height)
{
	screen_init(screen, named_profile("_Z3hotIiEvi"), width, height);
}

static void want_in(const char *text, const char *part)
{
	if (!strstr(text, part))
		unit_fail(__FILE__, __LINE__, "\"%s\" is not in:\n%s", part, text);
}

static void want_not_in(const char *text, const char *part)
{
	if (strstr(text, part))
		unit_fail(__FILE__, __LINE__, "\"%s\" is in:\n%s", part, text);
}

TEST(tabs_of_nine_views_fit)
{
	struct screen screen;
	begin(&screen, 80, 24);
	CHECK_STR(screen_lines(&screen, 1, 1),
		" 1 Top 2 Butterfly 3 Tree 4 Flame 5 Time 6 Processes 7 "
		"Source 8 Diff 9 Symbols\n");
	CHECK(strstr(screen_resize(&screen, 82, 24), " 4 Flame 5 Timeline 6 Processes "));
	screen_deinit(&screen);
	begin(&screen, 40, 24);
	CHECK_STR(screen_lines(&screen, 1, 1), " 1 Top 2 3 4 5 6 7 8 9\n");
	screen_deinit(&screen);
}

static void click(struct screen *screen, int y, const char *text)
{
	const char *line = screen_line(screen, y), *at = strstr(line, text);
	if (!at)
		unit_fail(__FILE__, __LINE__, "%s is not in \"%s\"", text, line);
	screen_mouse(screen, INPUT_PRESS, (int)(at - line), y);
}

TEST(words_that_tell_a_key_are_buttons)
{
	struct screen screen;
	begin(&screen, 80, 24);
	click(&screen, 23, "Enter callers");
	CHECK_INT(screen.app.view, VIEW_BUTTERFLY);
	click(&screen, 23, "? help");
	CHECK(screen.app.overlay.is_open);
	screen_key(&screen, INPUT_ESCAPE);
	click(&screen, 23, "help"); /* the word as well as the key */
	CHECK(screen.app.overlay.is_open);
	screen_key(&screen, INPUT_ESCAPE);
	screen_mouse(&screen, INPUT_PRESS, 79, 23);
	CHECK(!screen.app.is_over);
	click(&screen, 23, "quit");
	CHECK(screen.app.is_over);
	screen_deinit(&screen);
}

TEST(the_words_on_missing_names_lead_there)
{
	struct screen screen;
	struct fixture fixture;
	uint32_t thread, object = fixture_begin(&fixture, "app", &thread);
	uint32_t unnamed = fixture_frame(&fixture, object, 0x10, NULL);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, unnamed), 0, 3);
	screen_init(&screen, fixture_profile(&fixture), 80, 24);
	click(&screen, 0, "without names: press 9");
	CHECK_INT(screen.app.view, VIEW_SYMBOLS);
	screen_deinit(&screen);
}

/* Enter is called what it does in this view, not what it does in others. */
TEST(menus_say_what_enter_does_here)
{
	struct screen screen;
	begin(&screen, 80, 24);
	screen_type(&screen, "M");
	want_in(screen_text(&screen), "Enter      callers");
	screen_type(&screen, "\x1b"
			     "3M");
	want_in(screen_text(&screen), "Enter      zoom in");
	screen_type(&screen, "\x1b"
			     "6M");
	want_in(screen_text(&screen), "Enter      only this");
	screen_type(&screen, "\x1b:Enter");
	want_in(screen_text(&screen), "Enter      only this");
	screen_deinit(&screen);
}

/* How a box is left is not hidden by the box, however much there is in it. */
TEST(boxes_leave_the_last_line)
{
	struct screen screen;
	begin(&screen, 80, 24);
	screen_type(&screen, "?");
	CHECK_STR(screen_line(&screen, 23), "Enter close");
	want_in(screen_line(&screen, 22), " 21 of ");
	screen_resize(&screen, 40, 7); /* where there is little room, the text has all of it */
	want_in(screen_line(&screen, 6), " 5 of ");
	screen_deinit(&screen);
}

TEST(the_title_gives_up_what_is_needed_least)
{
	struct screen screen;
	begin(&screen, 80, 24);
	CHECK_STR(screen_lines(&screen, 0, 1), "x.data  cpu-clock  100 samples  0.1 s\n");
	screen_deinit(&screen);
	begin(&screen, 35, 24);
	CHECK_STR(screen_lines(&screen, 0, 1), "x.data  cpu-clock  100 samples\n");
	screen_deinit(&screen);
	begin(&screen, 25, 24);
	CHECK_STR(screen_lines(&screen, 0, 1), "x.data  100 samples\n");
	screen_deinit(&screen);
}

TEST(a_long_file_name_loses_its_folders)
{
	struct screen screen;
	struct app_options options = {
		.file_name = "/a/very/long/way/through/all/folders/to/the/recording.data"};
	screen_init_with(&screen, named_profile("f"), 60, 24, options, VIEW_TOP);
	CHECK_STR(screen_lines(&screen, 0, 1), "recording.data  cpu-clock  100 samples  0.1 s\n");
	screen_deinit(&screen);
}

TEST(small_screens)
{
	struct screen screen;
	begin(&screen, 20, 5);
	CHECK_STR(screen_text(&screen), "x.data  100 samples\n"
					"   selfv function\n"
					"  60.00% hot<int>\n"
					"  30.00% cold\n"
					"? help  q quit\n");
	screen_deinit(&screen);
	begin(&screen, 12, 3);
	CHECK_STR(screen_text(&screen), "too small:\n12x3 of\n20x5\n");
	screen_type(&screen, "jj?q/x\n");
	screen_deinit(&screen);
	begin(&screen, 1, 1);
	screen_text(&screen);
	screen_type(&screen, "?mo");
	screen_deinit(&screen);
}

TEST(the_selection_survives_resizing)
{
	struct screen screen;
	begin(&screen, 80, 24);
	screen_type(&screen, "j");
	uint32_t selected = app_function(&screen.app);
	grid_deinit(&screen.grid);
	grid_init(&screen.grid, 20, 5, true);
	app_input(&screen.app, &(struct input){.kind = INPUT_RESIZE});
	screen_text(&screen);
	CHECK_INT(app_function(&screen.app), selected);
	screen_deinit(&screen);
}

TEST(matches_are_numbered_and_narrowed_to)
{
	struct screen screen;
	begin(&screen, 80, 24);
	screen_type(&screen, "&");
	want_in(screen_text(&screen), "search for something first: /");
	screen_type(&screen, "/cold\n");
	want_in(screen_text(&screen), "/cold: 1/1, 30.00%");
	CHECK_INT(screen_style(&screen, "hot<int>(int)") & STYLE_MASK, STYLE_DIM);
	screen_type(&screen, "&");
	want_in(screen_text(&screen), "30 of 100 samples");
	want_in(screen_text(&screen), "> /cold/");
	CHECK(!strstr(screen_text(&screen), "hot<int>(int)"));
	screen_key(&screen, INPUT_ESCAPE);
	want_in(screen_text(&screen), "hot<int>(int)");
	/* Reset undoes the search with the filters. */
	screen_type(&screen, "&R");
	want_not_in(screen_text(&screen), "cold:");
	CHECK_INT(screen.app.model->slice.whole.samples, 100);
	screen_deinit(&screen);
}

TEST(search_counts_while_it_is_typed)
{
	struct screen screen;
	begin(&screen, 80, 24);
	screen_type(&screen, "/co");
	want_in(screen_text(&screen), "/co: 1 match, 30.00%");
	want_in(screen_lines(&screen, 23, 1), "1 found");
	screen_type(&screen, "[");
	want_in(screen_lines(&screen, 23, 1), "no expression yet");
	screen_type(&screen, "\x1b");
	want_not_in(screen_text(&screen), "found");
	CHECK(!screen.app.model->matches);
	screen_deinit(&screen);
}

TEST(the_prompt_has_a_cursor)
{
	struct screen screen;
	begin(&screen, 80, 24);
	screen_type(&screen, "\\cod");
	screen_key(&screen, INPUT_LEFT);
	screen_type(&screen, "l");
	CHECK_STR(screen_lines(&screen, 23, 1), "filter: cold\n");
	CHECK(screen.grid.cells[23 * 80 + 11].style & STYLE_SELECTED);
	screen_type(&screen, "\n");
	CHECK_INT(screen.app.model->slice.whole.samples, 30);
	screen_type(&screen, "\\");
	screen_key(&screen, INPUT_UP);
	CHECK_STR(screen_lines(&screen, 23, 1), "filter: cold\n");
	screen_deinit(&screen);
}

TEST(pasted_text_is_typed_at_prompts_alone)
{
	struct screen screen;
	begin(&screen, 80, 24);
	struct input pasted = {.kind = INPUT_PASTE, .key = 'q'};
	app_input(&screen.app, &pasted);
	CHECK(!screen.app.is_over);
	screen_type(&screen, "/");
	app_input(&screen.app, &pasted);
	pasted.key = '\n';
	app_input(&screen.app, &pasted);
	CHECK_STR(screen_lines(&screen, 23, 1), "/q\n");
	screen_deinit(&screen);
}

/* A key that does nothing says so, and so does one that finds nothing more. */
TEST(keys_without_an_effect_say_so)
{
	struct screen screen;
	begin(&screen, 80, 24);
	screen_type(&screen, "u");
	CHECK_STR(str_text(&screen.app.message), "u does nothing: ? lists the keys");
	screen_type(&screen, "/cold\n");
	screen_text(&screen);
	screen_type(&screen, "n");
	CHECK_STR(str_text(&screen.app.message), "no other match");
	screen_type(&screen, "\x1b");
	screen_type(&screen, "3CgE");
	CHECK_STR(str_text(&screen.app.message), "");
	screen_type(&screen, "E");
	CHECK_STR(str_text(&screen.app.message), "nothing more to open below it");
	screen_type(&screen, "5v");
	CHECK(strstr(str_text(&screen.app.message), "v ends it"));
	screen_type(&screen, "v");
	CHECK(strstr(str_text(&screen.app.message), "Enter shows only this range"));
	screen_type(&screen, "\x1b");
	screen_type(&screen, "6");
	want_in(screen_lines(&screen, 2, 1), "  share");
	screen_type(&screen, "%");
	CHECK(!strstr(screen_lines(&screen, 2, 1), "share"));
	screen_type(&screen, "%");
	CHECK_INT(strncmp(screen_lines(&screen, 2, 1), "samples", 7), 0);
	screen_deinit(&screen);
}

TEST(a_click_on_a_step_undoes_back_to_it)
{
	struct screen screen;
	begin(&screen, 80, 24);
	screen_type(&screen, "\\hot\n!cold\n\\sys\n");
	CHECK_STR(screen_lines(&screen, 2, 1), "> /hot/ > not /cold/ > /sys/\n");
	screen_mouse(&screen, INPUT_PRESS, 10, 2);
	CHECK_STR(screen_lines(&screen, 2, 1), "> /hot/ > not /cold/\n");
	screen_mouse(&screen, INPUT_PRESS, 3, 2);
	CHECK_STR(screen_lines(&screen, 2, 1), "> /hot/\n");
	screen_key(&screen, INPUT_CTRL('r'));
	CHECK_STR(screen_lines(&screen, 2, 1), "> /hot/ > not /cold/\n");
	screen_deinit(&screen);
}

TEST(a_long_trail_shows_its_newest_steps)
{
	struct screen screen;
	begin(&screen, 30, 24);
	screen_type(&screen, "\\hot\n\\hot.i\n\\int\n\\o\n");
	CHECK_STR(screen_lines(&screen, 2, 1), "~ > /hot.i/ > /int/ > /o/\n");
	screen_mouse(&screen, INPUT_PRESS, 4, 2);
	CHECK_STR(screen_lines(&screen, 2, 1), "> /hot/ > /hot.i/\n");
	screen_deinit(&screen);
}

TEST(a_click_on_a_tab_opens_the_view)
{
	struct screen screen;
	begin(&screen, 80, 24);
	const char *tabs = screen_lines(&screen, 1, 1), *tree = strstr(tabs, "3 Tree");
	if (!tree)
		unit_skip("there is no third view");
	screen_mouse(&screen, INPUT_PRESS, (int)(tree - tabs) + 2, 1);
	CHECK_INT(screen.app.view, VIEW_TREE);
	screen_type(&screen, "\x1b");
	CHECK_INT(screen.app.view, VIEW_TOP);
	screen_deinit(&screen);
}

TEST(options_write_names_otherwise)
{
	struct screen screen;
	begin(&screen, 100, 24);
	want_in(screen_text(&screen), "hot<int>(int)");
	screen_type(&screen, "ojj\n");
	CHECK_INT(screen.app.wish.look.demangle, DEMANGLE_TEMPLATES);
	want_in(screen_text(&screen), "[x] names without parameters");
	screen_type(&screen, "jj\n");
	CHECK(screen.app.wish.look.has_paths);
	screen_type(&screen, "ggg");
	screen_type(&screen, "\n");
	CHECK(screen.app.wish.hides_inlined);
	screen_type(&screen, "q");
	model_names_release(screen.names);
	screen.names = model_names_create(screen.profile, 2, true);
	model_names_write(screen.names, &(struct model_look){DEMANGLE_SIMPLIFIED, true});
	screen_key(&screen, INPUT_CTRL('l'));
	screen.app.wish.serial++;
	screen_key(&screen, INPUT_CTRL('l'));
	want_in(screen_text(&screen), "hot<...>");
	want_in(screen_text(&screen), "/usr/bin/program");
	/* Whole names stay whole. */
	screen_type(&screen, "w");
	want_in(screen_text(&screen), "hot<int>(int)");
	want_in(screen_text(&screen), "_Z3hotIiEvi");
	screen_deinit(&screen);
}

TEST(what_nobody_chose_stays_the_first)
{
	struct screen screen;
	begin(&screen, 80, 24);
	int first = screen_selected(&screen);
	screen_type(&screen, "s"); /* turned round: another one is the first */
	CHECK_INT(screen_selected(&screen), first);
	screen_type(&screen, "j");
	int chosen = screen_selected(&screen);
	CHECK(chosen != first);
	screen_type(&screen, "s"); /* another order is looked at from its top */
	CHECK_INT(screen_selected(&screen), first);
	screen_deinit(&screen);
}

/* What was chosen meanwhile stays chosen. */
TEST(the_first_model_has_no_call_tree)
{
	struct screen screen;
	begin(&screen, 80, 24);
	CLEANUP_FREE char *whole = mem_strdup(screen_text(&screen));
	screen_flatten(&screen);
	CHECK_STR(screen_text(&screen), whole);
	screen_type(&screen, "j");
	CLEANUP_FREE char *chosen = mem_strdup(screen_text(&screen));
	for (int view = '2'; view <= '9'; view++) {
		screen_type(&screen, (char[]){(char)view, 0});
		want_in(screen_text(&screen), "there is no call tree: ^C stopped it");
		screen.app.busy = "computing";
		want_in(screen_text(&screen), "the call tree is being made");
		screen.app.busy = NULL;
		screen_mouse(&screen, INPUT_PRESS, 10, 10);
		screen_type(&screen, "jG\n-+Py\n");
		want_in(screen_text(&screen), "nothing to print yet");
	}
	screen_type(&screen, "1");
	CHECK_STR(screen_text(&screen), chosen);
	screen_rename(&screen);
	CHECK_STR(screen_text(&screen), chosen);
	screen_type(&screen, "3");
	want_not_in(screen_text(&screen), "call tree is");
	screen_deinit(&screen);
}

TEST(what_a_filter_takes_away_comes_back_selected)
{
	struct screen screen;
	begin(&screen, 80, 24);
	screen_type(&screen, "j"); /* cold */
	want_in(screen_lines(&screen, 22, 1), "cold");
	screen_type(&screen, "!cold\n");
	want_in(screen_lines(&screen, 22, 1), "hot"); /* as it is marked */
	screen_type(&screen, "\x1b");
	want_in(screen_lines(&screen, 22, 1), "cold");
	screen_type(&screen, "!cold\njk\x1b"); /* chosen meanwhile */
	want_in(screen_lines(&screen, 22, 1), "hot");
	screen_deinit(&screen);
}

/* Else what is typed behind it would be commands. */
TEST(a_search_begins_in_help_as_well)
{
	struct screen screen;
	screen_init(&screen, named_profile("hot"), 80, 24);
	screen_type(&screen, "?/hot");
	CHECK(!screen.app.overlay.is_open);
	want_in(screen_lines(&screen, 23, 1), "/hot");
	screen_deinit(&screen);
}

TEST(damage_is_told)
{
	struct profile *profile = named_profile("hot");
	profile->file.damage.regions = 2;
	profile->file.damage.what = "bad checksum";
	struct screen screen;
	screen_init(&screen, profile, 100, 24);
	want_in(screen_lines(&screen, 0, 1), "  damaged");
	want_in(screen_lines(&screen, 23, 1), "2 damaged places skipped");
	screen_type(&screen, "j");
	want_not_in(screen_text(&screen), "places skipped");
	screen_deinit(&screen);
}

TEST(time_without_probes_of_allocations_is_told)
{
	struct profile *profile = named_profile("hot");
	profile->counters[LAYOUT_COUNTER_HEAP_UNSEEN_MS] = 1277;
	struct screen screen;
	screen_init(&screen, profile, 100, 24);
	want_in(screen_lines(&screen, 0, 1), "  allocations unseen 1.3 s");
	want_in(screen_lines(&screen, 23, 1), "1277 ms without the probes of allocations");
	screen_deinit(&screen);
}

TEST(steps_end_before_what_is_searched_for)
{
	struct screen screen;
	screen_init(&screen, named_profile("a_function_of_a_name_that_is_too_long_for_any_line"),
		60, 24);
	screen_type(&screen, "3g\n/cold\n");
	want_in(screen_lines(&screen, 2, 1), "~");
	want_in(screen_lines(&screen, 2, 1), "any_line  /cold: 1 match, 30.00%");
	screen_deinit(&screen);
}

TEST(each_view_is_met_once_on_the_way_back)
{
	struct screen screen;
	begin(&screen, 80, 24);
	screen_type(&screen, "2323236363");
	CHECK_INT(screen.app.view, VIEW_TREE);
	screen_key(&screen, INPUT_BACKSPACE);
	CHECK_INT(screen.app.view, VIEW_PROCESSES);
	screen_type(&screen, "\x1b\x1b");
	CHECK_INT(screen.app.view, VIEW_TOP);
	screen_type(&screen, "\x1b");
	want_in(screen_text(&screen), "q quits");
	CHECK(!screen.app.is_over);
	screen_type(&screen, "2q");
	CHECK(screen.app.is_over);
	screen_deinit(&screen);
}

TEST(quitting)
{
	struct screen screen;
	begin(&screen, 80, 24);
	screen_type(&screen, "?q");
	CHECK(!screen.app.is_over);
	screen_type(&screen, "q");
	CHECK(screen.app.is_over);
	screen.app.is_over = false;
	screen.app.busy = "computing";
	screen_key(&screen, INPUT_CTRL('c'));
	CHECK(!screen.app.is_over);
	screen.app.busy = NULL;
	screen_key(&screen, INPUT_CTRL('c'));
	CHECK(screen.app.is_over);
	screen_deinit(&screen);
}

/* By the function that is selected, wherever in the stack. */
TEST(stacks_with_a_function_are_kept_or_left_out)
{
	struct screen screen;
	begin(&screen, 80, 12);
	uint64_t all = screen.app.model->slice.whole.samples;
	screen_type(&screen, "f");
	uint64_t kept = screen.app.model->slice.whole.samples;
	CHECK(kept && kept < all);
	CHECK_INT(screen.app.wish.scope.terms.data[0].kind, SCOPE_FUNCTION);
	screen_type(&screen, "\x1bx");
	CHECK_INT(screen.app.model->slice.whole.samples, all - kept);
	CHECK(strstr(screen_line(&screen, 2), "not "));
	screen_deinit(&screen);
}

/* Enter says what it opens; of the line below, what matters least goes first. */
TEST(hints_and_details)
{
	struct screen screen;
	begin(&screen, 80, 12);
	CHECK(strstr(screen_text(&screen), "Enter callers"));
	screen_type(&screen, "6");
	CHECK(strstr(screen_text(&screen), "Enter only this"));
	CHECK(strstr(screen_line(&screen, 10), " samples  0.00 s to "));
	screen_resize(&screen, 30, 12);
	CHECK(strstr(screen_line(&screen, 10), "100.00%"));
	CHECK(!strstr(screen_line(&screen, 10), " s to "));
	screen_deinit(&screen);
}

/* Of functions, else of files, else of threads; nothing is left out by a name that nothing has. */
TEST(what_is_typed_filters_by_what_has_the_name)
{
	struct screen screen;
	begin(&screen, 80, 24);
	screen_type(&screen, "!libcold\n");
	want_in(screen_line(&screen, 2), "> not files /libcold/");
	want_in(screen_line(&screen, 23), "no function is called so: without files of that name");
	CHECK_INT(screen.app.model->slice.whole.samples, 70);
	screen_type(&screen, "R\\app\n");
	want_in(screen_line(&screen, 2), "> threads /app/");
	CHECK_INT(screen.app.model->slice.whole.samples, 100);
	screen_type(&screen, "R!app\n");
	CHECK_INT(screen.app.model->slice.whole.samples, 0);
	screen_type(&screen, "R!cold\n"); /* a function: not the file beside it */
	want_in(screen_line(&screen, 2), "> not /cold/");
	screen_type(&screen, "R\\nosuchname\n");
	want_in(screen_line(&screen, 23), "no function, file or thread has a name like that");
	CHECK_INT(screen.app.trail.done.len, 0);
	CHECK_INT(screen.app.model->slice.whole.samples, 100);
	screen_deinit(&screen);
}

TEST(what_has_no_meaning_in_a_view_is_said)
{
	struct screen screen;
	begin(&screen, 80, 24);
	screen_type(&screen, "v");
	want_in(screen_line(&screen, 23), "ranges of time: view 5");
	screen_type(&screen, "n");
	want_in(screen_line(&screen, 23), "search for something first: /");
	screen_type(&screen, "E");
	want_in(screen_line(&screen, 23), "there are no branches here: view 3");
	screen_type(&screen, "3n");
	want_in(screen_line(&screen, 23), "search for something first: /");
	screen_type(&screen, ":zzzz");
	want_in(screen_line(&screen, 23), "no command is called so");
	screen_deinit(&screen);
}

static struct profile *two_events(void)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t user = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "/usr/bin/program");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 10, 0), 10, "app");
	uint32_t stack = FIXTURE_STACK(&fixture, fixture_frame(&fixture, user, 0x10, "f"));
	fixture_samples(&fixture, thread, stack, 0, 3);
	fixture.event = fixture_event(&fixture, "offcpu", "ns", 1);
	fixture_samples(&fixture, thread, stack, 0, 2);
	return fixture_profile(&fixture);
}

TEST(the_title_says_that_there_are_other_events)
{
	struct screen screen;
	screen_init(&screen, two_events(), 100, 24);
	want_in(screen_line(&screen, 0), "cpu-clock (1 of 2 events: m)");
	want_in(screen_line(&screen, 23), "m event");
	screen_type(&screen, "m");
	want_in(screen_line(&screen, 0), "offcpu (2 of 2 events: m)");
	screen_deinit(&screen);
	begin(&screen, 100, 24);
	want_not_in(screen_line(&screen, 23), "m event");
	screen_deinit(&screen);
}
