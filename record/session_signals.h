/*
 * The signals that end a session or begin another file, as a descriptor to wait for: TERM, INT,
 * QUIT, USR2, and unless they are ignored HUP (nohup), USR1, ALRM and others that kill by default.
 */
#ifndef EBPROF_SESSION_SIGNALS_H
#define EBPROF_SESSION_SIGNALS_H

#include "format/base/err.h"
#include "record/task/target.h"

struct session_signals {
	int fd;                    /* readable when there is one; -1: they are not taken */
	struct target_signals old; /* what we found: the command's, too */
};

/* Blocks them, and ignores those that writing raises (PIPE, XFSZ). */
struct err *session_signals_take(struct session_signals *ret) ERR_MUST_CHECK;
/* The number of the next one that came; 0: no more. Never blocks. */
int session_signals_next(const struct session_signals *signals);
void session_signals_restore(struct session_signals *signals);

#endif
