/*
 * Starts one short program after the other from a CPU, at a pace of so many a second or as fast as
 * it can (0). short_processes SECONDS CPU A_SECOND PROGRAM    prints how many, and how many a
 * second
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void sleep_until(double moment_s)
{
	struct timespec time = {.tv_sec = (time_t)moment_s};
	time.tv_nsec = (long)((moment_s - (double)time.tv_sec) * 1e9);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
		;
}

/* vfork(2): a copy of the memory would take longer than the program does. False: it did not run. */
static int run_program(char **argv)
{
	int status = 0;
	pid_t pid = vfork(); /* NOLINT: the child does nothing but execve(2) */
	if (!pid) {
		execve(argv[0], argv, environ);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int main(int argc, char **argv)
{
	cpu_set_t cpus;
	if (argc != 5)
		return 2;
	double seconds = atof(argv[1]), a_second = atof(argv[3]);
	CPU_ZERO(&cpus);
	CPU_SET(atoi(argv[2]), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		return 1;
	long count = 0;
	double begun_s = now_s(), at_s = begun_s;
	for (; at_s < begun_s + seconds; at_s = now_s(), count++) {
		double due_s = a_second > 0 ? begun_s + (double)count / a_second : 0;
		if (due_s > at_s + 0.001) /* some at once: each sleep would cost as much as one */
			sleep_until(due_s);
		if (!run_program(argv + 4))
			return 1;
	}
	printf("%ld %.0f\n", count, (double)count / (at_s - begun_s));
	return 0;
}
