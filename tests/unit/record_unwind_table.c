/* Tables made from the call frame information of real files, asked about every row of it. */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/dwarf/cfi.h"
#include "format/elf/elf_file.h"
#include "format/machine/machine.h"
#include "record/unwind/unwind_rows.h"
#include "record/unwind/unwind_table.h"
#include "tests/unit/unit.h"

#if defined(__x86_64__)
#define LIBC      "/lib/x86_64-linux-gnu/libc.so.6"
#define LIBSTDCXX "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"
#define LD_SO     "/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
#elif defined(__aarch64__)
#define LIBC      "/lib/aarch64-linux-gnu/libc.so.6"
#define LIBSTDCXX "/usr/lib/aarch64-linux-gnu/libstdc++.so.6"
#define LD_SO     "/lib/ld-linux-aarch64.so.1"
#endif

struct fixture {
	struct elf_file *file;
	uint8_t *bytes;
	struct cfi_section section;
	struct unwind_table table;
	uint64_t start, end; /* of the function that is walked */
	uint64_t asked, wrong;
};

/* False when the file has no call frame information. */
static bool setup(struct fixture *fixture, const char *path)
{
	*fixture = (struct fixture){0};
	int fd = open(path, O_RDONLY);
	if (fd < 0)
		return false;
	CHECK_OK(elf_file_open(fd, &fixture->file));
	const struct elf_section *found = elf_file_find_section(fixture->file, ".eh_frame");
	if (!found)
		return false;
	CHECK_OK(elf_file_read(fixture->file, found->offset, found->size, &fixture->bytes));
	fixture->section = (struct cfi_section){
		.kind = CFI_EH_FRAME,
		.bytes = fixture->bytes,
		.len = found->size,
		.vaddr = found->addr,
		.machine = machine_registers(elf_file_machine(fixture->file)),
	};
	CHECK_OK(unwind_table_build(fixture->file, &fixture->table));
	close(fd);
	return true;
}

static void teardown(struct fixture *fixture)
{
	unwind_table_deinit(&fixture->table);
	mem_free(fixture->bytes);
	elf_file_destroy(fixture->file);
}

static bool is_as_said(const struct unwind_rule *rule, const struct cfi_row *row)
{
	if (rule->ra == UNWIND_UNDEFINED)
		return row->registers[UNWIND_RA].kind == UNWIND_UNDEFINED;
	if (rule->cfa == UNWIND_CFA_REGISTER &&
		(row->cfa_kind != UNWIND_CFA_REGISTER || rule->cfa_register != row->cfa_register ||
			rule->cfa_offset != row->cfa_offset))
		return false;
	if (rule->cfa == UNWIND_CFA_DEREF && (int16_t)rule->cfa_offset != row->cfa_offset)
		return false;
	if (rule->ra == UNWIND_AT_CFA && rule->ra_offset != row->registers[UNWIND_RA].offset)
		return false;
	if (rule->fp == UNWIND_AT_CFA && rule->fp_offset != row->registers[UNWIND_FP].offset)
		return false;
	return rule->cfa != UNWIND_CFA_NONE &&
	       (rule->fp == UNWIND_SAME) == (row->registers[UNWIND_FP].kind == UNWIND_SAME);
}

static uint64_t file_offset_of(const struct elf_file *file, uint64_t vaddr)
{
	size_t count;
	const struct elf_segment *segments = elf_file_segments(file, &count);
	for (size_t i = 0; i < count; i++)
		if (segments[i].flags & PF_X && vaddr - segments[i].vaddr < segments[i].filesz)
			return vaddr - segments[i].vaddr + segments[i].offset;
	return UINT64_MAX;
}

static bool on_function(void *context, uint64_t start, uint64_t end)
{
	struct fixture *fixture = context;
	fixture->start = start;
	fixture->end = end;
	return true;
}

