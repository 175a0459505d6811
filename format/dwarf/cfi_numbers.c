#include "format/dwarf/cfi_numbers.h"

#include "format/dwarf/dwarf_cursor.h"

enum {
	APPLICATION_MASK = 0x70,
};

uint32_t cfi_get_register(struct bytes_cursor *cursor)
{
	uint64_t value = dwarf_uleb(cursor);
	if (value > UINT16_MAX)
		cursor->overrun = true;
	return (uint32_t)value;
}

uint64_t cfi_get_plain_pointer(struct bytes_cursor *cursor, uint8_t format)
{
	switch (format) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return bytes_get_u64(cursor);
	case DW_EH_PE_uleb128:
		return dwarf_uleb(cursor);
	case DW_EH_PE_sleb128:
		return (uint64_t)dwarf_sleb(cursor);
	case DW_EH_PE_udata2:
		return bytes_get_u16(cursor);
	case DW_EH_PE_sdata2:
		return (uint64_t)(int64_t)(int16_t)bytes_get_u16(cursor);
	case DW_EH_PE_udata4:
		return bytes_get_u32(cursor);
	case DW_EH_PE_sdata4:
		return (uint64_t)(int64_t)(int32_t)bytes_get_u32(cursor);
	default:
		cursor->overrun = true;
		return 0;
	}
}

uint64_t cfi_get_pointer(
	const struct cfi_section *section, struct bytes_cursor *cursor, uint8_t encoding)
{
	uint64_t here = section->vaddr + (uint64_t)(cursor->pos - section->bytes);
	uint64_t value = cfi_get_plain_pointer(cursor, encoding & CFI_POINTER_FORMAT_MASK);
	if (encoding & DW_EH_PE_indirect) /* memory that only a running process has */
		cursor->overrun = true;
	switch (encoding & APPLICATION_MASK) {
	case 0:
		return value;
	case DW_EH_PE_pcrel:
		return here + value;
	case DW_EH_PE_textrel:
		return section->text_vaddr + value;
	case DW_EH_PE_datarel:
		return section->data_vaddr + value;
	default:
		cursor->overrun = true;
		return 0;
	}
}
