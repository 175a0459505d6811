#include "report/tui/grid.h"

#include <stdarg.h>
#include <string.h>
#include <wchar.h>

#include "format/base/mem.h"

void grid_init(struct grid *grid, int width, int height, bool is_ascii)
{
	*grid = (struct grid){
		.width = width < 1 ? 1 : width,
		.height = height < 1 ? 1 : height,
		.is_ascii = is_ascii,
	};
	size_t count = (size_t)grid->width * (size_t)grid->height;
	grid->cells = mem_zalloc_array(count, sizeof(*grid->cells));
	grid_clear(grid);
}

void grid_deinit(struct grid *grid)
{
	mem_free(grid->cells);
	*grid = (struct grid){0};
}

struct rect grid_all(const struct grid *grid)
{
	return (struct rect){.width = grid->width, .height = grid->height};
}

void grid_clear(struct grid *grid)
{
	size_t count = (size_t)grid->width * (size_t)grid->height;
	for (size_t i = 0; i < count; i++)
		grid->cells[i] = (struct cell){.code_point = ' ', .style = STYLE_NORMAL};
}

const char *grid_glyph(const struct grid *grid, enum glyph glyph)
{
	static const char *const glyphs[GLYPH_COUNT][2] = {
		[GLYPH_ELLIPSIS] = {"…", "~"},
		[GLYPH_SHADE] = {"▒", ":"},
		[GLYPH_RULE] = {"─", "-"},
		[GLYPH_WALL] = {"│", "|"},
		[GLYPH_EDGE] = {"▏", "|"},
		[GLYPH_OPEN] = {"▾", "-"},
		[GLYPH_CLOSED] = {"▸", "+"},
		[GLYPH_TEE] = {"├", "|"},
		[GLYPH_CORNER] = {"└", "`"},
		[GLYPH_CORNER_UP] = {"┌", ","},
		[GLYPH_FRAME] = {"┌", "-"},
		[GLYPH_FRAME_RIGHT] = {"┐", "-"},
		[GLYPH_FRAME_BELOW] = {"└", "-"},
		[GLYPH_FRAME_BELOW_RIGHT] = {"┘", "-"},
		[GLYPH_CRUMB] = {"›", ">"},
		[GLYPH_UP] = {"▲", "^"},
		[GLYPH_DOWN] = {"▼", "v"},
	};
	return glyphs[glyph][grid->is_ascii];
}

/* ---- characters ---- */

/* Combining marks have no cell of their own and are left out: 0. */
static int grid_width_of(const struct grid *grid, uint32_t code_point)
{
	if (code_point < 0x7f)
		return 1;
	if (grid->is_ascii)
		return 1; /* it becomes a question mark */
	int width = wcwidth((wchar_t)code_point);
	return width < 0 ? 1 : width;
}

static struct cell *cell_at(struct grid *grid, int x, int y)
{
	if (x < 0 || y < 0 || x >= grid->width || y >= grid->height)
		return NULL;
	return &grid->cells[(size_t)y * (size_t)grid->width + (size_t)x];
}

/* A half of a wide character that loses its other half becomes a blank. */
static void set_cell(struct grid *grid, int x, int y, uint32_t code_point, unsigned style)
{
	struct cell *cell = cell_at(grid, x, y);
	if (!cell)
		return;
	struct cell *right = cell_at(grid, x + 1, y);
	struct cell *left = cell_at(grid, x - 1, y);
	if (!cell->code_point && code_point && left)
		left->code_point = ' ';
	if (right && !right->code_point)
		right->code_point = ' ';
	*cell = (struct cell){.code_point = code_point, .style = (uint16_t)style};
}

/* The cells of one character; false when it does not fit before `end`. */
static bool put_code_point(
	struct grid *grid, int *x, int y, int end, unsigned style, uint32_t code_point)
{
	int width = grid_width_of(grid, code_point);
	if (*x + width > end)
		return false;
	if (!width)
		return true;
	if (grid->is_ascii && code_point > 0x7e)
		code_point = '?';
	else if (code_point > 0x7e && wcwidth((wchar_t)code_point) < 0)
		code_point = 0xfffd;
	set_cell(grid, *x, y, code_point, style);
	if (width == 2)
		set_cell(grid, *x + 1, y, 0, style);
	*x += width;
	return true;
}

/* No terminal has that many columns: of a name that fills a megabyte only the ends are looked at.
 */
static const char *grid_shorten(const char *text, struct str *storage)
{
	enum {
		END = 4096, /* bytes */
	};
	size_t len = strlen(text);
	const char *tail = text + len - END;
	while (((unsigned char)*tail & 0xc0) == 0x80) /* not into a character */
		tail++;
	str_put_escaped(storage, text, END);
	str_puts_escaped(storage, tail);
	return str_text(storage);
}

/* What a terminal can be shown. Most names need no second look. */
static const char *safe_text(const char *text, struct str *storage)
{
	enum {
		LONG = 16384,
	};
	if (strnlen(text, LONG) == LONG)
		return grid_shorten(text, storage);
	for (const char *at = text; *at; at++) {
		if (*at >= 0x20 && *at < 0x7f)
			continue;
		str_puts_escaped(storage, text);
		return str_text(storage);
	}
	return text;
}

static int put_safe(struct grid *grid, int x, int y, int width, unsigned style, const char *text)
{
	int end = x + width, at = x;
	size_t len = strlen(text);
	for (size_t i = 0; i < len;) {
		uint32_t code_point;
		size_t bytes = str_utf8_decode(text + i, len - i, &code_point);
		if (!bytes || !put_code_point(grid, &at, y, end, style, code_point))
			break;
		i += bytes;
	}
	return at - x;
}

