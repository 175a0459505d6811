/* A box over the view: text to be read, or a menu. */
#ifndef EBPROF_OVERLAY_H
#define EBPROF_OVERLAY_H

#include "report/tui/list.h"

struct overlay_line { /* of the text, as wide as the box */
	size_t at, len;
	int indent; /* columns before it; it goes on from the line above */
};

struct overlay {
	bool is_open;
	const char *title;
	struct str text; /* lines, escaped */
	int width;       /* that they were broken for; 0: not yet */
	VEC(struct overlay_line) lines;
	VEC(enum action) actions; /* of a menu: one for each line; else empty */
	struct list list;
};

/* All take over what was put into `text`; foreign bytes are fine. */
void overlay_open_text(struct overlay *overlay, const char *title, struct str *text);
void overlay_open_choices(struct overlay *overlay, const char *title, struct str *text,
	const enum action *actions, size_t count);
/* Rows of the keys' table. `enter_help`: what Enter does in the view; NULL: what the table says. */
void overlay_open_menu(struct overlay *overlay, const char *title, const enum action *actions,
	size_t count, const char *enter_help);
void overlay_close(struct overlay *overlay);
/* All keys. */
void overlay_open_help(struct overlay *overlay);
void overlay_deinit(struct overlay *overlay);

void overlay_draw(struct overlay *overlay, struct grid *grid);
/* Closes on what ends it. What was chosen from a menu is returned, else ACTION_NONE. */
enum action overlay_input(struct overlay *overlay, const struct input *input);

#endif
