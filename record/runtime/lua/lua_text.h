/* Texts of Lua's functions, as both runtimes have them: names and files by the address of their
 * source, a string; lines behind two counts. */
#ifndef EBPROF_LUA_TEXT_H
#define EBPROF_LUA_TEXT_H

#include <stdbool.h>

#include "record/runtime/runtime.h"

typedef bool lua_read_lines_fn(const struct event_code *event, struct runtime_text_bytes *ret);

/* As struct runtime's read_text. */
bool lua_text_read(const struct event_code *event, enum runtime_text what,
	lua_read_lines_fn *read_lines, struct runtime_text_bytes *ret);

struct lua_line_array { /* in the process's memory */
	uint64_t address;
	size_t bytes; /* 0: there is none */
};

/* The two counts, and the arrays behind them. False: they cannot be read. */
bool lua_text_read_arrays(uint32_t pid, const uint32_t counts[2],
	const struct lua_line_array arrays[2], struct runtime_text_bytes *ret);

#endif
