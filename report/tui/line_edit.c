#include "report/tui/line_edit.h"

#include <string.h>

#include "report/tui/input_event.h"

enum {
	HISTORY_MAX = 100,
	TEXT_MAX = 4096, /* bytes; what is pasted may be anything */
};

void line_edit_begin(struct line_edit *edit)
{
	edit->behind = 0;
	edit->back = 0;
	mem_free(edit->draft);
	edit->draft = NULL;
}

void line_edit_deinit(struct line_edit *edit)
{
	line_edit_begin(edit);
	vec_each(&edit->history, line)
		mem_free(*line);
	vec_deinit(&edit->history);
}

void line_edit_remember(struct line_edit *edit, const char *text)
{
	size_t len = edit->history.len;
	if (!text[0] || (len && strcmp(edit->history.data[len - 1], text) == 0))
		return;
	if (len == HISTORY_MAX) {
		mem_free(edit->history.data[0]);
		memmove(edit->history.data, edit->history.data + 1,
			(len - 1) * sizeof(*edit->history.data));
		edit->history.len--;
	}
	vec_push(&edit->history, mem_strdup(text));
}

/* ---- moving ---- */

static bool is_continuation(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Where the character before `at` begins. */
static size_t step_back(const struct str *text, size_t at)
{
	if (at)
		at--;
	while (at && is_continuation(text->data[at]))
		at--;
	return at;
}

static size_t step_on(const struct str *text, size_t at)
{
	if (at < text->len)
		at++;
	while (at < text->len && is_continuation(text->data[at]))
		at++;
	return at;
}

static size_t word_before(const struct str *text, size_t at)
{
	while (at && text->data[at - 1] == ' ')
		at--;
	while (at && text->data[at - 1] != ' ')
		at--;
	return at;
}

/* ---- changing ---- */

static bool cut(struct str *text, size_t from, size_t to)
{
	if (from >= to)
		return false;
	memmove(text->data + from, text->data + to, text->len - to);
	str_truncate(text, text->len - (to - from));
	return true;
}

static bool line_edit_insert(struct str *text, size_t at, uint32_t code_point)
{
	if (text->len >= TEXT_MAX)
		return false;
	CLEANUP(str_deinit) struct str rest = {0};
	str_puts(&rest, str_text(text) + at);
	str_truncate(text, at);
	str_put_code_point(text, code_point);
	str_puts(text, str_text(&rest));
	return true;
}

/* The line typed `back` lines ago; 0 is the one that was being typed. */
static bool recall(struct line_edit *edit, struct str *text, size_t back)
{
	if (back > edit->history.len || back == edit->back)
		return false;
	if (!edit->back) {
		mem_free(edit->draft);
		edit->draft = mem_strdup(str_text(text));
	}
	edit->back = back;
	edit->behind = 0;
	str_truncate(text, 0);
	str_puts(text, back ? edit->history.data[edit->history.len - back] : edit->draft);
	return true;
}

static bool line_edit_change(struct line_edit *edit, struct str *text, uint32_t key)
{
	size_t at = text->len - edit->behind;
	if (key == INPUT_BACKSPACE)
		return cut(text, step_back(text, at), at);
	if (key == INPUT_CTRL('w'))
		return cut(text, word_before(text, at), at);
	if (key == INPUT_CTRL('u'))
		return cut(text, 0, at);
	if (key == INPUT_DELETE || key == INPUT_CTRL('d') || key == INPUT_CTRL('k')) {
		size_t end = key == INPUT_CTRL('k') ? text->len : step_on(text, at);
		edit->behind -= end - at;
		return cut(text, at, end);
	}
	if (key == INPUT_UP || key == INPUT_CTRL('p'))
		return recall(edit, text, edit->back + 1);
	if (key == INPUT_DOWN || key == INPUT_CTRL('n'))
		return edit->back && recall(edit, text, edit->back - 1);
	return key >= 0x20 && key < INPUT_UP && line_edit_insert(text, at, key);
}

bool line_edit_key(struct line_edit *edit, struct str *text, uint32_t key)
{
	if (edit->behind > text->len)
		edit->behind = text->len;
	size_t at = text->len - edit->behind;
	if (key == INPUT_LEFT || key == INPUT_CTRL('b'))
		at = step_back(text, at);
	else if (key == INPUT_RIGHT || key == INPUT_CTRL('f'))
		at = step_on(text, at);
	else if (key == INPUT_HOME || key == INPUT_CTRL('a'))
		at = 0;
	else if (key == INPUT_END || key == INPUT_CTRL('e'))
		at = text->len;
	else
		return line_edit_change(edit, text, key);
	edit->behind = text->len - at;
	return false;
}
