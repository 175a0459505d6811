/*
 * Handlers of signals within handlers of signals, as often as they can come, on a stack of their
 * own. signal_storm SECONDS
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static void on_signal(int number)
{
	(void)number;
	for (volatile int i = 0; i < 1000; i++)
		;
}

int main(int argc, char **argv)
{
	unsigned seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	alarm(seconds);
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_NODEFER | SA_ONSTACK};
	for (int number = SIGRTMIN; number < SIGRTMIN + 8; number++)
		sigaction(number, &action, NULL);
	sigaction(SIGPROF, &action, NULL);
	stack_t stack = {.ss_sp = malloc(1 << 20), .ss_size = 1 << 20};
	sigaltstack(&stack, NULL);
	struct itimerval often = {.it_interval.tv_usec = 100, .it_value.tv_usec = 100};
	setitimer(ITIMER_PROF, &often, NULL);
	pid_t parent = getpid(), child = fork();
	if (child == 0)
		alarm(seconds);
	for (int i = 0;; i++)
		kill(child ? child : parent, SIGRTMIN + i % 8);
}
