/*
 * MiniDebugInfo: after an even first byte what xz would unpack, after an odd one the image in it,
 * which a fuzzer could hardly find behind checksums.
 */
#include <elf.h>
#include <lzma.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "report/name/debugfile/minidebug.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum {
	NAMES_AT = sizeof(Elf64_Ehdr),
	NAMES_BYTES = 24,
	SECTIONS_AT = NAMES_AT + NAMES_BYTES,
	PACKED_AT = SECTIONS_AT + 3 * sizeof(Elf64_Shdr),
};

/* A file that has nothing but .gnu_debugdata. */
static void put_file(struct bytes_buf *out, const uint8_t *packed, size_t len)
{
	static const char names[NAMES_BYTES] = "\0.gnu_debugdata";
	Elf64_Ehdr header = {.e_ident = ELFMAG,
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_shoff = SECTIONS_AT,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2};
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	Elf64_Shdr sections[3] = {{0},
		{.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = PACKED_AT, .sh_size = len},
		{.sh_type = SHT_STRTAB, .sh_offset = NAMES_AT, .sh_size = NAMES_BYTES}};
	bytes_put(out, &header, sizeof(header));
	bytes_put(out, names, sizeof(names));
	bytes_put(out, sections, sizeof(sections));
	bytes_put(out, packed, len);
}

static void pack(const uint8_t *image, size_t len, struct bytes_buf *out)
{
	size_t room = lzma_stream_buffer_bound(len), used = 0;
	CLEANUP_FREE uint8_t *packed = mem_alloc(room);
	if (lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, image, len, packed, &used, room) !=
		LZMA_OK)
		abort();
	put_file(out, packed, used);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	CLEANUP(bytes_buf_deinit) struct bytes_buf file = {0};
	if (!len)
		return 0;
	if (bytes[0] & 1)
		pack(bytes + 1, len - 1, &file);
	else
		put_file(&file, bytes + 1, len - 1);
	struct elf_file *elf;
	struct err *err = elf_file_open_memory(file.data, file.len, &elf);
	if (err)
		abort();
	struct elf_symbols symbols = {0};
	volatile size_t sum = 0;
	minidebug_read(elf, &symbols);
	vec_each(&symbols.symbols, symbol)
		sum += strlen(elf_symbols_name(&symbols, symbol));
	elf_symbols_deinit(&symbols);
	elf_file_destroy(elf);
	return 0;
}
