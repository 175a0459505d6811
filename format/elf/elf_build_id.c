#include "format/elf/elf_build_id.h"

#include <elf.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/elf/elf_note.h"

enum {
	NOTES_MAX = 64 << 10, /* bytes of one segment or section */
	SHDR_BYTES = sizeof(Elf64_Shdr),
	BLOCK_HEADERS = 64, /* are read at a time */
};

struct search {
	const struct elf_file *file;
	uint64_t places_left, bytes_left;
	struct elf_build_id found;
};

static bool take_bytes(struct search *search, uint64_t len)
{
	if (len > search->bytes_left) {
		search->found.is_given_up = true;
		return false;
	}
	search->bytes_left -= len;
	return true;
}

static bool scan_notes(struct search *search, const uint8_t *bytes, size_t len)
{
	struct bytes_cursor cursor = bytes_cursor(bytes, len);
	for (struct elf_note note; elf_note_next(&cursor, &note);) {
		if (!elf_note_is(&note, ELF_NOTE_GNU, NT_GNU_BUILD_ID) ||
			note.desc_len < ELF_BUILD_ID_MIN || note.desc_len > ELF_BUILD_ID_MAX)
			continue;
		memcpy(search->found.bytes, note.desc, note.desc_len);
		search->found.len = note.desc_len;
		search->found.is_given_up = false;
		return true;
	}
	return false;
}

/* True when the search is over. */
static bool search_range(struct search *search, uint64_t offset, uint64_t len)
{
	if (!search->places_left) {
		search->found.is_given_up = true;
		return true;
	}
	search->places_left--;
	if (len > NOTES_MAX)
		len = NOTES_MAX;
	if (!take_bytes(search, len))
		return true;
	CLEANUP_FREE uint8_t *bytes = NULL;
	struct err *err = elf_file_read(search->file, offset, len, &bytes);
	if (err) {
		err_destroy(err); /* no note there: the file has no build ID by it */
		return false;
	}
	return scan_notes(search, bytes, (size_t)len);
}

static bool search_section(struct search *search, const uint8_t header[SHDR_BYTES])
{
	struct bytes_cursor cursor = bytes_cursor(header, SHDR_BYTES);
	bytes_get(&cursor, offsetof(Elf64_Shdr, sh_type));
	if (bytes_get_u32(&cursor) != SHT_NOTE)
		return false;
	bytes_get(&cursor, offsetof(Elf64_Shdr, sh_offset) - offsetof(Elf64_Shdr, sh_flags));
	uint64_t offset = bytes_get_u64(&cursor);
	return search_range(search, offset, bytes_get_u64(&cursor));
}

/* Block by block, without names: of a file with 2^20 sections that is the first part. */
static void search_sections(struct search *search, const struct elf_note_places *places)
{
	uint8_t block[BLOCK_HEADERS * SHDR_BYTES];
	for (uint64_t done = 0; done < places->nr_headers; done += BLOCK_HEADERS) {
		uint64_t left = places->nr_headers - done;
		size_t count = left < BLOCK_HEADERS ? (size_t)left : BLOCK_HEADERS;
		if (!take_bytes(search, count * SHDR_BYTES))
			return;
		struct err *err = elf_file_read_into(search->file,
			places->headers_offset + done * SHDR_BYTES, block, count * SHDR_BYTES);
		err_destroy(err);
		if (err)
			return;
		for (size_t i = 0; i < count; i++)
			if (search_section(search, block + i * SHDR_BYTES))
				return;
	}
}

struct elf_build_id elf_build_id_search(
	const struct elf_file *file, const struct elf_note_places *places)
{
	struct search search = {.file = file,
		.places_left = ELF_BUILD_ID_PLACES_MAX,
		.bytes_left = ELF_BUILD_ID_BYTES_MAX};
	for (size_t i = 0; i < places->nr_segments; i++)
		if (search_range(&search, places->segments[i].offset, places->segments[i].len))
			return search.found;
	search_sections(&search, places);
	return search.found;
}
