#include "format/elf/go_pclntab.h"

#include <elf.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/elf/elf_blocks.h"

enum {
	RELOCATIONS_MAX = 64 << 20,
	HEADER_BYTES = 8, /* magic, two zeros, quantum of code, bytes of a pointer */
	POINTER_BYTES = 8,
	PAIR_MAX_BYTES = 20,  /* of varints */
	TEXT_START_FIELD = 2, /* the number of the header's pointer-sized fields, since 1.18 */
	RELA_BYTES = sizeof(Elf64_Rela),
};

static const char start_name[] = "_rt0_amd64_linux", start_name_arm64[] = "_rt0_arm64_linux";

/* By the oldest release that writes it. */
enum version {
	GO_1_2,
	GO_1_16,
	GO_1_18,
	GO_1_20,
};

struct go_pclntab {
	struct elf_blocks *blocks; /* the table of a large program has 180 MiB */
	uint64_t len;
	enum version version;
	uint8_t quantum;
	uint64_t text_start; /* what addresses are relative to; 0 before 1.18 */
	uint32_t count;
	/* Offsets in the table, each checked to be in it: */
	uint64_t names, sp_tables, functions; /* functions: also what their data are relative to */
	uint32_t index_bytes;                 /* of one entry of the index of functions */
};

/* Some bytes at an offset, at least ELF_BLOCKS_VIEW_MAX if there are as many. */
static struct bytes_cursor cursor_at(struct go_pclntab *table, uint64_t offset)
{
	size_t len;
	const uint8_t *bytes = elf_blocks_view(table->blocks, offset, &len);
	return bytes_cursor(bytes, len);
}

/* ---- header ---- */

static uint64_t header_field(struct go_pclntab *table, unsigned number)
{
	struct bytes_cursor cursor = cursor_at(table, 0);
	bytes_get(&cursor, HEADER_BYTES + (size_t)number * POINTER_BYTES);
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
	struct bytes_cursor cursor = cursor_at(table, 0);
	uint32_t magic = bytes_get_u32(&cursor);
	uint16_t zeros = bytes_get_u16(&cursor);
	table->quantum = bytes_get_u8(&cursor);
	uint8_t pointer_bytes = bytes_get_u8(&cursor);
	bool is_quantum = table->quantum == 1 || table->quantum == 2 || table->quantum == 4;
	if (cursor.overrun || zeros || !is_quantum)
		return err_new(ERR_FORMAT, "no header");
	if (pointer_bytes != POINTER_BYTES)
		return err_new(ERR_UNSUPPORTED, "pointers of %d bytes", pointer_bytes);
	for (unsigned i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
		if (magics[i] == magic) {
			table->version = (enum version)i;
			return NULL;
		}
	return err_new(ERR_UNSUPPORTED, "version %#x", magic);
}

/* Which of the header's fields say where the parts are. */
static struct err *read_layout(struct go_pclntab *table)
{
	uint64_t count = header_field(table, 0);
	bool is_relative = table->version >= GO_1_18;
	table->index_bytes = is_relative ? 8 : 16;
	if (table->version == GO_1_2) {
		table->functions = HEADER_BYTES + POINTER_BYTES;
	} else {
		unsigned first = is_relative ? 3 : 2; /* names; then units, files, sp, functions */
		table->names = header_field(table, first);
		table->sp_tables = header_field(table, first + 3);
		table->functions = header_field(table, first + 4);
	}
	if (table->names > table->len || table->sp_tables > table->len ||
		table->functions > table->len)
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
	struct bytes_cursor cursor = cursor_at(table, at);
	struct index_entry entry;
	bool is_wide = table->index_bytes == 16;
	entry.start = is_wide ? bytes_get_u64(&cursor) : bytes_get_u32(&cursor);
	entry.offset = is_wide ? bytes_get_u64(&cursor) : bytes_get_u32(&cursor);
	/* Go 1.2 counts from the table's start. */
	entry.offset += table->version == GO_1_2 ? 0 : table->functions;
	return entry;
}

/* struct _func: entry, name, args, deferreturn, pcsp, pcfile, pcln, npcdata, ... */
static bool read_function(
	struct go_pclntab *table, const struct index_entry *entry, struct go_function *function)
{
	struct bytes_cursor cursor = cursor_at(table, entry->offset);
	bool is_wide = table->index_bytes == 16;
	uint64_t start = is_wide ? bytes_get_u64(&cursor) : bytes_get_u32(&cursor);
	function->name = bytes_get_u32(&cursor);
	bytes_get(&cursor, 8);
	function->sp_table = bytes_get_u32(&cursor);
	function->flags = 0;
	function->is_special = false;
	if (table->version != GO_1_2) {
		bytes_get(&cursor, 16); /* pcfile, pcln, npcdata, cuOffset */
		if (table->version >= GO_1_20)
			bytes_get_u32(&cursor);                    /* startLine */
		function->is_special = bytes_get_u8(&cursor) != 0; /* funcID: its numbers change */
		function->flags = bytes_get_u8(&cursor);
	}
	return !cursor.overrun && start == entry->start;
}

const char *go_pclntab_name(struct go_pclntab *table, const struct go_function *function)
{
	uint64_t at = table->names + function->name;
	struct bytes_cursor cursor = cursor_at(table, at);
	/* A NUL stands behind the table. */
	bool is_last = at + bytes_left(&cursor) == table->len;
	bool is_whole =
		bytes_left(&cursor) && (is_last || memchr(cursor.pos, 0, bytes_left(&cursor)));
	return is_whole ? (const char *)cursor.pos : "";
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
		!read_function(table, &entry, &function))
		return false;
	*ret = function;
	return true;
}

