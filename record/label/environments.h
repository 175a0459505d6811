/*
 * Environments of programs, as the BPF programs sent them at their exec: by these even processes
 * have labels that were gone before the recorder could read /proc. Those of the latest execs are
 * kept.
 */
#ifndef EBPROF_ENVIRONMENTS_H
#define EBPROF_ENVIRONMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/map.h"
#include "format/base/str.h"
#include "format/base/vec.h"
#include "record/task/process.h"

struct event_environment;
struct event_variable;

struct environments {
	struct environment_batch {
		VEC(struct environment {
			uint64_t start_ns;
			uint64_t exec_ns;
			uint32_t exec_id;
			uint32_t len;
			size_t at;   /* in texts */
			bool is_cut; /* there are more */
		}) list;
		struct str texts;
		struct map by_pid; /* 1 + index in the list */
	} latest, before;
};

void environments_deinit(struct environments *environments);
void environments_take(struct environments *environments, const struct event_environment *event);

enum environments_known {
	ENVIRONMENT_UNKNOWN,
	ENVIRONMENT_IN_PART, /* of others it is not known whether there are any */
	ENVIRONMENT_WHOLE,
};

/*
 * Those of the program that the process runs, or which its parent ran that it was forked by: puts
 * the variables, with NULs behind them, behind what `ret` has.
 */
enum environments_known environments_find(
	const struct environments *environments, const struct process *process, struct str *ret);

/* How a variable of that name begins, for the programs. */
struct event_variable environments_variable(const char *name);

#endif
