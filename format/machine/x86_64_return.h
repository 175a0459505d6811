/* A machine's find_return() for x86-64. */
#ifndef EBPROF_X86_64_RETURN_H
#define EBPROF_X86_64_RETURN_H

#include "format/machine/machine.h"

bool x86_64_find_return(const struct machine_code *code, uint64_t address);

#endif
