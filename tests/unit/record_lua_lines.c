/* Line tables of Lua, by what luac -l says of them. */
#include "record/runtime/lua/lua_lines.h"

#include <string.h>

#include "record/runtime/runtime.h"
#include "tests/unit/unit.h"

static uint32_t line_at(
	uint8_t version, uint32_t first, const char *bytes, size_t len, uint32_t place)
{
	struct runtime_lines lines = {version, first, (const uint8_t *)bytes, len};
	return lua_line_of(&lines, place);
}

TEST(lines_of_ints)
{
	static const char table[] = "\2\0\0\0\0\0\0\0\7\0\0\0\1\1\0\0";
	CHECK_INT(line_at(53, 1, table, 16, 0), 7);
	CHECK_INT(line_at(51, 1, table, 16, 0), 7);
	CHECK_INT(line_at(52, 1, table, 16, 1), 257);
	CHECK_INT(line_at(53, 1, table, 16, 2), 0);
	CHECK_INT(line_at(53, 1, table, 15, 0), 0); /* cut */
}

/* Four instructions; the third has its line in a pair of its own. */
TEST(lines_of_deltas_go_on_from_whole_ones)
{
	static const char table[] = "\4\0\0\0\1\0\0\0\1\xff\x80\2\2\0\0\0\x2c\1\0\0";
	CHECK_INT(line_at(54, 10, table, 20, 0), 11);
	CHECK_INT(line_at(55, 10, table, 20, 0), 11);
	CHECK_INT(line_at(54, 10, table, 20, 1), 10);
	CHECK_INT(line_at(54, 10, table, 20, 2), 300);
	CHECK_INT(line_at(54, 10, table, 20, 3), 302);
	CHECK_INT(line_at(54, 10, table, 20, 4), 0);
	CHECK_INT(line_at(54, 10, table, 19, 3), 0);
	CHECK_INT(line_at(54, 10, table, 7, 0), 0);
	CHECK_INT(line_at(54, 10, "", 0, 0), 0);
}

TEST(counts_that_overflow_are_refused)
{
	static const char table[] = "\xff\xff\xff\xff\xff\xff\xff\xff\1";
	CHECK_INT(line_at(54, 1, table, 9, 0), 0);
	CHECK_INT(line_at(53, 1, table, 9, 0x3fffffff), 0);
}

static uint32_t jit_line_at(uint32_t first, const char *bytes, size_t len, uint32_t place)
{
	struct runtime_lines lines = {21, first, (const uint8_t *)bytes, len};
	return luajit_runtime.line_of(&lines, place);
}

/* The first instruction is the function's head, of no entry. */
TEST(lines_of_luajit_have_the_width_that_they_need)
{
	static const char narrow[] = "\3\0\0\0\5\0\0\0\1\2", wide[] = "\3\0\0\0\0\1\0\0\1\0\0\1";
	CHECK_INT(jit_line_at(10, narrow, 10, 0), 10);
	CHECK_INT(jit_line_at(10, narrow, 10, 1), 11);
	CHECK_INT(jit_line_at(10, narrow, 10, 2), 12);
	CHECK_INT(jit_line_at(10, wide, 12, 1), 11);
	CHECK_INT(jit_line_at(10, wide, 12, 2), 266);
	CHECK_INT(jit_line_at(10, narrow, 9, 2), 10); /* cut: the function's line */
	CHECK_INT(jit_line_at(10, narrow, 7, 1), 0);
}

/* Lua writes a pair every 128 instructions; a table without them is none that it made. */
TEST(deltas_are_added_up_from_a_pair_that_is_near)
{
	static char table[LUA_LINES_HEAD_BYTES + 1000] = "\xe8\3\0\0\0\0\0\0";
	CHECK_INT(line_at(54, 7, table, sizeof(table), 100), 7);
	CHECK_INT(line_at(54, 7, table, sizeof(table), 999), 0);
}
