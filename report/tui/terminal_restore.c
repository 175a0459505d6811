#include "report/tui/terminal_restore.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <termios.h>
#include <unistd.h>

enum {
	BYTES_MAX = 512,
	OWN_STACK_BYTES = 64 << 10,
};

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTERM, SIGHUP,
	SIGINT, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};

enum {
	SIGNALS = sizeof(signals) / sizeof(*signals),
	DEADLY = 6, /* the first ones */
};

/* What a handler sees has to be here. */
static struct {
	struct termios modes;
	bool has_modes;
	char bytes[BYTES_MAX];
	size_t len;
	struct sigaction before[SIGNALS];
	int event_fd;
	volatile sig_atomic_t is_armed, ending;
	volatile sig_atomic_t is_resized, is_stopped, is_continued;
} restore = {.event_fd = -1};

/* Stacks that ran over crash, too. */
static char own_stack[OWN_STACK_BYTES];

static void restore_modes(void)
{
	/* The modes are the foreground's; in the background tcsetattr() would stop us. */
	if (restore.has_modes && tcgetpgrp(STDIN_FILENO) == getpgrp())
		tcsetattr(STDIN_FILENO, TCSANOW, &restore.modes);
}

static void on_deadly(int signal_number)
{
	if (restore.is_armed) {
		restore.is_armed = 0;
		(void)!write(STDOUT_FILENO, restore.bytes, restore.len);
		restore_modes();
	}
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

static void terminal_restore_on_event(int signal_number)
{
	int saved_errno = errno;
	uint64_t one = 1;
	if (signal_number == SIGWINCH)
		restore.is_resized = 1;
	else if (signal_number == SIGTSTP)
		restore.is_stopped = 1;
	else if (signal_number == SIGCONT)
		restore.is_continued = 1;
	else
		restore.ending = signal_number;
	(void)!write(restore.event_fd, &one, sizeof(one));
	errno = saved_errno;
}

void restore_begin(void)
{
	restore.has_modes = tcgetattr(STDIN_FILENO, &restore.modes) == 0;
	restore.len = 0;
	restore.event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	stack_t stack = {.ss_sp = own_stack, .ss_size = sizeof(own_stack)};
	sigaltstack(&stack, NULL);
	for (int i = 0; i < SIGNALS; i++) {
		struct sigaction action = {
			.sa_handler = terminal_restore_on_event, .sa_flags = SA_RESTART};
		if (i < DEADLY)
			action = (struct sigaction){.sa_handler = on_deadly,
				.sa_flags = (int)(SA_RESETHAND | SA_ONSTACK)};
		sigaction(signals[i], &action, &restore.before[i]);
		/* nohup, and shells that have no jobs, mean it. */
		if (restore.before[i].sa_handler == SIG_IGN)
			sigaction(signals[i], &restore.before[i], NULL);
	}
}

void restore_end(void)
{
	for (int i = 0; i < SIGNALS; i++)
		sigaction(signals[i], &restore.before[i], NULL);
	sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
	close(restore.event_fd);
	restore.event_fd = -1;
}

void restore_add(const char *bytes)
{
	size_t len = bytes && bytes != (const char *)-1 ? strlen(bytes) : 0;
	if (!len || restore.len + len > sizeof(restore.bytes))
		return;
	memcpy(restore.bytes + restore.len, bytes, len);
	restore.len += len;
}

void restore_arm(void)
{
	restore.is_armed = 1;
}

void restore_disarm(void)
{
	restore.is_armed = 0;
}

unsigned restore_take_events(void)
{
	uint64_t count;
	(void)!read(restore.event_fd, &count, sizeof(count));
	unsigned events = (restore.is_resized ? TERMINAL_RESIZED : 0U) |
			  (restore.is_stopped ? TERMINAL_STOPPED : 0U) |
			  (restore.is_continued ? TERMINAL_CONTINUED : 0U);
	restore.is_resized = restore.is_stopped = restore.is_continued = 0;
	return events;
}

int restore_fd(void)
{
	return restore.event_fd;
}

int restore_ending(void)
{
	return restore.ending;
}

void restore_stop(bool whole_group)
{
	struct sigaction usual = {.sa_handler = SIG_DFL}, ours;
	sigaction(SIGTSTP, &usual, &ours);
	if (whole_group) /* as the terminal does it: a pipe, or sudo, is stopped with us */
		kill(0, SIGTSTP);
	else
		raise(SIGTSTP);
	sigaction(SIGTSTP, &ours, NULL);
}