static void on_row(void *context, uint64_t address, const struct cfi_row *row)
{
	struct fixture *fixture = context;
	fixture->asked++;
	uint64_t offset = file_offset_of(fixture->file, address);
	fixture->wrong += !is_as_said(unwind_table_find(&fixture->table, offset), row);
}

static void check_file(const char *path)
{
	struct fixture fixture;
	if (!setup(&fixture, path))
		unit_skip("the file is not here");
	struct cfi_visitor visitor = {.context = &fixture, .function = on_function, .row = on_row};
	struct cfi_result result;
	cfi_walk(&fixture.section, &visitor, &result);
	CHECK(fixture.asked > 1000);
	CHECK_INT(fixture.wrong, 0);
	CHECK_INT(fixture.table.statistics.overlapping, 0);
	CHECK_INT(fixture.table.statistics.outside, 0);
	CHECK_OK(unwind_table_check(&fixture.table));
	CHECK(fixture.table.rows.len < fixture.asked + fixture.table.pages.len + result.functions);
	CHECK_INT(unwind_table_find(&fixture.table, 0)->cfa, UNWIND_CFA_NONE);
	CHECK_INT(unwind_table_find(&fixture.table, UINT64_MAX)->cfa, UNWIND_CFA_NONE);
	CHECK_INT(unwind_table_find(&fixture.table, (uint64_t)1 << 47)->cfa, UNWIND_CFA_NONE);
	teardown(&fixture);
}

TEST(unwind_table_of_libc)
{
	check_file(LIBC);
}

TEST(unwind_table_of_libstdcxx)
{
	check_file(LIBSTDCXX);
}

TEST(unwind_table_of_ourselves)
{
	check_file("/proc/self/exe");
}

/* An ELF header alone. */
TEST(unwind_table_of_nothing)
{
	Elf64_Ehdr header = {.e_ident = ELFMAG, .e_type = ET_DYN, .e_machine = EM_X86_64};
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	struct elf_file *file;
	CHECK_OK(elf_file_open_memory(&header, sizeof(header), &file));
	struct unwind_table table;
	CHECK_OK(unwind_table_build(file, &table));
	CHECK_INT(table.pages.len, 0);
	CHECK_INT(unwind_table_find(&table, 0x1000)->cfa, UNWIND_CFA_NONE);
	unwind_table_deinit(&table);
	elf_file_destroy(file);
}

static bool is_equal(const struct unwind_table *a, const struct unwind_table *b)
{
	return a->first_page == b->first_page && a->pages.len == b->pages.len &&
	       a->rows.len == b->rows.len && a->rules.len == b->rules.len &&
	       memcmp(a->pages.data, b->pages.data, a->pages.len * sizeof(*a->pages.data)) == 0 &&
	       memcmp(a->rows.data, b->rows.data, a->rows.len * sizeof(*a->rows.data)) == 0 &&
	       memcmp(a->rules.data, b->rules.data, a->rules.len * sizeof(*a->rules.data)) == 0;
}

/* One byte ahead of where the C library goes on behind the function of a context. */
TEST(unwind_table_of_contexts)
{
	static const char begin[] = "\x48\x89\xdc\x48\x8b\x3c\x24\x48\x85\xff\x74";
	struct fixture fixture;
	CLEANUP_FREE uint8_t *code = NULL;
	if (!setup(&fixture, LIBC))
		unit_skip("the file is not here");
	CLEANUP_FD int fd = open(LIBC, O_RDONLY);
	struct elf_file *file;
	CHECK_OK(elf_file_open(fd, &file));
	size_t len = elf_file_size(file);
	CHECK_OK(elf_file_read(file, 0, len, &code));
	elf_file_destroy(file);
	const uint8_t *found = memmem(code, len, begin, sizeof(begin) - 1);
	if (!found)
		unit_skip("this C library has other code for it");
	uint64_t offset = (uint64_t)(found - code);
	CHECK_INT(unwind_table_find(&fixture.table, offset - 1)->ra, UNWIND_UNDEFINED);
	CHECK(unwind_table_find(&fixture.table, offset)->ra != UNWIND_UNDEFINED);
	teardown(&fixture);
}

