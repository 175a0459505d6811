#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/bytes.h"
#include "format/base/err.h"
#include "format/base/mem.h"
#include "format/elf/elf_dynsym.h"
#include "format/elf/elf_file.h"
#include "format/elf/elf_symbols.h"
#include "tests/unit/unit.h"

/* ---- a small file: one PT_LOAD, a build ID, .text with three symbols ---- */

enum {
	SMALL_SECTIONS = 6,
	NOTE_AT = 0x100,
	TEXT_AT = 0x140,
	SYMTAB_AT = 0x180,
	STRTAB_AT = 0x240,
	SHSTRTAB_AT = 0x280,
	SHDRS_AT = 0x2c0,
	SMALL_BYTES = SHDRS_AT + SMALL_SECTIONS * sizeof(Elf64_Shdr),
	VADDR = 0x400000,
	SMALL_SYMBOLS = 5,
};

union small_file {
	uint8_t bytes[SMALL_BYTES];
	uint64_t align;
};

static const char strtab[] = "\0main\0helper\0.Llocal";
static const char shstrtab[] = "\0.note\0.text\0.symtab\0.strtab\0.shstrtab";

static Elf64_Ehdr *header(union small_file *file)
{
	return (Elf64_Ehdr *)file->bytes;
}

static Elf64_Shdr *section(union small_file *file, int index)
{
	return (Elf64_Shdr *)(file->bytes + SHDRS_AT) + index;
}

static void build_small(union small_file *file)
{
	memset(file, 0, sizeof(*file));
	*header(file) =
		(Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_phoff = sizeof(Elf64_Ehdr),
			.e_shoff = SHDRS_AT,
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 2,
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = SMALL_SECTIONS,
			.e_shstrndx = 5};
	Elf64_Phdr *phdrs = (Elf64_Phdr *)(file->bytes + sizeof(Elf64_Ehdr));
	phdrs[0] =
		(Elf64_Phdr){PT_LOAD, PF_R | PF_X, 0, VADDR, VADDR, SMALL_BYTES, SMALL_BYTES, 4096};
	phdrs[1] = (Elf64_Phdr){PT_NOTE, PF_R, NOTE_AT, VADDR + NOTE_AT, 0, 36, 36, 4};
	static const uint32_t note[] = {4, 20, NT_GNU_BUILD_ID, 0x554e47, 1, 2, 3, 4, 5};
	memcpy(file->bytes + NOTE_AT, note, sizeof(note));
	Elf64_Sym *symbols = (Elf64_Sym *)(file->bytes + SYMTAB_AT);
	symbols[1] = (Elf64_Sym){1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 2, VADDR + TEXT_AT, 16};
	symbols[2] =
		(Elf64_Sym){6, ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE), 0, 2, VADDR + TEXT_AT + 16, 0};
	symbols[3] =
		(Elf64_Sym){13, ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE), 0, 2, VADDR + TEXT_AT, 16};
	symbols[4] = (Elf64_Sym){1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, SHN_UNDEF, 0, 0};
	memcpy(file->bytes + STRTAB_AT, strtab, sizeof(strtab));
	memcpy(file->bytes + SHSTRTAB_AT, shstrtab, sizeof(shstrtab));
	*section(file, 1) =
		(Elf64_Shdr){1, SHT_NOTE, SHF_ALLOC, VADDR + NOTE_AT, NOTE_AT, 36, 0, 0, 4, 0};
	*section(file, 2) = (Elf64_Shdr){7, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
		VADDR + TEXT_AT, TEXT_AT, 64, 0, 0, 16, 0};
	*section(file, 3) = (Elf64_Shdr){13, SHT_SYMTAB, 0, 0, SYMTAB_AT,
		SMALL_SYMBOLS * sizeof(Elf64_Sym), 4, 3, 8, sizeof(Elf64_Sym)};
	*section(file, 4) =
		(Elf64_Shdr){21, SHT_STRTAB, 0, 0, STRTAB_AT, sizeof(strtab), 0, 0, 1, 0};
	*section(file, 5) =
		(Elf64_Shdr){29, SHT_STRTAB, 0, 0, SHSTRTAB_AT, sizeof(shstrtab), 0, 0, 1, 0};
}

