/*
 * The symbols that belong to an image of .NET or Mono: which lines of which files the IL of its
 * methods was made of. A portable PDB is in the image, beside it, or where it was when the image
 * was built; what Mono's compiler writes (.mdb) is beside it. They count only with the identity
 * that the image says.
 *
 * What is opened here are files that a process names: this runs in the worker of a struct
 * target_reader.
 */
#ifndef EBPROF_CLR_SOURCE_H
#define EBPROF_CLR_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/str.h"
#include "format/clr/clr_image.h"
#include "format/clr/clr_mdb.h"
#include "format/clr/clr_pdb.h"

/* It must not move while it is open, and needs the image no more. */
struct clr_source {
	int fd; /* -1: it is in memory */
	uint8_t *memory;
	struct clr_bytes bytes;
	bool is_mdb;
	union {
		struct clr_pdb pdb;
		struct clr_mdb mdb;
	};
};

/* What is packed into the image. False: it has none; there is nothing to close then. */
bool clr_source_open_packed(const struct clr_image *image, struct clr_source *ret);
/* By the path of the image in the process's root; empty: it is not known. False: as above. */
bool clr_source_open_beside(uint32_t pid, const struct clr_image *image, const char *image_path,
	struct clr_source *ret);
void clr_source_close(struct clr_source *source);

/* Of a method's row; empty where nothing is known. Deinit in any case. */
void clr_source_read_points(
	const struct clr_source *source, uint32_t method, struct clr_pdb_points *ret);
/* The path of a source file, as it was when it was compiled. */
void clr_source_put_document(const struct clr_source *source, uint32_t document, struct str *out);
/* How much of it is in memory, in bytes. */
size_t clr_source_held(const struct clr_source *source);

#endif
