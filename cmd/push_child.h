/*
 * The process beside a recorder that pushes the files of its ring: `ebprof push --ring`. What takes
 * it long, or ends it, does not concern the recorder, which starts it again.
 */
#ifndef EBPROF_PUSH_CHILD_H
#define EBPROF_PUSH_CHILD_H

#include <stdint.h>
#include <sys/types.h>

struct push_child_options {
	const char *url, *protocol; /* protocol: NULL: by the URL */
	const char *folder;
	uint64_t every_ns;
};

struct push_child {
	struct push_child_options options;
	pid_t pid; /* 0: it does not run */
	uint64_t begun_ns;
	uint64_t restarts;
};

void push_child_start(struct push_child *child);
/* Starts it again when it has ended, but not more often than every ten seconds. */
void push_child_watch(struct push_child *child);
/* All files have ended: it pushes what there is, a few seconds long, and ends. */
void push_child_stop(struct push_child *child);

#endif
