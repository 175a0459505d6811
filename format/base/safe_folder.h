/*
 * Folders in which files are created and replaced. A symbolic link that another user put into the
 * path could lead anywhere, so only links of root, of the process's user and of sudo's caller are
 * followed. What is opened is a descriptor: what becomes of the path later does not matter.
 */
#ifndef EBPROF_SAFE_FOLDER_H
#define EBPROF_SAFE_FOLDER_H

#include <stdbool.h>

#include "format/base/caller.h"
#include "format/base/err.h"

/* The folder at `path`, "" for the current one; an O_PATH descriptor, which is yours. */
struct err *safe_folder_open(
	const char *path, const struct caller *caller, int *ret) ERR_MUST_CHECK;

/*
 * The folder in which `path` stands, an O_PATH descriptor that is yours, and the name in it, which
 * points into `path`. ERR_USAGE for a path that ends in a slash, "." or "..".
 */
struct err *safe_folder_open_parent(
	const char *path, const struct caller *caller, int *ret, const char **name) ERR_MUST_CHECK;

/*
 * Makes the folder with this mode, less the umask, unless it is there; a new one belongs to the
 * caller. An O_RDONLY descriptor, which is yours. `is_made` may be NULL.
 */
struct err *safe_folder_make(const char *path, unsigned mode, const struct caller *caller, int *ret,
	bool *is_made) ERR_MUST_CHECK;

#endif
