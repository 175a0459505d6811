#include "record/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "format/base/output_file.h"

enum {
	PIPE_PIECE_BYTES = 4096, /* PIPE_BUF: what a writable pipe takes without blocking */
	HURRY_MS = 2000,
};

struct output {
	int fd;                   /* of `file`, or a copy of standard output */
	struct output_file *file; /* NULL: standard output */
	bool is_pipe;
	bool is_hurried;
	int stop_fd;    /* readable: no more patience with the pipe's reader */
	uint64_t bytes; /* whole chunks written so far */
	char *name;
};

static struct err *create_file(struct output *output, const char *path, const struct caller *owner)
{
	struct output_file_options options = {.path = path, .owner = *owner, .keeps_old = true};
	try(output_file_create(&options, &output->file));
	output->fd = output_file_fd(output->file);
	flock(output->fd, LOCK_EX | LOCK_NB); /* who appends to recordings waits for the end */
	return NULL;
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

struct err *output_create(
	const char *path, const struct caller *owner, int stop_fd, struct output **ret)
{
	struct output *output = mem_zalloc(sizeof(*output));
	output->fd = -1;
	output->stop_fd = stop_fd;
	output->name = mem_strdup(path);
	bool is_file = strcmp(path, "-") != 0;
	struct err *err = is_file ? create_file(output, path, owner) : use_stdout(output);
	if (err)
		output_destroy(output);
	else
		*ret = output;
	return err;
}

/* Behind the last slash: the folder is the output's. */
static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

struct err *output_publish(struct output *output)
{
	return output->file ? output_file_publish(output->file) : NULL;
}

struct err *output_set_aside(struct output *output, const char *name, bool *is_moved)
{
	return output_file_set_aside(output->file, base_of(name), is_moved);
}

void output_remove_aside(const struct output *output, const char *name)
{
	output_file_remove_aside(output->file, base_of(name));
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

struct err *output_close(struct output *output)
{
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
		if (output->file && ftruncate(output->fd, (off_t)output->bytes) == 0)
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
