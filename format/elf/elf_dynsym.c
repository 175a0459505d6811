#include "format/elf/elf_dynsym.h"

#include <elf.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"

enum {
	TABLE_MAX = 256 << 20, /* bytes; libLLVM's have 4 MiB */
};

static const struct elf_section *find_table(const struct elf_section *sections, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (sections[i].type == SHT_DYNSYM && sections[i].entsize == sizeof(Elf64_Sym))
			return &sections[i];
	return NULL;
}

static struct err *read_table(
	const struct elf_file *file, const struct elf_section *table, uint8_t **ret)
{
	if (table->size > TABLE_MAX || table->size > elf_file_size(file))
		return err_new(
			ERR_FORMAT, "%s: %llu bytes", table->name, (unsigned long long)table->size);
	return err_wrap(elf_file_read(file, table->offset, table->size, ret), "%s", table->name);
}

/* A name may be the end of a longer one, which linkers put there once. */
static bool has_name(const uint8_t *names, uint64_t len, const char *name)
{
	return memmem(names, len, name, strlen(name) + 1);
}

static void take_symbol(struct bytes_cursor *cursor, const uint8_t *names, uint64_t len,
	const char *const *wanted, size_t count, struct elf_dynsym *ret)
{
	uint32_t name = bytes_get_u32(cursor);
	bytes_get_u16(cursor); /* st_info, st_other */
	uint16_t section = bytes_get_u16(cursor);
	struct elf_dynsym symbol = {.address = bytes_get_u64(cursor)};
	symbol.size = bytes_get_u64(cursor);
	if (section == SHN_UNDEF || name >= len)
		return;
	for (size_t i = 0; i < count; i++)
		if (strcmp((const char *)names + name, wanted[i]) == 0)
			ret[i] = symbol;
}

struct err *elf_dynsym_find(
	struct elf_file *file, const char *const *names, size_t count, struct elf_dynsym *ret)
{
	const struct elf_section *sections;
	size_t nr_sections;
	memset(ret, 0, count * sizeof(*ret));
	try(elf_file_sections(file, &sections, &nr_sections));
	const struct elf_section *table = find_table(sections, nr_sections);
	if (!table)
		return NULL;
	if (!table->link || table->link >= nr_sections)
		return err_new(ERR_FORMAT, "%s: string table %u of %zu sections", table->name,
			table->link, nr_sections);
	const struct elf_section *strings = &sections[table->link];
	CLEANUP_FREE uint8_t *text = NULL; /* with a NUL behind */
	try(read_table(file, strings, &text));
	if (!has_name(text, strings->size, names[0]))
		return NULL;
	CLEANUP_FREE uint8_t *symbols = NULL;
	try(read_table(file, table, &symbols));
	struct bytes_cursor cursor = bytes_cursor(symbols, table->size);
	while (bytes_left(&cursor) >= sizeof(Elf64_Sym))
		take_symbol(&cursor, text, strings->size, names, count, ret);
	return NULL;
}
