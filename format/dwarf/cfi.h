/*
 * Call frame information: how to get from a frame to its caller. Reads
 * .eh_frame and .debug_frame of hostile files and turns each function's little
 * program into rows: from this address on, these rules hold.
 *
 * Sources: DWARF 5, section 6.4; LSB 5.0, "DWARF Extensions" (.eh_frame);
 * System V x86-64 psABI, section 3.6 (register numbers).
 */
#ifndef EBPROF_CFI_H
#define EBPROF_CFI_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/bytes.h"
#include "format/base/err.h"
#include "format/unwind/unwind_rule.h"

enum cfi_section_kind {
	CFI_EH_FRAME,
	CFI_DEBUG_FRAME,
};

struct cfi_section {
	enum cfi_section_kind kind;
	const uint8_t *bytes;
	size_t len;
	uint64_t vaddr;                       /* of its first byte: pointers are relative to it */
	uint64_t text_vaddr, data_vaddr;      /* bases of the rarer pointer encodings; 0: unknown */
	const struct unwind_machine *machine; /* NULL: none that is known; no functions then */
	const atomic_bool *stop; /* NULL, or where another thread says that all is to end */
};

enum {
	CFI_REGISTERS = 33,   /* those that walks need: the others are parsed and forgotten */
	CFI_OFFSET_BITS = 28, /* 128 MiB of stack, or of a section */
};

/* In 4 bytes, since a row of them is copied for each function. */
struct cfi_register {
	uint32_t kind : 4; /* enum unwind_register */
	/* Bytes, a register's number, or where in the section the expression's length stands. */
	int32_t offset : CFI_OFFSET_BITS;
};

/* The rules of one address range, all that stands there. Offsets are bytes. */
struct cfi_row {
	uint8_t cfa_kind; /* enum unwind_cfa; _NONE: nothing can be said about the caller */
	uint8_t cfa_register;
	bool is_signal_frame;    /* the caller was interrupted, not calling: its pc is exact */
	uint8_t return_register; /* which of the registers is the return address */
	int32_t cfa_offset, cfa_offset2;              /* the second one is added to what was read */
	struct cfi_register registers[CFI_REGISTERS]; /* of the caller, by DWARF number */
};

struct cfi_result {
	uint64_t functions, rows;
	uint64_t bad_functions; /* cut short or left out: their data make no sense */
	const char *bad_what;   /* of the first of them; static text */
	uint64_t bad_offset;    /* in the section */
};

/* ---- function by function, in any order ---- */

struct cfi_reader;

/* The section's bytes are borrowed. */
struct cfi_reader *cfi_reader_create(const struct cfi_section *section);
void cfi_reader_destroy(struct cfi_reader *reader);

struct cfi_function {
	uint64_t start, end; /* [start, end) */
	uint64_t entry;      /* where the section describes it */
};

/*
 * The next one in the section's order, which need not be that of addresses. False at the end, and
 * when it is to stop.
 */
bool cfi_reader_next(struct cfi_reader *reader, struct cfi_function *ret);

/* From `address` on, until the next row or the function's end. Addresses ascend. */
typedef void cfi_on_row(void *context, uint64_t address, const struct cfi_row *row);

/* Where its rows end: the function's end, or before it where its data stop making sense. */
uint64_t cfi_reader_run(
	struct cfi_reader *reader, uint64_t offset, cfi_on_row *on_row, void *context);

/* The expression whose length stands at that offset, as rows give it. */
struct bytes_cursor cfi_expression(const struct cfi_section *section, int32_t offset);

/* What was found until now. */
const struct cfi_result *cfi_reader_result(const struct cfi_reader *reader);

/* ---- all at once ---- */

struct cfi_visitor {
	void *context;
	/* A function begins: [start, end). False stops the walk. */
	bool (*function)(void *context, uint64_t start, uint64_t end);
	cfi_on_row *row;
};

/*
 * Walks the whole section in its order.
 * Never fails: what makes no sense is left out and counted.
 */
void cfi_walk(const struct cfi_section *section, const struct cfi_visitor *visitor,
	struct cfi_result *ret);

#endif
