/* What this machine knows of what was recorded, where another profiler's file does not say it. */
#ifndef EBPROF_IMPORT_HOST_H
#define EBPROF_IMPORT_HOST_H

#include "format/import/import.h"

struct import_machine;

/* `made_ns`: when the file was written, by the clock of files. */
struct import_machine *import_machine_create(uint64_t made_ns);
void import_machine_destroy(struct import_machine *machine);
/* Borrowed. */
const struct import_host *import_machine_host(const struct import_machine *machine);

#endif
