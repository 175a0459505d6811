#include "record/unwind/unwind_functions.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "format/base/bisect.h"
#include "format/base/mem.h"
#include "format/dwarf/cfi_file.h"
#include "format/machine/machine.h"

enum {
	/* Of hand-written start-up code without call frame information. */
	ENTRY_MAX_BYTES = 256,
	/* Radix sort of 31 bits. */
	DIGIT_BITS = 11,
	DIGITS = 1 << DIGIT_BITS,
};

struct err *unwind_statistics_forgive(struct unwind_statistics *statistics, struct err *err)
{
	if (!err || err_code(err) == ERR_IO)
		return err;
	if (!statistics->fault[0])
		snprintf(statistics->fault, sizeof(statistics->fault), "%s", err_message(err));
	err_destroy(err);
	return NULL;
}

/* ---- listing ---- */

/* The executable segment whose bytes in the file hold all of a function. */
static const struct elf_segment *segment_of(
	const struct unwind_functions *functions, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < functions->nr_segments; i++) {
		const struct elf_segment *segment = &functions->segments[i];
		if (segment->flags & PF_X && start >= segment->vaddr &&
			end - segment->vaddr <= segment->filesz)
			return segment;
	}
	return NULL;
}

/* [start, end) are virtual addresses. */
static void unwind_functions_add_function(struct unwind_functions *functions,
	enum unwind_source source, uint64_t start, uint64_t end, uint64_t entry)
{
	const struct elf_segment *segment = segment_of(functions, start, end);
	functions->statistics->outside += !segment;
	if (!segment || functions->list.len > UNWIND_TABLE_MAX_FUNCTIONS)
		return;
	functions->statistics->functions[source]++;
	struct unwind_function function = {
		.start = start - segment->vaddr + segment->offset,
		.len = end - start < UINT32_MAX ? (uint32_t)(end - start) : UINT32_MAX,
		.entry = (uint32_t)entry & ((1 << 28) - 1),
		.source = source & 15,
	};
	vec_push(&functions->list, function);
}

static void add_section(
	struct unwind_functions *functions, enum unwind_source source, struct cfi_section *section)
{
	struct cfi_reader *reader = cfi_reader_create(section);
	functions->readers[source] = reader;
	struct cfi_function function;
	while (cfi_reader_next(reader, &function))
		unwind_functions_add_function(
			functions, source, function.start, function.end, function.entry);
}

static struct err *unwind_functions_add_frames(struct unwind_functions *functions,
	enum unwind_source source, enum cfi_section_kind kind, struct elf_file *elf)
{
	struct cfi_section section;
	try(cfi_file_read(elf, kind, &functions->sections[source], &section));
	if (functions->sections[source])
		add_section(functions, source, &section);
	return NULL;
}

static struct err *add_go(struct unwind_functions *functions, struct elf_file *elf)
{
	try(unwind_go_open(elf, &functions->go));
	uint32_t count = functions->go ? unwind_go_count(functions->go) : 0;
	uint64_t start, end;
	for (uint32_t i = 0; i < count && !elf_file_is_stopped(elf); i++)
		if (unwind_go_function(functions->go, i, &start, &end))
			unwind_functions_add_function(functions, UNWIND_FROM_GO, start, end, i);
	return NULL;
}

static void add_ready(struct unwind_functions *functions, struct elf_file *elf)
{
	functions->ready = unwind_ready_open(elf);
	uint32_t count = functions->ready ? unwind_ready_count(functions->ready) : 0;
	uint64_t start, end;
	for (uint32_t i = 0; i < count && !elf_file_is_stopped(elf); i++)
		if (unwind_ready_function(functions->ready, i, &start, &end))
			unwind_functions_add_function(functions, UNWIND_FROM_READY, start, end, i);
}

/* Older linkers made the beginning of .text the entry of a library, which has none. Programs, which
 * name a loader, may really begin there. */
static bool is_made_up_entry(struct elf_file *elf)
{
	const struct elf_section *text = elf_file_find_section(elf, ".text");
	return elf_file_type(elf) == ET_DYN && text && text->addr == elf_file_entry(elf) &&
	       !elf_file_find_section(elf, ".interp");
}

static uint64_t entry_length(struct elf_file *elf, uint64_t offset, uint64_t left)
{
	CLEANUP_FREE uint8_t *bytes = NULL;
	const struct machine *machine = machine_find(elf_file_machine(elf));
	uint64_t len = left < ENTRY_MAX_BYTES ? left : ENTRY_MAX_BYTES;
	if (!machine || !machine->function_length)
		return len;
	struct err *err = elf_file_read(elf, offset, len, &bytes);
	if (!err)
		len = machine->function_length(bytes, len);
	err_destroy(err);
	return len;
}