/* Everything that can be asked, over a copy of exactly `len` bytes; false when any part was
 * refused. */
static bool read_all(const void *bytes, size_t len)
{
	CLEANUP_FREE uint8_t *copy = mem_alloc(len ? len : 1);
	memcpy(copy, bytes, len);
	struct elf_file *file;
	struct err *err = elf_file_open_memory(copy, len, &file);
	if (err) {
		CHECK(err_message(err)[0]);
		err_destroy(err);
		return false;
	}
	size_t count, id_len;
	elf_file_segments(file, &count);
	const uint8_t *id = elf_file_build_id(file, &id_len);
	CHECK((id != NULL) == (id_len > 0));
	struct elf_symbols symbols = {0};
	err = elf_symbols_read(file, &symbols);
	size_t name_bytes = 0;
	vec_each(&symbols.symbols, symbol) {
		CHECK(symbol->name < symbols.names_end);
		name_bytes += strlen(elf_symbols_name(&symbols, symbol));
	}
	CHECK(name_bytes <= symbols.symbols.len * len);
	elf_symbols_deinit(&symbols);
	elf_file_destroy(file);
	bool ok = !err;
	err_destroy(err);
	return ok;
}

TEST(small_file_is_read)
{
	union small_file small;
	build_small(&small);
	struct elf_file *file = NULL;
	CHECK_OK(elf_file_open_memory(small.bytes, SMALL_BYTES, &file));
	CHECK_INT(elf_file_type(file), ET_DYN);
	CHECK_INT(elf_file_machine(file), EM_X86_64);
	size_t count;
	const struct elf_segment *segments = elf_file_segments(file, &count);
	CHECK_INT(count, 1);
	CHECK_INT(segments[0].vaddr, VADDR);
	const uint8_t *id = elf_file_build_id(file, &count);
	CHECK_INT(count, 20);
	CHECK(id && id[0] == 1 && id[16] == 5);
	const struct elf_section *text = elf_file_find_section(file, ".text");
	CHECK(text && text->addr == VADDR + TEXT_AT);
	CHECK(!elf_file_find_section(file, ".data"));
	struct elf_symbols symbols = {0};
	CHECK_OK(elf_symbols_read(file, &symbols));
	CHECK_INT(symbols.symbols.len, 2);
	CHECK_STR(elf_symbols_name(&symbols, &symbols.symbols.data[0]), "main");
	CHECK_STR(elf_symbols_name(&symbols, &symbols.symbols.data[1]), "helper");
	CHECK_INT(symbols.code.len, 1);
	elf_symbols_deinit(&symbols);
	elf_file_destroy(file);
}

TEST(truncation_at_every_byte)
{
	union small_file small;
	build_small(&small);
	for (size_t len = 0; len < SMALL_BYTES; len++)
		CHECK(!read_all(small.bytes, len));
	CHECK(read_all(small.bytes, SMALL_BYTES));
}

TEST(random_bit_flips)
{
	srand(7);
	for (int round = 0; round < 20000; round++) {
		union small_file small;
		build_small(&small);
		for (int flips = 1 + rand() % 4; flips > 0; flips--)
			small.bytes[(size_t)rand() % SMALL_BYTES] ^= (uint8_t)(1 << rand() % 8);
		read_all(small.bytes, SMALL_BYTES);
	}
}

/* Every aligned field of headers and tables becomes as large as it can. */
TEST(all_ones_everywhere)
{
	for (size_t width = 2; width <= 8; width *= 2)
		for (size_t at = 16; at + width <= SMALL_BYTES; at += 2) {
			union small_file small;
			build_small(&small);
			memset(small.bytes + at, 0xff, width);
			read_all(small.bytes, SMALL_BYTES);
			small.bytes[at + width - 1] = 0x7f;
			read_all(small.bytes, SMALL_BYTES);
		}
}

static void check_refused(union small_file *small, int code, const char *part)
{
	struct elf_file *file = NULL;
	CHECK_ERR(elf_file_open_memory(small->bytes, SMALL_BYTES, &file), code, part);
	build_small(small);
}

