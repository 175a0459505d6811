/* A machine's find_return(), may_have_called() and find_from_call() for arm64. */
#ifndef EBPROF_ARM64_RETURN_H
#define EBPROF_ARM64_RETURN_H

#include "format/machine/machine.h"

bool arm64_find_return(const struct machine_code *code, uint64_t address);
bool arm64_may_have_called(const struct machine_code *code, uint64_t ra, uint64_t address);
bool arm64_find_from_call(
	const struct machine_code *code, uint64_t ra, uint64_t address, struct unwind_rule *ret);

#endif
