/*
 * Unwind tables against elfutils': at each row of a file's table, and one byte
 * behind it, the rule for the CFA, the frame pointer, rbx or x20 and the return address
 * must be what dwarf_cfi_addrframe() says.
 *   unwind_table FILE...
 * Prints a line a file: places asked about, what differs, and what may differ
 * by cause: padding (we let the rule before it hold on), the entry of a loader
 * (only our table says anything), rules that were derived from instructions
 * (likewise), rules that are too large for ours.
 */
#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/elf/elf_file.h"
#include "record/unwind/unwind_table.h"

enum {
	RBX = 3, /* the extra register of rules, of either machine */
	X20 = 20,
	SHOWN_DIFFERENCES = 10,
	LARGEST_PADDING = 64,
};

struct comparison {
	const char *path;
	struct unwind_table table;
	Dwarf_CFI *eh_frame, *debug_frame;
	bool is_x86;
	const struct elf_segment *segments;
	size_t nr_segments;
	uint64_t entry;
	uint64_t asked, same, padding, at_entry, derived, beyond, differ;
};

/* ---- the oracle's answer as a rule ---- */

static bool fits_short(int64_t value)
{
	return value >= INT16_MIN && value <= INT16_MAX;
}

static bool is_breg(const Dwarf_Op *op)
{
	return op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31;
}

static void read_cfa(const Dwarf_Op *ops, size_t count, struct unwind_rule *rule)
{
	rule->cfa = UNWIND_CFA_UNSUPPORTED;
	if (count == 1 && (is_breg(ops) || ops[0].atom == DW_OP_bregx)) {
		bool is_x = ops[0].atom == DW_OP_bregx;
		rule->cfa = UNWIND_CFA_REGISTER;
		rule->cfa_register =
			is_x ? (uint8_t)ops[0].number : (uint8_t)(ops[0].atom - DW_OP_breg0);
		rule->cfa_offset = (int32_t)(is_x ? ops[0].number2 : ops[0].number);
	} else if ((count == 2 || (count == 3 && ops[2].atom == DW_OP_plus_uconst)) &&
		   is_breg(ops) && ops[1].atom == DW_OP_deref) {
		int64_t offset = (int64_t)ops[0].number;
		int64_t offset2 = count == 3 ? (int64_t)ops[2].number : 0;
		if (!fits_short(offset) || !fits_short(offset2))
			return;
		rule->cfa = UNWIND_CFA_DEREF;
		rule->cfa_register = (uint8_t)(ops[0].atom - DW_OP_breg0);
		rule->cfa_offset = (int32_t)((uint32_t)(uint16_t)offset | (uint32_t)offset2 << 16);
	} else if (count == 9 && ops[2].atom == DW_OP_lit15 && ops[5].atom == DW_OP_ge) {
		rule->cfa = UNWIND_CFA_PLT;
		rule->cfa_register = 7;
		rule->cfa_offset = ops[4].atom - DW_OP_lit0;
	}
}

/* libdw: no ops and ops == ops_mem is undefined, NULL the same value, else an expression. */
static uint8_t read_register(Dwarf_Frame *frame, int number, int16_t *offset)
{
	Dwarf_Op mem[3], *ops;
	size_t count;
	int64_t value = 0;
	uint8_t kind = UNWIND_UNSUPPORTED;
	*offset = 0;
	if (dwarf_frame_register(frame, number, mem, &ops, &count))
		return UNWIND_UNSUPPORTED;
	if (!count)
		return ops == mem ? UNWIND_UNDEFINED : UNWIND_SAME;
	bool is_cfa = ops[0].atom == DW_OP_call_frame_cfa;
	if (is_cfa && (count == 1 || (count == 2 && ops[1].atom == DW_OP_plus_uconst))) {
		kind = UNWIND_AT_CFA;
		value = count == 2 ? (int64_t)ops[1].number : 0;
	} else if (is_cfa && count == 2 &&
		   (ops[1].atom == DW_OP_breg7 || ops[1].atom == DW_OP_breg31)) {
		kind = UNWIND_AT_SP;
		value = (int64_t)ops[1].number;
	} else if (is_cfa && count == 2 &&
		   (ops[1].atom == DW_OP_breg6 || ops[1].atom == DW_OP_breg29)) {
		kind = UNWIND_AT_FP;
		value = (int64_t)ops[1].number;
	} else if (ops[0].atom == DW_OP_regx) {
		kind = UNWIND_IN_REGISTER;
		value = (int64_t)ops[0].number;
	} else if (ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31) {
		kind = UNWIND_IN_REGISTER;
		value = ops[0].atom - DW_OP_reg0;
	}
	if (!fits_short(value))
		return UNWIND_UNSUPPORTED;
	*offset = (int16_t)value;
	return kind;
}

