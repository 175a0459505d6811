/* A machine's may_have_called(), keeps_own_stack() and begins_context() for x86-64. */
#ifndef EBPROF_X86_64_CALL_H
#define EBPROF_X86_64_CALL_H

#include "format/machine/machine.h"

bool x86_64_may_have_called(const struct machine_code *code, uint64_t ra, uint64_t address);
bool x86_64_keeps_own_stack(const struct machine_code *code, uint64_t address);
bool x86_64_begins_context(const struct machine_code *code, uint64_t address);

#endif
