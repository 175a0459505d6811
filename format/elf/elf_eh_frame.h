/*
 * Where a file keeps the call frame information that it is loaded with. By
 * section where there are sections; a file whose section headers were stripped
 * still has PT_GNU_EH_FRAME, since the C++ runtime searches it to unwind.
 *
 * Source: LSB 5.0 Core, 10.6.2 (.eh_frame_hdr).
 */
#ifndef EBPROF_ELF_EH_FRAME_H
#define EBPROF_ELF_EH_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/elf/elf_file.h"

struct elf_eh_frame {
	uint64_t vaddr, offset, size; /* bytes, not checked against the file */
};

/*
 * *is_found false when the file has none, or when its .eh_frame_hdr is not of
 * the one form that linkers write. ERR_IO when the file cannot be read.
 */
struct err *elf_eh_frame_find(
	struct elf_file *file, struct elf_eh_frame *ret, bool *is_found) ERR_MUST_CHECK;

/*
 * The address of the entry of the last function that begins at or before `address`, by the sorted
 * table of .eh_frame_hdr, of which some rows are read alone. *is_found false as above, and where
 * all functions begin behind it. Whether the function ends before it, the entry says.
 */
struct err *elf_eh_frame_search(const struct elf_file *file, uint64_t address, uint64_t *entry,
	bool *is_found) ERR_MUST_CHECK;

#endif
