#include "cmd/export_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cmd/write_behind.h"
#include "format/base/mem.h"
#include "format/base/output_file.h"
#include "report/load/load.h"

static struct output_file_options options_of(
	const char *path, const char *const *inputs, size_t nr_inputs)
{
	return (struct output_file_options){
		.path = path,
		.owner = caller_find(),
		.inputs = inputs,
		.nr_inputs = nr_inputs,
		.spared_head = load_file_head,
		.spared_as = "a recording",
		.spared_bytes = LOAD_FILE_HEAD_BYTES,
		.is_for_all = true,
	};
}

static struct err *open_by_options(
	const struct output_file_options *options, struct export_file *ret)
{
	struct export_file file = {.path = options->path};
	int fd = STDOUT_FILENO;
	if (strcmp(options->path, "-") != 0) {
		try(output_file_create(options, &file.file));
		fd = output_file_fd(file.file);
	}
	file.behind = write_behind_create(fd);
	*ret = file;
	return NULL;
}

struct err *export_file_open(
	const char *path, const char *const *inputs, size_t nr_inputs, struct export_file *ret)
{
	struct output_file_options options = options_of(path, inputs, nr_inputs);
	return open_by_options(&options, ret);
}

struct err *export_file_open_private(const char *path, struct export_file *ret)
{
	struct output_file_options options = options_of(path, NULL, 0);
	options.is_for_all = false;
	options.is_new = true;
	return open_by_options(&options, ret);
}

/* Closing a second descriptor reports what closing the first one would, before there is a name. */
static struct err *file_publish(struct export_file *file)
{
	int fd = dup(output_file_fd(file->file));
	if (fd < 0 || close(fd))
		return err_sys(errno, "%s: close", file->path);
	return output_file_publish(file->file);
}

static struct err *wrap(const struct export_file *file, struct err *err)
{
	return err_wrap(err, "%s", file->file ? file->path : "standard output");
}

static struct err *commit(struct export_file *file)
{
	try(wrap(file, write_behind_finish(file->behind, &file->bytes)));
	return file->file ? file_publish(file) : NULL;
}

/* Removes what was not committed. */
static void discard(struct export_file *file)
{
	write_behind_destroy(steal_ptr(file->behind));
	output_file_destroy(steal_ptr(file->file));
}

struct err *export_file_end(struct export_file *file, struct err *err)
{
	bool is_stdout = !file->file;
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
	struct output_file_options options = options_of(path, inputs, nr_inputs);
	CLEANUP_FD int fd = -1;
	try(output_file_open_append(&options, &fd));
	struct write_behind *behind = write_behind_create(fd);
	uint64_t written;
	struct err *err = write_behind_put(behind, bytes, len);
	if (!err)
		err = write_behind_finish(behind, &written);
	write_behind_destroy(behind);
	return err_wrap(err, "%s", path);
}

static struct err *file_sink_write(void *context, const void *bytes, size_t len)
{
	struct export_file *file = context;
	return wrap(file, write_behind_put(file->behind, bytes, len));
}

struct byte_sink export_file_sink(struct export_file *file)
{
	return (struct byte_sink){.write = file_sink_write, .context = file};
}
