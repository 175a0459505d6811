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

#endif
