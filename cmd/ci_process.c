#include "cmd/ci_process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "format/base/vec.h"

enum {
	EXIT_ORPHAN = 126,
};

/* ---- signals: whom we run gets them, ends in order, and then so do we ---- */

static volatile sig_atomic_t caught_signal, running_child;

static const int ending_signals[CI_NR_ENDING_SIGNALS] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

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

/* What was ignored, as under nohup, stays so. */
void ci_watch_begin(struct ci_watch *watch)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
	sigemptyset(&action.sa_mask);
	caught_signal = 0;
	for (size_t i = 0; i < CI_NR_ENDING_SIGNALS; i++) {
		sigaction(ending_signals[i], NULL, &watch->old[i]);
		if (watch->old[i].sa_handler != SIG_IGN)
			sigaction(ending_signals[i], &action, NULL);
	}
}

void ci_watch_end(const struct ci_watch *watch)
{
	for (size_t i = 0; i < CI_NR_ENDING_SIGNALS; i++)
		sigaction(ending_signals[i], &watch->old[i], NULL);
}

int ci_watch_signal(void)
{
	return caught_signal;
}

/* ---- one process ---- */

struct starting {
	ci_process_body *body;
	void *context;
	pid_t parent;
	sigset_t mask; /* what was blocked */
};

/* All signals are blocked until our handlers are gone. */
static void be_child(const struct starting *starting)
{
	struct sigaction action;
	for (size_t i = 0; i < CI_NR_ENDING_SIGNALS; i++)
		if (!sigaction(ending_signals[i], NULL, &action) && action.sa_handler != SIG_IGN)
			signal(ending_signals[i], SIG_DFL);
	sigprocmask(SIG_SETMASK, &starting->mask, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != starting->parent)
		_exit(EXIT_ORPHAN);
	_exit(starting->body(starting->context));
}

/* Nothing is started once a signal came; none comes between the child and its number. */
static struct err *ci_process_start(struct starting *starting)
{
	sigset_t all;
	struct err *err = NULL;
	starting->parent = getpid();
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &starting->mask);
	if (!caught_signal) {
		pid_t pid = fork();
		if (!pid)
			be_child(starting);
		if (pid < 0)
			err = err_sys(errno, "fork");
		else
			running_child = pid;
	}
	sigprocmask(SIG_SETMASK, &starting->mask, NULL);
	return err;
}

/* Orphans that we adopted may end meanwhile. */
struct err *ci_process_run(ci_process_body *body, void *context, int *ret)
{
	struct starting starting = {.body = body, .context = context};
	int status = 0;
	fflush(stdout);
	running_child = 0; /* in a new process: it is our parent's */
	*ret = 0;
	try(ci_process_start(&starting));
	pid_t pid = running_child, ended = 0;
	while (ended != pid) {
		ended = waitpid(-1, &status, 0);
		if (ended < 0 && errno != EINTR) {
			running_child = 0;
			return err_sys(errno, "waitpid");
		}
	}
	running_child = 0;
	*ret = status;
	return NULL;
}

/* ---- orphans ---- */

/* 0: there is no such process any more. proc_pid_stat(5): the name may have brackets of its own. */
static int find_parent(const char *pid)
{
	char path[64], text[512];
	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (len < 0)
		return 0;
	text[len] = '\0';
	const char *end = strrchr(text, ')');
	return end && strlen(end) > 4 ? atoi(end + 4) : 0;
}

static void list_children(struct ci_strangers *ret)
{
	int own = getpid();
	DIR *dir = opendir("/proc");
	ret->len = 0;
	if (!dir)
		return;
	for (struct dirent *entry; (entry = readdir(dir));)
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
			find_parent(entry->d_name) == own)
			vec_push(ret, atoi(entry->d_name));
	closedir(dir);
}

static bool ci_process_has(const struct ci_strangers *list, int pid)
{
	vec_each(list, it)
		if (*it == pid)
			return true;
	return false;
}

void ci_adopt_begin(struct ci_strangers *strangers)
{
	*strangers = (struct ci_strangers){0};
	list_children(strangers);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* Whether there were any to be ended; each gets SIGTERM once, and is killed if it stays. */
static bool end_children(
	const struct ci_strangers *strangers, struct ci_strangers *asked, bool is_killing)
{
	bool any = false;
	struct ci_strangers children = {0};
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	list_children(&children);
	vec_each(&children, pid) {
		if (ci_process_has(strangers, *pid))
			continue;
		any = true;
		if (!is_killing && ci_process_has(asked, *pid))
			continue;
		vec_push(asked, *pid);
		kill(*pid, is_killing ? SIGKILL : SIGTERM);
		kill(*pid, SIGCONT);
	}
	vec_deinit(&children);
	return any;
}

/* The children of those that end become ours. */
void ci_adopt_end(struct ci_strangers *strangers)
{
	enum {
		PAUSE_NS = 20000000,
		PATIENCE = 100, /* pauses until they are killed */
		TRIES = 500,    /* what hangs in the kernel ends later */
	};
	struct ci_strangers asked = {0};
	for (int i = 0; i < TRIES && end_children(strangers, &asked, i >= PATIENCE); i++)
		nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
	vec_deinit(&asked);
	vec_deinit(strangers);
}
