#include "report/name/symbol/dwarf_survey.h"

#include <stdlib.h>

#include "format/dwarf/dwarf_map.h"

enum {
	WINDOW_BYTES = 8 << 20, /* of code, a mark each */
	PIECE_ADDRESSES = 1 << 19,
	CODE_BYTES_MAX = 1 << 30, /* that ranges of one file may claim */
};

/* ---- ranges ---- */

static int dwarf_survey_compare_ranges(const void *a, const void *b)
{
	const struct dwarf_survey_range *x = a, *y = b;
	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

static void add_range(struct dwarf_survey_ranges *ranges, const struct dwarf_survey_range *range)
{
	size_t count = ranges->list.len;
	struct dwarf_survey_range *last = count ? &ranges->list.data[count - 1] : NULL;
	if (last && last->unit == range->unit && last->end == range->start) {
		last->end = range->end;
		return;
	}
	if (last && last->unit == range->unit) {
		struct dwarf_survey_range gap = {last->end, range->start, range->unit, true};
		vec_push(&ranges->list, gap);
	}
	vec_push(&ranges->list, *range);
}

bool dwarf_survey_find_ranges(struct dwarf_reader *reader, struct dwarf_survey_ranges *ret)
{
	struct dwarf_boundaries boundaries = {0};
	*ret = (struct dwarf_survey_ranges){0};
	if (dwarf_map_boundaries(reader, &boundaries)) {
		const uint64_t *at = boundaries.list.data;
		size_t count = boundaries.list.len;
		CLEANUP_FREE uint32_t *units = mem_zalloc_array(count, sizeof(*units));
		dwarf_map_addresses(reader, at, count, units);
		for (size_t i = 0; i + 1 < count; i++)
			if (units[i] != DWARF_NO_UNIT)
				add_range(ret, &(struct dwarf_survey_range){
						       at[i], at[i + 1], units[i], false});
	}
	vec_deinit(&boundaries.list);
	uint64_t bytes = 0;
	vec_each(&ret->list, range)
		if (!range->is_gap && range->end - range->start <= CODE_BYTES_MAX - bytes)
			bytes += range->end - range->start;
		else if (!range->is_gap)
			return false;
	if (!ret->list.len)
		return false;
	qsort(ret->list.data, ret->list.len, sizeof(*ret->list.data), dwarf_survey_compare_ranges);
	return true;
}

/* ---- a unit ---- */

struct tour {
	struct dwarf_survey *survey;
	struct unit_resolver *resolver;
	struct dwarf_reader *reader;
	struct dwarf_unit *unit;
	const struct dwarf_survey_taker *taker;
	unsigned thread;
	size_t at; /* the range of the window that is reported next */
};

static void dwarf_survey_take(
	const struct tour *tour, uint64_t start, uint64_t end, const struct chain *chain)
{
	tour->taker->take(tour->taker->context, tour->thread, start, end, chain);
}

/* Moves on to the range that holds `address`, or to the end of the window. */
static const struct dwarf_survey_range *move_on(struct tour *tour, uint64_t address)
{
	const struct dwarf_survey *survey = tour->survey;
	for (; tour->at < survey->window.len; tour->at++) {
		const struct dwarf_survey_range *range = &survey->window.data[tour->at];
		if (range->is_gap)
			dwarf_survey_take(tour, range->start, range->end, &(struct chain){0});
		else if (address < range->end)
			return range;
	}
	return NULL;
}

/* `next` is the address behind the last one. */
static void tell_piece(struct tour *tour, uint64_t next)
{
	const uint64_t *addresses = tour->survey->addresses.data;
	size_t count = tour->survey->addresses.len;
	if (!count)
		return;
	unit_resolver_read(tour->resolver, tour->reader, tour->unit, addresses, count, false);
	for (size_t i = 0; i < count; i++) {
		const struct dwarf_survey_range *range = move_on(tour, addresses[i]);
		uint64_t end = i + 1 < count ? addresses[i + 1] : next;
		struct chain chain = unit_resolver_chain(tour->resolver, i);
		dwarf_survey_take(tour, addresses[i], end < range->end ? end : range->end, &chain);
	}
}

static bool tell_window(struct tour *tour)
{
	struct dwarf_survey *survey = tour->survey;
	survey->code.len = survey->addresses.len = tour->at = 0;
	vec_each(&survey->window, range)
		if (!range->is_gap)
			vec_push(&survey->code, (struct dwarf_code){range->start, range->end});
	dwarf_marks_reset(&survey->marks, survey->code.data, survey->code.len);
	if (!dwarf_marks_put_unit(&survey->marks, tour->unit))
		return false;
	uint64_t address;
	for (uint64_t cursor = 0; dwarf_marks_next(&survey->marks, &cursor, &address);) {
		if (survey->addresses.len == PIECE_ADDRESSES) {
			tell_piece(tour, address);
			survey->addresses.len = 0;
		}
		vec_push(&survey->addresses, address);
	}
	tell_piece(tour, UINT64_MAX);
	move_on(tour, UINT64_MAX);
	return true;
}

bool dwarf_survey_unit(struct dwarf_survey *survey, struct unit_resolver *resolver,
	struct dwarf_reader *reader, struct dwarf_unit *unit,
	const struct dwarf_survey_range *ranges, size_t count,
	const struct dwarf_survey_taker *taker, unsigned thread)
{
	struct tour tour = {survey, resolver, reader, unit, taker, thread, 0};
	uint64_t bytes = 0;
	survey->window.len = 0;
	for (size_t i = 0; i < count; i++) {
		struct dwarf_survey_range left = ranges[i], part;
		while (left.start < left.end) {
			part = left;
			if (!part.is_gap && part.end - part.start > WINDOW_BYTES - bytes)
				part.end = part.start + (WINDOW_BYTES - bytes);
			left.start = part.end;
			vec_push(&survey->window, part);
			bytes += part.is_gap ? 0 : part.end - part.start;
			if (bytes < WINDOW_BYTES)
				continue;
			if (!tell_window(&tour))
				return false;
			survey->window.len = bytes = 0;
		}
	}
	return !survey->window.len || tell_window(&tour);
}

void dwarf_survey_deinit(struct dwarf_survey *survey)
{
	dwarf_marks_deinit(&survey->marks);
	vec_deinit(&survey->window);
	vec_deinit(&survey->code);
	vec_deinit(&survey->addresses);
}
