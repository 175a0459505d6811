/* What processes are called: by their first threads, as other tools call them. */
#ifndef EBPROF_PROCESS_NAMES_H
#define EBPROF_PROCESS_NAMES_H

#include "format/base/str.h"
#include "report/model/profile.h"

struct process_names {
	const struct profile *profile;
	const char **leaders; /* of each process: the newest name of its first thread, or NULL */
};

void process_names_init(struct process_names *names, const struct profile *profile);
void process_names_deinit(struct process_names *names);
/* The name of the thread's process. */
void process_names_put(
	const struct process_names *names, const struct profile_thread *thread, struct str *out);

#endif
