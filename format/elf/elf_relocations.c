#include "format/elf/elf_relocations.h"

#include <elf.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/machine/machine.h"

enum {
	ALL_BYTES_MAX = 128 << 20,
	RELA_BYTES = sizeof(Elf64_Rela),
};

static struct err *walk_section(struct elf_file *file, const struct elf_section *section,
	uint32_t relative, elf_on_relative *on_relative, void *context)
{
	CLEANUP_FREE uint8_t *bytes = NULL;
	try(elf_file_read(file, section->offset, section->size, &bytes));
	struct bytes_cursor cursor = bytes_cursor(bytes, section->size);
	while (bytes_left(&cursor) >= RELA_BYTES) {
		uint64_t place = bytes_get_u64(&cursor), info = bytes_get_u64(&cursor);
		uint64_t addend = bytes_get_u64(&cursor);
		if (ELF64_R_TYPE(info) == relative)
			on_relative(context, place, addend);
	}
	return NULL;
}

struct err *elf_relocations_walk(struct elf_file *file, elf_on_relative *on_relative, void *context)
{
	const struct machine *machine = machine_find(elf_file_machine(file));
	const struct elf_section *sections;
	size_t count;
	uint64_t left = ALL_BYTES_MAX;
	if (!machine)
		return NULL;
	try(elf_file_sections(file, &sections, &count));
	for (size_t i = 0; i < count; i++) {
		if (sections[i].type != SHT_RELA || sections[i].size > left)
			continue;
		left -= sections[i].size;
		try(walk_section(
			file, &sections[i], machine->relocations.relative, on_relative, context));
	}
	return NULL;
}
