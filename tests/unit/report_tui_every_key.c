#include <string.h>

#include "tests/unit/report_tui_fixture.h"
#include "tests/unit/unit.h"

/* Two processes, one of two threads, in the same functions and in the kernel. */
static struct profile *some_threads(void)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "/bin/app");
	uint32_t kernel = fixture_object(&fixture, LAYOUT_OBJECT_KERNEL, "[kernel]");
	uint32_t process = fixture_process(&fixture, 10, object);
	uint32_t first = fixture_thread(&fixture, process, 10, "app");
	uint32_t pool = fixture_thread(&fixture, process, 11, "pool");
	uint32_t other = fixture_process(&fixture, 20, object);
	uint32_t single = fixture_thread(&fixture, other, 20, "other");
	uint32_t main = fixture_frame(&fixture, object, 0x10, "main");
	uint32_t loop = fixture_frame(&fixture, object, 0x20, "loop");
	uint32_t sum = fixture_frame(&fixture, object, 0x30, "sum");
	uint32_t put = fixture_frame(&fixture, object, 0x40, "put");
	uint32_t write = fixture_frame(&fixture, kernel, 0x50, "sys_write");
	fixture_samples(&fixture, first, FIXTURE_STACK(&fixture, main, loop, sum), 0, 60);
	fixture_samples(&fixture, pool, FIXTURE_STACK(&fixture, main, loop), 0, 30);
	fixture_samples(&fixture, single, FIXTURE_STACK(&fixture, main, put),
		FIXTURE_STACK(&fixture, write), 10);
	return fixture_profile(&fixture);
}

static bool needs_no_answer(enum action action)
{
	bool is_vertical = action >= ACTION_UP && action <= ACTION_LAST && action != ACTION_LEFT &&
			   action != ACTION_RIGHT;
	return is_vertical || (action >= ACTION_VIEW_1 && action <= ACTION_VIEW_9) ||
	       action == ACTION_REDRAW || action == ACTION_PAUSE;
}

static void want_answer(struct screen *screen, int view, const struct key_row *row, uint32_t key)
{
	char number[] = {(char)('1' + view), 0};
	if (screen->app.overlay.is_open || screen->app.prompt)
		screen_key(screen, INPUT_ESCAPE);
	if ((int)screen->app.view != view)
		screen_type(screen, number);
	screen_text(screen);
	uint64_t before = grid_hash(&screen->grid, screen->grid.height - 1);
	screen_key(screen, key);
	screen_text(screen);
	const struct app *app = &screen->app;
	bool has_answer = before != grid_hash(&screen->grid, screen->grid.height - 1) ||
			  app->message.len || app->prompt || app->is_over;
	bool is_at_edge = row->action == ACTION_LEFT || row->action == ACTION_RIGHT;
	is_at_edge = is_at_edge && view != VIEW_TOP && view < VIEW_SOURCE;
	if (!has_answer && !is_at_edge && !needs_no_answer(row->action))
		unit_fail(__FILE__, __LINE__, "view %d ignores %s in:\n%s", view + 1, row->shown,
			screen_text(screen));
	screen->app.is_over = false;
}

/* What help names does something, or says that it does not: nothing is just ignored. */
static void press_every_key(int width, int height)
{
	static const char *const places[] = {"", "j", "CGA"};
	struct screen screen;
	screen_init(&screen, some_threads(), width, height);
	for (int view = 0; view < VIEW_COUNT; view++)
		for (size_t p = 0; p < sizeof(places) / sizeof(*places); p++) {
			char number[] = {(char)('1' + view), 0};
			screen_type(&screen, number);
			screen_type(&screen, places[p]);
			for (const struct key_row *row = key_rows; row->help; row++)
				for (size_t i = 0; i < 4 && row->keys[i]; i++)
					want_answer(&screen, view, row, row->keys[i]);
		}
	screen_deinit(&screen);
}

TEST(no_key_of_the_help_is_ignored)
{
	press_every_key(80, 24);
	press_every_key(200, 60);
}

TEST(a_key_without_an_effect_says_so)
{
	struct screen screen;
	screen_init(&screen, some_threads(), 80, 24);
	screen_type(&screen, "<<<<<<");
	CHECK_STR(str_text(&screen.app.message), "< changes nothing here: ? lists the keys");
	struct str drawn = {0};
	grid_put_text(&screen.grid, &drawn); /* at once, not only when it is drawn again */
	CHECK(strstr(str_text(&drawn), "\n< changes nothing here: ? lists the keys\n"));
	str_deinit(&drawn);
	CHECK_STR(screen_line(&screen, 23), "< changes nothing here: ? lists the keys");
	screen_type(&screen, "k");
	CHECK_STR(str_text(&screen.app.message), "");
	screen_type(&screen, "l");
	CHECK(strstr(str_text(&screen.app.message), "views 3 to 6"));
	screen_type(&screen, "8");
	screen_key(&screen, INPUT_ENTER);
	CHECK_STR(str_text(&screen.app.message), "Enter changes nothing here: ? lists the keys");
	screen_deinit(&screen);
}
