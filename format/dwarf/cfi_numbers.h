/* The numbers of call frame information that are neither plain nor LEB128. */
#ifndef EBPROF_CFI_NUMBERS_H
#define EBPROF_CFI_NUMBERS_H

#include <stdint.h>

#include "format/base/bytes.h"
#include "format/dwarf/cfi.h"

/* Pointer encodings, LSB "DWARF Exception Header Encoding". */
enum {
	DW_EH_PE_absptr = 0x00,
	DW_EH_PE_uleb128 = 0x01,
	DW_EH_PE_udata2 = 0x02,
	DW_EH_PE_udata4 = 0x03,
	DW_EH_PE_udata8 = 0x04,
	DW_EH_PE_sleb128 = 0x09,
	DW_EH_PE_sdata2 = 0x0a,
	DW_EH_PE_sdata4 = 0x0b,
	DW_EH_PE_sdata8 = 0x0c,
	DW_EH_PE_pcrel = 0x10,
	DW_EH_PE_textrel = 0x20,
	DW_EH_PE_datarel = 0x30,
	DW_EH_PE_indirect = 0x80,
	DW_EH_PE_omit = 0xff,
	CFI_POINTER_FORMAT_MASK = 0x0f,
};

/* A register's number. What no compiler writes overruns the cursor, here and below. */
uint32_t cfi_get_register(struct bytes_cursor *cursor);
/* A pointer by its format alone: the length of a function. */
uint64_t cfi_get_plain_pointer(struct bytes_cursor *cursor, uint8_t format);
/* A virtual address. The cursor is over the section's own bytes. */
uint64_t cfi_get_pointer(
	const struct cfi_section *section, struct bytes_cursor *cursor, uint8_t encoding);

#endif
