/*
 * Where the arguments of a USDT probe are, from the text of its note to what the BPF side reads.
 */
#ifndef EBPROF_USDT_ARGUMENT_H
#define EBPROF_USDT_ARGUMENT_H

#include <stdbool.h>

#include "bpf/runtime/shadow_place.h"
#include "format/machine/machine.h"

/*
 * The argument of this number, from 0, of a file for this machine. False: there is none, or it is
 * none that can be read.
 */
bool usdt_argument_parse(const struct machine *machine, const char *arguments, unsigned number,
	struct shadow_argument *ret);

#endif
