/* Where files keep call frame information: .eh_frame, which is loaded with them, .debug_frame. */
#ifndef EBPROF_CFI_FILE_H
#define EBPROF_CFI_FILE_H

#include "format/base/err.h"
#include "format/dwarf/cfi.h"
#include "format/elf/elf_file.h"

/*
 * The whole section of that kind, unpacked. *bytes is what ret->bytes borrows, and yours; it is
 * NULL, and *ret untouched, where the file has none. ERR_UNSUPPORTED for more than 64 MiB: that of
 * libLLVM has 5, that of a browser 15.
 */
struct err *cfi_file_read(struct elf_file *elf, enum cfi_section_kind kind, uint8_t **bytes,
	struct cfi_section *ret) ERR_MUST_CHECK;

/*
 * The same of one function alone, which begins at or before `address`: a section that has nothing
 * but its CIE and its FDE, found by .eh_frame_hdr in some reads of a few bytes each. NULL also
 * where the file has no such header, and where the function's entry makes no sense.
 */
struct err *cfi_file_read_function(struct elf_file *elf, uint64_t address, uint8_t **bytes,
	struct cfi_section *ret) ERR_MUST_CHECK;

#endif
