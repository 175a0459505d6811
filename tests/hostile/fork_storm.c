/*
 * Forks as fast as it can: families of three, of which each computes for a moment; and keeps a few
 * hundred children that sleep.
 *   fork_storm SECONDS
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	SLEEPERS = 300,
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
	alarm(seconds);
	for (long count = 0;; count++) {
		pid_t child = fork();
		if (child < 0) {
			wait(NULL);
			continue;
		}
		if (child == 0) {
			alarm(seconds); /* children do not inherit it */
			if (count < SLEEPERS)
				pause();
			if (fork() == 0 && fork() == 0)
				compute();
			compute();
			_exit(0);
		}
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}
