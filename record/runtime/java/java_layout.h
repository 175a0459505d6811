/* Where HotSpot keeps what, as the tables say that it fills when it starts. */
#ifndef EBPROF_JAVA_LAYOUT_H
#define EBPROF_JAVA_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/runtime/runtime_row.h"

/*
 * Completes a row by what process `pid` has in memory; address + delta is a place as in the row.
 * False: the tables are not there yet, or lack what nothing can be found without.
 */
bool java_layout_complete(uint32_t pid, uint64_t delta, struct runtime_row *row);

#endif
