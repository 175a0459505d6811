/* Points in time as people write them on a command line. */
#ifndef EBPROF_MOMENT_H
#define EBPROF_MOMENT_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"

/*
 * The time of day, in ns since 1970, that the first `len` bytes of the text mean at `now_ns`:
 *
 *   14:05, 14:05:30.5       the first time behind `from_ns` that it is so late, by the local clock
 *   2026-11-26T14:05        local, with a space or a T; with a Z behind it UTC
 *   2026-11-26              its first moment
 *   30m, 30m ago, now       so long before now
 *   @1795701900             seconds since 1970
 */
struct err *moment_parse(const char *text, size_t len, uint64_t now_ns, uint64_t from_ns,
	uint64_t *ret) ERR_MUST_CHECK;
/* A day before by the local clock: times of day that came last are behind that. */
uint64_t moment_day_before(uint64_t ns);

#endif
