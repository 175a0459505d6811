/* The signals that a session takes for itself, and gives back. */
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "record/session_signals.h"
#include "tests/unit/unit.h"

static bool is_blocked(int number)
{
	sigset_t now;
	sigprocmask(SIG_SETMASK, NULL, &now);
	return sigismember(&now, number);
}

static bool is_readable(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	return poll(&poll_fd, 1, 0) == 1;
}

TEST(signals_are_read_one_by_one_and_kill_nobody)
{
	struct session_signals signals;
	CHECK_OK(session_signals_take(&signals));
	CHECK(!is_readable(signals.fd));
	CHECK_INT(session_signals_next(&signals), 0);
	kill(getpid(), SIGTERM);
	kill(getpid(), SIGUSR2);
	CHECK(is_readable(signals.fd));
	int first = session_signals_next(&signals), second = session_signals_next(&signals);
	CHECK_INT(first + second, SIGTERM + SIGUSR2); /* in which order is the kernel's affair */
	CHECK(first != second);
	CHECK_INT(session_signals_next(&signals), 0);
	session_signals_restore(&signals);
}

TEST(signals_that_kill_by_default_are_read)
{
	static const int deadly[] = {SIGUSR1, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGXCPU};
	struct session_signals signals;
	signal(SIGPWR, SIG_IGN);
	CHECK_OK(session_signals_take(&signals));
	for (size_t i = 0; i < sizeof(deadly) / sizeof(*deadly); i++) {
		kill(getpid(), deadly[i]);
		CHECK_INT(session_signals_next(&signals), deadly[i]);
	}
	kill(getpid(), SIGPWR);
	CHECK_INT(session_signals_next(&signals), 0);
	session_signals_restore(&signals);
}

TEST(what_writing_raises_comes_back_as_an_error)
{
	struct session_signals signals;
	CHECK_OK(session_signals_take(&signals));
	int fds[2];
	CHECK(pipe(fds) == 0);
	close(fds[0]);
	CHECK_INT(write(fds[1], "x", 1), -1);
	close(fds[1]);
	session_signals_restore(&signals);
}

TEST(what_was_found_is_kept_and_restored)
{
	sigset_t mine;
	sigemptyset(&mine);
	sigaddset(&mine, SIGALRM);
	sigprocmask(SIG_SETMASK, &mine, NULL);
	signal(SIGPIPE, SIG_DFL);
	struct session_signals signals;
	CHECK_OK(session_signals_take(&signals));
	CHECK(is_blocked(SIGINT) && is_blocked(SIGALRM));
	CHECK(sigismember(&signals.old.mask, SIGALRM) == 1);
	CHECK(sigismember(&signals.old.mask, SIGINT) == 0);
	CHECK(signals.old.on_pipe == SIG_DFL);
	session_signals_restore(&signals);
	CHECK(!is_blocked(SIGINT) && is_blocked(SIGALRM));
	CHECK_INT(signals.fd, -1);
	session_signals_restore(&signals); /* a second time, nothing */
	CHECK(is_blocked(SIGALRM));
}

TEST(an_ignored_hangup_stays_ignored)
{
	signal(SIGHUP, SIG_IGN);
	struct session_signals signals;
	CHECK_OK(session_signals_take(&signals));
	CHECK(!is_blocked(SIGHUP));
	kill(getpid(), SIGHUP);
	CHECK_INT(session_signals_next(&signals), 0);
	session_signals_restore(&signals);
}
