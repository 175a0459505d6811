#include "cmd/push_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/console.h"
#include "format/base/clock.h"
#include "format/base/fd.h"
#include "format/base/ring_folder.h"

enum {
	MAX_LIST_BYTES = 16 << 20,
	NAP_NS = 20 * 1000 * 1000,
	LAST_ROUND_S = 10, /* after the signal that ends us */
	REFUSED_AGAIN_S = 600,
};

struct ring_pusher {
	const struct push_ring_options *options;
	int folder, lock;
	struct str list_name, lock_name, metrics_name;
	struct strtab taken; /* names */
	struct strtab refused;
	VEC(uint64_t) again_ns; /* when those are tried again */
	VEC(char *) waiting;    /* as of the round before */
	bool is_failing;
	uint64_t stop_ns; /* the last round ends then, CLOCK_MONOTONIC; 0: no signal has come */
	uint64_t nr_taken, nr_failures, nr_removed, last_taken_s;
};

static volatile sig_atomic_t is_to_stop;

static void note_stop(int number)
{
	(void)number;
	is_to_stop = 1;
}

/* ---- what was taken before: a name a line ---- */

static void put_target_hash(const char *target, struct str *out)
{
	uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
	for (; *target; target++)
		hash = (hash ^ (uint8_t)*target) * 0x100000001b3;
	str_printf(out, "%016llx", (unsigned long long)hash);
}

/* A line that a crash has cut is no name, and its file is pushed again: the ledger has it. */
static void read_taken(struct ring_pusher *pusher, const char *text)
{
	struct ring_name name;
	for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
		CLEANUP_FREE char *line = mem_strndup(text, (size_t)(end - text));
		if (ring_name_parse(line, &name))
			strtab_intern(&pusher->taken, line, strlen(line));
	}
}

static struct err *load_taken(struct ring_pusher *pusher)
{
	CLEANUP_FD int fd = openat(
		pusher->folder, str_text(&pusher->list_name), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return NULL;
	CLEANUP_FREE char *text = mem_zalloc(MAX_LIST_BYTES + 1);
	ssize_t got = fd < 0 ? -1 : fd_read_fully(fd, text, MAX_LIST_BYTES);
	if (got < 0)
		return err_sys(
			errno, "%s/%s", pusher->options->folder, str_text(&pusher->list_name));
	read_taken(pusher, text);
	return NULL;
}

/* Appears whole, or stays as it was. */
static struct err *replace_in_spool(
	struct ring_pusher *pusher, const char *name, const struct str *text)
{
	CLEANUP(str_deinit) struct str temporary = {0};
	str_printf(&temporary, "%s.new", name);
	CLEANUP_FD int fd = openat(pusher->folder, str_text(&temporary),
		O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool is_written = fd >= 0 && write(fd, str_text(text), text->len) == (ssize_t)text->len &&
			  !renameat(pusher->folder, str_text(&temporary), pusher->folder, name);
	return is_written ? NULL : err_sys(errno, "%s/%s", pusher->options->folder, name);
}

/* Without the names of files that are gone. */
static struct err *store_taken(struct ring_pusher *pusher, const struct ring_files *files)
{
	CLEANUP(str_deinit) struct str text = {0};
	uint32_t id;
	vec_each(files, file)
		if (strtab_find(&pusher->taken, file->name, strlen(file->name), &id))
			str_printf(&text, "%s\n", file->name);
	return replace_in_spool(pusher, str_text(&pusher->list_name), &text);
}

/* ---- metrics ---- */

static void put_pushed(struct str *out, const char *name, const char *type, uint64_t value)
{
	str_printf(out, "# TYPE ebprof_push_%s %s\nebprof_push_%s %llu\n", name, type, name,
		(unsigned long long)value);
}

/* Where they cannot be written, recordings go on their way all the same. */
static void store_metrics(struct ring_pusher *pusher)
{
	CLEANUP(str_deinit) struct str text = {0};
	put_pushed(&text, "files_total", "counter", pusher->nr_taken);
	put_pushed(&text, "failures_total", "counter", pusher->nr_failures);
	put_pushed(&text, "removed_files_total", "counter", pusher->nr_removed);
	put_pushed(&text, "waiting_files", "gauge", pusher->waiting.len);
	put_pushed(&text, "last_success_timestamp_seconds", "gauge", pusher->last_taken_s);
	err_destroy(replace_in_spool(pusher, str_text(&pusher->metrics_name), &text));
}

/* ---- one file ---- */

static enum push_outcome push_outcome_of(int status)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : PUSH_REFUSED;
	return code == PUSH_TAKEN || code == PUSH_UNAVAILABLE ? (enum push_outcome)code
							      : PUSH_REFUSED;
}

static void nap(void)
{
	struct timespec time = clock_to_timespec(NAP_NS);
	nanosleep(&time, NULL);
}

static bool is_push_over(struct ring_pusher *pusher)
{
	if (is_to_stop && !pusher->stop_ns)
		pusher->stop_ns = clock_now_ns() + (uint64_t)LAST_ROUND_S * NS_PER_S;
	return pusher->stop_ns && clock_now_ns() >= pusher->stop_ns;
}

static enum push_outcome wait_for_push(struct ring_pusher *pusher, pid_t pid)
{
	int status = 0;
	for (pid_t got; (got = waitpid(pid, &status, WNOHANG)) != pid; nap()) {
		if (got < 0 && errno != EINTR)
			return PUSH_UNAVAILABLE;
		if (!is_push_over(pusher))
			continue;
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		return PUSH_UNAVAILABLE;
	}
	return push_outcome_of(status);
}

/* What is wrong is said once, until something is taken again. */
static enum push_outcome push_in_child(struct ring_pusher *pusher, const char *path)
{
	const struct push_ring_options *options = pusher->options;
	fflush(NULL);
	pid_t pid = fork();
	if (pid < 0)
		return PUSH_UNAVAILABLE;
	if (pid)
		return wait_for_push(pusher, pid);
	signal(SIGTERM, SIG_IGN); /* the last round is as long as our parent says */
	signal(SIGINT, SIG_IGN);
	if (pusher->is_failing) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
		dup2(null, STDERR_FILENO);
	}
	_exit(options->push(options->context, path));
}

