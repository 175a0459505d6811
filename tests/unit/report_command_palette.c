#include "report/tui/command_palette.h"

#include <string.h>

#include "tests/unit/report_tui_fixture.h"
#include "tests/unit/unit.h"

static enum action first_found(const char *typed)
{
	enum action found[COMMAND_PALETTE_MAX];
	return command_palette_find(typed, found) ? found[0] : ACTION_NONE;
}

TEST(command_palette_finds_by_letters)
{
	enum action found[COMMAND_PALETTE_MAX];
	CHECK(first_found("flame") == ACTION_VIEW_1 + VIEW_FLAME);
	CHECK(first_found("FLAME g") == ACTION_VIEW_1 + VIEW_FLAME);
	CHECK(first_found("invert") == ACTION_INVERT);
	CHECK(first_found("lngstwts") == ACTION_WAITS);
	CHECK(first_found("W") == ACTION_WAITS); /* a key is itself */
	CHECK(command_palette_find("no such thing", found) == 0);
	size_t rows = 0;
	while (key_rows[rows].help)
		rows++;
	CHECK(command_palette_find("", found) == rows - 1); /* all but itself */
	CHECK(rows < COMMAND_PALETTE_MAX);
}

TEST(command_palette_knows_words_of_others)
{
	CHECK(first_found("expand") == ACTION_EXPAND);
	CHECK(first_found("expand all") == ACTION_OPEN_ALL);
	CHECK(first_found("collapse a") == ACTION_COLLAPSE_ALL);
	CHECK(first_found("disassembly") == ACTION_VIEW_1 + VIEW_SOURCE);
	CHECK(first_found("bottom-up") == ACTION_INVERT);
	CHECK(first_found("sort") == ACTION_SORT_RIGHT);
	CHECK(first_found("cumulative") == ACTION_SORT_RIGHT);
	CHECK(first_found("peek") == ACTION_VIEW_1 + 1);
	CHECK(first_found("list") == ACTION_VIEW_1 + 6);
	CHECK(first_found("focus") == ACTION_KEEP);
	CHECK(first_found("ignore") == ACTION_EXCLUDE);
	CHECK(first_found("svg") == ACTION_PRINT);
	CHECK(first_found("q!") == ACTION_QUIT);
}

static struct profile *one_function(void)
{
	struct fixture fixture;
	uint32_t thread;
	uint32_t app = fixture_begin(&fixture, "app", &thread);
	uint32_t main = fixture_frame(&fixture, app, 0x10, "main");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main), 0, 4);
	return fixture_profile(&fixture);
}

TEST(command_palette_does_what_is_chosen)
{
	struct screen screen;
	screen_init(&screen, one_function(), 80, 24);
	screen_type(&screen, ":");
	CHECK(strstr(screen_text(&screen), "Commands"));
	CHECK_STR(screen_line(&screen, 23), ":");
	screen_type(&screen, "call tree");
	screen_type(&screen, "\x1b");
	CHECK(!strstr(screen_text(&screen), "Commands"));
	screen_type(&screen, ":who calls\n");
	CHECK(screen.app.view == VIEW_TREE);
	/* The second of what is found. */
	screen_type(&screen, ":search");
	screen_key(&screen, INPUT_DOWN);
	screen_type(&screen, "\n");
	CHECK(!screen.app.overlay.is_open);
	screen_type(&screen, ":nothing like it\n");
	CHECK(screen.app.prompt == APP_PROMPT_NONE);
	screen_resize(&screen, 20, 5);
	screen_type(&screen, ":q");
	CHECK(strstr(screen_text(&screen), ":q"));
	screen_type(&screen, "\n");
	CHECK(screen.app.is_over);
	screen_deinit(&screen);
}
