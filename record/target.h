/* The command that is profiled: started, held before its first instruction, released, waited for.
 */
#ifndef EBPROF_TARGET_H
#define EBPROF_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "format/base/err.h"

struct target {
	pid_t pid;
	int release_fd; /* writing lets the child exec; closing, even by our death, ends it */
	int result_fd;  /* the errno of a failed exec; ends empty when exec worked */
	int exit_fd;    /* a pidfd, readable when the child has ended */
};

/*
 * Forks; the child waits. `argv` ends with NULL. Signals that we block are unblocked in it.
 * `lends_stdout`: what it prints goes to standard error, since our standard output is taken.
 */
struct err *target_start(char *const *argv, bool lends_stdout, struct target *ret);
/* Lets the child exec. *exec_errno is 0 when that worked. */
struct err *target_release(struct target *target, int *exec_errno);
/* True when the child has ended; *status as of waitpid(2). Never blocks. */
bool target_poll_exit(struct target *target, int *status);
void target_deinit(struct target *target);

#endif
