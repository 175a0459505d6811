/*
 * Names that were shortened until they are the same, in lists that are seen at once: what tells
 * them apart. Of vector<int>::push_back and vector<long>::push_back that is "int" and "long".
 */
#ifndef EBPROF_DISTINCT_NAMES_H
#define EBPROF_DISTINCT_NAMES_H

#include "format/base/str.h"
#include "format/base/vec.h"
#include "report/model/profile.h"

struct distinct_name {
	const struct profile_function *function; /* borrowed */
	char *shown;
	struct str difference; /* "": its name does */
};

struct distinct_names {
	VEC(struct distinct_name) names;
};

void distinct_names_deinit(struct distinct_names *names);
/* What a function is shown as; the same function may come again. */
void distinct_names_add(
	struct distinct_names *names, const struct profile_function *function, const char *shown);
/* When all are added. */
void distinct_names_find(struct distinct_names *names);
/* Borrowed; "" where nothing has to be added, or that function was not. */
const char *distinct_names_of(
	const struct distinct_names *names, const struct profile_function *function);

/* Where a name is written, and how much room it has there. */
struct name_room {
	size_t columns;
	size_t (*columns_of)(const void *context, const char *text);
	/* Writes a text, which loses its middle where it has more columns than these. */
	void (*put)(void *context, const char *text, size_t columns);
	void *context;
};

/* Adds what the function is shown as in that room, as short_names_fit() has it. */
void distinct_names_add_fitting(struct distinct_names *names,
	const struct profile_function *function, const struct name_room *room);
/*
 * Writes the name, shortened as far as it takes, and in braces what tells it from those that are
 * seen with it, which takes at most half of the room if both do not fit, and is left out where
 * one of both would say nothing. `names` NULL: nothing does.
 */
void distinct_names_put_fitting(const struct distinct_names *names,
	const struct profile_function *function, const struct name_room *room);

#endif
