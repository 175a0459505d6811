#include "format/base/bisect.h"
#include "format/base/bytes.h"
#include "format/base/err.h"
#include "format/base/map.h"
#include "format/base/str.h"
#include "format/base/vec.h"
#include "tests/unit/unit.h"

TEST(err_wraps_and_keeps_code)
{
	struct err *err = err_wrap(err_sys(13, "open %s", "/x"), "reading %d", 7);
	CHECK_INT(err_code(err), ERR_PERMISSION);
	CHECK_INT(err_errnum(err), 13);
	CHECK_STR(err_message(err), "reading 7: open /x: Permission denied");
	err_destroy(err);
	CHECK(err_wrap(NULL, "x") == NULL);
}

TEST(map_survives_growth_and_removal)
{
	struct map map = {0};
	enum {
		COUNT = 5000
	};
	for (uint64_t i = 0; i < COUNT; i++)
		*map_put(&map, i * 64, NULL) = i;
	for (uint64_t i = 0; i < COUNT; i += 2)
		CHECK(map_remove(&map, i * 64));
	CHECK(!map_remove(&map, 0));
	CHECK_INT(map.len, COUNT / 2);
	for (uint64_t i = 0; i < COUNT; i++) {
		uint64_t *value = map_get(&map, i * 64);
		CHECK(i % 2 ? value && *value == i : !value);
	}
	size_t cursor = 0, seen = 0;
	while (map_next(&map, &cursor))
		seen++;
	CHECK_INT(seen, COUNT / 2);
	map_deinit(&map);
}

TEST(varints_round_trip)
{
	static const uint64_t values[] = {
		0, 1, 127, 128, 16383, 16384, UINT32_MAX, INT64_MAX, UINT64_MAX};
	struct bytes_buf buf = {0};
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		bytes_put_varint(&buf, values[i]);
		bytes_put_zigzag(&buf, (int64_t)values[i]);
		bytes_put_zigzag(&buf, -(int64_t)(values[i] / 2));
	}
	struct bytes_cursor cursor = bytes_cursor(buf.data, buf.len);
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		CHECK(bytes_get_varint(&cursor) == values[i]);
		CHECK(bytes_get_zigzag(&cursor) == (int64_t)values[i]);
		CHECK(bytes_get_zigzag(&cursor) == -(int64_t)(values[i] / 2));
	}
	CHECK(!cursor.overrun && bytes_left(&cursor) == 0);
	bytes_buf_deinit(&buf);
}

TEST(cursor_never_overruns)
{
	static const uint8_t bytes[] = {1, 2, 3};
	struct bytes_cursor cursor = bytes_cursor(bytes, sizeof(bytes));
	CHECK_INT(bytes_get_u16(&cursor), 0x0201);
	CHECK_INT(bytes_get_u32(&cursor), 0);
	CHECK(cursor.overrun);
	CHECK_INT(bytes_get_u8(&cursor), 0);
	static const uint8_t endless[] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	cursor = bytes_cursor(endless, sizeof(endless));
	bytes_get_varint(&cursor);
	CHECK(cursor.overrun);
	static const uint8_t huge_blob[] = {0xff, 0xff, 0xff, 0xff, 0x7f, 'x'};
	cursor = bytes_cursor(huge_blob, sizeof(huge_blob));
	size_t len = 1;
	CHECK(!bytes_get_blob(&cursor, &len) && len == 0 && cursor.overrun);
}

static void check_escaped(const char *raw, const char *want)
{
	struct str s = {0};
	str_puts_escaped(&s, raw);
	CHECK_STR(str_text(&s), want);
	str_deinit(&s);
}

TEST(escaping_leaves_nothing_that_acts)
{
	check_escaped("plain name<int, 3>", "plain name<int, 3>");
	check_escaped("\033]0;PWN\007", "\\x1b]0;PWN\\x07");
	check_escaped("a\nb\tc", "a\\x0ab\\x09c");
	check_escaped("\x9b"
		      "31m",
		"\\x9b31m"); /* a raw C1 byte is invalid UTF-8 */
	check_escaped("\xc2\x9b"
		      "31m",
		"\\xc2\\x9b31m"); /* the same C1 control, encoded */
	check_escaped("\xe2\x80\xae"
		      "abc",
		"\\xe2\\x80\\xaeabc"); /* right-to-left override */
	check_escaped("gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f");
	check_escaped("\xc0\xaf\xed\xa0\x80\xf5", "\\xc0\\xaf\\xed\\xa0\\x80\\xf5");
}

TEST(escaping_leaves_no_command_to_a_ci_service)
{
	check_escaped("a ##[error]b", "a \\x23#[error]b");
	check_escaped("###[endgroup]", "#\\x23#[endgroup]");
	check_escaped("##vso[task.complete]", "\\x23#vso[task.complete]");
	check_escaped("##teamcity[testFailed]", "\\x23#teamcity[testFailed]");
	check_escaped("a##b, ##, ## [, #[", "a##b, ##, ## [, #[");
}

TEST(strings_that_were_added_are_found)
{
	struct strtab table = {0};
	CHECK_INT(strtab_add(&table, "a", 1), 0);
	CHECK_INT(strtab_add(&table, "", 0), 1);
	CHECK_INT(strtab_intern(&table, "b", 1), 2);
	CHECK_INT(strtab_add(&table, "a longer one than that", 22), 3);
	CHECK_INT(strtab_intern(&table, "", 0), 1);
	CHECK_INT(strtab_intern(&table, "a", 1), 0);
	CHECK_INT(strtab_intern(&table, "a longer one than that", 22), 3);
	CHECK_INT(strtab_intern(&table, "a longer one than thaT", 22), 4);
	CHECK_INT(strtab_intern(&table, "b", 1), 2);
	strtab_deinit(&table);
}

TEST(strings_intern_densely)
{
	struct strtab table = {0};
	CHECK_INT(strtab_intern(&table, "a", 1), 0);
	CHECK_INT(strtab_intern(&table, "", 0), 1);
	CHECK_INT(strtab_intern(&table, "a\0b", 3), 2);
	CHECK_INT(strtab_intern(&table, "a", 1), 0);
	CHECK_INT(strtab_intern(&table, "a\0b", 3), 2);
	CHECK_STR(strtab_get(&table, 0), "a");
	CHECK_INT(table.entries.len, 3);
	strtab_deinit(&table);
}

/* Every border of every short list, and one of the longest there can be. */
TEST(bisect_finds_the_border)
{
	for (size_t count = 0; count < 20; count++)
		for (size_t border = 0; border <= count; border++)
			CHECK_INT(bisect(count, i, i < border), border);
	static const int sorted[] = {1, 3, 3, 3, 7};
	CHECK_INT(bisect(5, i, sorted[i] < 3), 1);
	CHECK_INT(bisect(5, i, sorted[i] <= 3), 4);
	CHECK_INT(bisect(5, i, sorted[i] <= 7), 5);
	CHECK_INT(bisect((size_t)-1, i, i < 12345678901), 12345678901);
}
