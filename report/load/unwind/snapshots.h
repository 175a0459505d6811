/*
 * The snapshots of a recording while it is loaded: they are unwound some
 * MiB at a time, since all would be too large to be kept; samples that have one
 * wait until all is read, and then get the stack that both parts make.
 */
#ifndef EBPROF_SNAPSHOTS_H
#define EBPROF_SNAPSHOTS_H

#include <stddef.h>
#include <stdint.h>

#include "report/load/loading.h"

/* A sample that waits for the rest of its stack. */
struct snapshots_sample {
	size_t index;          /* of the profile's samples */
	uint32_t snapshot;     /* its id */
	uint32_t user, kernel; /* nodes, as the recorder found them */
	size_t number;         /* how many snapshots came before it */
};

/* `loading` is borrowed. */
struct snapshots *snapshots_create(struct loading *loading);
void snapshots_destroy(struct snapshots *snapshots);

/* Unwinds it, or keeps a copy until it is. */
void snapshots_take(
	struct snapshots *snapshots, uint32_t id, const struct layout_snapshot *snapshot);
/* False when there is no such snapshot. */
bool snapshots_defer(
	struct snapshots *snapshots, uint32_t id, const struct snapshots_sample *sample);

/* Once all is read, before the rest: unwinds what was kept. */
void snapshots_finish(struct snapshots *snapshots);

/* The samples that wait. */
const struct snapshots_sample *snapshots_deferred(const struct snapshots *snapshots, size_t *count);
/* The node of the whole user stack, which is added to the profile. */
uint32_t snapshots_join(struct snapshots *snapshots, const struct snapshots_sample *sample);

#endif
