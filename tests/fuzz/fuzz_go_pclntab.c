/* Go's table of functions: any bytes as the only section of a file that is sound otherwise. */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/err.h"
#include "format/elf/go_pclntab.h"

enum {
	NAMES = 0x40,
	SECTIONS = 0x80,
	TABLE = 0x200,
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void on_sp(void *context, uint64_t address, int32_t delta)
{
	volatile uint64_t *sum = context;
	*sum += address ^ (uint64_t)delta;
}

static uint8_t *make_file(const uint8_t *bytes, size_t len)
{
	static const char names[] = "\0.gopclntab";
	Elf64_Ehdr header = {.e_ident = ELFMAG,
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_entry = 0x401000,
		.e_shoff = SECTIONS,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2};
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	Elf64_Shdr sections[3] = {
		{0},
		{.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = TABLE, .sh_size = len},
		{.sh_type = SHT_STRTAB, .sh_offset = NAMES, .sh_size = sizeof(names)},
	};
	uint8_t *file = calloc(1, TABLE + len);
	if (!file)
		abort();
	memcpy(file, &header, sizeof(header));
	memcpy(file + NAMES, names, sizeof(names));
	memcpy(file + SECTIONS, sections, sizeof(sections));
	if (len)
		memcpy(file + TABLE, bytes, len);
	return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	uint8_t *file = make_file(bytes, len);
	struct elf_file *elf;
	struct go_pclntab *table = NULL;
	struct err *err = elf_file_open_memory(file, TABLE + len, &elf);
	if (err)
		abort();
	err = go_pclntab_open(elf, &table);
	uint64_t sum = 0;
	struct go_function function;
	for (uint32_t i = 0; table && i < go_pclntab_count(table); i++)
		if (go_pclntab_function(table, i, &function)) {
			sum += strlen(go_pclntab_name(table, &function));
			go_pclntab_walk_sp(table, &function, on_sp, &sum);
		}
	err_destroy(err);
	go_pclntab_destroy(table);
	elf_file_destroy(elf);
	free(file);
	return 0;
}
