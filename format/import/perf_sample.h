/* A sample of perf.data, by the fields that its event has. */
#ifndef EBPROF_PERF_SAMPLE_H
#define EBPROF_PERF_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/bytes.h"
#include "format/import/perf_header.h"

/* In call chains: which side the addresses behind it are of. include/uapi/linux/perf_event.h. */
enum perf_context {
	PERF_SIDE_HYPERVISOR = -32,
	PERF_SIDE_KERNEL = -128,
	PERF_SIDE_USER = -512,
	PERF_SIDE_LAST = -4095, /* larger ones (as unsigned numbers) are no addresses */
};

/* The low bits of a record's `misc`. */
enum perf_cpu_mode {
	PERF_MODE_MASK = 7,
	PERF_MODE_KERNEL = 1,
	PERF_MODE_USER = 2,
};

struct perf_sample {
	uint64_t ip, time_ns, id, period;
	uint32_t pid, tid, cpu;
	struct bytes_cursor chain; /* addresses and contexts, the innermost first */
	bool has_chain;
	/* What the CPU noted of calls, {from, to, flags} each, the last one first. */
	struct bytes_cursor branches;
	struct bytes_cursor
		registers;    /* in the order of perf's numbers, those of event->registers */
	uint64_t abi;         /* 0: there are no registers */
	const uint8_t *stack; /* NULL: there is none */
	uint64_t stack_bytes;
};

/* False: the record is too short for what its event has. The cursor stands behind its header. */
bool perf_sample_read(
	const struct perf_event *event, struct bytes_cursor *record, struct perf_sample *ret);
/* Where ids are in samples, in 8-byte words from their beginning; false: nowhere. */
bool perf_sample_id_place(const struct perf_event *event, size_t *ret);

/* When a record that is no sample was written, by the ids behind it; 0: it does not say. */
uint64_t perf_sample_time_of_other(
	const struct perf_event *event, const uint8_t *record, size_t len);

#endif
