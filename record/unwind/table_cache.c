/*
 * An entry: header, name, rules, runtime, inputs, pages, rows. All numbers are little-endian. The
 * rows, which are most of it, are read straight to where they are used.
 */
#include "record/unwind/table_cache.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/hex.h"
#include "format/base/mem.h"
#include "record/runtime/runtime.h"

enum {
	FORMAT_VERSION = 7,
	HEADER_BYTES = 8 + 7 * 4 + 8,
	RULE_BYTES = 16,
	RUNTIME_BYTES = 2 * 4 + RUNTIME_ROW_WORDS * 8,
	SUM_BYTES = SIPHASH_KEY_BYTES + 8,
	PLACE_BYTES = 2 * 8,
	PAGE_BYTES = 2 * 4,
	ROW_BYTES = 4,
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
static bool table_cache_put_name(const uint8_t *name, uint32_t len, char ret[NAME_BYTES])
{
	if (!len || len > TABLE_CACHE_NAME_MAX)
		return false;
	hex_encode(name, len, ret);
	return true;
}

/* ---- contents ---- */

static void table_cache_put_rule(struct bytes_buf *out, const struct unwind_rule *rule)
{
	bytes_put_u8(out, rule->cfa);
	bytes_put_u8(out, rule->cfa_register);
	bytes_put_u8(out, (uint8_t)(rule->fp | rule->ra << 4));
	bytes_put_u8(out, rule->flags);
	bytes_put_u32(out, (uint32_t)rule->cfa_offset);
	bytes_put_u16(out, (uint16_t)rule->fp_offset);
	bytes_put_u16(out, (uint16_t)rule->ra_offset);
	bytes_put_u16(out, (uint16_t)rule->extra_offset);
	bytes_put_u8(out, rule->extra);
	bytes_put_u8(out, rule->extra_register);
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
	rule.extra_offset = (int16_t)bytes_get_u16(cursor);
	rule.extra = bytes_get_u8(cursor);
	rule.extra_register = bytes_get_u8(cursor);
	return rule;
}

/* The words are as its own runtime packs them, of whose row the header has the version. */
static void put_runtime(struct bytes_buf *out, const struct runtime_row *row)
{
	bytes_put_u16(out, row->kind);
	bytes_put_u16(out, row->unknown);
	bytes_put_u32(out, row->end_page);
	for (int i = 0; i < RUNTIME_ROW_WORDS; i++)
		bytes_put_u64(out, row->words[i]);
}

static struct runtime_row get_runtime(struct bytes_cursor *cursor)
{
	struct runtime_row row = {.kind = bytes_get_u16(cursor)};
	row.unknown = bytes_get_u16(cursor);
	row.end_page = bytes_get_u32(cursor);
	for (int i = 0; i < RUNTIME_ROW_WORDS; i++)
		row.words[i] = bytes_get_u64(cursor);
	return row;
}

static void put_inputs(struct bytes_buf *out, const struct table_inputs *inputs)
{
	bytes_put(out, inputs->key, sizeof(inputs->key));
	bytes_put_u64(out, inputs->sum);
	vec_each(&inputs->places, place) {
		bytes_put_u64(out, place->offset);
		bytes_put_u64(out, place->len);
	}
}

static void get_inputs(struct bytes_cursor *cursor, uint32_t nr_places, struct table_inputs *ret)
{
	memcpy(ret->key, bytes_get(cursor, sizeof(ret->key)), sizeof(ret->key));
	ret->sum = bytes_get_u64(cursor);
	for (uint32_t i = 0; i < nr_places; i++) {
		struct table_place place = {.offset = bytes_get_u64(cursor)};
		place.len = bytes_get_u64(cursor);
		vec_push(&ret->places, place);
	}
}

static void table_cache_put_pages(struct bytes_buf *out, const struct unwind_table *table)
{
	vec_each(&table->pages, page) {
		bytes_put_u32(out, page->first);
		bytes_put_u32(out, page->count);
	}
}

static void get_pages(struct bytes_cursor *cursor, uint32_t nr_pages, struct unwind_table *ret)
{
	vec_reserve(&ret->pages, nr_pages);
	for (uint32_t i = 0; i < nr_pages; i++) {
		struct unwind_page page = {.first = bytes_get_u32(cursor)};
		page.count = bytes_get_u32(cursor);
		vec_push(&ret->pages, page);
	}
}

/* ---- storing ---- */

static void table_cache_put_head(struct bytes_buf *out, const uint8_t *name, uint32_t len,
	const struct unwind_table *table, const struct table_inputs *inputs)
{
	bytes_put(out, magic, sizeof(magic));
	bytes_put_u16(out, FORMAT_VERSION);
	bytes_put_u16(out, UNWIND_TABLE_VERSION);
	bytes_put_u64(out, runtime_fingerprint(runtime_of));
	bytes_put_u32(out, len);
	bytes_put_u32(out, table->first_page);
	bytes_put_u32(out, (uint32_t)table->rules.len);
	bytes_put_u32(out, (uint32_t)table->pages.len);
	bytes_put_u32(out, (uint32_t)table->rows.len);
	bytes_put_u32(out, (uint32_t)inputs->places.len);
	bytes_put(out, name, len);
	vec_each(&table->rules, rule)
		table_cache_put_rule(out, rule);
	put_runtime(out, &table->runtime);
	put_inputs(out, inputs);
	table_cache_put_pages(out, table);
}

struct err *table_cache_store(const struct cache *cache, const uint8_t *name, uint32_t len,
	const struct unwind_table *table, const struct table_inputs *inputs)
{
	char text[NAME_BYTES];
	if (!table_cache_put_name(name, len, text))
		return NULL;
	CLEANUP(bytes_buf_deinit) struct bytes_buf head = {0};
	CLEANUP(bytes_buf_deinit) struct bytes_buf rows = {0};
	table_cache_put_head(&head, name, len, table, inputs);
	vec_each(&table->rows, row)
		bytes_put_u32(&rows, *row);
	const struct cache_piece pieces[] = {
		{head.data, HEADER_BYTES},
		{head.data + HEADER_BYTES, head.len - HEADER_BYTES},
		{rows.data, rows.len},
	};
	return cache_store(cache, text, pieces, sizeof(pieces) / sizeof(*pieces));
}

/* ---- loading ---- */

struct sizes {
	uint32_t first_page, rules, pages, rows, places;
	size_t head_bytes; /* up to the rows */
};

/* Everything that tells how much to read and to allocate, before either is done. */
static struct err *read_sizes(
	const uint8_t header[HEADER_BYTES], uint32_t len, uint64_t entry_bytes, struct sizes *ret)
{
	struct bytes_cursor cursor = bytes_cursor(header, HEADER_BYTES);
	if (memcmp(bytes_get(&cursor, sizeof(magic)), magic, sizeof(magic)) != 0)
		return err_new(ERR_FORMAT, "no table");
	if (bytes_get_u16(&cursor) != FORMAT_VERSION ||
		bytes_get_u16(&cursor) != UNWIND_TABLE_VERSION ||
		bytes_get_u64(&cursor) != runtime_fingerprint(runtime_of))
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
	sizes.head_bytes = HEADER_BYTES + len + (size_t)sizes.rules * RULE_BYTES + RUNTIME_BYTES +
			   SUM_BYTES + (size_t)sizes.places * PLACE_BYTES +
			   (size_t)sizes.pages * PAGE_BYTES;
	if (entry_bytes != sizes.head_bytes + (uint64_t)sizes.rows * ROW_BYTES)
		return err_new(ERR_FORMAT, "of a wrong length");
	*ret = sizes;
	return NULL;
}

static struct err *table_cache_read_rows(
	struct cache_entry *entry, uint32_t count, struct unwind_table *ret)
{
	vec_reserve(&ret->rows, count);
	try(cache_entry_read(entry, ret->rows.data, (size_t)count * ROW_BYTES));
	ret->rows.len = count;
	vec_each(&ret->rows, row)
		*row = le32toh(*row);
	return NULL;
}

static struct err *table_cache_read_table(struct cache_entry *entry, const uint8_t *name,
	uint32_t len, struct unwind_table *table, struct table_inputs *inputs)
{
	uint8_t header[HEADER_BYTES];
	struct sizes sizes = {0};
	uint64_t entry_bytes = entry->bytes_left;
	try(cache_entry_read(entry, header, sizeof(header)));
	try(read_sizes(header, len, entry_bytes, &sizes));
	size_t rest = sizes.head_bytes - HEADER_BYTES;
	CLEANUP_FREE uint8_t *head = mem_alloc(rest);
	try(cache_entry_read(entry, head, rest));
	try(table_cache_read_rows(entry, sizes.rows, table));
	try(cache_entry_check(entry));
	struct bytes_cursor cursor = bytes_cursor(head, rest);
	if (memcmp(bytes_get(&cursor, len), name, len) != 0)
		return err_new(ERR_FORMAT, "of another name");
	table->first_page = sizes.first_page;
	for (uint32_t i = 0; i < sizes.rules; i++)
		vec_push(&table->rules, get_rule(&cursor));
	table->runtime = get_runtime(&cursor);
	get_inputs(&cursor, sizes.places, inputs);
	get_pages(&cursor, sizes.pages, table);
	return unwind_table_check(table);
}

struct err *table_cache_load(const struct cache *cache, const uint8_t *name, uint32_t len,
	struct unwind_table *ret, struct table_inputs *inputs, bool *is_found)
{
	char text[NAME_BYTES];
	struct cache_entry entry;
	*is_found = false;
	if (!table_cache_put_name(name, len, text))
		return NULL;
	try(cache_entry_open(cache, text, &entry));
	if (entry.fd < 0)
		return NULL;
	struct unwind_table table = {0};
	struct table_inputs read = {0};
	struct err *err = table_cache_read_table(&entry, name, len, &table, &read);
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
