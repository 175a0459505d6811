#include "cmd/export_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/write_behind.h"
#include "format/base/mem.h"
#include "format/base/str.h"

static struct err *check_replaceable(const char *path, const char *const *inputs, size_t nr_inputs)
{
	struct stat st, input_st;
	if (lstat(path, &st))
		return errno == ENOENT ? NULL : err_sys(errno, "%s", path);
	if (S_ISLNK(st.st_mode))
		return err_new(ERR_USAGE, "%s is a symbolic link; name the file itself", path);
	if (!S_ISREG(st.st_mode))
		return err_new(ERR_USAGE,
			"%s is not a regular file; for anything else use -o - and redirect it",
			path);
	for (size_t i = 0; i < nr_inputs; i++)
		if (stat(inputs[i], &input_st) == 0 && input_st.st_dev == st.st_dev &&
			input_st.st_ino == st.st_ino)
			return err_new(ERR_USAGE, "%s is the recording itself", path);
	return NULL;
}

struct err *export_file_open(
	const char *path, const char *const *inputs, size_t nr_inputs, struct export_file *ret)
{
	struct export_file file = {.path = path, .fd = STDOUT_FILENO};
	if (strcmp(path, "-") != 0) {
		try(check_replaceable(path, inputs, nr_inputs));
		CLEANUP(str_deinit) struct str name = {0};
		str_printf(&name, "%s.XXXXXX", path);
		file.fd = mkostemp(name.data, O_CLOEXEC);
		if (file.fd < 0)
			return err_sys(errno, "cannot create %s", path);
		file.temporary = str_steal(&name);
	}
	file.behind = write_behind_create(file.fd);
	*ret = file;
	return NULL;
}

/* mkostemp() gave 0600; what is exported is for others to read, as far as the umask lets them. */
static struct err *publish(struct export_file *file)
{
	mode_t mask = umask(0);
	umask(mask);
	if (fchmod(file->fd, 0644 & ~mask))
		return err_sys(errno, "%s: cannot set its mode", file->path);
	int fd = steal_fd(file->fd);
	if (close(fd))
		return err_sys(errno, "%s: close", file->path);
	if (rename(file->temporary, file->path))
		return err_sys(errno, "cannot create %s", file->path);
	return NULL;
}

static struct err *wrap(const struct export_file *file, struct err *err)
{
	return err_wrap(err, "%s", file->temporary ? file->path : "standard output");
}

static struct err *commit(struct export_file *file)
{
	try(wrap(file, write_behind_finish(file->behind, &file->bytes)));
	if (!file->temporary)
		return NULL;
	try(publish(file));
	mem_free(steal_ptr(file->temporary));
	return NULL;
}

/* Removes what was not committed. */
static void discard(struct export_file *file)
{
	write_behind_destroy(steal_ptr(file->behind));
	if (!file->temporary)
		return;
	mem_close_fd(&file->fd);
	unlink(file->temporary);
	mem_free(steal_ptr(file->temporary));
}

struct err *export_file_end(struct export_file *file, struct err *err)
{
	bool is_stdout = !file->temporary;
	if (!err)
		err = commit(file);
	if (err && is_stdout && err_errnum(err) == EPIPE) {
		err_destroy(err);
		err = NULL;
	}
	discard(file);
	return err;
}

struct err *export_file_append(const char *path, const char *const *inputs, size_t nr_inputs,
	const void *bytes, size_t len)
{
	try(check_replaceable(path, inputs, nr_inputs));
	CLEANUP_FD int fd = open(
		path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
	if (fd < 0)
		return err_sys(errno, "cannot append to %s", path);
	struct write_behind *behind = write_behind_create(fd);
	uint64_t written;
	struct err *err = write_behind_put(behind, bytes, len);
	if (!err)
		err = write_behind_finish(behind, &written);
	write_behind_destroy(behind);
	return err_wrap(err, "%s", path);
}

static struct err *sink_write(void *context, const void *bytes, size_t len)
{
	struct export_file *file = context;
	return wrap(file, write_behind_put(file->behind, bytes, len));
}

struct export_sink export_file_sink(struct export_file *file)
{
	return (struct export_sink){.write = sink_write, .context = file};
}
