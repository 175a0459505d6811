#include "cmd/raise_signal.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

void raise_signal_by_default(int signal_number)
{
	struct rlimit no_core = {0, 0};
	setrlimit(RLIMIT_CORE, &no_core);
	signal(signal_number, SIG_DFL);
	sigset_t one;
	sigemptyset(&one);
	sigaddset(&one, signal_number);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	raise(signal_number);
}

int raise_signal_or_exit_code(int wait_status)
{
	if (WIFEXITED(wait_status))
		return WEXITSTATUS(wait_status);
	raise_signal_by_default(WTERMSIG(wait_status));
	return 128 + WTERMSIG(wait_status);
}
