/*
 * A portable PDB: which lines of which files the IL of methods was made of. It is a file beside the
 * image, or packed into the image.
 *
 * Sources: "Portable PDB v1.0" and "PE-COFF extensions" of dotnet/runtime, docs/design/specs.
 */
#ifndef EBPROF_CLR_PDB_H
#define EBPROF_CLR_PDB_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/str.h"
#include "format/base/vec.h"
#include "format/clr/clr_bytes.h"
#include "format/clr/clr_image.h"
#include "format/clr/clr_metadata.h"

struct clr_pdb {
	struct clr_metadata metadata;
};

/* Where the IL of a statement begins. */
struct clr_pdb_point {
	uint32_t il;
	uint32_t line;     /* 0: it is of none that was written */
	uint32_t document; /* its row */
};

struct clr_pdb_points {
	VEC(struct clr_pdb_point) list; /* by IL */
};

/* False: it is no PDB, or that of another image. */
bool clr_pdb_open(struct clr_bytes *bytes, const struct clr_image *image, struct clr_pdb *ret);
/* Of a method's row; empty where nothing is known. Deinit in any case. */
void clr_pdb_read_points(const struct clr_pdb *pdb, uint32_t method, struct clr_pdb_points *ret);
void clr_pdb_points_deinit(struct clr_pdb_points *points);
/* The point that a place in the IL belongs to, with a line: where that has none, the last one ahead
 * of it that has. NULL: there is none. */
const struct clr_pdb_point *clr_pdb_points_find(const struct clr_pdb_points *points, uint32_t il);
/* The same of a point's of clr_debug_map.h: what comes ahead of the first statement counts as of
 * that, what comes behind the last one as of the last. */
const struct clr_pdb_point *clr_pdb_points_find_code(
	const struct clr_pdb_points *points, int32_t il);
/* The path of a source file, as it was when it was compiled. */
void clr_pdb_put_document(const struct clr_pdb *pdb, uint32_t document, struct str *out);

/* What an image has of its PDB within itself, unpacked: *len bytes, yours. NULL: it has none. */
uint8_t *clr_pdb_unpack(const struct clr_image *image, size_t *len);

#endif
