/*
 * Which code a recording's user can change: scripts, and programs and their libraries that no
 * package put where the system keeps its own. The time of what it calls there counts for it: a
 * program whose time goes to memset() has a line that calls memset().
 */
#ifndef EBPROF_OWN_CODE_H
#define EBPROF_OWN_CODE_H

#include "report/analyse/frame_kind.h"
#include "report/analyse/tree.h"

/* Whether a function is such code. */
bool own_code_has(const struct profile_function *function, const struct profile_object *object);

/* Whether it is declared in a header that a package installed, and was compiled into the program.
 */
bool own_code_is_of_header(const struct profile_function *function);

/* What own_code_weigh() looks at: a tree and the tables that its nodes lead to. */
struct own_code_request {
	const struct tree *tree;
	const struct tree_weight *weights; /* of its nodes */
	const struct profile_frame *frames;
	const struct profile_function *functions;
	size_t nr_functions;
	const struct profile_object *objects;
};

/*
 * Of each function of own code its self, with that of libraries and of the system's programs that
 * it called, in the event's unit; what scripts call counts for the script. What the kernel took,
 * and waiting, counts for none. To be freed with mem_free().
 */
uint64_t *own_code_weigh(const struct own_code_request *request);

#endif
