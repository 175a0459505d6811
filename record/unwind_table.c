/*
 * Functions come from several sources, each in an order of its own. First
 * they are listed, 16 bytes each, and sorted by their place in the file; then
 * each function's rows are computed and written at once, so that no copy of
 * all rows is ever held.
 */
#include "record/unwind_table.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "format/dwarf/cfi.h"
#include "format/elf/elf_eh_frame.h"
#include "format/elf/elf_inflate.h"
#include "record/unwind_go.h"
#include "record/unwind_rows.h"
#include "record/vm/vm_loop.h"

enum {
	LOW_MASK = 0xffff,
	RULE_SHIFT = 16,
	/* Of a section: that of libLLVM has 5 MiB, that of a browser 15. */
	SECTION_MAX = 64 << 20,
	/* Of hand-written start-up code without call frame information. */
	ENTRY_MAX_BYTES = 256,
	/* Radix sort of 31 bits. */
	DIGIT_BITS = 11,
	DIGITS = 1 << DIGIT_BITS,
};

struct function {
	uint64_t start; /* offset in the file */
	uint32_t len;
	uint32_t entry : 28, source : 4; /* where the source describes it */
};

_Static_assert(SECTION_MAX <= 1 << 28, "entries fit");

struct builder {
	const struct elf_segment *segments;
	size_t nr_segments;
	struct unwind_statistics *statistics;
	struct unwind_rows *rows;
	struct cfi_reader *readers[UNWIND_SOURCES];
	uint8_t *sections[UNWIND_SOURCES];
	struct unwind_go *go;
	VEC(struct function) functions;
	struct vm_loop loop; /* of an interpreter */

	/* The function being written: */
	uint64_t start, end; /* the part of it that counts */
	uint64_t delta;      /* file offset - virtual address */
	bool has_delta;
	bool is_loop;
};

/* ---- from rows of call frame information to rules ---- */

static bool fits_short(int32_t value)
{
	return value >= INT16_MIN && value <= INT16_MAX;
}

static uint8_t register_kind(const struct cfi_register *rule)
{
	static const uint8_t kinds[] = {
		[CFI_SAME] = UNWIND_SAME,
		[CFI_AT_CFA] = UNWIND_AT_CFA,
		[CFI_AT_SP] = UNWIND_AT_SP,
		[CFI_IN_REGISTER] = UNWIND_IN_REGISTER,
		[CFI_UNDEFINED] = UNWIND_UNDEFINED,
		[CFI_CFA_PLUS] = UNWIND_UNSUPPORTED,
		[CFI_EXPRESSION] = UNWIND_UNSUPPORTED,
	};
	bool is_register = rule->kind == CFI_IN_REGISTER;
	bool fits =
		is_register ? rule->offset <= UNWIND_TABLE_MAX_REGISTER : fits_short(rule->offset);
	return fits ? kinds[rule->kind] : UNWIND_UNSUPPORTED;
}

static int16_t register_offset(uint8_t kind, const struct cfi_register *rule)
{
	return kind == UNWIND_UNSUPPORTED ? 0 : (int16_t)rule->offset;
}

static void take_cfa(const struct cfi_row *row, struct unwind_rule *rule)
{
	rule->cfa = UNWIND_CFA_UNSUPPORTED;
	if (row->cfa_register > UNWIND_TABLE_MAX_REGISTER)
		return;
	switch (row->cfa_kind) {
	case CFI_CFA_REGISTER:
		rule->cfa = UNWIND_CFA_REGISTER;
		rule->cfa_offset = row->cfa_offset;
		break;
	case CFI_CFA_PLT:
		rule->cfa = UNWIND_CFA_PLT;
		rule->cfa_offset = row->cfa_offset;
		break;
	case CFI_CFA_DEREF:
		if (!fits_short(row->cfa_offset) || !fits_short(row->cfa_offset2))
			return;
		rule->cfa = UNWIND_CFA_DEREF;
		rule->cfa_offset = (int32_t)((uint32_t)(uint16_t)row->cfa_offset |
					     (uint32_t)row->cfa_offset2 << 16);
		break;
	default:
		return;
	}
	rule->cfa_register = row->cfa_register;
}

