/* Where baseline code of V8 is in its bytecodes, and where characters are in lines. */
#include <string.h>

#include "record/runtime/node/node_bytecodes.h"
#include "record/runtime/node/node_lines.h"
#include "tests/unit/unit.h"

/* src/interpreter/bytecodes.h: 0 Wide, 1 ExtraWide, 11 Ldar (register), 12 LdaZero, 13 LdaSmi
 * (immediate): operands of one byte, which these two ahead of them make two or four. */
static const uint8_t bytecodes[] = {12, 13, 42, 0, 13, 0x34, 0x12, 1, 13, 1, 2, 3, 4, 11, 0xfb};

TEST(baseline_places_follow_the_bytecodes)
{
	static const uint8_t table[] = {5, 3, 4, 5, 6, 0x80, 0x01}; /* the last: 128 */
	static const uint32_t at[] = {0, 1, 3, 7, 13}, end[] = {8, 12, 17, 23, 151};
	static const uint8_t versions[][2] = {{10, 2}, {11, 3}, {12, 4}, {13, 6}, {14, 6}};
	for (size_t v = 0; v < sizeof(versions) / sizeof(*versions); v++) {
		struct node_baseline_places places;
		CHECK(node_baseline_places_init(&places, versions[v][0], versions[v][1], bytecodes,
			sizeof(bytecodes), table, sizeof(table)));
		for (size_t i = 0; i < 5; i++) {
			CHECK(node_baseline_places_next(&places));
			CHECK_INT(places.bytecode, at[i]);
			CHECK_INT(places.start, i ? end[i - 1] : 5);
			CHECK_INT(places.end, end[i]);
		}
		CHECK(!node_baseline_places_next(&places));
	}
}

TEST(baseline_places_end_where_nothing_makes_sense)
{
	static const uint8_t table[] = {5, 3, 4}, none[] = {250}, wide[] = {0};
	struct node_baseline_places places;
	CHECK(!node_baseline_places_init(&places, 9, 9, bytecodes, 1, table, 3));
	CHECK(!node_baseline_places_init(&places, 13, 6, bytecodes, 1, table, 0));
	CHECK(node_baseline_places_init(&places, 13, 6, none, 1, table, 3));
	CHECK(!node_baseline_places_next(&places));
	CHECK(node_baseline_places_init(&places, 13, 6, wide, 1, table, 3));
	CHECK(!node_baseline_places_next(&places));
	CHECK(node_baseline_places_init(&places, 13, 6, bytecodes, sizeof(bytecodes), table, 2));
	CHECK(node_baseline_places_next(&places));
	CHECK(!node_baseline_places_next(&places)); /* the table is over */
}

/* "ab\ncdef\n" and what follows: a line's end is of the line. */
TEST(node_lines_are_found_by_characters)
{
	struct node_lines lines = {0};
	CHECK_INT(node_lines_find(&lines, 0), 0);
	vec_push(&lines.ends, 2);
	vec_push(&lines.ends, 7);
	vec_push(&lines.ends, 9);
	static const uint32_t wants[] = {1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 0};
	for (uint32_t i = 0; i < sizeof(wants) / sizeof(*wants); i++)
		CHECK_INT(node_lines_find(&lines, i), wants[i]);
	vec_deinit(&lines.ends);
}

/* src/codegen/source-position-table.cc: signed steps, in bits from the lowest; a negative one ahead
 * is ~step, of an expression. */
TEST(node_positions_go_on_by_steps)
{
	static const uint8_t bytes[] = {0x08, 0x14, /* 4 on, 10 on */
		0x05, 0x03,                         /* ~2: of an expression; 2 back */
		0x80, 0x02, 0x00};                  /* 128 on */
	static const int64_t places[] = {4, 6, 134}, positions[] = {10, 8, 8};
	struct node_row row = {.version = 12};
	struct bytes_cursor cursor = bytes_cursor(bytes, sizeof(bytes));
	int64_t place = 0, position = 0;
	for (size_t i = 0; i < 3; i++) {
		node_lines_next_position(&row, &cursor, &place, &position);
		CHECK_INT(place, places[i]);
		CHECK_INT(position, positions[i]);
	}
	CHECK(!cursor.overrun && !bytes_left(&cursor));
}
