#include "format/import/rows_table.h"

#include <string.h>

#include "format/base/str.h"

enum {
	MAX_LIST_BYTES = 128 << 20, /* what is read at once takes some times its size */
	MAX_COLUMNS = 1024,
};

static const char blanks[] = " \t\r\n";

static const char *skip_blank_text(const char *at, const char *end)
{
	while (at < end && *at && strchr(blanks, *at))
		at++;
	return at;
}

/* The line at *at without its end; *at is behind it then. */
static size_t take_row_line(const char **at, const char *end)
{
	const char *begin = *at, *found = memchr(begin, '\n', (size_t)(end - begin));
	size_t len = (size_t)((found ? found : end) - begin);
	*at = found ? found + 1 : end;
	return len && begin[len - 1] == '\r' ? len - 1 : len;
}

/* ---- cells ---- */

/* The text of the next cell of a line, without quotes around it; false: there is none. */
static bool take_cell(const char **at, const char *end, struct str *ret)
{
	if (*at > end)
		return false;
	const char *cell = *at;
	str_truncate(ret, 0);
	if (cell < end && *cell == '"') {
		for (cell++; cell < end && (*cell != '"' || (cell + 1 < end && cell[1] == '"'));
			cell++) {
			cell += *cell == '"';
			str_putc(ret, *cell);
		}
		cell += cell < end;
	}
	const char *tab = memchr(cell, '\t', (size_t)(end - cell));
	str_write(ret, cell, (size_t)((tab ? tab : end) - cell));
	*at = tab ? tab + 1 : end + 1;
	return true;
}

/* Of any other column "[idle]" is a text. */
static bool is_json_column(const char *column)
{
	return strcmp(column, "stack") == 0 || strcmp(column, "labels") == 0;
}

static struct err *read_cell(struct rows_table *table, const char *column, const struct str *text,
	struct json_value *ret)
{
	const struct json_value *value = NULL;
	*ret = (struct json_value){.kind = JSON_STRING, .key = column};
	if (!is_json_column(column) || (text->data[0] != '[' && text->data[0] != '{')) {
		ret->text = arena_strndup(&table->row, text->data, text->len);
		return NULL;
	}
	try(err_wrap(json_value_parse(str_text(text), text->len, &table->row, &value),
		"row %llu, column \"%s\" (to_json() of an engine writes JSON)",
		(unsigned long long)table->nr_rows, column));
	*ret = *value;
	ret->key = column;
	return NULL;
}

static struct err *read_cells(
	struct rows_table *table, const char *line, size_t len, const struct json_value **ret)
{
	CLEANUP(str_deinit) struct str text = {0};
	struct json_value *row = arena_alloc(&table->row, sizeof(*row));
	const struct json_value **link = &row->first;
	const char *at = line, *end = line + len;
	size_t column = 0;
	*row = (struct json_value){.kind = JSON_OBJECT};
	for (; take_cell(&at, end, &text); column++) {
		if (column == table->columns.len)
			return err_new(ERR_FORMAT, "row %llu has more cells than the %zu columns",
				(unsigned long long)table->nr_rows, table->columns.len);
		if (!text.len)
			continue;
		struct json_value *cell = arena_alloc(&table->row, sizeof(*cell));
		try(read_cell(table, table->columns.data[column], &text, cell));
		*link = cell;
		link = &cell->next;
	}
	if (column < table->columns.len)
		return err_new(ERR_FORMAT, "row %llu has %zu of %zu cells",
			(unsigned long long)table->nr_rows, column, table->columns.len);
	*ret = row;
	return NULL;
}

/* ---- what a file is ---- */

static bool has_stack_column(const char *line, size_t len)
{
	CLEANUP(str_deinit) struct str text = {0};
	const char *at = line, *end = line + len;
	bool has_tabs = memchr(line, '\t', len) != NULL;
	while (has_tabs && take_cell(&at, end, &text))
		if (strcmp(str_text(&text), "stack") == 0)
			return true;
	return false;
}

/* Behind the text at `at`, of which its quotes are part; NULL: it goes on behind `end`. */
static const char *skip_json_text(const char *at, const char *end)
{
	for (at++; at < end && *at != '"'; at++)
		at += *at == '\\';
	return at < end ? at + 1 : NULL;
}

/* The same of what is no list and, but for labels, no object; of these the texts are no braces. */
static const char *skip_row_value(const char *at, const char *end, bool is_labels)
{
	char last = is_labels && *at == '{' ? '}' : '\0';
	if (*at == '[' || (*at == '{' && !last))
		return NULL;
	while (at && at < end && (last ? *at != last : *at != ',' && *at != '}'))
		at = *at == '"' ? skip_json_text(at, end) : at + 1;
	return at && at < end ? at + (last != '\0') : NULL;
}

