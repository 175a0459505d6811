#include "record/runtime/java/java_tables.h"

enum {
	MAX_READ_PAGES = 1024, /* the tables, and their texts */
};

void java_tables_init(
	struct java_tables *tables, uint32_t pid, uint64_t delta, const struct java_row *files)
{
	*tables = (struct java_tables){.pid = pid, .delta = delta, .files = files};
	tables->pages = runtime_pages_create();
	runtime_pages_begin(tables->pages, pid, MAX_READ_PAGES);
}

void java_tables_deinit(struct java_tables *tables)
{
	runtime_pages_destroy(tables->pages);
}

bool java_tables_read(struct java_tables *tables, uint64_t address, void *to, size_t len)
{
	return runtime_pages_read(tables->pages, address, to, len) == len;
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
