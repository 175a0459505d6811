/* The second pass: what a recording holds goes to a writer, with the ids and times of the merged
 * one. */
#ifndef EBPROF_MERGE_COPY_H
#define EBPROF_MERGE_COPY_H

#include "format/base/map.h"
#include "format/base/str.h"
#include "format/merge/merge_chains.h"
#include "format/merge/merge_counters.h"
#include "format/merge/merge_source.h"

/* By an id of the recording that is read: the one that it has in the output; 0: not there. */
struct merge_ids {
	uint32_t *data;
	size_t len, cap;
};

struct merge_copy {
	struct writer *writer;
	bool are_pieces; /* see merge_options */
	struct err *err; /* of the output; nothing more is copied then */
	/* What stands in the output, so that it comes once. Index + 1 is the id. */
	struct strtab events, objects, frames, labels;
	struct strtab joined_processes, joined_threads; /* of pieces; entries: ids of the output */
	VEC(uint32_t) joined_process_ids;
	VEC(uint32_t) joined_thread_ids;
	struct strtab symbols;
	struct map nodes; /* parent << 32 | frame -> id */
	struct merge_counters counters;
	struct merge_chains chains;
	uint64_t end_ns;

	/* Of the recording that is read: */
	struct merge_source *source;
	struct merge_ids strings, source_events, source_objects, processes, threads, source_frames,
		source_nodes, snapshots, source_labels;
	struct merge_ids counted_as;   /* of its events: the source in merge_counters */
	struct merge_samples samples;  /* by these */
	struct merge_samples left_out; /* likewise: of times that are not wanted */
	uint32_t unit_of_hits;         /* its string; 0: it has none */
	uint32_t lost_process;         /* of threads that lack theirs; 0: none yet */
	uint32_t lost_thread;          /* of such samples */
	struct merge_counters source_counters;
};

/* The origins of the source have their ids. An error waits for merge_copy_finish(). */
void merge_copy_source(struct merge_copy *copy, struct merge_source *source);
/* What is written last: chains, counters, the end. */
struct err *merge_copy_finish(struct merge_copy *copy) ERR_MUST_CHECK;
void merge_copy_deinit(struct merge_copy *copy);

#endif
