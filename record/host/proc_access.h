/*
 * Files of /proc/PID that the process can keep others waiting for: what tells of its address space
 * is read under locks that are held while it maps, forks or executes a program, and with 60,000
 * mappings each of those takes a tenth of a second (mmap_lock and exec_update_lock of kernel 6.18).
 * Only a signal that kills ends such a wait.
 *
 * So between proc_access_start() and proc_access_stop() other threads make these system calls, and
 * the caller waits for them for a limited time. A call that was given up goes on in its thread;
 * until it is through, further ones for that process fail at once. Otherwise, and in a process
 * that was forked, the caller makes them itself.
 */
#ifndef EBPROF_PROC_ACCESS_H
#define EBPROF_PROC_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "format/base/str.h"

/* For the whole process; nothing is started before the first call. */
void proc_access_start(void);
/* Does not wait for calls that were given up. */
void proc_access_stop(void);

/*
 * A caller that reads of many processes, a part at a time, sets this meanwhile: then only the time
 * that calls are blocked is limited, not what they take. Returns what it was.
 */
bool proc_access_set_paced(bool is_paced);

/* `name`: of the file below /proc/PID, or "" for the folder. All fail with ETIMEDOUT, too. */

/* As open(2), with O_CLOEXEC; the descriptor is the caller's. */
int proc_access_open(uint32_t pid, const char *name, int flags);

/* Appends some of what comes next in a file of the process, 0 at its end. Given up, it is closed.
 */
ssize_t proc_access_read(uint32_t pid, int *fd, struct str *ret);

/*
 * Appends where a link leads, and fills in what statx(2) tells of that file with
 * AT_STATX_DONT_SYNC, as a server that would have to be asked may hang.
 */
bool proc_access_link(uint32_t pid, const char *name, struct str *ret, struct statx *file);

#endif
