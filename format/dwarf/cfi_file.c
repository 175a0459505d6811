#include "format/dwarf/cfi_file.h"

#include "format/elf/elf_eh_frame.h"
#include "format/elf/elf_inflate.h"
#include "format/machine/machine.h"

enum {
	SECTION_MAX = 64 << 20,
};

static struct err *read_eh_frame(
	struct elf_file *elf, uint8_t **bytes, uint64_t *len, uint64_t *vaddr)
{
	struct elf_eh_frame found;
	bool is_found;
	try(elf_eh_frame_find(elf, &found, &is_found));
	if (!is_found)
		return NULL;
	if (found.size > SECTION_MAX)
		return err_new(ERR_UNSUPPORTED, "%llu bytes", (unsigned long long)found.size);
	*len = found.size;
	*vaddr = found.vaddr;
	return elf_file_read(elf, found.offset, found.size, bytes);
}

static struct err *read_debug_frame(struct elf_file *elf, uint8_t **bytes, uint64_t *len)
{
	const struct elf_section *found = elf_file_find_section(elf, ".debug_frame");
	if (!found) /* packed in the older way: gcc -gz=zlib-gnu */
		found = elf_file_find_section(elf, ".zdebug_frame");
	return found ? elf_inflate_section(elf, found, SECTION_MAX, bytes, len) : NULL;
}

struct err *cfi_file_read(
	struct elf_file *elf, enum cfi_section_kind kind, uint8_t **bytes, struct cfi_section *ret)
{
	uint64_t len = 0, vaddr = 0;
	*bytes = NULL;
	if (kind == CFI_EH_FRAME)
		try(err_wrap(read_eh_frame(elf, bytes, &len, &vaddr), ".eh_frame"));
	else
		try(read_debug_frame(elf, bytes, &len));
	if (*bytes)
		*ret = (struct cfi_section){
			.kind = kind,
			.bytes = *bytes,
			.len = len,
			.vaddr = vaddr,
			.machine = machine_registers(elf_file_machine(elf)),
			.stop = elf_file_stop(elf),
		};
	return NULL;
}
