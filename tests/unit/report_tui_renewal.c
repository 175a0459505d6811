/* A screen over a recording that goes on: renewal.c, and app_renewal.c behind app_renew(). */
#include "report/tui/renewal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/report_tui_fixture.h"
#include "tests/unit/unit.h"

/*
 * One process, main > parse > scan and main > write, of two threads. The newer state has other ids
 * for all of it, more of it, and what was not there before; of `later` parse is gone.
 */
enum state {
	FIRST,
	NEWER,
	LATER,
};

static struct profile *state_of(enum state state)
{
	struct fixture fixture;
	fixture_init(&fixture);
	if (state != FIRST) {
		uint32_t other = fixture_process(&fixture, 9, 0);
		uint32_t thread = fixture_thread(&fixture, other, 9, "other");
		uint32_t file = fixture_object(&fixture, LAYOUT_OBJECT_KERNEL, "[kernel.kallsyms]");
		uint32_t frame = fixture_frame(&fixture, file, 0x10, "sys_read");
		fixture_samples(&fixture, thread, 0, FIXTURE_STACK(&fixture, frame), 9);
	}
	uint32_t user = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t process = fixture_process(&fixture, 10, 0);
	uint32_t first = fixture_thread(&fixture, process, 10, "first");
	uint32_t second = fixture_thread(&fixture, process, 11, "second");
	uint32_t writes = fixture_frame(&fixture, user, 0x40, "write");
	uint32_t scan = fixture_frame(&fixture, user, 0x30, "scan");
	uint32_t main = fixture_frame(&fixture, user, 0x10, "main");
	fixture_samples(&fixture, second, FIXTURE_STACK(&fixture, main, writes), 0, 3);
	if (state != LATER) {
		uint32_t parse = fixture_frame(&fixture, user, 0x20, "parse");
		fixture_samples(&fixture, first, FIXTURE_STACK(&fixture, main, parse, scan), 0,
			state == FIRST ? 5 : 2);
		fixture_samples(&fixture, first, FIXTURE_STACK(&fixture, main, parse), 0, 1);
	}
	return fixture_profile(&fixture);
}

static void begin_state(struct screen *screen, enum view_id view)
{
	struct app_options options = {.file_name = "top", .is_live = true};
	screen_init_with(screen, state_of(FIRST), 80, 16, options, view);
	screen->app.wish.serial++; /* as the worker does it first */
	screen_type(screen, "g");
}

static bool is_line_of(struct screen *screen, const char *name)
{
	int y = screen_selected(screen);
	return y >= 0 && strstr(screen_line(screen, y), name);
}

TEST(renewed_top_keeps_the_function_that_was_selected)
{
	struct screen screen;
	begin_state(&screen, VIEW_TOP);
	while (!is_line_of(&screen, "write"))
		screen_type(&screen, "j");
	screen_renew(&screen, state_of(NEWER));
	CHECK(is_line_of(&screen, "write"));
	CHECK(strstr(screen_text(&screen), "sys_read"));
	screen_deinit(&screen);
}

/* Two of one name, of which the newer state comes upon the other one first. */
static struct profile *namesakes_of(enum state state)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t script = fixture_object(&fixture, LAYOUT_OBJECT_SCRIPT, "[python]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 10, 0), 10, "first");
	const char *files[] = {"one.py", "two.py"};
	for (int i = 0; i < 2; i++) {
		int at = state == FIRST ? i : 1 - i;
		uint32_t frame = fixture_line(
			&fixture, script, (uint64_t)(1 + i) << 8, "work", files[at], 3);
		fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, frame), 0, 9);
	}
	return fixture_profile(&fixture);
}

TEST(renewed_top_keeps_which_of_namesakes_was_selected)
{
	struct screen screen;
	struct app_options options = {.file_name = "top", .is_live = true};
	screen_init_with(&screen, namesakes_of(FIRST), 80, 16, options, VIEW_TOP);
	screen.app.wish.serial++;
	screen_type(&screen, "g");
	screen_type(&screen, "j");
	CHECK(is_line_of(&screen, "two.py"));
	screen_renew(&screen, namesakes_of(NEWER));
	CHECK(is_line_of(&screen, "two.py"));
	screen_deinit(&screen);
}

