/*
 * Go's tables: any bytes as the only section of a file that is sound otherwise. They are also where
 * the program's data are, so that the linker's record and the lists of inlined calls may be in
 * them.
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/err.h"
#include "format/elf/go_pclntab.h"
#include "report/name/symbol/go_resolver.h"

enum {
	NAMES = 0x40,
	PROGRAM = 0x80,
	SECTIONS = 0xc0,
	TABLE = 0x200,
	TABLE_VADDR = 0x500000, /* as in tests/unit/forged_go.h, which the seeds are from */
	ADDRESSES = 64,
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void on_sp(void *context, uint64_t address, int32_t delta)
{
	volatile uint64_t *sum = context;
	*sum += address ^ (uint64_t)delta;
}

static uint8_t *make_file(const uint8_t *bytes, size_t len)
{
	static const char names[] = "\0.gopclntab\0.data\0.go.buildinfo";
	Elf64_Ehdr header = {.e_ident = ELFMAG,
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_entry = 0x401000,
		.e_phoff = PROGRAM,
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shoff = SECTIONS,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 5,
		.e_shstrndx = 4};
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	Elf64_Phdr program = {.p_type = PT_LOAD,
		.p_offset = TABLE,
		.p_vaddr = TABLE_VADDR,
		.p_filesz = len,
		.p_memsz = len};
	Elf64_Shdr table = {.sh_name = 1,
		.sh_type = SHT_PROGBITS,
		.sh_addr = TABLE_VADDR,
		.sh_offset = TABLE,
		.sh_size = len};
	Elf64_Shdr sections[5] = {{0}, table, table, table,
		{.sh_type = SHT_STRTAB, .sh_offset = NAMES, .sh_size = sizeof(names)}};
	sections[2].sh_name = 12;
	sections[3].sh_name = 18;
	uint8_t *file = calloc(1, TABLE + len);
	if (!file)
		abort();
	memcpy(file, &header, sizeof(header));
	memcpy(file + NAMES, names, sizeof(names));
	memcpy(file + PROGRAM, &program, sizeof(program));
	memcpy(file + SECTIONS, sections, sizeof(sections));
	if (len)
		memcpy(file + TABLE, bytes, len);
	return file;
}

static uint64_t visit_functions(struct go_pclntab *table, uint64_t *addresses, size_t *count)
{
	volatile uint64_t sum = 0;
	struct go_function function;
	for (uint32_t i = 0; i < go_pclntab_count(table); i++) {
		if (!go_pclntab_function(table, i, &function))
			continue;
		sum += strlen(go_pclntab_name(table, function.name));
		go_pclntab_walk_sp(table, &function, on_sp, (void *)(uintptr_t)&sum);
		uint64_t ends[] = {function.start, function.start + 9, function.end - 1};
		for (size_t k = 0; k < 3; k++)
			if (*count < ADDRESSES && (!*count || addresses[*count - 1] < ends[k]))
				addresses[(*count)++] = ends[k];
	}
	return sum;
}

static void resolve(struct elf_file *elf, const uint64_t *addresses, size_t count)
{
	struct chain chains[ADDRESSES];
	struct go_resolver *resolver = go_resolver_create(elf);
	volatile size_t sum = 0;
	if (!resolver)
		return;
	go_resolver_run(resolver, addresses, count, chains);
	for (size_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < chains[i].count; k++) {
			const struct chain_frame *frame = &chains[i].frames[k];
			sum += frame->file ? strlen(frame->file) : 0;
			sum += frame->function ? strlen(frame->function) : 0;
		}
	go_resolver_destroy(resolver);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	uint8_t *file = make_file(bytes, len);
	uint64_t addresses[ADDRESSES];
	size_t count = 0;
	struct elf_file *elf;
	struct go_pclntab *table = NULL;
	struct err *err = elf_file_open_memory(file, TABLE + len, &elf);
	if (err)
		abort();
	err = go_pclntab_open(elf, &table);
	if (table)
		visit_functions(table, addresses, &count);
	resolve(elf, addresses, count);
	err_destroy(err);
	go_pclntab_destroy(table);
	elf_file_destroy(elf);
	free(file);
	return 0;
}
