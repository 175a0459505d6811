/* Parts of paths. */
#ifndef EBPROF_PATH_H
#define EBPROF_PATH_H

#include <string.h>

/* What stands behind the last slash, a place in `path`; all of a path that ends with one. */
static inline const char *path_last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

/* The end of a path that has so many parts, from 1 on, a place in `path`; of fewer, all of it. */
static inline const char *path_last_parts(const char *path, unsigned nr_parts)
{
	const char *at = path + strlen(path);
	while (at > path && (at[-1] != '/' || --nr_parts))
		at--;
	return at;
}

#endif
