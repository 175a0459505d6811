/*
 * The stubs of HotSpot by their own names: it keeps a list of them, for its reports of errors, of
 * which the tables for debuggers say nothing.
 */
#ifndef EBPROF_JAVA_STUBS_H
#define EBPROF_JAVA_STUBS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/bytes.h"

/*
 * The address of the variable that points to the list: it lies among the virtual machine's own,
 * near `variable`, and the list has the stub in which `call_stub_return` is. 0: not found.
 */
uint64_t java_stubs_find(uint32_t pid, uint64_t variable, uint64_t call_stub_return);

/*
 * Reads which stubs a piece of code has, by what the BPF side sends: a struct java_stubs. `ret`
 * gets a struct runtime_inlined. In a reader's worker. False: it cannot be read.
 */
bool java_stubs_read(uint32_t pid, const void *given, struct bytes_buf *ret);

#endif
