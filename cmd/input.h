/* The recording that a command works on. */
#ifndef EBPROF_INPUT_H
#define EBPROF_INPUT_H

#include "format/base/err.h"
#include "report/profile.h"
#include "report/symbol/symbol_file.h"

/*
 * Loads the file of -i (may be NULL), or of the first operand argv[rest], or
 * ebprof.data; "-" is standard input. Says on stderr what is damaged or cut. `files` may be NULL,
 * see profile_load().
 */
struct err *input_load(const char *option, int argc, char **argv, int rest,
	const struct symbol_file_options *files, struct profile **ret);

/* The parts of it, for commands that do more with the file. `flags` are open()'s. */
struct err *input_choose(
	const char *option, int argc, char **argv, int rest, const char **ret) ERR_MUST_CHECK;
struct err *input_open(const char *path, int flags, int *ret) ERR_MUST_CHECK;
/* "-" is standard input. */
struct err *input_open_or_stdin(const char *path, int *ret) ERR_MUST_CHECK;
struct err *input_load_open(const char *path, int fd, const struct symbol_file_options *files,
	struct profile **ret) ERR_MUST_CHECK;

#endif
