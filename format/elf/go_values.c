#include "format/elf/go_values.h"

#include "format/elf/go_table.h"

enum {
	PAIR_MAX_BYTES = 20, /* two varints */
	ROWS_MAX = 1 << 20,  /* of one function: the largest ones have some 10,000 */
};

void go_values_start(struct go_values *values, struct go_pclntab *table,
	const struct go_function *function, uint32_t offset)
{
	uint64_t size = function->end - function->start;
	values->table = table;
	values->at = table->values + offset;
	values->cursor = go_table_cursor(table, values->at);
	values->size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
	values->last = (struct go_row){.value = -1};
	values->is_ended = !offset || offset >= table->len - table->values;
	values->rows.len = 0;
}

void go_values_deinit(struct go_values *values)
{
	vec_deinit(&values->rows);
}

/* By how much the value changes (zigzag), and for how much code. */
struct pair {
	uint64_t change, len;
};

static bool get_pair(struct bytes_cursor *cursor, bool is_first, struct pair *ret)
{
	ret->change = bytes_get_varint(cursor);
	if (!ret->change && !is_first)
		return false; /* the end's mark */
	ret->len = bytes_get_varint(cursor);
	return !cursor->overrun;
}

/* Makes a row that follows. */
static bool add_pair(const struct go_values *values, const struct pair *pair, struct go_row *row)
{
	int64_t change = (int64_t)(pair->change >> 1 ^ (pair->change & 1 ? ~(uint64_t)0 : 0));
	if (!pair->len || pair->len > UINT32_MAX || change < INT32_MIN || change > INT32_MAX)
		return false;
	int64_t value = row->value + change;
	if (value < INT32_MIN || value > INT32_MAX)
		return false;
	uint64_t end = row->end + pair->len * values->table->quantum;
	row->end = end < values->size ? (uint32_t)end : values->size;
	row->value = (int32_t)value;
	return true;
}

bool go_values_next(struct go_values *values)
{
	struct pair pair;
	if (bytes_left(&values->cursor) < PAIR_MAX_BYTES) {
		values->at += bytes_offset(&values->cursor);
		values->cursor = go_table_cursor(values->table, values->at);
	}
	values->is_ended = values->is_ended || values->last.end >= values->size ||
			   !get_pair(&values->cursor, !values->last.end, &pair) ||
			   !add_pair(values, &pair, &values->last);
	return !values->is_ended;
}

/* A varint of one byte or two; where it has more, a number that none of two can be. */
static inline uint32_t get_short(const uint8_t **pos)
{
	uint32_t low = *(*pos)++;
	if (low < 0x80)
		return low;
	uint32_t high = *(*pos)++;
	return high < 0x80 ? (low & 0x7f) | high << 7 : UINT32_MAX;
}

/*
 * The rows up to `into`, as long as their numbers are short, which is nearly always: a report reads
 * dozens for an address. Stops before what is anything else.
 */
static void read_short_rows(struct go_values *values, uint32_t into)
{
	const uint8_t *end = values->cursor.end;
	uint32_t quantum = values->table->quantum, size = values->size;
	struct go_row row = values->last;
	int64_t value = row.value;
	while (row.end <= into && end - values->cursor.pos >= PAIR_MAX_BYTES &&
		values->rows.len < ROWS_MAX) {
		const uint8_t *pos = values->cursor.pos;
		uint32_t change = get_short(&pos), len = get_short(&pos);
		bool is_end = !change && row.end;
		if (is_end || !len || change == UINT32_MAX || len == UINT32_MAX ||
			len * quantum > size - row.end)
			break;
		value += (int32_t)(change >> 1) ^ -(int32_t)(change & 1);
		row = (struct go_row){row.end + len * quantum, (int32_t)value};
		vec_push(&values->rows, row);
		values->cursor.pos = pos;
	}
	values->last = row;
}

static void go_values_read_rows(struct go_values *values, uint32_t into)
{
	size_t had = values->rows.len;
	if (!values->is_ended)
		read_short_rows(values, into);
	while (values->last.end <= into && values->rows.len < ROWS_MAX && go_values_next(values)) {
		vec_push(&values->rows, values->last);
		read_short_rows(values, into);
	}
	values->nr_read += values->rows.len - had;
}

static int32_t go_values_find_row(const struct go_values *values, uint32_t into)
{
	const struct go_row *rows = values->rows.data;
	size_t low = 0, high = values->rows.len; /* the row is in between, `high` not included */
	if (high == 1 || rows[high - 2].end <= into)
		return rows[high - 1].value; /* read just now */
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (rows[middle - 1].end > into)
			high = middle;
		else
			low = middle;
	}
	return rows[low].value;
}

int32_t go_values_at(struct go_values *values, uint32_t into)
{
	if (values->last.end <= into)
		go_values_read_rows(values, into);
	return into < values->last.end ? go_values_find_row(values, into) : -1;
}