static void say_failing(struct ring_pusher *pusher, bool is_failing)
{
	const struct push_ring_options *options = pusher->options;
	if (is_failing == pusher->is_failing)
		return;
	pusher->is_failing = is_failing;
	if (is_failing && options->every_ns)
		console_say("%s: not taken: kept in %s, and tried again every %g s", options->url,
			options->folder, (double)options->every_ns / NS_PER_S);
	else if (!is_failing && options->every_ns)
		console_say("%s: taken again", options->url);
}

static struct err *note_taken(struct ring_pusher *pusher, const char *name)
{
	CLEANUP(str_deinit) struct str line = {0};
	strtab_intern(&pusher->taken, name, strlen(name));
	pusher->nr_taken++;
	pusher->last_taken_s = clock_read_ns(CLOCK_REALTIME) / NS_PER_S;
	say_failing(pusher, false);
	CLEANUP_FD int fd = openat(pusher->folder, str_text(&pusher->list_name),
		O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	str_printf(&line, "%s\n", name);
	if (fd < 0 || write(fd, str_text(&line), line.len) != (ssize_t)line.len)
		return err_sys(
			errno, "%s/%s", pusher->options->folder, str_text(&pusher->list_name));
	return NULL;
}

static uint64_t *again_at(struct ring_pusher *pusher, const char *name)
{
	uint32_t id = strtab_intern(&pusher->refused, name, strlen(name));
	if (id >= pusher->again_ns.len)
		vec_resize(&pusher->again_ns, (size_t)id + 1);
	return &pusher->again_ns.data[id];
}

static struct err *push_one(struct ring_pusher *pusher, const char *name, enum push_outcome *ret)
{
	CLEANUP(str_deinit) struct str path = {0};
	str_printf(&path, "%s/%s", pusher->options->folder, name);
	*ret = push_in_child(pusher, str_text(&path));
	if (*ret == PUSH_TAKEN)
		return note_taken(pusher, name);
	if (is_push_over(pusher) || faccessat(pusher->folder, name, F_OK, 0))
		return NULL; /* or the recorder has removed it meanwhile */
	pusher->nr_failures++;
	say_failing(pusher, true);
	if (*ret == PUSH_REFUSED)
		*again_at(pusher, name) = clock_now_ns() + (uint64_t)REFUSED_AGAIN_S * NS_PER_S;
	return NULL;
}

/* ---- all of them ---- */

static bool has_ring_name(const struct ring_files *files, const char *name)
{
	vec_each(files, file)
		if (strcmp(file->name, name) == 0)
			return true;
	return false;
}

static void say_removed(const struct ring_pusher *pusher, uint64_t count)
{
	if (count)
		console_say("%llu %s removed before %s took %s: raise --keep",
			(unsigned long long)count, str_plural(count, "file was", "files were"),
			pusher->options->url, str_plural(count, "it", "them"));
}

/* Those that wait, and of the ones that did before those that are gone. */
static void note_waiting(struct ring_pusher *pusher, const struct ring_files *files)
{
	uint64_t removed = 0;
	uint32_t id;
	vec_each(&pusher->waiting, name) {
		removed += !strtab_find(&pusher->taken, *name, strlen(*name), &id) &&
			   !has_ring_name(files, *name);
		mem_free(*name);
	}
	pusher->waiting.len = 0;
	pusher->nr_removed += removed;
	say_removed(pusher, removed);
	vec_each(files, file)
		if (file->is.is_ended &&
			!strtab_find(&pusher->taken, file->name, strlen(file->name), &id))
			vec_push(&pusher->waiting, mem_strdup(file->name));
}

static struct err *push_waiting(struct ring_pusher *pusher, enum push_outcome *ret)
{
	*ret = PUSH_TAKEN;
	vec_each(&pusher->waiting, name) {
		enum push_outcome outcome = PUSH_TAKEN;
		if (*again_at(pusher, *name) > clock_now_ns())
			continue;
		if (is_push_over(pusher))
			return NULL;
		try(push_one(pusher, *name, &outcome));
		if (outcome != PUSH_TAKEN)
			*ret = outcome;
		if (outcome == PUSH_UNAVAILABLE)
			return NULL;
	}
	return NULL;
}

static struct err *push_round(struct ring_pusher *pusher, enum push_outcome *ret)
{
	struct ring_files files = {0};
	try(ring_folder_list(pusher->folder, pusher->options->folder, &files));
	note_waiting(pusher, &files);
	struct err *err = push_waiting(pusher, ret);
	if (!err)
		err = store_taken(pusher, &files);
	note_waiting(pusher, &files);
	store_metrics(pusher);
	ring_files_deinit(&files);
	return err;
}

static void wait_for_round(const struct ring_pusher *pusher)
{
	uint64_t until_ns = clock_now_ns() + pusher->options->every_ns;
	while (!is_to_stop && clock_now_ns() < until_ns)
		nap();
}

static struct err *push_rounds(struct ring_pusher *pusher, enum push_outcome *ret)
{
	for (bool is_last = false; !is_last; wait_for_round(pusher)) {
		is_last = is_to_stop;
		try(push_round(pusher, ret));
	}
	return NULL;
}

/* The recorder makes it, perhaps in a moment. */
static struct err *open_spool(struct ring_pusher *pusher)
{
	const struct push_ring_options *options = pusher->options;
	do {
		pusher->folder = open(options->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (pusher->folder < 0 && errno == ENOENT && options->every_ns)
			wait_for_round(pusher);
	} while (pusher->folder < 0 && errno == ENOENT && options->every_ns && !is_to_stop);
	return pusher->folder < 0 ? err_sys(errno, "cannot open %s", options->folder) : NULL;
}

/*
 * One pusher for each target, else a file goes twice. That of a recorder which another one takes
 * the ring over from has its last round still: ours waits for it, and after a signal as long as for
 * a last round of its own.
 */
static struct err *lock_spool(struct ring_pusher *pusher)
{
	const struct push_ring_options *options = pusher->options;
	pusher->lock = openat(pusher->folder, str_text(&pusher->lock_name),
		O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (pusher->lock < 0)
		return err_sys(errno, "%s/%s", options->folder, str_text(&pusher->lock_name));
	while (flock(pusher->lock, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK)
			return err_sys(errno, "%s: cannot be locked", options->folder);
		if (!options->every_ns || is_push_over(pusher))
			return err_new(ERR_USAGE, "%s: another ebprof sends its files to %s",
				options->folder, options->url);
		nap();
	}
	return NULL;
}

/* From the beginning on: a signal that comes while the pusher waits for its turn is not its end. */
static void catch_stop_signals(void)
{
	struct sigaction stop = {.sa_handler = note_stop};
	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGINT, &stop, NULL);
}

static struct err *push_all(struct ring_pusher *pusher, enum push_outcome *ret)
{
	if (pusher->options->every_ns)
		catch_stop_signals();
	try(open_spool(pusher));
	try(lock_spool(pusher));
	try(load_taken(pusher));
	if (pusher->options->every_ns)
		return push_rounds(pusher, ret);
	try(push_round(pusher, ret));
	if (!pusher->options->is_quiet)
		console_say("%llu %s -> %s, %zu left", (unsigned long long)pusher->nr_taken,
			str_plural(pusher->nr_taken, "file", "files"), pusher->options->url,
			pusher->waiting.len);
	return NULL;
}

struct err *push_ring(const struct push_ring_options *options, enum push_outcome *ret)
{
	CLEANUP(str_deinit) struct str hash = {0};
	struct ring_pusher pusher = {.options = options, .folder = -1, .lock = -1};
	put_target_hash(options->target, &hash);
	str_printf(&pusher.list_name, "push-%s.taken", str_text(&hash));
	str_printf(&pusher.lock_name, "push-%s.lock", str_text(&hash));
	str_printf(&pusher.metrics_name, "push-%s.metrics", str_text(&hash));
	struct err *err = push_all(&pusher, ret);
	mem_close_fd(&pusher.folder);
	mem_close_fd(&pusher.lock);
	str_deinit(&pusher.list_name);
	str_deinit(&pusher.lock_name);
	str_deinit(&pusher.metrics_name);
	strtab_deinit(&pusher.taken);
	strtab_deinit(&pusher.refused);
	vec_deinit(&pusher.again_ns);
	vec_each(&pusher.waiting, name)
		mem_free(*name);
	vec_deinit(&pusher.waiting);
	return err;
}
