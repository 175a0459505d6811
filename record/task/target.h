/* The command that is profiled: started, held before its first instruction, released, waited for.
 */
#ifndef EBPROF_TARGET_H
#define EBPROF_TARGET_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "format/base/err.h"

struct target {
	pid_t pid;
	int release_fd; /* writing lets the child exec; closing, even by our death, ends it */
	int result_fd;  /* the errno of a failed exec; ends empty when exec worked */
	int exit_fd;    /* a pidfd, readable when the child has ended */
};

/* How signals were handled before we changed that: what the command is to find. */
struct target_signals {
	sigset_t mask;
	void (*on_pipe)(int), (*on_file_size)(int);
};

/* A variable of the command's environment. */
struct target_variable {
	const char *name, *value;
	const char *separator; /* it stands ahead of what the variable has; NULL: instead of that */
};

struct target_variables {
	struct target_variable *data;
	size_t len, cap;
};

/*
 * Forks; the child waits. `argv` ends with NULL.
 * `lends_stdout`: what it prints goes to standard error, since our standard output is taken.
 */
struct err *target_start(char *const *argv, const struct target_variables *variables,
	const struct target_signals *signals, bool lends_stdout, struct target *ret) ERR_MUST_CHECK;
/* Lets the child exec. *exec_errno is 0 when that worked. */
struct err *target_release(struct target *target, int *exec_errno) ERR_MUST_CHECK;
/* True when the child has ended; *status as of waitpid(2). Never blocks. */
bool target_poll_exit(struct target *target, int *status);
void target_deinit(struct target *target);

#endif
