#include "cmd/ring_input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "cmd/moment.h"
#include "format/base/clock.h"
#include "format/base/ring_folder.h"

/* ---- spans ---- */

enum {
	MINUTES_TO_COME = 60,
};

static struct err *parse_begin(const char *text, size_t len, uint64_t *ret)
{
	uint64_t now_ns = clock_read_ns(CLOCK_REALTIME);
	return moment_parse(text, len, now_ns, moment_day_before(now_ns), ret);
}

/* A time of day is the first one behind the beginning; without one it may be still to come, since
 * "until the next full hour" is until now. */
static struct err *parse_end(const char *text, uint64_t begin_ns, uint64_t *ret)
{
	uint64_t now_ns = clock_read_ns(CLOCK_REALTIME);
	uint64_t latest_ns = now_ns + UINT64_C(60) * MINUTES_TO_COME * NS_PER_S;
	return moment_parse(text, strlen(text), now_ns,
		begin_ns ? begin_ns : moment_day_before(latest_ns), ret);
}

static struct err *check_span(const struct merge_span *span)
{
	if (span->to_ns && span->to_ns <= span->from_ns)
		return err_new(ERR_USAGE, "that span of time does not end after it begins");
	return NULL;
}

struct err *ring_input_parse_since(const struct opt *row, const char *text, void *member)
{
	struct ring_option *option = member;
	(void)row;
	try(parse_begin(text, strlen(text), &option->span.from_ns));
	if (option->until) /* which is by the beginning */
		try(parse_end(option->until, option->span.from_ns, &option->span.to_ns));
	return check_span(&option->span);
}

struct err *ring_input_parse_until(const struct opt *row, const char *text, void *member)
{
	struct ring_option *option = member;
	(void)row;
	option->until = text;
	try(parse_end(text, option->span.from_ns, &option->span.to_ns));
	return check_span(&option->span);
}

struct err *ring_input_parse_span(const char *text, struct merge_span *ret)
{
	struct merge_span span = {0};
	const char *dots = strstr(text, "..");
	if (!dots)
		return err_new(ERR_USAGE,
			"\"%s\" is no span of time: FROM..TO, such as 14:05..14:10 or 30m..", text);
	if (dots != text)
		try(parse_begin(text, (size_t)(dots - text), &span.from_ns));
	if (dots[2])
		try(parse_end(dots + 2, span.from_ns, &span.to_ns));
	try(check_span(&span));
	*ret = span;
	return NULL;
}

/* ---- files ---- */

static bool is_needed(const struct ring_file *file, const struct merge_span *span)
{
	bool is_later = span->to_ns && file->is.begun_ms * NS_PER_MS >= span->to_ns;
	bool is_earlier = (ring_file_end_ms(file) + 1) * NS_PER_MS < span->from_ns;
	return !is_later && !is_earlier;
}

/* All of them are open at once: 1,440 of a day. */
static void allow_files(size_t count)
{
	enum {
		OTHER_FILES = 200
	};
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= count + OTHER_FILES)
		return;
	limit.rlim_cur =
		count + OTHER_FILES < limit.rlim_max ? count + OTHER_FILES : limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void put_local_time(uint64_t ns, bool has_date, struct str *out)
{
	time_t seconds = (time_t)(ns / NS_PER_S);
	struct tm local;
	char text[64];
	localtime_r(&seconds, &local);
	strftime(text, sizeof(text), "%Y-%m-%d ", &local);
	str_puts(out, has_date ? text : "");
	strftime(text, sizeof(text), "%H:%M:%S", &local);
	str_puts(out, text);
}

static struct err *refuse_span(const struct ring_option *option, const struct ring_files *files)
{
	CLEANUP(str_deinit) struct str has = {0};
	if (!files->len)
		return err_new(ERR_USAGE, "%s has no files of record --ring", option->folder);
	uint64_t end_ms = 0;
	vec_each(files, file)
		if (ring_file_end_ms(file) > end_ms)
			end_ms = ring_file_end_ms(file);
	put_local_time(files->data[0].is.begun_ms * NS_PER_MS, true, &has);
	str_puts(&has, " to ");
	put_local_time(end_ms * NS_PER_MS, true, &has);
	return err_new(ERR_USAGE, "%s has nothing of that time, but from %s", option->folder,
		str_text(&has));
}

static struct err *open_needed(const struct ring_option *option, int folder,
	const struct ring_files *files, struct ring_input_files *ret)
{
	vec_each(files, file) {
		struct str path = {0};
		if (!is_needed(file, &option->span))
			continue;
		int fd = openat(folder, file->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			return err_sys(errno, "%s/%s", option->folder, file->name);
		vec_push(&ret->fds, fd);
		str_printf(&path, "%s/%s", option->folder, file->name);
		vec_push(&ret->paths, str_steal(&path));
	}
	return ret->fds.len ? NULL : refuse_span(option, files);
}

static struct err *list_and_open(
	const struct ring_option *option, int folder, struct ring_input_files *ret)
{
	struct ring_files files = {0};
	try(ring_folder_list(folder, option->folder, &files));
	allow_files(files.len);
	struct err *err = open_needed(option, folder, &files, ret);
	ring_files_deinit(&files);
	if (err)
		ring_input_files_deinit(ret);
	return err;
}

struct err *ring_input_open(const struct ring_option *option, struct ring_input_files *ret)
{
	enum {
		TRIES = 5
	};
	CLEANUP_FD int folder = open(option->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return err_sys(errno, "cannot open %s", option->folder);
	struct ring_input_files files = {0};
	struct err *err = list_and_open(option, folder, &files);
	/* A file ended or went between the two. */
	for (int i = 1; err && err_errnum(err) == ENOENT && i < TRIES; i++) {
		err_destroy(err);
		err = list_and_open(option, folder, &files);
	}
	if (!err)
		*ret = files;
	return err;
}

void ring_input_files_deinit(struct ring_input_files *files)
{
	vec_each(&files->paths, path)
		mem_free(*path);
	vec_each(&files->fds, fd)
		mem_close_fd(fd);
	vec_deinit(&files->paths);
	vec_deinit(&files->fds);
}

void ring_input_put_name(const struct ring_option *option, struct str *out)
{
	const struct merge_span *span = &option->span;
	str_puts(out, option->folder);
	if (span->from_ns) {
		str_puts(out, " from ");
		put_local_time(span->from_ns, true, out);
	}
	if (span->to_ns) {
		str_puts(out, " to ");
		put_local_time(span->to_ns, !span->from_ns, out);
	}
}