/* Equal rules must have equal bytes: what does not matter stays zero. */
static struct unwind_rule rule_of(const struct cfi_row *row)
{
	struct unwind_rule rule = {0};
	rule.flags = row->is_signal_frame ? UNWIND_SIGNAL_FRAME : 0;
	rule.ra = register_kind(&row->return_address) & 15;
	if (rule.ra == UNWIND_UNDEFINED) { /* the end of the stack: nothing else is needed */
		rule.cfa = UNWIND_CFA_REGISTER;
		return rule;
	}
	take_cfa(row, &rule);
	rule.fp = register_kind(&row->frame_pointer) & 15;
	rule.fp_offset = register_offset(rule.fp, &row->frame_pointer);
	rule.ra_offset = register_offset(rule.ra, &row->return_address);
	rule.rbx = register_kind(&row->rbx);
	rule.rbx_offset = register_offset(rule.rbx, &row->rbx);
	return rule;
}

/* ---- listing functions ---- */

/* The executable segment whose bytes in the file hold all of a function. */
static const struct elf_segment *segment_of(
	const struct builder *builder, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < builder->nr_segments; i++) {
		const struct elf_segment *segment = &builder->segments[i];
		if (segment->flags & PF_X && start >= segment->vaddr &&
			end - segment->vaddr <= segment->filesz)
			return segment;
	}
	return NULL;
}

/* [start, end) are virtual addresses. */
static void add_function(struct builder *builder, enum unwind_source source, uint64_t start,
	uint64_t end, uint64_t entry)
{
	const struct elf_segment *segment = segment_of(builder, start, end);
	builder->statistics->outside += !segment;
	if (!segment || builder->functions.len > UNWIND_TABLE_MAX_FUNCTIONS)
		return;
	builder->statistics->functions[source]++;
	struct function function = {
		.start = start - segment->vaddr + segment->offset,
		.len = end - start < UINT32_MAX ? (uint32_t)(end - start) : UINT32_MAX,
		.entry = (uint32_t)entry & ((1 << 28) - 1),
		.source = source & 15,
	};
	vec_push(&builder->functions, function);
}

/* `bytes` become the builder's. */
static void add_section(
	struct builder *builder, enum unwind_source source, struct cfi_section *section)
{
	struct cfi_reader *reader = cfi_reader_create(section);
	builder->readers[source] = reader;
	struct cfi_function function;
	while (cfi_reader_next(reader, &function))
		add_function(builder, source, function.start, function.end, function.entry);
}

static struct err *add_eh_frame(struct builder *builder, struct elf_file *elf)
{
	struct elf_eh_frame found;
	bool is_found;
	try(err_wrap(elf_eh_frame_find(elf, &found, &is_found), ".eh_frame"));
	if (!is_found)
		return NULL;
	if (found.size > SECTION_MAX)
		return err_new(
			ERR_UNSUPPORTED, "%llu bytes of .eh_frame", (unsigned long long)found.size);
	uint8_t **bytes = &builder->sections[UNWIND_FROM_EH_FRAME];
	try(err_wrap(elf_file_read(elf, found.offset, found.size, bytes), ".eh_frame"));
	struct cfi_section section = {
		.kind = CFI_EH_FRAME,
		.bytes = *bytes,
		.len = found.size,
		.vaddr = found.vaddr,
		.machine = elf_file_machine(elf),
	};
	add_section(builder, UNWIND_FROM_EH_FRAME, &section);
	return NULL;
}

static struct err *add_go(struct builder *builder, struct elf_file *elf)
{
	try(unwind_go_open(elf, &builder->go));
	uint32_t count = builder->go ? unwind_go_count(builder->go) : 0;
	uint64_t start, end;
	for (uint32_t i = 0; i < count; i++)
		if (unwind_go_function(builder->go, i, &start, &end))
			add_function(builder, UNWIND_FROM_GO, start, end, i);
	return NULL;
}

static struct err *add_debug_frame(struct builder *builder, struct elf_file *elf)
{
	const struct elf_section *found = elf_file_find_section(elf, ".debug_frame");
	if (!found || builder->go) /* Go's says nothing that its own table does not */
		return NULL;
	uint8_t **bytes = &builder->sections[UNWIND_FROM_DEBUG_FRAME];
	uint64_t len;
	try(elf_inflate_section(elf, found, SECTION_MAX, bytes, &len));
	struct cfi_section section = {
		.kind = CFI_DEBUG_FRAME,
		.bytes = *bytes,
		.len = len,
		.machine = elf_file_machine(elf),
	};
	add_section(builder, UNWIND_FROM_DEBUG_FRAME, &section);
	return NULL;
}

/* Older linkers made the beginning of .text the entry of a library, which has none. */
static bool is_made_up_entry(struct elf_file *elf)
{
	const struct elf_section *text = elf_file_find_section(elf, ".text");
	return elf_file_type(elf) == ET_DYN && text && text->addr == elf_file_entry(elf);
}

