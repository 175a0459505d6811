#include "record/unwind_table.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/map.h"

enum {
	PAGE_SHIFT = 16,
	PAGE_MASK = 0xffff,
	MAX_RULES = 1 << 16,
	LARGEST_PADDING = 64, /* functions are aligned to as much at the most */
};

struct function {
	uint64_t start, end;
	uint32_t first, count; /* of raw rows */
};

struct raw_row {
	uint64_t address;
	uint32_t rule;
};

struct builder {
	struct unwind_table *table;
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

static bool on_function(void *context, uint64_t start, uint64_t end)
{
	struct builder *builder = context;
	struct function function = {
		.start = start, .end = end, .first = (uint32_t)builder->rows.len};
	vec_push(&builder->functions, function);
	return !builder->has_too_many && builder->rows.len < UINT32_MAX / 2;
}

static void on_row(void *context, uint64_t address, const struct cfi_row *row)
{
	struct builder *builder = context;
	struct unwind_rule rule = rule_of(row);
	struct function *function = &builder->functions.data[builder->functions.len - 1];
	vec_push(&builder->rows,
		(struct raw_row){.address = address, .rule = intern_rule(builder, &rule)});
	function->count++;
}

/* ---- into pages ---- */

static int compare_functions(const void *a, const void *b)
{
	const struct function *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static struct unwind_page *page_at(
	struct unwind_table *table, uint64_t address, uint32_t rule_before)
{
	uint32_t number = (uint32_t)(address >> PAGE_SHIFT);
	struct unwind_page *last =
		table->pages.len ? &table->pages.data[table->pages.len - 1] : NULL;
	if (last && last->number == number)
		return last;
	/* What holds at the page's end holds on: through pages without a row of their own, too. */
	uint32_t next = last && rule_before ? last->number + 1 : number;
	for (; next <= number; next++) {
		vec_push(&table->pages,
			(struct unwind_page){
				.number = next, .first = (uint32_t)table->rows.len, .count = 1});
		vec_push(&table->rows, rule_before << PAGE_SHIFT);
	}
	return &table->pages.data[table->pages.len - 1];
}

static void put_row(struct builder *builder, uint64_t address, uint32_t rule)
{
	struct unwind_table *table = builder->table;
	if (rule == builder->last_rule)
		return;
	struct unwind_page *page = page_at(table, address, builder->last_rule);
	uint32_t low = (uint32_t)address & PAGE_MASK;
	uint32_t *last = &table->rows.data[table->rows.len - 1];
	if ((*last & PAGE_MASK) == low) {
		*last = low | rule << PAGE_SHIFT;
	} else {
		vec_push(&table->rows, low | rule << PAGE_SHIFT);
		page->count++;
	}
	builder->last_rule = rule;
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
			put_row(builder, rows[i].address, rows[i].rule);
		covered = function->end;
	}
	put_row(builder, covered, 0);
}

static bool is_within_reach(const struct builder *builder)
{
	const struct function *last = builder->functions.data + builder->functions.len;
	return !builder->functions.len || last[-1].end >> 48 == 0;
}

struct err *unwind_table_build(const struct cfi_section *section, struct unwind_table *ret)
{
	struct unwind_table table = {0};
	struct builder builder = {.table = &table};
	struct unwind_rule none = {0};
	intern_rule(&builder, &none);
	struct cfi_visitor visitor = {.context = &builder, .function = on_function, .row = on_row};
	cfi_walk(section, &visitor, &table.cfi);
	if (builder.functions.len)
		qsort(builder.functions.data, builder.functions.len, sizeof(struct function),
			compare_functions);
	struct err *err = NULL;
	if (builder.has_too_many)
		err = err_new(ERR_UNSUPPORTED, "more than %d different unwind rules", MAX_RULES);
	else if (!is_within_reach(&builder))
		err = err_new(ERR_UNSUPPORTED, "code beyond 2^48");
	else
		put_functions(&builder);
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

static const struct unwind_page *find_page(const struct unwind_table *table, uint64_t number)
{
	size_t low = 0, high = table->pages.len;
	while (low < high) {
		size_t mid = (low + high) / 2;
		if (table->pages.data[mid].number < number)
			low = mid + 1;
		else
			high = mid;
	}
	bool is_there = low < table->pages.len && table->pages.data[low].number == number;
	return is_there ? &table->pages.data[low] : NULL;
}

const struct unwind_rule *unwind_table_find(const struct unwind_table *table, uint64_t address)
{
	const struct unwind_page *page = find_page(table, address >> PAGE_SHIFT);
	if (!page)
		return &table->rules.data[0];
	const uint32_t *rows = table->rows.data + page->first;
	uint32_t low = 0, high = page->count; /* the row at `low` is at or before the address */
	while (high - low > 1) {
		uint32_t mid = (low + high) / 2;
		if ((rows[mid] & PAGE_MASK) <= (address & PAGE_MASK))
			low = mid;
		else
			high = mid;
	}
	return &table->rules.data[rows[low] >> PAGE_SHIFT];
}