TEST(refusals_say_why)
{
	union small_file small;
	build_small(&small);
	small.bytes[0] = 0;
	check_refused(&small, ERR_FORMAT, "not an ELF");
	small.bytes[EI_CLASS] = ELFCLASS32;
	check_refused(&small, ERR_UNSUPPORTED, "32-bit");
	small.bytes[EI_DATA] = ELFDATA2MSB;
	check_refused(&small, ERR_UNSUPPORTED, "big-endian");
	header(&small)->e_phentsize = 32;
	check_refused(&small, ERR_FORMAT, "program headers of 32");
	header(&small)->e_phoff = UINT64_MAX - 8;
	check_refused(&small, ERR_FORMAT, "program headers");
	header(&small)->e_phnum = PN_XNUM;
	check_refused(&small, ERR_UNSUPPORTED, "program headers");
	((Elf64_Phdr *)(small.bytes + sizeof(Elf64_Ehdr)))->p_filesz = UINT64_MAX;
	check_refused(&small, ERR_FORMAT, "PT_LOAD");
	struct elf_file *file;
	int fds[2];
	CHECK(pipe(fds) == 0);
	CHECK_ERR(elf_file_open(fds[0], &file), ERR_USAGE, "regular");
	CHECK_ERR(elf_file_open(-1, &file), ERR_IO, "fstat");
}

static size_t count_symbols(union small_file *small)
{
	struct elf_file *file = NULL;
	struct elf_symbols symbols = {0};
	CHECK_OK(elf_file_open_memory(small->bytes, SMALL_BYTES, &file));
	struct err *err = elf_symbols_read(file, &symbols);
	size_t count = err ? SIZE_MAX : symbols.symbols.len;
	err_destroy(err);
	elf_symbols_deinit(&symbols);
	elf_file_destroy(file);
	build_small(small);
	return count;
}

TEST(section_numbers_in_section_0)
{
	union small_file small;
	build_small(&small);
	header(&small)->e_shnum = 0;
	header(&small)->e_shstrndx = SHN_XINDEX;
	section(&small, 0)->sh_size = SMALL_SECTIONS;
	section(&small, 0)->sh_link = 5;
	CHECK_INT(count_symbols(&small), 2);
	header(&small)->e_shnum = 0;
	section(&small, 0)->sh_size = UINT64_MAX;
	CHECK(count_symbols(&small) == SIZE_MAX);
	header(&small)->e_shnum = 0; /* and sh_size 0: no sections */
	CHECK_INT(count_symbols(&small), 0);
	header(&small)->e_shstrndx =
		3; /* not a string table: nameless, but the symbols are there */
	CHECK_INT(count_symbols(&small), 2);
}

TEST(broken_symbol_tables)
{
	union small_file small;
	build_small(&small);
	section(&small, 3)->sh_link = 3; /* itself */
	CHECK_INT(count_symbols(&small), 0);
	section(&small, 3)->sh_link = UINT32_MAX;
	CHECK(count_symbols(&small) == SIZE_MAX);
	section(&small, 3)->sh_entsize = 0;
	CHECK(count_symbols(&small) == SIZE_MAX);
	section(&small, 3)->sh_size = UINT64_MAX;
	CHECK(count_symbols(&small) == SIZE_MAX);
	section(&small, 4)->sh_size = UINT64_MAX;
	CHECK(count_symbols(&small) == SIZE_MAX);
	section(&small, 3)->sh_flags = SHF_COMPRESSED;
	CHECK_INT(count_symbols(&small), 0);
	section(&small, 3)->sh_type = SHT_NOBITS;
	CHECK_INT(count_symbols(&small), 0);
	((Elf64_Sym *)(small.bytes + SYMTAB_AT))[1].st_name = sizeof(strtab); /* one past the end */
	CHECK_INT(count_symbols(&small), 1);
	((Elf64_Sym *)(small.bytes + SYMTAB_AT))[1].st_shndx = SMALL_SECTIONS;
	CHECK_INT(count_symbols(&small), 1);
	section(&small, 4)->sh_size = 3; /* the table ends within "main" */
	CHECK_INT(count_symbols(&small), 1);
}

/* ---- large tables ---- */

enum {
	LARGE_AT = 1 << 20,
};

