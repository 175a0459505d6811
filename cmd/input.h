/* The recording that a command works on. */
#ifndef EBPROF_INPUT_H
#define EBPROF_INPUT_H

#include "format/base/err.h"
#include "report/profile.h"

/*
 * Loads the file of -i (may be NULL), or of the first operand argv[rest], or
 * ebprof.data; "-" is standard input. Says on stderr what is damaged or cut.
 */
struct err *input_load(const char *option, int argc, char **argv, int rest, struct profile **ret);

#endif
