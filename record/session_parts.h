/*
 * What a session is made of, from the kernel to the file: sampler and sideband, the translation
 * of what they send, the recording it goes into; and the command that is profiled. Made in the
 * order in which they need each other, nothing of it runs yet; session.c moves the data.
 */
#ifndef EBPROF_SESSION_PARTS_H
#define EBPROF_SESSION_PARTS_H

#include <stdbool.h>

#include "format/base/err.h"
#include "format/base/str.h"
#include "format/base/vec.h"
#include "record/kept_files.h"
#include "record/left_out.h"
#include "record/proc.h"
#include "record/recording.h"
#include "record/rule_source.h"
#include "record/sampler.h"
#include "record/script_probes.h"
#include "record/session_options.h"
#include "record/session_signals.h"
#include "record/sideband.h"
#include "record/source/sources.h"
#include "record/target.h"
#include "record/translate.h"
#include "record/watched_tasks.h"

struct session_parts {
	struct session_options options; /* what they point at is borrowed */
	struct session_signals signals;
	struct watched_tasks watched; /* options.pids */
	struct proc_pids targets;     /* ids of what is profiled, when the recording began */
	struct left_out left_out;     /* of SESSION_PROCESSES: what they had forked */
	bool has_target;              /* a command was started, and is held */
	struct target target;
	uint32_t command_pid; /* of the command, when that is what is profiled; else 0 */
	struct sideband *sideband;
	struct sources sources;
	struct script_probes script_probes;
	struct sampler *sampler;
	struct rule_source rules;
	struct code_rules code; /* of which translate knows, unless it is to do without */
	struct translate translate;
	struct kept_files *kept_files; /* or NULL */
	struct recording recording;
	struct str event_names; /* of all events, "cycles, ..." */
	int epoll_fd;           /* readable when one of them has news; edge-triggered */
};

/*
 * Parts point at each other: `parts` must not move. After an error, too, it is for
 * session_parts_deinit(), which also ends a command that was not released.
 */
struct err *session_parts_init(
	struct session_parts *parts, const struct session_options *options) ERR_MUST_CHECK;
void session_parts_deinit(struct session_parts *parts);

/* Scripts of files that turn up from now on are not traced any more. */
void session_parts_end_probing(struct session_parts *parts);

#endif