/* Without section headers .eh_frame is found through its header's segment: the same table. */
TEST(unwind_table_without_sections)
{
	struct fixture fixture;
	if (!setup(&fixture, LIBC))
		unit_skip("the file is not here");
	CLEANUP_FREE uint8_t *bytes = NULL;
	CLEANUP_FD int fd = open(LIBC, O_RDONLY);
	struct elf_file *whole;
	CHECK_OK(elf_file_open(fd, &whole));
	size_t len = elf_file_size(whole);
	CHECK_OK(elf_file_read(whole, 0, len, &bytes));
	elf_file_destroy(whole);
	memset(bytes + offsetof(Elf64_Ehdr, e_shoff), 0, sizeof(Elf64_Off));
	memset(bytes + offsetof(Elf64_Ehdr, e_shnum), 0, 2 * sizeof(Elf64_Half));
	struct elf_file *stripped;
	struct unwind_table table;
	CHECK_OK(elf_file_open_memory(bytes, len, &stripped));
	CHECK(!elf_file_find_section(stripped, ".eh_frame"));
	CHECK_OK(unwind_table_build(stripped, &table));
	CHECK(is_equal(&table, &fixture.table));
	unwind_table_deinit(&table);
	elf_file_destroy(stripped);
	teardown(&fixture);
}

/* The loader's start-up code is the outermost frame, up to the next function that is known. */
TEST(unwind_table_of_the_loader)
{
	struct fixture fixture;
	if (!setup(&fixture, LD_SO))
		unit_skip("the file is not here");
	uint64_t entry = file_offset_of(fixture.file, elf_file_entry(fixture.file));
	const struct unwind_rule *rule = unwind_table_find(&fixture.table, entry);
	CHECK_INT(rule->cfa, UNWIND_CFA_REGISTER);
	CHECK_INT(rule->ra, UNWIND_UNDEFINED);
	CHECK_INT(unwind_table_find(&fixture.table, entry + 8)->ra, UNWIND_UNDEFINED);
	CHECK_INT(unwind_table_find(&fixture.table, entry + 256)->ra, UNWIND_AT_CFA);
	CHECK_INT(fixture.table.statistics.functions[UNWIND_FROM_ENTRY], 1);
	teardown(&fixture);
}

static size_t vdso_len(uint64_t start)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned long long from, to;
	size_t len = 0;
	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%llx-%llx", &from, &to) == 2 && from == start)
			len = to - from;
	if (maps)
		fclose(maps);
	return len;
}

TEST(unwind_table_of_the_vdso)
{
	uint64_t start = getauxval(AT_SYSINFO_EHDR);
	size_t len = vdso_len(start);
	if (!start || !len)
		unit_skip("no vDSO here");
	struct elf_file *file;
	struct unwind_table table;
	CHECK_OK(elf_file_open_memory((const void *)start, len, &file));
	CHECK_OK(unwind_table_build(file, &table));
	CHECK_OK(unwind_table_check(&table));
	CHECK(table.rows.len > 4);
	CHECK(table.statistics.functions[UNWIND_FROM_EH_FRAME] > 2);
	unwind_table_deinit(&table);
	elf_file_destroy(file);
}

/* ---- a forged file with both kinds of call frame information ---- */

enum {
	FILE_BYTES = 0x4000,
	CODE_OFFSET = 0x2000,
	CODE_VADDR = 0x402000,
	FRAMES_OFFSET = 0x400,
	FRAMES_VADDR = 0x400400,
};

/* A CIE with CFA rsp+8, for both kinds of section. */
static void put_cie(struct bytes_buf *out, bool is_debug)
{
	static const uint8_t body[] = {1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0, 0};
	bytes_put_u32(out, 4 + sizeof(body));
	bytes_put_u32(out, is_debug ? UINT32_MAX : 0);
	bytes_put(out, body, sizeof(body));
}

