#include "format/elf/go_pclntab.h"

#include <elf.h>
#include <string.h>

#include "format/base/mem.h"
#include "format/elf/go_module.h"
#include "format/elf/go_table.h"
#include "format/elf/go_values.h"
#include "format/machine/machine.h"

enum {
	HEADER_BYTES = 8, /* magic, two zeros, quantum of code, bytes of a pointer */
	TEXT_START_FIELD =
		2, /* the number of the header's pointer-sized fields, from 1.18 to 1.25 */
	TABLE_ALIGNMENT = 32,
	HEADERS_TRIED_MAX = 8,
};

/* ---- header ---- */

static uint64_t header_field(struct go_pclntab *table, unsigned number)
{
	struct bytes_cursor cursor = go_table_cursor(table, 0);
	bytes_get(&cursor, HEADER_BYTES + (size_t)number * GO_POINTER_BYTES);
	return bytes_get_u64(&cursor);
}

static struct err *read_version(struct go_pclntab *table)
{
	static const uint32_t magics[] = {
		[GO_1_2] = 0xfffffffb,
		[GO_1_16] = 0xfffffffa,
		[GO_1_18] = 0xfffffff0,
		[GO_1_20] = 0xfffffff1,
	};
	struct bytes_cursor cursor = go_table_cursor(table, 0);
	uint32_t magic = bytes_get_u32(&cursor);
	uint16_t zeros = bytes_get_u16(&cursor);
	table->quantum = bytes_get_u8(&cursor);
	uint8_t pointer_bytes = bytes_get_u8(&cursor);
	bool is_quantum = table->quantum == 1 || table->quantum == 2 || table->quantum == 4;
	if (cursor.overrun || zeros || !is_quantum)
		return err_new(ERR_FORMAT, "no header");
	if (pointer_bytes != GO_POINTER_BYTES)
		return err_new(ERR_UNSUPPORTED, "pointers of %d bytes", pointer_bytes);
	for (unsigned i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
		if (magics[i] == magic) {
			table->version = (enum go_version)i;
			return NULL;
		}
	return err_new(ERR_UNSUPPORTED, "version %#x", magic);
}

/* Up to 1.15 all offsets are the table's; behind the index stands that of the list of files. */
static void read_old_layout(struct go_pclntab *table, uint64_t count)
{
	table->functions = HEADER_BYTES + GO_POINTER_BYTES;
	if (count >= table->len / table->index_bytes)
		return;
	struct bytes_cursor cursor = go_table_cursor(
		table, table->functions + count * table->index_bytes + GO_POINTER_BYTES);
	table->files = bytes_get_u32(&cursor);
}

/* Which of the header's fields say where the parts are. */
static struct err *read_layout(struct go_pclntab *table)
{
	uint64_t count = header_field(table, 0);
	bool is_relative = table->version >= GO_1_18;
	table->index_bytes = is_relative ? 8 : 16;
	if (table->version == GO_1_2) {
		read_old_layout(table, count);
	} else {
		unsigned first = is_relative ? 3 : 2;
		table->names = header_field(table, first);
		table->units = header_field(table, first + 1);
		table->files = header_field(table, first + 2);
		table->values = header_field(table, first + 3);
		table->functions = header_field(table, first + 4);
	}
	if (table->names > table->len || table->units > table->len || table->files > table->len ||
		table->values > table->len || table->functions > table->len)
		return err_new(ERR_FORMAT, "parts outside of the table");
	/* Behind the last entry stands the address of its end. */
	if (count >= (table->len - table->functions) / table->index_bytes || count > UINT32_MAX)
		return err_new(ERR_FORMAT, "%llu functions", (unsigned long long)count);
	table->count = (uint32_t)count;
	return NULL;
}

/* ---- functions ---- */

struct index_entry {
	uint64_t start;  /* relative to text_start */
	uint64_t offset; /* of the function's data, in the table */
};

static struct index_entry get_index_entry(struct go_pclntab *table, uint32_t number)
{
	uint64_t at = table->functions + (uint64_t)number * table->index_bytes;
	struct bytes_cursor cursor = go_table_cursor(table, at);
	struct index_entry entry;
	bool is_wide = table->index_bytes == 16;
	entry.start = is_wide ? bytes_get_u64(&cursor) : bytes_get_u32(&cursor);
	entry.offset = is_wide ? bytes_get_u64(&cursor) : bytes_get_u32(&cursor);
	/* Go 1.2 counts from the table's start. */
	entry.offset += table->version == GO_1_2 ? 0 : table->functions;
	return entry;
}

/* struct _func: entry, name, args, deferreturn, pcsp, pcfile, pcln, npcdata, ... */
static bool go_pclntab_read_function(
	struct go_pclntab *table, const struct index_entry *entry, struct go_function *function)
{
	struct bytes_cursor cursor = go_table_cursor(table, entry->offset);
	bool is_wide = table->index_bytes == 16;
	uint64_t start = is_wide ? bytes_get_u64(&cursor) : bytes_get_u32(&cursor);
	function->name = bytes_get_u32(&cursor);
	bytes_get(&cursor, 8);
	function->sp_table = bytes_get_u32(&cursor);
	function->file_table = bytes_get_u32(&cursor);
	function->line_table = bytes_get_u32(&cursor);
	function->nr_tables = bytes_get_u32(&cursor);
	if (table->version >= GO_1_16)
		function->unit = bytes_get_u32(&cursor);
	if (table->version >= GO_1_20)
		function->start_line = bytes_get_u32(&cursor);
	uint8_t id = bytes_get_u8(&cursor), flags = bytes_get_u8(&cursor);
	bytes_get_u8(&cursor);
	function->nr_data = bytes_get_u8(&cursor);
	function->data = entry->offset + bytes_offset(&cursor);
	if (table->version >= GO_1_16) {
		function->is_special = id != 0; /* funcID: its numbers change */
		function->flags = flags;
	}
	return !cursor.overrun && start == entry->start;
}

const char *go_pclntab_name(struct go_pclntab *table, uint32_t name)
{
	/* Up to 1.15 the table's header is at 0. */
	return name || table->names ? go_table_text(table, table->names + name) : "";
}

bool go_pclntab_function(struct go_pclntab *table, uint32_t index, struct go_function *ret)
{
	if (index >= table->count)
		return false;
	struct index_entry entry = get_index_entry(table, index);
	struct index_entry next = get_index_entry(table, index + 1);
	struct go_function function = {
		.start = table->text_start + entry.start, .end = table->text_start + next.start};
	if (next.start <= entry.start || function.end < function.start ||
		!go_pclntab_read_function(table, &entry, &function))
		return false;
	*ret = function;
	return true;
}

uint32_t go_pclntab_count(const struct go_pclntab *table)
{
	return table->count;
}

/* The address where a function starts; of number `count` where the last one ends. */
static uint64_t start_of(struct go_pclntab *table, uint32_t number)
{
	struct bytes_cursor cursor =
		go_table_cursor(table, table->functions + (uint64_t)number * table->index_bytes);
	bool is_wide = table->index_bytes == 16;
	return table->text_start + (is_wide ? bytes_get_u64(&cursor) : bytes_get_u32(&cursor));
}

bool go_pclntab_find(struct go_pclntab *table, uint64_t address, uint32_t *index)
{
	uint64_t step = 1;
	uint32_t low = *index;
	if (low >= table->count || start_of(table, low) > address)
		low = 0;
	if (!table->count || start_of(table, low) > address)
		return false;
	while (step < table->count - low && start_of(table, low + (uint32_t)step) <= address) {
		low += (uint32_t)step;
		step *= 2;
	}
	/* It starts at `low` or behind, and before `high`. */
	uint32_t high = step < table->count - low ? low + (uint32_t)step : table->count;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (start_of(table, middle) <= address)
			low = middle;
		else
			high = middle;
	}
	*index = low;
	return address < start_of(table, low + 1);
}

