/*
 * Entries say from which line the instructions are; which entry a place has is how many begin at
 * it or before. That count is the index: for the first places it is there, nine to a word; for the
 * others a block has the count before it, that before each of its eight words of bits, and a bit
 * for each place where an entry begins.
 *
 * Source: iseq.c of Ruby 2.7.4, 3.1.2, 3.3.8: struct succ_index_table, succ_index_lookup().
 */
#include "record/runtime/ruby/ruby_lines.h"

#include <stdbool.h>

#include "format/base/bytes.h"
#include "record/runtime/ruby/ruby_layout.h"

enum {
	MAX_LINE = 1 << 24,
	IMMEDIATE_BITS = 7,
	SMALL_BITS = 9,
	SMALL_MASK = (1 << SMALL_BITS) - 1,
	WORD_BYTES = 8,
};

/* 0 outside of the text: all cursors here are within. */
static uint64_t ruby_lines_word_at(const struct runtime_lines *lines, uint64_t offset, size_t len)
{
	if (offset > lines->len || lines->len - offset < len)
		return 0;
	struct bytes_cursor cursor = bytes_cursor(lines->bytes + offset, len);
	return len == 4 ? bytes_get_u32(&cursor) : bytes_get_u64(&cursor);
}

/* How many entries begin at the place or before. */
static uint64_t count_entries(const struct runtime_lines *lines, uint32_t place)
{
	const uint64_t index = RUBY_LINES_HEAD_BYTES;
	if (place < RUBY_INDEX_PLACES) {
		uint32_t word = place / RUBY_INDEX_WORD_PLACES;
		uint32_t shift = place % RUBY_INDEX_WORD_PLACES * IMMEDIATE_BITS;
		return ruby_lines_word_at(lines, index + (uint64_t)word * WORD_BYTES, WORD_BYTES) >>
			       shift &
		       ((1 << IMMEDIATE_BITS) - 1);
	}
	place -= RUBY_INDEX_PLACES;
	uint64_t block = index + RUBY_INDEX_PLACES / RUBY_INDEX_WORD_PLACES * WORD_BYTES +
			 (uint64_t)(place / RUBY_INDEX_BLOCK_PLACES) * RUBY_INDEX_BLOCK_BYTES;
	uint32_t word = place % RUBY_INDEX_BLOCK_PLACES / 64, bit = place % 64;
	uint64_t before = ruby_lines_word_at(lines, block, 4);
	uint64_t small = ruby_lines_word_at(lines, block + WORD_BYTES, WORD_BYTES);
	uint64_t bits = ruby_lines_word_at(
		lines, block + 2 * WORD_BYTES + (uint64_t)word * WORD_BYTES, WORD_BYTES);
	if (word)
		before += small >> (word - 1) * SMALL_BITS & SMALL_MASK;
	return before + (uint64_t)__builtin_popcountll(bits << (63 - bit));
}

uint32_t ruby_line_of(const struct runtime_lines *lines, uint32_t place)
{
	uint32_t words = (uint32_t)ruby_lines_word_at(lines, 0, 4),
		 entries = (uint32_t)ruby_lines_word_at(lines, 4, 4);
	struct ruby_row row;
	if (!entries || place >= words || !ruby_layout_of_version(lines->version, &row))
		return lines->first_line < MAX_LINE ? lines->first_line : 0;
	uint64_t number = 1, start = RUBY_LINES_HEAD_BYTES;
	if (entries > 1) {
		number = count_entries(lines, place);
		start += ruby_index_bytes(words);
	}
	if (!number || number > entries)
		return 0;
	uint64_t line = ruby_lines_word_at(lines, start + (number - 1) * row.info_bytes, 4);
	return line < MAX_LINE ? (uint32_t)line : 0;
}
