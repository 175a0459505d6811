#include "report/tui/print.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "format/base/fd.h"

struct err *print_write(const char *path, const struct str *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(errno, "%s", path);
	struct err *err = err_wrap(fd_write_all(fd, str_text(text), text->len), "%s", path);
	if (close(fd) < 0 && !err)
		err = err_sys(errno, "%s", path);
	if (err)
		unlink(path);
	return err;
}
