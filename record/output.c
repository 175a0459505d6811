#include "record/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "format/base/str.h"

enum {
	PIPE_PIECE_BYTES = 4096, /* PIPE_BUF: what a writable pipe takes without blocking */
	HURRY_MS = 2000,
};

struct output {
	int fd;
	bool is_pipe;
	bool is_created; /* by us: nothing stands in it but what we wrote */
	bool is_hurried;
	int stop_fd;    /* readable: no more patience with the pipe's reader */
	uint64_t bytes; /* whole chunks written so far */
	char *name;
	char *temporary; /* the name until it is published; NULL after that */
};

static bool is_owner(const struct output_owner *owner, uint32_t uid)
{
	return uid == geteuid() || (owner->is_set && uid == owner->uid);
}

static struct err *check_replaceable(const char *path, const struct output_owner *owner)
{
	struct stat st;
	if (lstat(path, &st))
		return errno == ENOENT ? NULL : err_sys(errno, "%s", path);
	if (S_ISLNK(st.st_mode))
		return err_new(ERR_USAGE, "%s is a symbolic link; name the file itself", path);
	if (!S_ISREG(st.st_mode))
		return err_new(ERR_USAGE,
			"%s is not a regular file; for a pipe use -o - and redirect it", path);
	if (!is_owner(owner, st.st_uid))
		return err_new(ERR_PERMISSION,
			"%s belongs to user %u; remove it or choose another name with -o", path,
			(unsigned)st.st_uid);
	return NULL;
}

/* What has the name now is kept as NAME.old, for which there must be a place. */
static struct err *check_old(const char *path)
{
	CLEANUP(str_deinit) struct str old = {0};
	str_printf(&old, "%s.old", path);
	struct stat st;
	if (lstat(path, &st) || lstat(str_text(&old), &st) || !S_ISDIR(st.st_mode))
		return NULL;
	return err_new(ERR_USAGE, "%s is a directory, but %s is to be kept under that name",
		str_text(&old), path);
}

/* A fresh file under a random name: nobody can have prepared that one. */
static struct err *create_file(
	struct output *output, const char *path, const struct output_owner *owner)
{
	try(check_replaceable(path, owner));
	try(check_old(path));
	struct str temporary = {0};
	str_printf(&temporary, "%s.XXXXXX", path);
	output->fd = mkostemp(temporary.data, O_CLOEXEC); /* O_EXCL, mode 0600 */
	if (output->fd < 0) {
		struct err *err = err_sys(errno, "cannot create %s", path);
		str_deinit(&temporary);
		return err;
	}
	output->temporary = str_steal(&temporary);
	flock(output->fd, LOCK_EX | LOCK_NB); /* who appends to recordings waits for the end */
	if (owner->is_set && fchown(output->fd, owner->uid, owner->gid))
		return err_sys(errno, "cannot give %s to user %u", path, owner->uid);
	return NULL;
}

static struct err *use_stdout(struct output *output)
{
	if (isatty(STDOUT_FILENO))
		return err_new(ERR_USAGE,
			"a recording is binary: redirect standard output, it is a terminal");
	output->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	struct stat st;
	if (output->fd < 0 || fstat(output->fd, &st))
		return err_sys(errno, "standard output");
	output->is_pipe = !S_ISREG(st.st_mode);
	return NULL;
}

struct err *output_create(
	const char *path, const struct output_owner *owner, int stop_fd, struct output **ret)
{
	struct output *output = mem_zalloc(sizeof(*output));
	output->fd = -1;
	output->stop_fd = stop_fd;
	output->name = mem_strdup(path);
	output->is_created = strcmp(path, "-") != 0;
	struct err *err =
		output->is_created ? create_file(output, path, owner) : use_stdout(output);
	if (err)
		output_destroy(output);
	else
		*ret = output;
	return err;
}

struct err *output_publish(struct output *output)
{
	if (!output->temporary)
		return NULL;
	CLEANUP(str_deinit) struct str old = {0};
	str_printf(&old, "%s.old", output->name);
	if (rename(output->name, str_text(&old)) && errno != ENOENT)
		return err_sys(errno, "cannot rename %s to %s", output->name, str_text(&old));
	if (rename(output->temporary, output->name))
		return err_sys(errno, "cannot create %s", output->name);
	mem_free(steal_ptr(output->temporary));
	return NULL;
}

void output_destroy(struct output *output)
{
	if (!output)
		return;
	if (output->temporary)
		unlink(output->temporary);
	mem_free(output->temporary);
	mem_close_fd(&output->fd);
	mem_free(output->name);
	mem_free(output);
}

struct err *output_close(struct output *output)
{
	int fd = steal_fd(output->fd);
	if (fd >= 0 && close(fd))
		return err_sys(errno, "%s: close", output->name);
	return NULL;
}

static struct err *wait_for_reader(struct output *output)
{
	for (;;) {
		struct pollfd fds[] = {
			{.fd = output->fd, .events = POLLOUT},
			{.fd = output->is_hurried ? -1 : output->stop_fd, .events = POLLIN},
		};
		int ready = poll(fds, 2, output->is_hurried ? HURRY_MS : -1);
		if (ready < 0 && errno == EINTR)
			continue;
		if (ready == 0)
			return err_new(
				ERR_IO, "%s: the reader of the pipe has closed it", output->name);
		if (fds[0].revents)
			return NULL; /* writable, or broken: writing will tell */
		output->is_hurried = true;
	}
}

static struct err *write_all(struct output *output, const uint8_t *bytes, size_t len)
{
	while (len) {
		size_t piece = len;
		if (output->is_pipe) {
			try(wait_for_reader(output));
			if (piece > PIPE_PIECE_BYTES)
				piece = PIPE_PIECE_BYTES;
		}
		ssize_t done = write(output->fd, bytes, piece);
		if (done < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (done < 0)
			return err_sys(errno, "%s: cannot write", output->name);
		bytes += done;
		len -= (size_t)done;
	}
	return NULL;
}

static struct err *sink_write(void *context, const void *bytes, size_t len)
{
	struct output *output = context;
	struct err *err = write_all(output, bytes, len);
	if (err) {
		/* Should this fail too, the file ends inside a chunk, which a reader copes with. */
		if (output->is_created && ftruncate(output->fd, (off_t)output->bytes) == 0)
			lseek(output->fd, (off_t)output->bytes, SEEK_SET);
	} else {
		output->bytes += len;
	}
	return err;
}

struct writer_sink output_sink(struct output *output)
{
	return (struct writer_sink){.write = sink_write, .context = output};
}
