/*
 * All extents, by start; beside each the largest end until there, so that a search backwards for
 * one that encloses an address knows when there can be none. Extents of one section do not overlap
 * unless its file was made to: then a search gives up after some steps.
 *
 * What none covers is a gap. Symbols are extents, too, though only as the borders of gaps: those
 * without a size begin at one.
 */
#include "report/name/symbol/function_bounds.h"

#include <elf.h>
#include <stdlib.h>

#include "format/base/bisect.h"
#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/base/vec.h"
#include "format/dwarf/cfi_file.h"
#include "format/elf/elf_symbols.h"
#include "format/machine/machine.h"

enum {
	EXTENTS_MAX = 4 << 20, /* the largest browsers have a million */
	STEPS_MAX = 64,
	GAP_BYTES_MAX = 64 << 20,
	GAPS_BYTES_MAX = 256 << 20, /* of all together */
};

struct bound {
	struct function_extent extent;
	uint64_t end_so_far; /* the largest of this and all extents before */
	bool is_symbol;
};

/* A gap that was read. */
struct gap {
	uint64_t start, end;
	struct machine_functions functions; /* from its start on */
};

struct function_bounds {
	struct elf_file *elf;
	VEC(struct bound) list;
	bool has_symbols; /* in the list */
	VEC(struct gap) gaps;
	struct map by_start; /* of a gap -> its index */
	uint64_t bytes_left;
};

/* ---- the list ---- */

static int compare_bounds(const void *a, const void *b)
{
	const struct function_extent *x = &((const struct bound *)a)->extent;
	const struct function_extent *y = &((const struct bound *)b)->extent;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end > y->end ? -1 : x->end < y->end; /* the longer ones first: innermost last */
}

static void sort_bounds(struct function_bounds *bounds)
{
	struct bound *list = bounds->list.data;
	size_t count = bounds->list.len, nr_sorted = 1;
	while (nr_sorted < count && compare_bounds(&list[nr_sorted - 1], &list[nr_sorted]) <= 0)
		nr_sorted++;
	if (nr_sorted < count)
		qsort(list, count, sizeof(*list), compare_bounds);
	uint64_t end = 0;
	for (size_t i = 0; i < count; i++) {
		end = list[i].extent.end > end ? list[i].extent.end : end;
		list[i].end_so_far = end;
	}
}

static void function_bounds_add_functions(
	struct function_bounds *bounds, const struct cfi_section *section)
{
	struct cfi_reader *reader = cfi_reader_create(section);
	struct cfi_function function;
	while (bounds->list.len < EXTENTS_MAX && cfi_reader_next(reader, &function))
		if (function.start && function.start < function.end)
			vec_push(&bounds->list, (struct bound){.extent = {.start = function.start,
								       .end = function.end}});
	cfi_reader_destroy(reader);
}

struct function_bounds *function_bounds_create(struct elf_file *elf)
{
	struct function_bounds *bounds = mem_zalloc(sizeof(*bounds));
	struct cfi_section section;
	CLEANUP_FREE uint8_t *bytes = NULL;
	bounds->elf = elf;
	bounds->bytes_left = GAPS_BYTES_MAX;
	err_destroy(cfi_file_read(elf, CFI_EH_FRAME, &bytes, &section)); /* then there are none */
	if (bytes)
		function_bounds_add_functions(bounds, &section);
	sort_bounds(bounds);
	return bounds;
}

void function_bounds_destroy(struct function_bounds *bounds)
{
	if (!bounds)
		return;
	vec_each(&bounds->gaps, gap)
		vec_deinit(&gap->functions);
	vec_deinit(&bounds->gaps);
	map_deinit(&bounds->by_start);
	vec_deinit(&bounds->list);
	mem_free(bounds);
}

/* The index behind the last that begins at or before `address`. */
static size_t find_behind(const struct function_bounds *bounds, uint64_t address)
{
	const struct bound *list = bounds->list.data;
	return bisect(bounds->list.len, i, list[i].extent.start <= address);
}

static bool find_described(
	const struct function_bounds *bounds, uint64_t address, struct function_extent *ret)
{
	const struct bound *list = bounds->list.data;
	size_t at = find_behind(bounds, address);
	for (int steps = 0; at-- && steps < STEPS_MAX && list[at].end_so_far > address; steps++) {
		if (list[at].extent.end <= address || list[at].is_symbol)
			continue;
		*ret = list[at].extent;
		return true;
	}
	return false;
}

/* ---- gaps ---- */

