/*
 * What Java calls its threads. The kernel keeps 15 bytes of a name: HotSpot cuts longer ones there,
 * or leaves the middle out ("ForkJoi..orker-1", from 23 on). The whole name is an object of the
 * heap, so only a living process tells it.
 */
#ifndef EBPROF_JAVA_THREADS_H
#define EBPROF_JAVA_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/runtime/runtime_row.h"
#include "format/base/bytes.h"

/* As struct runtime's read_threads. */
bool java_threads_read(
	uint32_t pid, uint64_t delta, const struct runtime_row *row, struct bytes_buf *ret);

#endif
