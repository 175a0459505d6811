#include "cmd/ci_record.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/console.h"
#include "cmd/input.h"
#include "report/baseline/sample_count.h"

enum {
	EXIT_CANNOT_EXEC = 126,
	EXIT_NOT_FOUND = 127,
	EXIT_RECORD_FAILED = 125,
};

struct err *ci_record_parse_order(const char *text, void *member)
{
	static const char *const words[] = {
		[CI_ABBA] = "abba", [CI_ABAB] = "abab", [CI_AABB] = "aabb"};
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(text, words[i]) == 0) {
			*(enum ci_order *)member = (enum ci_order)i;
			return NULL;
		}
	return err_new(ERR_USAGE, "\"%s\" is none of abba, abab, aabb", text);
}

/* ---- signals: the recorder gets them, ends in order, and then so do we ---- */

static volatile sig_atomic_t caught_signal, running_child;

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
enum {
	NR_ENDING_SIGNALS = sizeof(ending_signals) / sizeof(*ending_signals),
};

/* What a terminal sends goes to all of its foreground processes anyway. */
static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)context;
	int old_errno = errno;
	if (!caught_signal)
		caught_signal = number;
	if (running_child && info->si_code <= 0)
		kill(running_child, number);
	errno = old_errno;
}

struct watch {
	struct sigaction old[NR_ENDING_SIGNALS];
};

/* What was ignored, as under nohup, stays so. */
static void watch_begin(struct watch *watch)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
	sigemptyset(&action.sa_mask);
	caught_signal = 0;
	for (size_t i = 0; i < NR_ENDING_SIGNALS; i++) {
		sigaction(ending_signals[i], NULL, &watch->old[i]);
		if (watch->old[i].sa_handler != SIG_IGN)
			sigaction(ending_signals[i], &action, NULL);
	}
}

static void watch_end(const struct watch *watch)
{
	for (size_t i = 0; i < NR_ENDING_SIGNALS; i++)
		sigaction(ending_signals[i], &watch->old[i], NULL);
}

/* ---- one process ---- */

/* All signals are blocked until ours are nobody's any more. */
static void exec_child(const char *file, char *const *argv, pid_t parent, const sigset_t *mask)
{
	struct sigaction action;
	for (size_t i = 0; i < NR_ENDING_SIGNALS; i++)
		if (!sigaction(ending_signals[i], NULL, &action) && action.sa_handler != SIG_IGN)
			signal(ending_signals[i], SIG_DFL);
	signal(SIGPIPE, SIG_DFL); /* ours is ignored */
	sigprocmask(SIG_SETMASK, mask, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM); /* should we be killed, it ends, too */
	if (getppid() != parent)
		_exit(EXIT_CANNOT_EXEC);
	execvp(file, argv);
	int code = errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXEC;
	console_say("cannot run %s: %s", argv[0], strerror(errno));
	_exit(code);
}

/* Nothing is started once a signal came; none comes between the child and its number. */
static struct err *start(const char *file, char *const *argv)
{
	sigset_t all, old;
	struct err *err = NULL;
	pid_t parent = getpid();
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	if (!caught_signal) {
		pid_t pid = fork();
		if (!pid)
			exec_child(file, argv, parent, &old);
		if (pid < 0)
			err = err_sys(errno, "fork");
		else
			running_child = pid;
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	return err;
}

/* *ret as wait(2) has it; 0 where a signal came before it began. */
static struct err *run_process(const char *file, char *const *argv, int *ret)
{
	fflush(stdout);
	*ret = 0;
	try(start(file, argv));
	pid_t pid = running_child;
	while (pid && waitpid(pid, ret, 0) < 0)
		if (errno != EINTR) {
			running_child = 0;
			return err_sys(errno, "waitpid");
		}
	running_child = 0;
	return NULL;
}

struct err *ci_record_run_plain(char *const *command, int *ret)
{
	struct watch watch;
	watch_begin(&watch);
	struct err *err = run_process(command[0], command, ret);
	watch_end(&watch);
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

static struct words record_words(
	const struct ci_record_options *options, bool is_base, const char *path)
{
	struct words words = {0};
	vec_push(&words, "ebprof");
	vec_push(&words, "record");
	vec_push(&words, "-q");
	put_option(&words, "-F", options->frequency);
	put_option(&words, "-e", options->event);
	put_option(&words, "-o", path);
	vec_push(&words, "--");
	if (is_base) {
		vec_push(&words, "sh");
		put_option(&words, "-c", options->base);
	}
	for (char *const *word = options->command; !is_base && *word; word++)
		vec_push(&words, *word);
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

static struct err *count_samples(const char *path, uint64_t *ret)
{
	CLEANUP_FD int fd = -1;
	try(input_open_or_stdin(path, &fd));
	try(err_wrap(sample_count(fd, ret), "%s", path));
	if (!*ret)
		return err_new(ERR_UNAVAILABLE,
			"no samples: it is too short for this rate, or waits; raise -F or let it "
			"do more");
	return NULL;
}

static double now_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct run {
	bool is_base;
	uint32_t number;
};

static void say_run(const struct ci_record_options *options, const struct run *run, double seconds,
	uint64_t samples)
{
	CLEANUP(str_deinit) struct str count = {0};
	console_put_count(&count, samples);
	if (!options->is_quiet)
		console_say("run %u/%u%s: %.1f s, %s samples", run->number, options->runs,
			!options->base ? ""
			: run->is_base ? " base"
				       : " new",
			seconds, str_text(&count));
}

static struct err *record_run(
	const struct ci_record_options *options, const struct run *run, const char *path)
{
	struct words words = record_words(options, run->is_base, path);
	uint64_t samples = 0;
	double began_s = now_s();
	int status;
	struct err *err = run_process("/proc/self/exe", (char *const *)words.data, &status);
	vec_deinit(&words);
	if (err || caught_signal)
		return err;
	err = check_status(status);
	if (!err)
		err = count_samples(path, &samples);
	if (!err)
		say_run(options, run, now_s() - began_s, samples);
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
	struct ci_files *base, struct ci_files *new, int *signal_number)
{
	struct watch watch;
	struct err *err = NULL;
	uint32_t turns = options->runs * (options->base ? 2 : 1);
	watch_begin(&watch);
	for (uint32_t turn = 0; turn < turns && !err && !caught_signal; turn++) {
		CLEANUP(str_deinit) struct str name = {0};
		struct run run = run_at(options, turn);
		str_printf(&name, "%s%u.data", run.is_base ? "base" : "new", run.number);
		err = record_run(options, &run,
			ci_folder_add(folder, str_text(&name), run.is_base ? base : new));
	}
	watch_end(&watch);
	*signal_number = caught_signal;
	return err;
}
