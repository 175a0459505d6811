/*
 * The way here: filters and zooms in the order in which they were made. Undone ones wait to be made
 * again, until something else is done instead.
 */
#ifndef EBPROF_TRAIL_H
#define EBPROF_TRAIL_H

#include "report/analyse/scope.h"
#include "report/tui/model_path.h"

struct trail_step {
	bool is_zoom;
	struct scope_term term; /* a filter; its text is owned */
	struct path zoom;       /* to the branch that is looked at alone */
	bool is_inverted;       /* ... from a leaf to its callers */
	bool is_of_both; /* ... in the trees of two recordings: frames of diff_tree_frame() */
};

struct trail {
	VEC(struct trail_step) done, undone;
};

/* Copies what the step owns. */
void trail_add(struct trail *trail, const struct trail_step *step);
/* False when there is nothing to do. */
bool trail_undo(struct trail *trail);
bool trail_redo(struct trail *trail);
/* Undoes all; each can be redone. */
bool trail_reset(struct trail *trail);
/* The filters alone; *ret is the caller's. */
void trail_scope(const struct trail *trail, struct scope *ret);
/* The newest zoom of a kind, NULL when there is none. */
const struct path *trail_zoom(const struct trail *trail, bool is_inverted);
const struct path *trail_zoom_of_both(const struct trail *trail, bool is_inverted);
/* Forgets all zooms that are not of two recordings; false: there were none. */
bool trail_forget_zooms(struct trail *trail);
/* Whether it is a filter that the menu of waits made: no other has that kind. */
bool trail_step_is_wait(const struct trail_step *step);
/* Forgets those; false: there were none. */
bool trail_forget_waits(struct trail *trail);
/* Forgets these: another recording is compared with. */
void trail_forget_both(struct trail *trail);
void trail_deinit(struct trail *trail);

#endif
