#include <string.h>

#include "report/tui/input_event.h"
#include "report/tui/line_edit.h"
#include "tests/unit/unit.h"

static void type(struct line_edit *edit, struct str *text, const char *keys)
{
	for (; *keys; keys++)
		line_edit_key(edit, text, (unsigned char)*keys);
}

static void key(struct line_edit *edit, struct str *text, uint32_t key, const char *wanted)
{
	line_edit_key(edit, text, key);
	CHECK_STR(str_text(text), wanted);
}

TEST(typing_in_the_middle)
{
	struct line_edit edit = {0};
	struct str text = {0};
	type(&edit, &text, "acd");
	line_edit_key(&edit, &text, INPUT_LEFT);
	line_edit_key(&edit, &text, INPUT_LEFT);
	key(&edit, &text, 'b', "abcd");
	key(&edit, &text, 0x8a9e, "ab語cd");
	key(&edit, &text, INPUT_BACKSPACE, "abcd");
	key(&edit, &text, INPUT_DELETE, "abd");
	line_edit_key(&edit, &text, INPUT_HOME);
	key(&edit, &text, INPUT_BACKSPACE, "abd");
	line_edit_key(&edit, &text, INPUT_END);
	key(&edit, &text, INPUT_DELETE, "abd");
	key(&edit, &text, 'e', "abde");
	key(&edit, &text, INPUT_OTHER, "abde");
	str_deinit(&text);
	line_edit_deinit(&edit);
}

TEST(words_and_lines_are_cut)
{
	struct line_edit edit = {0};
	struct str text = {0};
	type(&edit, &text, "one two  three");
	key(&edit, &text, INPUT_CTRL('w'), "one two  ");
	key(&edit, &text, INPUT_CTRL('w'), "one ");
	type(&edit, &text, "x");
	line_edit_key(&edit, &text, INPUT_LEFT);
	key(&edit, &text, INPUT_CTRL('u'), "x");
	key(&edit, &text, INPUT_CTRL('k'), "");
	key(&edit, &text, INPUT_CTRL('w'), "");
	str_deinit(&text);
	line_edit_deinit(&edit);
}

TEST(what_was_typed_before)
{
	struct line_edit edit = {0};
	struct str text = {0};
	line_edit_remember(&edit, "first");
	line_edit_remember(&edit, "second");
	line_edit_remember(&edit, "second");
	line_edit_remember(&edit, "");
	type(&edit, &text, "dra");
	key(&edit, &text, INPUT_UP, "second");
	key(&edit, &text, INPUT_UP, "first");
	key(&edit, &text, INPUT_UP, "first");
	key(&edit, &text, INPUT_DOWN, "second");
	key(&edit, &text, INPUT_DOWN, "dra");
	key(&edit, &text, INPUT_DOWN, "dra");
	str_deinit(&text);
	line_edit_deinit(&edit);
}

TEST(nothing_typed_is_endless)
{
	struct line_edit edit = {0};
	struct str text = {0};
	for (int i = 0; i < 100000; i++)
		line_edit_key(&edit, &text, 'x');
	CHECK(text.len <= 5000);
	for (int i = 0; i < 1000; i++) {
		char line[] = {(char)('a' + i % 2), 0};
		line_edit_remember(&edit, line);
	}
	CHECK_INT(edit.history.len, 100);
	str_deinit(&text);
	line_edit_deinit(&edit);
}
