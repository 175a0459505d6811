/* The header of a list: what is seen of it, and what it is ordered by. */
#include "format/base/str.h"
#include "report/tui/view/list_header.h"
#include "tests/unit/unit.h"

enum {
	SELF,
	BAR,
	SAMPLES,
	OBJECT,
	NAME,
	COUNT,
};

static const struct list_column columns[COUNT] = {
	[SELF] = {"self", .width = 9, .is_right = true},
	[BAR] = {"", .width = 6, .room = 40, .is_bar = true, .bar_of = SELF},
	[SAMPLES] = {"samples", .width = 10, .room = 30, .is_right = true},
	[OBJECT] = {"object", .parts = 1, .room = 35},
	[NAME] = {"name", .parts = 2},
};

static void check_line(const struct list_header *header, int width, const char *want)
{
	struct grid grid;
	CLEANUP(str_deinit) struct str text = {0};
	grid_init(&grid, width, 1, true);
	list_header_draw(header, &grid);
	grid_put_text(&grid, &text);
	CHECK_STR(str_text(&text), want);
	grid_deinit(&grid);
}

static struct list_header header_of(int width)
{
	struct list_header header = {.order = SELF};
	list_header_place(&header, columns, COUNT, (struct rect){0, 0, width, 1});
	return header;
}

TEST(columns_go_where_there_is_no_room)
{
	struct list_header header = header_of(55);
	check_line(&header, 55, "   selfv         samples object    name\n");
	CHECK_INT(list_header_width(&header, OBJECT), 9);
	CHECK_INT(list_header_width(&header, NAME), 20); /* no blank behind the last one */
	header = header_of(34);
	check_line(&header, 34, "   selfv   samples name\n");
	CHECK_INT(list_header_width(&header, OBJECT), 0);
	header = header_of(12);
	check_line(&header, 12, "   selfv nam\n");
	header = header_of(5); /* less than its columns take */
	check_line(&header, 5, "    s\n");
	CHECK_INT(list_header_width(&header, NAME), 0);
}

TEST(what_is_not_shown_is_not_ordered_by)
{
	struct list_header header = header_of(34);
	CHECK(list_header_act(&header, ACTION_SORT_RIGHT));
	CHECK_INT(header.order, SAMPLES);
	CHECK(list_header_act(&header, ACTION_SORT_RIGHT));
	CHECK_INT(header.order, NAME);
	CHECK(list_header_act(&header, ACTION_SORT_RIGHT)); /* there is none */
	CHECK_INT(header.order, NAME);
	CHECK(!header.is_reversed);
	CHECK(list_header_act(&header, ACTION_SORT_REVERSE));
	CHECK(header.is_reversed);
	CHECK(list_header_act(&header, ACTION_SORT_LEFT));
	CHECK_INT(header.order, SAMPLES);
	CHECK(!header.is_reversed);
	CHECK(!list_header_act(&header, ACTION_DOWN));
}

TEST(a_click_orders)
{
	struct list_header header = header_of(55);
	struct input click = {.kind = INPUT_PRESS, .x = 11};
	CHECK(list_header_mouse(&header, &click)); /* the bar's column is that of self */
	CHECK_INT(header.order, SELF);
	CHECK(header.is_reversed);
	click.x = 54;
	CHECK(list_header_mouse(&header, &click));
	CHECK_INT(header.order, NAME);
	CHECK(!header.is_reversed);
	click.y = 1;
	CHECK(!list_header_mouse(&header, &click));
	CHECK(!list_header_mouse(&(struct list_header){0}, &(struct input){.kind = INPUT_PRESS}));
}
