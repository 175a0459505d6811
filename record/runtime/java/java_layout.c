#include "record/runtime/java/java_layout.h"

#include <string.h>

#include "bpf/runtime/java/java_row.h"
#include "format/base/mem.h"
#include "record/runtime/java/java_stubs.h"
#include "record/runtime/runtime_memory.h"

enum {
	PAGE_BYTES = 4096,
	MAX_PAGES = 1024, /* that are kept: the tables, and their texts */
	MAX_ENTRIES = 1 << 14,
	MAX_STRIDE = 256,
	MAX_NAME_BYTES = 128,
	MAX_OFFSET = 1 << 12,
	MAX_VERSION = 99,
};

/* ---- memory ---- */

/* Pages of the process, each read once: tables and texts lie close together. */
struct pages {
	uint32_t pid;
	uint32_t count;
	struct page {
		uint64_t address;
		uint8_t bytes[PAGE_BYTES];
	} * page;
};

/* NULL: it cannot be read, or there are too many. */
static const struct page *find_memory_page(struct pages *pages, uint64_t address)
{
	for (uint32_t i = pages->count; i-- > 0;)
		if (pages->page[i].address == address)
			return &pages->page[i];
	if (pages->count == MAX_PAGES)
		return NULL;
	struct page *page = &pages->page[pages->count];
	page->address = address;
	if (!runtime_read_process(pages->pid, address, page->bytes, PAGE_BYTES))
		return NULL;
	pages->count++;
	return page;
}

