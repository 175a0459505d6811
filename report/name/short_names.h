/*
 * Names of functions for where there is little room: one way of shortening for lists, flame graphs,
 * text, pictures and pages.
 */
#ifndef EBPROF_SHORT_NAMES_H
#define EBPROF_SHORT_NAMES_H

#include "format/base/str.h"
#include "report/model/profile.h"

/*
 * What stands between packages in names of functions of a language, which the object of its
 * scripts names ("[java]": '.'). ':' stands there twice. 0: its names have none.
 */
char short_names_mark(const char *object);

/*
 * Calls `use` with these, each shorter than the one before, until it returns true, which is then
 * returned: the name that stands beside its object, the name without parameters, without arguments
 * of templates, without namespaces from the left on, without "<...>". Names are borrowed of the
 * function or of `storage`, until the next call. Of scripts only packages are left out, since
 * brackets are parts of their names; functions without a name have but one.
 */
typedef bool short_names_use_fn(void *context, const char *name);
bool short_names_each(const struct profile_function *function, short_names_use_fn *use,
	void *context, struct str *storage);

/* The first of them that fits; the last one may be wider still. Borrowed in the same way. */
typedef bool short_names_fits_fn(const void *context, const char *name);
const char *short_names_fit(const struct profile_function *function, short_names_fits_fn *fits,
	const void *context, struct str *storage);

#endif
