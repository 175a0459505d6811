/*
 * A frame description is a program for a machine of one table: each
 * instruction changes the rule of a register or moves on to the next address.
 * What is known of one address is a row of it.
 *
 * Internal to the reader of call frame information, see cfi.h.
 */
#ifndef EBPROF_CFI_MACHINE_H
#define EBPROF_CFI_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/bytes.h"
#include "format/dwarf/cfi.h"

enum {
	CFI_REMEMBERED_MAX = 64, /* states; a limit of ours */
};

/* A common information entry: what some functions' programs share. */
struct cfi_cie {
	uint64_t offset; /* in the section */
	uint64_t code_align;
	int64_t data_align;
	uint8_t return_register;
	uint8_t pointer_encoding;
	bool has_augmentation_data;
	bool is_signal_frame;
	struct cfi_row initial; /* what its instructions set up */
	const char *fault;      /* NULL when it is sound */
};

struct cfi_machine {
	const struct cfi_section *section;
	const struct cfi_cie *cie;
	uint64_t address, end; /* of the row that is being built; of the function */
	cfi_on_row *on_row;    /* NULL: the CIE's own instructions make no rows */
	void *context;
	struct cfi_row row;
	uint64_t rows; /* emitted */
	unsigned nr_remembered;
	struct cfi_row *remembered; /* CFI_REMEMBERED_MAX */
};

static inline bool cfi_is_stopped(const struct cfi_section *section)
{
	return section->stop && atomic_load_explicit(section->stop, memory_order_relaxed);
}

/* NULL, or what is wrong with the instructions; rows before that were emitted. */
const char *cfi_machine_run(struct cfi_machine *machine, struct bytes_cursor instructions);
/* The row at hand: the last one of a function, when its program has ended. */
void cfi_machine_emit(struct cfi_machine *machine);

#endif
