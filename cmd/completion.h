/* Scripts by which shells complete command lines of ebprof, made from the rows of options. */
#ifndef EBPROF_COMPLETION_H
#define EBPROF_COMPLETION_H

#include <stdbool.h>

#include "cmd/opt.h"

/* False: that shell is not known. */
bool completion_print(
	const char *shell, const struct command *const *commands, size_t count, FILE *out);

#endif
