#include "format/dwarf/dwarf_map.h"

#include <stdlib.h>

#include "format/dwarf/dwarf_line_machine.h"
#include "format/dwarf/dwarf_names.h"
#include "format/dwarf/dwarf_ranges.h"

struct mapper {
	struct dwarf_reader *reader;
	const struct dwarf_file *file;
	const uint64_t *addresses;
	size_t count;
	uint32_t *units;
	uint8_t *is_settled; /* by address: a source before the one at hand knew it */
	struct dwarf_boundaries *boundaries; /* collected instead; NULL: not */
	/* By unit. */
	uint8_t *has_set;
	uint8_t *may_need_lines; /* its root has been read, and has no ranges */
};

static void note_boundary(struct dwarf_boundaries *boundaries, uint64_t address)
{
	if (boundaries->list.len < DWARF_BOUNDARIES_MAX)
		vec_push(&boundaries->list, address);
}

static void put_boundary(void *context, uint64_t address, const struct dwarf_row *row)
{
	(void)row;
	note_boundary(context, address);
}

static size_t dwarf_map_lower_bound(const struct mapper *mapper, uint64_t address)
{
	size_t low = 0, count = mapper->count;
	while (count) {
		size_t half = count / 2;
		bool is_before = mapper->addresses[low + half] < address;
		low = is_before ? low + half + 1 : low;
		count = is_before ? count - half - 1 : half;
	}
	return low;
}

static void dwarf_map_claim(struct mapper *mapper, uint32_t unit, uint64_t start, uint64_t end)
{
	if (mapper->boundaries) {
		note_boundary(mapper->boundaries, start);
		note_boundary(mapper->boundaries, end);
		return;
	}
	size_t i = dwarf_map_lower_bound(mapper, start);
	if (i == mapper->count || mapper->addresses[i] >= end ||
		!dwarf_file_is_code(mapper->file, start))
		return;
	for (; i < mapper->count && mapper->addresses[i] < end; i++)
		if (unit < mapper->units[i] && !mapper->is_settled[i])
			mapper->units[i] = unit;
}

/* What is known so far stays: an answer must not depend on what else was asked. */
static bool settle(struct mapper *mapper)
{
	size_t nr_settled = 0;
	for (size_t i = 0; i < mapper->count; i++)
		nr_settled += mapper->is_settled[i] = mapper->units[i] != DWARF_NO_UNIT;
	return nr_settled == mapper->count && !mapper->boundaries;
}

/* ---- .debug_aranges: DWARF 5, 6.1.2 ---- */

static void read_set(struct mapper *mapper, struct bytes_cursor body, uint8_t offset_bytes)
{
	uint16_t version = dwarf_u16(&body);
	uint64_t offset = dwarf_unsigned(&body, offset_bytes);
	unsigned bytes = dwarf_u8(&body), segment_bytes = dwarf_u8(&body);
	size_t unit = dwarf_file_unit_at(mapper->file, offset);
	if (body.overrun || version != 2 || segment_bytes || (bytes != 4 && bytes != 8) ||
		unit >= DWARF_NO_UNIT || mapper->file->units.data[unit].offset != offset)
		return;
	/* The pairs are aligned to their size, counted from the length on. */
	uint64_t header_bytes = bytes_offset(&body) + (offset_bytes == 8 ? 12 : 4);
	dwarf_skip(&body, -header_bytes & (2 * bytes - 1));
	mapper->has_set[unit] = true;
	while (bytes_left(&body) >= 2 * (size_t)bytes) {
		uint64_t start = dwarf_unsigned(&body, bytes), len = dwarf_unsigned(&body, bytes);
		if (!start && !len)
			break; /* some linkers leave a second list behind the end: readers stop here
				*/
		if (len && start + len > start)
			dwarf_map_claim(mapper, (uint32_t)unit, start, start + len);
	}
}

static void map_by_aranges(struct mapper *mapper)
{
	struct dwarf_span section = mapper->file->sections[DWARF_ARANGES];
	struct bytes_cursor cursor = dwarf_cursor(section);
	while (bytes_left(&cursor) && !cursor.overrun) {
		uint8_t offset_bytes;
		struct bytes_cursor body = dwarf_unit_body(&cursor, &offset_bytes);
		if (!body.overrun)
			read_set(mapper, body, offset_bytes);
	}
}

