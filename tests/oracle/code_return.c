/*
 * Reading code without rules, where there are rules: those of .eh_frame are hidden from the
 * machine's find_return(), which gets the file's code and a stack that was made by them, on which
 * nothing but the return address is one. What it finds must lead to the same caller. code_return
 * EVERY FILE... Of each EVERY-th instruction, as a leaf's and, behind calls, as a caller's. Prints
 * a line a file: how many were asked for, right, wrong, and not found. `stale`: the same where the
 * link register of a leaf that has stored it is taken for a return address, too.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "format/elf/elf_file.h"
#include "format/machine/machine.h"
#include "format/unwind/unwind_step.h"
#include "record/unwind/unwind_table.h"

enum {
	SHOWN = 10,
	MAX_SEGMENTS = 16,
	NOP = 0xd503201f, /* which fills up between functions, too */
};

static const uint64_t STACK_AT = 0x7fff00000000, TRUE_RA = 0x5555000000, STALE_RA = 0x5555001000,
		      CALLERS_FP = 0x7fff00800000, OTHER = 0xdead000000000000;

struct segment {
	uint64_t vaddr, offset, len;
	uint8_t *bytes;
};

struct judged {
	const char *path;
	const struct machine *machine;
	struct segment segments[MAX_SEGMENTS];
	size_t nr_segments;
	uint64_t asked, right, wrong, missing, unlike;
	/* Of the place at hand: */
	const struct unwind_rule *truth;
	struct unwind_registers regs;
	uint64_t cfa;
	bool takes_stale, is_found;
	struct unwind_rule found;
	int shown;
};

static size_t read_bytes(void *context, uint64_t address, uint8_t *bytes, size_t len)
{
	const struct judged *it = context;
	for (size_t i = 0; i < it->nr_segments; i++) {
		const struct segment *segment = &it->segments[i];
		uint64_t at = address - segment->vaddr;
		if (at >= segment->len)
			continue;
		if (len > segment->len - at)
			len = segment->len - at;
		memcpy(bytes, segment->bytes + at, len);
		return len;
	}
	return 0;
}

static long read_stack(void *context, unsigned long long address, unsigned long long *value)
{
	const struct judged *it = context;
	const struct unwind_rule *truth = it->truth;
	*value = OTHER + address % 4096;
	if (truth->ra == UNWIND_AT_CFA && address == it->cfa + truth->ra_offset)
		*value = TRUE_RA;
	if (truth->fp == UNWIND_AT_CFA && address == it->cfa + truth->fp_offset)
		*value = CALLERS_FP;
	return 0;
}

static bool accept(void *context, const struct unwind_rule *rule, bool is_jump)
{
	struct judged *it = context;
	struct unwind_registers regs = it->regs;
	_Bool is_outermost;
	(void)is_jump;
	if (unwind_step(it->machine->unwind, &regs, rule, read_stack, it, &is_outermost) ||
		is_outermost)
		return false;
	return regs.ip == TRUE_RA || (it->takes_stale && regs.ip == STALE_RA);
}

static void take_rule(void *context, uint64_t address, const struct unwind_rule *rule)
{
	struct judged *it = context;
	if (address != it->regs.ip)
		return;
	it->is_found = true;
	it->found = *rule;
}

static void show(struct judged *it, bool is_exact, const struct unwind_registers *regs)
{
	const struct unwind_rule *rules[] = {it->truth, &it->found};
	if (it->shown++ >= SHOWN)
		return;
	printf("  %s at %#llx%s%s:", it->path, (unsigned long long)it->regs.ip,
		is_exact ? "" : " behind a call", it->takes_stale ? " stale" : "");
	for (int i = 0; i < 2; i++)
		printf("%s cfa %d r%d %+d fp %d %+d ra %d %+d", i ? "; read" : "", rules[i]->cfa,
			rules[i]->cfa_register, rules[i]->cfa_offset, rules[i]->fp,
			rules[i]->fp_offset, rules[i]->ra, rules[i]->ra_offset);
	printf("; fp %#llx\n", regs->reg[it->machine->unwind->frame_pointer]);
}