/* The small file with another symbol table, of `bytes` bytes at LARGE_AT, which are zeros yet. */
static int make_large(uint64_t bytes)
{
	union small_file small;
	build_small(&small);
	section(&small, 3)->sh_offset = LARGE_AT;
	section(&small, 3)->sh_size = bytes;
	int fd = memfd_create("large", MFD_CLOEXEC);
	CHECK_INT(ftruncate(fd, (off_t)(LARGE_AT + bytes)), 0);
	CHECK_INT(pwrite(fd, small.bytes, SMALL_BYTES, 0), SMALL_BYTES);
	CHECK_INT(pwrite(fd, small.bytes + SYMTAB_AT, SMALL_SYMBOLS * sizeof(Elf64_Sym), LARGE_AT),
		SMALL_SYMBOLS * sizeof(Elf64_Sym));
	return fd;
}

/* What was looked at of a file of holes is in memory from then on: it is counted. */
TEST(sparse_symbol_tables_are_not_read_to_their_end)
{
	CLEANUP_FD int fd = make_large((1ULL << 30) / sizeof(Elf64_Sym) * sizeof(Elf64_Sym));
	struct elf_file *file = NULL;
	struct elf_symbols symbols = {0};
	struct stat st;
	CHECK_OK(elf_file_open(fd, &file));
	CHECK_OK(elf_symbols_read(file, &symbols));
	CHECK_INT(symbols.symbols.len, 2); /* those of its beginning */
	CHECK(symbols.is_cut);
	CHECK(symbols.symbols.cap * sizeof(*symbols.symbols.data) < 16 << 20);
	CHECK_INT(fstat(fd, &st), 0);
	CHECK(st.st_blocks * 512LL < 64 << 20);
	elf_symbols_deinit(&symbols);
	elf_file_destroy(file);
}

static long peak_kb(void)
{
	char line[128];
	long kb = 0;
	FILE *status = fopen("/proc/self/status", "re");
	while (status && !kb && fgets(line, sizeof(line), status))
		if (sscanf(line, "VmHWM: %ld", &kb) != 1)
			kb = 0;
	fclose(status);
	return kb;
}

/* No zeros, and no functions either. */
TEST(symbol_tables_are_not_in_memory_at_once)
{
	static Elf64_Sym junk[1 << 15];
	const size_t pieces = 200; /* 157 MB */
	CLEANUP_FD int fd = make_large(pieces * sizeof(junk));
	memset(junk, 0xff, sizeof(junk));
	for (size_t i = 0; i < pieces; i++)
		CHECK_INT(pwrite(fd, junk, sizeof(junk), (off_t)(LARGE_AT + i * sizeof(junk))),
			sizeof(junk));
	struct elf_file *file = NULL;
	struct elf_symbols symbols = {0};
	long before_kb = peak_kb();
	CHECK_OK(elf_file_open(fd, &file));
	CHECK_OK(elf_symbols_read(file, &symbols));
	CHECK(!symbols.is_cut);
	CHECK_INT(symbols.symbols.len, 0);
	CHECK(peak_kb() - before_kb < 64 << 10);
	elf_symbols_deinit(&symbols);
	elf_file_destroy(file);
}

/* A mapped one: what stands behind its last NUL is no name. */
TEST(string_tables_that_end_within_a_name)
{
	union small_file small;
	build_small(&small);
	section(&small, 4)->sh_offset = LARGE_AT;
	section(&small, 4)->sh_size = LARGE_AT;
	((Elf64_Sym *)(small.bytes + SYMTAB_AT))[1].st_name = LARGE_AT - 2;
	CLEANUP_FD int fd = memfd_create("large", MFD_CLOEXEC);
	CHECK_INT(ftruncate(fd, 2 * LARGE_AT), 0);
	CHECK_INT(pwrite(fd, small.bytes, SMALL_BYTES, 0), SMALL_BYTES);
	CHECK_INT(pwrite(fd, strtab, sizeof(strtab), LARGE_AT), sizeof(strtab));
	CHECK_INT(pwrite(fd, "xy", 2, 2 * LARGE_AT - 2), 2);
	struct elf_file *file = NULL;
	struct elf_symbols symbols = {0};
	CHECK_OK(elf_file_open(fd, &file));
	CHECK_OK(elf_symbols_read(file, &symbols));
	CHECK_INT(symbols.symbols.len, 1);
	CHECK_STR(elf_symbols_name(&symbols, &symbols.symbols.data[0]), "helper");
	static char name[128 << 10];
	memset(name, 'x', sizeof(name));
	CHECK_INT(
		pwrite(fd, name, sizeof(name), (off_t)(2 * LARGE_AT - sizeof(name))), sizeof(name));
	CHECK_ERR(elf_symbols_read(file, &symbols), ERR_FORMAT, "within a name");
	elf_symbols_deinit(&symbols);
	elf_file_destroy(file);
}

