#include <locale.h>
#include <string.h>

#include "report/tui/input_event.h"
#include "report/tui/overlay.h"
#include "tests/unit/unit.h"

static const char *draw(struct overlay *overlay, int width, int height, struct str *text)
{
	struct grid grid;
	grid_init(&grid, width, height, true);
	overlay_draw(overlay, &grid);
	str_truncate(text, 0);
	grid_put_text(&grid, text);
	grid_deinit(&grid);
	return str_text(text);
}

static enum action press(struct overlay *overlay, uint32_t key)
{
	return overlay_input(overlay, &(struct input){.kind = INPUT_KEY, .key = key});
}

/* Every word of the help comes by as it is scrolled through. */
static void want_whole_help(int width, int height)
{
	struct overlay overlay = {0};
	struct str text = {0}, all = {0};
	overlay_open_help(&overlay);
	for (int i = 0; i < 1000 && overlay.is_open; i++) {
		str_puts(&all, draw(&overlay, width, height, &text));
		size_t top = overlay.list.top;
		press(&overlay, 'j');
		draw(&overlay, width, height, &text);
		if (overlay.list.top == top)
			break;
	}
	CHECK(overlay.is_open);
	for (const struct key_row *row = key_rows; row->help; row++) {
		char word[100];
		strncpy(word, strrchr(row->help, ' ') ? strrchr(row->help, ' ') + 1 : row->help,
			99);
		word[99] = 0;
		if (!strstr(str_text(&all), word))
			unit_fail(__FILE__, __LINE__, "%dx%d: no \"%s\"", width, height, word);
	}
	overlay_deinit(&overlay);
	str_deinit(&text);
	str_deinit(&all);
}

TEST(the_help_can_be_read_on_any_screen)
{
	want_whole_help(80, 24);
	want_whole_help(200, 50);
	want_whole_help(20, 5);
}

TEST(long_lines_are_broken)
{
	struct overlay overlay = {0};
	struct str text = {0}, drawn = {0};
	str_puts(&text, "one two three four five\n\nsix\033");
	overlay_open_text(&overlay, "Name", &text);
	CHECK_STR(draw(&overlay, 16, 7, &drawn), "--Name----------\n"
						 "| one two      |\n"
						 "| three four   |\n"
						 "| five         |\n"
						 "|              |\n"
						 "| six\\x1b      |\n"
						 "----------------\n");
	overlay_deinit(&overlay);
	str_deinit(&drawn);
}

/* A press that gives the window the focus, or begins to mark text, leaves it open. */
TEST(a_text_is_closed_by_presses_beside_it)
{
	struct overlay overlay = {0};
	struct str text = {0}, drawn = {0};
	str_puts(&text, "a name");
	overlay_open_text(&overlay, "Name", &text);
	draw(&overlay, 80, 24, &drawn);
	const struct rect *area = &overlay.list.area;
	struct input on = {.kind = INPUT_PRESS, .x = area->x, .y = area->y};
	struct input frame = {.kind = INPUT_PRESS, .x = area->x - 2, .y = area->y - 1};
	struct input beside = {.kind = INPUT_PRESS, .x = area->x, .y = area->y - 2};
	CHECK_INT(overlay_input(&overlay, &on), ACTION_NONE);
	CHECK_INT(overlay_input(&overlay, &frame), ACTION_NONE);
	CHECK(overlay.is_open);
	CHECK_INT(overlay_input(&overlay, &beside), ACTION_NONE);
	CHECK(!overlay.is_open);
	overlay_deinit(&overlay);
	str_deinit(&drawn);
}

TEST(a_view_is_entered_from_a_text)
{
	struct overlay overlay = {0};
	struct str text = {0}, drawn = {0};
	str_puts(&text, "a name");
	overlay_open_text(&overlay, "Name", &text);
	draw(&overlay, 80, 24, &drawn);
	CHECK_INT(press(&overlay, '3'), ACTION_VIEW_1 + 2);
	CHECK(!overlay.is_open);
	overlay_deinit(&overlay);
	str_deinit(&drawn);
}

TEST(the_wheel_moves_in_a_menu)
{
	static const enum action actions[] = {ACTION_ENTER, ACTION_COPY, ACTION_HELP};
	struct overlay overlay = {0};
	struct str drawn = {0};
	overlay_open_menu(&overlay, "Menu", actions, 3, NULL);
	draw(&overlay, 80, 24, &drawn);
	overlay_input(&overlay, &(struct input){.kind = INPUT_WHEEL_DOWN});
	CHECK_INT(press(&overlay, INPUT_ENTER), ACTION_HELP);
	overlay_deinit(&overlay);
	str_deinit(&drawn);
}

TEST(a_name_of_a_megabyte_can_be_read)
{
	struct overlay overlay = {0};
	struct str text = {0}, drawn = {0};
	str_pad(&text, 'x', 1 << 20);
	overlay_open_text(&overlay, "Name", &text);
	draw(&overlay, 80, 24, &drawn);
	press(&overlay, 'G');
	CHECK(strstr(draw(&overlay, 80, 24, &drawn), "13798 of 13798"));
	CHECK(strstr(draw(&overlay, 20, 5, &drawn), "of 65536"));
	overlay_deinit(&overlay);
	str_deinit(&drawn);
}

TEST(a_menu_returns_what_was_chosen)
{
	static const enum action actions[] = {ACTION_ENTER, ACTION_COPY, ACTION_HELP};
	struct overlay overlay = {0};
	struct str drawn = {0};
	overlay_open_menu(&overlay, "Menu", actions, 3, NULL);
	draw(&overlay, 20, 5, &drawn);
	press(&overlay, 'j');
	CHECK_INT(press(&overlay, INPUT_ENTER), ACTION_COPY);
	CHECK(!overlay.is_open);
	overlay_open_menu(&overlay, "Menu", actions, 3, NULL);
	draw(&overlay, 80, 24, &drawn);
	press(&overlay, 'j');
	CHECK_INT(press(&overlay, ' '), ACTION_COPY); /* as boxes are ticked elsewhere */
	overlay_open_menu(&overlay, "Menu", actions, 3, NULL);
	draw(&overlay, 80, 24, &drawn);
	struct input click = {
		.kind = INPUT_PRESS, .x = overlay.list.area.x, .y = overlay.list.area.y + 2};
	CHECK_INT(overlay_input(&overlay, &click), ACTION_HELP);
	overlay_open_menu(&overlay, "Menu", actions, 3, NULL);
	draw(&overlay, 80, 24, &drawn);
	click.y = 0;
	CHECK_INT(overlay_input(&overlay, &click), ACTION_NONE);
	CHECK(!overlay.is_open);
	overlay_open_menu(&overlay, "Menu", actions, 3, NULL);
	CHECK_INT(press(&overlay, INPUT_ESCAPE), ACTION_NONE);
	CHECK(!overlay.is_open);
	overlay_deinit(&overlay);
	str_deinit(&drawn);
}

TEST(choices_say_when_they_are_cut)
{
	struct overlay overlay = {0};
	struct str text = {0}, out = {0};
	static const enum action actions[] = {ACTION_HELP, ACTION_QUIT};
	str_puts(&text, "a choice that is longer than the box\nshort\n");
	overlay_open_choices(&overlay, "Menu", &text, actions, 2);
	CHECK(strstr(draw(&overlay, 24, 10, &out), "a choice that is lo~"));
	CHECK(strstr(str_text(&out), "short"));
	overlay_deinit(&overlay);
	str_deinit(&out);
}
