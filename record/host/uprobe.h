/*
 * Breakpoints in files, at which a BPF program runs, in any process that comes upon them.
 */
#ifndef EBPROF_UPROBE_H
#define EBPROF_UPROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"

struct uprobe_place {
	const char *path;
	int file_fd;               /* of that file; -1: what is to be found at the path */
	uint64_t offset;           /* in the file: of an instruction */
	uint64_t semaphore_offset; /* of a u16 to be counted up as long as it is attached; or 0 */
	bool is_return;            /* not there, but where the function that begins there returns */
};

struct uprobe {
	int event_fd, link_fd; /* -1: none */
};

/*
 * Attaches the program: from now on it runs. It gets the cookie where the kernel can do that
 * (Linux 5.15). `ret` is to be detached.
 */
struct err *uprobe_attach(const struct uprobe_place *place, int program_fd, uint64_t cookie,
	struct uprobe *ret) ERR_MUST_CHECK;
/*
 * The same in one process; 0: in all. Not in those that it forks: a child gets a probe of its own
 * with an event that it inherits, and that has no program (kernel/trace/trace_event_perf.c,
 * perf_uprobe_init(), Linux 6.18).
 */
struct err *uprobe_attach_to(uint32_t pid, const struct uprobe_place *place, int program_fd,
	uint64_t cookie, struct uprobe *ret) ERR_MUST_CHECK;
/* When it returns the program is not running any more. */
void uprobe_detach(struct uprobe *uprobe);
/*
 * All of them, in the time that one takes: the first is detached here, and what the caller wrote
 * for the program is seen by it from then on; the others are left to another process for a while.
 */
void uprobes_detach(struct uprobe *uprobes, size_t count);

/* Whether this kernel has breakpoints in files, and the counting of semaphores (Linux 4.20). */
bool uprobe_is_known(void);
bool uprobe_counts_semaphores(void);
/* Whether a program can get the cookie of the probe that it runs at. */
bool uprobe_has_cookies(void);

#endif
