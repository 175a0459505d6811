/*
 * Abbreviations, compiled.
 *
 * A DIE is a number and bytes; the abbreviation of that number says which
 * attributes these bytes are. A walk over all DIEs of a unit wants four of them
 * from some and nothing from most. So each abbreviation is translated once into
 * a program: skip 11 bytes, skip a LEB128, capture the address, ... and where
 * nothing varies or matters but where the sibling is, into two numbers: how many
 * bytes there are, and where among them that reference stands.
 *
 * Source: DWARF 5, 7.5.3 and 7.5.6.
 */
#ifndef EBPROF_DWARF_ABBREV_H
#define EBPROF_DWARF_ABBREV_H

#include "format/base/map.h"
#include "format/dwarf/dwarf_constants.h"
#include "format/dwarf/dwarf_cursor.h"

/* What the sizes of forms depend on; the same for all of a unit. */
struct dwarf_encoding {
	uint8_t version, address_bytes, offset_bytes;
};

/* What a walk for functions does with a DIE. */
enum dwarf_kind {
	DWARF_OTHER,    /* skip it with all below it */
	DWARF_SCOPE,    /* a namespace, a module, the unit: go in */
	DWARF_TYPE,     /* a class or the like: local ones hold functions */
	DWARF_DECLARED, /* a subprogram of which no code is known: declared, or abstract */
	DWARF_FUNCTION, /* a subprogram */
	DWARF_INLINED,
	DWARF_BLOCK, /* a lexical block or the like */
	DWARF_KINDS,
};

enum dwarf_slot {
	DWARF_SLOT_SIBLING,
	DWARF_SLOT_LOW_PC,
	DWARF_SLOT_HIGH_PC,
	DWARF_SLOT_RANGES,
	DWARF_SLOTS,
};

enum {
	DWARF_FORMS = 0x30, /* those of the standard are below */
	DWARF_VARIES = UINT32_MAX,
	DWARF_NO_SIBLING = UINT8_MAX,
};

struct dwarf_abbrev {
	uint32_t specs;   /* where its (attribute, form) pairs start in the table's bytes */
	uint32_t program; /* where its program starts in the table's */
	/* Bytes of such a DIE behind its code when nothing is captured but maybe a sibling of
	 * 4 bytes, and where that stands; DWARF_VARIES, DWARF_NO_SIBLING. */
	uint32_t fixed;
	uint8_t sibling_at;
	uint8_t kind; /* enum dwarf_kind */
	bool has_children;
	uint16_t tag;
};

struct dwarf_abbrevs {
	struct dwarf_span bytes; /* the section from the table on */
	struct dwarf_encoding encoding;
	int8_t form_sizes[DWARF_FORMS]; /* what dwarf_form_size() says: a table is full of them */
	VEC(struct dwarf_abbrev) list;
	VEC(uint8_t) programs;
	size_t nr_dense;   /* the first ones have the codes 1, 2, 3... */
	struct map sparse; /* code of the others -> index */
	uint64_t parsed;   /* bytes */
};

struct dwarf_captured {
	uint64_t values[DWARF_SLOTS];
	uint16_t forms[DWARF_SLOTS]; /* 0: not there */
};

/* Never fails: what is broken ends the table, and a DIE that needs the rest ends its unit. */
void dwarf_abbrevs_init(struct dwarf_abbrevs *abbrevs, struct dwarf_span section, uint64_t offset,
	struct dwarf_encoding encoding);
/* The same with nothing but the first of this code: all that a single DIE needs. */
void dwarf_abbrevs_init_one(struct dwarf_abbrevs *abbrevs, struct dwarf_span section,
	uint64_t offset, struct dwarf_encoding encoding, uint64_t code);
void dwarf_abbrevs_deinit(struct dwarf_abbrevs *abbrevs);

const struct dwarf_abbrev *dwarf_abbrevs_find_sparse(
	const struct dwarf_abbrevs *abbrevs, uint64_t code);

/* NULL when there is none of this code. */
static inline const struct dwarf_abbrev *dwarf_abbrevs_find(
	const struct dwarf_abbrevs *abbrevs, uint64_t code)
{
	if (code - 1 < abbrevs->nr_dense)
		return &abbrevs->list.data[code - 1];
	return dwarf_abbrevs_find_sparse(abbrevs, code);
}

/* Bytes of a value of this form, or -1 when they vary, -2 when the form is unknown. */
int dwarf_form_size(uint16_t form, struct dwarf_encoding encoding);

/* A value that is one number: addresses, constants, offsets, references, indices. */
uint64_t dwarf_form_number(
	struct bytes_cursor *cursor, uint16_t form, struct dwarf_encoding encoding);

/* Skips a value of any form, DW_FORM_implicit_const excepted, which has no bytes. */
void dwarf_form_skip(struct bytes_cursor *cursor, uint16_t form, struct dwarf_encoding encoding);

void dwarf_abbrev_run_program(const struct dwarf_abbrevs *abbrevs,
	const struct dwarf_abbrev *abbrev, struct bytes_cursor *cursor,
	struct dwarf_captured *captured);

/* Moves the cursor from behind the code of a DIE to its end. */
static inline void dwarf_abbrev_run(const struct dwarf_abbrevs *abbrevs,
	const struct dwarf_abbrev *abbrev, struct bytes_cursor *cursor,
	struct dwarf_captured *captured)
{
	if (abbrev->fixed != DWARF_VARIES && abbrev->sibling_at == DWARF_NO_SIBLING)
		dwarf_skip(cursor, abbrev->fixed);
	else
		dwarf_abbrev_run_program(abbrevs, abbrev, cursor, captured);
}

#endif
