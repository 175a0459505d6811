#include "cmd/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/console.h"
#include "format/base/mem.h"
#include "report/info.h"

struct err *input_open(const char *path, int flags, int *ret)
{
	CLEANUP_FD int fd = open(path, flags | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && strcmp(path, "ebprof.data") == 0)
		return err_new(ERR_USAGE, "there is no ebprof.data here: make one with ebprof "
					  "record, or name a file");
	if (fd < 0)
		return err_sys(errno, "cannot open %s", path);
	struct stat st;
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		return err_new(ERR_USAGE, "%s is a directory", path);
	*ret = steal_fd(fd);
	return NULL;
}

struct err *input_choose(const char *option, int argc, char **argv, int rest, const char **ret)
{
	if (rest + (option ? 0 : 1) < argc)
		return err_new(
			ERR_USAGE, "one recording at a time: \"%s\" is too many", argv[argc - 1]);
	*ret = option ? option : rest < argc ? argv[rest] : "ebprof.data";
	return NULL;
}

struct err *input_load_open(
	const char *path, int fd, const struct symbol_file_options *files, struct profile **ret)
{
	struct profile_options options = {.files = files};
	mem_keep_freed();
	try(err_wrap(profile_load(fd, &options, ret), "%s", path));
	CLEANUP(str_deinit) struct str health = {0};
	info_put_damage(*ret, &health);
	if (health.len)
		console_say("%s: %s", path, str_text(&health));
	return NULL;
}

struct err *input_open_or_stdin(const char *path, int *ret)
{
	if (strcmp(path, "-") != 0)
		return input_open(path, O_RDONLY, ret);
	int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return err_sys(errno, "standard input");
	*ret = fd;
	return NULL;
}

struct err *input_load(const char *option, int argc, char **argv, int rest,
	const struct symbol_file_options *files, struct profile **ret)
{
	const char *path = NULL;
	try(input_choose(option, argc, argv, rest, &path));
	CLEANUP_FD int fd = -1;
	try(input_open_or_stdin(path, &fd));
	return input_load_open(path, fd, files, ret);
}
