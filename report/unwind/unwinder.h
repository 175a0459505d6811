/*
 * From a snapshot to frames: what the recorder's unwinder would have done, had
 * it known the rules of every kind. Rules come from the files on this machine.
 */
#ifndef EBPROF_UNWINDER_H
#define EBPROF_UNWINDER_H

#include <stddef.h>
#include <stdint.h>

#include "report/profile.h"
#include "report/symbol/symbol_file.h"

enum {
	UNWINDER_MAX_FRAMES = 1024, /* of one snapshot */
};

/* What a snapshot led to. */
struct unwinder_stack {
	const uint32_t *frames; /* numbers, leaf first */
	size_t count;
	enum layout_truncation cause; /* why it ends there; LAYOUT_COMPLETE: at the outermost */
};

struct unwinder;

/* Both are borrowed. Objects and mappings are those that the profile holds at the time of a call.
 */
struct unwinder *unwinder_create(
	const struct profile *profile, const struct symbol_file_options *files);
void unwinder_destroy(struct unwinder *unwinder);

/* The number of the outcome, from 0; snapshots that are equal share one. */
uint32_t unwinder_take(struct unwinder *unwinder, const struct layout_snapshot *snapshot);
/* Borrowed until the next unwinder_take(). */
struct unwinder_stack unwinder_stack_at(const struct unwinder *unwinder, uint32_t number);
/* The frame of a number; those stay as long as the unwinder, and are dense from 0. */
struct layout_frame unwinder_frame(const struct unwinder *unwinder, uint32_t number);

#endif
