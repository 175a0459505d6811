#include "format/base/fd.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

ssize_t fd_read(int fd, void *to, size_t len)
{
	ssize_t got;
	do
		got = read(fd, to, len);
	while (got < 0 && errno == EINTR);
	return got;
}

ssize_t fd_read_fully(int fd, void *to, size_t len)
{
	uint8_t *at = to;
	size_t done = 0;
	while (done < len) {
		ssize_t got = fd_read(fd, at + done, len - done);
		if (got < 0)
			return -1;
		if (!got)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

struct err *fd_write_all(int fd, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;
	while (len) {
		ssize_t done = write(fd, at, len);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return err_sys(errno, "cannot write");
		at += done;
		len -= (size_t)done;
	}
	return NULL;
}
