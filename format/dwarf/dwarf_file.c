#include "format/dwarf/dwarf_file.h"

#include "format/base/bisect.h"

/* The rest of a header behind its length; false when it cannot be read. */
static bool dwarf_file_parse_header(struct bytes_cursor *body, struct dwarf_unit_header *unit)
{
	unit->encoding.version = (uint8_t)dwarf_u16(body);
	if (unit->encoding.version < 2 || unit->encoding.version > 5)
		return false;
	if (unit->encoding.version == 5) {
		unit->type = dwarf_u8(body);
		unit->encoding.address_bytes = dwarf_u8(body);
	}
	unit->abbrev_offset = dwarf_unsigned(body, unit->encoding.offset_bytes);
	if (unit->encoding.version < 5) {
		unit->type = DW_UT_compile;
		unit->encoding.address_bytes = dwarf_u8(body);
	}
	if (unit->type == DW_UT_type || unit->type == DW_UT_split_type)
		dwarf_skip(body, 8U + unit->encoding.offset_bytes);
	if (unit->type == DW_UT_skeleton || unit->type == DW_UT_split_compile)
		unit->dwo_id = dwarf_u64(body);
	return !body->overrun &&
	       (unit->encoding.address_bytes == 8 || unit->encoding.address_bytes == 4);
}

bool dwarf_file_begins_with_types(const struct dwarf_file *file)
{
	struct bytes_cursor cursor = dwarf_cursor(file->sections[DWARF_INFO]);
	struct dwarf_unit_header unit = {0};
	struct bytes_cursor body = dwarf_unit_body(&cursor, &unit.encoding.offset_bytes);
	return !cursor.overrun && dwarf_file_parse_header(&body, &unit) &&
	       (unit.type == DW_UT_type || unit.type == DW_UT_split_type);
}

bool dwarf_file_read_units(struct dwarf_file *file)
{
	struct bytes_cursor cursor = dwarf_cursor(file->sections[DWARF_INFO]);
	const uint8_t *start = cursor.start;
	bool is_broken = false;
	while (bytes_left(&cursor)) {
		struct dwarf_unit_header unit = {.offset = bytes_offset(&cursor)};
		struct bytes_cursor body = dwarf_unit_body(&cursor, &unit.encoding.offset_bytes);
		if (cursor.overrun)
			return true;
		unit.end = bytes_offset(&cursor);
		if (dwarf_file_parse_header(&body, &unit)) {
			unit.first_die = (uint64_t)(body.pos - start);
			vec_push(&file->units, unit);
		} else if (bytes_left(&body) || body.overrun) {
			is_broken = true; /* of another version: the next one may be fine */
		}
	}
	return is_broken;
}

void dwarf_file_deinit(struct dwarf_file *file)
{
	vec_deinit(&file->code);
	vec_deinit(&file->units);
	*file = (struct dwarf_file){0};
}

size_t dwarf_file_unit_at(const struct dwarf_file *file, uint64_t offset)
{
	size_t low = bisect(file->units.len, i, file->units.data[i].offset <= offset);
	return low && offset < file->units.data[low - 1].end ? low - 1 : SIZE_MAX;
}

bool dwarf_file_is_code(const struct dwarf_file *file, uint64_t address)
{
	vec_each(&file->code, code)
		if (address >= code->start && address < code->end)
			return true;
	return file->code.len == 0;
}