/* ---- root DIEs ---- */

static bool has_functions(const struct dwarf_unit_header *header)
{
	return header->type == DW_UT_compile || header->type == DW_UT_skeleton;
}

static void map_by_root(struct mapper *mapper, uint32_t index)
{
	if (!has_functions(&mapper->file->units.data[index]))
		return;
	struct dwarf_unit unit;
	struct dwarf_ranges ranges;
	if (!dwarf_reader_root(mapper->reader, mapper->file, index, &unit))
		return;
	mapper->may_need_lines[index] = !dwarf_ranges_of_root(&ranges, &unit);
	if (!mapper->may_need_lines[index])
		for (uint64_t start, end; dwarf_ranges_next(&ranges, &start, &end);)
			dwarf_map_claim(mapper, index, start, end);
}

static void map_by_roots(struct mapper *mapper, bool with_set)
{
	for (size_t i = 0; i < mapper->file->units.len; i++)
		if (mapper->has_set[i] == with_set)
			map_by_root(mapper, (uint32_t)i);
}

/* ---- line programs ---- */

static void map_by_line_program(struct mapper *mapper, uint32_t index, struct dwarf_row *rows)
{
	if (!mapper->may_need_lines[index])
		return;
	struct dwarf_unit *unit = dwarf_reader_unit(mapper->reader, mapper->file, index);
	if (!unit)
		return;
	const struct dwarf_line_header *lines = dwarf_unit_lines(unit);
	if (lines && mapper->boundaries) {
		dwarf_line_visit(lines, put_boundary, mapper->boundaries);
	} else if (lines) {
		memset(rows, 0, mapper->count * sizeof(*rows));
		dwarf_line_run(lines, mapper->file, mapper->addresses, mapper->count, rows);
		for (size_t i = 0; i < mapper->count; i++)
			if (rows[i].is_known && mapper->units[i] == DWARF_NO_UNIT)
				mapper->units[i] = index;
	}
	dwarf_reader_trim(mapper->reader);
}

static void map_by_lines(struct mapper *mapper)
{
	CLEANUP_FREE struct dwarf_row *rows = mem_zalloc_array(mapper->count, sizeof(*rows));
	for (size_t i = 0; i < mapper->file->units.len && !settle(mapper); i++)
		map_by_line_program(mapper, (uint32_t)i, rows);
}

static void map(struct mapper *mapper)
{
	size_t nr_units = mapper->file->units.len;
	CLEANUP_FREE uint8_t *has_set = mem_zalloc(nr_units + 1);
	CLEANUP_FREE uint8_t *may_need_lines = mem_zalloc(nr_units + 1);
	CLEANUP_FREE uint8_t *is_settled = mem_zalloc(mapper->count + 1);
	mapper->has_set = has_set;
	mapper->may_need_lines = may_need_lines;
	mapper->is_settled = is_settled;
	map_by_aranges(mapper);
	if (!settle(mapper))
		map_by_roots(mapper, false);
	if (!settle(mapper))
		map_by_roots(mapper, true);
	if (!settle(mapper))
		map_by_lines(mapper);
}

void dwarf_map_addresses(
	struct dwarf_reader *reader, const uint64_t *addresses, size_t count, uint32_t *units)
{
	struct mapper mapper = {
		.reader = reader,
		.file = reader->file,
		.addresses = addresses,
		.count = count,
		.units = units,
	};
	for (size_t i = 0; i < count; i++)
		units[i] = DWARF_NO_UNIT;
	map(&mapper);
}

static int dwarf_map_compare_addresses(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

bool dwarf_map_boundaries(struct dwarf_reader *reader, struct dwarf_boundaries *ret)
{
	struct mapper mapper = {.reader = reader, .file = reader->file, .boundaries = ret};
	map(&mapper);
	if (!ret->list.len || ret->list.len >= DWARF_BOUNDARIES_MAX)
		return false;
	qsort(ret->list.data, ret->list.len, sizeof(*ret->list.data), dwarf_map_compare_addresses);
	size_t kept = 1;
	for (size_t i = 1; i < ret->list.len; i++)
		if (ret->list.data[i] != ret->list.data[kept - 1])
			ret->list.data[kept++] = ret->list.data[i];
	ret->list.len = kept;
	return true;
}
