#include "format/elf/elf_symbols.h"

#include <elf.h>
#include <endian.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/bisect.h"
#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/base/str.h"
#include "format/elf/elf_plt.h"

enum {
	SYM_BYTES = sizeof(Elf64_Sym),
	/* Each of the two string tables; with the stubs' names their sum fits an u32. */
	NAMES_MAX = 1 << 30,
	STUB_NAMES_MAX = 64 << 20,
	STUB_NAME_MAX = 64 << 10,
	LAST_NAME_MAX = 64 << 10,
	WINDOW_SYMBOLS = 64 << 10, /* are read before their pages are given back */
};

/* What the readers below share. */
struct reader {
	struct elf_file *file;
	const struct elf_section *sections;
	size_t section_count;
	struct elf_symbols *out;
};

static bool elf_symbols_has_contents(const struct elf_section *section)
{
	return section->type != SHT_NOBITS && !(section->flags & SHF_COMPRESSED) &&
	       section->size > 0;
}

static const struct elf_section *find_by_type(const struct reader *reader, uint32_t type)
{
	for (size_t i = 1; i < reader->section_count; i++)
		if (reader->sections[i].type == type &&
			elf_symbols_has_contents(&reader->sections[i]))
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

/* What follows a mapped table is none of its last name. False: that has no start. */
static bool cut_last_name(struct elf_map *text)
{
	size_t len = text->len < LAST_NAME_MAX ? (size_t)text->len : LAST_NAME_MAX;
	const uint8_t *start = text->bytes + text->len - len, *end = memrchr(start, 0, len);
	if (end)
		text->len = (uint64_t)(end + 1 - text->bytes);
	return end != NULL;
}

/* Appends a string table; *ret stays NULL where it has no contents. Every name in it ends in it. */
static struct err *read_names(struct reader *reader, uint32_t index, const struct elf_names **ret)
{
	if (index == 0 || index >= reader->section_count)
		return err_new(ERR_FORMAT, "string table %u of %zu sections", index,
			reader->section_count);
	const struct elf_section *table = &reader->sections[index];
	if (table->type != SHT_STRTAB || !elf_symbols_has_contents(table))
		return NULL;
	/* Checked before memory is asked for: the size is the file's claim. */
	uint64_t file_size = elf_file_size(reader->file);
	if (table->size > NAMES_MAX || table->size > file_size)
		return err_new(ERR_FORMAT, "a string table of %llu bytes in a file of %llu",
			(unsigned long long)table->size, (unsigned long long)file_size);
	struct elf_map text;
	try(err_wrap(
		elf_map_range(reader->file, table->offset, table->size, &text), "string table"));
	if (text.base && !cut_last_name(&text)) {
		elf_map_release(&text);
		return err_new(ERR_FORMAT, "a string table that ends within a name");
	}
	*ret = append_names(reader->out, &text);
	return NULL;
}

/* "x" or "d", alone or with a "." and anything behind; RISC-V's "x" also with the name of an ISA.
 */
static bool is_mapping_symbol(const char *name, size_t len)
{
	if (len < 2 || name[0] != '$' || (name[1] != 'x' && name[1] != 'd'))
		return false;
	return len == 2 || name[2] == '.' || (len > 4 && memcmp(name, "$xrv", 4) == 0);
}

static bool elf_symbols_begins_with(const char *name, size_t len, const char *prefix)
{
	return len >= strlen(prefix) && memcmp(name, prefix, strlen(prefix)) == 0;
}

bool elf_symbols_is_label(const char *name, size_t len)
{
	return !len || is_mapping_symbol(name, len) || elf_symbols_begins_with(name, len, ".L") ||
	       elf_symbols_begins_with(name, len, ".annobin_");
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
 * and all fields of all symbols, since any of them may be functions.
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
	uint8_t visibility = ELF64_ST_VISIBILITY((uint8_t)(head >> 40));
	/* Name 0 is the empty one. */
	bool is_named = name - 1 < (uint32_t)names->text.len - 1;
	bool is_wanted = (classes[section] & wanted[type] & (is_named ? HOLDS_ANY : 0)) != 0;
	if (type != STT_NOTYPE || !is_wanted)
		return is_wanted;
	if (!ret->size && (visibility == STV_HIDDEN || visibility == STV_INTERNAL))
		return false; /* a mark for the linker and for tools: __start_x, annobin's notes */
	const char *text = (const char *)names->text.bytes + name;
	return is_inside(&reader->sections[section], ret->address) &&
	       !elf_symbols_is_label(text, strlen(text));
}

/* A table of fixed-size records. */
static struct err *elf_symbols_read_table(struct reader *reader, const struct elf_section *table,
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

static bool is_zero(const uint8_t *bytes, size_t len)
{
	return !bytes[0] && memcmp(bytes, bytes + 1, len - 1) == 0;
}

/* No linker writes null symbols by the thousand: a sparse file of any size seems to have them. */
static void read_window(struct reader *reader, const uint8_t *bytes, size_t count,
	const struct elf_names *names, const uint8_t *classes)
{
	struct elf_symbols *out = reader->out;
	out->is_cut = count == WINDOW_SYMBOLS && is_zero(bytes, count * SYM_BYTES);
	if (out->is_cut)
		return;
	vec_reserve(&out->symbols, count);
	for (size_t i = 0; i < count; i++) {
		struct elf_symbol *next = &out->symbols.data[out->symbols.len];
		out->symbols.len +=
			read_symbol(reader, bytes + i * SYM_BYTES, names, classes, next);
	}
}

static struct err *elf_symbols_read_symbols(struct reader *reader, const struct elf_section *table)
{
	if (!table)
		return NULL;
	const struct elf_names *names = NULL;
	try(read_names(reader, table->link, &names));
	CLEANUP(elf_map_release) struct elf_map entries = {0};
	size_t count;
	try(elf_symbols_read_table(reader, table, SYM_BYTES, &entries, &count));
	if (!names)
		return NULL;
	CLEANUP_FREE uint8_t *classes = classify_sections(reader);
	/* Symbol 0 is the null symbol, which is no function. */
	for (size_t first = 0; first < count && !reader->out->is_cut; first += WINDOW_SYMBOLS) {
		size_t left = count - first;
		read_window(reader, entries.bytes + first * SYM_BYTES,
			left < WINDOW_SYMBOLS ? left : WINDOW_SYMBOLS, names, classes);
		elf_map_forget(&entries, first * SYM_BYTES, (uint64_t)WINDOW_SYMBOLS * SYM_BYTES);
	}
	return NULL;
}

/* ---- procedure linkage table ---- */

static size_t elf_symbols_leading_underscores(const char *name)
{
	return strspn(name, "_");
}

/* Of two names of one ifunc: the one that is seen outside of the file, then the plainer one. */
static bool is_better_ifunc(
	const struct elf_symbols *out, const struct elf_symbol *a, const struct elf_symbol *b)
{
	if (a->bind != b->bind)
		return a->bind == STB_GLOBAL || b->bind == STB_LOCAL;
	return elf_symbols_leading_underscores(elf_symbols_name(out, a)) <
	       elf_symbols_leading_underscores(elf_symbols_name(out, b));
}

struct ifuncs {
	VEC(const struct elf_symbol *) list; /* by address, the best of those at one first */
};

static int compare_ifuncs(const void *a, const void *b, void *out)
{
	const struct elf_symbol *x = *(const struct elf_symbol *const *)a;
	const struct elf_symbol *y = *(const struct elf_symbol *const *)b;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (int)is_better_ifunc(out, y, x) - (int)is_better_ifunc(out, x, y);
}

static void list_ifuncs(struct elf_symbols *out, struct ifuncs *ret)
{
	vec_each(&out->symbols, symbol)
		if (symbol->type == STT_GNU_IFUNC)
			vec_push(&ret->list, symbol);
	if (ret->list.len)
		qsort_r(ret->list.data, ret->list.len, sizeof(*ret->list.data), compare_ifuncs,
			out);
}

/* "" when none is known. */
static const char *ifunc_name(
	const struct elf_symbols *out, const struct ifuncs *ifuncs, uint64_t resolver)
{
	size_t i = bisect(ifuncs->list.len, k, ifuncs->list.data[k]->address < resolver);
	if (i == ifuncs->list.len || ifuncs->list.data[i]->address != resolver)
		return "";
	return elf_symbols_name(out, ifuncs->list.data[i]);
}

/* .dynsym as a whole, undefined symbols as well. */
struct dynamic {
	struct elf_map symbols;
	size_t count;
	const struct elf_map *names; /* NULL: there are none */
};

/* The name of dynamic symbol `index`, "" when there is none. */
static const char *dynamic_name(const struct dynamic *dynamic, uint32_t index)
{
	if (index == 0 || index >= dynamic->count || !dynamic->names)
		return "";
	struct bytes_cursor cursor =
		bytes_cursor(dynamic->symbols.bytes + (size_t)index * SYM_BYTES, SYM_BYTES);
	uint32_t name = bytes_get_u32(&cursor);
	return name < dynamic->names->len ? (const char *)dynamic->names->bytes + name : "";
}

static void add_plt_stub(struct elf_symbols *out, const struct elf_plt_stub *stub, uint32_t name)
{
	vec_push(&out->symbols,
		(struct elf_symbol){
			.address = stub->address,
			.size = stub->size,
			.name = name,
			.section = (uint16_t)(stub->section < SHN_LORESERVE ? stub->section
									    : SHN_XINDEX),
			.type = STT_FUNC,
			.bind = STB_LOCAL,
		});
}

static void name_plt_stubs(
	struct elf_symbols *out, const struct elf_plt_stubs *stubs, const struct dynamic *dynamic)
{
	struct str pool = {0};
	struct ifuncs ifuncs = {0};
	uint32_t *names = mem_zalloc_array(stubs->list.len, sizeof(*names));
	list_ifuncs(out, &ifuncs);
	for (size_t i = 0; i < stubs->list.len && pool.len < STUB_NAMES_MAX; i++) {
		const struct elf_plt_stub *stub = &stubs->list.data[i];
		const char *name = stub->symbol ? dynamic_name(dynamic, stub->symbol)
						: ifunc_name(out, &ifuncs, stub->resolver);
		if (!*name || strnlen(name, STUB_NAME_MAX) == STUB_NAME_MAX)
			continue;
		names[i] = (uint32_t)pool.len + 1;
		str_puts(&pool, name);
		str_write(&pool, "@plt", sizeof("@plt"));
	}
	vec_deinit(&ifuncs.list); /* it points to what now may move */
	for (size_t i = 0; i < stubs->list.len; i++)
		if (names[i])
			add_plt_stub(out, &stubs->list.data[i], out->names_end + names[i] - 1);
	mem_free(names);
	if (!pool.len)
		return;
	uint8_t *text = (uint8_t *)pool.data;
	append_names(
		out, &(struct elf_map){.bytes = text, .len = pool.len, .slot = -1, .copy = text});
}

static struct err *read_dynamic(
	struct reader *reader, const struct elf_section *dynsym, struct dynamic *ret)
{
	if (!dynsym)
		return NULL;
	const struct elf_section *table =
		&reader->sections[dynsym->link]; /* elf_symbols_read_symbols() checked it */
	if (table->type != SHT_STRTAB || !elf_symbols_has_contents(table))
		return NULL;
	try(elf_symbols_read_table(reader, dynsym, SYM_BYTES, &ret->symbols, &ret->count));
	/* The table that elf_symbols_read_symbols() read last. */
	ret->names = &reader->out->names[reader->out->names_count - 1].text;
	return NULL;
}

static struct err *read_plt(struct reader *reader, const struct elf_section *dynsym)
{
	CLEANUP(elf_plt_stubs_deinit) struct elf_plt_stubs stubs = {0};
	try(elf_plt_read(reader->file, &stubs));
	if (!stubs.list.len)
		return NULL;
	struct dynamic dynamic = {0};
	struct err *err = read_dynamic(reader, dynsym, &dynamic);
	if (!err)
		name_plt_stubs(reader->out, &stubs, &dynamic);
	elf_map_release(&dynamic.symbols);
	return err;
}

/* ---- all of it ---- */

struct err *elf_symbols_read(struct elf_file *file, struct elf_symbols *ret)
{
	struct elf_symbols out = {0};
	struct reader reader = {.file = file, .out = &out};
	try(elf_file_sections(file, &reader.sections, &reader.section_count));
	collect_code(&reader);
	const struct elf_section *dynsym = find_by_type(&reader, SHT_DYNSYM);
	struct err *err = elf_symbols_read_symbols(&reader, find_by_type(&reader, SHT_SYMTAB));
	bool is_cut = out.is_cut;
	out.is_cut = false;
	if (!err)
		err = elf_symbols_read_symbols(&reader, dynsym);
	out.is_cut |= is_cut;
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
