#include "format/dwarf/dwarf_ranges.h"

/* Where list number `index` starts: DWARF 5, 7.28. */
static bool indexed_list(const struct dwarf_unit *unit, uint64_t index, uint64_t *ret)
{
	struct dwarf_span section = unit->file->sections[DWARF_RNGLISTS];
	unsigned bytes = unit->header.encoding.offset_bytes;
	uint64_t at, base = unit->rnglists_base;
	if (__builtin_mul_overflow(index, bytes, &at) || __builtin_add_overflow(at, base, &at))
		return false;
	struct bytes_cursor cursor = dwarf_cursor_at(section, at);
	uint64_t offset = dwarf_unsigned(&cursor, bytes);
	return !cursor.overrun && !__builtin_add_overflow(base, offset, ret);
}

static bool start_list(struct dwarf_ranges *ranges, uint16_t form, uint64_t number)
{
	const struct dwarf_unit *unit = ranges->unit;
	bool is_v5 = unit->header.encoding.version >= 5;
	if (form == DW_FORM_rnglistx && !indexed_list(unit, number, &number))
		return false;
	if (!is_v5)
		number += unit->ranges_base;
	ranges->list = dwarf_cursor_at(
		is_v5 ? unit->file->sections[DWARF_RNGLISTS] : unit->ranges, number);
	ranges->base = unit->base;
	ranges->has_list = true;
	return true;
}

static bool start_any(struct dwarf_ranges *ranges, const struct dwarf_value *low,
	const struct dwarf_value *high, const struct dwarf_value *list)
{
	if (list->form)
		return start_list(ranges, list->form, list->number);
	if (!low->form || !high->form)
		return false;
	uint64_t end;
	ranges->has_one = dwarf_value_address(ranges->unit, low->form, low->number, &ranges->low);
	/* An address, or since DWARF 4 a constant that counts from low_pc. */
	if (!dwarf_value_address(ranges->unit, high->form, high->number, &end))
		end = ranges->low + high->number;
	ranges->high = end;
	return true;
}

bool dwarf_ranges_start(struct dwarf_ranges *ranges, const struct dwarf_unit *unit,
	const struct dwarf_captured *captured)
{
	struct dwarf_value values[DWARF_SLOTS];
	for (int i = 0; i < DWARF_SLOTS; i++)
		values[i] = (struct dwarf_value){
			.form = captured->forms[i], .number = captured->values[i]};
	*ranges = (struct dwarf_ranges){.unit = unit};
	return start_any(ranges, &values[DWARF_SLOT_LOW_PC], &values[DWARF_SLOT_HIGH_PC],
		&values[DWARF_SLOT_RANGES]);
}

bool dwarf_ranges_of_root(struct dwarf_ranges *ranges, const struct dwarf_unit *unit)
{
	*ranges = (struct dwarf_ranges){.unit = unit};
	/* GNU's base does not count for the skeleton's own list. */
	struct dwarf_value list = unit->range_list;
	if (list.form && unit->header.encoding.version < 5)
		list.number -= unit->ranges_base;
	return start_any(ranges, &unit->low_pc, &unit->high_pc, &list);
}

/*
 * A base that the compiler took the trouble to write is the start of a section.
 * When that one was dropped it is 0 or near the end of all addresses.
 */
static void set_base(struct dwarf_ranges *ranges, uint64_t base)
{
	uint64_t highest =
		ranges->unit->header.encoding.address_bytes == 4 ? UINT32_MAX : UINT64_MAX;
	const struct dwarf_file *file = ranges->unit->line_file; /* a .dwo has no code */
	ranges->base = base;
	ranges->is_dead =
		base >= highest - 1 || (!base && file->code.len && !dwarf_file_is_code(file, 0));
}

/* DWARF 4, 2.17.3: pairs from the base; (-1, base) sets it; (0, 0) ends. */
static bool dwarf_ranges_next_pair(struct dwarf_ranges *ranges, uint64_t *start, uint64_t *end)
{
	unsigned bytes = ranges->unit->header.encoding.address_bytes;
	uint64_t highest = bytes == 4 ? UINT32_MAX : UINT64_MAX;
	for (;;) {
		uint64_t low = dwarf_unsigned(&ranges->list, bytes);
		uint64_t high = dwarf_unsigned(&ranges->list, bytes);
		if (ranges->list.overrun || (!low && !high))
			return false;
		if (low == highest) {
			set_base(ranges, high);
		} else if (low < high && !ranges->is_dead && low != highest - 1) {
			*start = ranges->base + low;
			*end = ranges->base + high;
			return true;
		}
	}
}

/* DWARF 5, 2.17.3 and 7.25. False when this entry is no range; *is_end tells the last. */
static bool dwarf_ranges_get_entry(
	struct dwarf_ranges *ranges, uint64_t *start, uint64_t *end, bool *is_end)
{
	const struct dwarf_unit *unit = ranges->unit;
	struct bytes_cursor *list = &ranges->list;
	unsigned bytes = unit->header.encoding.address_bytes;
	uint64_t base = 0;
	switch ((enum dwarf_rle)dwarf_u8(list)) {
	case DW_RLE_base_addressx:
		if (dwarf_unit_indexed_address(unit, dwarf_uleb(list), &base))
			set_base(ranges, base);
		else
			ranges->is_dead = true;
		return false;
	case DW_RLE_base_address:
		set_base(ranges, dwarf_unsigned(list, bytes));
		return false;
	case DW_RLE_startx_endx: {
		uint64_t first = dwarf_uleb(list), last = dwarf_uleb(list);
		return dwarf_unit_indexed_address(unit, first, start) &&
		       dwarf_unit_indexed_address(unit, last, end);
	}
	case DW_RLE_startx_length: {
		uint64_t first = dwarf_uleb(list), len = dwarf_uleb(list);
		bool is_there = dwarf_unit_indexed_address(unit, first, start);
		*end = is_there ? *start + len : 0;
		return is_there;
	}
	case DW_RLE_offset_pair:
		*start = ranges->base + dwarf_uleb(list);
		*end = ranges->base + dwarf_uleb(list);
		return !ranges->is_dead;
	case DW_RLE_start_end:
		*start = dwarf_unsigned(list, bytes);
		*end = dwarf_unsigned(list, bytes);
		return true;
	case DW_RLE_start_length:
		*start = dwarf_unsigned(list, bytes);
		*end = *start + dwarf_uleb(list);
		return true;
	case DW_RLE_end_of_list:
	default: /* the length of an unknown entry is not known */
		*is_end = true;
		return false;
	}
}

static bool next_entry(struct dwarf_ranges *ranges, uint64_t *start, uint64_t *end)
{
	bool is_end = false;
	while (!is_end && !ranges->list.overrun)
		if (dwarf_ranges_get_entry(ranges, start, end, &is_end) && *start < *end)
			return !ranges->list.overrun;
	return false;
}

bool dwarf_ranges_next(struct dwarf_ranges *ranges, uint64_t *start, uint64_t *end)
{
	if (!ranges->has_list) {
		bool is_one = ranges->has_one && ranges->low < ranges->high;
		ranges->has_one = false;
		*start = ranges->low;
		*end = ranges->high;
		return is_one;
	}
	return ranges->unit->header.encoding.version >= 5
		       ? next_entry(ranges, start, end)
		       : dwarf_ranges_next_pair(ranges, start, end);
}
