/*
 * The kernel's own account of what happens to processes: dummy perf events, which carry forks,
 * execs, exits and new executable mappings with their build IDs. Race-free, and true for processes
 * that are gone when it is read.
 *
 * Source: include/uapi/linux/perf_event.h (perf_event_open(2)), kernel 6.18.
 */
#ifndef EBPROF_SIDEBAND_H
#define EBPROF_SIDEBAND_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/base/mem.h"
#include "format/base/vec.h"
#include "format/file/layout.h"
#include "record/host/cpu_watch.h"
#include "record/task/target_tasks.h"

enum sideband_kind {
	SIDEBAND_FORK, /* a new process (threads are left out) */
	SIDEBAND_EXEC,
	SIDEBAND_EXIT, /* of a process's main thread */
	SIDEBAND_MAP,
	SIDEBAND_PROGRAM, /* a BPF program was compiled */
	SIDEBAND_STALE,   /* a process maps so much that the rest is left out from here on */
	SIDEBAND_LOSS,    /* records of any process were lost, from `start` (a time) until now */
};

struct sideband_event {
	enum sideband_kind kind;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	size_t order;     /* of arrival, among events of one time */
	uint32_t pid, parent_pid;
	uint64_t start, length; /* of SIDEBAND_MAP and SIDEBAND_PROGRAM */
	/* SIDEBAND_MAP only: */
	uint64_t offset;
	uint32_t device;
	uint64_t inode;
	uint8_t build_id[LAYOUT_BUILD_ID_MAX_BYTES];
	uint32_t build_id_len; /* 0: device and inode are set instead */
	const char *path;      /* or the program's name */
};

/* Of SIDEBAND_MAP: whether a file is mapped; else it is memory, or the vDSO. */
bool sideband_maps_file(const struct sideband_event *event);

/* Events in the order of time; strings live in the arena. Reset by sideband_batch_clear(). */
struct sideband_batch {
	VEC(struct sideband_event) events;
	struct arena strings;
};

void sideband_batch_clear(struct sideband_batch *batch);

struct sideband;

/*
 * Opens the stream of these tasks and of what they fork, as they say, or, where that would cost
 * more, of the whole system. A thread of its own takes records as they come. ERR_PERMISSION without
 * CAP_PERFMON.
 */
struct err *sideband_create(const struct target_tasks *tasks, struct sideband **ret) ERR_MUST_CHECK;
void sideband_destroy(struct sideband *sideband);
/* Appends everything that is there, then sorts the batch by time. */
void sideband_drain(struct sideband *sideband, struct sideband_batch *batch);
/* Records that the kernel could not store, so far. */
uint64_t sideband_lost(const struct sideband *sideband);
/*
 * Changes to the stream of the whole system, for good: the events of tasks cost something at each
 * of their switches. Where that cannot be had, all stays.
 */
void sideband_widen(struct sideband *sideband);
/*
 * For a CPU that came online: goes on with its records. Those of the gap are lost, as many as there
 * were; a stream of tasks becomes one of the whole system, since their events there are gone.
 */
void sideband_renew_cpu(struct sideband *sideband, const struct cpu_gap *gap);
/* Whether it is of the tasks alone. */
bool sideband_is_of_tasks(const struct sideband *sideband);

#endif
