/*
 * Shorter forms of demangled names: without parameters, and without the
 * arguments of templates.
 */
#ifndef EBPROF_DEMANGLE_COLLAPSE_H
#define EBPROF_DEMANGLE_COLLAPSE_H

#include <stdbool.h>
#include <stddef.h>

#include "format/base/str.h"

/*
 * Appends the short form of a demangled name of `len` bytes: parameters,
 * qualifiers and return types are dropped, and arguments of templates become
 * <...> unless they are to be kept. False when the text is not understood;
 * `out` may hold a part of it then.
 */
typedef bool demangle_collapse_fn(
	const char *text, size_t len, bool keep_arguments, struct str *out);

demangle_collapse_fn demangle_collapse_cplus; /* as libiberty prints it */
demangle_collapse_fn demangle_collapse_rust;
demangle_collapse_fn demangle_collapse_d;

#endif
