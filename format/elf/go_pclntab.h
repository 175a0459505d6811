/*
 * Go's own table of functions, which every Go program carries, stripped or not:
 * where a function is, how it is called, how far the stack pointer has moved at
 * each of its instructions, from which line each came (go_lines.h) and which
 * functions were inlined there (go_inline.h).
 *
 * Sources: "Go 1.2 Runtime Symbol Information" (golang.org/s/go12symtab), and
 * runtime/symtab.go (pcHeader, functab), runtime/runtime2.go (_func) of Go 1.15,
 * 1.16, 1.18 to 1.27.
 */
#ifndef EBPROF_GO_PCLNTAB_H
#define EBPROF_GO_PCLNTAB_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/elf/elf_file.h"

struct go_pclntab;

/* runtime/symtab.go, funcFlag; since 1.17, none before. */
enum go_function_flag {
	GO_FUNCTION_TOP_FRAME = 1,
	GO_FUNCTION_WRITES_SP =
		2, /* other than by adding to it: what follows is not in the table */
	GO_FUNCTION_ASSEMBLY = 4,
};

struct go_function {
	uint64_t start, end; /* virtual addresses; padding up to the next function included */
	uint8_t flags;       /* enum go_function_flag */
	bool is_special;     /* one of the runtime's that the runtime itself treats specially */
	uint32_t name;       /* for go_pclntab_name() */
	uint32_t start_line; /* of its source; 0: not known, as before 1.20 */
	/* For go_values_start(), 0 for none; the numbers of files are the unit's. */
	uint32_t sp_table, file_table, line_table;
	uint32_t unit;
	/* What go_inline.h needs: numbers of more such tables, and of more data. */
	uint64_t data; /* an offset: that of the first number */
	uint32_t nr_tables;
	uint8_t nr_data;
};

/* Whether the file looks as if it had one, at little cost. */
bool go_pclntab_is_in(struct elf_file *file);

/*
 * *ret is NULL when the file is none of Go's. ERR_FORMAT when its table makes no sense,
 * ERR_UNSUPPORTED for 32 bits, for an unknown version, and when the address of the code cannot be
 * found. The file is borrowed: its table is read as it is asked for.
 */
struct err *go_pclntab_open(struct elf_file *file, struct go_pclntab **ret) ERR_MUST_CHECK;

/* The same over a mapping (see elf_map.h): for the report, which looks up much. */
struct err *go_pclntab_map(struct elf_file *file, struct go_pclntab **ret) ERR_MUST_CHECK;

void go_pclntab_destroy(struct go_pclntab *table);

uint32_t go_pclntab_count(const struct go_pclntab *table);

/*
 * The function that holds an address: false when none does. *index is its number; it is looked for
 * from the *index that the caller brings on, so that ascending addresses cost little. Start with 0.
 */
bool go_pclntab_find(struct go_pclntab *table, uint64_t address, uint32_t *index);

/* Functions ascend by address. False when the entry makes no sense. */
bool go_pclntab_function(struct go_pclntab *table, uint32_t index, struct go_function *ret);

/*
 * As the linker knows it: "runtime.goexit". Valid until the next call. "" when it is longer than
 * ELF_BLOCKS_VIEW_MAX or not there.
 */
const char *go_pclntab_name(struct go_pclntab *table, uint32_t name);

/*
 * From `address` on, until the next call or the function's end, the stack pointer is `delta`
 * bytes below where it was when the function was entered. Addresses ascend.
 */
typedef void go_on_sp(void *context, uint64_t address, int32_t delta);

/* Where the table ends: the function's end, or before it where it stops making sense. */
uint64_t go_pclntab_walk_sp(struct go_pclntab *table, const struct go_function *function,
	go_on_sp *on_sp, void *context);

#endif