static void add_symbols(struct function_bounds *bounds)
{
	struct elf_symbols symbols = {0};
	bounds->has_symbols = true;
	err_destroy(elf_symbols_read(bounds->elf, &symbols)); /* a broken table is no table */
	vec_each(&symbols.symbols, symbol) {
		uint64_t end = symbol->address + symbol->size;
		if (bounds->list.len < EXTENTS_MAX && end >= symbol->address)
			vec_push(&bounds->list,
				(struct bound){
					.extent = {.start = symbol->address, .end = end},
					.is_symbol = true,
				});
	}
	elf_symbols_deinit(&symbols);
	sort_bounds(bounds);
}

/* The section of code that holds the address, or the segment where there are no sections. */
static bool function_bounds_find_code(
	struct elf_file *elf, uint64_t address, struct function_extent *ret)
{
	const struct elf_section *sections;
	const struct elf_segment *segments;
	size_t count = 0;
	err_destroy(elf_file_sections(elf, &sections, &count));
	for (size_t i = 0; i < count; i++)
		if (sections[i].type == SHT_PROGBITS && sections[i].flags & SHF_EXECINSTR &&
			address - sections[i].addr < sections[i].size) {
			*ret = (struct function_extent){.start = sections[i].addr,
				.end = sections[i].addr + sections[i].size};
			return ret->end >= ret->start;
		}
	if (count)
		return false;
	segments = elf_file_segments(elf, &count);
	for (size_t i = 0; i < count; i++)
		if (segments[i].flags & PF_X && address - segments[i].vaddr < segments[i].filesz) {
			*ret = (struct function_extent){.start = segments[i].vaddr,
				.end = segments[i].vaddr + segments[i].filesz};
			return ret->end >= ret->start;
		}
	return false;
}

/* What stands around an address that no extent holds. */
static bool find_gap(
	const struct function_bounds *bounds, uint64_t address, struct function_extent *ret)
{
	const struct bound *list = bounds->list.data;
	size_t behind = find_behind(bounds, address);
	if (!function_bounds_find_code(bounds->elf, address, ret))
		return false;
	if (behind && list[behind - 1].end_so_far > address)
		return false;
	if (behind && list[behind - 1].end_so_far > ret->start)
		ret->start = list[behind - 1].end_so_far;
	if (behind < bounds->list.len && list[behind].extent.start < ret->end)
		ret->end = list[behind].extent.start;
	return true;
}

static void read_gap(struct function_bounds *bounds, struct gap *gap)
{
	const struct machine *machine = machine_find(elf_file_machine(bounds->elf));
	uint64_t len = gap->end - gap->start, offset, left;
	size_t count;
	const struct elf_segment *segments = elf_file_segments(bounds->elf, &count);
	CLEANUP_FREE uint8_t *bytes = NULL;
	if (!machine || !machine->find_functions || len > GAP_BYTES_MAX ||
		len > bounds->bytes_left ||
		!elf_segments_vaddr_to_offset(segments, count, gap->start, &offset, &left) ||
		left < len)
		return;
	bounds->bytes_left -= len;
	struct err *err = elf_file_read(bounds->elf, offset, len, &bytes);
	if (!err)
		machine->find_functions(bytes, len, gap->start, &gap->functions);
	err_destroy(err);
}

static const struct gap *gap_of(struct function_bounds *bounds, const struct function_extent *where)
{
	bool is_new;
	uint64_t *index = map_put(&bounds->by_start, where->start, &is_new);
	if (is_new) {
		*index = bounds->gaps.len;
		struct gap gap = {.start = where->start, .end = where->end};
		read_gap(bounds, &gap);
		vec_push(&bounds->gaps, gap);
	}
	return &bounds->gaps.data[*index];
}

static bool find_read(struct function_bounds *bounds, uint64_t address, struct function_extent *ret)
{
	struct function_extent where;
	if (!bounds->has_symbols)
		add_symbols(bounds);
	if (!find_gap(bounds, address, &where))
		return false;
	const struct gap *gap = gap_of(bounds, &where);
	const uint32_t *starts = gap->functions.data;
	size_t count = gap->functions.len;
	size_t behind = bisect(count, i, starts[i] <= address - gap->start);
	if (!behind)
		return false;
	ret->start = gap->start + starts[behind - 1];
	ret->end = behind < count ? gap->start + starts[behind] : gap->end;
	ret->is_guessed = true;
	return true;
}

/* ---- looking for one ---- */

bool function_bounds_find(
	struct function_bounds *bounds, uint64_t address, struct function_extent *ret)
{
	return find_described(bounds, address, ret) || find_read(bounds, address, ret);
}
