/* Files of memory for what wants a path. */
#ifndef EBPROF_MEMORY_FILE_H
#define EBPROF_MEMORY_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	MEMORY_FILE_PATH_BYTES = 64,
};

/* A regular file of these bytes, there until its descriptor is closed; `path` leads to it. */
static inline int memory_file_make(
	const uint8_t *bytes, size_t len, char path[MEMORY_FILE_PATH_BYTES])
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
		abort();
	snprintf(path, MEMORY_FILE_PATH_BYTES, "/proc/self/fd/%d", fd);
	return fd;
}

/* Cuts the next part off: two bytes of length, then so many, or what there is. */
static inline size_t memory_file_cut(const uint8_t **bytes, size_t *len, const uint8_t **part)
{
	if (*len < 2)
		return 0;
	size_t wanted = (size_t)((*bytes)[0] | (*bytes)[1] << 8), left = *len - 2;
	size_t got = wanted < left ? wanted : left;
	*part = *bytes + 2;
	*bytes += 2 + got;
	*len = left - got;
	return got;
}

#endif
