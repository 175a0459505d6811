/*
 * A screen in memory: views draw into it, terminal.c shows it, tests compare it. Of any
 * name, a cell shows one printable character; wide ones are never split.
 */
#ifndef EBPROF_GRID_H
#define EBPROF_GRID_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/str.h"
#include "report/tui/style.h"

struct cell {
	uint32_t code_point; /* 0: the right half of a wide one */
	uint16_t style;      /* enum style */
};

struct rect {
	int x, y, width, height;
};

enum grid_colours {
	GRID_RICH, /* enough for shades */
	GRID_POOR, /* 8 or 16: shades need characters, too */
	GRID_MONO,
};

struct grid {
	int width, height;
	enum grid_colours colours;
	bool is_ascii; /* what the terminal shows is no UTF-8 */
	struct cell *cells;
};

enum glyph {
	GLYPH_ELLIPSIS,
	GLYPH_SHADE, /* things too small to be drawn */
	GLYPH_RULE,  /* a horizontal line */
	GLYPH_WALL,  /* a vertical one */
	GLYPH_EDGE,  /* where a box begins */
	GLYPH_OPEN,  /* a branch whose children are shown */
	GLYPH_CLOSED,
	GLYPH_TEE,       /* a child of a branch */
	GLYPH_CORNER,    /* its last one */
	GLYPH_CORNER_UP, /* its last one, where children stand above */
	GLYPH_FRAME,     /* the corners of a frame: left and right, above and below */
	GLYPH_FRAME_RIGHT,
	GLYPH_FRAME_BELOW,
	GLYPH_FRAME_BELOW_RIGHT,
	GLYPH_CRUMB, /* between the parts of a path */
	GLYPH_UP,
	GLYPH_DOWN,
	GLYPH_COUNT,
};

/* Blank; sizes below 1 become 1. */
void grid_init(struct grid *grid, int width, int height, bool is_ascii);
void grid_deinit(struct grid *grid);
void grid_clear(struct grid *grid);
struct rect grid_all(const struct grid *grid);
const char *grid_glyph(const struct grid *grid, enum glyph glyph);

/*
 * Writes text into up to `width` columns of a line and returns how many it took. What stands
 * outside of the grid is cut off. `text` may be of foreign origin.
 */
int grid_put(struct grid *grid, int x, int y, int width, unsigned style, const char *text);
/* The same; when there is more text than room, its middle is left out. */
int grid_put_elided(struct grid *grid, int x, int y, int width, unsigned style, const char *text);
/* Ends at column x + width - 1. */
void grid_put_right(struct grid *grid, int x, int y, int width, unsigned style, const char *text);
int grid_printf(struct grid *grid, int x, int y, int width, unsigned style, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));
/* A bar as long as the share (0 to 1) of `width`, in eighths of a column where that can be shown.
 */
void grid_put_bar(struct grid *grid, int x, int y, int width, unsigned style, double share);
void grid_fill(struct grid *grid, struct rect rect, unsigned style, const char *glyph);
/* Adds a flag of enum style to what stands there. */
void grid_mark(struct grid *grid, struct rect rect, unsigned flag);

/* How many columns the text takes. */
int grid_text_width(const struct grid *grid, const char *text);
/* How many bytes of an escaped text's beginning take at most `width` columns. */
size_t grid_text_fit(const struct grid *grid, const char *text, size_t len, int width);

/* The text alone: a line each, without trailing blanks. */
void grid_put_text(const struct grid *grid, struct str *out);

/* Of what the first `height` lines show; equal where all of that is. */
uint64_t grid_hash(const struct grid *grid, int height);

#endif
