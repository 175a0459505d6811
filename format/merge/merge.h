/*
 * Several recordings become one. Two passes over each: what it is and when it was
 * made (merge_source), then what it holds, copied as it is read with other ids and
 * times (merge_copy). What is equal in several of them stands once: strings, events,
 * objects, frames, stacks, symbols. Processes and threads stay apart, each with its
 * origin: a pid says nothing beyond its boot.
 *
 * All times come to be of one clock: CLOCK_MONOTONIC of the boot that began first. Recordings
 * of one boot (by its id) have that in common; others are placed by the time of day. No time
 * becomes negative by that, and the order of the recordings does not matter.
 */
#ifndef EBPROF_MERGE_H
#define EBPROF_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/file/reader.h"
#include "format/file/writer.h"

struct merge_input {
	const char *name; /* of the file; its last part is the origin's name if no other has it */
	int fd;           /* borrowed; it can be read from its beginning again */
	bool is_open; /* its recorder still writes to it: that the end is missing is no damage */
};

struct merge_input_result {
	struct reader_result file;
	uint64_t samples;
	uint64_t dangling; /* references that led nowhere */
	uint64_t mended;   /* ticks that the counters of a cut or damaged recording lacked */
	bool is_unplaced;  /* it has no clock: its times stand as they were */
};

struct merge_result {
	struct merge_input_result *inputs; /* one each, in their order */
	uint64_t samples;
	uint32_t origins;
	bool by_wall_clock; /* there were several boots */
};

/*
 * Of the time of day, by the clock of each input, in ns since 1970. Samples of other times are left
 * out; they count as filtered. to_ns 0: no limit. What has no clock is taken whole.
 */
struct merge_span {
	uint64_t from_ns, to_ns;
};

struct merge_options {
	const struct merge_input *inputs;
	size_t nr_inputs;
	bool takes_twice; /* do not refuse what stands in two of them */
	/*
	 * They are pieces of what one recorder saw: those of a boot have one origin, and a process
	 * that several of them have stands once.
	 */
	bool are_pieces;
	struct merge_span span;
};

/*
 * Damage is no error: what can be read is merged. Refuses a recording that comes twice (by the
 * first pair of its clocks, also inside of what was merged before), and what is no recording.
 */
struct err *merge_write(const struct merge_options *options, struct writer_sink sink,
	struct merge_result *ret) ERR_MUST_CHECK;
void merge_result_deinit(struct merge_result *result);

#endif
