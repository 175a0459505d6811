/*
 * The folder that an endless recording is written to: files are named by their times
 * (format/base/ring_folder.h), and the oldest are removed, so that never more than so many bytes
 * and nothing older than so long is kept. What is no file of the ring is never touched.
 */
#ifndef EBPROF_FILE_RING_H
#define EBPROF_FILE_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/caller.h"
#include "format/base/err.h"
#include "format/base/ring_folder.h"
#include "record/session_options.h"

struct file_ring {
	struct session_ring options;
	int folder;              /* locked: one recorder a ring */
	struct ring_files ended; /* the oldest first */
	uint64_t ended_bytes;    /* of all of them */
	uint64_t removed, removed_for_room;
};

/*
 * Makes the folder unless it is there, and locks it. Files that a recorder left without an end,
 * because it was killed, get the names of ended ones. ERR_USAGE: another recorder writes there.
 */
struct err *file_ring_open(const struct session_ring *options, const struct caller *owner,
	struct file_ring *ret) ERR_MUST_CHECK;
void file_ring_deinit(struct file_ring *ring);

/* The path of a file that begins now, which no other has; yours. */
char *file_ring_new_path(const struct file_ring *ring);
/* The name in the folder that such a file has when it has ended, so long after; yours. */
char *file_ring_end_name(const char *path, uint64_t lasted_ns);
/* It has that name now, and may be removed some time. */
void file_ring_add_ended(struct file_ring *ring, const char *name);
/* Removes what is too old, or too much when the file that is being written has so many bytes. */
void file_ring_prune(struct file_ring *ring, uint64_t current_bytes);
/* The disk is full: removes the oldest file. False: there is none. */
bool file_ring_make_room(struct file_ring *ring);

#endif
