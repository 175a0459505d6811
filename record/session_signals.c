#include "record/session_signals.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "format/base/mem.h"

static void add_unless_ignored(sigset_t *signals, int number)
{
	struct sigaction action;
	if (sigaction(number, NULL, &action) || action.sa_handler != SIG_IGN)
		sigaddset(signals, number);
}

struct err *session_signals_take(struct session_signals *ret)
{
	sigset_t signals;
	sigemptyset(&signals);
	static const int taken[] = {SIGINT, SIGTERM, SIGQUIT, SIGUSR2};
	/* They end a process that does nothing about them; nohup: it is to outlive the terminal. */
	static const int taken_unless_ignored[] = {
		SIGHUP, SIGUSR1, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR, SIGSTKFLT, SIGXCPU};
	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++)
		sigaddset(&signals, taken[i]);
	for (size_t i = 0; i < sizeof(taken_unless_ignored) / sizeof(*taken_unless_ignored); i++)
		add_unless_ignored(&signals, taken_unless_ignored[i]);
	sigprocmask(SIG_BLOCK, &signals, &ret->old.mask);
	/* Both come back as errors of write. */
	ret->old.on_pipe = signal(SIGPIPE, SIG_IGN);
	ret->old.on_file_size = signal(SIGXFSZ, SIG_IGN);
	ret->fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return ret->fd < 0 ? err_sys(errno, "signalfd") : NULL;
}

int session_signals_next(const struct session_signals *signals)
{
	struct signalfd_siginfo info;
	bool is_one = read(signals->fd, &info, sizeof(info)) == sizeof(info);
	return is_one ? (int)info.ssi_signo : 0;
}

void session_signals_restore(struct session_signals *signals)
{
	if (signals->fd < 0)
		return;
	sigprocmask(SIG_SETMASK, &signals->old.mask, NULL);
	mem_close_fd(&signals->fd);
}