bool unwind_functions_entry(struct elf_file *elf, uint64_t *start, uint64_t *end)
{
	size_t count;
	uint64_t offset, left, entry = elf_file_entry(elf);
	const struct elf_segment *segments = elf_file_segments(elf, &count);
	const struct unwind_functions of = {.segments = segments, .nr_segments = count};
	if (!entry || !segment_of(&of, entry, entry + 1) || is_made_up_entry(elf) ||
		!elf_segments_vaddr_to_offset(segments, count, entry, &offset, &left))
		return false;
	*start = entry;
	*end = entry + entry_length(elf, offset, left);
	return true;
}

static void unwind_functions_add_entry(struct unwind_functions *functions, struct elf_file *elf)
{
	uint64_t start, end;
	if (unwind_functions_entry(elf, &start, &end))
		unwind_functions_add_function(functions, UNWIND_FROM_ENTRY, start, end, 0);
}

/* ---- sorting ---- */

static bool comes_before(const struct unwind_function *a, const struct unwind_function *b)
{
	return a->start != b->start ? a->start < b->start : a->source <= b->source;
}

/* Sorts by DIGIT_BITS of the distance from `first`, keeping the order of equals. */
static void sort_by_digit(const struct unwind_function *from, struct unwind_function *to,
	size_t count, uint64_t first, unsigned shift)
{
	uint32_t heads[DIGITS] = {0}, next = 0;
	for (size_t i = 0; i < count; i++)
		heads[(from[i].start - first) >> shift & (DIGITS - 1)]++;
	for (size_t i = 0; i < DIGITS; i++) {
		uint32_t nr = heads[i];
		heads[i] = next;
		next += nr;
	}
	for (size_t i = 0; i < count; i++)
		to[heads[(from[i].start - first) >> shift & (DIGITS - 1)]++] = from[i];
}

/* By start; sources were listed in their order, which equals keep. */
static struct err *sort_functions(struct unwind_functions *functions)
{
	struct unwind_function *list = functions->list.data;
	size_t count = functions->list.len;
	if (!count)
		return NULL;
	if (count > UNWIND_TABLE_MAX_FUNCTIONS)
		return err_new(
			ERR_UNSUPPORTED, "more than %d functions", UNWIND_TABLE_MAX_FUNCTIONS);
	uint64_t first = UINT64_MAX, last = 0;
	bool is_sorted = true;
	for (size_t i = 0; i < count; i++) {
		first = list[i].start < first ? list[i].start : first;
		last = list[i].start > last ? list[i].start : last;
		is_sorted &= !i || comes_before(&list[i - 1], &list[i]);
	}
	if (last - first >= (uint64_t)UNWIND_MAX_PAGES << UNWIND_PAGE_SHIFT)
		return err_new(ERR_UNSUPPORTED, "more than 2 GiB of code");
	if (is_sorted)
		return NULL;
	CLEANUP_FREE struct unwind_function *other =
		mem_realloc_array(NULL, count, sizeof(struct unwind_function));
	sort_by_digit(list, other, count, first, 0);
	sort_by_digit(other, list, count, first, DIGIT_BITS);
	sort_by_digit(list, other, count, first, 2 * DIGIT_BITS);
	memcpy(list, other, count * sizeof(struct unwind_function));
	return NULL;
}

/* ---- the whole ---- */

struct err *unwind_functions_init(struct unwind_functions *functions, struct elf_file *elf,
	struct unwind_statistics *statistics)
{
	*functions = (struct unwind_functions){.statistics = statistics};
	functions->segments = elf_file_segments(elf, &functions->nr_segments);
	add_ready(functions, elf);
	if (elf_file_pe(elf))
		return sort_functions(functions);
	try(unwind_statistics_forgive(statistics,
		unwind_functions_add_frames(functions, UNWIND_FROM_EH_FRAME, CFI_EH_FRAME, elf)));
	try(unwind_statistics_forgive(statistics, add_go(functions, elf)));
	if (!functions->go) /* Go's says nothing that its own table does not */
		try(unwind_statistics_forgive(
			statistics, unwind_functions_add_frames(functions, UNWIND_FROM_DEBUG_FRAME,
					    CFI_DEBUG_FRAME, elf)));
	unwind_functions_add_entry(functions, elf);
	return sort_functions(functions);
}

void unwind_functions_deinit(struct unwind_functions *functions)
{
	for (size_t i = 0; i < UNWIND_SOURCES; i++) {
		cfi_reader_destroy(functions->readers[i]);
		mem_free(functions->sections[i]);
	}
	unwind_go_destroy(functions->go);
	unwind_ready_destroy(functions->ready);
	vec_deinit(&functions->list);
}

/* ---- looking for one ---- */

/* How far a function counts: up to the next one of a better source. */
bool unwind_functions_find(void *context, uint64_t offset, uint64_t *start, uint64_t *end)
{
	const struct unwind_functions *functions = context;
	size_t low = bisect(functions->list.len, i, functions->list.data[i].start <= offset);
	if (!low || offset >= unwind_function_end(&functions->list.data[low - 1]))
		return false;
	*start = functions->list.data[low - 1].start;
	*end = unwind_function_end(&functions->list.data[low - 1]);
	return true;
}
