/*
 * What transfers under way have written so far: libdebuginfod removes it when a transfer ends, but
 * not when the process does. It would stand in its cache for a week, under another name each time.
 *
 * Source: elfutils 0.188, debuginfod_query_server (mkstemp of "NAME.XXXXXX"); client cleanup after
 * max_unused_age_s.
 */
#ifndef EBPROF_DEBUGINFOD_UNFINISHED_H
#define EBPROF_DEBUGINFOD_UNFINISHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Removes such files of this process, from any thread or signal handler. It is about to end. */
void debuginfod_unfinished_remove(void);

/*
 * Bytes of the largest such file of this build ID. The library tells how many came over the
 * network, before it unpacked them.
 */
uint64_t debuginfod_unfinished_bytes(const uint8_t *build_id, size_t len);

/* Whether this is the path of such a file. */
bool debuginfod_unfinished_is(const char *path);

#endif
