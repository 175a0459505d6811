/* Stubs of the procedure linkage table by their bytes, and by the relocations of what they read. */
#include <elf.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/elf/elf_plt.h"
#include "format/elf/elf_symbols.h"
#include "format/machine/machine.h"
#include "tests/unit/unit.h"

enum {
	PLT_AT = 0x10000,
	GOT_AT = 0x21000,
};

/* ---- one stub ---- */

static void check_x86_64(const char *prefix, size_t prefix_len, bool want)
{
	uint8_t code[32] = {0};
	memcpy(code, prefix, prefix_len);
	code[prefix_len] = 0x08;     /* the displacement ... */
	code[prefix_len + 1] = 0x10; /* ... 0x11008 - what the code has until its end */
	code[prefix_len + 2] = 0x01;
	struct machine_plt_stub got = {0};
	bool is_found = machine_x86_64.decode_plt_stub(code, sizeof(code), PLT_AT, &got);
	CHECK(is_found == want);
	if (want)
		CHECK_INT(got.slot, GOT_AT + 8 + prefix_len + 4);
	for (size_t len = 0; want && len < prefix_len + 4; len++)
		CHECK(!machine_x86_64.decode_plt_stub(code, len, PLT_AT, &got));
}

#define CHECK_X86_64(prefix, want) check_x86_64(prefix, sizeof(prefix) - 1, want)

TEST(plt_stubs_of_x86_64)
{
	CHECK_X86_64("\xff\x25", true);                                 /* ld.bfd, lld */
	CHECK_X86_64("\xf3\x0f\x1e\xfa\xff\x25", true);                 /* .plt.sec: lld */
	CHECK_X86_64("\xf3\x0f\x1e\xfa\xf2\xff\x25", true);             /* .plt.sec: ld.bfd */
	CHECK_X86_64("\xf3\x0f\x1e\xfa\x41\xbb\1\0\0\0\xff\x25", true); /* mold */
	CHECK_X86_64("\x4c\x8b\x1d", true);                             /* retpolines of lld */
	CHECK_X86_64("\xff\x35", false);                                /* the header: push */
	CHECK_X86_64("\xf3\x0f\x1e\xfa\x68\0\0\0\0\xf2\xe9", false);    /* the lazy half */
	CHECK_X86_64("\xff\x15", false);                                /* a call */
}

enum {
	ADRP_X16 = 0x90000010 | 1 << 29 | 4 << 5, /* 0x11 pages */
	ADRP_X16_BACK = 0x90000010 | 3 << 29 | 0x7ffff << 5,
	LDR_X17_8 = 0xf9400000 | 1 << 10 | 16 << 5 | 17,
	LDR_X17_OF_X9 = 0xf9400000 | 1 << 10 | 9 << 5 | 17,
	ADD_X16_8 = 0x91000000 | 8 << 10 | 16 << 5 | 16,
	BR_X17 = 0xd61f0220,
	BR_X16 = 0xd61f0200,
	BTI_C = 0xd503245f,
	AUTIA1716 = 0xd503219f,
	NOP = 0xd503201f,
};

/* Up to six instructions, ended by 0; 0 is what they should read, too: none. */
static void check_arm64(const uint32_t *insns, uint64_t slot)
{
	struct bytes_buf code = {0};
	for (size_t i = 0; i < 6 && insns[i]; i++)
		bytes_put_u32(&code, insns[i]);
	struct machine_plt_stub got = {0};
	CHECK(machine_arm64.decode_plt_stub(code.data, code.len, PLT_AT, &got) == (slot != 0));
	CHECK_INT(got.slot, slot);
	for (size_t len = 0; len < 12 && slot; len++)
		CHECK(!machine_arm64.decode_plt_stub(code.data, len, PLT_AT, &got));
	bytes_buf_deinit(&code);
}

#define CHECK_ARM64(slot, ...) check_arm64((const uint32_t[6]){__VA_ARGS__}, slot)

