/* Files without a name, in memory: for recordings that are made on the way. */
#ifndef EBPROF_CMD_MEMORY_FILE_H
#define EBPROF_CMD_MEMORY_FILE_H

#include <stdio.h>

#include "format/base/err.h"
#include "format/merge/merge.h"

struct err *memory_file_create(FILE **ret) ERR_MUST_CHECK;
/* Borrowed. */
struct writer_sink memory_file_sink(FILE *file);
/* All that can be read from `fd`. */
struct err *memory_file_fill(FILE *file, int fd) ERR_MUST_CHECK;
/* Closes the file; *ret is a descriptor of what was written, at its beginning. */
struct err *memory_file_finish(FILE *file, int *ret) ERR_MUST_CHECK;

#endif
