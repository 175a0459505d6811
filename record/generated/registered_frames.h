/*
 * Call frame information that a process gave to libgcc by __register_frame(), as compilers at run
 * time do whose code may have C++ exceptions thrown through it: LLVM's ORC and MCJIT, thus
 * PostgreSQL and Julia. It is the same as .eh_frame, with its addresses filled in, and has no
 * names.
 *
 * libgcc keeps it in lists of struct object, from version 13 on in a tree of them; neither is
 * exported, and libgcc_s has a few hundred bytes of data: what looks like the begin of one is one.
 * This runs in the recorder's worker.
 *
 * Source: libgcc/unwind-dw2-fde.{h,c}, unwind-dw2-btree.h of GCC 12 and 14; libgcc_s of Debian 12.
 */
#ifndef EBPROF_REGISTERED_FRAMES_H
#define EBPROF_REGISTERED_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "format/elf/elf_file.h"
#include "record/generated/registered_memory.h"

/* False: the file, which a process has mapped with this bias, is no libgcc_s. */
bool registered_frames_find(struct elf_file *elf, uint64_t bias, struct registered_descriptor *ret);
/* False: it cannot be read. *ret, which is empty, is to be freed in any case, as below. */
bool registered_frames_list(const struct registered_request *request, struct registered_list *ret);
/* False: it is not there any more, or makes no sense. */
bool registered_frames_image(
	void **kept, const struct registered_request *request, struct registered_image *ret);

#endif
