#include "cmd/import_input.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/console.h"
#include "cmd/import_host.h"
#include "cmd/memory_file.h"
#include "format/base/clock.h"
#include "format/base/mem.h"

static bool is_seekable(int fd)
{
	struct stat st;
	return !fstat(fd, &st) && S_ISREG(st.st_mode) && lseek(fd, 0, SEEK_CUR) == 0;
}

static struct err *keep_pipe(int *fd)
{
	FILE *file;
	int kept;
	try(memory_file_create(&file));
	struct err *err = memory_file_fill(file, *fd);
	if (err) {
		fclose(file);
		return err;
	}
	try(memory_file_finish(file, &kept));
	close(*fd);
	*fd = kept;
	return NULL;
}

static struct err *import_into_memory(enum import_as as, int *fd, struct str *notes)
{
	FILE *file;
	int made = -1;
	struct stat st;
	struct import_result result;
	try(memory_file_create(&file));
	struct import_machine *machine =
		import_machine_create(fstat(*fd, &st) ? 0 : clock_from_timespec(st.st_mtim));
	struct err *err = import_write(
		*fd, as, import_machine_host(machine), memory_file_sink(file), &result);
	import_machine_destroy(machine);
	if (err) {
		fclose(file);
		return err;
	}
	str_puts(notes, str_text(&result.notes));
	import_result_deinit(&result);
	try(memory_file_finish(file, &made));
	close(*fd);
	*fd = made;
	return NULL;
}

struct head {
	char bytes[IMPORT_HEAD_BYTES];
	size_t len;
};

static struct head read_input_head(int fd)
{
	struct head head = {.len = 0};
	ssize_t len = pread(fd, head.bytes, sizeof(head.bytes), 0);
	if (len > 0)
		head.len = (size_t)len;
	return head;
}

bool import_input_is_recording(const char *path)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const struct head head = read_input_head(fd);
	return import_is_recording(head.bytes, head.len);
}

/* NULL: it is none of another profiler. */
static const char *foreign_format_of(const struct head *head)
{
	return head->len ? import_format_of(head->bytes, head->len) : NULL;
}

struct err *import_input_refuse(const char *path, int fd)
{
	const struct head head = read_input_head(fd);
	const char *format = foreign_format_of(&head);
	if (!format)
		return NULL;
	return err_new(ERR_USAGE,
		"%s is %s of another profiler: \"ebprof merge -o FILE %s\" makes a recording of it",
		path, format, path);
}

static struct err *take_foreign(enum import_as as, int *fd, struct str *notes)
{
	if (!is_seekable(*fd))
		try(keep_pipe(fd));
	const struct head head = read_input_head(*fd);
	if (as == IMPORT_AS_ROWS || foreign_format_of(&head))
		return import_into_memory(as, fd, notes);
	if (!head.len || import_is_recording(head.bytes, head.len))
		return NULL;
	return err_new(ERR_FORMAT,
		"neither an ebprof recording nor what ebprof reads of other profilers: "
		"perf.data, a pprof profile, folded stacks");
}

struct err *import_input_take_noting(int *fd, struct str *notes)
{
	return take_foreign(IMPORT_AS_IT_BEGINS, fd, notes);
}

struct err *import_input_take(const char *path, enum import_as as, int *fd)
{
	CLEANUP(str_deinit) struct str notes = {0};
	struct err *err = err_wrap(take_foreign(as, fd, &notes), "%s", path);
	const char *line = str_text(&notes);
	for (const char *end; (end = strchr(line, '\n')); line = end + 1)
		console_note("%s: %.*s", path, (int)(end - line), line);
	if (as == IMPORT_AS_ROWS)
		return err_wrap(err,
			"--from-rows: lines of JSON objects, or columns with tabs in between, "
			"with a column \"stack\" that has arrays of names");
	return err;
}
