#include "format/elf/elf_symbols.h"

#include <elf.h>
#include <endian.h>
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

const char *elf_names_get(const struct elf_names *names, size_t count, uint32_t number)
{
	size_t i = count - 1;
	while (i && number < names[i].first)
		i--;
	return (const char *)names[i].text.bytes + (number - names[i].first);
}

const char *elf_symbols_name(const struct elf_symbols *symbols, const struct elf_symbol *symbol)
{
	return elf_names_get(symbols->names, symbols->names_count, symbol->name);
}

/* Puts a table behind the others; 1 is left free for the NUL behind it. */
static const struct elf_names *append_names(struct elf_symbols *out, const struct elf_map *text)
{
	struct elf_names *names = &out->names[out->names_count++];
	*names = (struct elf_names){.text = *text, .first = out->names_end};
	out->names_end += (uint32_t)text->len + 1;
	return names;
}

/* Appends a string table; *ret stays NULL where it has no contents. Every name in it ends in it. */
static struct err *read_names(struct reader *reader, uint32_t index, const struct elf_names **ret)
{
	if (index == 0 || index >= reader->section_count)
		return err_new(ERR_FORMAT, "string table %u of %zu sections", index,
			reader->section_count);
	const struct elf_section *table = &reader->sections[index];
	if (table->type != SHT_STRTAB || !has_contents(table))
		return NULL;
	/* Checked before memory is asked for: the size is the file's claim. */
	uint64_t file_size = elf_file_size(reader->file);
	if (table->size > NAMES_MAX || table->size > file_size)
		return err_new(ERR_FORMAT, "a string table of %llu bytes in a file of %llu",
			(unsigned long long)table->size, (unsigned long long)file_size);
	struct elf_map text;
	try(err_wrap(
		elf_map_range(reader->file, table->offset, table->size, &text), "string table"));
	if (text.base && text.bytes[text.len - 1]) { /* what follows is none of the last name */
		elf_map_release(&text);
		try(err_wrap(elf_map_copy(reader->file, table->offset, table->size, &text),
			"string table"));
	}
	*ret = append_names(reader->out, &text);
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

/* What may be a function in a section. */
enum {
	HOLDS_FUNCTIONS = 1 << 0, /* what says that it is one */
	HOLDS_LABELS = 1 << 1,    /* what does not say what it is */
	HOLDS_ANY = HOLDS_FUNCTIONS | HOLDS_LABELS,
};

/* By section index; SHN_XINDEX stands for all that have a larger one. */
static uint8_t *classify_sections(const struct reader *reader)
{
	uint8_t *classes = mem_zalloc_array(SHN_XINDEX + 1, 1);
	size_t count =
		reader->section_count < SHN_LORESERVE ? reader->section_count : SHN_LORESERVE;
	for (size_t i = 1; i < count; i++) {
		bool is_code = reader->sections[i].flags & SHF_EXECINSTR;
		classes[i] = HOLDS_FUNCTIONS | (is_code ? HOLDS_LABELS : 0);
	}
	classes[SHN_XINDEX] = HOLDS_FUNCTIONS;
	return classes; /* undefined, absolute, common: nothing */
}

/* Markers like _etext stand at a section's end. A relocatable file's values count from the
 * section, whose address is 0. */
static bool is_inside(const struct elf_section *section, uint64_t address)
{
	return address - section->addr < section->size;
}

static inline uint64_t u64_at(const uint8_t *bytes)
{
	uint64_t value;
	memcpy(&value, bytes, sizeof(value));
	return le64toh(value);
}

/*
 * Without a call for each field: a kernel has 10^5 symbols, and most are no functions. Field by
 * field, since a copy of the whole entry, written in other pieces than read, stalls the processor;
 * and all fields of all symbols, since nobody can foretell which are functions.
 *
 * The names of functions are not looked at: a look mostly misses the caches and takes as long as
 * everything else. Only symbols that do not say what they are may be something else by name.
 */
static inline bool read_symbol(const struct reader *reader, const uint8_t *bytes,
	const struct elf_names *names, const uint8_t *classes, struct elf_symbol *ret)
{
	static const uint8_t wanted[16] = {[STT_NOTYPE] = HOLDS_LABELS,
		[STT_FUNC] = HOLDS_FUNCTIONS,
		[STT_GNU_IFUNC] = HOLDS_FUNCTIONS};
	uint64_t head = u64_at(bytes); /* st_name, st_info, st_other, st_shndx */
	uint32_t name = (uint32_t)head;
	uint8_t info = (uint8_t)(head >> 32), type = ELF64_ST_TYPE(info);
	uint16_t section = (uint16_t)(head >> 48);
	ret->address = u64_at(bytes + offsetof(Elf64_Sym, st_value));
	ret->size = u64_at(bytes + offsetof(Elf64_Sym, st_size));
	ret->name = names->first + name;
	ret->section = section;
	ret->type = type;
	ret->bind = ELF64_ST_BIND(info);
	/* Name 0 is the empty one. */
	bool is_named = name - 1 < (uint32_t)names->text.len - 1;
	bool is_wanted = (classes[section] & wanted[type] & (is_named ? HOLDS_ANY : 0)) != 0;
	if (type != STT_NOTYPE || !is_wanted)
		return is_wanted;
	return is_inside(&reader->sections[section], ret->address) &&
	       is_function_name((const char *)names->text.bytes + name);
}

/* A table of fixed-size records. */
static struct err *read_table(struct reader *reader, const struct elf_section *table,
	size_t entry_bytes, struct elf_map *ret, size_t *count)
{
	if (table->entsize != entry_bytes)
		return err_new(ERR_FORMAT, "%s: entries of %llu bytes, not %zu", table->name,
			(unsigned long long)table->entsize, entry_bytes);
	uint64_t whole = table->size / entry_bytes;
	try(err_wrap(elf_map_range(reader->file, table->offset, whole * entry_bytes, ret), "%s",
		table->name));
	*count = (size_t)whole;
	return NULL;
}

static struct err *read_symbols(struct reader *reader, const struct elf_section *table)
{
	if (!table)
		return NULL;
	const struct elf_names *names = NULL;
	try(read_names(reader, table->link, &names));
	CLEANUP(elf_map_release) struct elf_map entries = {0};
	size_t count;
	try(read_table(reader, table, SYM_BYTES, &entries, &count));
	if (!names)
		return NULL;
	struct elf_symbols *out = reader->out;
	vec_reserve(&out->symbols, count);
	CLEANUP_FREE uint8_t *classes = classify_sections(reader);
	for (size_t i = 1; i < count; i++) { /* symbol 0 is the null symbol */
		struct elf_symbol *next = &out->symbols.data[out->symbols.len];
		out->symbols.len +=
			read_symbol(reader, entries.bytes + i * SYM_BYTES, names, classes, next);
	}
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
			.section = (uint16_t)plt->index,
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

static struct err *name_plt_stubs(struct reader *reader, const struct elf_section *rela,
	const struct elf_map *symbols, size_t symbol_count, const struct elf_map *names)
{
	struct plt plain = find_plt(reader, ".plt", PLT_HEADER_BYTES);
	struct plt secure = find_plt(reader, ".plt.sec", 0);
	if (!plain.section && !secure.section)
		return NULL;
	CLEANUP(elf_map_release) struct elf_map relocations = {0};
	size_t count;
	try(read_table(reader, rela, RELA_BYTES, &relocations, &count));
	struct str pool = {0};
	for (size_t slot = 0; slot < count && pool.len < STUB_NAMES_MAX; slot++) {
		struct bytes_cursor cursor =
			bytes_cursor(relocations.bytes + slot * RELA_BYTES, RELA_BYTES);
		bytes_get_u64(&cursor); /* r_offset */
		uint64_t info = bytes_get_u64(&cursor);
		if (ELF64_R_TYPE(info) != R_X86_64_JUMP_SLOT)
			continue; /* IRELATIVE: a local ifunc, nameless here */
		const char *name = dynamic_name(symbols->bytes, symbol_count,
			(uint32_t)ELF64_R_SYM(info), (const char *)names->bytes, names->len);
		if (!*name || strnlen(name, STUB_NAME_MAX) == STUB_NAME_MAX)
			continue;
		uint32_t number = reader->out->names_end + (uint32_t)pool.len;
		str_puts(&pool, name);
		str_write(&pool, "@plt", sizeof("@plt"));
		add_plt_stub(reader, &plain, slot, number);
		add_plt_stub(reader, &secure, slot, number);
	}
	if (!pool.len)
		return NULL;
	uint8_t *text = (uint8_t *)pool.data;
	append_names(reader->out,
		&(struct elf_map){.bytes = text, .len = pool.len, .slot = -1, .copy = text});
	return NULL;
}

static struct err *read_plt(struct reader *reader, const struct elf_section *dynsym)
{
	const struct elf_section *rela = find_by_name(reader, ".rela.plt");
	if (elf_file_machine(reader->file) != EM_X86_64 || !dynsym || !rela ||
		rela->type != SHT_RELA || !has_contents(rela))
		return NULL;
	const struct elf_section *table =
		&reader->sections[dynsym->link]; /* read_symbols() checked it */
	if (table->type != SHT_STRTAB || !has_contents(table))
		return NULL;
	CLEANUP(elf_map_release) struct elf_map symbols = {0};
	size_t count;
	try(read_table(reader, dynsym, SYM_BYTES, &symbols, &count));
	/* The table that read_symbols() read last. */
	const struct elf_names *names = &reader->out->names[reader->out->names_count - 1];
	return name_plt_stubs(reader, rela, &symbols, count, &names->text);
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
	for (size_t i = 0; i < symbols->names_count; i++)
		elf_map_release(&symbols->names[i].text);
	*symbols = (struct elf_symbols){0};
}