static struct unwind_rule rule_of(Dwarf_Frame *frame, bool is_x86)
{
	struct unwind_rule rule = {0};
	Dwarf_Op *ops;
	size_t count;
	bool is_signal = false;
	dwarf_frame_info(frame, NULL, NULL, &is_signal);
	rule.flags = is_signal ? UNWIND_SIGNAL_FRAME : 0;
	int16_t offset;
	rule.ra = read_register(frame, is_x86 ? 16 : 30, &offset) & 15;
	if (rule.ra == UNWIND_UNDEFINED) { /* the outermost frame: nothing else is said */
		rule.cfa = UNWIND_CFA_REGISTER;
		return rule;
	}
	rule.ra_offset = offset;
	if (dwarf_frame_cfa(frame, &ops, &count) == 0)
		read_cfa(ops, count, &rule);
	rule.fp = read_register(frame, is_x86 ? 6 : 29, &offset) & 15;
	rule.fp_offset = offset;
	rule.extra = read_register(frame, is_x86 ? RBX : X20, &offset);
	rule.extra_offset = offset;
	if (rule.extra ==
		UNWIND_UNDEFINED) /* elfutils 0.188 takes rax for what the ABI preserves */
		rule.extra = UNWIND_SAME;
	return rule;
}

static bool ask(const struct comparison *it, uint64_t address, struct unwind_rule *ret)
{
	Dwarf_Frame *frame;
	bool is_known = it->eh_frame && !dwarf_cfi_addrframe(it->eh_frame, address, &frame);
	if (!is_known)
		is_known =
			it->debug_frame && !dwarf_cfi_addrframe(it->debug_frame, address, &frame);
	if (is_known) {
		*ret = rule_of(frame, it->is_x86);
		free(frame);
	}
	return is_known;
}

/* ---- comparing ---- */

static uint64_t vaddr_of(const struct comparison *it, uint64_t offset)
{
	for (size_t i = 0; i < it->nr_segments; i++) {
		const struct elf_segment *segment = &it->segments[i];
		if (segment->flags & PF_X && offset - segment->offset < segment->filesz)
			return offset - segment->offset + segment->vaddr;
	}
	return 0;
}

static void show(struct comparison *it, uint64_t address, const struct unwind_rule *ours,
	const struct unwind_rule *theirs)
{
	if (it->differ++ >= SHOWN_DIFFERENCES)
		return;
	const struct unwind_rule *rules[] = {ours, theirs};
	printf("  %s at %#llx:", it->path, (unsigned long long)address);
	for (int i = 0; i < 2; i++)
		printf("%s cfa %d r%d %+d fp %d %+d ra %d %+d extra %d %+d flags %d",
			i ? "; oracle" : "", rules[i]->cfa, rules[i]->cfa_register,
			rules[i]->cfa_offset, rules[i]->fp, rules[i]->fp_offset, rules[i]->ra,
			rules[i]->ra_offset, rules[i]->extra, rules[i]->extra_offset,
			rules[i]->flags);
	printf("\n");
}

/* Some function begins soon, at an address that functions are aligned to. */
static bool is_padding(const struct comparison *it, uint64_t address)
{
	struct unwind_rule rule;
	uint64_t next = (address | 15) + 1;
	for (; next - address <= LARGEST_PADDING; next += 16)
		if (ask(it, next, &rule))
			return true;
	return false;
}

