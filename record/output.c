#include "record/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "format/base/output_file.h"
#include "format/base/path.h"

enum {
	PIPE_PIECE_BYTES = 4096, /* PIPE_BUF: what a writable pipe takes without blocking */
	HURRY_MS = 2000,
};

struct output {
	int fd;                   /* of `file`, or a copy of standard output */
	struct output_file *file; /* NULL: standard output */
	bool is_pipe;
	bool is_hurried;
	int stop_fd;             /* readable: no more patience with the pipe's reader */
	uint64_t bytes;          /* whole chunks written so far */
	uint64_t reserved_bytes; /* the file has blocks up to here, if more than `bytes` */
	uint64_t end_bytes;      /* to be kept free behind each write; 0: nothing is reserved */
	struct caller owner;
	struct output_room room; /* make: NULL: a full disk stays full */
	char *name;
};

/* `how`: what the file may replace. */
static struct err *create_file(struct output *output, struct output_file_options how)
{
	struct output_file_options options = how;
	options.path = output->name;
	options.owner = output->owner;
	try(output_file_create(&options, &output->file));
	output->fd = output_file_fd(output->file);
	flock(output->fd, LOCK_EX | LOCK_NB); /* who appends to recordings waits for the end */
	return NULL;
}

/* Of a file that stays its owner's. */
static struct err *use_descriptor(struct output *output, int fd)
{
	output->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return output->fd < 0 ? err_sys(errno, "cannot write the recording") : NULL;
}

