/*
 * Metadata of .NET: the tables of types and methods of an image, and what they are called. The
 * symbols of a portable PDB are tables of the same kind.
 *
 * Sources: ECMA-335, II.22 to II.24; "Portable PDB v1.0" of dotnet/runtime, docs/design/specs.
 */
#ifndef EBPROF_CLR_METADATA_H
#define EBPROF_CLR_METADATA_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/str.h"
#include "format/clr/clr_bytes.h"

enum {
	CLR_TABLES = 64,
	CLR_COLUMNS = 9,
	CLR_MAX_NAME_BYTES = 1024, /* of a name as it stands in the metadata */
	CLR_MAX_NESTED = 32,       /* types in each other */

	CLR_MODULE = 0x00,
	CLR_TYPE_REF = 0x01,
	CLR_TYPE_DEF = 0x02,
	CLR_METHOD_DEF = 0x06,
	CLR_MEMBER_REF = 0x0a,
	CLR_TYPE_SPEC = 0x1b,
	CLR_NESTED_CLASS = 0x29,
	CLR_PDB_DOCUMENT = 0x30,
	CLR_PDB_METHOD = 0x31,
	CLR_PDB_STATE_MACHINE = 0x36,
};

struct clr_metadata {
	struct clr_bytes *bytes; /* borrowed */
	uint64_t pdb;            /* of a portable PDB: where its identity is; else 0 */
	/* private: */
	uint64_t strings, strings_end, blobs, blobs_end, guids, guids_end; /* offsets */
	uint32_t rows[CLR_TABLES], row_bytes[CLR_TABLES];
	uint8_t columns[CLR_TABLES][CLR_COLUMNS]; /* bytes of each */
	uint64_t at[CLR_TABLES];
};

/* The tables of what begins at an offset. False: none do that are understood. */
bool clr_metadata_open(struct clr_bytes *bytes, uint64_t root, struct clr_metadata *ret);

/* How many rows a table has; they are counted from 1. */
uint32_t clr_metadata_count(const struct clr_metadata *metadata, uint32_t table);
/* A column of a row; 0 where there is no such row. */
uint32_t clr_metadata_get(
	const struct clr_metadata *metadata, uint32_t table, uint32_t row, uint32_t column);
void clr_metadata_put_string(const struct clr_metadata *metadata, uint32_t string, struct str *out);
/* Where a blob's bytes are, behind its length. */
uint64_t clr_metadata_blob(const struct clr_metadata *metadata, uint32_t blob, uint32_t *len);
/* The identity of a module, 16 bytes. False: it has none. */
bool clr_metadata_module_id(const struct clr_metadata *metadata, uint8_t ret[16]);

/* The row of the type that a method belongs to; 0: none. */
uint32_t clr_metadata_type_of_method(const struct clr_metadata *metadata, uint32_t method);
/* The row of the type that another one is nested in; 0: none. */
uint32_t clr_metadata_outer_type(const struct clr_metadata *metadata, uint32_t type);
/* The method that a state machine was made of, by a portable PDB; 0: that is not known. */
uint32_t clr_metadata_kickoff_method(const struct clr_metadata *pdb, uint32_t move_next);

#endif
