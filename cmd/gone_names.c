#include "cmd/gone_names.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/archive_file.h"
#include "cmd/console.h"
#include "cmd/kept_naming.h"
#include "format/base/clock.h"
#include "format/base/fd.h"
#include "report/model/regular_file.h"

enum {
	MAX_BYTES = 1 << 20, /* that the recording may grow by */
	SHOWN_PATHS = 3,
};

/* From Ctrl-C on, so that the recorder ends within 2 s; a small part of it is always left. */
static const uint64_t usual_time_ns = 1800ULL * NS_PER_MS, least_time_ns = 300ULL * NS_PER_MS;
/* Where no file is gone, nothing has asked for it: it is not to be waited for. */
static const uint64_t unasked_time_ns = 600ULL * NS_PER_MS;

enum outcome {
	OUTCOME_DONE,
	OUTCOME_FAILED,
	OUTCOME_SLOW,
	OUTCOME_LARGE,
};

struct gone_names {
	const struct gone_names_options *options;
	struct kept_naming naming;
	VEC(const struct kept_file *) files; /* that are in the recording, the smallest first */
	size_t nr_gone;                      /* the first of them, the others are there still */
	uint64_t size_bytes;                 /* of the recording as it is */
	struct archive_file_result result;
};

static int compare_gone(const void *a, const void *b)
{
	const struct kept_file *const *x = a, *const *y = b;
	if ((*x)->is_here != (*y)->is_here)
		return (*x)->is_here ? 1 : -1;
	uint64_t left = (*x)->size_bytes, right = (*y)->size_bytes;
	return left < right ? -1 : left > right;
}

static void choose_files(struct gone_names *gone, const struct kept_files *files)
{
	size_t count;
	const struct kept_file *list = kept_files_list(files, &count);
	for (size_t i = 0; i < count; i++) {
		if (!list[i].file_id || (list[i].is_here && !gone->options->with_rebuilt))
			continue;
		vec_push(&gone->files, &list[i]);
		gone->nr_gone += !list[i].is_here;
	}
	if (gone->files.len)
		qsort(gone->files.data, gone->files.len, sizeof(*gone->files.data), compare_gone);
}

/* ---- the process that looks names up ---- */

static uint64_t max_bytes(const struct gone_names *gone)
{
	uint64_t limit = gone->options->max_file_bytes;
	if (!limit || limit > gone->size_bytes + MAX_BYTES)
		return MAX_BYTES;
	return limit > gone->size_bytes ? limit - gone->size_bytes : 0;
}

/* Beyond the limit writing fails, and the archive with it. */
static void limit_file(const struct gone_names *gone)
{
	struct rlimit limit;
	rlim_t most = gone->size_bytes + max_bytes(gone);
	signal(SIGXFSZ, SIG_IGN);
	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur > most) {
		limit.rlim_cur = most;
		setrlimit(RLIMIT_FSIZE, &limit);
	}
}

/* From what this machine has: no network is used, nothing is kept for later. */
static struct err *gone_names_look_up(
	const struct gone_names *gone, size_t count, struct archive_file_result *ret)
{
	CLEANUP_FREE uint32_t *objects = mem_zalloc_array(count, sizeof(*objects));
	for (size_t i = 0; i < count; i++)
		objects[i] = gone->files.data[i]->file_id;
	struct naming_options naming = {
		.symbolize.files = {.kept = gone->naming.files,
			.nr_kept = gone->naming.count,
			/* the process ends soon */
			.rules = regular_file_rules_create(
				REGULAR_FILE_LOCAL_ONLY | REGULAR_FILE_KEPT)},
		.symbolize.cache_folder = "",
		.symbolize.objects = objects,
		.symbolize.nr_objects = count,
		.is_offline = true,
		.is_silent = true,
	};
	return archive_file(gone->options->path, &naming, ret);
}

static _Noreturn void gone_names_run_child(const struct gone_names *gone, size_t count, int pipe_fd)
{
	struct archive_file_result result;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	limit_file(gone);
	struct err *err = gone_names_look_up(gone, count, &result);
	bool is_too_large = err && err_errnum(err) == EFBIG;
	bool is_told = !err && !fd_write_all(pipe_fd, &result, sizeof(result));
	_exit(is_told ? 0 : is_too_large ? OUTCOME_LARGE : OUTCOME_FAILED);
}

/* ---- ours ---- */

static enum outcome gone_names_wait_for(
	struct gone_names *gone, pid_t child, int fd, uint64_t time_ns)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	bool is_slow = poll(&poll_fd, 1, (int)(time_ns / NS_PER_MS)) == 0;
	bool is_told = !is_slow && fd_read(fd, &gone->result, sizeof(gone->result)) ==
					   (ssize_t)sizeof(gone->result);
	int status = 0;
	if (is_slow)
		kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (is_told || is_slow)
		return is_told ? OUTCOME_DONE : OUTCOME_SLOW;
	return WIFEXITED(status) && WEXITSTATUS(status) == OUTCOME_LARGE ? OUTCOME_LARGE
									 : OUTCOME_FAILED;
}

