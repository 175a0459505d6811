/*
 * A baseline: the runs of one program as a recording that is small, and needs no other file. What
 * is compared later is kept: the samples of each run and their weights, stacks, functions, inlined
 * functions, lines. What only tells one run is left out: when and on which CPU a sample was taken,
 * which of the threads of one name it was, what was mapped where, which instruction of a line, who
 * ended a wait.
 *
 * Every run keeps its first and its last time.
 */
#ifndef EBPROF_SLIM_H
#define EBPROF_SLIM_H

#include <stdint.h>

#include "format/base/bytes.h"
#include "format/base/err.h"
#include "report/model/profile.h"

struct slim_options {
	uint64_t max_bytes; /* rare stacks are cut until it is that small; 0: as large as it is */
};

struct slim_result {
	uint64_t runs, samples;
	uint64_t cut_samples; /* whose stacks lost frames */
	uint64_t cut_below;   /* ... which fewer samples had; 0: none was cut */
};

/*
 * Appends the baseline of all that `profile` has, which is symbolized and not empty, to `out`. The
 * same runs make the same bytes. Refuses what is too large even without stacks.
 */
struct err *slim_write(const struct profile *profile, const struct slim_options *options,
	struct bytes_buf *out, struct slim_result *ret) ERR_MUST_CHECK;

#endif
