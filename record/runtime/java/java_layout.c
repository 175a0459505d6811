#include "record/runtime/java/java_layout.h"

#include <string.h>

#include "bpf/runtime/java/java_row.h"
#include "record/runtime/java/java_stubs.h"
#include "record/runtime/java/java_tables.h"

enum {
	MAX_OFFSET = 1 << 12,
	MAX_VERSION = 99,
};

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
	struct java_tables tables;
	struct java_row *row; /* that is filled */
	struct options options;
	uint64_t call_stub_return, counters; /* addresses of these variables; 0: not found */
};

static void take_field(struct table *table, const char *type, const char *field, uint64_t offset)
{
	struct java_row *row = table->row;
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

static void take_static(struct table *table, const char *type, const char *field, uint64_t address)
{
	struct java_row *row = table->row;
	uint32_t version;
	if (strcmp(type, "CodeCache") == 0 && strcmp(field, "_heaps") == 0)
		row->heaps = (uint32_t)(address + table->tables.delta);
	if (strcmp(type, "StubRoutines") == 0 && strcmp(field, "_call_stub_return_address") == 0)
		table->call_stub_return = address;
	if (strcmp(type, "PerfMemory") == 0 && strcmp(field, "_start") == 0)
		table->counters = address;
	if (strcmp(type, "JVMFlag") == 0 && strcmp(field, "flags") == 0)
		table->options.table = address;
	if (strcmp(type, "JVMFlag") == 0 && strcmp(field, "numFlags") == 0)
		table->options.count = address;
	if (strcmp(type, "Abstract_VM_Version") == 0 && strcmp(field, "_vm_major_version") == 0 &&
		java_tables_read(&table->tables, address, &version, sizeof(version)) &&
		version <= MAX_VERSION)
		row->version = (uint8_t)version;
}

static void take_any_field(
	void *context, const char *type, const char *field, bool is_static, uint64_t value)
{
	(is_static ? take_static : take_field)(context, type, field, value);
}

static bool read_types(struct table *table)
{
	struct java_tables *tables = &table->tables;
	static const struct {
		const char *name;
		uint16_t place;
	} sizes[] = {
#define X(member, name) {name, PLACE(member)},
		JAVA_SIZES(X)
#undef X
	};
	uint64_t at, stride, name_at, size_at;
	if (!java_tables_read_symbol(tables, JAVA_TYPES, &at) ||
		!java_tables_read_offset(tables, JAVA_TYPES_STRIDE, &stride) || !stride ||
		!java_tables_read_offset(tables, JAVA_TYPES_NAME, &name_at) ||
		!java_tables_read_offset(tables, JAVA_TYPES_SIZE, &size_at))
		return false;
	for (int i = 0; i < JAVA_TABLES_MAX_ENTRIES; i++, at += stride) {
		char name[JAVA_TABLES_MAX_NAME_BYTES];
		uint64_t name_address, size;
		if (!java_tables_read_u64(&table->tables, at + name_at, &name_address))
			return false;
		if (!name_address)
			return true;
		if (!java_tables_read_u64(&table->tables, at + size_at, &size))
			return false;
		if (!java_tables_read_name(&table->tables, name_address, name))
			continue;
		for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++)
			if (strcmp(sizes[k].name, name) == 0 && size < MAX_OFFSET)
				*(uint16_t *)((char *)table->row + sizes[k].place) = (uint16_t)size;
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
	char name[JAVA_TABLES_MAX_NAME_BYTES];
	if (!options->table || !options->count || !options->bytes ||
		!java_tables_read_u64(&table->tables, options->table, &at) ||
		!java_tables_read_u64(&table->tables, options->count, &count) ||
		count > JAVA_TABLES_MAX_ENTRIES)
		return 0;
	for (uint64_t i = 0; i < count; i++, at += options->bytes)
		if (java_tables_read_u64(&table->tables, at + options->name, &name_address) &&
			name_address && java_tables_read_name(&table->tables, name_address, name) &&
			strcmp(name, wanted) == 0)
			return java_tables_read_u64(&table->tables, at + options->address, &address)
				       ? address
				       : 0;
	return 0;
}

/* ---- counters ---- */

/* As they stand in memory, by src/java/share/runtime/perfMemory.hpp of JDK 11, 17, 21, 25, 26. */
struct counters_head {
	uint32_t magic;
	uint8_t byte_order, major, minor, is_accessible;
	int32_t used, overflow;
	int64_t changed_ns;
	int32_t first, count; /* of counters: the first, from here */
};

struct counter_head {
	int32_t bytes; /* to the next one */
	int32_t name, elements;
	uint8_t type, flags, unit, variability;
	int32_t value; /* offset from here, as that of the name */
};

enum {
	COUNTERS_MAGIC = 0xc0c0feca, /* cafec0c0, the highest byte first */
	MAX_COUNTERS = 4096,
};

/* How far behind the first byte the name of a counter is that java_stops() can read; 0: there is
 * none. */
static uint32_t find_stops_counter(struct java_tables *tables, uint64_t counters)
{
	static const char wanted[] = JAVA_STOPS_NAME;
	struct counters_head head;
	if (!java_tables_read(tables, counters, &head, sizeof(head)) ||
		head.magic != COUNTERS_MAGIC || head.first < (int32_t)sizeof(head))
		return 0;
	uint64_t at = (uint32_t)head.first;
	for (int32_t i = 0; i < head.count && i < MAX_COUNTERS; i++) {
		struct counter_head counter;
		char name[sizeof(wanted)];
		if (!java_tables_read(tables, counters + at, &counter, sizeof(counter)) ||
			counter.bytes < (int32_t)sizeof(counter))
			return 0;
		uint64_t name_at = at + (uint32_t)counter.name;
		if (java_tables_read(tables, counters + name_at, name, sizeof(name)) &&
			memcmp(name, wanted, sizeof(name)) == 0)
			return counter.value - counter.name == JAVA_COUNTER_VALUE
				       ? (uint32_t)name_at
				       : 0;
		at += (uint32_t)counter.bytes;
		if (at > UINT32_MAX)
			return 0;
	}
	return 0;
}

/* A virtual machine may have none; then methods are read more often. */
static void take_counters(struct table *table)
{
	uint64_t counters;
	if (!table->counters || !java_tables_read_u64(&table->tables, table->counters, &counters) ||
		!counters)
		return;
	table->row->counters = (uint32_t)(table->counters + table->tables.delta);
	table->row->stops_counter = find_stops_counter(&table->tables, counters);
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
static bool take_stubs(struct table *table)
{
	struct java_row *row = table->row;
	uint64_t call_stub_return;
	if (!java_tables_read_u64(&table->tables, table->call_stub_return, &call_stub_return) ||
		!call_stub_return)
		return false;
	uint64_t list = java_stubs_find(
		table->tables.pid, row->heaps - table->tables.delta, call_stub_return);
	row->call_stub_return = (uint32_t)(table->call_stub_return + table->tables.delta);
	row->stubs = list ? (uint32_t)(list + table->tables.delta) : 0;
	return true;
}

static bool fill_row(struct table *table)
{
	struct java_row *row = table->row;
	memset(row, 0, sizeof(*row));
#define X(member, ...) row->member = JAVA_NOT_FOUND;
	JAVA_OFFSETS(X)
	JAVA_SIZES(X)
#undef X
	if (!java_tables_each_field(&table->tables, take_any_field, table) || !read_types(table))
		return false;
	if (!has(row->array_length)) /* of JDK 11, where it is the first */
		row->array_length = 0;
	if (has(row->immutable_data))
		row->flags |= JAVA_HAS_IMMUTABLE_DATA;
	if (has(row->scopes_pcs) && has(row->scopes_data) && has(row->method_flags) &&
		(has(row->metadata) || has(row->mutable_data)))
		row->flags |= JAVA_HAS_SCOPES;
	if (!is_enough(row) || !table->call_stub_return || !take_stubs(table))
		return false;
	uint64_t option = find_option(table, "DebugNonSafepoints");
	row->non_safepoints = option ? (uint32_t)(option + table->tables.delta) : 0;
	take_counters(table);
	row->is_complete = true;
	return true;
}

bool java_layout_complete(uint32_t pid, uint64_t delta, struct runtime_row *ret)
{
	const struct java_row *old = (const void *)ret->words;
	struct runtime_row new = *ret;
	struct table table = {.row = (void *)new.words};
	if (old->is_complete)
		return true;
	java_tables_init(&table.tables, pid, delta, old);
	bool is_filled = fill_row(&table);
	java_tables_deinit(&table.tables);
	if (is_filled)
		*ret = new;
	return is_filled;
}
