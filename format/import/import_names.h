/*
 * Stacks of files that know functions by their names only. A name's end tells what it is, as in
 * folded stacks: foo_[k] is the kernel's, foo_[j] was compiled while the program ran, foo_[i] was
 * inlined into the one before it.
 */
#ifndef EBPROF_IMPORT_NAMES_H
#define EBPROF_IMPORT_NAMES_H

#include "format/base/bytes.h"
#include "format/base/str.h"
#include "format/import/import_output.h"

enum import_name_kind {
	IMPORT_NAME_USER,
	IMPORT_NAME_KERNEL,
	IMPORT_NAME_COMPILED,
	IMPORT_NAME_KINDS,
};

struct import_names {
	struct import_output *output;
	const char *path; /* of the object that the user's functions are in: "[folded]" */
	uint32_t objects[IMPORT_NAME_KINDS];
	struct strtab places[IMPORT_NAME_KINDS]; /* a function and those inlined into it */
	uint64_t nr_deep;                        /* stacks of too many frames */

	/* Of the stack that is being put together: */
	struct layout_sample *sample;
	uint32_t *top, depth;
	enum import_name_kind kind;
	struct bytes_buf names; /* of the place, each ends in NUL, the outermost first */
	uint32_t nr_names;
};

void import_names_init(struct import_names *names, struct import_output *output, const char *path);
void import_names_deinit(struct import_names *names);

/*
 * The stacks of `sample` become those of the names that are added from then on, the outermost
 * first: what is the kernel's stands on what is the user's. An empty name is none.
 */
void import_names_begin(struct import_names *names, struct layout_sample *sample);
void import_names_add(struct import_names *names, const char *name, size_t len);
void import_names_end(struct import_names *names);
/* What is not in the recording, a line each. */
void import_names_put_notes(const struct import_names *names, struct str *notes);

#endif