/* ---- stack pointer ---- */

uint64_t go_pclntab_walk_sp(struct go_pclntab *table, const struct go_function *function,
	go_on_sp *on_sp, void *context)
{
	struct go_values values = {0};
	uint64_t address = function->start;
	go_values_start(&values, table, function, function->sp_table);
	while (go_values_next(&values) && values.last.value >= 0) {
		on_sp(context, address, values.last.value);
		address = function->start + values.last.end;
	}
	return address;
}

/* ---- where the code is ---- */

/* The program's entry is a function of Go's, unless a C compiler linked it. */
static uint64_t find_by_entry(struct go_pclntab *table)
{
	const struct machine *machine = machine_find(elf_file_machine(table->file));
	struct go_function function;
	for (uint32_t i = 0; machine && i < table->count; i++) {
		if (!go_pclntab_function(table, i, &function))
			continue;
		const char *name = go_pclntab_name(table, function.name);
		if (strcmp(name, machine->go_start) == 0)
			return elf_file_entry(table->file) - function.start;
	}
	return 0;
}

/*
 * The header's field is 0 in a program that is loaded anywhere, where the loader fills it in, and
 * in all of them since 1.26.
 */
static struct err *go_pclntab_find_text(struct go_pclntab *table)
{
	struct go_module module;
	bool found = false;
	if (table->version < GO_1_18)
		return NULL; /* addresses are absolute */
	uint64_t start = header_field(table, TEXT_START_FIELD);
	if (!start)
		try(go_module_find(table, &module, &found));
	if (found)
		start = module.words[GO_MODULE_TEXT];
	if (!start)
		start = find_by_entry(table);
	if (!start)
		return err_new(ERR_UNSUPPORTED, "the code's address is unknown");
	table->text_start = start;
	return NULL;
}

