#include "format/elf/elf_symbols.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/base/str.h"

enum {
	SYM_BYTES = sizeof(Elf64_Sym),
	RELA_BYTES = sizeof(Elf64_Rela),
	PLT_ENTRY_BYTES = 16,
	PLT_HEADER_BYTES = 16,
	/* Each of the two string tables; with the stubs' names their sum fits an u32. */
	NAMES_MAX = 1 << 30,
	STUB_NAMES_MAX = 64 << 20,
	STUB_NAME_MAX = 64 << 10,
};

/* What the readers below share. */
struct reader {
	struct elf_file *file;
	const struct elf_section *sections;
	size_t section_count;
	struct elf_symbols *out;
};

static bool has_contents(const struct elf_section *section)
{
	return section->type != SHT_NOBITS && !(section->flags & SHF_COMPRESSED) &&
	       section->size > 0;
}

static const struct elf_section *find_by_type(const struct reader *reader, uint32_t type)
{
	for (size_t i = 1; i < reader->section_count; i++)
		if (reader->sections[i].type == type && has_contents(&reader->sections[i]))
			return &reader->sections[i];
	return NULL;
}

/* By name whatever its type: a separate debug file's .plt is NOBITS and still has its address. */
static const struct elf_section *find_by_name(const struct reader *reader, const char *name)
{
	for (size_t i = 1; i < reader->section_count; i++)
		if (strcmp(reader->sections[i].name, name) == 0)
			return &reader->sections[i];
	return NULL;
}

static void collect_code(struct reader *reader)
{
	for (size_t i = 1; i < reader->section_count; i++) {
		const struct elf_section *section = &reader->sections[i];
		uint64_t end = section->addr + section->size;
		if (section->flags & SHF_EXECINSTR && end > section->addr)
			vec_push(&reader->out->code, (struct elf_code_range){section->addr, end});
	}
}

/* ---- names ---- */

/*
 * Appends a string table to the names, and a NUL, so that every offset inside
 * it ends there at the latest. *base is where it begins.
 */
static struct err *read_names(struct reader *reader, uint32_t index, uint32_t *base, uint32_t *len)
{
	if (index == 0 || index >= reader->section_count)
		return err_new(ERR_FORMAT, "string table %u of %zu sections", index,
			reader->section_count);
	const struct elf_section *table = &reader->sections[index];
	if (table->type != SHT_STRTAB || !has_contents(table)) {
		*len = 0;
		return NULL;
	}
	/* Checked before memory is asked for: the size is the file's claim. */
	uint64_t file_size = elf_file_size(reader->file);
	if (table->size > NAMES_MAX || table->size > file_size)
		return err_new(ERR_FORMAT, "a string table of %llu bytes in a file of %llu",
			(unsigned long long)table->size, (unsigned long long)file_size);
	struct elf_symbols *out = reader->out;
	out->names = mem_realloc_array(out->names, out->names_len + (size_t)table->size + 1, 1);
	try(err_wrap(elf_file_read_into(reader->file, table->offset, out->names + out->names_len,
			     (size_t)table->size),
		"string table"));
	*base = (uint32_t)out->names_len;
	*len = (uint32_t)table->size;
	out->names_len += (size_t)table->size + 1;
	out->names[out->names_len - 1] = 0;
	return NULL;
}

/* Assemblers' local labels, and the marks of code and data in ARM and RISC-V text, name no
 * function. */
static bool is_function_name(const char *name)
{
	if (name[0] == '.')
		return name[1] != 'L';
	if (name[0] == '$')
		return name[1] != 'x' && name[1] != 'd';
	return name[0] != 0;
}

/* ---- symbol tables ---- */

static bool is_function(
	const struct reader *reader, uint8_t type, uint16_t section, uint64_t address)
{
	if (section == SHN_UNDEF || (section >= SHN_LORESERVE && section != SHN_XINDEX))
		return false; /* undefined, absolute, common */
	if (section != SHN_XINDEX && section >= reader->section_count)
		return false;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return true;
	if (type != STT_NOTYPE || section == SHN_XINDEX)
		return false;
	const struct elf_section *home = &reader->sections[section];
	/* A relocatable file's values count from the section, whose address is 0. */
	bool is_inside =
		address - home->addr < home->size; /* markers like _etext stand at the end */
	return home->flags & SHF_EXECINSTR && is_inside;
}

