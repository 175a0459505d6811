/* From instructions of Lua to lines. */
#ifndef EBPROF_LUA_LINES_H
#define EBPROF_LUA_LINES_H

#include <stdint.h>

#include "record/runtime/runtime.h"

enum {
	LUA_LINES_HEAD_BYTES = 8, /* how many lines there are, and how many whole ones */
	LUA_WHOLE_LINE_BYTES = 8,
	LUA_FIRST_VERSION = 51,
	LUA_DELTAS_VERSION = 54, /* from here on */
	LUA_LAST_VERSION = 55,
};

/* 0: the place has none, or the table makes no sense. */
uint32_t lua_line_of(const struct runtime_lines *lines, uint32_t place);

#endif
