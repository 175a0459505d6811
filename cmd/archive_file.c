#include "cmd/archive_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/console.h"
#include "cmd/import_input.h"
#include "cmd/input.h"
#include "cmd/input_file.h"
#include "format/base/fd.h"
#include "format/base/mem.h"
#include "report/name/symbol/symbolizer.h"

struct target {
	int fd;
	uint64_t bytes; /* appended */
};

static struct err *open_target(const char *path, struct target *target, off_t *size)
{
	CLEANUP_FD int fd = -1;
	struct stat st;
	if (strcmp(path, "-") == 0)
		return err_new(ERR_USAGE, "only a file can be archived, not standard input");
	try(input_file_open(path, O_RDWR | O_APPEND | O_NONBLOCK, &fd));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return err_new(ERR_USAGE, "%s is not a regular file", path);
	try(import_input_refuse(path, fd));
	if (flock(fd, LOCK_EX | LOCK_NB))
		return err_new(ERR_USAGE, "%s is being recorded, or archived", path);
	*size = st.st_size;
	target->fd = steal_fd(fd);
	return NULL;
}

static struct err *archive_file_append(void *context, const void *bytes, size_t len)
{
	struct target *target = context;
	try(fd_write_all(target->fd, bytes, len));
	target->bytes += len;
	return NULL;
}

/*
 * Behind the end of what was recorded, what is cut short is an archive that was not finished: it
 * is written again. Returns the file's size.
 */
static off_t cut_tail(int fd, const struct profile *profile)
{
	off_t size = (off_t)profile->file.damage.cut_offset;
	if (ftruncate(fd, size))
		err_destroy(err_sys(errno, "ftruncate")); /* a reader skips it */
	return size;
}

static struct err *archive_file_archive(const char *path, struct target *target, off_t size,
	struct naming_options *options, struct archive_result *ret)
{
	struct profile *profile;
	try(input_load_open(path, target->fd, &options->symbolize.files, &profile));
	if (profile->file.ended && profile->file.damage.truncated)
		size = cut_tail(target->fd, profile);
	naming_begin(options);
	symbolize(profile, &options->symbolize);
	struct writer_sink sink = {.write = archive_file_append, .context = target};
	struct err *err = archive_write(profile, sink, ret);
	naming_end(options);
	profile_destroy(profile);
	if (err && ftruncate(target->fd, size))
		err_destroy(err_sys(errno, "ftruncate")); /* a reader skips what is cut */
	return err_wrap(err, "%s", path);
}

struct err *archive_file(
	const char *path, struct naming_options *options, struct archive_file_result *ret)
{
	struct target target = {.fd = -1};
	off_t size = 0;
	*ret = (struct archive_file_result){0};
	try(open_target(path, &target, &size));
	struct err *err = archive_file_archive(path, &target, size, options, &ret->archived);
	ret->bytes = target.bytes;
	mem_close_fd(&target.fd);
	return err;
}

void archive_file_say(const char *path, const struct archive_file_result *result)
{
	CLEANUP(str_deinit) struct str text = {0};
	const struct archive_result *archived = &result->archived;
	console_put_count(&text, archived->places - archived->unknown);
	str_puts(&text, " of ");
	console_put_count(&text, archived->places);
	str_puts(&text, str_plural(archived->places, " place has a name", " places have names"));
	if (archived->stacks) {
		str_puts(&text, ", ");
		console_put_count(&text, archived->stacks);
		str_puts(&text,
			str_plural(archived->stacks, " stack was unwound", " stacks were unwound"));
	}
	str_puts(&text, " (+");
	console_put_bytes(&text, result->bytes);
	str_puts(&text, ")");
	console_say("%s: %s", path, str_text(&text));
}
