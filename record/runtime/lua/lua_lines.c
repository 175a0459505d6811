/*
 * Until 5.3, an int of each instruction. Since then, a signed byte of each, to be added to the line
 * of the instruction before; where that does not do, and every 128 instructions, there is a pair
 * of an instruction and its line instead.
 *
 * Sources: luaG_getfuncline() in ldebug.c, AbsLineInfo in lobject.h of Lua 5.4.9.
 */
#include "record/runtime/lua/lua_lines.h"

#include "format/base/bisect.h"
#include "format/base/bytes.h"

enum {
	MAX_LINE = 1 << 24,
	MAX_STEPS = 256, /* from a pair on; Lua writes one every 128 instructions (MAXIWTHABS) */
};

static uint32_t line_of_int(const uint8_t *lines, uint32_t place)
{
	struct bytes_cursor cursor = bytes_cursor(lines + (size_t)place * 4, 4);
	uint32_t line = bytes_get_u32(&cursor);
	return line < MAX_LINE ? line : 0;
}

static struct bytes_cursor whole_line_at(const uint8_t *whole, size_t index)
{
	return bytes_cursor(whole + index * LUA_WHOLE_LINE_BYTES, LUA_WHOLE_LINE_BYTES);
}

static uint32_t place_of_whole_line(const uint8_t *whole, size_t index)
{
	struct bytes_cursor cursor = whole_line_at(whole, index);
	return bytes_get_u32(&cursor);
}

/* The last pair at or before the place: *from is the instruction behind it, *line its line. */
static void find_whole(
	const uint8_t *whole, uint32_t count, uint32_t place, uint32_t *from, int64_t *line)
{
	size_t behind = bisect(count, i, place_of_whole_line(whole, i) <= place);
	if (!behind)
		return;
	struct bytes_cursor cursor = whole_line_at(whole, behind - 1);
	*from = bytes_get_u32(&cursor) + 1;
	*line = (int32_t)bytes_get_u32(&cursor);
}

uint32_t lua_line_of(const struct runtime_lines *lines, uint32_t place)
{
	struct bytes_cursor cursor = bytes_cursor(lines->bytes, lines->len);
	uint32_t count = bytes_get_u32(&cursor), whole = bytes_get_u32(&cursor);
	uint64_t entry = lines->version < LUA_DELTAS_VERSION ? 4 : 1;
	uint64_t left = bytes_left(&cursor);
	if (cursor.overrun || place >= count ||
		count * entry + (uint64_t)whole * LUA_WHOLE_LINE_BYTES > left)
		return 0;
	const uint8_t *bytes = lines->bytes + LUA_LINES_HEAD_BYTES;
	if (entry == 4)
		return line_of_int(bytes, place);
	uint32_t from = 0;
	int64_t line = lines->first_line;
	find_whole(bytes + count, whole, place, &from, &line);
	if (place >= from && place - from >= MAX_STEPS)
		return 0;
	for (uint32_t i = from; i <= place; i++)
		line += (int8_t)bytes[i];
	return line > 0 && line < MAX_LINE ? (uint32_t)line : 0;
}