/*
 * The kernel starts a program at e_entry, with nobody to return to. A C library's _start says
 * so itself; that of a dynamic loader is hand-written, without call frame information.
 */
static void add_entry(struct builder *builder, struct elf_file *elf)
{
	uint64_t entry = elf_file_entry(elf);
	const struct elf_segment *segment = segment_of(builder, entry, entry + 1);
	if (!entry || !segment || is_made_up_entry(elf))
		return;
	uint64_t left = segment->vaddr + segment->filesz - entry;
	add_function(builder, UNWIND_FROM_ENTRY, entry,
		entry + (left < ENTRY_MAX_BYTES ? left : ENTRY_MAX_BYTES), 0);
}

/* ---- sorting them ---- */

static bool comes_before(const struct function *a, const struct function *b)
{
	return a->start != b->start ? a->start < b->start : a->source <= b->source;
}

/* Sorts by DIGIT_BITS of the distance from `first`, keeping the order of equals. */
static void sort_by_digit(const struct function *from, struct function *to, size_t count,
	uint64_t first, unsigned shift)
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
static struct err *sort_functions(struct builder *builder)
{
	struct function *functions = builder->functions.data;
	size_t count = builder->functions.len;
	if (!count)
		return NULL;
	if (count > UNWIND_TABLE_MAX_FUNCTIONS)
		return err_new(
			ERR_UNSUPPORTED, "more than %d functions", UNWIND_TABLE_MAX_FUNCTIONS);
	uint64_t first = UINT64_MAX, last = 0;
	bool is_sorted = true;
	for (size_t i = 0; i < count; i++) {
		first = functions[i].start < first ? functions[i].start : first;
		last = functions[i].start > last ? functions[i].start : last;
		is_sorted &= !i || comes_before(&functions[i - 1], &functions[i]);
	}
	if (last - first >= (uint64_t)UNWIND_MAX_PAGES << UNWIND_PAGE_SHIFT)
		return err_new(ERR_UNSUPPORTED, "more than 2 GiB of code");
	if (is_sorted)
		return NULL;
	CLEANUP_FREE struct function *other =
		mem_realloc_array(NULL, count, sizeof(struct function));
	sort_by_digit(functions, other, count, first, 0);
	sort_by_digit(other, functions, count, first, DIGIT_BITS);
	sort_by_digit(functions, other, count, first, 2 * DIGIT_BITS);
	memcpy(functions, other, count * sizeof(struct function));
	return NULL;
}

/* ---- writing their rows ---- */

static void put_rule(struct builder *builder, uint64_t offset, const struct unwind_rule *rule)
{
	struct unwind_rule marked = *rule;
	marked.flags |= builder->is_loop ? UNWIND_INTERPRETER : 0;
	builder->statistics->rows++;
	if (offset < builder->end)
		unwind_rows_put(
			builder->rows, offset > builder->start ? offset : builder->start, &marked);
}

static void on_rule(void *context, uint64_t address, const struct unwind_rule *rule)
{
	struct builder *builder = context;
	if (!builder->has_delta) /* the first one is at the function's start */
		builder->delta -= address;
	builder->has_delta = true;
	put_rule(builder, address + builder->delta, rule);
}

static void on_row(void *context, uint64_t address, const struct cfi_row *row)
{
	struct unwind_rule rule = rule_of(row);
	on_rule(context, address, &rule);
}

/* Returns the virtual address where its rules end. */
static uint64_t run_function(struct builder *builder, const struct function *function)
{
	if (function->source == UNWIND_FROM_GO)
		return unwind_go_run(builder->go, function->entry, on_rule, builder);
	return cfi_reader_run(builder->readers[function->source], function->entry, on_row, builder);
}

static void put_function(struct builder *builder, const struct function *function)
{
	builder->is_loop = false;
	if (function->source == UNWIND_FROM_ENTRY) {
		struct unwind_rule outermost = {.cfa = UNWIND_CFA_REGISTER, .ra = UNWIND_UNDEFINED};
		put_rule(builder, function->start, &outermost);
		return;
	}
	builder->delta = function->start;
	builder->has_delta = false;
	builder->is_loop = vm_loop_has(&builder->loop, builder->start);
	unwind_rows_put_none(builder->rows, builder->start);
	uint64_t ended = run_function(builder, function);
	if (!builder->has_delta)
		return;
	ended += builder->delta;
	if (ended < builder->end)
		unwind_rows_put_none(
			builder->rows, ended > builder->start ? ended : builder->start);
}

