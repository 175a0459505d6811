/* Who ended waits, where that was recorded (record --wakers). */
#ifndef EBPROF_WAKERS_H
#define EBPROF_WAKERS_H

#include "report/model/profile.h"

/*
 * Lets each stack of a blocked wait go on, behind the leaf that says why it waited, with
 * "[woken by: NAME]" and the stack of the waker, from its leaf outwards: so what was waited for and
 * who came to end it stand in one stack. To be called behind wait_reasons_add(). False: none was
 * recorded.
 */
bool wakers_add(struct profile *profile);
/*
 * What a waker is called: its thread's name, "interrupt", or "unknown"; NULL where none was
 * recorded. `is_interrupt`: as wakers_find_interrupts() has it.
 */
const char *waker_name(const struct profile *profile, uint32_t waker, bool is_interrupt);
/* By waker, whether its stack is that of an interrupt; to be freed. */
bool *wakers_find_interrupts(const struct profile *profile);

/* Samples of waits for something, and those of them of which it is not known who ended them. */
struct wakers_known {
	uint64_t waits, unknown;
};
struct wakers_known wakers_count_known(const struct profile *profile);

#endif
