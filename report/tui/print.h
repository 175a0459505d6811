/* What the person wants to keep as a file. */
#ifndef EBPROF_PRINT_H
#define EBPROF_PRINT_H

#include "format/base/err.h"
#include "format/base/str.h"

/* Into a file that was not there before, which its owner alone may read: the names are theirs. */
struct err *print_write(const char *path, const struct str *text) ERR_MUST_CHECK;

#endif
