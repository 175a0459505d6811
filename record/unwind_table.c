#include "record/unwind_table.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/map.h"

enum {
	PAGE_BYTES = 1 << UNWIND_PAGE_SHIFT,
	RULE_SHIFT = 16,
	LOW_MASK = 0xffff,
	MAX_RULES = UINT16_MAX,
	LARGEST_PADDING = 64, /* functions are aligned to as much at the most */
};

struct function {
	uint64_t start, end;   /* offsets in the file */
	uint32_t first, count; /* of raw rows */
};

struct raw_row {
	uint64_t offset;
	uint32_t rule;
};

struct builder {
	struct unwind_table *table;
	const struct elf_segment *segments;
	size_t nr_segments;
	uint64_t delta; /* file offset - virtual address, of the function that is read */
	bool is_outside;
	VEC(struct function) functions;
	VEC(struct raw_row) rows;
	struct map rule_heads;    /* hash -> index + 1 of the first rule that has it */
	VEC(uint32_t) next_rules; /* index + 1 of another rule with the same hash */
	bool has_too_many;
	uint32_t last_rule; /* of the row that was put last */
};

/* ---- from rows of call frame information to shared rules ---- */

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
	return fits_short(rule->offset) ? kinds[rule->kind] : UNWIND_UNSUPPORTED;
}

static void take_cfa(const struct cfi_row *row, struct unwind_rule *rule)
{
	rule->cfa = UNWIND_CFA_UNSUPPORTED;
	rule->cfa_register = row->cfa_register;
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
			break;
		rule->cfa = UNWIND_CFA_DEREF;
		rule->cfa_offset = (int32_t)((uint32_t)(uint16_t)row->cfa_offset |
					     (uint32_t)row->cfa_offset2 << 16);
		break;
	default:
		break;
	}
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
	if (rule.fp != UNWIND_UNSUPPORTED)
		rule.fp_offset = (int16_t)row->frame_pointer.offset;
	if (rule.ra != UNWIND_UNSUPPORTED)
		rule.ra_offset = (int16_t)row->return_address.offset;
	return rule;
}

static uint32_t intern_rule(struct builder *builder, const struct unwind_rule *rule)
{
	struct unwind_table *table = builder->table;
	uint64_t hash = map_hash_bytes(rule, sizeof(*rule), 0);
	uint64_t *head = map_put(&builder->rule_heads, hash, NULL);
	for (uint32_t i = (uint32_t)*head; i; i = builder->next_rules.data[i - 1])
		if (memcmp(&table->rules.data[i - 1], rule, sizeof(*rule)) == 0)
			return i - 1;
	if (table->rules.len == MAX_RULES) {
		builder->has_too_many = true;
		return 0;
	}
	vec_push(&table->rules, *rule);
	vec_push(&builder->next_rules, (uint32_t)*head);
	*head = table->rules.len;
	return (uint32_t)table->rules.len - 1;
}

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

static bool on_function(void *context, uint64_t start, uint64_t end)
{
	struct builder *builder = context;
	const struct elf_segment *segment = segment_of(builder, start, end);
	builder->is_outside = !segment;
	builder->table->outside += !segment;
	if (!segment)
		return true;
	builder->delta = segment->offset - segment->vaddr;
	struct function function = {.start = start + builder->delta,
		.end = end + builder->delta,
		.first = (uint32_t)builder->rows.len};
	vec_push(&builder->functions, function);
	return !builder->has_too_many && builder->rows.len < UINT32_MAX / 2;
}

static void on_row(void *context, uint64_t address, const struct cfi_row *row)
{
	struct builder *builder = context;
	if (builder->is_outside)
		return;
	struct unwind_rule rule = rule_of(row);
	struct raw_row raw = {
		.offset = address + builder->delta, .rule = intern_rule(builder, &rule)};
	vec_push(&builder->rows, raw);
	builder->functions.data[builder->functions.len - 1].count++;
}

/* ---- into pages ---- */

