/* Makes a recording complete where it stands: `archive`, and the end of `record --archive`. */
#ifndef EBPROF_ARCHIVE_FILE_H
#define EBPROF_ARCHIVE_FILE_H

#include "cmd/naming.h"
#include "report/name/archive.h"

struct archive_file_result {
	struct archive_result archived;
	uint64_t bytes; /* that the file grew by */
};

/*
 * Appends to the recording. Where that fails the file is as it was before. A recording that is
 * being made is refused.
 */
struct err *archive_file(const char *path, struct naming_options *options,
	struct archive_file_result *ret) ERR_MUST_CHECK;

/* Says what was done, on one line. */
void archive_file_say(const char *path, const struct archive_file_result *result);

#endif
