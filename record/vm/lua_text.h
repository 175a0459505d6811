/* Names and files of Lua's functions, by the address of their source: a string, in both runtimes.
 */
#ifndef EBPROF_LUA_TEXT_H
#define EBPROF_LUA_TEXT_H

#include <stdbool.h>

#include "record/vm/runtime.h"

/* As vm_runtime.read_text, of everything but the lines. */
bool lua_text_read(const struct event_vm_code *event, enum vm_text what, struct vm_text_bytes *ret);

#endif
