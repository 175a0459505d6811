/*
 * Our reading of call frame information against elfutils': for every row of
 * every function of the given ELF files, the rules for the CFA and for all
 * registers must be those of dwarf_cfi_addrframe().
 *   cfi FILE...
 * Prints a line a file: rows compared, rows that differ by cause.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "format/dwarf/cfi.h"
#include "format/elf/elf_file.h"
#include "format/machine/machine.h"

enum {
	SHOWN_DIFFERENCES = 10,
};

struct comparison {
	Dwarf_CFI *oracle;
	const char *path;
	uint64_t rows, differ_cfa, differ_fp, differ_ra, differ_others, missing, undecided, beyond;
	uint64_t others; /* registers whose place a row says */
	const struct unwind_machine *machine;
	int frame_pointer, return_address; /* DWARF numbers of the machine's registers */
	unsigned shown;
};

static void show(
	struct comparison *it, const char *what, uint64_t address, const struct cfi_row *row)
{
	if (it->shown++ < SHOWN_DIFFERENCES)
		printf("  %s: %s at %#llx: ours cfa %d r%d %+d %+d, fp %d %+d, ra %d %+d\n",
			it->path, what, (unsigned long long)address, row->cfa_kind,
			row->cfa_register, row->cfa_offset, row->cfa_offset2,
			row->registers[it->frame_pointer].kind,
			row->registers[it->frame_pointer].offset,
			row->registers[it->return_address].kind,
			row->registers[it->return_address].offset);
}

/* The oracle's CFA as a rule of ours; false when it is another kind of expression. */
static bool is_same_cfa(const Dwarf_Op *ops, size_t count, const struct cfi_row *row)
{
	switch (row->cfa_kind) {
	case UNWIND_CFA_NONE:
		return count == 0;
	case UNWIND_CFA_REGISTER:
		if (count == 1 && ops[0].atom == DW_OP_bregx)
			return ops[0].number == row->cfa_register &&
			       (int64_t)ops[0].number2 == row->cfa_offset;
		return count >= 1 && ops[0].atom == DW_OP_breg0 + row->cfa_register &&
		       (int64_t)ops[0].number == row->cfa_offset;
	case UNWIND_CFA_DEREF:
		return count >= 2 && ops[0].atom == DW_OP_breg0 + row->cfa_register &&
		       (int64_t)ops[0].number == row->cfa_offset && ops[1].atom == DW_OP_deref &&
		       (count == 2 ? row->cfa_offset2 == 0
				   : ops[2].atom == DW_OP_plus_uconst &&
					       (int64_t)ops[2].number == row->cfa_offset2);
	case UNWIND_CFA_PLT:
		return count == 9 && ops[2].atom == DW_OP_lit15 &&
		       ops[4].atom == DW_OP_lit0 + row->cfa_offset;
	default:
		return count > 0;
	}
}

/*
 * dwarf_frame_register: no ops and ops == ops_mem: undefined; ops NULL: same
 * value; a stack value or a place in memory relative to the CFA else.
 */
static bool is_same_register(Dwarf_Frame *frame, int number, const struct cfi_register *rule)
{
	Dwarf_Op mem[3], *ops;
	size_t count;
	if (dwarf_frame_register(frame, number, mem, &ops, &count))
		return false;
	if (!count)
		return ops == mem ? rule->kind == UNWIND_UNDEFINED : rule->kind == UNWIND_SAME;
	bool is_value = ops[count - 1].atom == DW_OP_stack_value;
	int64_t offset = 0;
	/* The oracle pushes the CFA ahead of an expression. */
	if (count == 2 && (ops[1].atom == DW_OP_breg7 || ops[1].atom == DW_OP_breg31))
		return rule->kind == UNWIND_AT_SP && rule->offset == (int32_t)ops[1].number;
	if (count == 2 && (ops[1].atom == DW_OP_breg6 || ops[1].atom == DW_OP_breg29))
		return rule->kind == UNWIND_AT_FP && rule->offset == (int32_t)ops[1].number;
	if (ops[0].atom == DW_OP_call_frame_cfa &&
		(count == 1 || ops[1].atom == DW_OP_plus_uconst ||
			ops[1].atom == DW_OP_stack_value)) {
		if (count >= 2 && ops[1].atom == DW_OP_plus_uconst)
			offset = (int64_t)ops[1].number;
		return rule->kind == (is_value ? UNWIND_CFA_PLUS : UNWIND_AT_CFA) &&
		       rule->offset == offset;
	}
	if (ops[0].atom == DW_OP_regx)
		return rule->kind == UNWIND_IN_REGISTER && rule->offset == (int32_t)ops[0].number;
	if (ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)
		return rule->kind == UNWIND_IN_REGISTER && rule->offset == ops[0].atom - DW_OP_reg0;
	return rule->kind == (is_value ? UNWIND_VALUE : UNWIND_EXPRESSION);
}

