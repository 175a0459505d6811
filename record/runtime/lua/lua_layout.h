/* Where Lua keeps what, by version. */
#ifndef EBPROF_LUA_LAYOUT_H
#define EBPROF_LUA_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/runtime/lua/lua_row.h"

/* False: an unknown version. `version` is 10 * major + minor. The loop's address stays 0. */
bool lua_layout_of_version(uint32_t version, uint32_t release, struct lua_row *ret);
/* Whether the BPF side may be handed it. */
bool lua_layout_is_sound(const struct lua_row *row);

#endif
