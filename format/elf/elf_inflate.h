/*
 * The contents of a section, unpacked when it is compressed (SHF_COMPRESSED, or
 * the older way of sections called .zdebug_).
 * A file of its own: only here does reading ELF need zstd.
 *
 * Sections are unpacked whole. The debug information of a large program is
 * compressed to less than half, and nearly all the time goes into unpacking
 * .debug_info: libdeflate, which wants all input and room for all output, takes half
 * of zlib's time for it. That is more than reading units while zlib is still
 * working on the next ones can win back, and references lead back to
 * earlier units anyway. So the room is what has to be cheap: see elf_scratch.h.
 * (381 MB of .debug_info, seconds of processor time: libdeflate 1.0, zlib 2.1,
 * and for the pages of the room 0.3, or 1.8 on a disk.)
 *
 * Source: System V gABI, chapter 4, "Section Compression".
 */
#ifndef EBPROF_ELF_INFLATE_H
#define EBPROF_ELF_INFLATE_H

#include <stdint.h>

#include "format/base/err.h"
#include "format/elf/elf_file.h"
#include "format/elf/elf_map.h"

/*
 * *ret is yours, *len its bytes; a NUL follows them. ERR_FORMAT for damage,
 * ERR_UNSUPPORTED for more than `max` bytes and for an unknown compression.
 */
struct err *elf_inflate_section(const struct elf_file *file, const struct elf_section *section,
	uint64_t max, uint8_t **ret, uint64_t *len) ERR_MUST_CHECK;

/* The same into what may become a file, and out of a mapping: for the report alone, and for much;
 * ERR_UNSUPPORTED also for more than the budget has left, which may be NULL.
 */
struct err *elf_inflate_map(const struct elf_file *file, const struct elf_section *section,
	uint64_t max, struct elf_budget *budget, struct elf_map *ret) ERR_MUST_CHECK;
/* The same for the bytes of a section that begin with a compression header. */
struct err *elf_inflate_bytes(const uint8_t *bytes, uint64_t len, uint64_t max, uint8_t **ret,
	uint64_t *ret_len) ERR_MUST_CHECK;

#endif
