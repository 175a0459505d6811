/* What the readers of all runtimes read of processes. */
#ifndef EBPROF_RUNTIME_MEMORY_H
#define EBPROF_RUNTIME_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory of a process that runs; false unless all of it can be read. */
bool runtime_read_process(uint32_t pid, uint64_t address, void *to, size_t len);

enum {
	RUNTIME_MAX_PARTS = 64,
};

/* `len` bytes of each of up to so many addresses, one behind the other, most often with one system
 * call. What cannot be read is zero. */
void runtime_read_parts(
	uint32_t pid, const uint64_t *addresses, size_t count, size_t len, uint8_t *to);

#endif
