/* Files of other profilers where recordings are expected: they become recordings in memory. */
#ifndef EBPROF_IMPORT_INPUT_H
#define EBPROF_IMPORT_INPUT_H

#include "format/base/err.h"
#include "format/base/str.h"
#include "format/import/import.h"

/*
 * What is open at *fd is looked at; if it is a file of another profiler, *fd becomes that of a
 * recording that was made of it, and what was lost on the way is said. What comes through a pipe is
 * kept in memory for it. `path` is what messages call it. With IMPORT_AS_ROWS all is a file of
 * another profiler, and if it has no rows the error says what they are.
 */
struct err *import_input_take(const char *path, enum import_as as, int *fd) ERR_MUST_CHECK;
/* The same of what a file begins as, where nothing can be said at once: that is added to the notes,
 * a line each. */
struct err *import_input_take_noting(int *fd, struct str *notes) ERR_MUST_CHECK;
/* Of a file that can be opened. */
bool import_input_is_recording(const char *path);
/* For commands that write to the recording itself: an error that says what makes one. */
struct err *import_input_refuse(const char *path, int fd) ERR_MUST_CHECK;

#endif