static void read_symbol(
	struct reader *reader, const uint8_t *bytes, uint32_t names, uint32_t names_len)
{
	struct bytes_cursor cursor = bytes_cursor(bytes, SYM_BYTES);
	uint32_t name = bytes_get_u32(&cursor);
	uint8_t info = bytes_get_u8(&cursor);
	bytes_get_u8(&cursor); /* st_other */
	uint16_t section = bytes_get_u16(&cursor);
	uint64_t address = bytes_get_u64(&cursor);
	uint64_t size = bytes_get_u64(&cursor);
	uint8_t type = ELF64_ST_TYPE(info);
	if (name >= names_len || !is_function(reader, type, section, address) ||
		!is_function_name(reader->out->names + names + name))
		return;
	vec_push(&reader->out->symbols, (struct elf_symbol){
						.address = address,
						.size = size,
						.name = names + name,
						.section = section,
						.type = type,
						.bind = ELF64_ST_BIND(info),
					});
}

/* A table of fixed-size records, whole, in memory of the caller. */
static struct err *read_table(struct reader *reader, const struct elf_section *table,
	size_t entry_bytes, uint8_t **ret, size_t *count)
{
	if (table->entsize != entry_bytes)
		return err_new(ERR_FORMAT, "%s: entries of %llu bytes, not %zu", table->name,
			(unsigned long long)table->entsize, entry_bytes);
	uint64_t whole = table->size / entry_bytes;
	try(err_wrap(elf_file_read(reader->file, table->offset, whole * entry_bytes, ret), "%s",
		table->name));
	*count = (size_t)whole;
	return NULL;
}

static struct err *read_symbols(struct reader *reader, const struct elf_section *table)
{
	if (!table)
		return NULL;
	uint32_t names = 0, names_len = 0;
	try(read_names(reader, table->link, &names, &names_len));
	CLEANUP_FREE uint8_t *bytes = NULL;
	size_t count;
	try(read_table(reader, table, SYM_BYTES, &bytes, &count));
	for (size_t i = 1; i < count; i++) /* symbol 0 is the null symbol */
		read_symbol(reader, bytes + i * SYM_BYTES, names, names_len);
	return NULL;
}

/* ---- procedure linkage table ---- */

/*
 * The x86-64 linker makes one stub an imported function, in the order of the
 * relocations in .rela.plt, and gives none a symbol. .plt begins with a header
 * entry that calls the dynamic linker; .plt.sec, which code built for
 * control-flow enforcement calls instead, has no header.
 */
struct plt {
	const struct elf_section *section;
	uint32_t index;
	uint32_t header_bytes;
};

static void add_plt_stub(struct reader *reader, const struct plt *plt, size_t slot, uint32_t name)
{
	const struct elf_section *section = plt->section;
	if (!section || section->size < plt->header_bytes)
		return;
	if (slot >= (section->size - plt->header_bytes) / PLT_ENTRY_BYTES)
		return;
	vec_push(&reader->out->symbols,
		(struct elf_symbol){
			.address = section->addr + plt->header_bytes + slot * PLT_ENTRY_BYTES,
			.size = PLT_ENTRY_BYTES,
			.name = name,
			.section = plt->index,
			.type = STT_FUNC,
			.bind = STB_LOCAL,
		});
}

/* The name of dynamic symbol `index`, "" when there is none. */
static const char *dynamic_name(
	const uint8_t *symbols, size_t count, uint32_t index, const char *names, size_t names_len)
{
	if (index == 0 || index >= count)
		return "";
	struct bytes_cursor cursor = bytes_cursor(symbols + (size_t)index * SYM_BYTES, SYM_BYTES);
	uint32_t name = bytes_get_u32(&cursor);
	return name < names_len ? names + name : "";
}

static struct plt find_plt(const struct reader *reader, const char *name, uint32_t header_bytes)
{
	const struct elf_section *section = find_by_name(reader, name);
	uint32_t index = section ? (uint32_t)(section - reader->sections) : 0;
	return (struct plt){section, index, header_bytes};
}