/* [start, end) are offsets in the code; the CFA is rsp+`cfa` from the 16th byte on. */
static void put_fde(struct bytes_buf *out, bool is_debug, uint64_t start, uint64_t end, uint8_t cfa)
{
	const uint8_t program[] = {0x50, 0x0e, cfa, 0}; /* advance 16, def_cfa_offset */
	bytes_put_u32(out, 4 + 16 + sizeof(program));
	bytes_put_u32(out, is_debug ? 0 : (uint32_t)out->len);
	bytes_put_u64(out, CODE_VADDR + start);
	bytes_put_u64(out, end - start);
	bytes_put(out, program, sizeof(program));
}

/* Unknown instruction in the middle. */
static void put_bad_fde(struct bytes_buf *out, uint64_t start, uint64_t end)
{
	const uint8_t program[] = {0x50, 0x0e, 48, 0x50, 0x3f, 0, 0, 0};
	bytes_put_u32(out, 4 + 16 + sizeof(program));
	bytes_put_u32(out, (uint32_t)out->len);
	bytes_put_u64(out, CODE_VADDR + start);
	bytes_put_u64(out, end - start);
	bytes_put(out, program, sizeof(program));
}

static void forge(
	uint8_t *file, const struct bytes_buf *eh_frame, const struct bytes_buf *debug_frame)
{
	static const char names[] = "\0.eh_frame\0.debug_frame\0.shstrtab";
	Elf64_Ehdr header = {.e_ident = ELFMAG,
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_entry = CODE_VADDR + 0x800,
		.e_phoff = 64,
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shoff = 0x200,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 4,
		.e_shstrndx = 3};
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	Elf64_Phdr code = {.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = CODE_OFFSET,
		.p_vaddr = CODE_VADDR,
		.p_filesz = 0x2000,
		.p_memsz = 0x2000};
	Elf64_Shdr sections[4] = {
		{0},
		{.sh_name = 1,
			.sh_type = SHT_PROGBITS,
			.sh_addr = FRAMES_VADDR,
			.sh_offset = FRAMES_OFFSET,
			.sh_size = eh_frame->len},
		{.sh_name = 11,
			.sh_type = SHT_PROGBITS,
			.sh_offset = 0x1000,
			.sh_size = debug_frame->len},
		{.sh_name = 24,
			.sh_type = SHT_STRTAB,
			.sh_offset = 0x1800,
			.sh_size = sizeof(names)},
	};
	memset(file, 0, FILE_BYTES);
	memcpy(file, &header, sizeof(header));
	memcpy(file + 64, &code, sizeof(code));
	memcpy(file + 0x200, sections, sizeof(sections));
	if (eh_frame->len)
		memcpy(file + FRAMES_OFFSET, eh_frame->data, eh_frame->len);
	if (debug_frame->len)
		memcpy(file + 0x1000, debug_frame->data, debug_frame->len);
	memcpy(file + 0x1800, names, sizeof(names));
}

static int cfa_at(const struct unwind_table *table, uint64_t code)
{
	const struct unwind_rule *rule = unwind_table_find(table, CODE_OFFSET + code);
	return rule->cfa == UNWIND_CFA_NONE ? -1 : rule->cfa_offset;
}

/* What a library or a program has at its entry, which is where its .text begins. */
static unsigned find_at_entry(bool is_program)
{
	static uint8_t bytes[FILE_BYTES];
	static const char names[] = "\0.eh_frame\0.text\0.interp";
	struct bytes_buf frames = {0}, nothing = {0};
	struct elf_file *file;
	struct unwind_table table;
	put_cie(&frames, false);
	put_fde(&frames, false, 0x100, 0x200, 16);
	forge(bytes, &frames, &nothing);
	Elf64_Ehdr header;
	Elf64_Shdr sections[4];
	memcpy(&header, bytes, sizeof(header));
	memcpy(sections, bytes + 0x200, sizeof(sections));
	header.e_type = ET_DYN;
	sections[2].sh_addr = header.e_entry;
	sections[3].sh_name = is_program ? 17 : 0;
	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + 0x200, sections, sizeof(sections));
	memcpy(bytes + 0x1800, names, sizeof(names));
	CHECK_OK(elf_file_open_memory(bytes, sizeof(bytes), &file));
	CHECK_OK(unwind_table_build(file, &table));
	unsigned found = unwind_table_find(&table, CODE_OFFSET + 0x800)->ra;
	unwind_table_deinit(&table);
	elf_file_destroy(file);
	bytes_buf_deinit(&frames);
	return found;
}