static struct err *use_stdout(struct output *output)
{
	if (isatty(STDOUT_FILENO))
		return err_new(ERR_USAGE,
			"a recording is binary: redirect standard output, it is a terminal");
	output->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	struct stat st;
	if (output->fd >= 0 && (fcntl(output->fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
		return err_new(ERR_USAGE, "standard output is closed");
	if (output->fd < 0 || fstat(output->fd, &st))
		return err_sys(errno, "standard output");
	output->is_pipe = !S_ISREG(st.st_mode);
	return NULL;
}

static struct output *output_prepare(const char *path, const struct caller *owner, int stop_fd)
{
	struct output *output = mem_zalloc(sizeof(*output));
	output->fd = -1;
	output->stop_fd = stop_fd;
	output->owner = *owner;
	output->name = mem_strdup(path);
	return output;
}

static struct err *keep_or_destroy(struct output *output, struct err *err, struct output **ret)
{
	if (err)
		output_destroy(output);
	else
		*ret = output;
	return err;
}

struct err *output_create(
	const char *path, const struct caller *owner, int stop_fd, struct output **ret)
{
	struct output *output = output_prepare(path, owner, stop_fd);
	struct output_file_options how = {.keeps_old = true};
	bool is_file = strcmp(path, "-") != 0;
	return keep_or_destroy(
		output, is_file ? create_file(output, how) : use_stdout(output), ret);
}

struct err *output_create_in(int fd, struct output **ret)
{
	static const struct caller nobody = {0};
	struct output *output = output_prepare("-", &nobody, -1);
	return keep_or_destroy(output, use_descriptor(output, fd), ret);
}

struct err *output_create_next(const struct output *output, struct output **ret)
{
	struct output *next = output_prepare(output->name, &output->owner, output->stop_fd);
	struct output_file_options how = {.keeps_old = true, .is_checked_late = true};
	return keep_or_destroy(next, create_file(next, how), ret);
}

struct err *output_create_new(const char *path, const struct caller *owner, struct output **ret)
{
	struct output *output = output_prepare(path, owner, -1);
	struct output_file_options how = {.is_new = true};
	return keep_or_destroy(output, create_file(output, how), ret);
}

const char *output_path(const struct output *output)
{
	return output->name;
}

uint64_t output_bytes(const struct output *output)
{
	return output->bytes;
}

void output_on_full(struct output *output, struct output_room room)
{
	output->room = room;
}

struct err *output_publish(struct output *output)
{
	return output->file ? output_file_publish(output->file) : NULL;
}

struct err *output_set_aside(struct output *output, const char *name, bool *is_moved)
{
	return output_file_set_aside(output->file, path_last_part(name), is_moved);
}

void output_remove_aside(const struct output *output, const char *name)
{
	output_file_remove_aside(output->file, path_last_part(name));
}

void output_destroy(struct output *output)
{
	if (!output)
		return;
	if (!output->file)
		mem_close_fd(&output->fd);
	output_file_destroy(output->file);
	mem_free(output->name);
	mem_free(output);
}

/* ---- room for the end ---- */

static bool is_beyond_limit(uint64_t bytes)
{
	struct rlimit limit;
	return !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY &&
	       bytes > limit.rlim_cur;
}

/*
 * Only what was not reserved before is allocated: when tmpfs cannot do all of it, it frees every
 * page of the range that was not written to (shmem_fallocate(), Linux 6.12).
 */
static struct err *reserve_up_to(struct output *output, uint64_t bytes)
{
	if (is_beyond_limit(bytes))
		return err_sys(EFBIG, "%s: cannot write", output->name);
	if (output->reserved_bytes < output->bytes)
		output->reserved_bytes = output->bytes;
	while (bytes > output->reserved_bytes) {
		if (!fallocate(output->fd, FALLOC_FL_KEEP_SIZE, (off_t)output->reserved_bytes,
			    (off_t)(bytes - output->reserved_bytes))) {
			output->reserved_bytes = bytes;
		} else if (errno == EOPNOTSUPP || errno == ENOSYS) {
			output->end_bytes = 0;
			return NULL;
		} else if (errno != EINTR) {
			return err_sys(errno, "%s: cannot write", output->name);
		}
	}
	return NULL;
}

/* True: what failed for want of room may work now. */
static bool makes_room(const struct output *output, const struct err *err)
{
	int errnum = err ? err_errnum(err) : 0;
	return (errnum == ENOSPC || errnum == EDQUOT) && output->room.make &&
	       output->room.make(output->room.context);
}

static struct err *reserve_or_make_room(struct output *output, uint64_t bytes)
{
	struct err *err = reserve_up_to(output, bytes);
	for (; makes_room(output, err); err = reserve_up_to(output, bytes))
		err_destroy(err);
	return err;
}

struct err *output_reserve(struct output *output, uint64_t first_bytes, uint64_t end_bytes)
{
	if (!output->file)
		return NULL;
	output->end_bytes = end_bytes;
	return reserve_or_make_room(output, output->bytes + first_bytes + end_bytes);
}

void output_begin_end(struct output *output)
{
	output->end_bytes = 0;
}

/* Frees the blocks behind the last whole chunk, and what a failed write left there. */
static bool cut_behind_chunks(struct output *output)
{
	output->reserved_bytes = output->bytes;
	return !ftruncate(output->fd, (off_t)output->bytes);
}

/* ---- closing ---- */

struct err *output_close(struct output *output)
{
	if (output->fd >= 0 && output->reserved_bytes > output->bytes)
		cut_behind_chunks(output); /* else some blocks stay allocated */
	int fd = steal_fd(output->fd);
	if (output->file)
		return output_file_close(output->file);
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

static struct err *output_write_all(struct output *output, const uint8_t *bytes, size_t len)
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

/* Should this fail too, the file ends inside a chunk, which a reader copes with. */
static void undo_write(struct output *output)
{
	if (!output->file || !cut_behind_chunks(output))
		return;
	lseek(output->fd, (off_t)output->bytes, SEEK_SET);
	if (output->end_bytes)
		err_destroy(reserve_up_to(output, output->bytes + output->end_bytes));
}

static struct err *write_chunk(struct output *output, const void *bytes, size_t len)
{
	if (output->end_bytes)
		try(reserve_or_make_room(output, output->bytes + len + output->end_bytes));
	struct err *err = output_write_all(output, bytes, len);
	if (err)
		undo_write(output);
	else
		output->bytes += len;
	return err;
}

/* File systems that cannot reserve room tell here that there is none. */
static struct err *output_sink_write(void *context, const void *bytes, size_t len)
{
	struct output *output = context;
	struct err *err = write_chunk(output, bytes, len);
	for (; makes_room(output, err); err = write_chunk(output, bytes, len))
		err_destroy(err);
	return err;
}

struct writer_sink output_sink(struct output *output)
{
	return (struct writer_sink){.write = output_sink_write, .context = output};
}
