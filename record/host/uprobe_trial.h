/* What it costs a program to run into a probe, tried out in this process. */
#ifndef EBPROF_UPROBE_TRIAL_H
#define EBPROF_UPROBE_TRIAL_H

#include <stdint.h>

/*
 * ns that a hit takes at an instruction that the kernel emulates, with the program, which gets the
 * cookie 0 and is to do nothing then. 0: it could not be tried.
 */
uint64_t uprobe_trial_ns(int program_fd);

#endif
