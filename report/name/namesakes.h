/*
 * Functions of one name and object: of scripts, whose object stands for their language, <module> of
 * each file, run, or __init__; of native code those that are static, in unnamed namespaces, or
 * lambdas. The file and line that they are declared in tell them apart.
 *
 * Of native code it is the file's name without its folders: compilers write the path of one header
 * in several ways. Where one such file is known, functions of which none is are in it, too.
 */
#ifndef EBPROF_NAMESAKES_H
#define EBPROF_NAMESAKES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/str.h"
#include "report/model/profile.h"

/* For each function the one that stands for all that are shown as one with it: that were compiled
 * twice, or seen in two processes. To be freed. */
uint32_t *namesakes_group(const struct profile_function *functions, size_t count);

/*
 * For each function, how many parts of its file's path, from the last one on, tell it from all
 * others of its name; 0: the name does. To be freed, as is *groups: what namesakes_group() would
 * find, or NULL if that is not asked for.
 */
uint8_t *namesakes_find(const struct profile_function *functions, size_t count, uint32_t **groups);
/* Whether it is shown by this where it has namesakes: the name and as much of its place as needed.
 */
bool namesakes_are_shown_as(const struct profile_function *function, const char *shown);
/* " (a.py:10)"; nothing for no parts of the path. */
void namesakes_put_place(
	const struct profile_function *function, uint8_t nr_parts, struct str *out);
/* The name, and behind it that. */
void namesakes_put_name(const struct profile_function *function, uint8_t nr_parts, struct str *out);

#endif
