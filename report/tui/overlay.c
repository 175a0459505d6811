#include "report/tui/overlay.h"

#include <string.h>

#include "report/tui/style.h"

static const char help_title[] = "Keys";

/* ---- what colours of frames and names mean, as lines of the help ---- */

enum {
	LEGEND_NAME = 10, /* columns, from the third of a line on */
	FRAME = 2,        /* columns of a frame and the blank within it */
};

/* Ends with a row without a name. */
static const struct legend_row {
	const char *name, *help;
	unsigned box, ink; /* styles: of a frame in a flame graph, of a name in a list */
} legend_rows[] = {
	{"program", "compiled: the program itself", STYLE_FLAME_OF(FRAME_PROGRAM, false),
		STYLE_NORMAL},
	{"library", "of the system or of packages", STYLE_FLAME_OF(FRAME_LIBRARY, false),
		STYLE_NORMAL},
	{"inlined", "[i], paler: into what calls it", STYLE_FLAME_OF(FRAME_PROGRAM, true),
		STYLE_INLINED},
	{"kernel", "[k], all that runs in it", STYLE_FLAME_OF(FRAME_KERNEL, false), STYLE_KERNEL},
	{"script", "[s], a colour a language", STYLE_FLAME_OF(FRAME_PYTHON, false), STYLE_SCRIPT},
	{"more", "than before (>), or new (+)", STYLE_CHANGE + 5, STYLE_WORSE},
	{"less", "than before (<), or removed (-)", STYLE_CHANGE + 1, STYLE_BETTER},
	{"no name", "only an address is known", STYLE_FLAME_OF(FRAME_UNNAMED, false),
		STYLE_UNKNOWN},
	{NULL, NULL, 0, 0},
};

/* Below a heading, a line each. */
static void put_legend(struct str *out)
{
	str_puts(out, "\nColours\n");
	for (const struct legend_row *row = legend_rows; row->name; row++)
		str_printf(out, "  %-*s %s\n", LEGEND_NAME, row->name, row->help);
}

/* The row of such a line; NULL: it is none. */
static const struct legend_row *legend_row_of(const char *line)
{
	if (strncmp(line, "  ", 2) != 0)
		return NULL;
	for (const struct legend_row *row = legend_rows; row->name; row++) {
		size_t len = strlen(row->name);
		if (strncmp(line + 2, row->name, len) == 0 &&
			strspn(line + 2 + len, " ") >= LEGEND_NAME + 1 - len)
			return row;
	}
	return NULL;
}

/* ---- opening ---- */

/* Line by line, so that the ends of lines stay. */
static void put_escaped_lines(struct str *out, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");
		str_put_escaped(out, text, len);
		str_putc(out, '\n');
		text += len + (text[len] == '\n');
	}
}

void overlay_close(struct overlay *overlay)
{
	overlay->is_open = false;
	overlay->actions.len = 0;
}

void overlay_open_text(struct overlay *overlay, const char *title, struct str *text)
{
	overlay_close(overlay);
	overlay->is_open = true;
	overlay->title = title;
	str_truncate(&overlay->text, 0);
	put_escaped_lines(&overlay->text, str_text(text));
	str_deinit(text);
	overlay->width = 0;
	overlay->list = (struct list){0};
}

void overlay_open_choices(struct overlay *overlay, const char *title, struct str *text,
	const enum action *actions, size_t count)
{
	overlay_open_text(overlay, title, text);
	vec_append(&overlay->actions, actions, count);
	overlay->list.count = count;
}

void overlay_open_menu(struct overlay *overlay, const char *title, const enum action *actions,
	size_t count, const char *enter_help)
{
	struct str text = {0};
	for (size_t i = 0; i < count; i++) {
		const struct key_row *row = key_row_of(actions[i]);
		bool is_enter = actions[i] == ACTION_ENTER && enter_help;
		str_printf(&text, "%-10s %s\n", row ? row->shown : "",
			is_enter ? enter_help
			: row    ? row->help
				 : "");
	}
	overlay_open_choices(overlay, title, &text, actions, count);
}

void overlay_open_help(struct overlay *overlay)
{
	struct str text = {0};
	key_put_help(&text);
	put_legend(&text);
	overlay_open_text(overlay, help_title, &text);
}

void overlay_deinit(struct overlay *overlay)
{
	str_deinit(&overlay->text);
	vec_deinit(&overlay->lines);
	vec_deinit(&overlay->actions);
}

/* ---- lines ---- */

