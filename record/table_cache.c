/*
 * An entry: header, name, rules, runtime, inputs, pages, rows. The large arrays are read straight
 * to where they are used: as little-endian numbers, which every machine has that this recorder runs
 * on.
 */
#include "record/table_cache.h"

#include <stdio.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/hex.h"
#include "format/base/mem.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "rows are not converted");

enum {
/* What is stored of a file has been looked at for these runtimes only: a bit each. */
#define X(constant, number, name) | 1 << (number)
	FORMAT_VERSION = 6 << 8 RUNTIMES(X),
#undef X
	HEADER_BYTES = 8 + 7 * 4,
	RULE_BYTES = 16,
	RUNTIME_BYTES = sizeof(struct runtime_row), /* as it stands, like the arrays */
	SUM_BYTES = SIPHASH_KEY_BYTES + 8,
	PLACE_BYTES = sizeof(struct table_place),
};

static const char magic[8] = "ebprofUT";

struct err *table_cache_open(const char *folder, struct cache **ret)
{
	struct cache_options options = {
		.kind = "unwind",
		.folder = folder,
		.max_bytes = (uint64_t)TABLE_CACHE_MAX_MB << 20,
	};
	return cache_open(&options, ret);
}

/* ---- names ---- */

enum {
	NAME_BYTES = 2 * TABLE_CACHE_NAME_MAX + 1,
};

_Static_assert((int)NAME_BYTES <= (int)CACHE_NAME_MAX + 1, "names fit");

/* False for a name that is none. */
static bool put_name(const uint8_t *name, uint32_t len, char ret[NAME_BYTES])
{
	if (!len || len > TABLE_CACHE_NAME_MAX)
		return false;
	hex_encode(name, len, ret);
	return true;
}

/* ---- contents ---- */

static void put_rule(struct bytes_buf *out, const struct unwind_rule *rule)
{
	bytes_put_u8(out, rule->cfa);
	bytes_put_u8(out, rule->cfa_register);
	bytes_put_u8(out, (uint8_t)(rule->fp | rule->ra << 4));
	bytes_put_u8(out, rule->flags);
	bytes_put_u32(out, (uint32_t)rule->cfa_offset);
	bytes_put_u16(out, (uint16_t)rule->fp_offset);
	bytes_put_u16(out, (uint16_t)rule->ra_offset);
	bytes_put_u16(out, (uint16_t)rule->rbx_offset);
	bytes_put_u8(out, rule->rbx);
	bytes_put_u8(out, 0);
}

static struct unwind_rule get_rule(struct bytes_cursor *cursor)
{
	struct unwind_rule rule = {
		.cfa = bytes_get_u8(cursor), .cfa_register = bytes_get_u8(cursor)};
	uint8_t kinds = bytes_get_u8(cursor);
	rule.fp = kinds & 15;
	rule.ra = kinds >> 4;
	rule.flags = bytes_get_u8(cursor);
	rule.cfa_offset = (int32_t)bytes_get_u32(cursor);
	rule.fp_offset = (int16_t)bytes_get_u16(cursor);
	rule.ra_offset = (int16_t)bytes_get_u16(cursor);
	rule.rbx_offset = (int16_t)bytes_get_u16(cursor);
	rule.rbx = bytes_get_u8(cursor);
	rule.zero = bytes_get_u8(cursor);
	return rule;
}

static size_t pages_bytes(const struct unwind_table *table)
{
	return table->pages.len * sizeof(*table->pages.data);
}

static size_t rows_bytes(const struct unwind_table *table)
{
	return table->rows.len * sizeof(*table->rows.data);
}

/* ---- storing ---- */

static size_t places_bytes(const struct table_inputs *inputs)
{
	return inputs->places.len * PLACE_BYTES;
}

static void put_head(struct bytes_buf *out, const uint8_t *name, uint32_t len,
	const struct unwind_table *table, const struct table_inputs *inputs)
{
	bytes_put(out, magic, sizeof(magic));
	bytes_put_u16(out, FORMAT_VERSION);
	bytes_put_u16(out, UNWIND_TABLE_VERSION);
	bytes_put_u32(out, len);
	bytes_put_u32(out, table->first_page);
	bytes_put_u32(out, (uint32_t)table->rules.len);
	bytes_put_u32(out, (uint32_t)table->pages.len);
	bytes_put_u32(out, (uint32_t)table->rows.len);
	bytes_put_u32(out, (uint32_t)inputs->places.len);
	bytes_put(out, name, len);
	vec_each(&table->rules, rule)
		put_rule(out, rule);
	bytes_put(out, &table->runtime, RUNTIME_BYTES);
	bytes_put(out, inputs->key, sizeof(inputs->key));
	bytes_put_u64(out, inputs->sum);
}

struct err *table_cache_store(const struct cache *cache, const uint8_t *name, uint32_t len,
	const struct unwind_table *table, const struct table_inputs *inputs)
{
	char text[NAME_BYTES];
	if (!put_name(name, len, text))
		return NULL;
	CLEANUP(bytes_buf_deinit) struct bytes_buf head = {0};
	put_head(&head, name, len, table, inputs);
	const struct cache_piece pieces[] = {
		{head.data, HEADER_BYTES},
		{head.data + HEADER_BYTES, head.len - HEADER_BYTES},
		{inputs->places.data, places_bytes(inputs)},
		{table->pages.data, pages_bytes(table)},
		{table->rows.data, rows_bytes(table)},
	};
	return cache_store(cache, text, pieces, sizeof(pieces) / sizeof(*pieces));
}

