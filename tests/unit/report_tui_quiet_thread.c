/* A leaving interface waits for its threads a limited time. */
#include <semaphore.h>
#include <signal.h>

#include "report/tui/quiet_thread.h"
#include "tests/unit/unit.h"

enum {
	PATIENCE_MS = 300000, /* with a busy machine */
};

struct held {
	sem_t goes_on;
	sigset_t blocked;
};

static void *run(void *context)
{
	struct held *held = context;
	pthread_sigmask(SIG_SETMASK, NULL, &held->blocked);
	while (sem_wait(&held->goes_on))
		;
	return NULL;
}

TEST(a_thread_that_does_not_end_is_left)
{
	struct held held;
	pthread_t thread;
	sem_init(&held.goes_on, 0, 0);
	CHECK_INT(quiet_thread_create(&thread, run, &held), 0);
	struct timespec soon = quiet_thread_deadline(5), late = quiet_thread_deadline(PATIENCE_MS);
	CHECK(!quiet_thread_join(thread, &soon));
	sem_post(&held.goes_on);
	CHECK(quiet_thread_join(thread, &late));
	sem_destroy(&held.goes_on);
}

TEST(signals_are_for_the_thread_that_holds_the_terminal)
{
	struct held held;
	pthread_t thread;
	sigset_t own;
	sem_init(&held.goes_on, 0, 1);
	CHECK_INT(quiet_thread_create(&thread, run, &held), 0);
	struct timespec late = quiet_thread_deadline(PATIENCE_MS);
	CHECK(quiet_thread_join(thread, &late));
	CHECK(sigismember(&held.blocked, SIGINT) && sigismember(&held.blocked, SIGWINCH));
	CHECK(!sigismember(&held.blocked, SIGSEGV));
	pthread_sigmask(SIG_SETMASK, NULL, &own);
	CHECK(!sigismember(&own, SIGINT));
	sem_destroy(&held.goes_on);
}

TEST(a_deadline_is_a_time_of_its_own)
{
	for (int i = 0; i < 50; i++) {
		struct timespec now, at = quiet_thread_deadline(1990);
		clock_gettime(CLOCK_MONOTONIC, &now);
		long ms = (at.tv_sec - now.tv_sec) * 1000 + (at.tv_nsec - now.tv_nsec) / 1000000;
		CHECK(at.tv_nsec >= 0 && at.tv_nsec < 1000000000);
		CHECK(ms <= 1990 && ms >= -PATIENCE_MS);
	}
}
