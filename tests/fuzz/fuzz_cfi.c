/* Sections of call frame information, of both kinds and both machines. */
#include <stddef.h>
#include <stdint.h>

#include "format/dwarf/cfi.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void on_row(void *context, uint64_t address, const struct cfi_row *row)
{
	volatile uint64_t *sum = context;
	*sum += address ^ (uint64_t)row->cfa_offset ^ row->registers[row->return_register].kind;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	if (!len)
		return 0;
	uint64_t sum = 0;
	struct cfi_section section = {
		.kind = bytes[0] & 1 ? CFI_DEBUG_FRAME : CFI_EH_FRAME,
		.machine = bytes[0] & 2 ? &unwind_arm64 : &unwind_x86_64,
		.bytes = bytes + 1,
		.len = len - 1,
		.vaddr = 0x400000,
	};
	struct cfi_visitor visitor = {.context = &sum, .row = on_row};
	struct cfi_result result;
	cfi_walk(&section, &visitor, &result);
	return 0;
}
