/* Notes one after another: whose they are, padding, and what is cut. */
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/elf/elf_note.h"
#include "tests/unit/unit.h"

/* Without the padding behind the description. */
static void put_note(struct bytes_buf *notes, const char *owner, uint32_t type, const char *desc,
	size_t desc_len)
{
	bytes_put_u32(notes, (uint32_t)strlen(owner) + 1);
	bytes_put_u32(notes, (uint32_t)desc_len);
	bytes_put_u32(notes, type);
	bytes_put(notes, owner, strlen(owner) + 1);
	while (notes->len & 3)
		bytes_put_u8(notes, 0);
	bytes_put(notes, desc, desc_len);
}

TEST(elf_note_one_after_another)
{
	CLEANUP(bytes_buf_deinit) struct bytes_buf notes = {0};
	put_note(&notes, "stapsdt", 3, "abcde", 5);
	bytes_put(&notes, "\0\0\0", 3);
	put_note(&notes, "GNU", 3, "", 0);
	put_note(&notes, "GNU", 1, "xyz", 3); /* the last one's padding is not there */
	struct bytes_cursor cursor = bytes_cursor(notes.data, notes.len);
	struct elf_note note;
	CHECK(elf_note_next(&cursor, &note));
	CHECK(elf_note_is(&note, "stapsdt", 3));
	CHECK(!elf_note_is(&note, "stapsdt", 4));
	CHECK(!elf_note_is(&note, "stapsd", 3));
	CHECK(!elf_note_is(&note, "stapsdtx", 3));
	CHECK(note.desc_len == 5 && memcmp(note.desc, "abcde", 5) == 0);
	CHECK(elf_note_next(&cursor, &note));
	CHECK(elf_note_is(&note, "GNU", 3));
	CHECK_INT(note.desc_len, 0);
	CHECK(elf_note_next(&cursor, &note));
	CHECK(elf_note_is(&note, "GNU", 1));
	CHECK(note.desc_len == 3 && memcmp(note.desc, "xyz", 3) == 0);
	CHECK(!elf_note_next(&cursor, &note));
}

TEST(elf_note_cut_anywhere_is_none)
{
	CLEANUP(bytes_buf_deinit) struct bytes_buf notes = {0};
	put_note(&notes, "GNU", 3, "12345678", 8);
	for (size_t len = 0; len < notes.len; len++) {
		struct bytes_cursor cursor = bytes_cursor(notes.data, len);
		CHECK(!elf_note_next(&cursor, &(struct elf_note){0}));
	}
}

TEST(elf_note_lengths_past_the_end)
{
	static const uint32_t lens[] = {5, 0x7fffffff, 0xfffffffd, 0xffffffff};
	for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++)
		for (int is_name = 0; is_name < 2; is_name++) {
			uint32_t words[5] = {is_name ? lens[i] : 4, is_name ? 4 : lens[i], 3};
			struct bytes_cursor cursor = bytes_cursor(words, sizeof(words));
			CHECK(!elf_note_next(&cursor, &(struct elf_note){0}));
		}
}
