/*
 * Paths through the call tree of a model. Each model has a tree of its own, whose nodes and
 * function ids are others than those of the model before; frames stay. So a branch is remembered by
 * the frames that lead to it, and looked up again in the model that is shown.
 */
#ifndef EBPROF_MODEL_PATH_H
#define EBPROF_MODEL_PATH_H

#include "report/tui/model.h"

struct path { /* of frames, from the outermost to where it ends */
	uint32_t *data;
	size_t len, cap;
};

/* To a node of the model's tree. */
void model_path_to(const struct model *model, uint32_t node, struct path *ret);
/*
 * The deepest node of the model's tree on the path, 0 being the root: names may have changed since
 * the path was made, and branches have gone.
 */
uint32_t model_path_follow(const struct model *model, const struct path *path);
/*
 * What the model shows of a path: all of it, or where native frames are hidden and it has frames of
 * scripts, only these and the group.
 */
void model_path_seen(const struct model *model, const struct path *path, struct path *ret);
/* The node of a group by its frame; 0: there is none. */
uint32_t model_path_group(const struct model *model, uint32_t frame);
/* Whether the frame is of a function of a script. */
bool model_path_is_script(const struct model *model, uint32_t frame);
/* The node where a function takes most, at `above` or below it; 0: it is not there. */
uint32_t model_path_hottest(const struct model *model, uint32_t function, uint32_t above);

/* The node where what is searched for takes most, likewise. Of equal ones it is the outermost. */
uint32_t model_path_hottest_match(const struct model *model, uint32_t above);

#endif
