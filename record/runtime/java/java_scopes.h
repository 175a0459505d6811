/* Which methods HotSpot's compiled code was made of, as it keeps it to be able to go back. */
#ifndef EBPROF_JAVA_SCOPES_H
#define EBPROF_JAVA_SCOPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/bytes.h"

/*
 * Reads them of a process, by what the BPF side sends: a struct java_scopes. `ret` gets a struct
 * runtime_inlined. In a reader's worker. False: it cannot be read.
 */
bool java_scopes_read(uint32_t pid, const void *given, size_t len, struct bytes_buf *ret);

#endif