int grid_put(struct grid *grid, int x, int y, int width, unsigned style, const char *text)
{
	CLEANUP(str_deinit) struct str storage = {0};
	return put_safe(grid, x, y, width, style, safe_text(text, &storage));
}

static int safe_width(const struct grid *grid, const char *text)
{
	int width = 0;
	size_t len = strlen(text);
	for (size_t i = 0; i < len;) {
		uint32_t code_point;
		size_t bytes = str_utf8_decode(text + i, len - i, &code_point);
		if (!bytes)
			break;
		width += grid_width_of(grid, code_point);
		i += bytes;
	}
	return width;
}

int grid_text_width(const struct grid *grid, const char *text)
{
	CLEANUP(str_deinit) struct str storage = {0};
	return safe_width(grid, safe_text(text, &storage));
}

size_t grid_text_fit(const struct grid *grid, const char *text, size_t len, int width)
{
	size_t i = 0;
	while (i < len) {
		uint32_t code_point;
		size_t bytes = str_utf8_decode(text + i, len - i, &code_point);
		int columns = bytes ? grid_width_of(grid, code_point) : 1;
		if (columns > width)
			break;
		width -= columns;
		i += bytes ? bytes : 1;
	}
	return i;
}

/* The longest end of the text that takes at most `width` columns. */
static const char *tail_of(const struct grid *grid, const char *text, int width)
{
	int skipped = safe_width(grid, text) - width;
	size_t len = strlen(text), i = 0;
	while (skipped > 0 && i < len) {
		uint32_t code_point;
		size_t bytes = str_utf8_decode(text + i, len - i, &code_point);
		if (!bytes)
			break;
		skipped -= grid_width_of(grid, code_point);
		i += bytes;
	}
	return text + i;
}

int grid_put_elided(struct grid *grid, int x, int y, int width, unsigned style, const char *text)
{
	enum {
		LEAST = 5 /* columns; below, the beginning says more */
	};
	CLEANUP(str_deinit) struct str storage = {0};
	text = safe_text(text, &storage);
	if (width < LEAST || safe_width(grid, text) <= width)
		return put_safe(grid, x, y, width, style, text);
	int head = width / 2;
	int used = put_safe(grid, x, y, head, style, text);
	used += put_safe(grid, x + used, y, 1, style, grid_glyph(grid, GLYPH_ELLIPSIS));
	return used +
	       put_safe(grid, x + used, y, width - used, style, tail_of(grid, text, width - used));
}

void grid_put_right(struct grid *grid, int x, int y, int width, unsigned style, const char *text)
{
	int used = grid_text_width(grid, text);
	int pad = used < width ? width - used : 0;
	grid_put(grid, x + pad, y, width - pad, style, text);
}

int grid_printf(struct grid *grid, int x, int y, int width, unsigned style, const char *fmt, ...)
{
	CLEANUP(str_deinit) struct str text = {0};
	va_list args;
	va_start(args, fmt);
	str_vprintf(&text, fmt, args);
	va_end(args);
	return grid_put(grid, x, y, width, style, str_text(&text));
}

/* ---- areas ---- */

void grid_put_bar(struct grid *grid, int x, int y, int width, unsigned style, double share)
{
	static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
	double clamped = share < 0 ? 0 : share > 1 ? 1 : share;
	int cells = (int)(clamped * width * 8 + 0.5);
	for (int i = 0; i < width && cells > 0; i++, cells -= 8) {
		if (!grid->is_ascii)
			put_safe(grid, x + i, y, 1, style, eighths[cells > 8 ? 8 : cells]);
		else if (cells >= 4)
			put_safe(grid, x + i, y, 1, style, "#");
	}
}

void grid_fill(struct grid *grid, struct rect rect, unsigned style, const char *glyph)
{
	for (int y = rect.y; y < rect.y + rect.height; y++)
		for (int x = rect.x; x < rect.x + rect.width; x++)
			put_safe(grid, x, y, 1, style, glyph);
}

void grid_mark(struct grid *grid, struct rect rect, unsigned flag)
{
	for (int y = rect.y; y < rect.y + rect.height; y++)
		for (int x = rect.x; x < rect.x + rect.width; x++) {
			struct cell *cell = cell_at(grid, x, y);
			if (cell)
				cell->style |= (uint16_t)flag;
		}
}

void grid_put_text(const struct grid *grid, struct str *out)
{
	for (int y = 0; y < grid->height; y++) {
		size_t end = out->len;
		for (int x = 0; x < grid->width; x++) {
			const struct cell *cell =
				&grid->cells[(size_t)y * (size_t)grid->width + (size_t)x];
			if (!cell->code_point)
				continue;
			str_put_code_point(out, cell->code_point);
			if (cell->code_point != ' ')
				end = out->len;
		}
		str_truncate(out, end);
		str_putc(out, '\n');
	}
}

/* FNV-1a by cells: between the members of one there are bytes that mean nothing. */
uint64_t grid_hash(const struct grid *grid, int height)
{
	uint64_t hash = 14695981039346656037u;
	size_t count = (size_t)grid->width * (size_t)height;
	for (size_t i = 0; i < count; i++) {
		uint64_t cell = (uint64_t)grid->cells[i].style << 32 | grid->cells[i].code_point;
		hash = (hash ^ cell) * 1099511628211u;
	}
	return hash;
}
