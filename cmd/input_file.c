#include "cmd/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/input.h"
#include "format/base/mem.h"

struct err *input_file_open(const char *path, int flags, int *ret)
{
	CLEANUP_FD int fd = open(path, flags | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && strcmp(path, INPUT_USUAL) == 0)
		return err_new(ERR_USAGE, "there is no " INPUT_USUAL
					  " here: make one with ebprof record, or name a file");
	if (fd < 0 && errno != ENOENT && flags & O_RDWR)
		return err_sys(errno, "cannot write to %s", path);
	if (fd < 0 && errno == ENOENT && strncmp(path, "--", 2) == 0)
		return err_new(ERR_USAGE, "there is no file %s (options go before --)", path);
	if (fd < 0)
		return err_sys(errno, "cannot open %s", path);
	struct stat st;
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		return err_new(ERR_USAGE,
			"%s is a directory (what record --ring wrote there is read by report "
			"--ring %s)",
			path, path);
	*ret = steal_fd(fd);
	return NULL;
}

struct err *input_file_open_or_stdin(const char *path, int *ret)
{
	if (strcmp(path, "-") != 0)
		return input_file_open(path, O_RDONLY, ret);
	int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return err_sys(errno, "standard input");
	*ret = fd;
	return NULL;
}
