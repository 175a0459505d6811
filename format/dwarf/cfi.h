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

#include "format/base/err.h"

enum cfi_section_kind {
	CFI_EH_FRAME,
	CFI_DEBUG_FRAME,
};

struct cfi_section {
	enum cfi_section_kind kind;
	const uint8_t *bytes;
	size_t len;
	uint64_t vaddr;                  /* of its first byte: pointers are relative to it */
	uint64_t text_vaddr, data_vaddr; /* bases of the rarer pointer encodings; 0: unknown */
	uint16_t machine;                /* EM_X86_64, EM_AARCH64 */
	const atomic_bool *stop;         /* NULL, or where another thread says that all is to end */
};

/* How the canonical frame address is computed. */
enum cfi_cfa_kind {
	CFI_CFA_UNDEFINED = 0, /* no rule: nothing can be said about the caller */
	CFI_CFA_REGISTER,      /* register + offset */
	CFI_CFA_DEREF,         /* *(register + offset) + offset2 */
	CFI_CFA_PLT,           /* sp + 8, and 8 more when (ip & 15) >= offset: the stubs of a PLT */
	CFI_CFA_EXPRESSION,    /* some other expression: beyond rows */
};

/* Where a register of the caller is. */
enum cfi_register_kind {
	CFI_SAME = 0,    /* unchanged */
	CFI_AT_CFA,      /* saved at CFA + offset */
	CFI_CFA_PLUS,    /* it is CFA + offset */
	CFI_IN_REGISTER, /* in another register, number in offset */
	CFI_UNDEFINED,   /* lost; of the return address: there is no caller */
	CFI_AT_SP,       /* saved at the stack pointer + offset: signal frames */
	CFI_EXPRESSION,  /* beyond rows */
};

struct cfi_register {
	uint8_t kind; /* enum cfi_register_kind */
	int32_t offset;
};

/* The rules of one address range. Offsets are bytes. */
struct cfi_row {
	uint8_t cfa_kind; /* enum cfi_cfa_kind */
	uint8_t cfa_register;
	bool is_signal_frame; /* the caller was interrupted, not calling: its pc is exact */
	int32_t cfa_offset, cfa_offset2;
	struct cfi_register frame_pointer, return_address;
	struct cfi_register rbx; /* x86-64 only: the same elsewhere */
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
