/*
 * Functions come from several sources, each in an order of its own. First
 * they are listed, 16 bytes each, and sorted by their place in the file; then
 * each function's rows are computed and written at once, so that no copy of
 * all rows is ever held.
 */
#include "record/unwind/unwind_table.h"

#include <elf.h>
#include <string.h>

#include "format/base/mem.h"
#include "format/elf/elf_dynsym.h"
#include "format/machine/machine.h"
#include "record/runtime/runtime.h"
#include "record/runtime/runtime_loop.h"
#include "record/unwind/cfi_rule.h"
#include "record/unwind/unwind_epilogue.h"
#include "record/unwind/unwind_epilogue_arm64.h"
#include "record/unwind/unwind_functions.h"
#include "record/unwind/unwind_gaps.h"
#include "record/unwind/unwind_rows.h"

enum {
	LOW_MASK = 0xffff,
	RULE_SHIFT = 16,
	MANAGED_PROLOGUE_MAX = 128,
	MANAGED_FUNCTION_MAX = 128 << 10,
};

struct builder {
	struct elf_file *elf;
	const struct unwind_machine *registers; /* of its machine; NULL: rows of none */
	struct unwind_functions *functions;
	struct unwind_statistics *statistics;
	struct unwind_rows *rows;
	struct unwind_gaps gaps;
	struct runtime_loop loop; /* of an interpreter */
	struct unwind_managed managed;
	bool has_contexts; /* it is the library that has makecontext() */

	/* The function being written: */
	uint64_t start, end; /* the part of it that counts */
	uint64_t delta;      /* file offset - virtual address */
	bool has_delta;
	bool is_loop;
	uint64_t last_address; /* of the last row that was written of it, and its rule */
	struct unwind_rule last;
};

/* ---- writing their rows ---- */

static void unwind_table_put_rule(
	struct builder *builder, uint64_t offset, const struct unwind_rule *rule)
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
	builder->last_address = address;
	builder->last = *rule;
	unwind_table_put_rule(builder, address + builder->delta, rule);
}

static void unwind_table_on_row(void *context, uint64_t address, const struct cfi_row *row)
{
	struct builder *builder = context;
	struct unwind_rule rule = cfi_rule(row, builder->registers);
	on_rule(context, address, &rule);
}

/* Behind the rows of its prologue, those of the epilogues. `end`: of the function, as an address.
 */
static void put_managed_epilogues(
	struct builder *builder, const struct unwind_function *function, uint64_t end)
{
	CLEANUP_FREE uint8_t *code = NULL;
	struct unwind_epilogue epilogue;
	uint64_t start = function->start - builder->delta;
	if (!builder->has_delta || start < builder->managed.start || end > builder->managed.end ||
		end <= start || end - start > MANAGED_FUNCTION_MAX ||
		builder->last_address - start > MANAGED_PROLOGUE_MAX)
		return;
	struct unwind_epilogue_rows rows = {
		.start = start, .body = builder->last, .on_rule = on_rule, .context = builder};
	size_t from = (size_t)(builder->last_address - start), len = (size_t)(end - start);
	struct err *err = elf_file_read(builder->elf, function->start, len, &code);
	if (!err && elf_file_machine(builder->elf) == EM_AARCH64)
		unwind_epilogue_put_arm64(&rows, code, from, len);
	else if (!err && unwind_epilogue_of_code(code, len, &epilogue))
		unwind_epilogue_put_all(&epilogue, &rows, code, from, len);
	err_destroy(err);
}

/* Returns the virtual address where its rules end. */
static uint64_t run_function(struct builder *builder, const struct unwind_function *function)
{
	if (function->source == UNWIND_FROM_GO)
		return unwind_go_run(builder->functions->go, function->entry, on_rule, builder);
	if (function->source == UNWIND_FROM_READY)
		return unwind_ready_run(
			builder->functions->ready, function->entry, on_rule, builder);
	uint64_t end = cfi_reader_run(builder->functions->readers[function->source],
		function->entry, unwind_table_on_row, builder);
	if (builder->managed.end)
		put_managed_epilogues(builder, function, end);
	return end;
}

