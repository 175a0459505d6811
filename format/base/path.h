/* Parts of paths. */
#ifndef EBPROF_PATH_H
#define EBPROF_PATH_H

#include <stdbool.h>
#include <stdint.h>
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

/* An order by the last byte, then by the one before it: paths with most of their end in common
 * stand side by side. As strcmp() has it. */
static inline int path_compare_ends(const char *a, const char *b)
{
	size_t len = strlen(a), other = strlen(b);
	while (len && other && a[len - 1] == b[other - 1]) {
		len--;
		other--;
	}
	if (!len || !other)
		return (len > 0) - (other > 0);
	return (unsigned char)a[len - 1] < (unsigned char)b[other - 1] ? -1 : 1;
}

/* How many parts tell two paths apart, from the last one on, at most 255; 0: they are equal. */
static inline uint8_t path_parts_that_differ(const char *a, const char *b)
{
	size_t len = strlen(a), other = strlen(b), nr_parts = 1;
	for (; len && other && a[len - 1] == b[other - 1]; len--, other--)
		nr_parts += a[len - 1] == '/';
	if (!len && !other)
		return 0;
	/* One is the end of the other. */
	nr_parts += (!len && b[other - 1] == '/') || (!other && a[len - 1] == '/');
	return nr_parts < UINT8_MAX ? (uint8_t)nr_parts : UINT8_MAX;
}

/* Whether it is that, or ends with a slash and that. */
static inline bool path_ends_with(const char *path, const char *end)
{
	size_t len = strlen(path), end_len = strlen(end);
	return end_len && len >= end_len && strcmp(path + len - end_len, end) == 0 &&
	       (len == end_len || path[len - end_len - 1] == '/');
}

#endif
