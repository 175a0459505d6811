/*
 * The unwind rules of one file, small and quick to search: from an address to a
 * rule. Made from call frame information once for each build ID.
 *
 * A row is four bytes, {u16 low half of the address, u16 rule}, and holds until
 * the next one. Rows are grouped by 64 KiB page, each page beginning with a row
 * of its own, so that a search stays within it. Rules are shared: a library of
 * half a million rows has some hundreds of them.
 */
#ifndef EBPROF_UNWIND_TABLE_H
#define EBPROF_UNWIND_TABLE_H

#include <stdint.h>

#include "bpf/event.h"
#include "format/base/err.h"
#include "format/base/vec.h"
#include "format/dwarf/cfi.h"

struct unwind_page {
	uint32_t number;       /* virtual address >> 16 */
	uint32_t first, count; /* of rows */
};

struct unwind_table {
	VEC(uint32_t) rows;            /* address & 0xffff | rule << 16 */
	VEC(struct unwind_page) pages; /* ascending; those without code are left out */
	VEC(struct unwind_rule) rules; /* rule 0: nothing is known here */
	struct cfi_result cfi;         /* what reading it found */
	uint64_t overlapping;          /* functions left out: another one covers them */
};

/* ERR_UNSUPPORTED when the file needs more than 65,535 rules or addresses beyond 2^48. */
struct err *unwind_table_build(
	const struct cfi_section *section, struct unwind_table *ret) ERR_MUST_CHECK;
void unwind_table_deinit(struct unwind_table *table);

/* The rule for a virtual address; that of UNWIND_CFA_NONE where nothing is known. */
const struct unwind_rule *unwind_table_find(const struct unwind_table *table, uint64_t address);

#endif
