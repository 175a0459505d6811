/*
 * Lines of .NET's code that was compiled ahead of time: the image leads from code to IL, a portable
 * PDB from IL to lines. The PDB is packed into the image, or stands beside it or where it was when
 * the image was built. What was inlined is not known: of such code it is the line of the call.
 */
#ifndef EBPROF_CLR_LINES_H
#define EBPROF_CLR_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/elf/elf_file.h"
#include "format/file/chain.h"

struct regular_file_rules;

/* Where a file is; all is borrowed. */
struct clr_lines_place {
	struct elf_file *elf;
	const char *path;
	const char *root;                       /* NULL: /; absolute paths count from here */
	const struct regular_file_rules *rules; /* of how a PDB is opened, or NULL */
};

struct clr_lines;

/* NULL: it is no file of such images, or no PDB of any of them is found. */
struct clr_lines *clr_lines_open(const struct clr_lines_place *place);
/* Where the first PDB is; the file itself, where it is packed into that. */
const char *clr_lines_pdb_path(const struct clr_lines *lines);
/*
 * Fills chains[i] for addresses[i]: virtual addresses of the file, ascending, each once. A chain is
 * one frame with a file and a line, and no name. What it leads to belongs to the lines.
 */
void clr_lines_run(
	struct clr_lines *lines, const uint64_t *addresses, size_t count, struct chain *chains);
void clr_lines_close(struct clr_lines *lines);

#endif
