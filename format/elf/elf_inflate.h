/*
 * The contents of a section, unpacked when it is compressed (SHF_COMPRESSED, or
 * the older way of sections called .zdebug_).
 * A file of its own: only here does reading ELF need zlib.
 *
 * Source: System V gABI, chapter 4, "Section Compression".
 */
#ifndef EBPROF_ELF_INFLATE_H
#define EBPROF_ELF_INFLATE_H

#include <stdint.h>

#include "format/base/err.h"
#include "format/elf/elf_file.h"

/*
 * *ret is yours, *len its bytes; a NUL follows them. ERR_FORMAT for damage,
 * ERR_UNSUPPORTED for more than `max` bytes and for compression other than zlib's.
 */
struct err *elf_inflate_section(const struct elf_file *file, const struct elf_section *section,
	uint64_t max, uint8_t **ret, uint64_t *len) ERR_MUST_CHECK;

#endif
