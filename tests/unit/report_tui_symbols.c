#include <string.h>

#include "report/name/symbol/symbol_file_options.h"
#include "tests/unit/report_tui_fixture.h"
#include "tests/unit/unit.h"

static struct profile *recording(void)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t app = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t lib = fixture_object(&fixture, LAYOUT_OBJECT_FILE, "/nonexistent/a\nlib.so");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "x");
	uint32_t main = fixture_frame(&fixture, app, 0x10, "main");
	uint32_t unknown = fixture_frame(&fixture, lib, 0x20, NULL);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main), 0, 3);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main, unknown), 0, 1);
	return fixture_profile(&fixture);
}

static void begin(struct screen *screen, int width, int height)
{
	static const struct symbol_file_options files;
	struct app_options options = {.file_name = "x.data", .files = &files};
	screen_init_with(screen, recording(), width, height, options, VIEW_SYMBOLS);
}

TEST(tui_symbols_rows)
{
	struct screen screen;
	begin(&screen, 66, 10); /* without what is told in words */
	CHECK_STR(screen_lines(&screen, 2, 4), "   selfv   named state   file\n"
					       "  75.00%  100.0% names   [vdso]\n"
					       "  25.00%    0.0% none    a\\x0alib.so\n"
					       "\n");
	CHECK_INT(screen_style(&screen, "none"), STYLE_WARNING);
	screen_type(&screen, "j");
	CHECK(strstr(screen_line(&screen, 8), "/nonexistent/a\\x0alib.so  none"));
	screen_type(&screen, "k");
	screen_type(&screen, ">"); /* what lacks most */
	CHECK_STR(screen_lines(&screen, 3, 1), "  25.00%    0.0% none    a\\x0alib.so\n");
	screen_type(&screen, "gd");
	CHECK_STR(screen_lines(&screen, 4, 1), " 100.00%    0.0% none    a\\x0alib.so\n");
	screen_deinit(&screen);
}

/* What is selected in Top is of another file than the row. */
TEST(source_is_that_of_the_file_that_is_selected)
{
	struct screen screen;
	begin(&screen, 80, 20);
	screen_type(&screen, "Ga");
	CHECK_INT(screen.app.view, VIEW_SOURCE);
	CHECK_STR(model_function(screen.app.model, app_function(&screen.app))->name,
		"a\nlib.so+0x20");
	screen_type(&screen, "9g2");
	CHECK_INT(screen.app.view, VIEW_BUTTERFLY);
	CHECK_STR(model_function(screen.app.model, app_function(&screen.app))->name, "main");
	screen_deinit(&screen);
}

TEST(tui_symbols_story)
{
	struct screen screen;
	begin(&screen, 80, 20);
	screen_type(&screen, "G\n");
	CHECK(screen.app.overlay.is_open);
	screen_type(&screen, "q");
	CHECK(!screen.app.overlay.is_open);
	CHECK_INT(screen.app.view, VIEW_SYMBOLS);
	screen_type(&screen, "r");
	CHECK_INT(screen.app.wish.retry_serial, 1);
	CHECK_STR(screen.profile->objects.data[screen.app.wish.retried].name, "a\nlib.so");
	screen_type(&screen, "/vdso\n");
	screen_type(&screen, "n");
	CHECK_INT(screen_selected(&screen), 4);
	screen_deinit(&screen);
}

/* As if the library's code had been read: of a file that is not here nothing is known. */
TEST(tui_symbols_tell_whose_bounds_are_guessed)
{
	static const struct symbol_file_options files;
	struct app_options options = {.file_name = "x.data", .files = &files};
	struct screen screen;
	struct profile *profile = recording();
	vec_each(&profile->functions, function) {
		if (!function->is_known && profile->objects.data[function->object].name[0] == 'a') {
			function->has_bounds = true;
			function->bounds = CHAIN_BOUNDS_BY_CODE;
		}
	}
	screen_init_with(&screen, profile, 110, 24, options, VIEW_SYMBOLS);
	CHECK(strstr(screen_line(&screen, 4), " 1 of 1 guessed; "));
	screen_type(&screen, "G\n");
	const char *story = screen_text(&screen);
	CHECK(strstr(story,
		"without a symbol: 1 function, as fn_START: bounds of 1 guessed from the code"));
	CHECK(strstr(story, "guessed bounds: "));
	CHECK(strstr(story, "fix: "));
	screen_deinit(&screen);
}

TEST(files_are_searched_by_name)
{
	struct screen screen;
	begin(&screen, 66, 10);
	screen_type(&screen, "/lib\n");
	CHECK(strstr(screen_line(&screen, screen_selected(&screen)), "lib.so"));
	CHECK(strstr(screen_line(&screen, 2), "/lib: 1/1"));
	CHECK(screen_style(&screen, "a\\x0alib") & STYLE_MATCH);
	CHECK_INT(screen_style(&screen, "[vdso]") & STYLE_MASK, STYLE_DIM);
	screen_type(&screen, "n");
	CHECK(strstr(screen_line(&screen, 9), "no other match"));
	screen_type(&screen, "/main\n"); /* a function */
	CHECK(strstr(screen_line(&screen, 9), "nothing matches"));
	screen_deinit(&screen);
}

TEST(files_show_the_top_when_the_order_changes)
{
	struct screen screen;
	begin(&screen, 66, 10);
	screen_type(&screen, "G");
	CHECK_INT(screen_selected(&screen), 4);
	screen_type(&screen, ">>");
	CHECK_INT(screen_selected(&screen), 3);
	screen_deinit(&screen);
}

TEST(tui_symbols_narrow)
{
	struct screen screen;
	begin(&screen, 20, 5);
	CHECK_STR(screen_lines(&screen, 1, 3), "   selfv file\n"
					       "  75.00% [vdso]\n"
					       "  25.00% a\\x0alib.so\n");
	screen_deinit(&screen);
}
