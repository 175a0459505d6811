#include "report/tui/overlay.h"

#include <string.h>

static void find_lines(struct overlay *overlay)
{
	overlay->lines.len = 0;
	const char *text = str_text(&overlay->text);
	for (size_t at = 0; at < overlay->text.len; at++) {
		vec_push(&overlay->lines, at);
		at += strcspn(text + at, "\n");
	}
}

static void open_box(struct overlay *overlay, const char *title, struct str *text)
{
	overlay_close(overlay);
	overlay->is_open = true;
	overlay->title = title;
	str_deinit(&overlay->text);
	overlay->text = *text;
	*text = (struct str){0};
	find_lines(overlay);
	overlay->list = (struct list){.count = overlay->lines.len};
}

void overlay_open_text(struct overlay *overlay, const char *title, struct str *text)
{
	open_box(overlay, title, text);
}

void overlay_open_menu(
	struct overlay *overlay, const char *title, const enum action *actions, size_t count)
{
	struct str text = {0};
	for (size_t i = 0; i < count; i++) {
		const struct key_row *row = key_row_of(actions[i]);
		str_printf(&text, "%-9s %s\n", row ? row->shown : "", row ? row->help : "");
	}
	open_box(overlay, title, &text);
	vec_append(&overlay->actions, actions, count);
}

void overlay_open_help(struct overlay *overlay)
{
	struct str text = {0};
	for (const struct key_row *row = key_rows; row->help; row++) {
		if (row->group)
			str_printf(&text, "%s%s\n", text.len ? "\n" : "", row->group);
		str_printf(&text, "  %-10s %s\n", row->shown, row->help);
	}
	open_box(overlay, "Keys", &text);
}

void overlay_close(struct overlay *overlay)
{
	overlay->is_open = false;
	overlay->actions.len = 0;
}

void overlay_deinit(struct overlay *overlay)
{
	str_deinit(&overlay->text);
	vec_deinit(&overlay->lines);
	vec_deinit(&overlay->actions);
}

/* ---- drawing ---- */

static char *line_of(const struct overlay *overlay, size_t index)
{
	const char *line = str_text(&overlay->text) + overlay->lines.data[index];
	return mem_strndup(line, strcspn(line, "\n"));
}

static int widest_line(const struct overlay *overlay, const struct grid *grid)
{
	int widest = grid_text_width(grid, overlay->title) + 2;
	for (size_t i = 0; i < overlay->lines.len; i++) {
		CLEANUP_FREE char *line = line_of(overlay, i);
		int width = grid_text_width(grid, line);
		widest = width > widest ? width : widest;
	}
	return widest;
}

static struct rect place_box(const struct overlay *overlay, const struct grid *grid)
{
	struct rect box = {
		.width = widest_line(overlay, grid) + 4,
		.height = (int)overlay->lines.len + 2,
	};
	if (box.width > grid->width)
		box.width = grid->width;
	if (box.height > grid->height)
		box.height = grid->height;
	box.x = (grid->width - box.width) / 2;
	box.y = (grid->height - box.height) / 2;
	return box;
}

static void draw_frame(const struct overlay *overlay, struct grid *grid, struct rect box)
{
	grid_fill(grid, box, STYLE_NORMAL, " ");
	struct rect rule = {box.x, box.y, box.width, 1};
	grid_fill(grid, rule, STYLE_HEADER, grid_glyph(grid, GLYPH_RULE));
	grid_put(grid, box.x + 2, box.y, box.width - 4, STYLE_HEADER | STYLE_BOLD, overlay->title);
	rule.y = box.y + box.height - 1;
	grid_fill(grid, rule, STYLE_HEADER, grid_glyph(grid, GLYPH_RULE));
	for (int y = box.y + 1; y < rule.y; y++) {
		grid_put(grid, box.x, y, 1, STYLE_HEADER, grid_glyph(grid, GLYPH_WALL));
		grid_put(grid, box.x + box.width - 1, y, 1, STYLE_HEADER,
			grid_glyph(grid, GLYPH_WALL));
	}
}

void overlay_draw(struct overlay *overlay, struct grid *grid)
{
	struct rect box = place_box(overlay, grid);
	struct rect inner = {box.x + 2, box.y + 1, box.width - 4, box.height - 2};
	bool is_menu = overlay->actions.len;
	draw_frame(overlay, grid, box);
	list_fit(&overlay->list, overlay->lines.len, inner);
	if (!is_menu) /* text has no selected line: what moves is its top */
		overlay->list.selected = overlay->list.top;
	for (size_t i = 0; i < list_seen(&overlay->list); i++) {
		CLEANUP_FREE char *line = line_of(overlay, overlay->list.top + i);
		bool is_heading = !is_menu && line[0] && line[0] != ' ' &&
				  overlay->list.top + i + 1 < overlay->lines.len;
		grid_put(grid, inner.x, inner.y + (int)i, inner.width,
			is_heading ? STYLE_NORMAL | STYLE_BOLD : STYLE_NORMAL, line);
	}
	if (is_menu)
		list_mark(&overlay->list, grid);
	if (overlay->list.count > list_seen(&overlay->list))
		grid_printf(grid, box.x + 2, box.y + box.height - 1, box.width - 4, STYLE_HEADER,
			" %zu of %zu ", overlay->list.top + list_seen(&overlay->list),
			overlay->list.count);
}

/* ---- input ---- */

static void scroll_text(struct list *list, enum action action)
{
	size_t height = list->area.height > 0 ? (size_t)list->area.height : 0;
	size_t last = list->count > height ? list->count - height : 0;
	list_act(list, action);
	list->top = list->selected > last ? last : list->selected;
}

static enum action choose(struct overlay *overlay)
{
	enum action chosen = overlay->actions.data[overlay->list.selected];
	overlay_close(overlay);
	return chosen;
}

enum action overlay_input(struct overlay *overlay, const struct input *input)
{
	bool is_menu = overlay->actions.len;
	if (input->kind == INPUT_KEY) {
		enum action action = key_action(input->key);
		if (is_menu && action == ACTION_ENTER)
			return choose(overlay);
		if (action == ACTION_UP || action == ACTION_DOWN ||
			(action >= ACTION_PAGE_UP && action <= ACTION_LAST)) {
			if (is_menu)
				list_act(&overlay->list, action);
			else
				scroll_text(&overlay->list, action);
			return ACTION_NONE;
		}
		bool is_key_of_menu = is_menu && action != ACTION_QUIT && action != ACTION_UNDO;
		overlay_close(overlay);
		return is_key_of_menu ? action : ACTION_NONE;
	}
	if (input->kind == INPUT_WHEEL_UP || input->kind == INPUT_WHEEL_DOWN)
		scroll_text(&overlay->list,
			input->kind == INPUT_WHEEL_UP ? ACTION_HALF_UP : ACTION_HALF_DOWN);
	else if (is_menu && input->kind == INPUT_PRESS && list_mouse(&overlay->list, input))
		return choose(overlay);
	else if (input->kind == INPUT_PRESS || input->kind == INPUT_MENU)
		overlay_close(overlay);
	return ACTION_NONE;
}