/* ---- the whole ---- */

typedef struct err *open_blocks(
	const struct elf_file *file, uint64_t offset, uint64_t len, struct elf_blocks **ret);

/* A table `into` bytes into a section. */
static struct err *open_table(struct go_pclntab *table, const struct elf_section *section,
	uint64_t into, open_blocks *open)
{
	try(open(table->file, section->offset + into, section->size - into, &table->blocks));
	table->mapped = elf_blocks_mapped(table->blocks);
	table->vaddr = section->addr + into;
	table->len = section->size - into;
	try(read_version(table));
	try(read_layout(table));
	return go_pclntab_find_text(table);
}

static struct err *go_pclntab_open_at(struct elf_file *file, const struct elf_section *section,
	uint64_t into, open_blocks *open, struct go_pclntab **ret)
{
	struct go_pclntab *table = mem_zalloc(sizeof(*table));
	table->file = file;
	struct err *err = err_wrap(open_table(table, section, into, open), "%s", section->name);
	if (err)
		go_pclntab_destroy(table);
	else
		*ret = table;
	return err;
}

/* Where a header might be, from *into on. */
static bool find_header(struct elf_blocks *blocks, uint64_t addr, uint64_t *into)
{
	uint64_t at = *into + (0 - (addr + *into)) % TABLE_ALIGNMENT;
	for (;; at += TABLE_ALIGNMENT) {
		size_t len;
		const uint8_t *bytes = elf_blocks_view(blocks, at, &len);
		if (len < HEADER_BYTES)
			return false;
		if ((bytes[0] == 0xf0 || bytes[0] == 0xf1 || bytes[0] == 0xfa ||
			    bytes[0] == 0xfb) &&
			memcmp(bytes + 1, "\xff\xff\xff\0\0", 5) == 0 &&
			bytes[7] == GO_POINTER_BYTES) {
			*into = at;
			return true;
		}
	}
}

/* In a position-independent program a C linker puts the table among other read-only data. */
static struct err *go_pclntab_search_section(struct elf_file *file,
	const struct elf_section *section, open_blocks *open, struct go_pclntab **ret)
{
	struct elf_blocks *blocks;
	uint64_t into = 0;
	try(elf_blocks_create(file, section->offset, section->size, &blocks));
	for (int i = 0; i < HEADERS_TRIED_MAX && !*ret; i++) {
		if (!find_header(blocks, section->addr, &into))
			break;
		err_destroy(go_pclntab_open_at(file, section, into, open, ret));
		into += TABLE_ALIGNMENT;
	}
	elf_blocks_destroy(blocks);
	return NULL;
}

static const struct elf_section *own_section(struct elf_file *file)
{
	const struct elf_section *section = elf_file_find_section(file, ".gopclntab");
	return section ? section : elf_file_find_section(file, ".data.rel.ro.gopclntab");
}

/* The section to be searched in a file of Go's, or NULL. */
static const struct elf_section *other_section(struct elf_file *file)
{
	bool is_go = elf_file_find_section(file, ".go.buildinfo") ||
		     elf_file_find_section(file, ".note.go.buildid");
	return is_go ? elf_file_find_section(file, ".data.rel.ro") : NULL;
}

bool go_pclntab_is_in(struct elf_file *file)
{
	return own_section(file) || other_section(file);
}

static struct err *go_pclntab_open_file(
	struct elf_file *file, open_blocks *open, struct go_pclntab **ret)
{
	const struct elf_section *own = own_section(file), *other = other_section(file);
	*ret = NULL;
	if (own)
		return go_pclntab_open_at(file, own, 0, open, ret);
	return other ? go_pclntab_search_section(file, other, open, ret) : NULL;
}

struct err *go_pclntab_open(struct elf_file *file, struct go_pclntab **ret)
{
	return go_pclntab_open_file(file, elf_blocks_create, ret);
}

struct err *go_pclntab_map(struct elf_file *file, struct go_pclntab **ret)
{
	return go_pclntab_open_file(file, elf_blocks_map, ret);
}

void go_pclntab_destroy(struct go_pclntab *table)
{
	if (!table)
		return;
	elf_blocks_destroy(table->blocks);
	mem_free(table);
}
