/* A compressed section: its header, or that of .zdebug after an odd first byte, and what follows.
 */
#include <elf.h>
#include <stdint.h>
#include <string.h>

#include "format/base/mem.h"
#include "format/elf/elf_inflate.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum {
	UNPACKED_MAX = 1 << 20,
};

static uint64_t sum_of(const uint8_t *bytes, uint64_t len)
{
	uint64_t sum = 0;
	for (uint64_t i = 0; i < len; i++)
		sum += bytes[i];
	return sum;
}

static void unpack(const struct elf_file *file, const struct elf_section *section)
{
	uint8_t *bytes;
	uint64_t len;
	volatile uint64_t sum = 0;
	struct err *err = elf_inflate_section(file, section, UNPACKED_MAX, &bytes, &len);
	if (!err) {
		sum += sum_of(bytes, len + 1); /* the NUL too */
		mem_free(bytes);
	}
	struct elf_map map;
	struct err *map_err = elf_inflate_map(file, section, UNPACKED_MAX, NULL, &map);
	if (!map_err) {
		sum += sum_of(map.bytes, map.len);
		elf_map_release(&map);
	}
	if (!err != !map_err)
		__builtin_trap(); /* both ways are the same */
	err_destroy(err);
	err_destroy(map_err);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	if (!len)
		return 0;
	Elf64_Ehdr header = {.e_ident = ELFMAG, .e_type = ET_DYN};
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	CLEANUP_FREE uint8_t *image = mem_alloc(sizeof(header) + len - 1);
	memcpy(image, &header, sizeof(header));
	memcpy(image + sizeof(header), bytes + 1, len - 1);
	struct elf_section section = {.name = bytes[0] & 1 ? ".zdebug_info" : ".debug_info",
		.flags = bytes[0] & 1 ? 0 : SHF_COMPRESSED,
		.offset = sizeof(header),
		.size = len - 1};
	struct elf_file *file;
	struct err *err = elf_file_open_memory(image, sizeof(header) + len - 1, &file);
	if (err) {
		err_destroy(err);
		return 0;
	}
	unpack(file, &section);
	elf_file_destroy(file);
	return 0;
}
