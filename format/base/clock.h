/* Times in nanoseconds, and the clocks that they are read from. */
#ifndef EBPROF_CLOCK_H
#define EBPROF_CLOCK_H

#include <stdint.h>
#include <time.h>

enum {
	NS_PER_US = 1000,
	NS_PER_MS = 1000 * 1000,
	NS_PER_S = 1000 * 1000 * 1000,
};

static inline uint64_t clock_from_timespec(struct timespec time)
{
	return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

static inline struct timespec clock_to_timespec(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};
}

static inline uint64_t clock_read_ns(clockid_t clock)
{
	struct timespec now = {0};
	clock_gettime(clock, &now);
	return clock_from_timespec(now);
}

/* CLOCK_MONOTONIC: the time that samples and sideband have, too. */
static inline uint64_t clock_now_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

#endif
