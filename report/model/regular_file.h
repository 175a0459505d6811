/*
 * Opens files that a recording names: regular ones on a real file system and nothing else, since
 * opening a device, a FIFO or a file of /proc can wait, or do something.
 */
#ifndef EBPROF_REGULAR_FILE_H
#define EBPROF_REGULAR_FILE_H

#include <sys/stat.h>

/*
 * Where root opens no files that others chose: on FUSE file systems whose server belongs to neither
 * root nor sudo's caller, which may never answer. See format/base/mount_view.h.
 */
struct regular_file_rules;

enum regular_file_rule {
	/* Nothing on any FUSE or network file system is opened, for a recorder that must not wait.
	 */
	REGULAR_FILE_LOCAL_ONLY = 1,
	/* Paths like /proc/self/fd/3/x are of x below that folder, and in the same mount: where
	 * the recorder has kept files of containers, and those that are deleted by now. */
	REGULAR_FILE_KEPT = 2,
};

/*
 * Of a set of regular_file_rule. NULL, which forbids nothing, for other users than root: what they
 * mount may make themselves wait.
 */
struct regular_file_rules *regular_file_rules_create(unsigned set);
void regular_file_rules_destroy(struct regular_file_rules *rules);

/*
 * Open for reading, or -1 with errno; EINVAL: it is there, but no regular file; EREMOTE: the rules,
 * which may be NULL, forbid it. What is no regular file is not opened at all.
 */
int regular_file_open(const char *path, const struct regular_file_rules *rules, struct stat *st);

#endif
