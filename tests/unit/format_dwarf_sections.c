#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/dwarf/dwarf_sections.h"
#include "tests/unit/unit.h"

static const char section_names[] = "\0.debug_info.dwo\0.debug_cu_index\0.shstrtab";

/* A package of .dwo files, with four bytes in each section. */
struct package {
	Elf64_Ehdr header;
	Elf64_Shdr sections[4];
	char info[4], index[4];
	char names[sizeof(section_names)];
};

/* A .dwo file with two units of types, in sections of the same name around that of a compilation.
 */
struct parts {
	Elf64_Ehdr header;
	Elf64_Shdr sections[5];
	char types[24], compilation[20];
	char names[sizeof(section_names)];
};

static Elf64_Shdr section(uint32_t name, uint32_t type, size_t offset, size_t size)
{
	return (Elf64_Shdr){.sh_name = name, .sh_type = type, .sh_offset = offset, .sh_size = size};
}

static Elf64_Ehdr header(uint16_t nr_sections)
{
	return (Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_REL,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_shoff = sizeof(Elf64_Ehdr),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = nr_sections,
		.e_shstrndx = nr_sections - 1};
}

static struct package make_package(void)
{
	struct package package = {
		.header = header(4),
		.sections = {[1] = section(1, SHT_PROGBITS, offsetof(struct package, info), 4),
			[2] = section(17, SHT_PROGBITS, offsetof(struct package, index), 4),
			[3] = section(33, SHT_STRTAB, offsetof(struct package, names),
				sizeof(section_names))},
		.info = "INFO",
		.index = "UNIT",
	};
	memcpy(package.names, section_names, sizeof(section_names));
	return package;
}

/* Its index is the only section that is not called .dwo. */
TEST(sections_of_a_package)
{
	struct package package = make_package();
	CLEANUP_FD int fd = memfd_create("package", MFD_CLOEXEC);
	CHECK_INT(write(fd, &package, sizeof(package)), sizeof(package));
	struct elf_file *elf;
	CHECK_OK(elf_file_open(fd, &elf));
	struct dwarf_sections sections;
	CHECK(dwarf_sections_open(elf, true, NULL, &sections));
	const struct dwarf_span *info = &sections.file.sections[DWARF_INFO];
	const struct dwarf_span *index = &sections.file.sections[DWARF_CU_INDEX];
	CHECK_INT(info->len, 4);
	CHECK(info->len == 4 && memcmp(info->data, "INFO", 4) == 0);
	CHECK_INT(index->len, 4);
	CHECK(index->len == 4 && memcmp(index->data, "UNIT", 4) == 0);
	dwarf_sections_deinit(&sections);
	CHECK(!dwarf_sections_open(elf, false, NULL, &sections));
	elf_file_destroy(elf);
}

static struct parts make_parts(void)
{
	size_t types = offsetof(struct parts, types),
	       compilation = offsetof(struct parts, compilation);
	struct parts parts = {
		.header = header(5),
		.sections = {[1] = section(1, SHT_PROGBITS, types, sizeof(parts.types)),
			[2] = section(1, SHT_PROGBITS, compilation, sizeof(parts.compilation)),
			[3] = section(1, SHT_PROGBITS, types, sizeof(parts.types)),
			[4] = section(33, SHT_STRTAB, offsetof(struct parts, names),
				sizeof(section_names))},
		.types = "\x14\0\0\0\x05\0\x06\x08\0\0\0\0signed..\x18\0\0\0",
		.compilation = "\x10\0\0\0\x05\0\x05\x08\0\0\0\0id......",
	};
	memcpy(parts.names, section_names, sizeof(section_names));
	return parts;
}

/* gcc writes so with -fdebug-types-section. */
TEST(sections_of_types_give_way)
{
	struct parts parts = make_parts();
	CLEANUP_FD int fd = memfd_create("parts", MFD_CLOEXEC);
	CHECK_INT(write(fd, &parts, sizeof(parts)), sizeof(parts));
	struct elf_file *elf;
	CHECK_OK(elf_file_open(fd, &elf));
	struct dwarf_sections sections;
	CHECK(dwarf_sections_open(elf, true, NULL, &sections));
	const struct dwarf_span *info = &sections.file.sections[DWARF_INFO];
	CHECK(info->len == sizeof(parts.compilation) &&
		memcmp(info->data, parts.compilation, info->len) == 0);
	dwarf_sections_deinit(&sections);
	elf_file_destroy(elf);
}
