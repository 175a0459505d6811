/* What a writer was given and has not sent yet: writer.c collects it, writer_flush.c sends it. */
#ifndef EBPROF_WRITER_PENDING_H
#define EBPROF_WRITER_PENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/bytes.h"
#include "format/base/str.h"
#include "format/base/vec.h"
#include "format/file/writer.h"

/* A table whose ids are handed out one by one: what waits of it. */
struct pending_table {
	struct bytes_buf body;
	uint32_t next_id; /* of the next entity */
	uint32_t count;   /* waiting */
};

enum {
	WRITER_THREAD_TIMES_NUMBERS = 9, /* of a record, as writer_thread_times() puts it */
};

struct event_samples {
	struct layout_tally waiting, written;
	bool are_values; /* they are of a source of its own */
};

struct writer {
	struct writer_sink sink;
	uint32_t sequence;
	uint64_t bytes_written, samples_written;
	bool failed;
	uint64_t max_bytes; /* 0: no limit */
	bool is_full;       /* something did not fit: only figures and the end still go out */

	struct strtab strings;
	uint32_t strings_written;

	struct bytes_buf meta;
	struct pending_table events, origins, objects, processes, threads, snapshots, labels;
	struct bytes_buf mappings, symbols, code, unwound, counters, event_counters, clocks;
	struct bytes_buf thread_times;
	struct {
		VEC(struct layout_frame) waiting;
		uint32_t next_id;
	} frames;
	struct {
		VEC(struct layout_node) waiting;
		uint32_t next_id;
	} nodes;
	VEC(struct layout_sample) samples;
	VEC(struct event_samples) by_event; /* id - 1 */

	struct bytes_buf out, payload; /* reused by every flush */
};

#endif