TEST(plt_stubs_of_arm64)
{
	CHECK_ARM64(GOT_AT + 8, ADRP_X16, LDR_X17_8, ADD_X16_8, BR_X17);
	CHECK_ARM64(GOT_AT + 8, BTI_C, ADRP_X16, LDR_X17_8, ADD_X16_8, BR_X17, NOP);
	CHECK_ARM64(GOT_AT + 8, ADRP_X16, LDR_X17_8, ADD_X16_8, AUTIA1716, BR_X17, NOP);
	CHECK_ARM64(GOT_AT + 8, ADRP_X16, LDR_X17_8, BR_X17, NOP); /* mold's .plt.got */
	CHECK_ARM64(PLT_AT - 0x1000 + 8, ADRP_X16_BACK, LDR_X17_8, ADD_X16_8, BR_X17);
	CHECK_ARM64(0, ADRP_X16, LDR_X17_8, ADD_X16_8, BR_X16);
	CHECK_ARM64(0, ADRP_X16, LDR_X17_OF_X9, ADD_X16_8, BR_X17);
	CHECK_ARM64(0, ADRP_X16, LDR_X17_8, NOP, NOP, NOP, BR_X17);
	CHECK_ARM64(0, LDR_X17_8, ADD_X16_8, BR_X17);
	CHECK(!machine_find(EM_RISCV));
}

/* ---- a file ---- */

enum {
	AT_DYNSYM = 0x200,
	AT_DYNSTR = 0x300,
	AT_RELA_PLT = 0x340,
	AT_RELA_DYN = 0x400,
	AT_PLT = 0x440,
	AT_PLT_GOT = 0x4c0,
	AT_SHSTRTAB = 0x500,
	AT_SHDRS = 0x580,
	NR_SECTIONS = 9,
	FILE_BYTES = AT_SHDRS + NR_SECTIONS * sizeof(Elf64_Shdr),
	RESOLVER = 0x5000,
};

union plt_file {
	uint8_t bytes[FILE_BYTES];
	uint64_t align;
};

static const char dynstr[] = "\0realloc\0calloc\0memcpy\0__memcpy\0atexit";
static const char plt_shstrtab[] =
	"\0.dynsym\0.dynstr\0.rela.plt\0.rela.dyn\0.plt\0.plt.got\0.text\0.shstrtab";

static void put_section(union plt_file *file, int index, const char *name, Elf64_Shdr section)
{
	section.sh_name = (Elf64_Word)((const char *)memmem(plt_shstrtab, sizeof(plt_shstrtab),
					       name, strlen(name) + 1) -
				       plt_shstrtab);
	memcpy(file->bytes + AT_SHDRS + (size_t)index * sizeof(section), &section, sizeof(section));
}

/* Stub `slot` of those in .plt; its jump reads that slot of the GOT. */
static void put_stub(union plt_file *file, uint16_t machine, size_t at, uint64_t slot)
{
	uint64_t address = PLT_AT + at - AT_PLT;
	if (machine == EM_X86_64) {
		uint32_t distance = (uint32_t)(slot - address - 6);
		memcpy(file->bytes + at, "\xff\x25", 2);
		memcpy(file->bytes + at + 2, &distance, 4);
		return;
	}
	uint32_t code[] = {
		ADRP_X16, LDR_X17_8 + (uint32_t)((slot - GOT_AT - 8) / 8 << 10), ADD_X16_8, BR_X17};
	memcpy(file->bytes + at, code, sizeof(code));
}

static Elf64_Rela relocation(uint16_t machine, uint64_t slot, bool is_got, uint32_t symbol)
{
	bool is_x86_64 = machine == EM_X86_64;
	uint32_t jump = is_x86_64 ? R_X86_64_JUMP_SLOT : R_AARCH64_JUMP_SLOT;
	uint32_t data = is_x86_64 ? R_X86_64_GLOB_DAT : R_AARCH64_GLOB_DAT;
	uint32_t ifunc = is_x86_64 ? R_X86_64_IRELATIVE : R_AARCH64_IRELATIVE;
	if (!symbol)
		return (Elf64_Rela){slot, ELF64_R_INFO(0, ifunc), RESOLVER};
	return (Elf64_Rela){slot, ELF64_R_INFO(symbol, is_got ? data : jump), 0};
}

/*
 * As in Debian's libc.so.6: the first stub is that of an ifunc, whose relocation stands last; the
 * second is that of relocation 1, and the third that of 0. One in .plt.got goes by .rela.dyn.
 */
