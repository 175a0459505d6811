/* Tables made from the call frame information of real files, asked about every row of it. */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "format/dwarf/cfi.h"
#include "format/elf/elf_file.h"
#include "record/unwind_table.h"
#include "tests/unit/unit.h"

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
		.machine = elf_file_machine(fixture->file),
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
		return row->return_address.kind == CFI_UNDEFINED;
	if (rule->cfa == UNWIND_CFA_REGISTER &&
		(row->cfa_kind != CFI_CFA_REGISTER || rule->cfa_register != row->cfa_register ||
			rule->cfa_offset != row->cfa_offset))
		return false;
	if (rule->cfa == UNWIND_CFA_DEREF && (int16_t)rule->cfa_offset != row->cfa_offset)
		return false;
	if (rule->ra == UNWIND_AT_CFA && rule->ra_offset != row->return_address.offset)
		return false;
	if (rule->fp == UNWIND_AT_CFA && rule->fp_offset != row->frame_pointer.offset)
		return false;
	return rule->cfa != UNWIND_CFA_NONE &&
	       (rule->fp == UNWIND_SAME) == (row->frame_pointer.kind == CFI_SAME);
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

/* Dense pages that follow each other in the rows; each begins with a row at its first byte. */
static void check_pages(const struct unwind_table *table)
{
	uint32_t next = 0, wrong = 0, page_start = table->first_page << UNWIND_PAGE_SHIFT;
	vec_each(&table->pages, page) {
		const uint32_t *rows = table->rows.data + page->first;
		wrong += page->first != next;
		wrong += page->count && (rows[0] & 0xffff) != (page_start & 0xffff);
		for (uint32_t i = 0; i < page->count; i++) {
			wrong += rows[i] >> 16 >= table->rules.len;
			wrong += i && (rows[i] & 0xffff) <= (rows[i - 1] & 0xffff);
		}
		next += page->count;
		page_start += 1 << UNWIND_PAGE_SHIFT;
	}
	CHECK_INT(wrong, 0);
	CHECK_INT(next, table->rows.len);
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
	check_pages(&fixture.table);
	CHECK(fixture.table.rows.len < fixture.asked + fixture.table.pages.len + result.functions);
	CHECK_INT(unwind_table_find(&fixture.table, 0)->cfa, UNWIND_CFA_NONE);
	CHECK_INT(unwind_table_find(&fixture.table, UINT64_MAX)->cfa, UNWIND_CFA_NONE);
	CHECK_INT(unwind_table_find(&fixture.table, (uint64_t)1 << 47)->cfa, UNWIND_CFA_NONE);
	teardown(&fixture);
}

TEST(unwind_table_of_libc)
{
	check_file("/lib/x86_64-linux-gnu/libc.so.6");
}

TEST(unwind_table_of_libstdcxx)
{
	check_file("/usr/lib/x86_64-linux-gnu/libstdc++.so.6");
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
