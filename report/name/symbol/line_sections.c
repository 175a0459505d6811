#include "report/name/symbol/line_sections.h"

#include <elf.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/str.h"
#include "format/dwarf/dwarf_line_machine.h"
#include "format/elf/elf_inflate.h"
#include "report/name/symbol/symbol_sections.h"

enum {
	ADDRESS_BYTES = 8, /* of tables before DWARF 5, which do not say it */
	ALIGNMENT_MAX = 4096,
};

static const uint64_t section_max = (1U << 31) - 1;

struct line_sections {
	uint8_t *bytes[LINE_SECTIONS_COUNT];
	struct dwarf_file file;
	struct arena frames;
	struct strtab paths;
};

/*
 * Whether the bytes begin with a compression header, which the section's lost flags would have
 * told: as a line table's length or as text its numbers make no sense.
 */
static bool is_packed(const uint8_t *bytes, size_t len)
{
	struct bytes_cursor cursor = bytes_cursor(bytes, len);
	uint32_t type = bytes_get_u32(&cursor), reserved = bytes_get_u32(&cursor);
	uint64_t size = bytes_get_u64(&cursor), alignment = bytes_get_u64(&cursor);
	return !cursor.overrun && (type == ELFCOMPRESS_ZLIB || type == 2 /* zstd */) && !reserved &&
	       size && alignment && alignment <= ALIGNMENT_MAX &&
	       (alignment & (alignment - 1)) == 0;
}

static void line_sections_read_section(
	struct line_sections *lines, size_t index, const char *path, enum dwarf_section_id id)
{
	size_t len = 0;
	uint8_t *bytes = path ? symbol_sections_read_whole(path, (size_t)section_max, &len) : NULL;
	if (bytes && is_packed(bytes, len)) {
		uint8_t *unpacked = NULL;
		uint64_t unpacked_len = 0;
		struct err *err =
			elf_inflate_bytes(bytes, len, section_max, &unpacked, &unpacked_len);
		err_destroy(err); /* damage or an unknown compression: as good as not there */
		mem_free(bytes);
		bytes = unpacked;
		len = (size_t)unpacked_len;
	}
	lines->bytes[index] = bytes;
	lines->file.sections[id] = (struct dwarf_span){bytes, bytes ? len : 0};
}

struct line_sections *line_sections_open(const char *const paths[LINE_SECTIONS_COUNT])
{
	static const enum dwarf_section_id ids[] = {DWARF_LINE, DWARF_LINE_STR, DWARF_STR};
	struct line_sections *lines = mem_zalloc(sizeof(*lines));
	for (size_t i = 0; i < LINE_SECTIONS_COUNT; i++)
		line_sections_read_section(lines, i, paths[i], ids[i]);
	if (lines->file.sections[DWARF_LINE].len)
		return lines;
	line_sections_destroy(lines);
	return NULL;
}

void line_sections_add_code(struct line_sections *lines, uint64_t start, uint64_t end)
{
	vec_push(&lines->file.code, (struct dwarf_code){start, end});
}

static void line_sections_put_frame(struct line_sections *lines,
	const struct dwarf_line_header *header, const struct dwarf_row *row, struct chain *chain)
{
	CLEANUP(str_deinit) struct str path = {0};
	struct chain_frame *frame = arena_alloc(&lines->frames, sizeof(*frame));
	frame->line = row->line;
	frame->column = row->column;
	if (dwarf_line_put_path(header, (struct dwarf_span){0}, row->file, &path))
		frame->file = strtab_get(
			&lines->paths, strtab_intern(&lines->paths, str_text(&path), path.len));
	*chain = (struct chain){.frames = frame, .count = 1};
}

void line_sections_run(
	struct line_sections *lines, const uint64_t *addresses, size_t count, struct chain *chains)
{
	CLEANUP_FREE struct dwarf_row *rows = mem_zalloc_array(count, sizeof(*rows));
	struct dwarf_span section = lines->file.sections[DWARF_LINE];
	struct bytes_cursor cursor = dwarf_cursor(section);
	memset(chains, 0, count * sizeof(*chains));
	while (bytes_left(&cursor) && !cursor.overrun) {
		uint64_t offset = (uint64_t)(cursor.pos - section.data);
		uint8_t offset_bytes;
		dwarf_unit_body(&cursor, &offset_bytes); /* to the next table */
		struct dwarf_line_header *header =
			dwarf_line_header_create(&lines->file, offset, ADDRESS_BYTES);
		if (!header)
			continue;
		dwarf_line_run(header, &lines->file, addresses, count, rows);
		for (size_t i = 0; i < count; i++)
			if (rows[i].is_known && !chains[i].count)
				line_sections_put_frame(lines, header, &rows[i], &chains[i]);
		dwarf_line_header_destroy(header);
	}
}

void line_sections_destroy(struct line_sections *lines)
{
	if (!lines)
		return;
	for (size_t i = 0; i < LINE_SECTIONS_COUNT; i++)
		mem_free(lines->bytes[i]);
	dwarf_file_deinit(&lines->file);
	arena_deinit(&lines->frames);
	strtab_deinit(&lines->paths);
	mem_free(lines);
}
