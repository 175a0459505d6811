/*
 * Functions of programs and libraries as a user names them, PATH:FUNCTION, or lines of their
 * sources, PATH:FILE:LINE, and where they stand in the file.
 */
#ifndef EBPROF_FUNCTION_PROBE_H
#define EBPROF_FUNCTION_PROBE_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/base/vec.h"

struct function_probe {
	char *path;  /* absolute */
	char *event; /* what its hits are called: KIND:PATH:FUNCTION, without the path's folders */
	VEC(uint64_t) offsets; /* in the file; one at the least, no two equal */
};

/*
 * Finds the function that "PATH:FUNCTION" names, by the names that the file itself has, those of
 * C++ and Rust by the mangled ones; or with the kind "uprobe" the code of "PATH:FILE:LINE", by
 * debug information. A path without a slash is looked for as shells and ld.so do. ERR_USAGE: there
 * is none, and the message has the nearest.
 */
struct err *function_probe_find(
	const char *kind, const char *text, struct function_probe *ret) ERR_MUST_CHECK;
void function_probe_deinit(struct function_probe *probe);

#endif