uint32_t go_pclntab_count(const struct go_pclntab *table)
{
	return table->count;
}

/* ---- stack pointer ---- */

/* Pairs of varints: by how much the value changes (zigzag), for how much code. */
uint64_t go_pclntab_walk_sp(struct go_pclntab *table, const struct go_function *function,
	go_on_sp *on_sp, void *context)
{
	uint64_t address = function->start;
	if (!function->sp_table || function->sp_table >= table->len - table->sp_tables)
		return address;
	uint64_t at = table->sp_tables + function->sp_table;
	struct bytes_cursor cursor = cursor_at(table, at);
	int64_t delta = -1;
	while (address < function->end) {
		if (bytes_left(&cursor) < PAIR_MAX_BYTES) {
			at += bytes_offset(&cursor);
			cursor = cursor_at(table, at);
		}
		int64_t change = bytes_get_zigzag(&cursor);
		uint64_t len = bytes_get_varint(&cursor);
		bool is_end = !change && address != function->start;
		if (cursor.overrun || is_end || !len || len > UINT32_MAX)
			break;
		if (change < INT32_MIN || change > INT32_MAX)
			break;
		delta += change;
		if (delta < 0 || delta > INT32_MAX)
			break;
		on_sp(context, address, (int32_t)delta);
		address += len * table->quantum;
	}
	return address < function->end ? address : function->end;
}

/* ---- where the code is ---- */

/* In a position-independent program the field is filled in when it is loaded. */
static struct err *find_relocation(
	struct elf_file *file, const struct elf_section *section, uint64_t vaddr, uint64_t *ret)
{
	if (section->type != SHT_RELA || section->size > RELOCATIONS_MAX)
		return NULL;
	uint32_t relative =
		elf_file_machine(file) == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;
	CLEANUP_FREE uint8_t *bytes = NULL;
	try(elf_file_read(file, section->offset, section->size, &bytes));
	struct bytes_cursor cursor = bytes_cursor(bytes, section->size);
	while (bytes_left(&cursor) >= RELA_BYTES) {
		uint64_t place = bytes_get_u64(&cursor), info = bytes_get_u64(&cursor);
		uint64_t addend = bytes_get_u64(&cursor);
		if (place == vaddr && ELF64_R_TYPE(info) == relative)
			*ret = addend;
	}
	return NULL;
}

static struct err *find_by_relocations(struct elf_file *file, uint64_t vaddr, uint64_t *ret)
{
	const struct elf_section *sections;
	size_t count;
	try(elf_file_sections(file, &sections, &count));
	for (size_t i = 0; i < count && !*ret; i++)
		try(find_relocation(file, &sections[i], vaddr, ret));
	return NULL;
}

/* The program's entry is a function of Go's, unless a C compiler linked it. */
static uint64_t find_by_entry(struct go_pclntab *table, const struct elf_file *file)
{
	struct go_function function;
	for (uint32_t i = 0; i < table->count; i++) {
		if (!go_pclntab_function(table, i, &function))
			continue;
		const char *name = go_pclntab_name(table, &function);
		if (strcmp(name, start_name) == 0 || strcmp(name, start_name_arm64) == 0)
			return elf_file_entry(file) - function.start;
	}
	return 0;
}

static struct err *find_text(
	struct go_pclntab *table, struct elf_file *file, const struct elf_section *section)
{
	if (table->version < GO_1_18)
		return NULL; /* addresses are absolute */
	uint64_t start = header_field(table, TEXT_START_FIELD);
	uint64_t field = section->addr + HEADER_BYTES + TEXT_START_FIELD * POINTER_BYTES;
	if (!start)
		try(find_by_relocations(file, field, &start));
	if (!start)
		start = find_by_entry(table, file);
	if (!start)
		return err_new(ERR_UNSUPPORTED, "the code's address is unknown");
	table->text_start = start;
	return NULL;
}

/* ---- the whole ---- */

static struct err *open_section(
	struct go_pclntab *table, struct elf_file *file, const struct elf_section *section)
{
	try(elf_blocks_create(file, section->offset, section->size, &table->blocks));
	table->len = section->size;
	try(read_version(table));
	try(read_layout(table));
	return find_text(table, file, section);
}

struct err *go_pclntab_open(struct elf_file *file, struct go_pclntab **ret)
{
	const struct elf_section *section = elf_file_find_section(file, ".gopclntab");
	if (!section)
		section = elf_file_find_section(file, ".data.rel.ro.gopclntab");
	if (!section) {
		*ret = NULL;
		return NULL;
	}
	struct go_pclntab *table = mem_zalloc(sizeof(*table));
	struct err *err = err_wrap(open_section(table, file, section), "%s", section->name);
	if (err)
		go_pclntab_destroy(table);
	else
		*ret = table;
	return err;
}

void go_pclntab_destroy(struct go_pclntab *table)
{
	if (!table)
		return;
	elf_blocks_destroy(table->blocks);
	mem_free(table);
}
