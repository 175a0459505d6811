/*
 * The program that walks the stacks of tasks that sleep (bpf/asleep.bpf.c): an object of its own,
 * since it is loaded when it is wanted, which most sessions never do.
 */
#ifndef EBPROF_ASLEEP_H
#define EBPROF_ASLEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/err.h"

struct asleep;
struct sample_bpf;

/*
 * Loads it for these runtimes (bits, of both groups), with the maps of the programs that are
 * loaded, which live longer. ERR_UNSUPPORTED: this kernel does not let memory of other tasks be
 * found.
 */
struct err *asleep_create(
	const struct sample_bpf *bpf, uint32_t runtimes, struct asleep **ret) ERR_MUST_CHECK;
void asleep_destroy(struct asleep *asleep);

uint32_t asleep_runtimes(const struct asleep *asleep);
/* Every wait that is under way has what it needs to be divided, or looked at: tasks that have slept
 * since sampling began, too. */
void asleep_mark_waits(const struct sample_bpf *bpf);
/*
 * What goes over all tasks as its descriptor is read, which is the caller's: a byte for each
 * sleeper. With `seeks` for the files alone that they come to, see sleeper_walk.bpf.h, and not to
 * those that have slept since such a turn that found all. -1: it cannot.
 */
int asleep_begin(struct asleep *asleep, bool seeks);
/* Of such a turn, through all tasks or not: how many came to what is not there yet, when it sought
 * that. */
uint64_t asleep_end(struct asleep *asleep, bool is_through);

#endif
