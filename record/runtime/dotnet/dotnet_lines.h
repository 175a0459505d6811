/*
 * Lines of methods that were compiled at run time: the runtime keeps which IL each piece of code
 * was made of, the portable PDB of the method's image says which lines that was made of. The PDB is
 * in the image, beside the file of the image, or where it was when that was built; it counts only
 * with the identity that the image says.
 */
#ifndef EBPROF_DOTNET_LINES_H
#define EBPROF_DOTNET_LINES_H

#include <stdint.h>

#include "format/base/str.h"
#include "record/runtime/dotnet/dotnet_images.h"
#include "record/runtime/runtime_inlined.h"

/* Of the code whose lines are looked for. */
struct dotnet_lines {
	uint32_t pid, version;      /* the runtime's major one */
	struct dotnet_image *image; /* that the method is of */
	uint32_t method;            /* its row in the image */
	uint64_t debug_info;        /* where the runtime keeps it; 0: there is none */
	uint32_t code_bytes;
};

/*
 * Adds the scopes of the first of the functions of `made`, and their places. `file` gets the source
 * file. Nothing is added where nothing is known.
 */
void dotnet_lines_add(
	const struct dotnet_lines *lines, struct str *file, struct runtime_inlined *made);

#endif
