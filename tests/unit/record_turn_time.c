/* The longest turn of a loop, and what its time went on. */
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record/turn_time.h"
#include "tests/unit/unit.h"

enum {
	MS = 1000 * 1000,
};

static void compute(uint64_t ns)
{
	struct timespec now, begun;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((uint64_t)(now.tv_sec - begun.tv_sec) * 1000 * MS + (uint64_t)now.tv_nsec -
			(uint64_t)begun.tv_nsec <
		ns);
}

TEST(a_turn_that_waits_is_blocked)
{
	struct turn_time time;
	turn_time_init(&time);
	turn_time_begin(&time);
	usleep(30000);
	turn_time_end(&time);
	CHECK(time.longest.blocked_ns > 20 * MS);
	CHECK(time.longest.cpu_ns < 20 * MS);
	turn_time_deinit(&time);
}

TEST(a_turn_that_computes_is_not_blocked)
{
	struct turn_time time;
	turn_time_init(&time);
	turn_time_begin(&time);
	compute(30 * MS);
	turn_time_end(&time);
	CHECK(time.longest.cpu_ns >= 29 * MS);
	CHECK(time.longest.blocked_ns < 20 * MS);
	turn_time_deinit(&time);
}

/* Two others want the only CPU that there is. */
TEST(a_turn_that_waits_for_a_cpu_is_not_blocked)
{
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		unit_skip("no sched_setaffinity");
	struct turn_time time;
	turn_time_init(&time);
	if (time.schedstat_fd < 0)
		unit_skip("a kernel without schedstat");
	int others[2];
	for (int i = 0; i < 2; i++) {
		others[i] = fork();
		while (!others[i])
			;
	}
	turn_time_begin(&time);
	compute(200 * MS);
	turn_time_end(&time);
	for (int i = 0; i < 2; i++) {
		kill(others[i], SIGKILL);
		waitpid(others[i], NULL, 0);
	}
	CHECK(time.longest.starved_ns > 50 * MS);
	CHECK(time.longest.blocked_ns < 50 * MS);
	turn_time_deinit(&time);
}

TEST(the_longest_turn_is_kept)
{
	struct turn_time time;
	turn_time_init(&time);
	static const unsigned sleeps_us[] = {1000, 40000, 1000};
	for (size_t i = 0; i < 3; i++) {
		turn_time_begin(&time);
		usleep(sleeps_us[i]);
		turn_time_end(&time);
	}
	CHECK(time.longest.blocked_ns > 30 * MS);
	turn_time_deinit(&time);
}

TEST(without_schedstat_it_is_blocked)
{
	struct turn_time time;
	turn_time_init(&time);
	turn_time_deinit(&time);
	turn_time_begin(&time);
	usleep(20000);
	turn_time_end(&time);
	CHECK_INT(time.longest.starved_ns, 0);
	CHECK(time.longest.blocked_ns > 10 * MS);
}
