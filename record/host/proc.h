/*
 * /proc, read as what it is: text about processes that may be gone by the next
 * line. "Gone" is a result here (false, empty), not an error.
 */
#ifndef EBPROF_PROC_H
#define EBPROF_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/base/map.h"
#include "format/base/str.h"
#include "format/base/vec.h"

struct proc_mapping {
	uint64_t start, end, offset;
	uint32_t device; /* major << 20 | minor */
	uint64_t inode;
	const char *path; /* unescaped, without " (deleted)"; "" for anonymous memory */
	bool is_deleted;
};

/* False: that is enough. */
typedef bool proc_mapping_fn(void *context, const struct proc_mapping *mapping);

/* Of a process that maps hundreds of thousands of files; some thousand are always read, since on a
 * busy machine much time goes by in which nothing is read. */
struct proc_limit {
	uint64_t max_ns;
	bool is_reached; /* set to true when there was more to read */
	bool is_locked; /* set to true when the process did not let it be read, see proc_access.h */
};

/*
 * Calls fn for each executable mapping in the order of addresses, until it has enough or the limit
 * (NULL: none) is reached. False when the process is gone or not ours to see.
 */
bool proc_each_mapping(uint32_t pid, struct proc_limit *limit, proc_mapping_fn *fn, void *context);

/*
 * What a process has mapped at [start, end), without going through all of its mappings, of which
 * there may be a million; the offset is not known. No file system but /proc is asked. `text` keeps
 * the path. False: no file is mapped just there, or the recorder may not look.
 */
bool proc_read_mapping(
	uint32_t pid, uint64_t start, uint64_t end, struct str *text, struct proc_mapping *ret);

struct proc_stat {
	uint32_t parent_pid;
	char state;        /* 'R': it runs, or waits for a CPU; the others: proc_pid_stat(5) */
	uint64_t start_ns; /* CLOCK_BOOTTIME, rounded down to a clock tick (10 ms) */
	uint64_t cpu_ns;   /* in user mode and in the kernel, rounded likewise */
};

bool proc_read_stat(uint32_t pid, struct proc_stat *ret);
/*
 * The thread by whose number /proc has what the process's threads share: `pid`, unless the first
 * thread has ended before others (pthread_exit() in main). Then /proc/PID/maps is empty, and root
 * and map_files lead nowhere.
 */
uint32_t proc_living_thread(uint32_t pid);
/* All of its threads have ended, and its parent has not waited for it. */
bool proc_is_zombie(uint32_t pid);
/* The pid in the innermost pid namespace; 0 when unknown. */
uint32_t proc_read_ns_pid(uint32_t pid);
/* From each thread's number in the process's own pid namespace to the one here. False, and nothing:
 * they are the same, or it is gone. */
bool proc_map_inner_threads(uint32_t pid, struct map *ret);
/* The real user ID. False: the process is gone. */
bool proc_read_uid(uint32_t pid, uint32_t *ret);
/* The user who has a process by each of its IDs: real, effective, saved, of the filesystem. False:
 * they differ, or it is gone. */
bool proc_read_owner(uint32_t pid, uint32_t *ret);
/* The process that the thread belongs to; 0 when it is gone. */
uint32_t proc_read_tgid(uint32_t tid);
/* Appends the cgroup's path: of version 2, else of the memory or any other named controller. False:
 * it is not known, as of what has ended. */
bool proc_read_cgroup(uint32_t pid, struct str *ret);

struct proc_pids {
	uint32_t *data;
	size_t len, cap;
};

void proc_pids_deinit(struct proc_pids *pids);
/* Appends every process there is now. */
void proc_list_pids(struct proc_pids *ret);
/*
 * Appends the processes that these have forked, and those that these have, as far as they are there
 * and not in the list. True when there were any.
 */
bool proc_add_descendants(struct proc_pids *pids);
/* Appends the threads of a process, the main one among them; nothing when it is gone. */
void proc_list_threads(uint32_t pid, struct proc_pids *ret);
bool proc_is_alive(uint32_t pid);
/*
 * How long a process's main thread, or a thread, was ready to run while others had the CPU, by its
 * schedstat, which is open. 0: the kernel does not count that.
 */
uint64_t proc_queued_ns(int schedstat_fd);
/*
 * /proc must be of the PID namespace that this process is in, which is how the kernel's records
 * call processes. ERR_UNSUPPORTED with the remedy.
 */
struct err *proc_check_namespace(void) ERR_MUST_CHECK;

/* A whole (small) file of /proc or /sys; false when it cannot be read. */
bool proc_read_file(const char *path, struct str *ret);

#endif