static void unwind_table_put_function(
	struct builder *builder, const struct unwind_function *function)
{
	builder->is_loop = false;
	if (function->source == UNWIND_FROM_ENTRY) {
		struct unwind_rule outermost = {.cfa = UNWIND_CFA_REGISTER, .ra = UNWIND_UNDEFINED};
		unwind_table_put_rule(builder, function->start, &outermost);
		return;
	}
	builder->delta = function->start;
	builder->has_delta = false;
	builder->is_loop = runtime_loop_has(&builder->loop, builder->start);
	unwind_rows_put_none(builder->rows, builder->start);
	uint64_t ended = run_function(builder, function);
	if (!builder->has_delta)
		return;
	ended += builder->delta;
	if (ended < builder->end)
		unwind_rows_put_none(
			builder->rows, ended > builder->start ? ended : builder->start);
}

/* How far a function counts: up to the next one of a better source. */
static uint64_t visible_end(const struct builder *builder, const struct unwind_function *function)
{
	const struct unwind_function *end =
		builder->functions->list.data + builder->functions->list.len;
	for (const struct unwind_function *next = function + 1;
		next < end && next->start < unwind_function_end(function); next++)
		if (next->source < function->source)
			return next->start;
	return unwind_function_end(function);
}

/*
 * Linkers align functions, and what fills the gap is never executed: a row that says so is not
 * worth its four bytes.
 */
static bool is_padding(uint64_t from, uint64_t to)
{
	uint64_t alignment = to & -to;
	return to - from < (alignment > 64 ? 64 : alignment);
}

/* ---- where contexts begin ---- */

static size_t unwind_table_read_code(void *context, uint64_t address, uint8_t *bytes, size_t len)
{
	const struct builder *builder = context;
	CLEANUP_FREE uint8_t *code = NULL;
	struct err *err = elf_file_read(builder->elf, address, len, &code);
	bool is_read = !err;
	err_destroy(err);
	if (is_read)
		memcpy(bytes, code, len);
	return is_read ? len : 0;
}

/*
 * What makecontext() calls returns to where another function begins, that of the C library which
 * goes on with the next context: the stack ends there. Its frame is looked for one byte ahead.
 */
static void put_context_root(
	struct builder *builder, const struct unwind_function *function, uint64_t covered)
{
	enum {
		BEGIN_MIN = 16,
		BEGIN_MAX = 96
	}; /* bytes; 26 in glibc 2.36 */
	static const struct unwind_rule outermost = {
		.cfa = UNWIND_CFA_REGISTER, .ra = UNWIND_UNDEFINED};
	const struct machine_code code = {.read = unwind_table_read_code, .context = builder};
	const struct machine *machine = machine_find(elf_file_machine(builder->elf));
	bool is_small = function->len >= BEGIN_MIN && function->len <= BEGIN_MAX;
	if (!builder->has_contexts || !is_small || covered >= builder->start || !machine ||
		!machine->begins_context || !machine->begins_context(&code, function->start))
		return;
	unwind_rows_put(builder->rows, builder->start - 1, &outermost);
}

static void unwind_table_put_functions(struct builder *builder)
{
	uint64_t covered = 0, covered_by[UNWIND_SOURCES] = {0}; /* up to here */
	vec_each(&builder->functions->list, function) {
		uint64_t *own = &covered_by[function->source];
		bool is_overlapping = function->start < *own;
		builder->statistics->overlapping += is_overlapping;
		bool is_known = function->source == UNWIND_FROM_ENTRY && function->start < covered;
		if (is_overlapping || is_known || unwind_function_end(function) <= covered)
			continue;
		*own = unwind_function_end(function);
		builder->start = function->start > covered ? function->start : covered;
		builder->end = visible_end(builder, function);
		if (builder->end <= builder->start)
			continue;
		if (!is_padding(covered, builder->start) ||
			unwind_gaps_begins_thread(&builder->gaps, function))
			unwind_gaps_put(&builder->gaps, builder->rows, covered, builder->start);
		put_context_root(builder, function, covered);
		unwind_table_put_function(builder, function);
		covered = builder->end;
		if (unwind_rows_is_full(builder->rows) || elf_file_is_stopped(builder->elf))
			return;
	}
	unwind_gaps_put(&builder->gaps, builder->rows, covered, UINT64_MAX);
}

