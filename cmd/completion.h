/* Scripts by which shells complete command lines of ebprof, made from the rows of options. */
#ifndef EBPROF_COMPLETION_H
#define EBPROF_COMPLETION_H

#include "cmd/opt.h"

enum completion_shell {
	COMPLETION_NONE,
	COMPLETION_BASH,
	COMPLETION_ZSH,
	COMPLETION_FISH,
};

extern const struct opt_word completion_shells[];

/* `shell` is not COMPLETION_NONE. */
void completion_print(enum completion_shell shell, const struct command *const *commands,
	size_t count, FILE *out);

#endif