static bool read_bytes(struct pages *pages, uint64_t address, void *to, size_t len)
{
	uint8_t *out = to;
	while (len) {
		uint64_t at = address % PAGE_BYTES, n = PAGE_BYTES - at;
		const struct page *page = find_memory_page(pages, address - at);
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

static bool read_u64(struct pages *pages, uint64_t address, uint64_t *ret)
{
	return read_bytes(pages, address, ret, sizeof(*ret));
}

static bool read_name(struct pages *pages, uint64_t address, char ret[MAX_NAME_BYTES])
{
	for (size_t i = 0; i < MAX_NAME_BYTES; i++) {
		if (!read_bytes(pages, address + i, &ret[i], 1))
			return false;
		if (!ret[i])
			return true;
	}
	return false;
}

/* ---- tables ---- */

/* What is looked for; of several names for one thing those of later versions come first. */
struct wanted_field {
	const char *type, *field;
	uint16_t place;   /* of the row: where its offset goes */
	uint8_t flags;    /* of the row, if it is found; enum java_flag */
	bool is_optional; /* or there is another one */
};

#define PLACE(member) offsetof(struct java_row, member)

static const struct wanted_field wanted_fields[] = {
#define X(member, of, name) {.type = of, .field = name, .place = PLACE(member)},
	JAVA_OFFSETS(X)
#undef X
	/* Of other versions. */
	{"GenericGrowableArray", "_len", PLACE(array_length), 0, true},
	{"CodeBlob", "_code_offset", PLACE(blob_code), JAVA_CODE_IS_OFFSET, true},
	{"CodeBlob", "_data_offset", PLACE(blob_end), 0, true},
	{"CompiledMethod", "_method", PLACE(compiled_method), 0, true},
	{"nmethod", "_verified_entry_offset", PLACE(entry), JAVA_ENTRY_IS_OFFSET, true},
	{"nmethod", "_deopt_handler_entry_offset", PLACE(deopt_handler), 0, true},
	{"CompiledMethod", "_deopt_handler_begin", PLACE(deopt_handler), JAVA_DEOPT_IS_POINTER,
		true},
	{"CompiledMethod", "_scopes_data_begin", PLACE(scopes_data), JAVA_SCOPES_IS_POINTER, true},
	{"ConstMethod", "_flags._flags", PLACE(method_flags), 0, true},
	{"InstanceKlass", "_source_file_name_index", PLACE(source_file_index),
		JAVA_FILE_IS_OF_CLASS, true},
	{"Symbol", "_length_and_refcount", PLACE(symbol_length), JAVA_LENGTH_IS_UPPER_HALF, true},
};

enum {
	NR_FIELDS = sizeof(wanted_fields) / sizeof(*wanted_fields),
};

/* The options of the virtual machine, as far as it takes to find one. */
struct options {
	uint64_t table, count; /* addresses of what points to the first, and of their number */
	uint16_t name, address, bytes;
};

struct table {
	struct pages *pages;
	const struct java_row *symbols; /* the row as it was */
	uint64_t delta;
	struct options options;
	uint64_t call_stub_return; /* address of the variable */
};

static bool read_symbol_value(const struct table *table, enum java_symbol symbol, uint64_t *ret)
{
	return read_u64(table->pages, table->symbols->symbols[symbol] - table->delta, ret);
}

/* The same of an offset in an entry. */
static bool read_offset(const struct table *table, enum java_symbol symbol, uint64_t *ret)
{
	return read_symbol_value(table, symbol, ret) && *ret < MAX_STRIDE;
}

static void take_field(struct table *table, struct java_row *row, const char *type,
	const char *field, uint64_t offset)
{
	if (strcmp(type, "JVMFlag") == 0 && offset < MAX_OFFSET) {
		if (strcmp(field, "_name") == 0)
			table->options.name = (uint16_t)offset;
		if (strcmp(field, "_addr") == 0)
			table->options.address = (uint16_t)offset;
	}
	for (size_t i = 0; i < NR_FIELDS; i++) {
		const struct wanted_field *wanted = &wanted_fields[i];
		if (strcmp(wanted->type, type) != 0 || strcmp(wanted->field, field) != 0 ||
			offset >= MAX_OFFSET)
			continue;
		*(uint16_t *)((char *)row + wanted->place) = (uint16_t)offset;
		row->flags |= wanted->flags;
	}
}

static void take_static(struct table *table, struct java_row *row, const char *type,
	const char *field, uint64_t address)
{
	uint32_t version;
	if (strcmp(type, "CodeCache") == 0 && strcmp(field, "_heaps") == 0)
		row->heaps = (uint32_t)(address + table->delta);
	if (strcmp(type, "StubRoutines") == 0 && strcmp(field, "_call_stub_return_address") == 0)
		table->call_stub_return = address;
	if (strcmp(type, "JVMFlag") == 0 && strcmp(field, "flags") == 0)
		table->options.table = address;
	if (strcmp(type, "JVMFlag") == 0 && strcmp(field, "numFlags") == 0)
		table->options.count = address;
	if (strcmp(type, "Abstract_VM_Version") == 0 && strcmp(field, "_vm_major_version") == 0 &&
		read_bytes(table->pages, address, &version, sizeof(version)) &&
		version <= MAX_VERSION)
		row->version = (uint8_t)version;
}

static bool read_structs(struct table *table, struct java_row *row)
{
	uint64_t at, stride, type_at, field_at, static_at, offset_at, address_at;
	if (!read_symbol_value(table, JAVA_STRUCTS, &at) ||
		!read_offset(table, JAVA_STRUCTS_STRIDE, &stride) || !stride ||
		!read_offset(table, JAVA_STRUCTS_TYPE_NAME, &type_at) ||
		!read_offset(table, JAVA_STRUCTS_FIELD_NAME, &field_at) ||
		!read_offset(table, JAVA_STRUCTS_IS_STATIC, &static_at) ||
		!read_offset(table, JAVA_STRUCTS_OFFSET, &offset_at) ||
		!read_offset(table, JAVA_STRUCTS_ADDRESS, &address_at))
		return false;
	for (int i = 0; i < MAX_ENTRIES; i++, at += stride) {
		char type[MAX_NAME_BYTES], field[MAX_NAME_BYTES];
		uint64_t type_name, field_name, offset, address;
		uint32_t is_static;
		if (!read_u64(table->pages, at + type_at, &type_name))
			return false;
		if (!type_name)
			return true;
		if (!read_u64(table->pages, at + field_at, &field_name) ||
			!read_bytes(table->pages, at + static_at, &is_static, sizeof(is_static)) ||
			!read_u64(table->pages, at + offset_at, &offset) ||
			!read_u64(table->pages, at + address_at, &address))
			return false;
		if (!read_name(table->pages, type_name, type) ||
			!read_name(table->pages, field_name, field))
			continue; /* a longer one */
		if (is_static)
			take_static(table, row, type, field, address);
		else
			take_field(table, row, type, field, offset);
	}
	return false;
}

static bool read_types(struct table *table, struct java_row *row)
{
	static const struct {
		const char *name;
		uint16_t place;
	} sizes[] = {
#define X(member, name) {name, PLACE(member)},
		JAVA_SIZES(X)
#undef X
	};
	uint64_t at, stride, name_at, size_at;
	if (!read_symbol_value(table, JAVA_TYPES, &at) ||
		!read_offset(table, JAVA_TYPES_STRIDE, &stride) || !stride ||
		!read_offset(table, JAVA_TYPES_NAME, &name_at) ||
		!read_offset(table, JAVA_TYPES_SIZE, &size_at))
		return false;
	for (int i = 0; i < MAX_ENTRIES; i++, at += stride) {
		char name[MAX_NAME_BYTES];
		uint64_t name_address, size;
		if (!read_u64(table->pages, at + name_at, &name_address))
			return false;
		if (!name_address)
			return true;
		if (!read_u64(table->pages, at + size_at, &size))
			return false;
		if (!read_name(table->pages, name_address, name))
			continue;
		for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++)
			if (strcmp(sizes[k].name, name) == 0 && size < MAX_OFFSET)
				*(uint16_t *)((char *)row + sizes[k].place) = (uint16_t)size;
		if (strcmp(name, "JVMFlag") == 0 && size < MAX_OFFSET)
			table->options.bytes = (uint16_t)size;
	}
	return false;
}

/* ---- options ---- */

/* The address of the option's value; 0: not found. */
static uint64_t find_option(struct table *table, const char *wanted)
{
	const struct options *options = &table->options;
	uint64_t at, count, name_address, address;
	char name[MAX_NAME_BYTES];
	if (!options->table || !options->count || !options->bytes ||
		!read_u64(table->pages, options->table, &at) ||
		!read_u64(table->pages, options->count, &count) || count > MAX_ENTRIES)
		return 0;
	for (uint64_t i = 0; i < count; i++, at += options->bytes)
		if (read_u64(table->pages, at + options->name, &name_address) && name_address &&
			read_name(table->pages, name_address, name) && strcmp(name, wanted) == 0)
			return read_u64(table->pages, at + options->address, &address) ? address
										       : 0;
	return 0;
}

/* ---- the row ---- */

static bool has(uint16_t offset)
{
	return offset != JAVA_NOT_FOUND;
}

/* Whether there is all that frames and names are found by. */
static bool is_enough(const struct java_row *row)
{
	const uint16_t needed[] = {row->array_data, row->heap_memory, row->heap_segments,
		row->heap_shift, row->space_low_boundary, row->space_high_boundary, row->space_low,
		row->block_header, row->block_used, row->blob_name, row->blob_frame_size,
		row->blob_code, row->blob_end, row->compiled_method, row->compile_id, row->entry,
		row->const_method, row->constants, row->name_index, row->bytecode_bytes,
		row->pool_holder, row->class_name, row->symbol_length, row->symbol_body,
		row->block_bytes, row->const_method_bytes, row->pool_bytes};
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (!has(needed[i]))
			return false;
	/* Both are read at once. */
	return row->heaps && row->version &&
	       row->space_high_boundary == row->space_low_boundary + 8;
}

/* False: no generated code has run yet, so there are no stubs yet that could be found. */
static bool take_stubs(const struct table *table, struct java_row *row)
{
	uint64_t call_stub_return;
	if (!read_u64(table->pages, table->call_stub_return, &call_stub_return) ||
		!call_stub_return)
		return false;
	uint64_t list =
		java_stubs_find(table->pages->pid, row->heaps - table->delta, call_stub_return);
	row->call_stub_return = (uint32_t)(table->call_stub_return + table->delta);
	row->stubs = list ? (uint32_t)(list + table->delta) : 0;
	return true;
}

bool java_layout_complete(uint32_t pid, uint64_t delta, struct runtime_row *ret)
{
	const struct java_row *old = (const void *)ret->words;
	struct runtime_row new = *ret;
	struct java_row *row = (void *)new.words;
	struct pages pages = {.pid = pid};
	struct table table = {.pages = &pages, .symbols = old, .delta = delta};
	if (old->is_complete)
		return true;
	CLEANUP_FREE struct page *memory = mem_alloc(MAX_PAGES * sizeof(*memory));
	pages.page = memory;
	memset(row, 0, sizeof(*row));
#define X(member, ...) row->member = JAVA_NOT_FOUND;
	JAVA_OFFSETS(X)
	JAVA_SIZES(X)
#undef X
	if (!read_structs(&table, row) || !read_types(&table, row))
		return false;
	if (!has(row->array_length)) /* of JDK 11, where it is the first */
		row->array_length = 0;
	if (has(row->immutable_data))
		row->flags |= JAVA_HAS_IMMUTABLE_DATA;
	if (has(row->scopes_pcs) && has(row->scopes_data) && has(row->method_flags) &&
		(has(row->metadata) || has(row->mutable_data)))
		row->flags |= JAVA_HAS_SCOPES;
	if (!is_enough(row) || !table.call_stub_return || !take_stubs(&table, row))
		return false;
	uint64_t option = find_option(&table, "DebugNonSafepoints");
	row->non_safepoints = option ? (uint32_t)(option + delta) : 0;
	row->is_complete = true;
	*ret = new;
	return true;
}
