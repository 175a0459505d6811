#include "record/unwind/unwind_gaps.h"

#include <elf.h>
#include <stdlib.h>

#include "format/base/bisect.h"
#include "format/base/mem.h"
#include "record/unwind/cfi_rule.h"

enum {
	ALL_BYTES_MAX = 1 << 20,
	SMALL = 16,
	THREAD_START_MAX = 64, /* that of glibc has 16 */
	OVERLAPPING_MAX = 8,   /* functions that are looked through for one that holds an address */
};

/* ---- code ---- */

static int compare_code(const void *a, const void *b)
{
	const struct unwind_code *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

static void add_code(struct unwind_gaps *gaps, uint64_t offset, uint64_t size)
{
	if (size < UINT64_MAX - offset)
		vec_push(&gaps->code, (struct unwind_code){offset, offset + size});
}

/* Sections rather than segments: what fills the space between two of them is no code. */
static void unwind_gaps_find_code(struct unwind_gaps *gaps)
{
	const struct elf_section *sections;
	size_t count;
	struct err *err = elf_file_sections(gaps->elf, &sections, &count);
	gaps->has_sections = !err && count;
	for (size_t i = 1; gaps->has_sections && i < count; i++)
		if (sections[i].type == SHT_PROGBITS && sections[i].flags & SHF_EXECINSTR)
			add_code(gaps, sections[i].offset, sections[i].size);
	err_destroy(err); /* as good as none */
	const struct elf_segment *segments = elf_file_segments(gaps->elf, &count);
	for (size_t i = 0; !gaps->has_sections && i < count; i++)
		if (segments[i].flags & PF_X)
			add_code(gaps, segments[i].offset, segments[i].filesz);
}

void unwind_gaps_init(
	struct unwind_gaps *gaps, struct elf_file *elf, struct unwind_functions *functions)
{
	*gaps = (struct unwind_gaps){
		.elf = elf, .functions = functions, .bytes_left = ALL_BYTES_MAX};
	gaps->machine = machine_find(elf_file_machine(elf));
	if (!gaps->machine || !gaps->machine->find_gap_rules)
		return;
	unwind_gaps_find_code(gaps);
	if (gaps->code.len)
		qsort(gaps->code.data, gaps->code.len, sizeof(*gaps->code.data), compare_code);
}

void unwind_gaps_deinit(struct unwind_gaps *gaps)
{
	vec_deinit(&gaps->code);
}

/* ---- rules of the functions around ---- */

/* While a function's rows are gone through. */
struct search {
	uint64_t offset; /* from its first row, or from the address 0 until that came */
	uint64_t first;
	bool has_first, is_found;
	struct unwind_rule rule;
};

static void unwind_gaps_on_row(void *context, uint64_t address, const struct cfi_row *row)
{
	struct search *search = context;
	if (!search->has_first)
		search->first = address;
	search->has_first = true;
	if (address - search->first > search->offset)
		return;
	search->rule = cfi_rule(row, &unwind_x86_64);
	search->is_found = true;
}

static bool rule_in(const struct unwind_gaps *gaps, const struct unwind_function *function,
	uint64_t offset, struct unwind_rule *ret)
{
	struct search search = {.offset = offset - function->start};
	struct cfi_reader *reader = gaps->functions->readers[function->source];
	if (!reader)
		return false;
	uint64_t end = cfi_reader_run(reader, function->entry, unwind_gaps_on_row, &search);
	*ret = search.rule;
	return search.is_found && search.offset < end - search.first;
}

bool unwind_gaps_begins_thread(
	const struct unwind_gaps *gaps, const struct unwind_function *function)
{
	struct unwind_rule rule;
	return function->len <= THREAD_START_MAX &&
	       rule_in(gaps, function, function->start, &rule) && rule.ra == UNWIND_UNDEFINED;
}

/* Of call frame information; Go's functions are none that such code leads to. */
static bool rule_at(void *context, uint64_t offset, struct unwind_rule *ret)
{
	const struct unwind_gaps *gaps = context;
	const struct unwind_function *list = gaps->functions->list.data, *best = NULL;
	size_t end = bisect(gaps->functions->list.len, i, list[i].start <= offset);
	for (size_t i = end; i-- > 0 && end - i <= OVERLAPPING_MAX;)
		if (offset < unwind_function_end(&list[i]) &&
			(!best || list[i].source < best->source))
			best = &list[i];
	return best && rule_in(gaps, best, offset, ret);
}

/* ---- gaps ---- */

struct putting {
	struct unwind_gaps *gaps;
	struct unwind_rows *rows;
};

static bool rule_outside(void *context, uint64_t offset, struct unwind_rule *ret)
{
	const struct putting *putting = context;
	return rule_at(putting->gaps, offset, ret);
}

static void unwind_gaps_put_rule(void *context, uint64_t offset, const struct unwind_rule *rule)
{
	const struct putting *putting = context;
	if (rule)
		unwind_rows_put(putting->rows, offset, rule);
	else
		unwind_rows_put_none(putting->rows, offset);
}

static void unwind_gaps_put_code(
	struct unwind_gaps *gaps, struct unwind_rows *rows, uint64_t from, uint64_t to)
{
	CLEANUP_FREE uint8_t *bytes = NULL;
	struct putting putting = {gaps, rows};
	struct machine_gap gap = {.len = to - from,
		.offset = from,
		.rule_at = rule_outside,
		.on_rule = unwind_gaps_put_rule,
		.context = &putting};
	if (gap.len > gaps->machine->gap_max_bytes || gap.len > gaps->bytes_left)
		return;
	gaps->bytes_left -= gap.len;
	struct err *err = elf_file_read(gaps->elf, from, gap.len, &bytes);
	if (!err) {
		gap.bytes = bytes;
		gaps->machine->find_gap_rules(&gap);
	}
	err_destroy(err); /* the section lies outside of the file: nothing is known of it */
}

void unwind_gaps_put(struct unwind_gaps *gaps, struct unwind_rows *rows, uint64_t from, uint64_t to)
{
	unwind_rows_put_none(rows, from);
	vec_each(&gaps->code, code) {
		uint64_t start = code->start > from ? code->start : from;
		uint64_t end = code->end < to ? code->end : to;
		/* In a segment, only what is too small to hold the end of a section. */
		bool is_within = start > code->start && end < code->end && end - start < SMALL;
		if (start < end && (gaps->has_sections || is_within))
			unwind_gaps_put_code(gaps, rows, start, end);
	}
}
