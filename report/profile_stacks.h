/*
 * Nodes and stacks of a profile that is being loaded: those that the file has, and those that turn
 * up when stacks are unwound or split here.
 */
#ifndef EBPROF_PROFILE_STACKS_H
#define EBPROF_PROFILE_STACKS_H

#include <stdint.h>

#include "format/base/map.h"
#include "report/profile.h"

/*
 * The node of `frame` called from `parent`; `known` is the caller's, of all that it has added. New
 * nodes stand behind all others.
 */
uint32_t profile_add_node(
	struct profile *profile, struct map *known, uint32_t parent, uint32_t frame);
/*
 * The stack of two nodes, its index in profile->stacks: the same for the same ones. An empty one
 * where all stacks together would be too long for a file of this size; that is counted.
 */
uint32_t profile_add_stack(struct profile *profile, uint32_t user, uint32_t kernel);

#endif
