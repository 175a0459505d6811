/* A program of .NET that is a single file, made by hand: an executable with a build ID and the
 * mark, two forged images (forged_clr.h), of which a third is said to be in the second, a
 * compressed one, a file that is no image, and the list. */
#ifndef EBPROF_FORGED_BUNDLE_H
#define EBPROF_FORGED_BUNDLE_H

#include <elf.h>
#include <string.h>

#include "format/base/bytes.h"
#include "tests/unit/forged_clr.h"

enum {
	FORGED_BUNDLE_NOTE = 0x100,
	FORGED_BUNDLE_DATA = 0x180,
	FORGED_BUNDLE_PARTS_END = 0x1c0,
	FORGED_BUNDLE_FIRST = 0x1000,
	FORGED_BUNDLE_SECOND = 0x2000,
	FORGED_BUNDLE_LIST = 0x3000,
	FORGED_BUNDLE_ID_BYTES = 12,
};

static inline void forged_bundle_at(struct bytes_buf *out, size_t at)
{
	while (out->len < at)
		bytes_put_u8(out, 0);
}

static inline void forged_bundle_put_segment(
	struct bytes_buf *out, uint32_t type, uint32_t flags, uint64_t offset, uint64_t len)
{
	bytes_put_u32(out, type);
	bytes_put_u32(out, flags);
	bytes_put_u64(out, offset);
	bytes_put_u64(out, 0x10000 + offset);
	bytes_put_u64(out, 0x10000 + offset);
	bytes_put_u64(out, len);
	bytes_put_u64(out, len);
	bytes_put_u64(out, 0x1000);
}

static inline void forged_bundle_put_elf(struct bytes_buf *out)
{
	static const uint8_t mark[] = {0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b,
		0x93, 0x02, 0x14, 0xd7, 0xa0, 0x32, 0x13, 0xf5, 0xb9, 0xe6, 0xef, 0xae, 0x33, 0x18,
		0xee, 0x3b, 0x2d, 0xce, 0x24, 0xb3, 0x6a, 0xae};
	bytes_put(out, ELFMAG, SELFMAG);
	bytes_put(out, (uint8_t[]){ELFCLASS64, ELFDATA2LSB, EV_CURRENT}, 3);
	forged_bundle_at(out, EI_NIDENT);
	bytes_put_u16(out, ET_DYN);
	bytes_put_u16(out, EM_X86_64);
	bytes_put_u32(out, EV_CURRENT);
	bytes_put_u64(out, 0);
	bytes_put_u64(out, sizeof(Elf64_Ehdr));
	bytes_put_u64(out, 0);
	bytes_put_u32(out, 0);
	bytes_put_u16(out, sizeof(Elf64_Ehdr));
	bytes_put_u16(out, sizeof(Elf64_Phdr));
	bytes_put_u16(out, 3);
	bytes_put_u16(out, sizeof(Elf64_Shdr));
	bytes_put_u32(out, 0);
	forged_bundle_put_segment(out, PT_LOAD, PF_R | PF_X, 0, FORGED_BUNDLE_DATA);
	forged_bundle_put_segment(out, PT_LOAD, PF_R | PF_W, FORGED_BUNDLE_DATA,
		FORGED_BUNDLE_PARTS_END - FORGED_BUNDLE_DATA);
	forged_bundle_put_segment(out, PT_NOTE, PF_R, FORGED_BUNDLE_NOTE, 24);
	forged_bundle_at(out, FORGED_BUNDLE_NOTE);
	bytes_put_u32(out, 4);
	bytes_put_u32(out, 8);
	bytes_put_u32(out, NT_GNU_BUILD_ID);
	bytes_put(out, "GNU", 4);
	bytes_put(out, "build-id", 8);
	forged_bundle_at(out, FORGED_BUNDLE_DATA);
	bytes_put_u64(out, FORGED_BUNDLE_LIST);
	bytes_put(out, mark, sizeof(mark));
	forged_bundle_at(out, FORGED_BUNDLE_PARTS_END);
}

static inline void forged_bundle_put_entry(
	struct bytes_buf *out, uint64_t offset, uint64_t len, uint64_t packed_len, uint8_t type)
{
	bytes_put_u64(out, offset);
	bytes_put_u64(out, len);
	bytes_put_u64(out, packed_len);
	bytes_put_u8(out, type);
	bytes_put_blob(out, "a.dll", 5);
}

static inline struct bytes_buf forged_bundle_make(void)
{
	struct bytes_buf out = {0}, image = forged_clr_make();
	forged_bundle_put_elf(&out);
	forged_bundle_at(&out, FORGED_BUNDLE_FIRST);
	bytes_put(&out, image.data, image.len);
	forged_bundle_at(&out, FORGED_BUNDLE_SECOND);
	bytes_put(&out, image.data, image.len);
	forged_bundle_at(&out, FORGED_BUNDLE_LIST);
	bytes_put_u32(&out, 6);
	bytes_put_u32(&out, 0);
	bytes_put_u32(&out, 5);
	bytes_put_blob(&out, "twelve bytes", FORGED_BUNDLE_ID_BYTES);
	forged_bundle_at(&out, out.len + 40);
	forged_bundle_put_entry(&out, FORGED_BUNDLE_SECOND, image.len, 0, 1);
	forged_bundle_put_entry(&out, FORGED_BUNDLE_FIRST, image.len, 0, 1);
	forged_bundle_put_entry(&out, FORGED_BUNDLE_SECOND + 0x100, 0x100, 0, 1);
	forged_bundle_put_entry(&out, FORGED_BUNDLE_FIRST, 0x1000, 0x100, 1);
	forged_bundle_put_entry(&out, FORGED_BUNDLE_FIRST, 0x100, 0, 4);
	bytes_buf_deinit(&image);
	return out;
}

#endif
