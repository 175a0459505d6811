/*
 * Two processes on one CPU that hand a byte to and fro: what a recorder costs at each switch.
 *   switches COUNT [CPU]     prints microseconds a switch, and of them those on a CPU
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_us(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static double cpu_us(int whose)
{
	struct rusage used;
	getrusage(whose, &used);
	return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
	       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static void pass(int from, int to)
{
	char byte = 0;
	if (read(from, &byte, 1) != 1 || write(to, &byte, 1) != 1)
		exit(1);
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 100000;
	int there[2], back[2];
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(argc > 2 ? atoi(argv[2]) : 0, &one);
	if (pipe(there) || pipe(back) || sched_setaffinity(0, sizeof(one), &one))
		return 1;
	pid_t child = fork();
	if (child == 0) {
		for (long i = 0; i < count; i++)
			pass(there[0], back[1]);
		_exit(0);
	}
	double begun_us = now_us();
	if (write(there[1], "", 1) != 1)
		return 1;
	for (long i = 1; i < count; i++)
		pass(back[0], there[1]);
	waitpid(child, NULL, 0);
	double us = now_us() - begun_us, on_cpu_us = cpu_us(RUSAGE_SELF) + cpu_us(RUSAGE_CHILDREN);
	printf("%.3f %.3f\n", us / (double)count / 2, on_cpu_us / (double)count / 2);
	return 0;
}
