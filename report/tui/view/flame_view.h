/* A flame graph on the screen, of any focus: going from box to box, and drawing them. */
#ifndef EBPROF_FLAME_VIEW_H
#define EBPROF_FLAME_VIEW_H

#include "report/analyse/flame.h"
#include "report/name/distinct_names.h"
#include "report/tui/app_state.h"

struct flame_view;

/* What boxes tell. */
struct flame_paint {
	unsigned (*style)(const struct flame_view *view, const struct app *app, uint32_t node);
	/* Behind the name; `count` siblings from this node on. May put nothing. */
	void (*put_value)(const struct flame_view *view, const struct app *app,
		const struct flame_box *box, struct str *out);
	/* What its box begins with, in one column; NULL: an edge. */
	const char *(*sign)(const struct flame_view *view, const struct app *app, uint32_t node);
};

/*
 * Rows are counted by the focus' depth: those above the zoom's are its callers, each as wide as the
 * view, then come those of the layout.
 */
struct flame_view {
	const struct model *model;       /* borrowed; the focus is of its tree */
	const struct flame_paint *paint; /* NULL: colours by what is called, the unit's values */
	void *context;                   /* the paint\'s */
	bool is_inverted;                /* leaves on top, their callers below */
	enum flame_order order;
	struct focus focus;          /* borrows from the model */
	struct flame flame;          /* of `root` */
	uint32_t root;               /* of the focus: the zoom */
	uint32_t selected;           /* of the focus */
	struct path path;            /* to it, while leaves are on top */
	size_t top;                  /* the first row that is seen */
	bool keeps_sight;            /* of the selection; a turn of the wheel ends that */
	struct rect area;            /* of rows, where they were drawn last */
	struct distinct_names names; /* of the boxes that are seen */
	/* Self of each kind of frames, for the legend; all 0: there is none. */
	uint64_t kind_selfs[FRAME_KINDS_END];
	struct flame_legend { /* as it was drawn last */
		int y;        /* -1: it was not */
		struct {
			int x, end;
		} kinds[FRAME_KINDS_END]; /* end 0: not there */
	} legend;
};

/* Gives back what is of a model; the next one is the caller's to set. */
void flame_view_forget(struct flame_view *view);
/* Lays out what is below a node of a focus, which may be a new one. */
void flame_view_zoom(struct flame_view *view, uint32_t root);
void flame_view_fit(struct flame_view *view, int width);

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
uint32_t flame_view_match(const struct flame_view *view, const struct flame_box *box);

/* True when the action was one of moving, ordering, searching: the selection may be another. */
bool flame_view_act(struct flame_view *view, struct app *app, enum action action);
/* Likewise; false: there is nothing at that place. */
bool flame_view_mouse(struct flame_view *view, const struct input *input);
/* The kind of frames that the legend tells where a button was pressed; FRAME_KINDS_END: none. */
enum frame_kind flame_view_legend_at(const struct flame_view *view, const struct input *input);
/* The node that Enter zooms to; the zoom's own: there is nothing further. */
uint32_t flame_view_entered(struct flame_view *view);

void flame_view_draw(struct flame_view *view, struct app *app, struct grid *grid, struct rect area);

#endif
