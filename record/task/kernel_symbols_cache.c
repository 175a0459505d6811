/* An entry: header, then of each symbol where it is and its name's place, then the names. */
#include "record/task/kernel_symbols_cache.h"

#include <string.h>

#include "format/base/bytes.h"
#include "format/base/cache.h"
#include "format/base/mem.h"

enum {
	FORMAT_VERSION = 1,
	HEADER_BYTES = 8 + 4 + 2 * 4 + 2 * 8,
	ENTRY_BYTES = 2 * 4,
	MAX_ENTRIES = 1 << 20, /* eight times what there are */
	MAX_NAMES = 64 << 20,  /* bytes */
	MAX_CACHE_MB = 64,     /* of all entries: 15 boots */
};

static const char magic[8] = "ebprofKS";

static struct cache *kernel_symbols_cache_open(const char *folder)
{
	struct cache *cache = NULL;
	struct cache_options options = {
		.kind = "kernel", .folder = folder, .max_bytes = (uint64_t)MAX_CACHE_MB << 20};
	err_destroy(cache_open(&options, &cache));
	return cache;
}

/* ---- storing ---- */

static bool is_in_text(const struct kernel_symbol_list *list, uint64_t address)
{
	return address >= list->text_start && address <= list->text_end;
}

void kernel_symbols_cache_store(
	const char *folder, const char *boot, const struct kernel_symbol_list *list)
{
	CLEANUP(bytes_buf_deinit) struct bytes_buf header = {0}, entries = {0}, names = {0};
	uint64_t text_bytes = list->text_end - list->text_start;
	if (!list->text_start || list->text_start >= list->text_end || text_bytes > UINT32_MAX)
		return;
	vec_each(&list->entries, entry) {
		const char *name = list->names.data + entry->name;
		if (!is_in_text(list, entry->address))
			continue;
		bytes_put_u32(&entries, (uint32_t)(entry->address - list->text_start));
		bytes_put_u32(&entries, (uint32_t)names.len);
		bytes_put(&names, name, strlen(name) + 1);
	}
	bytes_put(&header, magic, sizeof(magic));
	bytes_put_u32(&header, FORMAT_VERSION);
	bytes_put_u32(&header, (uint32_t)(entries.len / ENTRY_BYTES));
	bytes_put_u32(&header, (uint32_t)names.len);
	bytes_put_u64(&header, list->text_start);
	bytes_put_u64(&header, list->text_end);
	const struct cache_piece pieces[] = {
		{header.data, header.len}, {entries.data, entries.len}, {names.data, names.len}};
	struct cache *cache = kernel_symbols_cache_open(folder);
	err_destroy(cache_store(cache, boot, pieces, sizeof(pieces) / sizeof(*pieces)));
	cache_close(cache);
}

/* ---- loading ---- */

/* Whether they are in the order of their addresses, in the text, and have names. */
static bool are_sound(const struct kernel_symbol_list *list)
{
	size_t len = list->names.len;
	uint64_t last = list->text_start;
	if (!list->entries.len || !len || list->names.data[len - 1])
		return false;
	vec_each(&list->entries, entry) {
		if (entry->address < last || !is_in_text(list, entry->address) ||
			entry->name >= len)
			return false;
		last = entry->address;
	}
	return true;
}

static struct err *kernel_symbols_cache_read(
	struct cache_entry *entry, uint64_t text_start, struct kernel_symbol_list *list)
{
	uint8_t header[HEADER_BYTES];
	struct bytes_cursor cursor = bytes_cursor(header, sizeof(header));
	try(cache_entry_read(entry, header, sizeof(header)));
	if (memcmp(bytes_get(&cursor, sizeof(magic)), magic, sizeof(magic)) != 0 ||
		bytes_get_u32(&cursor) != FORMAT_VERSION)
		return err_new(ERR_FORMAT, "of another version");
	size_t count = bytes_get_u32(&cursor), names = bytes_get_u32(&cursor);
	list->text_start = bytes_get_u64(&cursor);
	list->text_end = bytes_get_u64(&cursor);
	if (count > MAX_ENTRIES || names > MAX_NAMES ||
		entry->bytes_left != count * ENTRY_BYTES + names)
		return err_new(ERR_FORMAT, "of a wrong length");
	if (list->text_start != text_start)
		return err_new(ERR_FORMAT, "of a kernel that stood elsewhere");
	CLEANUP_FREE uint8_t *entries = mem_alloc(count * ENTRY_BYTES + 1);
	try(cache_entry_read(entry, entries, count * ENTRY_BYTES));
	str_pad(&list->names, 0, names);
	try(cache_entry_read(entry, list->names.data, names));
	try(cache_entry_check(entry));
	cursor = bytes_cursor(entries, count * ENTRY_BYTES);
	vec_reserve(&list->entries, count);
	for (size_t i = 0; i < count; i++) {
		struct kernel_symbols_entry symbol = {
			.address = text_start + bytes_get_u32(&cursor)};
		symbol.name = bytes_get_u32(&cursor);
		vec_push(&list->entries, symbol);
	}
	return are_sound(list) ? NULL : err_new(ERR_FORMAT, "without sense");
}

bool kernel_symbols_cache_load(
	const char *folder, const char *boot, uint64_t text_start, struct kernel_symbol_list *ret)
{
	struct cache *cache = kernel_symbols_cache_open(folder);
	struct cache_entry entry;
	struct kernel_symbol_list list = {0};
	struct err *err = cache_entry_open(cache, boot, &entry);
	bool is_found = !err && entry.fd >= 0;
	if (is_found)
		err = kernel_symbols_cache_read(&entry, text_start, &list);
	cache_entry_close(&entry);
	cache_close(cache);
	if (is_found && !err) {
		*ret = list;
		return true;
	}
	err_destroy(err);
	vec_deinit(&list.entries);
	str_deinit(&list.names);
	return false;
}
