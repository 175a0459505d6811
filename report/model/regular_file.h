/*
 * Opens files that a recording names: regular ones on a real file system and nothing else, since
 * opening a device, a FIFO or a file of /proc can wait, or do something.
 */
#ifndef EBPROF_REGULAR_FILE_H
#define EBPROF_REGULAR_FILE_H

#include <sys/stat.h>

/* Open for reading, or -1 with errno; EINVAL: it is there, but no regular file. */
int regular_file_open(const char *path, struct stat *st);

#endif
