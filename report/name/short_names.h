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

/*
 * The first of these that fits: the name that stands beside its object, the name without
 * parameters, without arguments of templates, without namespaces from the left on. The last may be
 * wider still. Borrowed of the function or of `storage`.
 */
typedef bool short_names_fits_fn(const void *context, const char *name);
const char *short_names_fit(const struct profile_function *function, short_names_fits_fn *fits,
	const void *context, struct str *storage);

/* Appends it; false: there is nothing to leave out. */
bool short_names_put(const struct profile_function *function, struct str *out);

/* Borrowed until short_names_deinit(). A name that cannot be shortened is itself. */
const char *short_names_get(
	struct short_names *names, const struct profile_function *functions, uint32_t function);
void short_names_deinit(struct short_names *names);

#endif
