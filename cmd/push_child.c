#include "cmd/push_child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/console.h"
#include "format/base/clock.h"

enum {
	AGAIN_S = 10,
	LAST_S = 15, /* a little longer than its own last round */
	MAX_WORDS = 12,
};

/* What a signal mask and ignored signals of the recorder are to it is not for its children. */
static void push_child_exec(const struct push_child_options *options)
{
	char every[32];
	const char *words[MAX_WORDS] = {"ebprof", "push", "--ring", options->folder, "--to",
		options->url, "--every", every};
	sigset_t none;
	snprintf(every, sizeof(every), "%.9gs", (double)options->every_ns / NS_PER_S);
	if (options->protocol) {
		words[8] = "--protocol";
		words[9] = options->protocol;
	}
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	setpgid(0, 0); /* the Ctrl-C that ends the recorder comes before the last file has ended */
	execv("/proc/self/exe", (char *const *)words);
	_exit(1);
}

void push_child_start(struct push_child *child)
{
	fflush(NULL);
	child->begun_ns = clock_now_ns();
	pid_t pid = fork();
	if (pid == 0)
		push_child_exec(&child->options);
	child->pid = pid > 0 ? pid : 0;
	if (pid < 0)
		console_say("cannot push: %s", strerror(errno));
}

void push_child_watch(struct push_child *child)
{
	if (!child->options.url)
		return;
	if (child->pid && waitpid(child->pid, NULL, WNOHANG) == child->pid)
		child->pid = 0;
	if (child->pid || clock_now_ns() - child->begun_ns < (uint64_t)AGAIN_S * NS_PER_S)
		return;
	child->restarts++;
	push_child_start(child);
}

void push_child_stop(struct push_child *child)
{
	if (!child->pid)
		return;
	kill(child->pid, SIGTERM);
	uint64_t until_ns = clock_now_ns() + (uint64_t)LAST_S * NS_PER_S;
	pid_t got = 0;
	while (!got && clock_now_ns() < until_ns) {
		usleep(20000);
		got = waitpid(child->pid, NULL, WNOHANG);
	}
	if (!got) {
		kill(child->pid, SIGKILL);
		waitpid(child->pid, NULL, 0);
	}
	child->pid = 0;
}