TEST(unwind_table_of_what_begins_with_its_entry)
{
	CHECK_INT(find_at_entry(false), UNWIND_SAME); /* none */
	CHECK_INT(find_at_entry(true), UNWIND_UNDEFINED);
}

TEST(unwind_table_of_two_sources)
{
	static uint8_t bytes[FILE_BYTES];
	struct bytes_buf eh_frame = {0}, debug_frame = {0};
	put_cie(&eh_frame, false);
	put_fde(&eh_frame, false, 0x400, 0x500, 24); /* not in the order of addresses */
	put_fde(&eh_frame, false, 0x100, 0x200, 16);
	put_fde(&eh_frame, false, 0x180, 0x280, 64);   /* overlaps: left out */
	put_fde(&eh_frame, false, 0x5000, 0x5100, 64); /* outside */
	put_bad_fde(&eh_frame, 0x600, 0x700);
	put_cie(&debug_frame, true);
	put_fde(&debug_frame, true, 0x100, 0x200, 32); /* known already */
	put_fde(&debug_frame, true, 0x1c0, 0x240, 40); /* half of it */
	put_fde(&debug_frame, true, 0x300, 0x480, 48); /* the first two thirds */
	put_fde(&debug_frame, true, 0x880, 0x900, 56);
	forge(bytes, &eh_frame, &debug_frame);
	struct elf_file *file;
	struct unwind_table table;
	CHECK_OK(elf_file_open_memory(bytes, sizeof(bytes), &file));
	CHECK_OK(unwind_table_build(file, &table));
	CHECK_OK(unwind_table_check(&table));
	static const int want[][2] = {{0xff, -1}, {0x100, 8}, {0x10f, 8}, {0x110, 16}, {0x1ff, 16},
		{0x200, 40}, {0x23f, 40}, {0x240, -1}, {0x2ff, -1}, {0x300, 8}, {0x310, 48},
		{0x3ff, 48}, {0x400, 8}, {0x410, 24}, {0x4ff, 24}, {0x500, -1}, {0x600, 8},
		{0x610, 48}, {0x61f, 48}, {0x620, -1}, {0x7ff, -1}, {0x880, 8}, {0x890, 56},
		{0x900, -1}, {0x1fff, -1}};
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		CHECK_INT(cfa_at(&table, (uint64_t)want[i][0]), want[i][1]);
	CHECK_INT(unwind_table_find(&table, CODE_OFFSET + 0x800)->ra, UNWIND_UNDEFINED);
	CHECK_INT(unwind_table_find(&table, CODE_OFFSET + 0x87f)->ra, UNWIND_UNDEFINED);
	CHECK_INT(table.statistics.overlapping, 1);
	CHECK_INT(table.statistics.outside, 1);
	CHECK_INT(table.statistics.bad, 1);
	CHECK_STR(table.statistics.bad_what, "an unknown instruction");
	unwind_table_deinit(&table);
	elf_file_destroy(file);
	bytes_buf_deinit(&eh_frame);
	bytes_buf_deinit(&debug_frame);
}

/* The outermost frame. */
static void put_root_fde(struct bytes_buf *out, uint64_t start, uint64_t end)
{
	static const uint8_t program[] = {0x07, 16, 0, 0}; /* undefined: the return address */
	bytes_put_u32(out, 4 + 16 + sizeof(program));
	bytes_put_u32(out, (uint32_t)out->len);
	bytes_put_u64(out, CODE_VADDR + start);
	bytes_put_u64(out, end - start);
	bytes_put(out, program, sizeof(program));
}