/* Other profilers' JSON has stacks, too: a row has its own, and beside it nothing that is nested.
 */
static bool begins_as_row(const char *at, const char *end)
{
	static const char stack[] = "\"stack\"", labels[] = "\"labels\"";
	for (char first = '{'; at && at < end && *at == first; first = ',') {
		const char *key = skip_blank_text(at + 1, end);
		if (key == end || *key != '"' || !(at = skip_json_text(key, end)))
			return false;
		size_t len = (size_t)(at - key);
		at = skip_blank_text(at, end);
		if (at == end || *at != ':' || (at = skip_blank_text(at + 1, end)) == end)
			return false;
		if (len == strlen(stack) && memcmp(key, stack, len) == 0)
			return *at != '{';
		at = skip_row_value(
			at, end, len == strlen(labels) && memcmp(key, labels, len) == 0);
		at = at ? skip_blank_text(at, end) : NULL;
	}
	return false;
}

bool rows_table_is(const char *head, size_t len)
{
	if (!len || memchr(head, '\0', len)) /* `head` is NULL where there is nothing */
		return false;
	const char *end = head + len, *at = skip_blank_text(head, end);
	if (at == end)
		return false;
	if (*at == '{' || *at == '[')
		return begins_as_row(*at == '[' ? skip_blank_text(at + 1, end) : at, end);
	const char *line = at;
	return has_stack_column(line, take_row_line(&at, end));
}

/* ---- rows ---- */

static struct err *read_columns(struct rows_table *table)
{
	CLEANUP(str_deinit) struct str text = {0};
	const char *line = table->at;
	size_t len = take_row_line(&table->at, table->end);
	if (!has_stack_column(line, len))
		return err_new(ERR_FORMAT, "its first line names no column \"stack\"");
	for (const char *at = line; take_cell(&at, line + len, &text);) {
		if (table->columns.len == MAX_COLUMNS)
			return err_new(ERR_FORMAT, "it has more than %d columns", MAX_COLUMNS);
		vec_push(&table->columns, mem_strdup(str_text(&text)));
	}
	return NULL;
}

static struct err *read_list(struct rows_table *table)
{
	const struct json_value *list = NULL;
	size_t len = (size_t)(table->end - table->at);
	if (len > MAX_LIST_BYTES)
		return err_new(ERR_FORMAT,
			"a list of more than %d MiB: write an object a line, which is read one by "
			"one",
			MAX_LIST_BYTES >> 20);
	try(json_value_parse(table->at, len, &table->list, &list));
	table->next = list->first;
	return NULL;
}

struct err *rows_table_begin(struct rows_table *table, const char *text, size_t len)
{
	const char *end = text + len;
	*table = (struct rows_table){.text = text, .at = skip_blank_text(text, end), .end = end};
	char first = table->at < end ? *table->at : '\0';
	table->is_list = first == '[';
	table->has_tabs = first != '{' && first != '[';
	if (table->is_list)
		return read_list(table);
	return table->has_tabs ? read_columns(table) : NULL;
}

static struct err *read_row_line(struct rows_table *table, const struct json_value **ret)
{
	const char *line;
	size_t len;
	do {
		if (table->at >= table->end)
			return NULL;
		line = table->at;
		len = take_row_line(&table->at, table->end);
	} while (skip_blank_text(line, line + len) == line + len);
	table->nr_rows++;
	arena_deinit(&table->row);
	if (table->has_tabs)
		return read_cells(table, line, len, ret);
	return err_wrap(json_value_parse(line, len, &table->row, ret), "row %llu",
		(unsigned long long)table->nr_rows);
}

struct err *rows_table_next(struct rows_table *table, const struct json_value **ret)
{
	const struct json_value *row = NULL;
	if (table->is_list) {
		row = table->next;
		table->next = row ? row->next : NULL;
		table->nr_rows += row != NULL;
	} else {
		try(read_row_line(table, &row));
	}
	if (row && row->kind != JSON_OBJECT)
		return err_new(
			ERR_FORMAT, "row %llu is no object", (unsigned long long)table->nr_rows);
	*ret = row;
	return NULL;
}

void rows_table_deinit(struct rows_table *table)
{
	vec_each(&table->columns, column)
		mem_free(*column);
	vec_deinit(&table->columns);
	arena_deinit(&table->list);
	arena_deinit(&table->row);
}
