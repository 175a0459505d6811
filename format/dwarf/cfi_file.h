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

#endif
