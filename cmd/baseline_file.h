/* Making a baseline of the recordings that the command line names: for `baseline save` and `ci
 * run`. */
#ifndef EBPROF_BASELINE_FILE_H
#define EBPROF_BASELINE_FILE_H

#include "cmd/naming.h"
#include "report/compare/baseline/baseline_facts.h"
#include "report/compare/baseline/slim.h"

#define BASELINE_FILE_MAX_BYTES 1000000 /* unless --max-size says otherwise */

struct baseline_file_options {
	char *const *paths; /* none: ebprof.data */
	size_t nr_paths;
	struct naming_options *naming;
	uint64_t max_bytes;
	bool is_forced; /* take runs of several CPU models, too */
};

struct baseline_file {
	struct bytes_buf bytes;
	struct slim_result result;
	struct baseline_facts facts;
};

/* Says on stderr which recordings are damaged, and how. */
struct err *baseline_file_make(
	const struct baseline_file_options *options, struct baseline_file *ret) ERR_MUST_CHECK;
void baseline_file_deinit(struct baseline_file *file);

#endif
