/* What the flame graph's view knows: kept by view_flame.c, drawn by flame_draw.c. */
#ifndef EBPROF_FLAME_VIEW_H
#define EBPROF_FLAME_VIEW_H

#include "report/flame.h"
#include "report/short_names.h"
#include "report/tui/app.h"

/*
 * Rows are counted by the focus' depth: those above the zoom's are its callers, each as wide as the
 * view, then come those of the layout.
 */
struct flame_view {
	bool is_inverted; /* leaves on top, their callers below */
	enum flame_order order;
	struct focus focus; /* borrows from the model */
	struct flame flame; /* of `root` */
	struct short_names names;
	uint32_t root;     /* of the focus: the zoom */
	uint32_t selected; /* of the focus */
	struct path path;  /* to it, while leaves are on top */
	size_t top;        /* the first row that is seen */
	bool keeps_sight;  /* of the selection; a turn of the wheel ends that */
	struct rect area;  /* of rows, where they were drawn last */
};

/* Where the selection is seen: its own box, or that of the nearest caller that has one. */
struct flame_spot {
	uint32_t node; /* of the focus: the selection or that caller */
	size_t row;
	const struct flame_box *box; /* NULL: a row above the zoom */
};

struct flame_spot flame_view_spot(struct flame_view *view);
/* How many rows stand above the zoom's. */
size_t flame_view_above(const struct flame_view *view);
/* The function in the box that was searched for; 0: none. */
uint32_t flame_view_match(
	const struct flame_view *view, const struct app *app, const struct flame_box *box);

void flame_view_draw(struct flame_view *view, struct app *app, struct grid *grid, struct rect area);

#endif
