/* Sections of an ELF file in memory, packed as their header says or not. */
#include <elf.h>
#include <string.h>
#include <zlib.h>

#include "format/base/mem.h"
#include "format/elf/elf_inflate.h"
#include "tests/unit/unit.h"

enum {
	DATA_AT = sizeof(Elf64_Ehdr),
	LEN = 5000,
	MAX = 10000,
};

struct fixture {
	uint8_t file[8192];
	size_t packed_len;
	struct elf_file *elf;
	struct elf_section section;
};

static void setup(struct fixture *fixture, uint32_t type, uint64_t claimed)
{
	memset(fixture, 0, sizeof(*fixture));
	Elf64_Ehdr header = {.e_ident = ELFMAG, .e_type = ET_DYN};
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	Elf64_Chdr packed = {.ch_type = type, .ch_size = claimed, .ch_addralign = 1};
	uint8_t plain[LEN];
	for (size_t i = 0; i < LEN; i++)
		plain[i] = (uint8_t)(i * i);
	uLongf len = sizeof(fixture->file) - DATA_AT - sizeof(packed);
	compress(fixture->file + DATA_AT + sizeof(packed), &len, plain, LEN);
	memcpy(fixture->file, &header, sizeof(header));
	memcpy(fixture->file + DATA_AT, &packed, sizeof(packed));
	fixture->packed_len = sizeof(packed) + len;
	fixture->section = (struct elf_section){.name = ".debug_frame",
		.flags = SHF_COMPRESSED,
		.offset = DATA_AT,
		.size = fixture->packed_len};
	CHECK_OK(elf_file_open_memory(fixture->file, sizeof(fixture->file), &fixture->elf));
}

TEST(elf_inflate_unpacks)
{
	struct fixture fixture;
	setup(&fixture, ELFCOMPRESS_ZLIB, LEN);
	uint8_t *bytes = NULL;
	uint64_t len = 0;
	CHECK_OK(elf_inflate_section(fixture.elf, &fixture.section, MAX, &bytes, &len));
	CHECK_INT(len, LEN);
	for (size_t i = 0; i < LEN && bytes; i += 100)
		CHECK_INT(bytes[i], (uint8_t)(i * i));
	mem_free(bytes);
	fixture.section.flags = 0;
	CHECK_OK(elf_inflate_section(fixture.elf, &fixture.section, MAX, &bytes, &len));
	CHECK_INT(len, fixture.packed_len);
	CHECK_INT(bytes[0], ELFCOMPRESS_ZLIB);
	mem_free(bytes);
	elf_file_destroy(fixture.elf);
}

static void check_refused(uint32_t type, uint64_t claimed, uint64_t cut, int code, const char *why)
{
	struct fixture fixture;
	setup(&fixture, type, claimed);
	fixture.section.size -= cut;
	uint8_t *bytes;
	uint64_t len;
	CHECK_ERR(elf_inflate_section(fixture.elf, &fixture.section, MAX, &bytes, &len), code, why);
	elf_file_destroy(fixture.elf);
}

TEST(elf_inflate_refuses)
{
	check_refused(ELFCOMPRESS_ZLIB, LEN - 1, 0, ERR_FORMAT, "damaged"); /* more than promised */
	check_refused(ELFCOMPRESS_ZLIB, LEN + 1, 0, ERR_FORMAT, "damaged");
	check_refused(ELFCOMPRESS_ZLIB, LEN, 1, ERR_FORMAT, "damaged");
	check_refused(ELFCOMPRESS_ZLIB, MAX + 1, 0, ERR_UNSUPPORTED, "10001 bytes");
	check_refused(ELFCOMPRESS_ZLIB, UINT64_MAX, 0, ERR_UNSUPPORTED, "bytes of .debug_frame");
	check_refused(2, LEN, 0, ERR_UNSUPPORTED, "compression 2");
	struct fixture fixture;
	setup(&fixture, ELFCOMPRESS_ZLIB, LEN);
	fixture.section.size = sizeof(Elf64_Chdr) - 1;
	uint8_t *bytes;
	uint64_t len;
	CHECK_ERR(elf_inflate_section(fixture.elf, &fixture.section, MAX, &bytes, &len), ERR_FORMAT,
		"no compression header");
	fixture.section.size = MAX + 1;
	CHECK_ERR(elf_inflate_section(fixture.elf, &fixture.section, MAX, &bytes, &len),
		ERR_UNSUPPORTED, "10001 bytes");
	fixture.section.size = 9000;
	CHECK_ERR(elf_inflate_section(fixture.elf, &fixture.section, MAX, &bytes, &len), ERR_FORMAT,
		"not in a file");
	elf_file_destroy(fixture.elf);
}
