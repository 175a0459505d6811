#include "report/tui/print.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static struct err *write_all(int fd, const char *path, const char *bytes, size_t len)
{
	while (len) {
		ssize_t written = write(fd, bytes, len);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return err_sys(errno, "%s", path);
		bytes += written;
		len -= (size_t)written;
	}
	return NULL;
}

struct err *print_write(const char *path, const struct str *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(errno, "%s", path);
	struct err *err = write_all(fd, path, str_text(text), text->len);
	if (close(fd) < 0 && !err)
		err = err_sys(errno, "%s", path);
	if (err)
		unlink(path);
	return err;
}
