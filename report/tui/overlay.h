/* A box over the view: text to be read, or a menu. */
#ifndef EBPROF_OVERLAY_H
#define EBPROF_OVERLAY_H

#include "report/tui/list.h"

struct overlay {
	bool is_open;
	const char *title;
	struct str text;          /* lines */
	VEC(size_t) lines;        /* where each begins */
	VEC(enum action) actions; /* of a menu: one for each line; else empty */
	struct list list;
};

/* Both take over what was put into `text`; foreign bytes are fine. */
void overlay_open_text(struct overlay *overlay, const char *title, struct str *text);
void overlay_open_menu(
	struct overlay *overlay, const char *title, const enum action *actions, size_t count);
/* All keys. */
void overlay_open_help(struct overlay *overlay);
void overlay_close(struct overlay *overlay);
void overlay_deinit(struct overlay *overlay);

void overlay_draw(struct overlay *overlay, struct grid *grid);
/* Closes on what ends it. What was chosen from a menu is returned, else ACTION_NONE. */
enum action overlay_input(struct overlay *overlay, const struct input *input);

#endif
