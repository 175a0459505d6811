/* What can be said of stacks once their functions have names. */
#ifndef EBPROF_REFINE_STACKS_H
#define EBPROF_REFINE_STACKS_H

#include "report/model/profile.h"

/* Adds reasons of waits, leaves allocators out. */
void refine_stacks(struct profile *profile);

#endif
