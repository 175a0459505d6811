#include "format/dwarf/dwarf_split.h"

#include "format/base/mem.h"

enum {
	LINK_MAX = 64 << 10,
	COLUMNS_MAX = 16,
};

/* ---- packages ---- */

struct index {
	uint32_t version, nr_columns, nr_units, nr_slots;
	struct dwarf_span bytes;
	uint64_t ids, rows, columns, offsets, sizes; /* where these tables start */
};

static bool open_index(const struct dwarf_file *package, struct index *index)
{
	index->bytes = package->sections[DWARF_CU_INDEX];
	struct bytes_cursor cursor = dwarf_cursor_at(index->bytes, 0);
	index->version = dwarf_u32(&cursor); /* of 5 it is two bytes, and two of padding */
	index->nr_columns = dwarf_u32(&cursor);
	index->nr_units = dwarf_u32(&cursor);
	index->nr_slots = dwarf_u32(&cursor);
	index->ids = bytes_offset(&cursor);
	index->rows = index->ids + 8 * (uint64_t)index->nr_slots;
	index->columns = index->rows + 4 * (uint64_t)index->nr_slots;
	index->offsets = index->columns + 4 * (uint64_t)index->nr_columns;
	uint64_t table = 4 * (uint64_t)index->nr_columns * index->nr_units;
	index->sizes = index->offsets + table;
	return !cursor.overrun && (index->version == 2 || index->version == 5) &&
	       index->nr_columns && index->nr_columns <= COLUMNS_MAX &&
	       index->nr_units <= UINT32_MAX / 64 && !(index->nr_slots & (index->nr_slots - 1)) &&
	       index->nr_slots && index->sizes + table <= index->bytes.len;
}

static uint32_t dwarf_split_word_at(const struct index *index, uint64_t offset)
{
	struct bytes_cursor cursor = dwarf_cursor_at(index->bytes, offset);
	return dwarf_u32(&cursor);
}

/* The row of a unit, counted from 1; 0 for none. DWARF 5, 7.3.5.3: open addressing. */
static uint32_t dwarf_split_find_row(const struct index *index, uint64_t id)
{
	uint32_t mask = index->nr_slots - 1, slot = (uint32_t)id & mask;
	uint32_t step = ((uint32_t)(id >> 32) & mask) | 1;
	for (uint32_t i = 0; i < index->nr_slots; i++, slot = (slot + step) & mask) {
		uint32_t row = dwarf_split_word_at(index, index->rows + 4 * (uint64_t)slot);
		struct bytes_cursor cursor =
			dwarf_cursor_at(index->bytes, index->ids + 8 * (uint64_t)slot);
		if (!row)
			return 0;
		if (dwarf_u64(&cursor) == id)
			return row <= index->nr_units ? row : 0;
	}
	return 0;
}

/* The section that a column is about, or DWARF_SECTION_COUNT. */
static enum dwarf_section_id section_of(const struct index *index, uint32_t column)
{
	switch (dwarf_split_word_at(index, index->columns + 4 * (uint64_t)column)) {
	case DW_SECT_INFO:
		return DWARF_INFO;
	case DW_SECT_ABBREV:
		return DWARF_ABBREV;
	case DW_SECT_LINE:
		return DWARF_LINE;
	case DW_SECT_STR_OFFSETS:
		return DWARF_STR_OFFSETS;
	case DW_SECT_RNGLISTS:
		return index->version == 5 ? DWARF_RNGLISTS : DWARF_SECTION_COUNT;
	default:
		return DWARF_SECTION_COUNT;
	}
}

