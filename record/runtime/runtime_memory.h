/* What the readers of all runtimes read of processes. */
#ifndef EBPROF_RUNTIME_MEMORY_H
#define EBPROF_RUNTIME_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory of a process that runs; false unless all of it can be read. */
bool runtime_read_process(uint32_t pid, uint64_t address, void *to, size_t len);

#endif
