/*
 * Threads beside the one that holds the terminal: signals are for that one, which
 * at its end waits for them only so long.
 */
#ifndef EBPROF_QUIET_THREAD_H
#define EBPROF_QUIET_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

/* An errno, or 0. */
int quiet_thread_create(pthread_t *thread, void *(*run)(void *), void *context);

/* When one who has waited for so long from now on leaves: a time of CLOCK_MONOTONIC. */
struct timespec quiet_thread_deadline(long patience_ms);
/* False: at the deadline it still runs, and uses all that it was given. */
bool quiet_thread_join(pthread_t thread, const struct timespec *deadline);

#endif