/* Which symbols that do not say what they are name functions. */
TEST(labels_are_no_functions)
{
	static const struct {
		const char *name;
		bool is_label;
	} cases[] = {{"", true}, {".L1", true}, {".text_start", false}, {"$x", true}, {"$d", true},
		{"$x.17", true}, {"$d.realdata", true}, {"$xrv64i2p1_m2p0", true}, {"$xor", false},
		{"$div", false}, {"$", false}, {"$a", false}, {".annobin_assert.c_end", true},
		{".annobin", false}, {"annobin_main", false}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (elf_symbols_is_label(cases[i].name, strlen(cases[i].name)) != cases[i].is_label)
			unit_fail(__FILE__, __LINE__, "%s", cases[i].name);
}

/* A mark for the linker; but what is hidden and says that it is a function, or has a size, is one.
 */
TEST(hidden_labels_are_no_functions)
{
	union small_file small;
	build_small(&small);
	Elf64_Sym *helper = &((Elf64_Sym *)(small.bytes + SYMTAB_AT))[2];
	helper->st_other = STV_HIDDEN;
	CHECK_INT(count_symbols(&small), 1);
	helper->st_other = STV_HIDDEN;
	helper->st_size = 8;
	CHECK_INT(count_symbols(&small), 2);
	helper->st_other = STV_HIDDEN;
	helper->st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
	CHECK_INT(count_symbols(&small), 2);
	helper->st_other = STV_PROTECTED;
	CHECK_INT(count_symbols(&small), 2);
}

static size_t build_id_len(union small_file *small)
{
	struct elf_file *file = NULL;
	size_t len = 0;
	CHECK_OK(elf_file_open_memory(small->bytes, SMALL_BYTES, &file));
	elf_file_build_id(file, &len);
	elf_file_destroy(file);
	build_small(small);
	return len;
}

TEST(build_id_places_and_sizes)
{
	union small_file small;
	build_small(&small);
	Elf64_Phdr *phdrs = (Elf64_Phdr *)(small.bytes + sizeof(Elf64_Ehdr));
	uint32_t *note = (uint32_t *)(small.bytes + NOTE_AT);
	phdrs[1].p_type = PT_NULL; /* by the section, then */
	CHECK_INT(build_id_len(&small), 20);
	phdrs[1].p_offset = UINT64_MAX;
	CHECK_INT(build_id_len(&small), 20);
	header(&small)->e_shnum = 0;
	header(&small)->e_shoff = 0;
	CHECK_INT(build_id_len(&small), 20);
	note[1] = 3;
	CHECK_INT(build_id_len(&small), 0);
	note[1] = UINT32_MAX;
	CHECK_INT(build_id_len(&small), 0);
	note[0] = UINT32_MAX;
	CHECK_INT(build_id_len(&small), 0);
	note[2] = NT_GNU_ABI_TAG;
	CHECK_INT(build_id_len(&small), 0);
	note[3] = 0x4c4c45; /* another owner's */
	CHECK_INT(build_id_len(&small), 0);
}

TEST(offsets_become_addresses)
{
	static const struct elf_segment segments[] = {
		{.vaddr = 0x400000, .offset = 0, .filesz = 0x1800, .memsz = 0x1800, .flags = PF_R},
		{.vaddr = 0x402000,
			.offset = 0x1000,
			.filesz = 0x1000,
			.memsz = 0x1000,
			.flags = PF_R | PF_X},
	};
	uint64_t vaddr = 0;
	CHECK(elf_segments_offset_to_vaddr(segments, 2, 0x10, &vaddr));
	CHECK_INT(vaddr, 0x400010);
	CHECK(elf_segments_offset_to_vaddr(
		segments, 2, 0x1010, &vaddr)); /* in both: the executable one */
	CHECK_INT(vaddr, 0x402010);
	CHECK(!elf_segments_offset_to_vaddr(segments, 2, 0x2000, &vaddr));
	CHECK(!elf_segments_offset_to_vaddr(NULL, 0, 0, &vaddr));
}

/* ---- real files ---- */

/* This program's build ID as the dynamic linker mapped it. */
static int find_own_build_id(struct dl_phdr_info *info, size_t size, void *opaque)
{
	(void)size;
	struct elf_file *file = opaque;
	size_t len = 0;
	const uint8_t *id = elf_file_build_id(file, &len);
	bool found = false;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *phdr = &info->dlpi_phdr[i];
		const uint8_t *notes = (const uint8_t *)info->dlpi_addr + phdr->p_vaddr;
		if (phdr->p_type == PT_NOTE && len)
			found |= memmem(notes, phdr->p_memsz, id, len) != NULL;
	}
	CHECK(found || !len);
	return 1; /* the first is the program itself */
}

