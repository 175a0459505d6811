/*
 * What Python calls its threads: threading.Thread(name=...). The kernel has none of these names
 * before 3.14, and their first 15 bytes from there on.
 */
#ifndef EBPROF_PYTHON_THREADS_H
#define EBPROF_PYTHON_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/runtime/runtime_row.h"
#include "format/base/bytes.h"

/* As struct runtime's read_threads. */
bool python_threads_read(
	uint32_t pid, uint64_t delta, const struct runtime_row *row, struct bytes_buf *ret);

#endif