/* How much of the text's beginning fits; where there is a blank to break at, up to it. */
static size_t break_at(const struct grid *grid, const char *text, size_t len, int width)
{
	size_t fits = grid_text_fit(grid, text, len, width);
	if (fits >= len)
		return len;
	size_t blanks = strspn(text, " ");
	for (size_t at = fits; at > blanks; at--)
		if (text[at] == ' ')
			return at;
	return fits ? fits : len;
}

/* What goes on below is indented as the text is: help stands behind the keys it explains. */
static int hanging_indent(const char *text, size_t len, int width)
{
	enum {
		HELP = 13,
		LEAST = 16, /* columns of text behind it */
	};
	if (!len || text[0] != ' ')
		return 0;
	return width >= HELP + LEAST ? HELP : 4;
}

static void break_line(struct overlay *overlay, const struct grid *grid, size_t at, size_t len)
{
	const char *text = str_text(&overlay->text);
	int hanging = hanging_indent(text + at, len, overlay->width), indent = 0;
	do {
		size_t fits = break_at(grid, text + at, len, overlay->width - indent);
		struct overlay_line line = {.at = at, .len = fits, .indent = indent};
		vec_push(&overlay->lines, line);
		while (fits < len && text[at + fits] == ' ')
			fits++;
		at += fits;
		len -= fits;
		indent = hanging;
	} while (len);
}

/* Lines of a menu stay whole: each is one choice. */
static void overlay_find_lines(struct overlay *overlay, const struct grid *grid, int width)
{
	if (overlay->width == width)
		return;
	overlay->width = width;
	overlay->lines.len = 0;
	const char *text = str_text(&overlay->text);
	for (size_t at = 0; at < overlay->text.len;) {
		size_t len = strcspn(text + at, "\n");
		struct overlay_line whole = {.at = at, .len = len};
		if (overlay->actions.len)
			vec_push(&overlay->lines, whole);
		else
			break_line(overlay, grid, at, len);
		at += len + 1;
	}
}

/* ---- drawing ---- */

static char *overlay_line_of(const struct overlay *overlay, size_t index)
{
	const struct overlay_line *line = &overlay->lines.data[index];
	return mem_strndup(str_text(&overlay->text) + line->at, line->len);
}

static int widest_line(const struct overlay *overlay, const struct grid *grid)
{
	int widest = grid_text_width(grid, overlay->title) + 2;
	const char *text = str_text(&overlay->text);
	while (*text && widest < grid->width) {
		size_t len = strcspn(text, "\n");
		int width = (int)len; /* ASCII at least */
		if (len < (size_t)grid->width * 4) {
			CLEANUP_FREE char *line = mem_strndup(text, len);
			width = grid_text_width(grid, line);
		}
		widest = width > widest ? width : widest;
		text += len + (text[len] == '\n');
	}
	return widest < grid->width ? widest : grid->width;
}

static struct rect place_box(struct overlay *overlay, const struct grid *grid)
{
	struct rect box = {.width = widest_line(overlay, grid) + 4, .height = grid->height};
	if (box.width > grid->width)
		box.width = grid->width;
	overlay_find_lines(overlay, grid, box.width - 4);
	if (overlay->lines.len + 2 < (size_t)box.height)
		box.height = (int)overlay->lines.len + 2;
	box.x = (grid->width - box.width) / 2;
	box.y = (grid->height - box.height) / 2;
	return box;
}

static void draw_rule(struct grid *grid, struct rect rule, enum glyph left, enum glyph right)
{
	grid_fill(grid, rule, STYLE_HEADER, grid_glyph(grid, GLYPH_RULE));
	grid_put(grid, rule.x, rule.y, 1, STYLE_HEADER, grid_glyph(grid, left));
	grid_put(grid, rule.x + rule.width - 1, rule.y, 1, STYLE_HEADER, grid_glyph(grid, right));
}

static void overlay_draw_frame(const struct overlay *overlay, struct grid *grid, struct rect box)
{
	grid_fill(grid, box, STYLE_NORMAL, " ");
	struct rect rule = {box.x, box.y, box.width, 1};
	draw_rule(grid, rule, GLYPH_FRAME, GLYPH_FRAME_RIGHT);
	grid_put(grid, box.x + 2, box.y, box.width - 4, STYLE_HEADER | STYLE_BOLD, overlay->title);
	rule.y = box.y + box.height - 1;
	draw_rule(grid, rule, GLYPH_FRAME_BELOW, GLYPH_FRAME_BELOW_RIGHT);
	for (int y = box.y + 1; y < rule.y; y++) {
		grid_put(grid, box.x, y, 1, STYLE_HEADER, grid_glyph(grid, GLYPH_WALL));
		grid_put(grid, box.x + box.width - 1, y, 1, STYLE_HEADER,
			grid_glyph(grid, GLYPH_WALL));
	}
}

