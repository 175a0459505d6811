/*
 * From a snapshot to frames: what the recorder's unwinder would have done, had
 * it known the rules of every kind. Rules come from the files on this machine.
 */
#ifndef EBPROF_UNWINDER_H
#define EBPROF_UNWINDER_H

#include <stdint.h>

#include "report/load/unwind/unwound.h"
#include "report/model/profile.h"
#include "report/name/symbol/symbol_file.h"

enum {
	UNWINDER_MAX_FRAMES = 1024, /* of one snapshot */
};

struct unwinder;

/*
 * All are borrowed. Objects and mappings are those that the profile holds at the time of a call;
 * stacks are added to `unwound`.
 */
struct unwinder *unwinder_create(const struct profile *profile,
	const struct symbol_file_options *files, struct unwound *unwound);
void unwinder_destroy(struct unwinder *unwinder);

/* The number of the stack that the snapshot led to. */
uint32_t unwinder_take(struct unwinder *unwinder, const struct layout_snapshot *snapshot);

#endif
