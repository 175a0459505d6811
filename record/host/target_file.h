/*
 * Opening files that targets chose: by mapping them, by their root directory, by where they write.
 *
 * Such a file may lie on a file system that never answers: one by FUSE, whose server is a process
 * of the very user who wants the recorder to hang, or a network file system whose server is gone.
 * There each step may wait for ever, not even SIGKILL ends some of them: looking the name up,
 * opening, fstat(), reading. And opening a device or a FIFO does something by itself.
 *
 * So everything is opened with O_PATH first, which for /proc/PID/map_files looks nothing up; by the
 * number of its mount it is known on what it lies, as /proc/PID/mountinfo says; names are looked up
 * as mount_view.h tells. Only regular files on file systems of this machine's kernel are then
 * opened for reading: with them neither open, fstat nor read ever waits for another process.
 *
 * What the user who records does to itself is not prevented: no such limit holds for files of
 * processes which have the real user ID of the recorder, or of sudo's caller; nor for a recorder
 * that is not root, whose user could stop it anyway; nor for the file system that the recorder's
 * own root directory is on. An overlay is not trusted in a mount namespace that belongs to another
 * user namespace: its user may have put it over FUSE. Network block devices, and overlays that root
 * made, count as local, and NFS may be asked about a mapped file's age before its mount is known.
 */
#ifndef EBPROF_TARGET_FILE_H
#define EBPROF_TARGET_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "format/base/mount_view.h"

/* What is known of mounts. Functions take NULL, too: then nothing is refused. */
struct target_files;

/* `trusts_gone`: what processes had that are gone is opened; they were the user's own command. */
struct target_files *target_files_create(bool trusts_gone);
void target_files_destroy(struct target_files *files);

/*
 * These open a regular file for reading; the descriptor is the caller's. -1: errno says why;
 * EINVAL: no regular file; EREMOTE: it lies, or may lie, where nothing answers.
 */

/* What process `pid` maps at exactly [start, end). */
int target_file_open_mapped(
	struct target_files *files, uint32_t pid, uint64_t start, uint64_t end, struct stat *st);
/* A path as the kernel writes one, below the process's root directory. */
int target_file_open_in_root(
	struct target_files *files, uint32_t pid, const char *path, struct stat *st);
/* The same, below our own, on behalf of the process that chose it. */
int target_file_open_here(
	struct target_files *files, uint32_t pid, const char *path, struct stat *st);
/* A name in a folder that target_file_open_folder() has opened; a link is no regular file. */
int target_file_open_below(
	const struct target_files *files, int folder_fd, const char *name, struct stat *st);

/*
 * A folder, with O_PATH, below the process's root directory, or with `is_here` below our own. Links
 * are followed. -1 as above.
 */
int target_file_open_folder(
	struct target_files *files, uint32_t pid, bool is_here, const char *path);
/* The process's root directory, with O_PATH. -1: it is gone, or not ours to see. */
int target_file_open_root(uint32_t pid, struct mount_file *ret);

/* What is at a path now, below our own root directory. False: nothing, or it cannot be known. */
bool target_file_find(struct target_files *files, const char *path, struct mount_file *ret);

#endif
