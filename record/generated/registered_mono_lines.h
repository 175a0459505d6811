/*
 * The lines of a method that Mono compiled. Its sequence points say which IL each piece of its code
 * was made of, and the symbols of its image (clr_source.h) which lines that was. Methods that were
 * inlined in it have no points of their own: their code counts as of the call.
 *
 * This runs in the worker of a struct target_reader. Symbols are kept open from one method to the
 * next, and so is that an image has none, as those of the framework.
 *
 * Source: processes of Mono 6.8.0.105, 6.12.0.199; mono/metadata/{seq-points-data,
 * metadata-internals} of 6.8.
 */
#ifndef EBPROF_REGISTERED_MONO_LINES_H
#define EBPROF_REGISTERED_MONO_LINES_H

#include <stdint.h>

#include "format/base/str.h"
#include "format/base/vec.h"
#include "record/generated/registered_image.h"

/* Where Mono has what is asked for; addresses in the process. */
struct mono_method_place {
	uint32_t pid;
	uint32_t token;  /* of the method, as its image has it */
	uint64_t image;  /* its MonoImage */
	uint64_t points; /* its MonoSeqPointInfo */
	uint64_t start;  /* of its code */
	uint32_t size;   /* ... in bytes */
};

struct registered_lines {
	VEC(struct registered_line) list; /* by start */
};

/*
 * Fills *ret and *file, which are empty; nothing where nothing is known. *kept is NULL at first,
 * and then what this keeps.
 */
void registered_mono_lines(void **kept, const struct mono_method_place *place,
	struct registered_lines *ret, struct str *file);

/* The points of code: which IL what begins at an offset was made of. */
struct mono_point {
	int32_t native, il;
};

struct mono_points {
	VEC(struct mono_point) list; /* by the offset in the code */
};

/* Of what a MonoSeqPointInfo says of its points; appended, as far as they make sense. */
void registered_mono_points(
	const uint8_t *bytes, size_t len, bool has_more, struct mono_points *ret);

#endif
