/* Where CPython keeps what, by what an interpreter tells of itself. */
#include <string.h>

#include "record/runtime/python/python_layout.h"
#include "tests/unit/unit.h"

enum {
	WORDS = PYTHON_DEBUG_OFFSETS_BYTES / 8
};

/* As Debian's 3.15.2 has them, and what a free-threaded build of it would have. */
static void put_offsets(uint64_t words[WORDS], bool is_free_threaded)
{
	uint64_t more = is_free_threaded ? 16 : 0;
	memset(words, 0, PYTHON_DEBUG_OFFSETS_BYTES);
	memcpy(words, "xdebugpy", 8);
	words[1] = 0x030f02f0;
	words[2] = is_free_threaded;
	words[26] = 72;  /* the thread's frame */
	words[30] = 168; /* its number */
	words[40] = 8;   /* a frame's caller, code, instruction, owner, copy */
	words[41] = 0;
	words[42] = 56;
	words[44] = is_free_threaded ? 78 : 74;
	words[46] = is_free_threaded ? 72 : 0;
	words[48] = 112 + more; /* code: file, name, lines, first line, instructions, copies */
	words[50] = 128 + more;
	words[51] = 136 + more;
	words[52] = 68 + more;
	words[56] = 208 + more;
	words[57] = is_free_threaded ? 208 : 0;
	words[59] = 8 + more;
	words[87] = 16 + more;
	words[88] = 32 + more;
	words[90] = 32 + more;
	words[91] = 16 + more;
	words[92] = 40 + more;
}

static bool read_offsets(const uint64_t words[WORDS], uint32_t minor, struct python_row *ret)
{
	return python_layout_of_offsets((const uint8_t *)words, minor, ret);
}

TEST(an_interpreter_tells_its_offsets)
{
	uint64_t words[WORDS];
	struct python_row row;
	put_offsets(words, false);
	CHECK(read_offsets(words, 15, &row));
	CHECK_INT(row.version, 15);
	CHECK_INT(row.thread_frame, 72);
	CHECK_INT(row.thread_id, 168);
	CHECK_INT(row.frame_place, 56);
	CHECK_INT(row.frame_copy, 0);
	CHECK_INT(row.code_name, 128);
	CHECK_INT(row.code_start, 208);
	CHECK_INT(row.text_kind_shift, 2);
	CHECK_INT(row.text_compact, 56);
}

TEST(objects_of_free_threaded_builds_begin_with_more)
{
	uint64_t words[WORDS];
	struct python_row row, texts;
	put_offsets(words, true);
	CHECK(read_offsets(words, 15, &row));
	CHECK_INT(row.version, PYTHON_FREE_THREADED | 15);
	CHECK_INT(row.frame_copy, 72);
	CHECK_INT(row.code_copies, 208);
	CHECK_INT(row.text_kind_shift, 8);
	python_layout_of_texts(row.version, &texts);
	CHECK_INT(texts.text_length, row.text_length);
	CHECK_INT(texts.text_state, row.text_state);
	CHECK_INT(texts.text_kind_shift, row.text_kind_shift);
	CHECK_INT(texts.text_ascii, row.text_ascii);
	CHECK_INT(texts.text_compact, row.text_compact);
	CHECK_INT(texts.bytes_length, row.bytes_length);
	CHECK_INT(texts.bytes_start, row.bytes_start);
}

TEST(offsets_that_make_no_sense_are_refused)
{
	uint64_t words[WORDS];
	struct python_row row;
	put_offsets(words, false);
	CHECK(!read_offsets(words, 14, &row)); /* of another version */
	CHECK(!read_offsets(words, 16, &row));
	CHECK(!read_offsets(words, 12, &row));
	words[0] ^= 1;
	CHECK(!read_offsets(words, 15, &row));
	put_offsets(words, false);
	words[51] = 5000; /* beyond what is read of code */
	CHECK(!read_offsets(words, 15, &row));
	put_offsets(words, true);
	words[46] = 200; /* beyond what is read of a frame */
	CHECK(!read_offsets(words, 15, &row));
}
