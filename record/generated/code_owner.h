/*
 * What generated code is called that nothing names: by the file that calls it. A library that
 * compiles regular expressions, or an interpreter with a compiler that tells nobody its names,
 * enters its code by calls of its own, so the next frame of a file in the stack says whose it is.
 */
#ifndef EBPROF_CODE_OWNER_H
#define EBPROF_CODE_OWNER_H

#include "bpf/runtime/runtime_row.h"

/*
 * As a frame's name: "[pcre2 jit]"; constant. NULL: a file of this path, which has this runtime or
 * RUNTIME_NONE, does not tell, since others' code may be called from there, too.
 */
const char *code_owner_of_caller(const char *path, enum runtime_kind kind);

#endif
