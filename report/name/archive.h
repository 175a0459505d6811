/*
 * Puts into a recording what is needed to read it anywhere: the names, lines and
 * inlined functions of the places that were sampled, and the stacks that were left
 * to be unwound. Nothing that stands in the recording is changed; what is new
 * follows behind it.
 */
#ifndef EBPROF_ARCHIVE_H
#define EBPROF_ARCHIVE_H

#include <stdint.h>

#include "format/base/err.h"
#include "format/file/writer.h"
#include "report/model/profile.h"

struct archive_result {
	uint64_t places, unknown; /* sampled places; those that nothing here knows */
	uint64_t stacks;          /* that were unwound here */
	uint32_t objects;         /* whose names were written */
};

/*
 * Writes what continues the recording that `profile` was loaded from; symbolized, and as nothing
 * was filtered out of it. A damaged recording gets its chains, but its stacks stay as they are:
 * ids that were lost must not come to mean something else.
 */
struct err *archive_write(const struct profile *profile, struct writer_sink sink,
	struct archive_result *ret) ERR_MUST_CHECK;

#endif
