#include "format/elf/elf_relocate.h"

#include <elf.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/machine/machine.h"

enum {
	FIRST_ADDRESS = 0x1000, /* 0 stands for code that a linker dropped */
	MAX_ALIGNED = 1 << 12,
};

struct err *elf_layout_make(struct elf_file *file, struct elf_layout *ret)
{
	const struct elf_section *sections;
	size_t count;
	if (elf_file_type(file) != ET_REL)
		return err_new(ERR_UNSUPPORTED, "not a relocatable file");
	try(elf_file_sections(file, &sections, &count));
	vec_resize(&ret->addresses, count);
	uint64_t next = FIRST_ADDRESS;
	for (size_t i = 1; i < count; i++) {
		if (!(sections[i].flags & SHF_ALLOC) || sections[i].size > UINT32_MAX)
			continue;
		ret->addresses.data[i] = next;
		next = (next + sections[i].size + MAX_ALIGNED) & ~(uint64_t)(MAX_ALIGNED - 1);
	}
	return NULL;
}

void elf_layout_deinit(struct elf_layout *layout)
{
	vec_deinit(&layout->addresses);
}

static bool is_relative(const struct machine_relocations *types, uint32_t type)
{
	return type == types->relative64 || type == types->relative32;
}

/* How many bytes the relocation fills with symbol + addend, less the place if it is relative to it;
 * 0: another kind. */
static unsigned elf_relocate_width_of(const struct machine_relocations *types, uint32_t type)
{
	if (!type)
		return 0;
	if (type == types->word64 || type == types->relative64)
		return 8;
	bool is_word32 = type == types->word32[0] || type == types->word32[1];
	return is_word32 || type == types->relative32 ? 4 : 0;
}

struct tables {
	uint8_t *symbols, *relocations;
	size_t nr_symbols, nr_relocations;
};

static uint64_t elf_relocate_value_of(
	const struct tables *tables, const struct elf_layout *layout, uint64_t symbol)
{
	if (symbol >= tables->nr_symbols)
		return 0;
	struct bytes_cursor cursor =
		bytes_cursor(tables->symbols + symbol * sizeof(Elf64_Sym), sizeof(Elf64_Sym));
	bytes_get(&cursor, 4 + 1 + 1); /* name, info, other */
	uint16_t section = bytes_get_u16(&cursor);
	uint64_t value = bytes_get_u64(&cursor);
	if (section == SHN_UNDEF)
		return 0;
	return value + (section < layout->addresses.len ? layout->addresses.data[section] : 0);
}

/* `address` is that of the bytes. */
static void elf_relocate_fill(const struct tables *tables, const struct elf_layout *layout,
	const struct machine_relocations *types, uint64_t address, uint8_t *bytes, uint64_t len)
{
	struct bytes_cursor cursor =
		bytes_cursor(tables->relocations, tables->nr_relocations * sizeof(Elf64_Rela));
	for (size_t i = 0; i < tables->nr_relocations; i++) {
		uint64_t offset = bytes_get_u64(&cursor), info = bytes_get_u64(&cursor);
		uint64_t addend = bytes_get_u64(&cursor);
		unsigned width = elf_relocate_width_of(types, (uint32_t)info);
		if (!width || offset > len || len - offset < width)
			continue;
		uint64_t value = elf_relocate_value_of(tables, layout, info >> 32) + addend;
		if (is_relative(types, (uint32_t)info))
			value -= address + offset;
		for (unsigned byte = 0; byte < width; byte++)
			bytes[offset + byte] = (uint8_t)(value >> 8 * byte);
	}
}

static struct err *elf_relocate_read_table(struct elf_file *file, const struct elf_section *section,
	size_t entry_bytes, uint8_t **ret, size_t *count)
{
	if (section->flags & SHF_COMPRESSED || section->size > elf_file_size(file))
		return err_new(ERR_FORMAT, "%s: no such table", section->name);
	*count = (size_t)(section->size / entry_bytes);
	return elf_file_read(file, section->offset, *count * entry_bytes, ret);
}

struct err *elf_relocate(struct elf_file *file, const struct elf_layout *layout, size_t index,
	uint8_t *bytes, uint64_t len)
{
	const struct elf_section *sections;
	size_t count;
	try(elf_file_sections(file, &sections, &count));
	for (size_t i = 1; i < count; i++) {
		if (sections[i].type != SHT_RELA || sections[i].info != index ||
			sections[i].link >= count)
			continue;
		CLEANUP_FREE uint8_t *symbols = NULL;
		CLEANUP_FREE uint8_t *relocations = NULL;
		struct tables tables = {0};
		try(elf_relocate_read_table(file, &sections[sections[i].link], sizeof(Elf64_Sym),
			&symbols, &tables.nr_symbols));
		try(elf_relocate_read_table(file, &sections[i], sizeof(Elf64_Rela), &relocations,
			&tables.nr_relocations));
		tables.symbols = symbols;
		tables.relocations = relocations;
		const struct machine *machine = machine_find(elf_file_machine(file));
		uint64_t address =
			index < layout->addresses.len ? layout->addresses.data[index] : 0;
		if (machine)
			elf_relocate_fill(
				&tables, layout, &machine->relocations, address, bytes, len);
		break; /* more than one is not for a section */
	}
	return NULL;
}
