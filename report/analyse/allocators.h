/*
 * Functions that allocate for their callers: C++'s operators, Go's runtime. In a recording of
 * allocations all stacks would end in these few, so it is their callers that allocate, as it is
 * malloc()'s for the recorder.
 */
#ifndef EBPROF_ALLOCATORS_H
#define EBPROF_ALLOCATORS_H

#include "report/model/profile.h"

/* Whether there are samples of record --heap. */
bool allocators_may_be_left_out(const struct profile *profile);
/*
 * Takes them off the stacks of samples of record --heap: those that no other function stands
 * behind. Functions have names; stacks are added. A stack of nothing else stays.
 */
void allocators_leave_out(struct profile *profile);

#endif
