/*
 * The branches of a call tree that a person has opened: a focus, which of its nodes are open, and
 * the lines that makes. What is open is remembered by frames, so that it outlives the model: names
 * and filters come and go, and a branch that is back is as open as it was.
 */
#ifndef EBPROF_BRANCHES_H
#define EBPROF_BRANCHES_H

#include "report/analyse/focus.h"
#include "report/tui/model.h"
#include "report/tui/renewal.h"

enum {
	BRANCH_NONE = UINT32_MAX,
	BRANCH_MARKS = 1 << 16,                 /* at most */
	BRANCH_MARKS_OPENED = BRANCH_MARKS / 2, /* at most by one command */
};

struct branch_mark {
	uint32_t parent; /* a mark ahead of it; 0: the root, which is mark 0 */
	uint32_t frame;
	uint32_t node; /* of the focus; BRANCH_NONE: it is not there now */
	bool is_open;
	bool is_unfolded; /* it does not share the row of its only child */
};

/* Which nodes share a row with their only child: the row is that of the last of them. */
enum branch_folds {
	BRANCH_FOLDS_NOTHING,
	BRANCH_FOLDS_INLINED, /* functions that were inlined into each other */
	BRANCH_FOLDS_CHAINS,  /* those, and chains of other calls */
};

/* What is looked at. */
struct branches_origin {
	enum focus_direction direction;
	uint32_t function; /* all its places; 0: the whole tree */
	uint32_t node;     /* of the tree: it alone and what is below; 0: all */
	enum branch_folds folds;
	bool merges_recursion; /* of a function alone: see focus_merge_recursion() */
	/* As a focus' own; NULL: siblings stand by total. */
	double (*rank)(void *context, uint32_t node);
	void *rank_context;
};

struct branches {
	struct model *model; /* held; NULL until there is one */
	struct branches_origin origin;
	struct focus focus;
	uint32_t top;         /* where the lines begin, always open; BRANCH_NONE: it took no time */
	bool hides_root;      /* a function's callers go without the function */
	bool shows_recursion; /* level by level, though it could be merged */
	VEC(struct branch_mark) marks;
	VEC(uint32_t) marks_of; /* for each node of the focus; 0: none, but for node 0 */
	VEC(uint32_t) lines;    /* nodes of rows, from the outermost on */
	bool *leads;            /* for each node of the tree: whether it leads to a match */
};

void branches_deinit(struct branches *branches);
/* Looks at something else, or at the same in another model, which it holds. */
void branches_set(struct branches *branches, struct model *model,
	const struct branches_origin *origin, bool hides_root);
/*
 * Marks have the frames of a newer state of the recording from now on, whose model branches_set()
 * gets next: those of what is open, and of `node`, unless it is not there any more. Returns that
 * node, or the next above that has a mark.
 */
uint32_t branches_renew(struct branches *branches, uint32_t node, const struct renewal *renewal);
/* Lines begin with this node. */
void branches_zoom(struct branches *branches, uint32_t node);
/* Nothing is open any more. Where recursion is shown, branches_set() is to be next. */
void branches_forget(struct branches *branches);

const struct focus_node *branches_node(const struct branches *branches, uint32_t node);
/* Whether the lines begin with the top, or only below it. */
bool branches_shows_top(const struct branches *branches);
/* How far to the right the row of a node belongs. */
uint32_t branches_level(const struct branches *branches, uint32_t node);
bool branches_is_open(const struct branches *branches, uint32_t node);
bool branches_has_children(const struct branches *branches, uint32_t node);
/* Whether the function was inlined where the node stands. */
bool branches_is_inlined(const struct branches *branches, uint32_t node);
/* How many levels of calls of a function by itself the node stands for; 1: it has no such. */
uint32_t branches_levels(const struct branches *branches, uint32_t node);
/* Whether it is one of such levels that could be merged, but have rows of their own. */
bool branches_is_level(struct branches *branches, uint32_t node);
/* The place of a node in the tree where it has but one; else 0. */
uint32_t branches_place(const struct branches *branches, uint32_t node);

/* The first and the last of the nodes that share a row with this one: the latter is the row's. */
uint32_t branches_first_in_row(const struct branches *branches, uint32_t node);
uint32_t branches_row(const struct branches *branches, uint32_t node);
/* How many nodes share the row. */
size_t branches_nodes_in_row(const struct branches *branches, uint32_t row);
/* Whether it has several, all of them inlined. */
bool branches_is_inlined_row(const struct branches *branches, uint32_t row);

/*
 * The lines are made again by branches_list(), once all is as it should be. Opening fails when
 * there are too many marks.
 */
bool branches_open(struct branches *branches, uint32_t node);
void branches_close(struct branches *branches, uint32_t node);
/* All nodes of the row get rows of their own; or the chain that the node is in becomes one row. */
bool branches_unfold(struct branches *branches, uint32_t row);
void branches_fold(struct branches *branches, uint32_t node);
/*
 * The levels of recursion get nodes of their own everywhere, those of `node` open; or they are
 * merged again. Returns the node that has become of it: others have other numbers, too.
 */
uint32_t branches_show_recursion(struct branches *branches, uint32_t node, bool is_shown);
/*
 * The child with the largest part, then its, and so on, down to `share` of the one before. With a
 * share it ends at a call of the function that is looked at, and where one calls itself for the
 * second time: what else they call is to be seen.
 */
bool branches_open_hot_path(struct branches *branches, uint32_t node, double share);
/* All branches, level by level, as long as there are not many marks; false: not all of them. */
bool branches_open_all(struct branches *branches);
/* All that stand above the node, which is the last one of its row then. */
bool branches_reveal(struct branches *branches, uint32_t node);
void branches_list(struct branches *branches);

/* A mark to find a node again after branches_set(); 0 is that of the root. */
uint32_t branches_mark(struct branches *branches, uint32_t node);
/* The node of the mark, or the deepest visible one above. */
uint32_t branches_marked(const struct branches *branches, uint32_t mark);
/* The node that shows a node of the tree, or the deepest above that is there. From the top down. */
uint32_t branches_find_place(struct branches *branches, uint32_t place);
/* The child of that function; BRANCH_NONE: there is none. */
uint32_t branches_child(struct branches *branches, uint32_t node, uint32_t function);

/*
 * The next node, in the order of lines were all open, whose function was searched for; BRANCH_NONE:
 * there is none. `from` BRANCH_NONE: from the outermost, or the last. Only branches that lead to
 * one are expanded.
 */
uint32_t branches_next_match(struct branches *branches, uint32_t from);
uint32_t branches_previous_match(struct branches *branches, uint32_t from);

#endif
