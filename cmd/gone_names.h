/*
 * Names of files that cannot be found later go into the recording at its end, without being asked
 * for: of programs that were deleted or built anew, of memory files, of what only a container saw;
 * and, where there is little to do, of programs that may be built anew. In a process of its own,
 * which is ended when it takes too long.
 */
#ifndef EBPROF_GONE_NAMES_H
#define EBPROF_GONE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "record/task/kept_files.h"

struct gone_names_options {
	const char *path;        /* of the recording */
	uint64_t max_file_bytes; /* that it may have; 0: any */
	uint64_t since_ns;       /* when the recording was to end, CLOCK_MONOTONIC */
	uint64_t time_ns;        /* how long it may take; 0: what is left of 1.8 s since then */
	bool with_rebuilt;       /* also kept_file.is_here */
	bool quiet;
};

/* Says what was done, and what was given up: then the recording is as it was. */
void gone_names_archive(const struct gone_names_options *options, const struct kept_files *files);

#endif
