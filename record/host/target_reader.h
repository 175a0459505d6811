/*
 * Reads of targets' memory. What a process has mapped it chose itself: a read of pages that a FUSE
 * server or userfaultfd is to bring may never return, and where the server has the request already
 * not even SIGKILL ends it. A thread in such a read would keep all of the recorder from ending.
 * So a process of its own reads, the worker: when it hangs it is killed, or left behind if it
 * cannot die, and the next one goes on. Workers are forked by another process, which was forked
 * when the recorder was small, so that one which cannot die holds neither memory nor descriptors.
 *
 * Processes share the workers' time: one that made a read hang is not read again for a second, and
 * after each further one for twice as long. A worker that waits for a CPU does not hang. The first
 * half of each second's time is for who needs it, of the other half each has its part. What they do
 * not get is given up, which each read says.
 */
#ifndef EBPROF_TARGET_READER_H
#define EBPROF_TARGET_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/bytes.h"
#include "format/base/map.h"
#include "format/base/vec.h"

enum {
	TARGET_READER_MAX_REQUEST = 256, /* bytes */
};

/*
 * Runs in the worker. `ret` is empty; what is put to it is what comes back. *kept is the function's
 * own, from one request to the next: NULL in a new worker, and gone with it.
 */
typedef void target_read_fn(void **kept, const void *request, size_t len, struct bytes_buf *ret);

struct target_read_job {
	uint32_t pid;
	uint32_t len;
	uint32_t number;
	bool is_refused;
	uint8_t request[TARGET_READER_MAX_REQUEST];
};

/* A process that made a read hang. */
struct target_hang {
	uint32_t pid;
	uint64_t started_ns;         /* the process */
	uint64_t pause_ns, until_ns; /* in which it is not read */
};

struct target_reader {
	target_read_fn *fn;
	int forker_fd;                    /* of the process that forks workers; -1: none */
	int forker_pid;                   /* 0: it was never started */
	int worker_fd;                    /* -1: none */
	VEC(struct target_read_job) jobs; /* from `first` on not yet taken, */
	size_t first, sent;               /* ... from `sent` on not yet sent, */
	size_t hasty_end;                 /* ... up to here before others */
	uint32_t taken;                   /* number of the job that was taken last */
	uint32_t worker;       /* process that has begun with the first job; 0: it has not */
	uint64_t begun_cpu_ns; /* what its CPU time was then */
	uint64_t moved_ns;     /* when it was heard of last */
	uint64_t answer_bytes; /* 0: no answer is coming in */
	uint64_t answer_ns;
	uint64_t slow_ns; /* that of the slowest of late, the less the longer ago that was */
	struct bytes_buf answer;
	VEC(struct target_hang) hangs;
	struct map hung_uid; /* -> how many of the user's processes made reads hang */
	struct map spent_ns; /* pid -> of the second that began at spent_from_ns */
	uint64_t spent_from_ns, all_spent_ns;
};

/* `fn` must not depend on anything that changes after target_reader_start(). */
void target_reader_init(struct target_reader *reader, target_read_fn *fn);
/* Does not wait for reads. */
void target_reader_deinit(struct target_reader *reader);
/* To be called while the process is small. Without it, the first read does so. */
void target_reader_start(struct target_reader *reader);

/* Reads come back in their order. */
void target_reader_submit(
	struct target_reader *reader, uint32_t pid, const void *request, size_t len);
/* The same of a read that is more wanted than those that wait: unless there are very many it is
 * made before them, behind others of its kind. */
void target_reader_submit_first(
	struct target_reader *reader, uint32_t pid, const void *request, size_t len);
/* Which read was taken last: how many had been submitted before it, since there was none. */
uint32_t target_reader_taken(const struct target_reader *reader);
/* Without it they are sent to the worker by the next target_reader_take(). */
void target_reader_send(struct target_reader *reader);
/*
 * Never blocks. False: no read is through. Else *answer is what the function put, good until the
 * next call; NULL: it was given up.
 */
bool target_reader_take(struct target_reader *reader, const struct bytes_buf **answer);
/* How long the function took for the answer that was taken last. */
uint64_t target_reader_answer_ns(const struct target_reader *reader);
/* Time that was spent on what a process had, to be taken from its part. */
void target_reader_charge(struct target_reader *reader, uint32_t pid, uint64_t ns);
/* Whether a process's part of this second is not used up. */
bool target_reader_has_time_left(struct target_reader *reader, uint32_t pid);
bool target_reader_is_idle(const struct target_reader *reader);
/* Becomes readable when a read may be through; -1: none is under way. */
int target_reader_fd(const struct target_reader *reader);

/* One read of a process's memory that is waited for, by a worker of its own. False: it cannot be
 * read, or was given up. */
bool target_reader_read_memory(uint32_t pid, uint64_t address, void *to, size_t len);

#endif