/* ---- loading ---- */

struct sizes {
	uint32_t first_page, rules, pages, rows, places;
	size_t head_bytes; /* up to the places */
};

/* Everything that tells how much to read and to allocate, before either is done. */
static struct err *read_sizes(
	const uint8_t header[HEADER_BYTES], uint32_t len, uint64_t entry_bytes, struct sizes *ret)
{
	struct bytes_cursor cursor = bytes_cursor(header, HEADER_BYTES);
	if (memcmp(bytes_get(&cursor, sizeof(magic)), magic, sizeof(magic)) != 0)
		return err_new(ERR_FORMAT, "no table");
	if (bytes_get_u16(&cursor) != FORMAT_VERSION ||
		bytes_get_u16(&cursor) != UNWIND_TABLE_VERSION)
		return err_new(ERR_FORMAT, "of another version");
	if (bytes_get_u32(&cursor) != len)
		return err_new(ERR_FORMAT, "of another name");
	struct sizes sizes = {.first_page = bytes_get_u32(&cursor)};
	sizes.rules = bytes_get_u32(&cursor);
	sizes.pages = bytes_get_u32(&cursor);
	sizes.rows = bytes_get_u32(&cursor);
	sizes.places = bytes_get_u32(&cursor);
	if (sizes.rules > UNWIND_TABLE_MAX_RULES || sizes.pages > UNWIND_MAX_PAGES ||
		sizes.rows > UNWIND_TABLE_MAX_ROWS || sizes.places > TABLE_INPUTS_MAX_PLACES)
		return err_new(ERR_FORMAT, "too large");
	sizes.head_bytes =
		HEADER_BYTES + len + (size_t)sizes.rules * RULE_BYTES + RUNTIME_BYTES + SUM_BYTES;
	uint64_t want = sizes.head_bytes + (uint64_t)sizes.places * PLACE_BYTES +
			sizes.pages * sizeof(struct unwind_page) +
			(uint64_t)sizes.rows * sizeof(uint32_t);
	if (entry_bytes != want)
		return err_new(ERR_FORMAT, "of a wrong length");
	*ret = sizes;
	return NULL;
}

static struct err *read_contents(struct cache_entry *entry, uint8_t *head,
	const struct sizes *sizes, struct unwind_table *table, struct table_inputs *inputs)
{
	vec_reserve(&inputs->places, sizes->places);
	inputs->places.len = sizes->places;
	table->first_page = sizes->first_page;
	vec_reserve(&table->pages, sizes->pages);
	vec_reserve(&table->rows, sizes->rows);
	table->pages.len = sizes->pages;
	table->rows.len = sizes->rows;
	try(cache_entry_read(entry, head + HEADER_BYTES, sizes->head_bytes - HEADER_BYTES));
	try(cache_entry_read(entry, inputs->places.data, places_bytes(inputs)));
	try(cache_entry_read(entry, table->pages.data, pages_bytes(table)));
	try(cache_entry_read(entry, table->rows.data, rows_bytes(table)));
	return cache_entry_check(entry);
}

static struct err *read_table(struct cache_entry *entry, const uint8_t *name, uint32_t len,
	struct unwind_table *table, struct table_inputs *inputs)
{
	uint8_t header[HEADER_BYTES];
	struct sizes sizes = {0};
	uint64_t entry_bytes = entry->bytes_left;
	try(cache_entry_read(entry, header, sizeof(header)));
	try(read_sizes(header, len, entry_bytes, &sizes));
	CLEANUP_FREE uint8_t *head = mem_alloc(sizes.head_bytes);
	memcpy(head, header, sizeof(header));
	try(read_contents(entry, head, &sizes, table, inputs));
	if (memcmp(head + HEADER_BYTES, name, len) != 0)
		return err_new(ERR_FORMAT, "of another name");
	struct bytes_cursor cursor =
		bytes_cursor(head + HEADER_BYTES + len, sizes.head_bytes - HEADER_BYTES - len);
	for (uint32_t i = 0; i < sizes.rules; i++)
		vec_push(&table->rules, get_rule(&cursor));
	memcpy(&table->runtime, bytes_get(&cursor, RUNTIME_BYTES), RUNTIME_BYTES);
	memcpy(inputs->key, bytes_get(&cursor, SIPHASH_KEY_BYTES), SIPHASH_KEY_BYTES);
	inputs->sum = bytes_get_u64(&cursor);
	return unwind_table_check(table);
}

struct err *table_cache_load(const struct cache *cache, const uint8_t *name, uint32_t len,
	struct unwind_table *ret, struct table_inputs *inputs, bool *is_found)
{
	char text[NAME_BYTES];
	struct cache_entry entry;
	*is_found = false;
	if (!put_name(name, len, text))
		return NULL;
	try(cache_entry_open(cache, text, &entry));
	if (entry.fd < 0)
		return NULL;
	struct unwind_table table = {0};
	struct table_inputs read = {0};
	struct err *err = read_table(&entry, name, len, &table, &read);
	cache_entry_close(&entry);
	if (err) {
		unwind_table_deinit(&table);
		table_inputs_deinit(&read);
		return err_wrap(err, "cached %s", text);
	}
	*ret = table;
	*inputs = read;
	*is_found = true;
	return NULL;
}
