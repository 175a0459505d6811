/*
 * The snapshots of a recording while it is loaded: each is unwound when it
 * comes, since they are too large to be kept; samples that have one wait until
 * all is read, and then get the stack that both parts make.
 */
#ifndef EBPROF_SNAPSHOTS_H
#define EBPROF_SNAPSHOTS_H

#include <stddef.h>
#include <stdint.h>

#include "report/profile.h"
#include "report/symbol/symbol_file.h"

struct snapshots;

/* A sample that waits for the rest of its stack. */
struct snapshots_sample {
	size_t index;          /* of the profile's samples */
	uint32_t snapshot;     /* its id */
	uint32_t user, kernel; /* nodes, as the recorder found them */
	uint32_t outcome;
};

/* Both are borrowed. */
struct snapshots *snapshots_create(
	struct profile *profile, const struct symbol_file_options *files);
void snapshots_destroy(struct snapshots *snapshots);

/* Unwinds it. */
void snapshots_take(
	struct snapshots *snapshots, uint32_t id, const struct layout_snapshot *snapshot);
/* False when there is no such snapshot. */
bool snapshots_defer(
	struct snapshots *snapshots, uint32_t id, const struct snapshots_sample *sample);

/* The samples that wait. */
const struct snapshots_sample *snapshots_deferred(const struct snapshots *snapshots, size_t *count);
/* The node of the whole user stack, which is added to the profile: once all of it is read. */
uint32_t snapshots_join(struct snapshots *snapshots, const struct snapshots_sample *sample);

#endif
