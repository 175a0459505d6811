#include "format/elf/elf_blocks.h"

#include "format/base/mem.h"
#include "format/elf/elf_map.h"

enum {
	BLOCK_BYTES = 12 << 10,
	/* Behind each block stands the beginning of the next, so that no view is cut in two. */
	SLOT_BYTES = BLOCK_BYTES + ELF_BLOCKS_VIEW_MAX,
	SLOTS = 256,
};

struct slot {
	uint8_t *bytes; /* NULL: never used */
	uint64_t block;
	size_t len;
};

struct elf_blocks {
	const struct elf_file *file;
	uint64_t offset, len;
	bool is_mapped;
	struct elf_map map; /* instead of slots */
	struct slot slots[SLOTS];
};

struct err *elf_blocks_create(
	const struct elf_file *file, uint64_t offset, uint64_t len, struct elf_blocks **ret)
{
	uint64_t size = elf_file_size(file);
	if (offset > size || len > size - offset)
		return err_new(ERR_FORMAT, "%llu bytes at offset %#llx are not in a file of %llu",
			(unsigned long long)len, (unsigned long long)offset,
			(unsigned long long)size);
	struct elf_blocks *blocks = mem_zalloc(sizeof(*blocks));
	blocks->file = file;
	blocks->offset = offset;
	blocks->len = len;
	*ret = blocks;
	return NULL;
}

struct err *elf_blocks_map(
	const struct elf_file *file, uint64_t offset, uint64_t len, struct elf_blocks **ret)
{
	struct elf_map map;
	try(elf_map_range(file, offset, len, &map));
	struct elf_blocks *blocks = mem_zalloc(sizeof(*blocks));
	blocks->len = len;
	blocks->is_mapped = true;
	blocks->map = map;
	*ret = blocks;
	return NULL;
}

void elf_blocks_destroy(struct elf_blocks *blocks)
{
	if (!blocks)
		return;
	if (blocks->is_mapped)
		elf_map_release(&blocks->map);
	for (size_t i = 0; i < SLOTS; i++)
		mem_free(blocks->slots[i].bytes);
	mem_free(blocks);
}

static void elf_blocks_fill(struct elf_blocks *blocks, struct slot *slot, uint64_t block)
{
	uint64_t start = block * BLOCK_BYTES, left = blocks->len - start;
	if (!slot->bytes)
		slot->bytes = mem_alloc(SLOT_BYTES);
	slot->block = block;
	slot->len = left < SLOT_BYTES ? (size_t)left : SLOT_BYTES;
	struct err *err =
		elf_file_read_into(blocks->file, blocks->offset + start, slot->bytes, slot->len);
	if (err)
		slot->len = 0;
	err_destroy(err);
}

const uint8_t *elf_blocks_mapped(const struct elf_blocks *blocks)
{
	return blocks->is_mapped ? blocks->map.bytes : NULL;
}

const uint8_t *elf_blocks_view(struct elf_blocks *blocks, uint64_t at, size_t *len)
{
	*len = 0;
	if (at >= blocks->len)
		return NULL;
	if (blocks->is_mapped) {
		*len = (size_t)(blocks->len - at);
		return blocks->map.bytes + at;
	}
	uint64_t block = at / BLOCK_BYTES;
	struct slot *slot = &blocks->slots[block % SLOTS];
	if (!slot->bytes || slot->block != block)
		elf_blocks_fill(blocks, slot, block);
	size_t into = (size_t)(at % BLOCK_BYTES);
	if (into >= slot->len)
		return NULL;
	*len = slot->len - into;
	return slot->bytes + into;
}