bool dwarf_split_take(const struct dwarf_file *package, uint64_t dwo_id, struct dwarf_file *ret)
{
	struct index index;
	uint32_t row = open_index(package, &index) ? dwarf_split_find_row(&index, dwo_id) : 0;
	if (!row)
		return false;
	struct dwarf_file file = {.alt = package->alt};
	memcpy(file.sections, package->sections, sizeof(file.sections));
	for (uint32_t i = 0; i < index.nr_columns; i++) {
		uint64_t cell = 4 * ((uint64_t)(row - 1) * index.nr_columns + i);
		enum dwarf_section_id id = section_of(&index, i);
		if (id == DWARF_SECTION_COUNT)
			continue;
		struct bytes_cursor cursor = dwarf_cursor_at(
			package->sections[id], dwarf_split_word_at(&index, index.offsets + cell));
		file.sections[id] =
			dwarf_block(&cursor, dwarf_split_word_at(&index, index.sizes + cell));
	}
	dwarf_file_read_units(&file);
	*ret = file;
	return true;
}

/* ---- units ---- */

struct dwarf_unit *dwarf_split_unit(struct dwarf_reader *reader, const struct dwarf_unit *skeleton)
{
	for (size_t i = 0; i < reader->file->units.len; i++) {
		uint8_t type = reader->file->units.data[i].type;
		if (type != DW_UT_split_compile && type != DW_UT_compile)
			continue;
		struct dwarf_unit *unit = dwarf_reader_unit(reader, reader->file, i);
		if (!unit || unit->dwo_id != skeleton->dwo_id)
			continue;
		unit->addresses = skeleton->addresses;
		unit->addr_base = skeleton->addr_base;
		unit->ranges = skeleton->ranges;
		unit->ranges_base = skeleton->ranges_base;
		unit->base = skeleton->base;
		unit->line_file = skeleton->line_file;
		unit->has_lines = skeleton->has_lines;
		unit->line_offset = skeleton->line_offset;
		if (skeleton->comp_dir.len)
			unit->comp_dir = skeleton->comp_dir;
		return unit;
	}
	return NULL;
}

/* ---- dwz ---- */

/* A name, a NUL, and the build ID of the file (dwz(1)). */
static bool parse_link(struct bytes_cursor cursor, char **name, uint8_t *build_id, size_t *len)
{
	struct dwarf_span text = dwarf_text(&cursor);
	size_t left = bytes_left(&cursor);
	if (cursor.overrun || !text.len || left < ELF_BUILD_ID_MIN || left > ELF_BUILD_ID_MAX)
		return false;
	*name = mem_strndup(text.data, (size_t)text.len);
	memcpy(build_id, cursor.pos, left);
	*len = left;
	return true;
}

/* DWARF 5, 7.3.6: version 5, 0 in the file that refers, name, length and bytes of the checksum. */
static bool parse_sup(struct bytes_cursor cursor, char **name, uint8_t *build_id, size_t *len)
{
	uint16_t version = dwarf_u16(&cursor);
	bool is_supplementary = dwarf_u8(&cursor);
	struct dwarf_span text = dwarf_text(&cursor);
	struct dwarf_span sum = dwarf_block(&cursor, dwarf_uleb(&cursor));
	if (cursor.overrun || version != 5 || is_supplementary || !text.len ||
		sum.len < ELF_BUILD_ID_MIN || sum.len > ELF_BUILD_ID_MAX)
		return false;
	*name = mem_strndup(text.data, (size_t)text.len);
	memcpy(build_id, sum.data, (size_t)sum.len);
	*len = (size_t)sum.len;
	return true;
}

bool dwarf_split_alt_link(
	struct elf_file *elf, char **name, uint8_t build_id[ELF_BUILD_ID_MAX], size_t *len)
{
	const struct elf_section *section = elf_file_find_section(elf, ".gnu_debugaltlink");
	bool is_sup = !section;
	if (is_sup)
		section = elf_file_find_section(elf, ".debug_sup");
	if (!section || section->size > LINK_MAX)
		return false;
	CLEANUP_FREE uint8_t *bytes = NULL;
	struct err *err = elf_file_read(elf, section->offset, section->size, &bytes);
	if (err) {
		err_destroy(err);
		return false;
	}
	struct bytes_cursor cursor = bytes_cursor(bytes, (size_t)section->size);
	return is_sup ? parse_sup(cursor, name, build_id, len)
		      : parse_link(cursor, name, build_id, len);
}
