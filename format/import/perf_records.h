/*
 * The records of perf.data in the order of their times. perf writes those of each CPU as it gets
 * to them, so a process may be sampled ahead of what tells of its files. Compressed ones are
 * unpacked.
 */
#ifndef EBPROF_PERF_RECORDS_H
#define EBPROF_PERF_RECORDS_H

#include <stdint.h>

#include "format/import/perf_header.h"

enum perf_record_type { /* include/uapi/linux/perf_event.h, tools/lib/perf/include/perf/event.h */
	PERF_TYPE_MMAP = 1,
	PERF_TYPE_LOST = 2,
	PERF_TYPE_COMM = 3,
	PERF_TYPE_FORK = 7,
	PERF_TYPE_SAMPLE = 9,
	PERF_TYPE_MMAP2 = 10,
	PERF_TYPE_LOST_SAMPLES = 13,
	PERF_TYPE_KSYMBOL = 17,
	PERF_TYPE_ATTR = 64,
	PERF_TYPE_TRACING_DATA = 66,
	PERF_TYPE_BUILD_ID = 67,
	PERF_TYPE_AUXTRACE = 71,
	PERF_TYPE_EVENT_UPDATE = 78,
	PERF_TYPE_FEATURE = 80,
	PERF_TYPE_COMPRESSED = 81,
	PERF_TYPE_COMPRESSED2 = 83,
};

struct perf_record_place {
	uint64_t time_ns, offset; /* offset: in the file, or what was unpacked */
	uint16_t bytes;
	uint8_t type;
	bool is_unpacked;
};

struct perf_records {
	const struct import_file *file;
	struct perf_header *header;
	VEC(struct perf_record_place) places;
	struct bytes_buf unpacked;
	struct zstd_stream *zstd;
	bool is_cut;         /* the file ends inside a record */
	uint64_t cut_offset; /* ... which begins here */
	struct bytes_buf window;
	uint64_t window_offset;
};

struct perf_record {
	enum perf_record_type type;
	uint16_t misc;
	uint64_t time_ns, offset;
	struct bytes_cursor body;
};

/* Also takes from them what they tell of events and files, see perf_header.h. */
struct err *perf_records_list(struct perf_records *records, const struct import_file *file,
	struct perf_header *header) ERR_MUST_CHECK;
/* Its body is there until the next call. */
struct err *perf_records_get(
	struct perf_records *records, size_t index, struct perf_record *ret) ERR_MUST_CHECK;
void perf_records_deinit(struct perf_records *records);

/* The event that a sample, or the ids behind another record, are of; NULL: of none. */
const struct perf_event *perf_records_event(const struct perf_header *header,
	enum perf_record_type type, const uint8_t *body, size_t len);

#endif
