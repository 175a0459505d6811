/* Line tables of CPython, by what its own co_lines() and dis say of them. */
#include "record/runtime/python/python_lines.h"
#include "tests/unit/unit.h"

static uint32_t line_at(
	uint8_t version, uint32_t first, const char *bytes, size_t len, uint32_t place)
{
	struct runtime_lines lines = {version, first, (const uint8_t *)bytes, len};
	struct runtime_line_marks marks;
	runtime_line_marks_init(&marks, &lines, python_next_line);
	uint32_t line = runtime_line_marks_find(&marks, &lines, python_next_line, place);
	runtime_line_marks_deinit(&marks);
	return line;
}

/* def f(x):\n    if x:\n        return 1\n    return 2 */
TEST(increments_count_on_from_the_first_line)
{
	static const char table[] = "\0\1\4\1\4\1";
	CHECK_INT(line_at(9, 1, table, 6, 0), 2);
	CHECK_INT(line_at(9, 1, table, 6, 3), 2);
	CHECK_INT(line_at(9, 1, table, 6, 4), 3);
	CHECK_INT(line_at(9, 1, table, 6, 100), 4);
	CHECK_INT(line_at(8, 7, "", 0, 5), 7);
	CHECK_INT(line_at(6, 10, "\2\xff", 2, 2), 9); /* backwards */
}

TEST(pairs_are_ranges_and_some_have_no_line)
{
	static const char table[] = "\4\1\4\x80\4\2";
	CHECK_INT(line_at(10, 1, table, 6, 0), 2);
	CHECK_INT(line_at(10, 1, table, 6, 1), 2);
	CHECK_INT(line_at(10, 1, table, 6, 2), 0);
	CHECK_INT(line_at(10, 1, table, 6, 4), 4);
	CHECK_INT(line_at(10, 1, table, 6, 6), 0);
}

/* One entry of each kind, of two instructions each. */
TEST(locations_of_every_kind)
{
	static const char table[] = "\x81\x11"       /* short: the line stays */
				    "\xd9\1\2"       /* one line on, columns 1 and 2 */
				    "\xe9\x06"       /* no columns: 3 lines on */
				    "\xe9\x43\x01"   /* ... 33 lines back: 6 bits a byte */
				    "\xf1\x04\1\2\3" /* long: 2 lines on */
				    "\xf9";          /* no location */
	size_t len = sizeof(table) - 1;
	CHECK_INT(line_at(11, 100, table, len, 0), 100);
	CHECK_INT(line_at(11, 100, table, len, 1), 100);
	CHECK_INT(line_at(11, 100, table, len, 2), 101);
	CHECK_INT(line_at(11, 100, table, len, 4), 104);
	CHECK_INT(line_at(13, 100, table, len, 7), 71);
	CHECK_INT(line_at(12, 100, table, len, 8), 73);
	CHECK_INT(line_at(11, 100, table, len, 10), 0);
	CHECK_INT(line_at(11, 100, table, len, 12), 0);
}

TEST(tables_that_make_no_sense_have_no_lines)
{
	CHECK_INT(line_at(11, 1, "\x11\x81", 2, 0), 0); /* not an entry */
	CHECK_INT(line_at(11, 1, "\xe9\x7f\x7f\x7f", 4, 0), 0);
	CHECK_INT(line_at(11, 1, "\xf1\x04", 2, 0), 0);
	CHECK_INT(line_at(10, 1, "\4", 1, 0), 0);
	CHECK_INT(line_at(11, 0, "\x81\x11", 2, 0), 0);
}

/*
 * A table as large as the recorder takes. What is looked for at its end costs no more than what is
 * at its beginning: steps are counted, not time.
 */
static size_t nr_steps;

static bool counted_next_line(const struct runtime_lines *lines, struct runtime_line_entry *entry)
{
	nr_steps++;
	return python_next_line(lines, entry);
}

TEST(a_place_far_behind_takes_no_more_steps_than_one_ahead)
{
	enum {
		ENTRIES = 350000,
	};
	static const uint8_t heads[] = {9, 10, 11};
	static uint8_t bytes[ENTRIES * 3];
	for (size_t v = 0; v < sizeof(heads); v++) {
		bool is_location = heads[v] > 10;
		size_t entry = is_location ? 3 : 2;
		for (size_t i = 0; i < ENTRIES; i++) {
			uint8_t *to = bytes + i * entry;
			to[0] = is_location ? 0xd8 : 2; /* one line on, one instruction */
			to[1] = 1;
			to[2] = is_location ? 0 : to[2];
		}
		struct runtime_lines lines = {heads[v], 1, bytes, ENTRIES * entry};
		struct runtime_line_marks marks;
		runtime_line_marks_init(&marks, &lines, counted_next_line);
		for (uint32_t at = 1; at < ENTRIES; at += 9973) {
			uint32_t place = heads[v] == 9 ? at * 2 : at;
			nr_steps = 0;
			CHECK_INT(runtime_line_marks_find(&marks, &lines, counted_next_line, place),
				heads[v] == 9 ? at + 1 : at + 2);
			CHECK(nr_steps < 300);
		}
		runtime_line_marks_deinit(&marks);
	}
}
