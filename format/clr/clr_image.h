/*
 * An image of .NET: its metadata, and, where it was compiled ahead of time (ReadyToRun), what there
 * is of its code. Read from a file, or from the memory of a process, where its sections may be
 * apart already.
 *
 * Sources: ECMA-335, II.25; of dotnet/runtime docs/design/coreclr/botr/readytorun-format.md and
 * src/coreclr/inc/readytorun.h of .NET 8, 9, 10.
 */
#ifndef EBPROF_CLR_IMAGE_H
#define EBPROF_CLR_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/clr/clr_bytes.h"
#include "format/clr/clr_metadata.h"
#include "format/elf/pe_headers.h"

enum clr_ready_section {
	CLR_READY_FUNCTIONS,  /* 102: {begin, end, unwind information}, on arm64 without the end */
	CLR_READY_METHODS,    /* 103: from methods to functions */
	CLR_READY_DEBUG_INFO, /* 105 */
	CLR_READY_THUNKS,     /* 106: code that has methods made ready */
	CLR_READY_INSTANCES,  /* 109: from methods with arguments to functions */
	CLR_READY_SECTIONS
};

struct clr_image {
	struct clr_bytes *bytes; /* borrowed */
	struct pe_headers headers;
	bool is_mapped; /* sections are where the headers say they are in memory */
	struct clr_metadata metadata;
	uint16_t ready_major; /* the version of what follows; 0: there is nothing */
	struct {
		uint64_t at; /* offset in `bytes`; 0: there is none */
		uint32_t address, len;
	} ready[CLR_READY_SECTIONS];
};

/* False: it is no image, or not understood. */
bool clr_image_open(struct clr_bytes *bytes, bool is_mapped, struct clr_image *ret);
/* Where the byte that is at an address in memory is in the bytes. False: it is not. */
bool clr_image_offset(const struct clr_image *image, uint32_t address, uint64_t *ret);

struct unwind_xdata_head;

struct clr_function {
	uint32_t begin, end; /* addresses in memory; end 0: not known */
	uint32_t unwind_info;
};

/* How many functions were compiled ahead of time: methods, and funclets behind them. */
uint32_t clr_image_count_functions(const struct clr_image *image);
struct clr_function clr_image_function(const struct clr_image *image, uint32_t index);
/* Of arm64: where in the bytes the function's record is, and what that begins with. False: it has
 * none. */
bool clr_image_xdata(const struct clr_image *image, const struct clr_function *function,
	uint64_t *at, struct unwind_xdata_head *ret);
/* The index of the one that has an address. False: none has. */
bool clr_image_find_function(const struct clr_image *image, uint32_t address, uint32_t *ret);

enum {
	CLR_PDB_ID_BYTES = 20,
};

/* The identity that the image's portable PDB has. False: it says none. */
bool clr_image_pdb_id(const struct clr_image *image, uint8_t ret[CLR_PDB_ID_BYTES]);
/* Where in the bytes a PDB is that was packed into the image. False: there is none. */
bool clr_image_packed_pdb(const struct clr_image *image, uint64_t *at, uint32_t *len);
/* The path of a PDB that the image names; of the file, as it was when it was built. */
void clr_image_put_pdb_path(const struct clr_image *image, struct str *out);

#endif
