/*
 * Forks as fast as it can: families of three, of which each computes for a moment.
 *   fork_storm SECONDS [SLEEPERS]     when there are so many children that sleep
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	TURNS = 20000, /* some 10 us */
};

static void compute(void)
{
	for (volatile int i = 0; i < TURNS; i++)
		;
}

int main(int argc, char **argv)
{
	unsigned seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	long sleepers = argc > 2 ? atol(argv[2]) : 0;
	alarm(seconds);
	for (long count = 0;; count++) {
		if (count == sleepers) {
			puts("ready");
			fflush(stdout);
		}
		pid_t child = fork();
		if (child < 0) {
			wait(NULL);
			continue;
		}
		if (child == 0) {
			alarm(seconds); /* children do not inherit it */
			if (count < sleepers)
				pause();
			if (fork() == 0 && fork() == 0)
				compute();
			compute();
			_exit(0);
		}
		if (count >= sleepers)
			waitpid(child, NULL, 0);
	}
}
