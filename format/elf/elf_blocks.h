/*
 * A part of a file that is too large to be read as a whole: bytes at any place
 * of it, through a cache of blocks whose memory does not grow with the part.
 */
#ifndef EBPROF_ELF_BLOCKS_H
#define EBPROF_ELF_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/elf/elf_file.h"

enum {
	ELF_BLOCKS_VIEW_MAX = 4096,
};

struct elf_blocks;

/* `len` bytes at `offset` of the file, which is borrowed. ERR_FORMAT when they are not in it. */
struct err *elf_blocks_create(const struct elf_file *file, uint64_t offset, uint64_t len,
	struct elf_blocks **ret) ERR_MUST_CHECK;

/* The same over a mapping (see elf_map.h): for the report, which reads much of the part. */
struct err *elf_blocks_map(const struct elf_file *file, uint64_t offset, uint64_t len,
	struct elf_blocks **ret) ERR_MUST_CHECK;

/* All of a mapped range, NULL where it is not mapped. */
const uint8_t *elf_blocks_mapped(const struct elf_blocks *blocks);
void elf_blocks_destroy(struct elf_blocks *blocks);

/*
 * The bytes at `at`, at least ELF_BLOCKS_VIEW_MAX unless the part ends before: *len says how many.
 * NULL (and 0) behind its end, and when reading fails.
 * Valid until the next call.
 */
const uint8_t *elf_blocks_view(struct elf_blocks *blocks, uint64_t at, size_t *len);

#endif