TEST(own_file)
{
	CLEANUP_FD int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_file *file = NULL;
	CHECK_OK(elf_file_open(fd, &file));
	dl_iterate_phdr(find_own_build_id, file);
	const struct elf_section *sections;
	size_t count;
	CHECK_OK(elf_file_sections(file, &sections, &count));
	CHECK(count > 10 && elf_file_find_section(file, ".text"));
	uint8_t *bytes = NULL;
	CHECK_OK(elf_file_read(file, 0, 4, &bytes));
	CHECK(bytes && memcmp(bytes, ELFMAG, 4) == 0 && bytes[4] == 0);
	mem_free(bytes);
	CHECK_ERR(elf_file_read(file, elf_file_size(file), 1, &bytes), ERR_FORMAT, "not in a file");
	CHECK_ERR(elf_file_read(file, UINT64_MAX, UINT64_MAX, &bytes), ERR_FORMAT, "not in a file");
	elf_file_destroy(file);
}

TEST(vdso_from_memory)
{
	const uint8_t *vdso = (const uint8_t *)getauxval(AT_SYSINFO_EHDR); /* NOLINT */
	if (!vdso)
		unit_skip("no vDSO");
	struct elf_file *file = NULL;
	CHECK_OK(elf_file_open_memory(vdso, 4096, &file));
	size_t len = 0;
	CHECK(elf_file_build_id(file, &len) && len >= ELF_BUILD_ID_MIN);
	elf_file_destroy(file);
}

TEST(file_that_shrinks_is_refused)
{
	CLEANUP_FD int fd = memfd_create("shrinking", MFD_CLOEXEC);
	CHECK(fd >= 0);
	union small_file small;
	build_small(&small);
	CHECK(write(fd, small.bytes, SMALL_BYTES) == SMALL_BYTES);
	CHECK(ftruncate(fd, 1 << 20) == 0);
	struct elf_file *file = NULL;
	CHECK_OK(elf_file_open(fd, &file));
	CHECK(ftruncate(fd, 8192) == 0);
	uint8_t *bytes = NULL;
	CHECK_ERR(elf_file_read(file, 0x8000, 16, &bytes), ERR_FORMAT, "shrank");
	CHECK(!bytes);
	elf_file_destroy(file);
}

/* ---- exported symbols by name ---- */

/* By the hash table, which one name alone is looked for in, and by reading all names. */
TEST(dynsym_by_hash_is_dynsym_by_name)
{
	static const char *const both[] = {"malloc", "free"}, *const none[] = {"no_such_function"};
	struct elf_dynsym one, two[2];
	struct elf_file *elf;
	Dl_info info;
	CHECK(dladdr(dlsym(RTLD_DEFAULT, "malloc"), &info));
	CLEANUP_FD int fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	CHECK_OK(elf_file_open(fd, &elf));
	CHECK_OK(elf_dynsym_find(elf, both, 2, two));
	for (int i = 0; i < 2; i++) {
		CHECK_OK(elf_dynsym_find(elf, &both[i], 1, &one));
		CHECK(one.address);
		CHECK_INT(one.address, two[i].address);
		CHECK_INT(one.size, two[i].size);
	}
	CHECK_OK(elf_dynsym_find(elf, none, 1, &one));
	CHECK_INT(one.address, 0);
	elf_file_destroy(elf);
}
