/*
 * The symbols that Mono's own compiler writes beside an image, in a file IMAGE.mdb: which lines of
 * which files the IL of methods was made of. Version 50.0, the only one since 2009.
 *
 * Source: Mono 6.8, mono/metadata/debug-mono-symfile.{c,h},
 * mcs/class/Mono.CompilerServices.SymbolWriter/MonoSymbolTable.cs.
 */
#ifndef EBPROF_CLR_MDB_H
#define EBPROF_CLR_MDB_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/str.h"
#include "format/clr/clr_bytes.h"
#include "format/clr/clr_image.h"
#include "format/clr/clr_pdb.h"

struct clr_mdb {
	struct clr_bytes *bytes; /* borrowed */
	/* private: */
	uint32_t methods, nr_methods, sources, nr_sources; /* offsets, and how many entries */
	int32_t line_base;
	uint32_t line_range, opcode_base; /* of its line programs */
};

/* False: it is none, or that of another image. */
bool clr_mdb_open(struct clr_bytes *bytes, const struct clr_image *image, struct clr_mdb *ret);
/* Of a method's row; empty where nothing is known. Deinit in any case. */
void clr_mdb_read_points(const struct clr_mdb *mdb, uint32_t method, struct clr_pdb_points *ret);
/* The path of a source file, as it was when it was compiled. */
void clr_mdb_put_document(const struct clr_mdb *mdb, uint32_t document, struct str *out);

#endif
