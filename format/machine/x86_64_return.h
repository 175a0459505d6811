/* A machine's find_return(), find_from_call() and find_from_begin() for x86-64. */
#ifndef EBPROF_X86_64_RETURN_H
#define EBPROF_X86_64_RETURN_H

#include "format/machine/machine.h"

bool x86_64_find_return(const struct machine_code *code, uint64_t address);
bool x86_64_find_from_call(
	const struct machine_code *code, uint64_t ra, uint64_t address, struct unwind_rule *ret);
bool x86_64_find_from_begin(
	const struct machine_code *code, uint64_t address, struct unwind_rule *ret);

#endif