/* Of code that the file says nothing of: its instructions do, which tests/unit checks. */
static bool is_derived(const struct comparison *it, const struct unwind_rule *rule)
{
	bool by_x86 = rule->cfa_register == UNWIND_X86_64_SP && rule->ra == UNWIND_AT_CFA &&
		      rule->ra_offset == -8;
	bool by_arm64 = rule->cfa_register == UNWIND_ARM64_SP && rule->ra == UNWIND_SAME &&
			!rule->cfa_offset;
	return rule->cfa == UNWIND_CFA_REGISTER && (it->is_x86 ? by_x86 : by_arm64);
}

static void compare(struct comparison *it, uint64_t offset)
{
	uint64_t address = vaddr_of(it, offset);
	const struct unwind_rule *ours = unwind_table_find(&it->table, offset);
	struct unwind_rule theirs = {0};
	bool is_known = ask(it, address, &theirs);
	it->asked++;
	/* Functions whose data make no sense: the oracle knows registers at no address. */
	bool is_nothing = ours->cfa == UNWIND_CFA_NONE && theirs.cfa == UNWIND_CFA_NONE;
	struct unwind_rule native = *ours; /* libdw knows no interpreters */
	native.flags &= (unsigned char)~UNWIND_INTERPRETER;
	bool is_same = is_nothing || memcmp(&native, &theirs, sizeof(theirs)) == 0;
	if (is_same && is_known && theirs.cfa == UNWIND_CFA_UNSUPPORTED)
		it->beyond++;
	else if (is_same)
		it->same++;
	else if (!is_known && address >= it->entry && address - it->entry < 256 &&
		 ours->ra == UNWIND_UNDEFINED)
		it->at_entry++;
	else if (!is_known && is_padding(it, address))
		it->padding++;
	else if (!is_known && is_derived(it, ours))
		it->derived++;
	else
		show(it, address, ours, &theirs);
}

static void compare_rows(struct comparison *it)
{
	uint64_t start = (uint64_t)it->table.first_page << UNWIND_PAGE_SHIFT;
	vec_each(&it->table.pages, page) {
		for (uint32_t i = 0; i < page->count; i++) {
			uint32_t low = it->table.rows.data[page->first + i] & 0xffff;
			uint64_t offset = start + (low - (uint32_t)start % 0x10000);
			compare(it, offset);
			compare(it, offset + 1);
		}
		start += 1 << UNWIND_PAGE_SHIFT;
	}
}

static struct err *compare_file(const char *path, bool *is_same)
{
	CLEANUP_FD int fd = open(path, O_RDONLY);
	struct elf_file *file;
	struct comparison it = {.path = path};
	try(elf_file_open(fd, &file));
	try(unwind_table_build(file, &it.table));
	it.segments = elf_file_segments(file, &it.nr_segments);
	it.entry = elf_file_entry(file);
	it.is_x86 = elf_file_machine(file) == EM_X86_64;
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	it.eh_frame = dwarf_getcfi_elf(elf);
	it.debug_frame = dwarf ? dwarf_getcfi(dwarf) : NULL;
	compare_rows(&it);
	printf("%s: %llu places, %llu the same, %llu differ; padding %llu, entry %llu, "
	       "derived %llu, beyond rules %llu; overlapping functions %llu, outside %llu, bad "
	       "%llu\n",
		path, (unsigned long long)it.asked, (unsigned long long)it.same,
		(unsigned long long)it.differ, (unsigned long long)it.padding,
		(unsigned long long)it.at_entry, (unsigned long long)it.derived,
		(unsigned long long)it.beyond, (unsigned long long)it.table.statistics.overlapping,
		(unsigned long long)it.table.statistics.outside,
		(unsigned long long)it.table.statistics.bad);
	*is_same = !it.differ && it.asked;
	dwarf_cfi_end(it.eh_frame);
	dwarf_end(dwarf);
	elf_end(elf);
	unwind_table_deinit(&it.table);
	elf_file_destroy(file);
	return NULL;
}

int main(int argc, char **argv)
{
	elf_version(EV_CURRENT);
	bool all_same = true;
	for (int i = 1; i < argc; i++) {
		bool is_same = false;
		struct err *err = compare_file(argv[i], &is_same);
		if (err)
			printf("%s: %s\n", argv[i], err_message(err));
		err_destroy(err);
		all_same &= is_same;
	}
	return !all_same;
}
