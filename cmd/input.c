#include "cmd/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/console.h"
#include "format/base/mem.h"
#include "report/info.h"

static struct err *open_input(const char *path, int *ret)
{
	if (strcmp(path, "-") == 0) {
		*ret = dup(STDIN_FILENO);
		return *ret < 0 ? err_sys(errno, "standard input") : NULL;
	}
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
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

struct err *input_load(const char *option, int argc, char **argv, int rest,
	const struct symbol_file_options *files, struct profile **ret)
{
	const char *path = option ? option : rest < argc ? argv[rest] : "ebprof.data";
	if (rest + (option ? 0 : 1) < argc)
		return err_new(
			ERR_USAGE, "one recording at a time: \"%s\" is too many", argv[argc - 1]);
	CLEANUP_FD int fd = -1;
	try(open_input(path, &fd));
	try(err_wrap(profile_load(fd, files, ret), "%s", path));
	CLEANUP(str_deinit) struct str health = {0};
	info_put_damage(*ret, &health);
	if (health.len)
		console_say("%s: %s", path, str_text(&health));
	return NULL;
}
