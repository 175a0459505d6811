/* Line tables of CRuby, by what RubyVM::InstructionSequence#disasm says of the same code. */
#include <string.h>

#include "record/runtime/ruby/ruby_layout.h"
#include "record/runtime/ruby/ruby_lines.h"
#include "tests/unit/unit.h"

enum {
	MAX_BYTES = 512,
	WORDS = 6, /* of the index, for the first places */
};

struct table {
	uint8_t bytes[MAX_BYTES];
	size_t len;
};

static void put(struct table *table, const void *bytes, size_t len)
{
	memcpy(table->bytes + table->len, bytes, len);
	table->len += len;
}

static void put_head(struct table *table, uint32_t words, uint32_t entries)
{
	put(table, &words, 4);
	put(table, &entries, 4);
}

/* As rb_iseq_insns_info_encode_positions() has the first places: how many begin there or before. */
static void put_first_places(struct table *table, const uint32_t *starts, size_t count)
{
	uint64_t index[WORDS] = {0};
	for (uint32_t place = 0; place < RUBY_INDEX_PLACES; place++) {
		uint64_t rank = 0;
		for (size_t i = 0; i < count; i++)
			rank += starts[i] <= place;
		index[place / 9] |= rank << place % 9 * 7;
	}
	put(table, index, sizeof(index));
}

/* Of 3.1 and later: the line, a node, events. */
static void put_entry(struct table *table, uint32_t line)
{
	uint32_t entry[3] = {line, 77, 88};
	put(table, entry, sizeof(entry));
}

static uint32_t line_at(const struct table *table, uint8_t version, uint32_t place)
{
	struct runtime_lines lines = {version, 10, table->bytes, table->len};
	return ruby_line_of(&lines, place);
}

TEST(places_at_the_beginning_have_their_count_in_the_index)
{
	static const uint32_t starts[] = {0, 8, 20};
	struct table table = {.len = 0};
	put_head(&table, 60, 3);
	put_first_places(&table, starts, 3);
	uint64_t block[10] = {3}; /* for place 54 and on: nothing begins there */
	put(&table, block, sizeof(block));
	put_entry(&table, 10);
	put_entry(&table, 12);
	put_entry(&table, 11);
	CHECK_INT(line_at(&table, 33, 0), 10);
	CHECK_INT(line_at(&table, 33, 7), 10);
	CHECK_INT(line_at(&table, 33, 8), 12);
	CHECK_INT(line_at(&table, 31, 20), 11);
	CHECK_INT(line_at(&table, 31, 53), 11);
	CHECK_INT(line_at(&table, 31, 59), 11);
}

TEST(later_places_are_bits_that_are_counted)
{
	static const uint32_t starts[] = {0};
	struct table table = {.len = 0};
	put_head(&table, 300, 4);
	put_first_places(&table, starts, 1);
	/* One before; then 54 + 0, 54 + 63 in the first word, 54 + 64 in the second. */
	uint64_t block[10] = {1, 2 | 3 << 9 | 3 << 18, 1ULL | 1ULL << 63, 1};
	put(&table, block, sizeof(block));
	for (uint32_t line = 1; line <= 4; line++)
		put_entry(&table, line * 100);
	CHECK_INT(line_at(&table, 34, 53), 100);
	CHECK_INT(line_at(&table, 34, 54), 200);
	CHECK_INT(line_at(&table, 34, 116), 200);
	CHECK_INT(line_at(&table, 34, 117), 300);
	CHECK_INT(line_at(&table, 34, 118), 400);
	CHECK_INT(line_at(&table, 34, 250), 400);
}

TEST(one_entry_needs_no_index_and_older_ones_are_shorter)
{
	struct table table = {.len = 0};
	put_head(&table, 5, 1);
	put_entry(&table, 42);
	CHECK_INT(line_at(&table, 33, 4), 42);
	struct table old = {.len = 0};
	static const uint32_t starts[] = {0, 1};
	put_head(&old, 6, 2);
	CHECK_INT(ruby_index_bytes(6), 8);
	put_first_places(&old, starts, 2);
	old.len = RUBY_LINES_HEAD_BYTES + 8;
	uint32_t entries[] = {7, 0, 8, 0};
	put(&old, entries, sizeof(entries));
	CHECK_INT(line_at(&old, 27, 0), 7);
	CHECK_INT(line_at(&old, 27, 1), 8);
}

TEST(tables_that_make_no_sense_have_no_lines)
{
	struct table table = {.len = 0};
	CHECK_INT(line_at(&table, 33, 0), 10); /* none: the first line */
	put_head(&table, 60, 3);
	CHECK_INT(line_at(&table, 33, 0), 0);
	CHECK_INT(line_at(&table, 33, 59), 0);
	CHECK_INT(line_at(&table, 33, 60), 10); /* behind the end */
	CHECK_INT(line_at(&table, 99, 1), 10);  /* of no version */
	table.len = 0;
	put_head(&table, UINT32_MAX, UINT32_MAX);
	CHECK_INT(line_at(&table, 33, UINT32_MAX - 1), 0);
}

TEST(layouts_of_all_versions_are_sound_once_the_context_is_known)
{
	struct ruby_row row;
	for (uint32_t version = 0; version < 256; version++) {
		bool is_known = version == 27 || (version >= 30 && version <= 34);
		CHECK(ruby_layout_of_version(version, &row) == is_known);
		if (!is_known)
			continue;
		CHECK(!ruby_layout_is_sound(&row));
		row.flags |= RUBY_CONTEXT_IS_IN_SLOT;
		CHECK(ruby_layout_is_sound(&row));
		row.flags |= RUBY_CONTEXT_IS_AT;
		CHECK(!ruby_layout_is_sound(&row));
	}
	CHECK(ruby_layout_of_version(33, &row));
	row.flags |= RUBY_CONTEXT_IS_AT;
	row.body_index = row.body_bytes;
	CHECK(!ruby_layout_is_sound(&row));
}