/* Moves what was written to `pool` behind the names; offsets given out before counted on that. */
static void append_names(struct elf_symbols *out, const struct str *pool)
{
	if (!pool->len)
		return;
	out->names = mem_realloc_array(out->names, out->names_len + pool->len, 1);
	memcpy(out->names + out->names_len, pool->data, pool->len);
	out->names_len += pool->len;
}

static struct err *name_plt_stubs(struct reader *reader, const struct elf_section *rela,
	const uint8_t *symbols, size_t symbol_count, const struct elf_section *names)
{
	struct plt plain = find_plt(reader, ".plt", PLT_HEADER_BYTES);
	struct plt secure = find_plt(reader, ".plt.sec", 0);
	if (!plain.section && !secure.section)
		return NULL;
	CLEANUP_FREE uint8_t *relocations = NULL, *name_bytes = NULL;
	size_t count;
	try(read_table(reader, rela, RELA_BYTES, &relocations, &count));
	try(err_wrap(elf_file_read(reader->file, names->offset, names->size, &name_bytes), "%s",
		names->name));
	struct str pool = {0};
	for (size_t slot = 0; slot < count && pool.len < STUB_NAMES_MAX; slot++) {
		struct bytes_cursor cursor =
			bytes_cursor(relocations + slot * RELA_BYTES, RELA_BYTES);
		bytes_get_u64(&cursor); /* r_offset */
		uint64_t info = bytes_get_u64(&cursor);
		if (ELF64_R_TYPE(info) != R_X86_64_JUMP_SLOT)
			continue; /* IRELATIVE: a local ifunc, nameless here */
		const char *name = dynamic_name(symbols, symbol_count, (uint32_t)ELF64_R_SYM(info),
			(const char *)name_bytes, names->size);
		if (!*name || strnlen(name, STUB_NAME_MAX) == STUB_NAME_MAX)
			continue;
		uint32_t offset = (uint32_t)(reader->out->names_len + pool.len);
		str_puts(&pool, name);
		str_write(&pool, "@plt", sizeof("@plt"));
		add_plt_stub(reader, &plain, slot, offset);
		add_plt_stub(reader, &secure, slot, offset);
	}
	append_names(reader->out, &pool);
	str_deinit(&pool);
	return NULL;
}

static struct err *read_plt(struct reader *reader, const struct elf_section *dynsym)
{
	const struct elf_section *rela = find_by_name(reader, ".rela.plt");
	if (elf_file_machine(reader->file) != EM_X86_64 || !dynsym || !rela ||
		rela->type != SHT_RELA || !has_contents(rela))
		return NULL;
	const struct elf_section *names =
		&reader->sections[dynsym->link]; /* read_symbols() checked it */
	if (names->type != SHT_STRTAB || !has_contents(names))
		return NULL;
	CLEANUP_FREE uint8_t *symbols = NULL;
	size_t count;
	try(read_table(reader, dynsym, SYM_BYTES, &symbols, &count));
	return name_plt_stubs(reader, rela, symbols, count, names);
}

/* ---- all of it ---- */

struct err *elf_symbols_read(struct elf_file *file, struct elf_symbols *ret)
{
	struct elf_symbols out = {0};
	struct reader reader = {.file = file, .out = &out};
	try(elf_file_sections(file, &reader.sections, &reader.section_count));
	collect_code(&reader);
	const struct elf_section *dynsym = find_by_type(&reader, SHT_DYNSYM);
	struct err *err = read_symbols(&reader, find_by_type(&reader, SHT_SYMTAB));
	if (!err)
		err = read_symbols(&reader, dynsym);
	if (!err)
		err = read_plt(&reader, dynsym);
	if (err) {
		elf_symbols_deinit(&out);
		return err;
	}
	elf_symbols_deinit(ret);
	*ret = out;
	return NULL;
}

void elf_symbols_deinit(struct elf_symbols *symbols)
{
	vec_deinit(&symbols->symbols);
	vec_deinit(&symbols->code);
	mem_free(symbols->names);
	*symbols = (struct elf_symbols){0};
}
