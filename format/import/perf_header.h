/*
 * What stands around the events of perf.data: which events were asked for, and what perf noted of
 * the machine. Source: tools/perf/Documentation/perf.data-file-format.txt of the kernel.
 */
#ifndef EBPROF_PERF_HEADER_H
#define EBPROF_PERF_HEADER_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/map.h"
#include "format/base/str.h"
#include "format/import/import_file.h"

#define PERF_MAGIC "PERFILE2"

enum {
	PERF_MAGIC_BYTES = 8,
	PERF_BUILD_ID_BYTES = 20, /* room for one; shorter ones say so */
};

/* Bits of sample_type that matter here: include/uapi/linux/perf_event.h. */
enum perf_sample_bit {
	PERF_HAS_IP = 1 << 0,
	PERF_HAS_TID = 1 << 1,
	PERF_HAS_TIME = 1 << 2,
	PERF_HAS_ADDR = 1 << 3,
	PERF_HAS_READ = 1 << 4,
	PERF_HAS_CALLCHAIN = 1 << 5,
	PERF_HAS_ID = 1 << 6,
	PERF_HAS_CPU = 1 << 7,
	PERF_HAS_PERIOD = 1 << 8,
	PERF_HAS_STREAM_ID = 1 << 9,
	PERF_HAS_RAW = 1 << 10,
	PERF_HAS_BRANCHES = 1 << 11,
	PERF_HAS_REGISTERS = 1 << 12,
	PERF_HAS_STACK = 1 << 13,
	PERF_HAS_IDENTIFIER = 1 << 16,
};

struct perf_event {
	uint32_t type;
	uint64_t config, sample_type, read_format, branch_type, registers;
	uint64_t period;       /* 0: it varies */
	uint32_t frequency_hz; /* 0: every `period` events */
	uint16_t max_stack;    /* 0: perf's usual one */
	bool has_build_ids;    /* in its mappings, where they say so */
	bool has_sample_ids;   /* behind the records that are no samples */
	char *name;            /* NULL: not in the file */
};

struct perf_build_id {
	uint8_t bytes[PERF_BUILD_ID_BYTES];
	uint32_t len;
};

struct perf_header {
	bool is_pipe; /* what follows tells of the events, too */
	uint64_t data_offset, data_bytes;
	bool is_unfinished; /* perf was killed: there is no end and are no features */
	VEC(struct perf_event) events;
	struct map events_by_id;             /* -> index */
	struct strtab paths;                 /* with a build ID */
	VEC(struct perf_build_id) build_ids; /* of each path */
	char *host, *kernel, *version, *arch;
	char *command, *args; /* what was profiled, if that is known; perf's words and all others */
	bool is_of_system;    /* of all processes, whatever the command is */
	uint32_t cpus;
	bool has_clock;
	struct layout_clock clock; /* the same instant by the clock of the events and of the day */
};

struct err *perf_header_read(
	struct perf_header *header, const struct import_file *file) ERR_MUST_CHECK;
void perf_header_deinit(struct perf_header *header);

/* An event's attributes, as the kernel has them; false: they are too short. */
bool perf_header_add_event(struct perf_header *header, struct bytes_cursor *attr);
/* Its ids are all that is left of the cursor; `index` is that of the event. */
void perf_header_add_ids(struct perf_header *header, size_t index, struct bytes_cursor *ids);
/* A section of features, by its number. What breaks its layout is left out. */
void perf_header_add_feature(
	struct perf_header *header, unsigned feature, const uint8_t *bytes, size_t len);
/* A record of a build ID, behind its header; `misc` is that one's. */
void perf_header_add_build_id(
	struct perf_header *header, uint16_t misc, struct bytes_cursor *record);
/* NULL: none is known of a file of this path. */
const struct perf_build_id *perf_header_build_id(
	const struct perf_header *header, const char *path, size_t len);
/* What the event is called, without modifiers that do not tell what it counts. */
void perf_header_put_name(const struct perf_event *event, struct str *out);

#endif
