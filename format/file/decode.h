/*
 * What the reader's decoders share: each reads the payload of one type of chunk, checks it, and
 * hands what is in it to the visitor.
 */
#ifndef EBPROF_DECODE_H
#define EBPROF_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/bytes.h"
#include "format/file/reader.h"
#include "format/file/sample_decoder.h"

enum {
	/* Roughly, of each entity. */
	KEPT_META = 64,
	KEPT_MAPPING = 64,
	KEPT_SAMPLE = 64,
	KEPT_SYMBOL = 48,
	KEPT_CODE = 96, /* with the nodes that it may split */
	KEPT_UNWOUND = 48,
	KEPT_TALLY = 64,
	KEPT_THREAD_TIMES = sizeof(struct layout_thread_times),
	KEPT_SEGMENT = sizeof(struct layout_segment),
	KEPT_CHAIN_BYTE = 10, /* a frame takes 6 in the file at least */
};

/* Where ids are handed out one after the other. */
enum table {
	TABLE_STRINGS,
	TABLE_EVENTS,
	TABLE_OBJECTS,
	TABLE_PROCESSES,
	TABLE_THREADS,
	TABLE_FRAMES,
	TABLE_NODES,
	TABLE_SNAPSHOTS,
	TABLE_ORIGINS,
	TABLE_LABELS,
	TABLE_COUNT,
};

struct reader {
	const struct reader_visitor *visitor;
	void *context;
	struct reader_result *result;
	uint32_t next_id[TABLE_COUNT];
	uint64_t kept; /* so far, in bytes */
	uint32_t nr_meta;
	const struct decoded_samples *samples; /* of the chunk, if it has some */
};

/* Reads one payload; NULL when it was sound, else what is wrong with it: static text. */
typedef const char *decode_fn(struct reader *reader, struct bytes_cursor *cursor);

#define DECODE_TOO_MUCH "more entities than a recording of this size can hold"

/* False: a consumer would have to keep too much, for a file of this size. 32 bits each. */
bool decode_keep(struct reader *reader, uint64_t count, uint64_t bytes_each);
/*
 * "First id, count" of a table, which have to continue it: NULL, and every entity of them takes a
 * byte at least; or a fault.
 */
const char *decode_ids(struct reader *reader, struct bytes_cursor *cursor, enum table table,
	uint32_t *first_id, uint32_t *count);

/* What samples refer to: decode_entities.c */
decode_fn decode_meta, decode_strings, decode_events, decode_objects, decode_origins,
	decode_processes, decode_threads, decode_mappings;
/* Samples, and what is known of the places in their stacks: decode_samples.c */
decode_fn decode_frames, decode_stacks, decode_samples, decode_snapshots, decode_symbols,
	decode_code, decode_unwound, decode_chains, decode_labels;

#endif
