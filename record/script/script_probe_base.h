/*
 * What the stack pointer at a probe's place says of the native frame that a script's function
 * belongs to: by the call frame information of the functions that the places are in.
 */
#ifndef EBPROF_SCRIPT_PROBE_BASE_H
#define EBPROF_SCRIPT_PROBE_BASE_H

#include <stddef.h>

#include "format/elf/elf_file.h"
#include "record/script/script_probes.h"

enum script_probe_owner {
	SCRIPT_PROBE_IN_CALLEE, /* the native frame's function calls the one that has the place */
	SCRIPT_PROBE_IN_FRAME,  /* it has the place itself */
};

/*
 * Sets the group and sp_offset of the places, all in this file: places get the same group where
 * their stack pointers, with the offsets, can be compared to the byte. Without call frame
 * information none can.
 */
void script_probe_base(struct elf_file *elf, enum script_probe_owner owner,
	struct script_probe *places, size_t count);

#endif