/* The name as a box of a flame graph, what it means as a name in a list. */
static void draw_legend(struct grid *grid, struct rect inner, int y, const char *line)
{
	const struct legend_row *row = legend_row_of(line);
	if (!row || inner.width < 2 + LEGEND_NAME)
		return;
	struct rect box = {inner.x + 2, y, LEGEND_NAME, 1};
	grid_fill(grid, box, row->box, " ");
	grid_put(grid, box.x, y, box.width, row->box, row->name);
	int used = 3 + LEGEND_NAME;
	if (strlen(line) > (size_t)used)
		grid_put(grid, inner.x + used, y, inner.width - used, row->ink, line + used);
}

void overlay_draw(struct overlay *overlay, struct grid *grid)
{
	struct rect box = place_box(overlay, grid);
	struct rect inner = {box.x + 2, box.y + 1, box.width - 4, box.height - 2};
	bool is_menu = overlay->actions.len, is_help = overlay->title == help_title;
	overlay_draw_frame(overlay, grid, box);
	list_fit(&overlay->list, overlay->lines.len, inner);
	if (!is_menu) /* text has no selected line: what moves is its top */
		overlay->list.selected = overlay->list.top;
	for (size_t i = 0; i < list_seen(&overlay->list); i++) {
		CLEANUP_FREE char *line = overlay_line_of(overlay, overlay->list.top + i);
		int indent = overlay->lines.data[overlay->list.top + i].indent;
		bool is_heading = is_help && line[0] && line[0] != ' ' && !indent;
		grid_put(grid, inner.x + indent, inner.y + (int)i, inner.width - indent,
			is_heading ? STYLE_NORMAL | STYLE_BOLD : STYLE_NORMAL, line);
		bool is_cut = is_menu && grid_text_width(grid, line) > inner.width;
		if (is_cut) /* lines of text are broken instead */
			grid_put(grid, inner.x + inner.width - 1, inner.y + (int)i, 1, STYLE_NORMAL,
				grid_glyph(grid, GLYPH_ELLIPSIS));
		if (is_help && !indent)
			draw_legend(grid, inner, inner.y + (int)i, line);
	}
	if (is_menu)
		list_mark(&overlay->list, grid);
	if (overlay->list.count > list_seen(&overlay->list))
		grid_printf(grid, box.x + 1, box.y + box.height - 1, box.width - 2, STYLE_HEADER,
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

/* With its frame. */
static bool is_on_overlay(const struct overlay *overlay, const struct input *input)
{
	const struct rect *area = &overlay->list.area;
	return input->x >= area->x - FRAME && input->x < area->x + area->width + FRAME &&
	       input->y >= area->y - 1 && input->y < area->y + area->height + 1;
}

/* Of text: what is typed behind such a key is no key of its own, and a view is asked for by name.
 */
static bool does_more_than_close(enum action action)
{
	return action == ACTION_SEARCH || action == ACTION_KEEP || action == ACTION_EXCLUDE ||
	       action == ACTION_COMMANDS || (action >= ACTION_VIEW_1 && action <= ACTION_VIEW_9);
}

enum action overlay_input(struct overlay *overlay, const struct input *input)
{
	bool is_menu = overlay->actions.len;
	if (input->kind == INPUT_KEY) {
		enum action action = key_action(input->key);
		if (is_menu && (action == ACTION_ENTER || input->key == ' '))
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
		return is_key_of_menu || does_more_than_close(action) ? action : ACTION_NONE;
	}
	if (input->kind == INPUT_WHEEL_UP || input->kind == INPUT_WHEEL_DOWN) {
		enum action action =
			input->kind == INPUT_WHEEL_UP ? ACTION_HALF_UP : ACTION_HALF_DOWN;
		if (is_menu)
			list_mouse(&overlay->list, input);
		else
			scroll_text(&overlay->list, action);
	} else if (is_menu && input->kind == INPUT_PRESS && list_mouse(&overlay->list, input)) {
		return choose(overlay);
	} else if (input->kind == INPUT_MENU ||
		   (input->kind == INPUT_PRESS && !is_on_overlay(overlay, input))) {
		overlay_close(overlay);
	}
	return ACTION_NONE;
}
