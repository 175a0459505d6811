/*
 * The unwind rules of one file, small and quick to search: from an offset in
 * the file to a rule. Made once for each build ID from all that the file says
 * of its frames.
 *
 * By offset, since that is all the kernel knows of an address: what is mapped
 * there, and how far into the file. bpf/event.h says what rows look like.
 */
#ifndef EBPROF_UNWIND_TABLE_H
#define EBPROF_UNWIND_TABLE_H

#include <stdint.h>

#include "bpf/event.h"
#include "bpf/runtime/runtime_row.h"
#include "format/base/err.h"
#include "format/base/vec.h"
#include "format/elf/elf_file.h"

enum {
	UNWIND_TABLE_VERSION = 14, /* to be raised when the same file gives another table */
	UNWIND_TABLE_MAX_RULES = UINT16_MAX,
	UNWIND_TABLE_MAX_ROWS = 1 << 24, /* twenty times those of a large library */
	UNWIND_TABLE_MAX_FUNCTIONS = 1 << 21,
	UNWIND_TABLE_MAX_REGISTER = 31, /* of arm64; x86-64 has 16 */
};

/* Who says how to unwind. Where two of them know an address, the first counts. */
enum unwind_source {
	UNWIND_FROM_EH_FRAME,
	UNWIND_FROM_GO, /* ahead of Go's .debug_frame, which says nothing of rbp */
	UNWIND_FROM_DEBUG_FRAME,
	UNWIND_FROM_READY, /* .NET's code that was compiled ahead of time */
	UNWIND_FROM_ENTRY, /* the code at e_entry: the first of all frames */
	UNWIND_SOURCES
};

/* What building a table met. */
struct unwind_statistics {
	uint64_t functions[UNWIND_SOURCES];
	uint64_t rows;        /* before equal neighbours were merged */
	uint64_t bad;         /* functions left out or cut short: their data make no sense */
	uint64_t overlapping; /* ... left out: another one of the same source covers them */
	uint64_t outside;     /* ... left out: no executable segment holds them */
	const char *bad_what; /* of the first bad one; static text */
	char fault[128];      /* why a whole source was left out; "" when none was */
};

struct unwind_table {
	uint32_t first_page; /* number (file offset >> UNWIND_PAGE_SHIFT) of pages.data[0] */
	VEC(struct unwind_page) pages; /* dense: one for each page from first_page on */
	VEC(uint32_t) rows; /* file offset & 0xffff | rule << 16, ascending within a page */
	VEC(struct unwind_rule) rules;       /* rule 0: UNWIND_CFA_NONE, nothing known */
	struct runtime_row runtime;          /* of a runtime whose loop has UNWIND_INTERPRETER */
	struct unwind_statistics statistics; /* empty in a table from the cache */
};

/*
 * A file that says nothing of its frames gives an empty table. ERR_UNSUPPORTED when
 * the table would need more than UNWIND_TABLE_MAX_RULES, UNWIND_TABLE_MAX_ROWS,
 * UNWIND_TABLE_MAX_FUNCTIONS or UNWIND_MAX_PAGES, ERR_IO when the file cannot be read, ERR_FORMAT
 * when it lies about where things are, ERR_UNAVAILABLE soon after elf_file_stop_when() is true.
 */
struct err *unwind_table_build(struct elf_file *elf, struct unwind_table *ret) ERR_MUST_CHECK;
void unwind_table_deinit(struct unwind_table *table);

/* The rule at an offset in the file; that of UNWIND_CFA_NONE where nothing is known. */
const struct unwind_rule *unwind_table_find(const struct unwind_table *table, uint64_t file_offset);

/*
 * ERR_FORMAT unless it is a table as unwind_table_build() makes them: all that is searched or
 * followed in it is in bounds and in order.
 */
struct err *unwind_table_check(const struct unwind_table *table) ERR_MUST_CHECK;

#endif
