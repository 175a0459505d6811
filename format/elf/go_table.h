/*
 * Go's table as its readers in this folder share it: go_pclntab.c finds its
 * parts and the functions, go_module.c where the program put things,
 * go_values.c, go_lines.c and go_inline.c read what functions point at. No other
 * file needs to know.
 */
#ifndef EBPROF_GO_TABLE_H
#define EBPROF_GO_TABLE_H

#include "format/base/bytes.h"
#include "format/elf/elf_blocks.h"
#include "format/elf/go_pclntab.h"

enum {
	GO_POINTER_BYTES = 8,
};

/* By the oldest release that writes it. */
enum go_version {
	GO_1_2,
	GO_1_16,
	GO_1_18,
	GO_1_20,
};

struct go_pclntab {
	struct elf_file *file;
	struct elf_blocks *blocks; /* the table of a large program has 180 MiB */
	const uint8_t *mapped;     /* all of it; or NULL */
	uint64_t vaddr, len;
	enum go_version version;
	uint8_t quantum;
	/*
	 * What addresses are relative to; 0 before 1.18. One for all: Go's linker makes several
	 * text sections (runtime.textsectmap) for ppc64 alone, of those that run Linux. Source:
	 * splitTextSections() of cmd/link/internal/ld/data.go, Go 1.19.
	 */
	uint64_t text_start;
	uint32_t count;
	/* Offsets in the table, each checked to be in it: */
	uint64_t names, units, files, values, functions; /* functions: also what their data are
							     relative to */
	uint32_t index_bytes; /* of one entry of the index of functions */
};

struct bytes_cursor go_table_cursor_of_blocks(struct go_pclntab *table, uint64_t offset);

/* Some bytes at an offset, at least ELF_BLOCKS_VIEW_MAX if there are as many. */
static inline struct bytes_cursor go_table_cursor(struct go_pclntab *table, uint64_t offset)
{
	if (!table->mapped || offset >= table->len)
		return go_table_cursor_of_blocks(table, offset);
	const uint8_t *bytes = table->mapped + offset;
	return (struct bytes_cursor){bytes, bytes, table->mapped + table->len, false};
}

/* The text at an offset, "" when it does not end within ELF_BLOCKS_VIEW_MAX. */
const char *go_table_text(struct go_pclntab *table, uint64_t offset);

#endif
