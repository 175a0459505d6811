#include "report/tui/list.h"
#include "tests/unit/unit.h"

static const struct rect area = {0, 2, 20, 5};

TEST(the_selected_line_stays_in_sight)
{
	struct list list = {0};
	list_fit(&list, 100, area);
	for (int i = 0; i < 6; i++)
		CHECK(list_act(&list, ACTION_DOWN));
	list_fit(&list, 100, area);
	CHECK_INT(list.selected, 6);
	CHECK_INT(list.top, 2);
	list_act(&list, ACTION_LAST);
	list_fit(&list, 100, area);
	CHECK_INT(list.selected, 99);
	CHECK_INT(list.top, 95);
	list_act(&list, ACTION_DOWN);
	CHECK_INT(list.selected, 99);
	list_act(&list, ACTION_PAGE_UP);
	CHECK_INT(list.selected, 95);
	list_act(&list, ACTION_FIRST);
	list_act(&list, ACTION_UP);
	CHECK_INT(list.selected, 0);
	CHECK(!list_act(&list, ACTION_ENTER));
}

TEST(lists_that_shrink)
{
	struct list list = {0};
	list_fit(&list, 100, area);
	list_act(&list, ACTION_LAST);
	list_fit(&list, 3, area);
	CHECK_INT(list.selected, 2);
	CHECK_INT(list.top, 0);
	CHECK_INT(list_seen(&list), 3);
	list_fit(&list, 0, area);
	CHECK_INT(list.selected, 0);
	CHECK_INT(list_seen(&list), 0);
	list_act(&list, ACTION_DOWN);
	list_act(&list, ACTION_PAGE_DOWN);
	CHECK_INT(list.selected, 0);
	struct rect none = area;
	none.height = -3;
	list_fit(&list, 10, none);
	CHECK_INT(list_seen(&list), 0);
}

TEST(the_mouse_in_lists)
{
	struct list list = {0};
	list_fit(&list, 4, area);
	CHECK(list_mouse(&list, &(struct input){.kind = INPUT_PRESS, .x = 3, .y = 4}));
	CHECK_INT(list.selected, 2);
	CHECK(!list_mouse(&list, &(struct input){.kind = INPUT_PRESS, .x = 3, .y = 6}));
	CHECK(!list_mouse(&list, &(struct input){.kind = INPUT_PRESS, .x = 3, .y = 1}));
	CHECK(!list_mouse(&list, &(struct input){.kind = INPUT_PRESS, .x = 20, .y = 4}));
	CHECK(list_mouse(&list, &(struct input){.kind = INPUT_WHEEL_DOWN}));
	CHECK_INT(list.selected, 3);
	CHECK(!list_mouse(&list, &(struct input){.kind = INPUT_DRAG, .x = 3, .y = 4}));
}
