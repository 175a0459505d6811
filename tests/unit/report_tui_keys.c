#include <string.h>

#include "report/tui/input_event.h"
#include "report/tui/keys.h"
#include "tests/unit/unit.h"

TEST(no_key_means_two_things)
{
	for (const struct key_row *row = key_rows; row->help; row++)
		for (size_t i = 0; i < 4 && row->keys[i]; i++)
			if (key_action(row->keys[i]) != row->action)
				unit_fail(__FILE__, __LINE__, "%s: %s", row->shown, row->help);
	CHECK_INT(key_action('Y'), ACTION_NONE);
	CHECK_INT(key_action(0), ACTION_NONE);
	CHECK_INT(key_action(INPUT_OTHER), ACTION_NONE);
}

TEST(every_row_can_be_shown)
{
	for (const struct key_row *row = key_rows; row->help; row++) {
		CHECK(row->shown && strlen(row->shown) <= 10);
		CHECK(strlen(row->help) <= 60);
		CHECK(key_row_of(row->action));
		CHECK(strlen(key_hint(row->action)) > 0);
	}
	CHECK(key_rows[0].group);
}

TEST(hints_are_short)
{
	static const enum action actions[] = {ACTION_ENTER, ACTION_KEEP, ACTION_UNDO,
		ACTION_NEXT_VIEW, ACTION_SEARCH, ACTION_HELP, ACTION_QUIT, ACTION_SORT_RIGHT};
	for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++)
		CHECK(strlen(key_hint(actions[i])) <= 9);
}
