#include "cmd/ci_record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/ci_process.h"
#include "cmd/console.h"
#include "cmd/input_file.h"
#include "format/base/clock.h"
#include "format/base/mem.h"
#include "format/base/str.h"
#include "report/compare/baseline/sample_count.h"

enum {
	EXIT_RECORD_FAILED = 125,
	EXIT_CANNOT_EXEC = 126,
	EXIT_NOT_FOUND = 127,
};

/* ---- what a process becomes ---- */

static int exec_file(const char *file, char *const *words)
{
	signal(SIGPIPE, SIG_DFL); /* ours is ignored */
	execvp(file, words);
	int code = errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXEC;
	console_say("cannot run %s: %s", words[0], strerror(errno));
	return code;
}

static int exec_words(void *words)
{
	return exec_file(*(char **)words, words);
}

static int exec_ourselves(void *words)
{
	return exec_file("/proc/self/exe", words);
}

struct err *ci_record_run_plain(char *const *command, int *ret)
{
	struct ci_watch watch;
	ci_watch_begin(&watch);
	struct err *err = ci_process_run(exec_words, (void *)command, ret);
	ci_watch_end(&watch);
	return err;
}

/* ---- one run ---- */

struct words {
	const char **data;
	size_t len, cap;
};

static void put_option(struct words *words, const char *option, const char *value)
{
	if (!value)
		return;
	vec_push(words, option);
	vec_push(words, value);
}

static bool is_on_path(const char *name)
{
	const char *path = getenv("PATH");
	if (strchr(name, '/'))
		return access(name, X_OK) == 0;
	for (const char *at = path ? path : ""; *at; at += at[0] == ':') {
		CLEANUP(str_deinit) struct str file = {0};
		size_t len = strcspn(at, ":");
		str_printf(&file, "%.*s/%s", (int)len, at, name);
		if (len && access(str_text(&file), X_OK) == 0)
			return true;
		at += len;
	}
	return false;
}

/*
 * The words of a command that means the same without a shell, whose own start would be in the
 * base's samples alone; false: it needs one. `text` is taken apart.
 */
static bool split_command(char *text, struct words *ret)
{
	char *rest = text;
	if (strpbrk(text, "|&;<>()$`\\\"'*?[]{}~#!\n"))
		return false;
	for (char *word; (word = strsep(&rest, " "));)
		if (*word && (ret->len || strcmp(word, "exec") != 0))
			vec_push(ret, word);
	return ret->len && !strchr(ret->data[0], '=') && is_on_path(ret->data[0]);
}

static void put_recorded_command(const struct ci_record_options *options, bool is_base,
	const struct words *base, struct words *ret)
{
	if (is_base && base->len) {
		vec_append(ret, base->data, base->len);
		return;
	}
	if (options->base && !base->len) { /* both by the shell, so that both have its samples */
		vec_push(ret, "sh");
		put_option(ret, "-c", is_base ? options->base : "exec \"$@\"");
	}
	if (options->base && !base->len && !is_base)
		vec_push(ret, "sh"); /* $0 */
	for (char *const *word = options->command; !is_base && *word; word++)
		vec_push(ret, *word);
}

static struct words record_words(const struct ci_record_options *options, bool is_base,
	const struct words *base, const char *path)
{
	struct words words = {0};
	vec_push(&words, "ebprof");
	vec_push(&words, "record");
	vec_push(&words, "-q");
	put_option(&words, "-F", options->frequency);
	put_option(&words, "-e", options->event);
	put_option(&words, "-o", path);
	vec_push(&words, "--");
	put_recorded_command(options, is_base, base, &words);
	vec_push(&words, NULL);
	return words;
}

static struct err *check_status(int status)
{
	if (WIFSIGNALED(status))
		return err_new(ERR_UNAVAILABLE, "the command died of signal %d (%s)",
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	switch (WEXITSTATUS(status)) {
	case 0:
		return NULL;
	case EXIT_RECORD_FAILED:
		return err_new(ERR_UNAVAILABLE, "it could not be recorded, or the command failed "
						"with status 125");
	default:
		return err_new(
			ERR_UNAVAILABLE, "the command failed with status %d", WEXITSTATUS(status));
	}
}

static struct err *ci_record_count_samples(const char *path, struct sample_count *ret)
{
	CLEANUP_FD int fd = -1;
	try(input_file_open_or_stdin(path, &fd));
	try(err_wrap(sample_count(fd, ret), "%s", path));
	if (!ret->samples)
		return err_new(ERR_UNAVAILABLE,
			"no samples: it is too short for this rate, or waits; raise -F or let it "
			"do more");
	return NULL;
}

struct run {
	bool is_base;
	uint32_t number;
};

/* Without what the recorder does before it begins to sample. */
static void say_run(const struct ci_record_options *options, const struct run *run,
	const struct sample_count *recorded)
{
	CLEANUP(str_deinit) struct str count = {0};
	console_put_count(&count, recorded->samples);
	if (!options->is_quiet)
		console_say("run %u/%u%s: %.1f s, %s %s", run->number, options->runs,
			!options->base ? ""
			: run->is_base ? " base"
				       : " new",
			recorded->ended_ns > recorded->begun_ns
				? (double)(recorded->ended_ns - recorded->begun_ns) / NS_PER_S
				: 0,
			str_text(&count), str_plural(recorded->samples, "sample", "samples"));
}

static struct err *record_run(
	const struct ci_record_options *options, const struct run *run, const char *path)
{
	CLEANUP_FREE char *base_text = options->base ? mem_strdup(options->base) : NULL;
	struct words base = {0};
	if (base_text && !split_command(base_text, &base))
		base.len = 0;
	struct words words = record_words(options, run->is_base, &base, path);
	struct sample_count recorded;
	int status;
	struct err *err = ci_process_run(exec_ourselves, words.data, &status);
	vec_deinit(&words);
	vec_deinit(&base);
	if (err || ci_watch_signal())
		return err;
	err = check_status(status);
	if (!err)
		err = ci_record_count_samples(path, &recorded);
	if (!err)
		say_run(options, run, &recorded);
	return err_wrap(err, "run %u/%u%s", run->number, options->runs,
		run->is_base ? " of the base command" : "");
}

/* ---- all of them ---- */

/* Whether the base comes first in this pair of runs. */
static bool is_base_first(enum ci_order order, uint32_t pair)
{
	return order == CI_ABAB || pair % 2 == 0;
}

/* The turn number `turn`, from 0 on. */
static struct run run_at(const struct ci_record_options *options, uint32_t turn)
{
	if (!options->base)
		return (struct run){false, turn + 1};
	if (options->order == CI_AABB)
		return (struct run){turn < options->runs, turn % options->runs + 1};
	uint32_t pair = turn / 2;
	return (struct run){is_base_first(options->order, pair) == (turn % 2 == 0), pair + 1};
}

struct err *ci_record_all(const struct ci_record_options *options, const struct ci_folder *folder,
	struct ci_files *base, struct ci_files *new)
{
	struct err *err = NULL;
	uint32_t turns = options->runs * (options->base ? 2 : 1);
	for (uint32_t turn = 0; turn < turns && !err && !ci_watch_signal(); turn++) {
		CLEANUP(str_deinit) struct str name = {0};
		struct run run = run_at(options, turn);
		str_printf(&name, "%s%u.data", run.is_base ? "base" : "new", run.number);
		err = record_run(options, &run,
			ci_folder_add(folder, str_text(&name), run.is_base ? base : new));
	}
	return err;
}