/* What is ahead of a new thread's first function is code, also where it is as small as padding. */
TEST(unwind_table_of_clone)
{
	static const char clone[] = "\x0f\x05\x48\x85\xc0\x7c\x13\x74\x01\xc3";
	static uint8_t bytes[FILE_BYTES];
	struct bytes_buf eh_frame = {0}, debug_frame = {0};
	put_cie(&eh_frame, false);
	put_fde(&eh_frame, false, 0x100, 0x106, 16);
	put_root_fde(&eh_frame, 0x110, 0x120);
	put_fde(&eh_frame, false, 0x120, 0x130, 16);
	put_cie(&debug_frame, true);
	forge(bytes, &eh_frame, &debug_frame);
	Elf64_Shdr text = {.sh_type = SHT_PROGBITS,
		.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		.sh_addr = CODE_VADDR,
		.sh_offset = CODE_OFFSET,
		.sh_size = 0x1000};
	memcpy(bytes + offsetof(Elf64_Ehdr, e_shnum), &(Elf64_Half){5}, sizeof(Elf64_Half));
	memcpy(bytes + 0x200 + 4 * sizeof(text), &text, sizeof(text));
	memcpy(bytes + CODE_OFFSET + 0x106, clone, sizeof(clone) - 1);
	struct elf_file *file;
	struct unwind_table table;
	CHECK_OK(elf_file_open_memory(bytes, sizeof(bytes), &file));
	CHECK_OK(unwind_table_build(file, &table));
	CHECK_OK(unwind_table_check(&table));
	CHECK_INT(unwind_table_find(&table, CODE_OFFSET + 0x106)->flags, 0);
	CHECK_INT(unwind_table_find(&table, CODE_OFFSET + 0x108)->flags, UNWIND_FORKS);
	CHECK_INT(unwind_table_find(&table, CODE_OFFSET + 0x10e)->flags, UNWIND_FORKS);
	CHECK_INT(unwind_table_find(&table, CODE_OFFSET + 0x10f)->flags, 0);
	CHECK_INT(cfa_at(&table, 0x10f), 8);
	CHECK_INT(unwind_table_find(&table, CODE_OFFSET + 0x110)->ra, UNWIND_UNDEFINED);
	unwind_table_deinit(&table);
	elf_file_destroy(file);
	bytes_buf_deinit(&eh_frame);
	bytes_buf_deinit(&debug_frame);
}

/* ---- rows ---- */

static struct unwind_rule cfa_rule(int offset)
{
	return (struct unwind_rule){
		.cfa = UNWIND_CFA_REGISTER, .cfa_register = 7, .cfa_offset = offset};
}

static void put(struct unwind_rows *rows, uint64_t offset, int cfa)
{
	struct unwind_rule rule = cfa_rule(cfa);
	unwind_rows_put(rows, offset, &rule);
}

TEST(unwind_rows_merge_and_carry_over)
{
	struct unwind_table table = {0};
	struct unwind_rows rows;
	unwind_rows_init(&rows, &table);
	put(&rows, 0x3f00, 8);
	put(&rows, 0x3f10, 8); /* the same: no row */
	put(&rows, 0x3f20, 16);
	put(&rows, 0x3f20, 8); /* replaced, and so the same again */
	unwind_rows_put_none(&rows, 0x6000);
	put(&rows, 0x8000, 24);
	unwind_rows_put_none(&rows, 0x9000);
	CHECK_OK(unwind_rows_finish(&rows));
	CHECK_OK(unwind_table_check(&table));
	CHECK_INT(table.first_page, 3);
	CHECK_INT(table.pages.len, 6);
	static const uint32_t counts[] = {2, 1, 1, 0, 0, 1};
	for (size_t i = 0; i < 6 && i < table.pages.len; i++)
		CHECK_INT(table.pages.data[i].count, counts[i]);
	CHECK_INT(unwind_table_find(&table, 0x3eff)->cfa, UNWIND_CFA_NONE);
	CHECK_INT(unwind_table_find(&table, 0x5fff)->cfa_offset, 8);
	CHECK_INT(unwind_table_find(&table, 0x6000)->cfa, UNWIND_CFA_NONE);
	CHECK_INT(unwind_table_find(&table, 0x8fff)->cfa_offset, 24);
	CHECK_INT(unwind_table_find(&table, 0x9000)->cfa, UNWIND_CFA_NONE);
	unwind_rows_deinit(&rows);
	unwind_table_deinit(&table);
}