static uint64_t end_of(const struct function *function)
{
	return function->start + function->len;
}

/* How far a function counts: up to the next one of a better source. */
static uint64_t visible_end(const struct builder *builder, const struct function *function)
{
	const struct function *end = builder->functions.data + builder->functions.len;
	for (const struct function *next = function + 1;
		next < end && next->start < end_of(function); next++)
		if (next->source < function->source)
			return next->start;
	return end_of(function);
}

/*
 * Linkers align functions, and nobody executes what fills the gap: a row that says so is not
 * worth its four bytes.
 */
static bool is_padding(uint64_t from, uint64_t to)
{
	uint64_t alignment = to & -to;
	return to - from < (alignment > 64 ? 64 : alignment);
}

static void put_functions(struct builder *builder)
{
	uint64_t covered = 0, covered_by[UNWIND_SOURCES] = {0}; /* up to here */
	vec_each(&builder->functions, function) {
		uint64_t *own = &covered_by[function->source];
		bool is_overlapping = function->start < *own;
		builder->statistics->overlapping += is_overlapping;
		bool is_known = function->source == UNWIND_FROM_ENTRY && function->start < covered;
		if (is_overlapping || is_known || end_of(function) <= covered)
			continue;
		*own = end_of(function);
		builder->start = function->start > covered ? function->start : covered;
		builder->end = visible_end(builder, function);
		if (builder->end <= builder->start)
			continue;
		if (!is_padding(covered, builder->start))
			unwind_rows_put_none(builder->rows, covered);
		put_function(builder, function);
		covered = builder->end;
		if (unwind_rows_is_full(builder->rows))
			return;
	}
	unwind_rows_put_none(builder->rows, covered);
}

/* ---- interpreters ---- */

/* The others may still know something. */
static struct err *forgive(struct builder *builder, struct err *err)
{
	if (!err || err_code(err) == ERR_IO)
		return err;
	struct unwind_statistics *statistics = builder->statistics;
	if (!statistics->fault[0])
		snprintf(statistics->fault, sizeof(statistics->fault), "%s", err_message(err));
	err_destroy(err);
	return NULL;
}

/* The function that holds an offset in the file. */
static bool find_function(void *context, uint64_t offset, uint64_t *start, uint64_t *end)
{
	const struct builder *builder = context;
	size_t low = 0, high = builder->functions.len;
	while (low < high) {
		size_t mid = (low + high) / 2;
		if (builder->functions.data[mid].start <= offset)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || offset >= end_of(&builder->functions.data[low - 1]))
		return false;
	*start = builder->functions.data[low - 1].start;
	*end = end_of(&builder->functions.data[low - 1]);
	return true;
}

/* A runtime that is not understood costs its script frames, nothing else. */
static struct err *add_interpreter(
	struct builder *builder, struct elf_file *elf, struct unwind_table *table)
{
	struct vm_file file;
	try(forgive(builder, vm_file_detect(elf, &file)));
	table->vm = file.row;
	if (file.row.kind == VM_NONE)
		return NULL;
	return forgive(builder, vm_loop_find(elf, &file, find_function, builder, &builder->loop));
}

/* ---- the whole ---- */

static void note_bad(struct builder *builder)
{
	struct unwind_statistics *statistics = builder->statistics;
	for (size_t i = 0; i < UNWIND_SOURCES; i++) {
		if (!builder->readers[i])
			continue;
		const struct cfi_result *result = cfi_reader_result(builder->readers[i]);
		statistics->bad += result->bad_functions;
		if (!statistics->bad_what)
			statistics->bad_what = result->bad_what;
	}
}

static struct err *build(struct builder *builder, struct elf_file *elf, struct unwind_table *table)
{
	try(forgive(builder, add_eh_frame(builder, elf)));
	try(forgive(builder, add_go(builder, elf)));
	try(forgive(builder, add_debug_frame(builder, elf)));
	add_entry(builder, elf);
	try(sort_functions(builder));
	try(add_interpreter(builder, elf, table));
	put_functions(builder);
	note_bad(builder);
	return unwind_rows_finish(builder->rows);
}