/*
 * Registers that no walk needs a rule for are undefined or the same as before, by what each of us
 * thinks of the ABI: elfutils 0.188 preserves rax where that preserves rbx.
 */
static bool is_nothing(Dwarf_Frame *frame, int number, const struct cfi_register *rule)
{
	const struct cfi_register undefined = {.kind = UNWIND_UNDEFINED}, same = {0};
	return (rule->kind == UNWIND_UNDEFINED || rule->kind == UNWIND_SAME) &&
	       (is_same_register(frame, number, &undefined) ||
		       is_same_register(frame, number, &same));
}

static void compare_others(
	struct comparison *it, Dwarf_Frame *frame, uint64_t address, const struct cfi_row *row)
{
	for (int i = 0; i < it->machine->nr_registers; i++) {
		const struct cfi_register *rule = &row->registers[i];
		if (i == it->frame_pointer || i == it->return_address ||
			i == it->machine->stack_pointer || is_nothing(frame, i, rule))
			continue;
		it->others++;
		if (!is_same_register(frame, i, rule)) {
			it->differ_others++;
			show(it, "another register", address, row);
		}
	}
}

static void compare(void *context, uint64_t address, const struct cfi_row *row)
{
	struct comparison *it = context;
	Dwarf_Frame *frame = NULL;
	it->rows++;
	if (dwarf_cfi_addrframe(it->oracle, address, &frame)) {
		it->missing++;
		show(it, "the oracle has no frame", address, row);
		return;
	}
	Dwarf_Op *ops;
	size_t count;
	it->beyond += row->cfa_kind == UNWIND_CFA_EXPRESSION;
	if (dwarf_frame_cfa(frame, &ops, &count) == 0 && !is_same_cfa(ops, count, row)) {
		it->differ_cfa++;
		show(it, "CFA", address, row);
	}
	if (!is_same_register(frame, it->frame_pointer, &row->registers[it->frame_pointer])) {
		it->differ_fp++;
		show(it, "frame pointer", address, row);
	}
	if (!is_same_register(frame, it->return_address, &row->registers[it->return_address])) {
		it->differ_ra++;
		show(it, "return address", address, row);
	}
	compare_others(it, frame, address, row);
	free(frame);
}

static int compare_file(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct elf_file *file;
	struct err *err = fd < 0 ? err_new(ERR_IO, "cannot open") : elf_file_open(fd, &file);
	if (err) {
		printf("%s: %s\n", path, err_message(err));
		err_destroy(err);
		return 1;
	}
	const struct elf_section *section = elf_file_find_section(file, ".eh_frame");
	CLEANUP_FREE uint8_t *bytes = NULL;
	if (section)
		err = elf_file_read(file, section->offset, section->size, &bytes);
	if (!section || err) {
		printf("%s: no .eh_frame\n", path);
		err_destroy(err);
		return 1;
	}
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	const struct machine *machine = machine_find(elf_file_machine(file));
	if (!machine) {
		printf("%s: of another machine\n", path);
		return 1;
	}
	struct comparison comparison = {.oracle = dwarf_getcfi_elf(elf),
		.path = path,
		.machine = machine->unwind,
		.frame_pointer = machine->unwind->frame_pointer,
		.return_address = machine->unwind->return_address};
	struct cfi_section cfi = {
		.kind = CFI_EH_FRAME,
		.bytes = bytes,
		.len = section->size,
		.vaddr = section->addr,
		.machine = machine->unwind,
	};
	struct cfi_visitor visitor = {.context = &comparison, .row = compare};
	struct cfi_result result;
	cfi_walk(&cfi, &visitor, &result);
	printf("%s: %llu functions, %llu rows, %llu bad (%s); differ: CFA %llu, frame pointer "
	       "%llu, "
	       "return address %llu, others %llu of %llu, no frame %llu; beyond rows %llu\n",
		path, (unsigned long long)result.functions, (unsigned long long)comparison.rows,
		(unsigned long long)result.bad_functions, result.bad_what ? result.bad_what : "",
		(unsigned long long)comparison.differ_cfa, (unsigned long long)comparison.differ_fp,
		(unsigned long long)comparison.differ_ra,
		(unsigned long long)comparison.differ_others, (unsigned long long)comparison.others,
		(unsigned long long)comparison.missing, (unsigned long long)comparison.beyond);
	dwarf_cfi_end(comparison.oracle);
	elf_end(elf);
	elf_file_destroy(file);
	close(fd);
	return comparison.differ_cfa + comparison.differ_fp + comparison.differ_ra +
		       comparison.differ_others + comparison.missing + result.bad_functions !=
	       0;
}

int main(int argc, char **argv)
{
	elf_version(EV_CURRENT);
	int failed = 0;
	for (int i = 1; i < argc; i++)
		failed += compare_file(argv[i]);
	return failed != 0;
}
