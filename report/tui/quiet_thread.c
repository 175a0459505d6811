#include "report/tui/quiet_thread.h"

#include <signal.h>
#include <stddef.h>

int quiet_thread_create(pthread_t *thread, void *(*run)(void *), void *context)
{
	sigset_t quiet, before;
	sigfillset(&quiet);
	/* Those that a thread brings upon itself reach the handler that restores the terminal. */
	static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		sigdelset(&quiet, own[i]);
	pthread_sigmask(SIG_SETMASK, &quiet, &before);
	int error = pthread_create(thread, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

struct timespec quiet_thread_deadline(long patience_ms)
{
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_sec += patience_ms / 1000;
	at.tv_nsec += patience_ms % 1000 * 1000000;
	if (at.tv_nsec >= 1000000000) {
		at.tv_sec++;
		at.tv_nsec -= 1000000000;
	}
	return at;
}

bool quiet_thread_join(pthread_t thread, const struct timespec *deadline)
{
	/* glibc 2.31; pthread_timedjoin_np() goes by the wall clock, which may be set meanwhile. */
	return pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, deadline) == 0;
}
