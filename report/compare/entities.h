/*
 * What rows stand for: the functions, files, lines or stacks of two recordings, numbered from 0
 * on as they come, with equal numbers for what is the same on both sides (function_match.h).
 */
#ifndef EBPROF_ENTITIES_H
#define EBPROF_ENTITIES_H

#include "report/compare/difference.h"

/* Both profiles are symbolized and must stay. */
struct entities *entities_create(
	enum diff_by by, const struct profile *base, const struct profile *new);
/*
 * The functions of a diff tree, numbered as they are there. `both`, and the trees of both sides
 * that it was made of, are borrowed and must stay.
 */
struct entities *entities_create_of_tree(
	const struct diff_tree *both, const struct tree *base, const struct tree *new);
void entities_destroy(struct entities *entities);
bool entities_are_of_tree(const struct entities *entities);

struct entity_list {
	uint32_t *data;
	size_t len, cap;
};

/*
 * Those that a stack has, each once, the innermost first: it has the stack's self time. The list
 * is emptied before. As elsewhere, the marker of a truncated stack counts only where nothing else
 * is there; but where a baseline left out the innermost functions, theirs is the self time.
 */
void entities_of_stack(
	struct entities *entities, enum match_side side, uint32_t stack, struct entity_list *ret);
/* All there are by now. */
size_t entities_count(const struct entities *entities);
/* Whether it is no place in the code, but stands for what a stack lost. By stack there are none. */
bool entities_is_marker(const struct entities *entities, uint32_t entity);
/*
 * By function, not of a tree: whether it has a symbol; and function_match_object() of its object.
 */
bool entities_is_named_function(const struct entities *entities, uint32_t entity);
uint32_t entities_object(const struct entities *entities, uint32_t entity);
/* Whether those of a stack are numbered from its outermost function on, and not the other way. */
bool entities_are_outermost_first(const struct entities *entities);
/* Fills in what a row is called. What stands there is borrowed from the entities. */
void entities_name(const struct entities *entities, uint32_t entity, struct diff_row *row);

#endif
