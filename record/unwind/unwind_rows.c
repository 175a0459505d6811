#include "record/unwind/unwind_rows.h"

enum {
	PAGE_BYTES = 1 << UNWIND_PAGE_SHIFT,
	RULE_SHIFT = 16,
	LOW_MASK = 0xffff,
};

/* ---- rules ---- */

static uint32_t intern_rule(struct unwind_rows *rows, const struct unwind_rule *rule)
{
	uint32_t number = rule_set_intern(&rows->rules, rule);
	rows->has_too_many_rules |= number == RULE_SET_FULL;
	return number == RULE_SET_FULL ? 0 : number;
}

/* ---- pages ---- */

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

static bool unwind_rows_has_room(struct unwind_rows *rows, uint64_t offset)
{
	struct unwind_table *table = rows->table;
	uint64_t number = offset >> UNWIND_PAGE_SHIFT;
	if (!table->pages.len && number <= UINT32_MAX - UNWIND_MAX_PAGES)
		table->first_page = (uint32_t)number;
	rows->is_too_large |= number - table->first_page >= UNWIND_MAX_PAGES;
	rows->has_too_many_rows |= table->rows.len >= UNWIND_TABLE_MAX_ROWS;
	return !rows->is_too_large && !rows->has_too_many_rows;
}

static void unwind_rows_write_row(struct unwind_rows *rows, uint64_t offset, uint32_t rule)
{
	struct unwind_table *table = rows->table;
	if (rule == rows->last_rule || !unwind_rows_has_room(rows, offset))
		return;
	while (end_of_pages(table) < offset)
		add_page(table, rows->last_rule);
	rows->last_rule = rule;
	if (end_of_pages(table) == offset) {
		if (rule) /* else there may be no page to come */
			add_page(table, rule);
		return;
	}
	struct unwind_page *page = &table->pages.data[table->pages.len - 1];
	uint32_t low = (uint32_t)offset & LOW_MASK;
	if (!page->count) {
		vec_push(&table->rows, low & ~(uint32_t)(PAGE_BYTES - 1));
		page->count++;
	}
	vec_push(&table->rows, low | rule << RULE_SHIFT);
	page->count++;
}

static void unwind_rows_put_row(struct unwind_rows *rows, uint64_t offset, uint32_t rule)
{
	if (rows->has_pending && offset > rows->pending_offset)
		unwind_rows_write_row(rows, rows->pending_offset, rows->pending_rule);
	rows->pending_offset = offset;
	rows->pending_rule = rule;
	rows->has_pending = true;
}

void unwind_rows_put(struct unwind_rows *rows, uint64_t offset, const struct unwind_rule *rule)
{
	unwind_rows_put_row(rows, offset, intern_rule(rows, rule));
}

void unwind_rows_put_none(struct unwind_rows *rows, uint64_t offset)
{
	unwind_rows_put_row(rows, offset, 0);
}

/* ---- the whole ---- */

void unwind_rows_init(struct unwind_rows *rows, struct unwind_table *table)
{
	*rows = (struct unwind_rows){.table = table};
	rule_set_init(&rows->rules, UNWIND_TABLE_MAX_RULES);
}

void unwind_rows_deinit(struct unwind_rows *rows)
{
	rule_set_deinit(&rows->rules);
}

bool unwind_rows_is_full(const struct unwind_rows *rows)
{
	return rows->has_too_many_rules || rows->has_too_many_rows || rows->is_too_large;
}

struct err *unwind_rows_finish(struct unwind_rows *rows)
{
	if (rows->has_pending)
		unwind_rows_write_row(rows, rows->pending_offset, rows->pending_rule);
	if (rows->has_too_many_rules)
		return err_new(ERR_UNSUPPORTED, "more than %d different unwind rules",
			UNWIND_TABLE_MAX_RULES);
	if (rows->is_too_large)
		return err_new(ERR_UNSUPPORTED, "more than 2 GiB of code");
	if (rows->has_too_many_rows)
		return err_new(ERR_UNSUPPORTED, "more than %d rows", UNWIND_TABLE_MAX_ROWS);
	struct rule_set *set = &rows->rules;
	vec_append(&rows->table->rules, set->rules.data, set->rules.len);
	return NULL;
}