static void build_plt_file(union plt_file *file, uint16_t machine)
{
	memset(file, 0, sizeof(*file));
	Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = machine,
		.e_version = EV_CURRENT,
		.e_shoff = AT_SHDRS,
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = NR_SECTIONS,
		.e_shstrndx = 8};
	memcpy(file->bytes, &header, sizeof(header));
	Elf64_Sym symbols[] = {{0}, {.st_name = 1, .st_info = 0x12},
		{.st_name = 9, .st_info = 0x12},
		{23, ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC), 0, 7, RESOLVER, 16},
		{16, ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC), 0, 7, RESOLVER, 16},
		{.st_name = 32, .st_info = 0x12}};
	memcpy(file->bytes + AT_DYNSYM, symbols, sizeof(symbols));
	memcpy(file->bytes + AT_DYNSTR, dynstr, sizeof(dynstr));
	Elf64_Rela relocations[] = {relocation(machine, GOT_AT + 24, false, 1),
		relocation(machine, GOT_AT + 16, false, 2),
		relocation(machine, GOT_AT + 8, false, 0)};
	memcpy(file->bytes + AT_RELA_PLT, relocations, sizeof(relocations));
	Elf64_Rela got = relocation(machine, GOT_AT + 32, true, 5);
	memcpy(file->bytes + AT_RELA_DYN, &got, sizeof(got));
	for (size_t i = 0; i < 3; i++)
		put_stub(file, machine, AT_PLT + 16 + i * 16, GOT_AT + 8 + i * 8);
	put_stub(file, machine, AT_PLT_GOT, GOT_AT + 32);
	memcpy(file->bytes + AT_SHSTRTAB, plt_shstrtab, sizeof(plt_shstrtab));
	uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
	put_section(file, 1, ".dynsym",
		(Elf64_Shdr){0, SHT_DYNSYM, SHF_ALLOC, AT_DYNSYM, AT_DYNSYM, sizeof(symbols), 2, 1,
			8, sizeof(Elf64_Sym)});
	put_section(file, 2, ".dynstr",
		(Elf64_Shdr){0, SHT_STRTAB, SHF_ALLOC, 0, AT_DYNSTR, sizeof(dynstr), 0, 0, 1, 0});
	put_section(file, 3, ".rela.plt",
		(Elf64_Shdr){0, SHT_RELA, SHF_ALLOC, 0, AT_RELA_PLT, sizeof(relocations), 1, 5, 8,
			sizeof(Elf64_Rela)});
	put_section(file, 4, ".rela.dyn",
		(Elf64_Shdr){0, SHT_RELA, SHF_ALLOC, 0, AT_RELA_DYN, sizeof(got), 1, 0, 8,
			sizeof(Elf64_Rela)});
	put_section(file, 5, ".plt",
		(Elf64_Shdr){0, SHT_PROGBITS, code, PLT_AT, AT_PLT, 64, 0, 0, 16, 16});
	put_section(file, 6, ".plt.got",
		(Elf64_Shdr){0, SHT_PROGBITS, code, PLT_AT + AT_PLT_GOT - AT_PLT, AT_PLT_GOT, 16, 0,
			0, 8, 8});
	put_section(
		file, 7, ".text", (Elf64_Shdr){0, SHT_NOBITS, code, RESOLVER, 0, 64, 0, 0, 16, 0});
	put_section(file, 8, ".shstrtab",
		(Elf64_Shdr){0, SHT_STRTAB, 0, 0, AT_SHSTRTAB, sizeof(plt_shstrtab), 0, 0, 1, 0});
}

static const char *stub_name(const struct elf_symbols *symbols, uint64_t address)
{
	vec_each(&symbols->symbols, symbol)
		if (symbol->address == address)
			return elf_symbols_name(symbols, symbol);
	return "";
}

static void check_names(union plt_file *file, const char *const *names)
{
	struct elf_file *elf = NULL;
	struct elf_symbols symbols = {0};
	CHECK_OK(elf_file_open_memory(file->bytes, FILE_BYTES, &elf));
	CHECK_OK(elf_symbols_read(elf, &symbols));
	for (size_t i = 0; i < 4; i++)
		CHECK_STR(stub_name(&symbols, PLT_AT + i * 16), names[i]);
	CHECK_STR(stub_name(&symbols, PLT_AT + AT_PLT_GOT - AT_PLT), names[4]);
	elf_symbols_deinit(&symbols);
	elf_file_destroy(elf);
}

TEST(plt_stubs_go_by_the_slots_they_read)
{
	static const uint16_t machines[] = {EM_X86_64, EM_AARCH64};
	for (size_t i = 0; i < 2; i++) {
		union plt_file file;
		build_plt_file(&file, machines[i]);
		check_names(&file, (const char *const[]){"", "memcpy@plt", "calloc@plt",
					   "realloc@plt", "atexit@plt"});
		/* An ifunc that no symbol names: no name rather than another's. */
		Elf64_Rela ifunc = relocation(machines[i], GOT_AT + 8, false, 0);
		ifunc.r_addend += 8;
		memcpy(file.bytes + AT_RELA_PLT + 2 * sizeof(ifunc), &ifunc, sizeof(ifunc));
		check_names(&file,
			(const char *const[]){"", "", "calloc@plt", "realloc@plt", "atexit@plt"});
	}
}
