/* A machine's find_functions() and function_length() for x86-64. */
#ifndef EBPROF_X86_64_FUNCTIONS_H
#define EBPROF_X86_64_FUNCTIONS_H

#include "format/machine/machine.h"

void x86_64_find_functions(
	const uint8_t *bytes, size_t len, uint64_t address, struct machine_functions *ret);
size_t x86_64_function_length(const uint8_t *bytes, size_t len);

#endif
