#include "report/tui/quiet_thread.h"

#include <signal.h>
#include <stddef.h>

#include "format/base/clock.h"

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
	return clock_to_timespec(clock_now_ns() + (uint64_t)patience_ms * NS_PER_MS);
}

bool quiet_thread_join(pthread_t thread, const struct timespec *deadline)
{
	/* glibc 2.31; pthread_timedjoin_np() goes by the wall clock, which may be set meanwhile. */
	return pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, deadline) == 0;
}
