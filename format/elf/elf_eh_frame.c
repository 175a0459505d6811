#include "format/elf/elf_eh_frame.h"

#include <elf.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"

enum {
	HDR_BYTES = 12,
	ROW_BYTES = 8,
	/* Functions of the largest programs number some hundred thousands. */
	ROWS_MAX = 8 << 20,

	/* Encodings (LSB 10.5.1) as GNU ld, gold, lld and mold write them. */
	PCREL_SDATA4 = 0x1b,
	UDATA4 = 0x03,
	DATAREL_SDATA4 = 0x3b,
};

/* The sorted table of the header; what is wanted is where .eh_frame starts and how many rows there
 * are. */
struct header {
	uint64_t vaddr, offset; /* of the header itself */
	uint64_t frames_vaddr;
	uint32_t rows;
};

static struct err *elf_eh_frame_read_header(
	const struct elf_file *file, struct header *ret, bool *is_found)
{
	struct elf_segment segment;
	uint8_t bytes[HDR_BYTES];
	*is_found = false;
	if (!elf_file_eh_frame_hdr(file, &segment) || segment.filesz < sizeof(bytes))
		return NULL;
	try(elf_file_read_into(file, segment.offset, bytes, sizeof(bytes)));
	struct bytes_cursor cursor = bytes_cursor(bytes, sizeof(bytes));
	uint8_t version = bytes_get_u8(&cursor), frames = bytes_get_u8(&cursor);
	uint8_t count = bytes_get_u8(&cursor), table = bytes_get_u8(&cursor);
	if (version != 1 || frames != PCREL_SDATA4 || count != UDATA4 || table != DATAREL_SDATA4)
		return NULL;
	ret->vaddr = segment.vaddr;
	ret->offset = segment.offset;
	ret->frames_vaddr = segment.vaddr + 4 + (uint64_t)(int32_t)bytes_get_u32(&cursor);
	ret->rows = bytes_get_u32(&cursor);
	*is_found = ret->rows && ret->rows <= ROWS_MAX &&
		    ret->rows <= (segment.filesz - HDR_BYTES) / ROW_BYTES;
	return NULL;
}

/*
 * The section's length stands nowhere: it ends behind the last entry that the table knows.
 * Rows are {function, entry}, relative to the header.
 */
static struct err *find_last_entry(
	const struct elf_file *file, const struct header *header, uint64_t *vaddr)
{
	CLEANUP_FREE uint8_t *bytes = NULL;
	uint64_t len = (uint64_t)header->rows * ROW_BYTES;
	try(elf_file_read(file, header->offset + HDR_BYTES, len, &bytes));
	struct bytes_cursor cursor = bytes_cursor(bytes, len);
	*vaddr = 0;
	for (uint32_t i = 0; i < header->rows; i++) {
		bytes_get_u32(&cursor);
		uint64_t entry = header->vaddr + (uint64_t)(int32_t)bytes_get_u32(&cursor);
		if (entry > *vaddr)
			*vaddr = entry;
	}
	return NULL;
}

static struct err *find_by_header(struct elf_file *file, struct elf_eh_frame *ret, bool *is_found)
{
	struct header header = {0};
	try(elf_eh_frame_read_header(file, &header, is_found));
	if (!*is_found)
		return NULL;
	*is_found = false;
	size_t count;
	const struct elf_segment *segments = elf_file_segments(file, &count);
	struct elf_eh_frame found = {.vaddr = header.frames_vaddr};
	uint64_t left, last;
	if (!elf_segments_vaddr_to_offset(segments, count, found.vaddr, &found.offset, &left))
		return NULL;
	try(find_last_entry(file, &header, &last));
	uint8_t len[4];
	uint64_t to_last = last - found.vaddr;
	if (last < found.vaddr || left < sizeof(len) || to_last > left - sizeof(len))
		return NULL;
	try(elf_file_read_into(file, found.offset + to_last, len, sizeof(len)));
	struct bytes_cursor cursor = bytes_cursor(len, sizeof(len));
	found.size = to_last + sizeof(len) + bytes_get_u32(&cursor);
	if (found.size > left)
		found.size = left;
	*ret = found;
	*is_found = true;
	return NULL;
}

struct err *elf_eh_frame_find(struct elf_file *file, struct elf_eh_frame *ret, bool *is_found)
{
	const struct elf_section *section = elf_file_find_section(file, ".eh_frame");
	if (!section)
		return find_by_header(file, ret, is_found);
	*ret = (struct elf_eh_frame){
		.vaddr = section->addr, .offset = section->offset, .size = section->size};
	*is_found = true;
	return NULL;
}

static struct err *elf_eh_frame_read_row(const struct elf_file *file, const struct header *header,
	uint32_t row, uint64_t *start, uint64_t *entry)
{
	uint8_t bytes[ROW_BYTES];
	uint64_t offset = header->offset + HDR_BYTES + (uint64_t)row * ROW_BYTES;
	try(elf_file_read_into(file, offset, bytes, sizeof(bytes)));
	struct bytes_cursor cursor = bytes_cursor(bytes, sizeof(bytes));
	*start = header->vaddr + (uint64_t)(int32_t)bytes_get_u32(&cursor);
	*entry = header->vaddr + (uint64_t)(int32_t)bytes_get_u32(&cursor);
	return NULL;
}

struct err *elf_eh_frame_search(
	const struct elf_file *file, uint64_t address, uint64_t *entry, bool *is_found)
{
	struct header header = {0};
	try(elf_eh_frame_read_header(file, &header, is_found));
	if (!*is_found)
		return NULL;
	*is_found = false;
	for (uint32_t low = 0, high = header.rows; low < high;) {
		uint32_t mid = low + (high - low) / 2;
		uint64_t start, described;
		try(elf_eh_frame_read_row(file, &header, mid, &start, &described));
		if (start > address) {
			high = mid;
			continue;
		}
		low = mid + 1;
		*entry = described;
		*is_found = true;
	}
	return NULL;
}
