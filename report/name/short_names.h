/*
 * Names without parameters and arguments of templates, for where there is little room. Made
 * when they are first shown, and kept.
 */
#ifndef EBPROF_SHORT_NAMES_H
#define EBPROF_SHORT_NAMES_H

#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/base/str.h"
#include "report/model/profile.h"

struct short_names {
	struct map known; /* function -> const char * */
	struct arena arena;
};

/* Appends it; false: there is nothing to leave out. */
bool short_names_put(const struct profile_function *function, struct str *out);

/* Borrowed until short_names_deinit(). A name that cannot be shortened is itself. */
const char *short_names_get(
	struct short_names *names, const struct profile_function *functions, uint32_t function);
void short_names_deinit(struct short_names *names);

#endif
