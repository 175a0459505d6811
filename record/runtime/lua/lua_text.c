#include "record/runtime/lua/lua_text.h"

#include <string.h>

#include "format/base/mem.h"
#include "format/base/str.h"
#include "record/runtime/lua/lua_lines.h"
#include "record/runtime/runtime_memory.h"

enum {
	STRING_BYTES = 24, /* where the bytes of a string begin */
	STRING_MAX_BYTES = 256,
};

/* The name of a source's file: as far as it can be read, up to its end. */
static bool read_source(uint32_t pid, uint64_t source, char text[STRING_MAX_BYTES])
{
	memset(text, 0, STRING_MAX_BYTES);
	for (size_t i = 0; i + 1 < STRING_MAX_BYTES && (!i || text[i - 1]); i++)
		if (!runtime_read_process(pid, source + STRING_BYTES + i, text + i, 1))
			return false;
	if (text[0] == '@' || text[0] == '=')
		memmove(text, text + 1, STRING_MAX_BYTES - 1);
	else
		strcpy(text, "[string]");
	return true;
}

bool lua_text_read_arrays(uint32_t pid, const uint32_t counts[2],
	const struct lua_line_array arrays[2], struct runtime_text_bytes *ret)
{
	size_t len = LUA_LINES_HEAD_BYTES + arrays[0].bytes + arrays[1].bytes;
	uint8_t *data = mem_alloc(len), *to = data + LUA_LINES_HEAD_BYTES;
	memcpy(data, counts, LUA_LINES_HEAD_BYTES);
	for (int i = 0; i < 2; to += arrays[i++].bytes) {
		if (!arrays[i].bytes ||
			runtime_read_process(pid, arrays[i].address, to, arrays[i].bytes))
			continue;
		mem_free(data);
		return false;
	}
	ret->data = data;
	ret->len = len;
	return true;
}

bool lua_text_read(const struct event_code *event, enum runtime_text what,
	lua_read_lines_fn *read_lines, struct runtime_text_bytes *ret)
{
	char source[STRING_MAX_BYTES];
	ret->unit = RUNTIME_UNIT_UTF8;
	if (what == RUNTIME_TEXT_LINES)
		return read_lines(event, ret);
	if (!read_source(event->pid, event->address[what], source))
		return false;
	CLEANUP(str_deinit) struct str out = {0};
	if (what == RUNTIME_TEXT_NAME)
		str_printf(&out, "function@%s:%u", source, event->first_line);
	else
		str_puts(&out, source);
	ret->len = out.len;
	ret->data = mem_alloc(out.len + 1);
	memcpy(ret->data, str_text(&out), out.len);
	return true;
}
