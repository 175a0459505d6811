#include "record/runtime/java/java_tables.h"

#include <string.h>

#include "format/base/mem.h"
#include "record/runtime/runtime_memory.h"

enum {
	PAGE_BYTES = 4096,
	MAX_PAGES = 1024, /* that are kept: the tables, and their texts */
};

struct java_page {
	uint64_t address;
	uint8_t bytes[PAGE_BYTES];
};

void java_tables_init(
	struct java_tables *tables, uint32_t pid, uint64_t delta, const struct java_row *files)
{
	*tables = (struct java_tables){.pid = pid, .delta = delta, .files = files};
	tables->pages = mem_alloc(MAX_PAGES * sizeof(*tables->pages));
}

void java_tables_deinit(struct java_tables *tables)
{
	mem_free(tables->pages);
}

/* NULL: it cannot be read, or there are too many. */
static const struct java_page *find_java_page(struct java_tables *tables, uint64_t address)
{
	for (uint32_t i = tables->nr_pages; i-- > 0;)
		if (tables->pages[i].address == address)
			return &tables->pages[i];
	if (tables->nr_pages == MAX_PAGES)
		return NULL;
	struct java_page *page = &tables->pages[tables->nr_pages];
	page->address = address;
	if (!runtime_read_process(tables->pid, address, page->bytes, PAGE_BYTES))
		return NULL;
	tables->nr_pages++;
	return page;
}

bool java_tables_read(struct java_tables *tables, uint64_t address, void *to, size_t len)
{
	uint8_t *out = to;
	while (len) {
		uint64_t at = address % PAGE_BYTES, n = PAGE_BYTES - at;
		const struct java_page *page = find_java_page(tables, address - at);
		if (!page)
			return false;
		n = n < len ? n : len;
		memcpy(out, page->bytes + at, n);
		address += n;
		out += n;
		len -= n;
	}
	return true;
}

bool java_tables_read_u64(struct java_tables *tables, uint64_t address, uint64_t *ret)
{
	return java_tables_read(tables, address, ret, sizeof(*ret));
}

bool java_tables_read_name(
	struct java_tables *tables, uint64_t address, char ret[JAVA_TABLES_MAX_NAME_BYTES])
{
	for (size_t i = 0; i < JAVA_TABLES_MAX_NAME_BYTES; i++) {
		if (!java_tables_read(tables, address + i, &ret[i], 1))
			return false;
		if (!ret[i])
			return true;
	}
	return false;
}

bool java_tables_read_symbol(struct java_tables *tables, enum java_symbol symbol, uint64_t *ret)
{
	return java_tables_read_u64(tables, tables->files->symbols[symbol] - tables->delta, ret);
}

bool java_tables_read_offset(struct java_tables *tables, enum java_symbol symbol, uint64_t *ret)
{
	return java_tables_read_symbol(tables, symbol, ret) && *ret < JAVA_TABLES_MAX_STRIDE;
}

bool java_tables_each_field(struct java_tables *tables, java_field_fn *fn, void *context)
{
	uint64_t at, stride, type_at, field_at, static_at, offset_at, address_at;
	if (!java_tables_read_symbol(tables, JAVA_STRUCTS, &at) ||
		!java_tables_read_offset(tables, JAVA_STRUCTS_STRIDE, &stride) || !stride ||
		!java_tables_read_offset(tables, JAVA_STRUCTS_TYPE_NAME, &type_at) ||
		!java_tables_read_offset(tables, JAVA_STRUCTS_FIELD_NAME, &field_at) ||
		!java_tables_read_offset(tables, JAVA_STRUCTS_IS_STATIC, &static_at) ||
		!java_tables_read_offset(tables, JAVA_STRUCTS_OFFSET, &offset_at) ||
		!java_tables_read_offset(tables, JAVA_STRUCTS_ADDRESS, &address_at))
		return false;
	for (int i = 0; i < JAVA_TABLES_MAX_ENTRIES; i++, at += stride) {
		char type[JAVA_TABLES_MAX_NAME_BYTES], field[JAVA_TABLES_MAX_NAME_BYTES];
		uint64_t type_name, field_name, offset, address;
		uint32_t is_static;
		if (!java_tables_read_u64(tables, at + type_at, &type_name))
			return false;
		if (!type_name)
			return true;
		if (!java_tables_read_u64(tables, at + field_at, &field_name) ||
			!java_tables_read(tables, at + static_at, &is_static, sizeof(is_static)) ||
			!java_tables_read_u64(tables, at + offset_at, &offset) ||
			!java_tables_read_u64(tables, at + address_at, &address))
			return false;
		if (java_tables_read_name(tables, type_name, type) &&
			java_tables_read_name(tables, field_name, field)) /* else a longer one */
			fn(context, type, field, is_static, is_static ? address : offset);
	}
	return false;
}
