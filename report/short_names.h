/*
 * Names without parameters and arguments of templates, for where there is little room. Made when
 * somebody wants them, and kept.
 */
#ifndef EBPROF_SHORT_NAMES_H
#define EBPROF_SHORT_NAMES_H

#include "format/base/map.h"
#include "format/base/mem.h"
#include "report/profile.h"

struct short_names {
	struct map known; /* function -> const char * */
	struct arena arena;
};

/* Borrowed until short_names_deinit(). A name that cannot be shortened is itself. */
const char *short_names_get(
	struct short_names *names, const struct profile_function *functions, uint32_t function);
void short_names_deinit(struct short_names *names);

#endif
