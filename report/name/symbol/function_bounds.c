/*
 * All extents, by start; beside each the largest end until there, so that a search backwards for
 * one that encloses an address knows when there can be none. Extents of one section do not overlap
 * unless its file was made to: then a search gives up after some steps.
 */
#include "report/name/symbol/function_bounds.h"

#include <stdlib.h>

#include "format/base/bisect.h"
#include "format/base/mem.h"
#include "format/base/vec.h"
#include "format/dwarf/cfi_file.h"

enum {
	EXTENTS_MAX = 4 << 20, /* the largest browsers have a million */
	STEPS_MAX = 64,
};

struct bound {
	struct function_extent extent;
	uint64_t end_so_far; /* the largest of this and all extents before */
};

struct function_bounds {
	VEC(struct bound) list;
};

/* ---- reading ---- */

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

static void add_functions(struct function_bounds *bounds, const struct cfi_section *section)
{
	struct cfi_reader *reader = cfi_reader_create(section);
	struct cfi_function function;
	while (bounds->list.len < EXTENTS_MAX && cfi_reader_next(reader, &function))
		if (function.start && function.start < function.end)
			vec_push(&bounds->list,
				(struct bound){.extent = {function.start, function.end}});
	cfi_reader_destroy(reader);
}

struct function_bounds *function_bounds_create(struct elf_file *elf)
{
	struct function_bounds *bounds = mem_zalloc(sizeof(*bounds));
	struct cfi_section section;
	CLEANUP_FREE uint8_t *bytes = NULL;
	err_destroy(cfi_file_read(elf, CFI_EH_FRAME, &bytes, &section)); /* then there are none */
	if (bytes)
		add_functions(bounds, &section);
	sort_bounds(bounds);
	return bounds;
}

void function_bounds_destroy(struct function_bounds *bounds)
{
	if (!bounds)
		return;
	vec_deinit(&bounds->list);
	mem_free(bounds);
}

/* ---- looking for one ---- */

bool function_bounds_find(
	const struct function_bounds *bounds, uint64_t address, struct function_extent *ret)
{
	const struct bound *list = bounds->list.data;
	size_t at = bisect(bounds->list.len, i, list[i].extent.start <= address);
	for (int steps = 0; at-- && steps < STEPS_MAX && list[at].end_so_far > address; steps++) {
		if (list[at].extent.end <= address)
			continue;
		*ret = list[at].extent;
		return true;
	}
	return false;
}
