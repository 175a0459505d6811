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

/* The time of day may be set, and then files seem older than they are; the other clock runs on. */
struct ring_moment {
	uint64_t wall_ms, boot_ms; /* since 1970, and since the machine started */
};

struct ended_file {
	struct ring_file file;
	uint64_t ended_boot_ms; /* 0: before the ring was opened */
};

/* The recorder that has locked the ring, and that another one takes it over from. */
struct ring_holder {
	uint32_t pid; /* 0: there is none */
	int fd;       /* its pidfd: signals reach that process and no later one of its number */
};

struct file_ring {
	struct session_ring options;
	int folder;                   /* locked: one recorder a ring, */
	struct ring_holder holder;    /* ... by that one still, or by us */
	uint32_t patience_ms;         /* with a holder that is to end */
	VEC(struct ended_file) ended; /* the oldest first */
	uint64_t ended_bytes;         /* of all of them */
	uint64_t opened_at;           /* boot_ms */
	uint64_t least_wall_ms;       /* when boot_ms was 0, as it seemed; the least of all times */
	uint64_t removed, removed_for_room;
};

/*
 * Makes the folder unless it is there, and locks it. Files that a recorder left without an end,
 * because it was killed, get the names of ended ones. ERR_USAGE: another recorder writes there; but
 * with takes_over it may, and the folder is not ours before file_ring_take_over().
 */
struct err *file_ring_open(const struct session_ring *options, const struct caller *owner,
	struct file_ring *ret) ERR_MUST_CHECK;
void file_ring_deinit(struct file_ring *ring);
/*
 * Ends the recorder that has the ring, if there is one, and waits until its last file has ended.
 * `own_path` is of the file that was begun there meanwhile. ERR_UNSUPPORTED: it does not end;
 * ERR_USAGE: it has ended, and yet another one writes there.
 */
struct err *file_ring_take_over(struct file_ring *ring, const char *own_path) ERR_MUST_CHECK;
/* Nothing is written any more, and another recorder may. */
void file_ring_release(struct file_ring *ring);

/* The path of a file that begins now, which no other has; yours. */
char *file_ring_new_path(const struct file_ring *ring);
/* The name in the folder that such a file has when it has ended, so long after; yours. */
char *file_ring_end_name(const char *path, uint64_t lasted_ns);
/* It has that name now, and may be removed some time. */
void file_ring_add_ended(struct file_ring *ring, const char *name);
/*
 * Removes what is too much when the file that is being written has so many bytes, and what is too
 * old: of its own files by the time that has passed, whatever the time of day was set to. How old
 * those of before are the time of day must tell: by the least that it was, and not before 10
 * minutes have passed, in which a clock may be set right that was wrong when the machine started.
 */
void file_ring_prune(struct file_ring *ring, uint64_t current_bytes);
void file_ring_prune_at(
	struct file_ring *ring, uint64_t current_bytes, const struct ring_moment *now);
/* The disk is full: removes the oldest file. False: there is none. */
bool file_ring_make_room(struct file_ring *ring);

#endif
