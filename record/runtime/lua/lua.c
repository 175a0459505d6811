/*
 * Lua, whether in a program or in a library: any file that exports its interface and says its
 * version in lua_ident, as every build for modules does. The interpreter's loop is not
 * exported; it is the largest function by far that lua_callk() calls, lua_call() in 5.1.
 *
 * Sources: lapi.c of Lua 5.1.5 to 5.5.1.
 */
#include <elf.h>
#include <string.h>

#include "format/elf/elf_dynsym.h"
#include "record/runtime/lua/lua_layout.h"
#include "record/runtime/lua/lua_lines.h"
#include "record/runtime/lua/lua_loop.h"
#include "record/runtime/lua/lua_text.h"
#include "record/runtime/runtime.h"
#include "record/runtime/runtime_memory.h"

enum symbol {
	IDENT, /* the first: without it nothing else is looked for */
	CALL,
	CALL_OF_51,
	SYMBOLS
};

static const char *const names[SYMBOLS] = {
	[IDENT] = "lua_ident",
	[CALL] = "lua_callk",
	[CALL_OF_51] = "lua_call",
};

/* ---- which version ---- */

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

/* "$LuaVersion: Lua 5.4.4  Copyright", "$Lua: Lua 5.1.5 Copyright": 10 * major + minor, 0: unknown.
 */
static uint32_t lua_find_version(
	struct elf_file *elf, const struct elf_dynsym *ident, uint32_t *release)
{
	static const char head[] = ": Lua ";
	enum {
		HEAD = sizeof(head) - 1,
		DIGITS = 5,
		BYTES = 24,
	};
	uint8_t text[BYTES];
	if (!ident->address || !runtime_file_read(elf, ident->address, text, sizeof(text)))
		return 0;
	const uint8_t *digit = memmem(text, BYTES - DIGITS, head, HEAD);
	if (!digit)
		return 0;
	digit += HEAD;
	if (!is_digit(digit[0]) || !is_digit(digit[2]) || !is_digit(digit[4]))
		return 0;
	*release = digit[4] - (uint32_t)'0';
	return (digit[0] - (uint32_t)'0') * 10 + digit[2] - '0';
}

static struct err *lua_detect(struct elf_file *elf, struct runtime_file *file, bool *is_found)
{
	struct elf_dynsym symbols[SYMBOLS];
	struct lua_row *row = (void *)file->row.words;
	uint32_t release = 0;
	if (elf_file_machine(elf) != EM_X86_64 && elf_file_machine(elf) != EM_AARCH64)
		return NULL;
	try(elf_dynsym_find(elf, names, SYMBOLS, symbols));
	uint32_t version = lua_find_version(elf, &symbols[IDENT], &release);
	file->is_runtime = symbols[IDENT].address;
	uint64_t call = symbols[version == 51 ? CALL_OF_51 : CALL].address;
	if (!call || !lua_layout_of_version(version, release, row))
		return NULL;
	try(lua_loop_find(elf, call, &file->loop_start, &file->loop_end, is_found));
	row->loop = file->loop_start;
	return NULL;
}

static void lua_place_of(struct runtime_row *row, uint64_t address_to_file)
{
	struct lua_row *lua = (void *)row->words;
	lua->loop += address_to_file;
}

static bool lua_is_sound(const struct runtime_row *row)
{
	return lua_layout_is_sound((const void *)row->words);
}

/* ---- texts ---- */

enum {
	MAX_LINES = 1 << 18,
};

static bool lua_read_lines(const struct event_code *event, struct runtime_text_bytes *ret)
{
	struct lua_row row;
	uint8_t proto[LUA_PROTO_BYTES];
	uint32_t count, whole = 0;
	uint64_t lines, whole_lines;
	if (!lua_layout_of_version(event->version, 0, &row) ||
		!runtime_read_process(
			event->pid, event->address[RUNTIME_TEXT_LINES], proto, sizeof(proto)))
		return false;
	memcpy(&count, proto + row.proto_nr_lines, sizeof(count));
	memcpy(&lines, proto + row.proto_lines, sizeof(lines));
	memcpy(&whole_lines, proto + row.proto_whole_lines, sizeof(whole_lines));
	bool is_deltas = row.flags & LUA_LINES_ARE_DELTAS;
	if (is_deltas)
		memcpy(&whole, proto + row.proto_nr_whole_lines, sizeof(whole));
	if (count > MAX_LINES || whole > MAX_LINES)
		return false;
	const struct lua_line_array arrays[2] = {{lines, (size_t)count * (is_deltas ? 1 : 4)},
		{whole_lines, (size_t)whole * LUA_WHOLE_LINE_BYTES}};
	return lua_text_read_arrays(event->pid, (uint32_t[2]){count, whole}, arrays, ret);
}

static bool lua_read_text(
	const struct event_code *event, enum runtime_text what, struct runtime_text_bytes *ret)
{
	return lua_text_read(event, what, lua_read_lines, ret);
}

const struct runtime lua_runtime = {
	.version = 2,
	.name = "lua",
	.object = "[lua]",
	.detect = lua_detect,
	.place = lua_place_of,
	.is_sound = lua_is_sound,
	.line_of = lua_line_of,
	.read_text = lua_read_text,
};