TEST(renewed_tree_keeps_what_is_open_and_selected)
{
	struct screen screen;
	begin_state(&screen, VIEW_TREE);
	screen_type(&screen, "CglLjl"); /* main and parse are open */
	while (!is_line_of(&screen, "scan"))
		screen_type(&screen, "jl");
	screen_renew(&screen, state_of(NEWER));
	CHECK(is_line_of(&screen, "scan"));
	CHECK(strstr(screen_text(&screen), "parse"));
	/* What is gone leaves what called it. */
	screen_renew(&screen, state_of(LATER));
	CHECK(!strstr(screen_text(&screen), "parse"));
	CHECK(screen_selected(&screen) >= 0);
	screen_deinit(&screen);
}

TEST(renewed_filters_mean_the_same)
{
	struct screen screen;
	begin_state(&screen, VIEW_TOP);
	while (!is_line_of(&screen, "parse"))
		screen_type(&screen, "j");
	screen_type(&screen, "f"); /* only stacks with it */
	screen_renew(&screen, state_of(NEWER));
	const char *text = screen_text(&screen);
	CHECK(!strstr(text, "sys_read") && !strstr(text, "write"));
	CHECK(strstr(text, "3 of 15 samples"));
	/* It stays a filter while there is nothing of it, and finds it again. */
	screen_renew(&screen, state_of(LATER));
	CHECK(strstr(screen_text(&screen), "no samples here"));
	screen_renew(&screen, state_of(FIRST));
	CHECK(strstr(screen_text(&screen), "6 of 9 samples"));
	screen_type(&screen, "\x1b");
	CHECK(strstr(screen_text(&screen), "9 samples"));
	screen_deinit(&screen);
}

TEST(renewed_views_that_were_seen_hold_nothing_of_the_older_state)
{
	struct screen screen;
	begin_state(&screen, VIEW_TOP);
	screen_type(&screen, "2345691j234v5691");
	for (int i = 0; i < 3; i++) {
		screen_renew(&screen, state_of(i % 2 ? FIRST : NEWER));
		screen_type(&screen, "23I4I5691j");
	}
	screen_deinit(&screen);
}

/* The list beside the function in the middle is the newer state's, also where that one is gone. */
TEST(renewed_butterfly_has_no_functions_of_the_older_state)
{
	struct screen screen;
	begin_state(&screen, VIEW_TOP);
	screen_resize(&screen, 160, 16);
	while (!is_line_of(&screen, "parse"))
		screen_type(&screen, "j");
	screen_type(&screen, "2");
	CHECK(strncmp(screen_line(&screen, 3), "  55.56% scan", 13) == 0);
	screen_renew(&screen, state_of(LATER));
	CHECK(strstr(screen_text(&screen), "select a function first"));
	screen_mouse(&screen, INPUT_PRESS, 12, 3); /* where scan stood */
	CHECK(strstr(screen_text(&screen), "select a function first"));
	screen_type(&screen, "]");
	CHECK_STR(model_function(screen.app.model, app_function(&screen.app))->name, "sys_read");
	screen_deinit(&screen);
}

TEST(renewed_thread_is_meant_by_its_number)
{
	struct screen screen;
	begin_state(&screen, VIEW_PROCESSES);
	screen_type(&screen, "Egjj");
	screen_type(&screen, "t");
	screen_renew(&screen, state_of(NEWER));
	CHECK(strstr(screen_text(&screen), "tid 1"));
	screen_deinit(&screen);
}

TEST(space_pauses_a_recording_that_goes_on)
{
	struct screen screen;
	begin_state(&screen, VIEW_TOP);
	screen_type(&screen, " ");
	CHECK(screen.app.is_paused);
	screen_type(&screen, " ");
	CHECK(!screen.app.is_paused);
	char folder[] = "/tmp/save.XXXXXX";
	CHECK(mkdtemp(folder) && chdir(folder) == 0);
	screen_type(&screen, "O\n");
	CHECK_STR(screen.app.to_save, "ebprof.data");
	/* What is there already is not what is offered. */
	close(open("ebprof.data", O_CREAT | O_WRONLY, 0600));
	screen_type(&screen, "O\n");
	CHECK_STR(screen.app.to_save, "ebprof-2.data");
	CHECK_INT(unlink("ebprof.data") + rmdir(folder), 0);
	screen_deinit(&screen);
}
