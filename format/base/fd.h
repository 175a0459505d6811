/* Reading from and writing to descriptors, also when signals come meanwhile. */
#ifndef EBPROF_FD_H
#define EBPROF_FD_H

#include <stddef.h>
#include <sys/types.h>

#include "format/base/err.h"

/* What there is, at most `len` bytes; 0: the end; -1: errno says why. */
ssize_t fd_read(int fd, void *to, size_t len);
/* Goes on until there are `len` bytes; fewer: the end came before; -1: errno says why. */
ssize_t fd_read_fully(int fd, void *to, size_t len);
/* ERR_IO: not all of it was written. */
struct err *fd_write_all(int fd, const void *bytes, size_t len) ERR_MUST_CHECK;

#endif