static void judge(
	struct judged *it, uint64_t address, bool is_exact, const struct unwind_rule *truth)
{
	const struct unwind_machine *unwind = it->machine->unwind;
	const unsigned sp = unwind->stack_pointer, fp = unwind->frame_pointer;
	bool by_fp = truth->cfa_register == fp;
	const struct machine_code code = {
		.read = read_bytes, .accepts = accept, .on_rule = take_rule, .context = it};
	if (truth->cfa != UNWIND_CFA_REGISTER || (!by_fp && truth->cfa_register != sp) ||
		(truth->ra != UNWIND_AT_CFA && truth->ra != UNWIND_SAME) ||
		(truth->ra == UNWIND_SAME && !is_exact) || truth->flags ||
		(truth->fp != UNWIND_AT_CFA && truth->fp != UNWIND_SAME))
		return;
	it->truth = truth;
	it->is_found = false;
	it->regs = (struct unwind_registers){.ip = address, .known = 1ULL << sp | 1ULL << fp};
	it->regs.reg[sp] = STACK_AT;
	it->regs.reg[fp] = by_fp                      ? STACK_AT + 0x1000
			   : truth->fp == UNWIND_SAME ? CALLERS_FP
						      : STACK_AT + 0x10000;
	it->cfa = it->regs.reg[by_fp ? fp : sp] + (int64_t)truth->cfa_offset;
	if (is_exact && unwind->return_address < UNWIND_REGISTERS && unwind->return_address != sp) {
		it->regs.known |= 1ULL << unwind->return_address;
		it->regs.reg[unwind->return_address] =
			truth->ra == UNWIND_SAME ? TRUE_RA : STALE_RA;
	}
	it->asked++;
	struct unwind_registers regs = it->regs;
	_Bool is_outermost;
	if (!it->machine->find_return(&code, address) || !it->is_found) {
		it->missing++;
		return;
	}
	bool is_same = !unwind_step(unwind, &regs, &it->found, read_stack, it, &is_outermost) &&
		       regs.ip == TRUE_RA && regs.reg[sp] == it->cfa &&
		       unwind_is_known(&regs, fp) && regs.reg[fp] == CALLERS_FP;
	/* Where the frame pointer is is not known of a stack pointer's rule, so neither what it
	 * says. */
	bool is_unlike =
		it->found.cfa_register != truth->cfa_register || it->found.fp == UNWIND_AT_FP;
	/* At a function's end the registers are restored already, though the rows do not say so. */
	bool is_restored =
		it->takes_stale && it->found.ra == UNWIND_SAME && regs.reg[sp] == it->cfa;
	if (is_same || is_restored)
		it->right++;
	else if (is_unlike)
		it->unlike++;
	else {
		it->wrong++;
		show(it, is_exact, &regs);
	}
}

static uint32_t insn_at(const struct judged *it, uint64_t address)
{
	uint8_t bytes[4];
	if (read_bytes((void *)it, address, bytes, 4) != 4)
		return 0;
	return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
}

static bool is_behind_call(const struct judged *it, uint64_t address)
{
	uint32_t insn = insn_at(it, address - 4);
	return insn >> 26 == 0x25 || (insn & 0xfffffc1f) == 0xd63f0000;
}

static void judge_all(struct judged *it, const struct unwind_table *table, uint64_t every)
{
	for (size_t i = 0; i < it->nr_segments; i++) {
		const struct segment *segment = &it->segments[i];
		for (uint64_t at = 0; at + 4 <= segment->len; at += 4 * every) {
			uint64_t offset = segment->offset + at, address = segment->vaddr + at;
			bool is_filler = insn_at(it, address) == NOP || !insn_at(it, address);
			if (!is_filler)
				judge(it, address, true, unwind_table_find(table, offset));
			if (is_behind_call(it, address))
				judge(it, address, false, unwind_table_find(table, offset - 1));
		}
	}
}

static struct err *judge_file(const char *path, uint64_t every, struct judged *sum)
{
	CLEANUP_FD int fd = open(path, O_RDONLY);
	struct elf_file *file;
	struct unwind_table table;
	struct judged it = {.path = path};
	try(elf_file_open(fd, &file));
	try(unwind_table_build(file, &table));
	it.machine = machine_find(elf_file_machine(file));
	size_t nr_segments;
	const struct elf_segment *segments = elf_file_segments(file, &nr_segments);
	for (size_t i = 0; i < nr_segments && it.nr_segments < MAX_SEGMENTS; i++) {
		if (!(segments[i].flags & PF_X))
			continue;
		struct segment *segment = &it.segments[it.nr_segments++];
		*segment = (struct segment){
			segments[i].vaddr, segments[i].offset, segments[i].filesz, NULL};
		segment->bytes = mem_zalloc(segment->len + 1);
		if (pread(fd, segment->bytes, segment->len, (off_t)segment->offset) < 0)
			segment->len = 0;
	}
	for (int stale = 0; stale < 2; stale++) {
		it.takes_stale = stale;
		it.asked = it.right = it.wrong = it.missing = it.unlike = 0;
		it.shown = 0;
		judge_all(&it, &table, every);
		printf("%s:%s %llu asked, %llu right, %llu wrong, %llu unlike, %llu not found\n",
			path, stale ? " stale:" : "", (unsigned long long)it.asked,
			(unsigned long long)it.right, (unsigned long long)it.wrong,
			(unsigned long long)it.unlike, (unsigned long long)it.missing);
		sum[stale].asked += it.asked;
		sum[stale].right += it.right;
		sum[stale].wrong += it.wrong;
		sum[stale].unlike += it.unlike;
		sum[stale].missing += it.missing;
	}
	for (size_t i = 0; i < it.nr_segments; i++)
		free(it.segments[i].bytes);
	unwind_table_deinit(&table);
	elf_file_destroy(file);
	return NULL;
}

int main(int argc, char **argv)
{
	struct judged sum[2] = {0};
	uint64_t every = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	for (int i = 2; i < argc; i++) {
		struct err *err = judge_file(argv[i], every ? every : 1, sum);
		if (err)
			printf("%s: %s\n", argv[i], err_message(err));
		err_destroy(err);
	}
	for (int stale = 0; stale < 2; stale++)
		printf("all:%s %llu asked, %llu right, %llu wrong, %llu unlike, %llu not found\n",
			stale ? " stale:" : "", (unsigned long long)sum[stale].asked,
			(unsigned long long)sum[stale].right, (unsigned long long)sum[stale].wrong,
			(unsigned long long)sum[stale].unlike,
			(unsigned long long)sum[stale].missing);
	return sum[0].wrong != 0;
}
