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
/* When all are added. Names of scripts are never shortened, and so not looked at. */
void distinct_names_find(struct distinct_names *names);
/* Borrowed; "" where nothing has to be added, or that function was not. */
const char *distinct_names_of(
	const struct distinct_names *names, const struct profile_function *function);

#endif