TEST(unwind_rows_have_limits)
{
	struct unwind_table table = {0};
	struct unwind_rows rows;
	unwind_rows_init(&rows, &table);
	put(&rows, 0x1000, 8);
	unwind_rows_put_none(&rows, 0x2000);
	put(&rows, (uint64_t)1 << 31, 8);
	CHECK_OK(unwind_rows_finish(&rows));
	put(&rows, ((uint64_t)1 << 31) + 0x1000, 16);
	CHECK_ERR(unwind_rows_finish(&rows), ERR_UNSUPPORTED, "2 GiB");
	unwind_rows_deinit(&rows);
	unwind_table_deinit(&table);
	unwind_rows_init(&rows, &table);
	for (int i = 1; i < UNWIND_TABLE_MAX_RULES; i++)
		put(&rows, 0x1000 + (uint64_t)i, i);
	CHECK_OK(unwind_rows_finish(&rows));
	CHECK_INT(unwind_table_find(&table, 0x1000 + 0xfffe)->cfa_offset, 0xfffe);
	put(&rows, 0x1000 + 0x10000, 0x10000);
	CHECK_ERR(unwind_rows_finish(&rows), ERR_UNSUPPORTED, "65535 different");
	unwind_rows_deinit(&rows);
	unwind_table_deinit(&table);
}

/* ---- stopping ---- */

static void stop_at_frames(void *context, uint64_t offset, const void *bytes, size_t len)
{
	(void)offset, (void)bytes;
	if (len > 4096) /* that is the section of all frames */
		atomic_store((atomic_bool *)context, true);
}

/* Another thread says so while the first bytes are gone through, or before. */
TEST(unwind_table_that_is_stopped_is_none)
{
	atomic_bool stop = false;
	struct fixture fixture;
	struct unwind_table table;
	if (!setup(&fixture, "/proc/self/exe"))
		unit_skip("no call frame information");
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_file *file;
	CHECK_OK(elf_file_open(fd, &file));
	elf_file_stop_when(file, &stop);
	CHECK_OK(unwind_table_build(file, &table));
	CHECK_INT(table.rows.len, fixture.table.rows.len);
	unwind_table_deinit(&table);
	elf_file_watch(file, stop_at_frames, &stop);
	CHECK_ERR(unwind_table_build(file, &table), ERR_UNAVAILABLE, "stopped");
	CHECK(stop);
	elf_file_watch(file, NULL, NULL);
	CHECK_ERR(unwind_table_build(file, &table), ERR_UNAVAILABLE, "stopped");
	elf_file_destroy(file);
	close(fd);
	teardown(&fixture);
}

TEST(cfi_reader_that_is_stopped_finds_no_more)
{
	atomic_bool stop = false;
	struct fixture fixture;
	struct cfi_function function;
	if (!setup(&fixture, "/proc/self/exe"))
		unit_skip("no call frame information");
	fixture.section.stop = &stop;
	struct cfi_reader *reader = cfi_reader_create(&fixture.section);
	CHECK(cfi_reader_next(reader, &function));
	atomic_store(&stop, true);
	CHECK(!cfi_reader_next(reader, &function));
	cfi_reader_destroy(reader);
	teardown(&fixture);
}