/* ---- interpreters ---- */

/* A runtime that is not understood costs its script frames, nothing else. */
static struct err *add_interpreter(
	struct builder *builder, struct elf_file *elf, struct unwind_table *table)
{
	struct runtime_file file;
	try(unwind_statistics_forgive(builder->statistics, runtime_detect(elf, &file)));
	table->runtime = file.row;
	if (file.row.kind == RUNTIME_NONE || runtime_of(file.row.kind)->has_no_frames)
		return NULL;
	return unwind_statistics_forgive(
		builder->statistics, runtime_loop_find(elf, &file, unwind_functions_find,
					     builder->functions, &builder->loop));
}

/* ---- the whole ---- */

static void unwind_table_note_bad(struct builder *builder)
{
	struct unwind_statistics *statistics = builder->statistics;
	for (size_t i = 0; i < UNWIND_SOURCES; i++) {
		if (!builder->functions->readers[i])
			continue;
		const struct cfi_result *result = cfi_reader_result(builder->functions->readers[i]);
		statistics->bad += result->bad_functions;
		if (!statistics->bad_what)
			statistics->bad_what = result->bad_what;
	}
}

static void find_contexts(struct builder *builder)
{
	static const char *const names[] = {"makecontext"};
	const struct elf_section *sections;
	struct elf_dynsym found = {0};
	size_t count = 0;
	err_destroy(elf_dynsym_find(builder->elf, names, 1, &found)); /* as good as none */
	err_destroy(elf_file_sections(builder->elf, &sections, &count));
	builder->has_contexts = found.address || !count; /* symbols are found by sections */
}

static struct err *build(struct builder *builder, struct elf_file *elf, struct unwind_table *table)
{
	try(unwind_functions_init(builder->functions, elf, builder->statistics));
	find_contexts(builder);
	try(add_interpreter(builder, elf, table));
	builder->managed = unwind_epilogue_find_managed(elf);
	unwind_gaps_init(&builder->gaps, elf, builder->functions);
	unwind_table_put_functions(builder);
	unwind_gaps_deinit(&builder->gaps);
	unwind_table_note_bad(builder);
	if (elf_file_is_stopped(elf))
		return err_new(ERR_UNAVAILABLE, "making it was stopped");
	return unwind_rows_finish(builder->rows);
}

struct err *unwind_table_build(struct elf_file *elf, struct unwind_table *ret)
{
	struct unwind_table table = {0};
	struct unwind_functions functions;
	struct unwind_rows rows;
	unwind_rows_init(&rows, &table);
	struct builder builder = {.elf = elf,
		.registers = machine_registers(elf_file_machine(elf)),
		.functions = &functions,
		.rows = &rows,
		.statistics = &table.statistics};
	struct err *err = build(&builder, elf, &table);
	unwind_functions_deinit(&functions);
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
		UNWIND_SIGNAL_FRAME | UNWIND_SWITCHES_STACKS | UNWIND_INTERPRETER | UNWIND_FORKS;
	return rule->cfa <= UNWIND_CFA_UNSUPPORTED &&
	       rule->cfa_register <= UNWIND_TABLE_MAX_REGISTER &&
	       is_sound_register(rule->fp, rule->fp_offset) &&
	       is_sound_register(rule->ra, rule->ra_offset) &&
	       is_sound_register(rule->extra, rule->extra_offset) &&
	       !(rule->flags & ~known_flags) && rule->extra_register <= UNWIND_TABLE_MAX_REGISTER;
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
	if (!runtime_row_is_sound(&table->runtime))
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
