/* Where in a function a probe of its calls stands: offsets in the file, of instructions at which
 * arguments and stack are as at the entry. */
#ifndef EBPROF_PROBE_PLACE_H
#define EBPROF_PROBE_PLACE_H

#include <stdint.h>

#include "format/elf/elf_file.h"

/* `entry`: that of the first instruction, which is what these return where they know no better. */

/* One that costs less to probe. */
uint64_t probe_place_cheap(const struct elf_file *elf, uint64_t entry);

/*
 * One that each call comes to once. A function of Go that is short of stack begins anew when it has
 * some. It also does where the collector asks the thread to stop, again and again for as long as it
 * may not, as in the allocator.
 */
uint64_t probe_place_once(struct elf_file *elf, uint64_t entry);

#endif
