#include "format/dwarf/cfi_file.h"

#include <string.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/elf/elf_eh_frame.h"
#include "format/elf/elf_inflate.h"
#include "format/machine/machine.h"

enum {
	SECTION_MAX = 64 << 20,
	ENTRY_MAX = 4 << 10, /* of one function, most have some tens: each byte may make a row */
	LENGTH_BYTES = 4,
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

/* ---- one function alone ---- */

/* An entry of .eh_frame: its length and, behind it, `len` bytes. */
struct placed_entry {
	uint64_t vaddr, offset;
	uint32_t len;
};

/* False: there is none, or none as compilers write them. */
static bool cfi_file_find_entry(
	const struct elf_file *elf, uint64_t vaddr, struct placed_entry *ret)
{
	size_t count;
	const struct elf_segment *segments = elf_file_segments(elf, &count);
	uint8_t bytes[LENGTH_BYTES];
	uint64_t left;
	if (!elf_segments_vaddr_to_offset(segments, count, vaddr, &ret->offset, &left))
		return false;
	struct err *err = elf_file_read_into(elf, ret->offset, bytes, sizeof(bytes));
	bool is_read = !err;
	err_destroy(err);
	if (!is_read)
		return false;
	struct bytes_cursor cursor = bytes_cursor(bytes, sizeof(bytes));
	ret->vaddr = vaddr;
	ret->len = bytes_get_u32(&cursor);
	return ret->len >= LENGTH_BYTES && ret->len <= ENTRY_MAX &&
	       left >= sizeof(bytes) + ret->len;
}

struct err *cfi_file_read_function(
	struct elf_file *elf, uint64_t address, uint8_t **bytes, struct cfi_section *ret)
{
	struct placed_entry cie, fde;
	uint8_t back[LENGTH_BYTES]; /* from here to the CIE */
	uint64_t at;
	bool is_found;
	*bytes = NULL;
	try(elf_eh_frame_search(elf, address, &at, &is_found));
	if (!is_found || !cfi_file_find_entry(elf, at, &fde))
		return NULL;
	try(elf_file_read_into(elf, fde.offset + LENGTH_BYTES, back, sizeof(back)));
	struct bytes_cursor cursor = bytes_cursor(back, sizeof(back));
	if (!cfi_file_find_entry(elf, fde.vaddr + LENGTH_BYTES - bytes_get_u32(&cursor), &cie))
		return NULL;
	size_t cie_bytes = LENGTH_BYTES + cie.len, fde_bytes = LENGTH_BYTES + fde.len;
	CLEANUP_FREE uint8_t *section = mem_alloc(cie_bytes + fde_bytes);
	try(elf_file_read_into(elf, cie.offset, section, cie_bytes));
	try(elf_file_read_into(elf, fde.offset, section + cie_bytes, fde_bytes));
	const uint32_t to_cie =
		(uint32_t)cie_bytes + LENGTH_BYTES; /* both machines: little endian */
	memcpy(section + cie_bytes + LENGTH_BYTES, &to_cie, sizeof(to_cie));
	*ret = (struct cfi_section){
		.kind = CFI_EH_FRAME,
		.bytes = section,
		.len = cie_bytes + fde_bytes,
		.vaddr = fde.vaddr - cie_bytes, /* the function's start is relative to its place */
		.machine = machine_registers(elf_file_machine(elf)),
	};
	*bytes = steal_ptr(section);
	return NULL;
}