static int compare_functions(const void *a, const void *b)
{
	const struct function *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static uint64_t end_of_pages(const struct unwind_table *table)
{
	return (table->first_page + (uint64_t)table->pages.len) << UNWIND_PAGE_SHIFT;
}

/* A page of what holds at its first byte; none of its own where nothing is known. */
static void add_page(struct unwind_table *table, uint32_t rule)
{
	struct unwind_page page = {.first = (uint32_t)table->rows.len, .count = rule != 0};
	uint64_t start = end_of_pages(table);
	vec_push(&table->pages, page);
	if (rule)
		vec_push(&table->rows, ((uint32_t)start & LOW_MASK) | rule << RULE_SHIFT);
}

/* Offsets ascend. */
static void put_row(struct builder *builder, uint64_t offset, uint32_t rule)
{
	struct unwind_table *table = builder->table;
	if (rule == builder->last_rule)
		return;
	if (!table->pages.len)
		table->first_page = (uint32_t)(offset >> UNWIND_PAGE_SHIFT);
	while (end_of_pages(table) < offset)
		add_page(table, builder->last_rule);
	builder->last_rule = rule;
	if (end_of_pages(table) == offset) {
		if (rule) /* else there may be no page to come */
			add_page(table, rule);
		return;
	}
	struct unwind_page *page = &table->pages.data[table->pages.len - 1];
	uint32_t low = (uint32_t)offset & LOW_MASK;
	if (!page->count && offset % PAGE_BYTES) {
		vec_push(&table->rows, low & ~(uint32_t)(PAGE_BYTES - 1));
		page->count++;
	}
	if (page->count && (table->rows.data[table->rows.len - 1] & LOW_MASK) == low)
		table->rows.len--, page->count--;
	vec_push(&table->rows, low | rule << RULE_SHIFT);
	page->count++;
}

static void put_functions(struct builder *builder)
{
	uint64_t covered = 0; /* up to here */
	vec_each(&builder->functions, function) {
		if (function->start < covered) {
			builder->table->overlapping++;
			continue;
		}
		/* Padding up to the next function is never executed: its row is not worth four
		 * bytes. */
		if (function->start - covered >= LARGEST_PADDING)
			put_row(builder, covered, 0);
		const struct raw_row *rows = builder->rows.data + function->first;
		for (uint32_t i = 0; i < function->count; i++)
			put_row(builder, rows[i].offset, rows[i].rule);
		covered = function->end;
	}
	put_row(builder, covered, 0);
}

static struct err *check_limits(const struct builder *builder)
{
	if (builder->has_too_many)
		return err_new(ERR_UNSUPPORTED, "more than %d different unwind rules", MAX_RULES);
	if (!builder->functions.len)
		return NULL;
	uint64_t last = 0, first = builder->functions.data[0].start >> UNWIND_PAGE_SHIFT;
	vec_each(&builder->functions, function)
		if (function->end > last)
			last = function->end;
	if ((last >> UNWIND_PAGE_SHIFT) - first >= UNWIND_MAX_PAGES ||
		last >> UNWIND_PAGE_SHIFT > UINT32_MAX)
		return err_new(ERR_UNSUPPORTED, "more than 2 GiB of code");
	return NULL;
}

static struct err *build(struct builder *builder, const struct cfi_section *section)
{
	struct cfi_visitor visitor = {.context = builder, .function = on_function, .row = on_row};
	cfi_walk(section, &visitor, &builder->table->cfi);
	if (builder->functions.len)
		qsort(builder->functions.data, builder->functions.len, sizeof(struct function),
			compare_functions);
	try(check_limits(builder));
	put_functions(builder);
	return NULL;
}

struct err *unwind_table_build(struct elf_file *elf, struct unwind_table *ret)
{
	struct unwind_table table = {0};
	struct builder builder = {.table = &table};
	struct unwind_rule none = {0};
	intern_rule(&builder, &none);
	builder.segments = elf_file_segments(elf, &builder.nr_segments);
	const struct elf_section *found = elf_file_find_section(elf, ".eh_frame");
	CLEANUP_FREE uint8_t *bytes = NULL;
	struct err *err = NULL;
	if (found)
		err = elf_file_read(elf, found->offset, found->size, &bytes);
	if (bytes) {
		struct cfi_section section = {
			.kind = CFI_EH_FRAME,
			.bytes = bytes,
			.len = found->size,
			.vaddr = found->addr,
			.machine = elf_file_machine(elf),
		};
		err = build(&builder, &section);
	}
	vec_deinit(&builder.functions);
	vec_deinit(&builder.rows);
	vec_deinit(&builder.next_rules);
	map_deinit(&builder.rule_heads);
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
