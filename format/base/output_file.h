/*
 * Files that commands create: a file appears under its name when its maker publishes it, or not at
 * all, and never takes the place of another user's file, however fast that one is put there.
 *
 * The file has no name until then (O_TMPFILE; where the file system has no such files, a random
 * one). To be replaced, what has the name is exchanged for the new file in one step
 * (RENAME_EXCHANGE) and looked at afterwards, when no other user can put another one there; what
 * must not be replaced is exchanged back. The folder is held by a descriptor: see safe_folder.h.
 */
#ifndef EBPROF_OUTPUT_FILE_H
#define EBPROF_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "format/base/caller.h"
#include "format/base/err.h"

struct output_file;

struct output_file_options {
	const char *path;
	struct caller owner; /* of the new file; his files may be replaced, too */
	/* Files that are read meanwhile, and must not be replaced. */
	const char *const *inputs;
	size_t nr_inputs;
	/* Nor are files that begin with these bytes, and are called so in a message; NULL: none. */
	const char *spared_head, *spared_as;
	size_t spared_bytes;  /* at most 16 */
	bool is_for_all;      /* mode 0644 less the umask, else 0600 */
	bool is_new;          /* never replaces anything */
	bool keeps_old;       /* what is replaced becomes NAME.old, in place of an older one */
	bool is_checked_late; /* what has the name now will be gone: only publishing refuses */
};

/*
 * Refuses what output_file_publish() would not replace: a symbolic link, anything that is no
 * regular file, a file of another user, an input, what is spared; likewise for NAME.old, where a
 * link may go. `options` is copied; inputs and their array are borrowed until the file is
 * published.
 */
struct err *output_file_create(
	const struct output_file_options *options, struct output_file **ret) ERR_MUST_CHECK;
/* Borrowed; for reading and writing. */
int output_file_fd(const struct output_file *file);
/* Gives it its name, once. After a failure everything is as it was. */
struct err *output_file_publish(struct output_file *file) ERR_MUST_CHECK;
/* Reports what close(2) reports: a full NFS server speaks up here. The name can still be given. */
struct err *output_file_close(struct output_file *file) ERR_MUST_CHECK;
/* A file that was not published is gone. */
void output_file_destroy(struct output_file *file);

/*
 * Renames the published file, within its folder; nothing of that name is replaced. *is_moved is
 * false when the file is not there any more.
 */
struct err *output_file_set_aside(
	struct output_file *file, const char *name, bool *is_moved) ERR_MUST_CHECK;
/* Removes what was set aside. */
void output_file_remove_aside(const struct output_file *file, const char *name);

/*
 * Opens a file to append to, which is made if there is none. Refuses links, symbolic and hard ones,
 * what is no regular file, and inputs. It may belong to another user: nothing of it is lost.
 */
struct err *output_file_open_append(
	const struct output_file_options *options, int *ret) ERR_MUST_CHECK;

#endif
