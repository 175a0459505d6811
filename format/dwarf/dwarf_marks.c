#include "format/dwarf/dwarf_marks.h"

#include "format/base/bisect.h"
#include "format/dwarf/dwarf_line_machine.h"
#include "format/dwarf/dwarf_names.h"
#include "format/dwarf/dwarf_ranges.h"

enum {
	WORD_BITS = 64,
};

struct dwarf_marked_range {
	uint64_t start, end;
	uint64_t first; /* number of its first bit */
};

void dwarf_marks_reset(struct dwarf_marks *marks, const struct dwarf_code *ranges, size_t count)
{
	uint64_t bits = 0;
	marks->ranges.len = marks->words.len = marks->last = 0;
	for (size_t i = 0; i < count; i++) {
		struct dwarf_marked_range range = {ranges[i].start, ranges[i].end, bits};
		vec_push(&marks->ranges, range);
		bits += ranges[i].end - ranges[i].start;
	}
	vec_resize(&marks->words, bits / WORD_BITS + 1);
	for (size_t i = 0; i < count; i++)
		dwarf_marks_put(marks, ranges[i].start);
}

static bool dwarf_marks_find_range(struct dwarf_marks *marks, uint64_t address)
{
	const struct dwarf_marked_range *ranges = marks->ranges.data;
	size_t low = bisect(marks->ranges.len, i, ranges[i].start <= address);
	if (!low || address >= ranges[low - 1].end)
		return false;
	marks->last = low - 1;
	return true;
}

void dwarf_marks_put(struct dwarf_marks *marks, uint64_t address)
{
	if (!marks->ranges.len)
		return;
	const struct dwarf_marked_range *range = &marks->ranges.data[marks->last];
	if (address < range->start || address >= range->end) {
		if (!dwarf_marks_find_range(marks, address))
			return;
		range = &marks->ranges.data[marks->last];
	}
	uint64_t bit = range->first + (address - range->start);
	marks->words.data[bit / WORD_BITS] |= (uint64_t)1 << bit % WORD_BITS;
}

static void dwarf_marks_put_row(void *context, uint64_t address, const struct dwarf_row *row)
{
	(void)row;
	dwarf_marks_put(context, address);
}

static void put_ranges(struct dwarf_marks *marks, const struct dwarf_unit *unit,
	const struct dwarf_captured *captured)
{
	struct dwarf_ranges ranges;
	if (!dwarf_ranges_start(&ranges, unit, captured))
		return;
	for (uint64_t start, end; dwarf_ranges_next(&ranges, &start, &end);) {
		dwarf_marks_put(marks, start);
		dwarf_marks_put(marks, end);
	}
}

static bool may_hold_code(const struct dwarf_abbrev *abbrev)
{
	return abbrev->kind == DWARF_FUNCTION || abbrev->kind == DWARF_INLINED;
}

/* All DIEs one after the other: a walk sees some of them, for what stands in what does not matter
 * here. */
static bool put_dies(struct dwarf_marks *marks, const struct dwarf_unit *unit)
{
	struct dwarf_span info = unit->file->sections[DWARF_INFO];
	info.len = unit->header.end;
	struct bytes_cursor cursor = dwarf_cursor_at(info, unit->header.first_die);
	while (bytes_left(&cursor)) {
		uint64_t code = dwarf_uleb(&cursor);
		if (!code)
			continue;
		const struct dwarf_abbrev *abbrev = dwarf_abbrevs_find(unit->abbrevs, code);
		if (!abbrev)
			return false;
		if (!may_hold_code(abbrev) && abbrev->fixed != DWARF_VARIES) {
			dwarf_skip(&cursor, abbrev->fixed);
			continue;
		}
		struct dwarf_captured captured;
		memset(captured.forms, 0, sizeof(captured.forms));
		dwarf_abbrev_run(unit->abbrevs, abbrev, &cursor, &captured);
		if (may_hold_code(abbrev))
			put_ranges(marks, unit, &captured);
	}
	return !cursor.overrun;
}

bool dwarf_marks_put_unit(struct dwarf_marks *marks, struct dwarf_unit *unit)
{
	const struct dwarf_line_header *lines = dwarf_unit_lines(unit);
	if (lines)
		dwarf_line_visit(lines, dwarf_marks_put_row, marks);
	return put_dies(marks, unit);
}

/* The address of a bit, which is a set one. */
static uint64_t dwarf_marks_address_of(const struct dwarf_marks *marks, uint64_t bit)
{
	const struct dwarf_marked_range *ranges = marks->ranges.data;
	size_t low = bisect(marks->ranges.len, i, ranges[i].first <= bit);
	return ranges[low - 1].start + (bit - ranges[low - 1].first);
}

bool dwarf_marks_next(const struct dwarf_marks *marks, uint64_t *cursor, uint64_t *ret)
{
	size_t word = (size_t)(*cursor / WORD_BITS);
	if (word >= marks->words.len)
		return false;
	uint64_t bits = marks->words.data[word] & UINT64_MAX << *cursor % WORD_BITS;
	while (!bits) {
		if (++word >= marks->words.len)
			return false;
		bits = marks->words.data[word];
	}
	uint64_t bit = word * WORD_BITS + (uint64_t)__builtin_ctzll(bits);
	*cursor = bit + 1;
	*ret = dwarf_marks_address_of(marks, bit);
	return true;
}

void dwarf_marks_deinit(struct dwarf_marks *marks)
{
	vec_deinit(&marks->ranges);
	vec_deinit(&marks->words);
	*marks = (struct dwarf_marks){0};
}