/* Of the first `count` files. What a process that failed has written goes again. */
static enum outcome try_files(struct gone_names *gone, size_t count, uint64_t time_ns)
{
	int fds[2];
	if (pipe2(fds, O_CLOEXEC))
		return OUTCOME_FAILED;
	pid_t child = fork();
	if (!child) {
		close(fds[0]);
		gone_names_run_child(gone, count, fds[1]);
	}
	close(fds[1]);
	enum outcome outcome =
		child < 0 ? OUTCOME_FAILED : gone_names_wait_for(gone, child, fds[0], time_ns);
	close(fds[0]);
	if (outcome != OUTCOME_DONE && truncate(gone->options->path, (off_t)gone->size_bytes))
		return OUTCOME_FAILED; /* a reader skips it */
	return outcome;
}

static void put_files(struct str *text, size_t count)
{
	str_printf(text, "%zu file%s that will be gone ", count, count == 1 ? "" : "s");
}

static void gone_names_say_done(const struct gone_names *gone)
{
	CLEANUP(str_deinit) struct str text = {0};
	size_t count = gone->result.archived.objects;
	count = count < gone->nr_gone ? count : gone->nr_gone;
	if (gone->options->quiet || !count)
		return;
	str_puts(&text, "names of ");
	put_files(&text, count);
	str_puts(&text, "are in the recording (+");
	console_put_bytes(&text, gone->result.bytes);
	str_puts(&text, ")");
	console_say("%s", str_text(&text));
}

/* The files from `first` on. */
static void say_given_up(const struct gone_names *gone, size_t first, enum outcome outcome)
{
	static const char *const why[] = {
		[OUTCOME_FAILED] = "that failed",
		[OUTCOME_SLOW] = "that took too long",
		[OUTCOME_LARGE] = "they were too many",
	};
	CLEANUP(str_deinit) struct str text = {0};
	size_t count = first < gone->nr_gone ? gone->nr_gone - first : 0;
	if (gone->options->quiet || !count)
		return;
	str_puts(&text, "hint: names of ");
	put_files(&text, count);
	str_printf(&text, "are not in the recording, %s:", why[outcome]);
	for (size_t i = 0; i < count && i < SHOWN_PATHS; i++) {
		const char *path = gone->files.data[gone->nr_gone - 1 - i]->path;
		str_puts(&text, i ? ", " : " ");
		str_puts_escaped(&text, path);
	}
	str_puts(&text, count > SHOWN_PATHS ? " ..." : "");
	str_puts(&text, "; record --archive takes its time");
	console_say("%s", str_text(&text));
}

static uint64_t time_for_all_ns(const struct gone_names *gone)
{
	const struct gone_names_options *options = gone->options;
	if (options->time_ns)
		return options->time_ns;
	uint64_t now_ns = clock_now_ns();
	uint64_t end_ns =
		gone->nr_gone ? options->since_ns + usual_time_ns : now_ns + unasked_time_ns;
	return now_ns + least_time_ns < end_ns ? end_ns - now_ns : least_time_ns;
}

/*
 * All of them; or, if that takes too long, those that are gone, or of these all but the largest, in
 * a third of the time. When little
 * is left there is one attempt: to begin another one may take longer than that on a busy machine.
 */
static void archive_files(struct gone_names *gone)
{
	uint64_t all_ns = time_for_all_ns(gone), time_ns = all_ns * 3 / 4;
	size_t count = gone->files.len, fewer = gone->nr_gone < count ? gone->nr_gone : count - 1;
	enum outcome outcome = try_files(gone, count, time_ns), first = outcome;
	if (outcome != OUTCOME_DONE && fewer && all_ns > least_time_ns)
		outcome = try_files(gone, count = fewer, time_ns / 3);
	if (outcome == OUTCOME_DONE)
		gone_names_say_done(gone);
	else
		count = 0;
	say_given_up(gone, count, first);
}

void gone_names_archive(const struct gone_names_options *options, const struct kept_files *files)
{
	struct gone_names gone = {.options = options};
	struct stat st;
	uint32_t nr_missed = kept_files_nr_missed(files);
	choose_files(&gone, files);
	if (gone.files.len && !stat(options->path, &st)) {
		gone.size_bytes = (uint64_t)st.st_size;
		kept_naming_init(&gone.naming, files);
		archive_files(&gone);
		kept_naming_deinit(&gone.naming);
	}
	if (nr_missed && !options->quiet)
		console_say("hint: %u file%s with samples could not be kept until the end: "
			    "functions in there may have no names",
			nr_missed, nr_missed == 1 ? "" : "s");
	vec_deinit(&gone.files);
}
