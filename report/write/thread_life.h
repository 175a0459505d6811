/*
 * How threads spent their time: all of it is running, in the run queue, or blocked. Beside it what
 * the kernel's own accounts have.
 */
#ifndef EBPROF_THREAD_LIFE_H
#define EBPROF_THREAD_LIFE_H

#include "format/base/str.h"
#include "report/model/profile.h"

/* Two lines of ebprof info; nothing where the recording has no waits. */
void thread_life_put(const struct profile *profile, struct str *out);
/* "thread_times": of all threads, and of each; nothing likewise. */
void thread_life_put_json(const struct profile *profile, struct str *out);

#endif
