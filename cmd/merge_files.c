#include "cmd/merge_files.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/console.h"
#include "cmd/import_input.h"
#include "cmd/input_file.h"
#include "cmd/memory_file.h"
#include "format/base/mem.h"
#include "format/base/path.h"
#include "format/base/ring_folder.h"
#include "report/write/health.h"

/* What comes through a pipe is kept: it is read twice. */
static struct err *open_stdin(int *ret)
{
	FILE *file;
	try(memory_file_create(&file));
	struct err *err = memory_file_fill(file, STDIN_FILENO);
	if (err) {
		fclose(file);
		return err_wrap(err, "standard input");
	}
	return memory_file_finish(file, ret);
}

static struct err *merge_files_open_one(
	const char *path, enum import_as as, struct merge_input *ret)
{
	bool is_stdin = strcmp(path, "-") == 0;
	ret->name = is_stdin ? "stdin" : path;
	if (is_stdin) {
		try(open_stdin(&ret->fd));
		return import_input_take(ret->name, as, &ret->fd);
	}
	CLEANUP_FD int fd = -1;
	struct stat st;
	try(input_file_open(path, O_RDONLY | O_NONBLOCK, &fd));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return err_new(ERR_USAGE,
			"%s is not a regular file; among several, only standard input may be a "
			"pipe",
			path);
	try(import_input_take(path, as, &fd));
	ret->fd = steal_fd(fd);
	return NULL;
}

static struct err *refuse_same(const struct merge_files *files, const struct merge_input *inputs)
{
	struct stat *stats = mem_zalloc_array(files->count, sizeof(*stats));
	struct err *err = NULL;
	for (size_t i = 0; i < files->count && !err; i++) {
		fstat(inputs[i].fd, &stats[i]);
		for (size_t k = 0; k < i && !err; k++)
			if (stats[k].st_dev == stats[i].st_dev &&
				stats[k].st_ino == stats[i].st_ino)
				err = err_new(ERR_USAGE, "%s and %s are the same file",
					files->paths[k], files->paths[i]);
	}
	mem_free(stats);
	return err;
}

/* A file of a ring: its name tells. */
static bool is_being_written(const struct merge_files *files, size_t index)
{
	struct ring_name name;
	return files->are_pieces && ring_name_parse(path_last_part(files->paths[index]), &name) &&
	       !name.is_ended;
}

static struct err *open_all(const struct merge_files *files, struct merge_input *inputs)
{
	for (size_t i = 0; i < files->count && files->fds; i++)
		inputs[i] = (struct merge_input){
			files->paths[i], files->fds[i], is_being_written(files, i)};
	for (size_t i = 0; i < files->count && !files->fds; i++)
		try(merge_files_open_one(files->paths[i], files->as, &inputs[i]));
	return files->takes_twice || files->fds ? NULL : refuse_same(files, inputs);
}

/* Whether it is whole. */
static bool say_input(const struct merge_input *input, const struct merge_input_result *result)
{
	const char *path = input->name;
	CLEANUP(str_deinit) struct str text = {0};
	const struct reader_result *file = &result->file;
	if (input->is_open && !file->missing_chunks && !file->bad_chunks && !file->damage.regions)
		return true;
	health_put_file(&result->file, -1, &text);
	if (result->dangling)
		str_printf(&text, "%s%llu %s missing", text.len ? "; " : "",
			(unsigned long long)result->dangling,
			str_plural(result->dangling, "reference to a table entry that is",
				"references to table entries that are"));
	if (result->mended)
		str_printf(&text, "%scounters did not match, by %llu %s", text.len ? "; " : "",
			(unsigned long long)result->mended,
			str_plural(result->mended, "tick", "ticks"));
	bool is_whole = !text.len;
	if (result->is_unplaced)
		str_printf(&text, "%sit has no clock, its times stay as they were",
			text.len ? "; " : "");
	if (text.len)
		console_say("%s: %s", path, str_text(&text));
	return is_whole;
}

struct err *merge_files_write(
	const struct merge_files *files, struct writer_sink sink, struct merge_result *ret)
{
	struct merge_input *inputs = mem_zalloc_array(files->count, sizeof(*inputs));
	for (size_t i = 0; i < files->count; i++)
		inputs[i].fd = -1;
	struct merge_result result = {0};
	struct merge_options options = {
		.inputs = inputs,
		.nr_inputs = files->count,
		.takes_twice = files->takes_twice,
		.are_pieces = files->are_pieces,
		.span = files->span,
	};
	struct err *err = open_all(files, inputs);
	if (!err)
		err = merge_write(&options, sink, &result);
	for (size_t i = 0; i < files->count; i++) {
		if (!err && !say_input(&inputs[i], &result.inputs[i]) && files->is_damaged)
			*files->is_damaged = true;
		if (!files->fds)
			mem_close_fd(&inputs[i].fd);
	}
	mem_free(inputs);
	merge_result_deinit(&result);
	if (!err)
		*ret = result;
	return err;
}

struct err *merge_files_open(const struct merge_files *files, int *ret)
{
	FILE *file;
	struct merge_result result;
	try(memory_file_create(&file));
	struct err *err = merge_files_write(files, memory_file_sink(file), &result);
	if (err) {
		fclose(file);
		return err;
	}
	return memory_file_finish(file, ret);
}
