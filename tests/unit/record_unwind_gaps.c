/* Rows between the functions that a file has rules for, of a file that is made here. */
#include "record/unwind/unwind_gaps.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/unit.h"

enum {
	CODE = 0x1000, /* offset of .text, and its address */
	CODE_BYTES = 64,
};

struct file {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	Elf64_Shdr sections[2];
};

/* push %rbp; sub $16,%rsp; add $16,%rsp; pop %rbp; ret */
static const uint8_t code[] = {0x55, 0x48, 0x83, 0xec, 0x10, 0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3};

static struct elf_file *make(uint16_t machine, bool has_sections)
{
	struct file file = {
		.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			.e_type = ET_DYN,
			.e_machine = machine,
			.e_version = EV_CURRENT,
			.e_phoff = offsetof(struct file, segment),
			.e_shoff = has_sections ? offsetof(struct file, sections) : 0,
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 1,
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = has_sections ? 2 : 0},
		.segment = {.p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_offset = CODE,
			.p_vaddr = CODE,
			.p_filesz = CODE_BYTES,
			.p_memsz = CODE_BYTES},
		.sections = {[1] = {.sh_type = SHT_PROGBITS,
				     .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				     .sh_addr = CODE,
				     .sh_offset = CODE,
				     .sh_size = CODE_BYTES}},
	};
	uint8_t text[CODE_BYTES];
	memset(text, 0xcc, sizeof(text)); /* int3 */
	memcpy(text, code, sizeof(code));
	int fd = memfd_create("elf", MFD_CLOEXEC);
	CHECK(pwrite(fd, &file, sizeof(file), 0) == sizeof(file));
	CHECK(pwrite(fd, text, sizeof(text), CODE) == sizeof(text));
	struct elf_file *elf = NULL;
	CHECK_OK(elf_file_open(fd, &elf)); /* the descriptor goes with the process */
	return elf;
}

/* The CFA's distance from the stack pointer at each byte of the code; 0: no rule. */
static void want_distances(
	const struct unwind_table *table, const int *wanted, size_t count, uint64_t from)
{
	for (size_t i = 0; i < count; i++) {
		const struct unwind_rule *rule = unwind_table_find(table, from + i);
		bool is_known = rule->cfa == UNWIND_CFA_REGISTER;
		CHECK_INT(is_known ? rule->cfa_offset : 0, wanted[i]);
	}
}

static uint64_t put_all(
	struct elf_file *elf, struct unwind_table *table, uint64_t from, uint64_t to)
{
	struct unwind_functions functions = {0}; /* no function has rules */
	struct unwind_gaps gaps;
	struct unwind_rows rows;
	unwind_gaps_init(&gaps, elf, &functions);
	unwind_rows_init(&rows, table);
	unwind_gaps_put(&gaps, &rows, from, to);
	unwind_rows_put_none(&rows, to);
	CHECK_OK(unwind_rows_finish(&rows));
	uint64_t bytes_left = gaps.bytes_left;
	unwind_rows_deinit(&rows);
	unwind_gaps_deinit(&gaps);
	return bytes_left;
}

TEST(unwind_gaps_puts_rows_for_code)
{
	struct unwind_table table = {0};
	struct elf_file *elf = make(EM_X86_64, true);
	uint64_t untouched = put_all(elf, &table, 0, CODE);
	unwind_table_deinit(&table);
	table = (struct unwind_table){0};
	CHECK_INT(put_all(elf, &table, 0, CODE + sizeof(code)), untouched - sizeof(code));
	static const int wanted[] = {8, 16, 16, 16, 16, 32, 32, 32, 32, 16, 8};
	want_distances(&table, wanted, sizeof(code), CODE);
	want_distances(&table, (const int[]){0}, 1, CODE - 1); /* ahead of the section */
	want_distances(&table, (const int[]){0}, 1, CODE + sizeof(code));
	unwind_table_deinit(&table);
	elf_file_destroy(elf);
}

/* Without sections it is not known what of a segment is code. */
TEST(unwind_gaps_knows_nothing_without_sections)
{
	struct unwind_table table = {0};
	struct elf_file *elf = make(EM_X86_64, false);
	put_all(elf, &table, 0, CODE + CODE_BYTES);
	static const int nothing[sizeof(code)];
	want_distances(&table, nothing, sizeof(code), CODE);
	unwind_table_deinit(&table);
	elf_file_destroy(elf);
}

TEST(unwind_gaps_reads_no_code_of_other_machines)
{
	struct unwind_table table = {0};
	struct elf_file *elf = make(EM_AARCH64, true);
	put_all(elf, &table, 0, CODE + CODE_BYTES);
	static const int nothing[sizeof(code)];
	want_distances(&table, nothing, sizeof(code), CODE);
	unwind_table_deinit(&table);
	elf_file_destroy(elf);
}
