/* Opening a file that the command line names. */
#ifndef EBPROF_INPUT_FILE_H
#define EBPROF_INPUT_FILE_H

#include "format/base/err.h"

/* `flags` are open()'s. Refuses folders; without an ebprof.data it says how to make one. */
struct err *input_file_open(const char *path, int flags, int *ret) ERR_MUST_CHECK;
/* To read; "-" is standard input. */
struct err *input_file_open_or_stdin(const char *path, int *ret) ERR_MUST_CHECK;

#endif