struct err *unwind_table_build(struct elf_file *elf, struct unwind_table *ret)
{
	struct unwind_table table = {0};
	struct unwind_rows rows;
	unwind_rows_init(&rows, &table);
	struct builder builder = {.rows = &rows, .statistics = &table.statistics};
	builder.segments = elf_file_segments(elf, &builder.nr_segments);
	struct err *err = build(&builder, elf, &table);
	for (size_t i = 0; i < UNWIND_SOURCES; i++) {
		cfi_reader_destroy(builder.readers[i]);
		mem_free(builder.sections[i]);
	}
	unwind_go_destroy(builder.go);
	vec_deinit(&builder.functions);
	unwind_rows_deinit(&rows);
	if (err)
		unwind_table_deinit(&table);
	else
		*ret = table;
	return err;
}

void unwind_table_deinit(struct unwind_table *table)
{
	vec_deinit(&table->rows);
	vec_deinit(&table->pages);
	vec_deinit(&table->rules);
	*table = (struct unwind_table){0};
}

/* ---- checking ---- */

static bool is_sound_register(unsigned kind, int offset)
{
	if (kind == UNWIND_IN_REGISTER)
		return offset >= 0 && offset <= UNWIND_TABLE_MAX_REGISTER;
	return kind <= UNWIND_UNSUPPORTED;
}

static bool is_sound_rule(const struct unwind_rule *rule)
{
	const unsigned known_flags =
		UNWIND_SIGNAL_FRAME | UNWIND_SWITCHES_STACKS | UNWIND_INTERPRETER;
	return rule->cfa <= UNWIND_CFA_UNSUPPORTED &&
	       rule->cfa_register <= UNWIND_TABLE_MAX_REGISTER &&
	       is_sound_register(rule->fp, rule->fp_offset) &&
	       is_sound_register(rule->ra, rule->ra_offset) &&
	       is_sound_register(rule->rbx, rule->rbx_offset) && !(rule->flags & ~known_flags) &&
	       !rule->zero;
}

/* The first row at the page's first byte, the others behind it in order. */
static bool is_sound_page(const uint32_t *rows, uint32_t count, uint32_t number, size_t nr_rules)
{
	uint32_t start = number << UNWIND_PAGE_SHIFT & LOW_MASK;
	uint32_t last = rows[count - 1] & LOW_MASK, wrong = 0;
	for (uint32_t i = 0; i < count; i++)
		wrong |= rows[i] >> RULE_SHIFT >= nr_rules;
	for (uint32_t i = 1; i < count; i++)
		wrong |= (rows[i] & LOW_MASK) <= (rows[i - 1] & LOW_MASK);
	return !wrong && (rows[0] & LOW_MASK) == start && last - start < 1 << UNWIND_PAGE_SHIFT;
}

struct err *unwind_table_check(const struct unwind_table *table)
{
	static const struct unwind_rule none;
	size_t nr_rules = table->rules.len, next = 0;
	if (!nr_rules || memcmp(&table->rules.data[0], &none, sizeof(none)) != 0)
		return err_new(ERR_FORMAT, "rule 0 is not that of nothing");
	vec_each(&table->rules, rule)
		if (!is_sound_rule(rule))
			return err_new(ERR_FORMAT, "a rule of unknown kind");
	if (!vm_row_is_sound(&table->vm))
		return err_new(ERR_FORMAT, "a runtime of unknown kind");
	uint32_t number = table->first_page;
	vec_each(&table->pages, page) {
		if (page->first != next || page->count > table->rows.len - next)
			return err_new(ERR_FORMAT, "pages that do not follow each other");
		if (page->count && !is_sound_page(table->rows.data + page->first, page->count,
					   number, nr_rules))
			return err_new(ERR_FORMAT, "rows out of order");
		next += page->count;
		number++;
	}
	if (next != table->rows.len)
		return err_new(ERR_FORMAT, "rows of no page");
	return NULL;
}

/* ---- searching ---- */

const struct unwind_rule *unwind_table_find(const struct unwind_table *table, uint64_t file_offset)
{
	uint64_t number = (file_offset >> UNWIND_PAGE_SHIFT) - table->first_page;
	if (number >= table->pages.len || !table->pages.data[number].count)
		return &table->rules.data[0];
	const struct unwind_page *page = &table->pages.data[number];
	const uint32_t *rows = table->rows.data + page->first;
	uint32_t low = 0, high = page->count; /* the row at `low` is at or before the offset */
	while (high - low > 1) {
		uint32_t mid = (low + high) / 2;
		if ((rows[mid] & LOW_MASK) <= (file_offset & LOW_MASK))
			low = mid;
		else
			high = mid;
	}
	return &table->rules.data[rows[low] >> RULE_SHIFT];
}
