/*
 * .gnu_debuglink: the name of a stripped file's debug file, and its checksum.
 *
 * Source: GDB manual, "Debugging Information in Separate Files".
 */
#ifndef EBPROF_DEBUG_LINK_H
#define EBPROF_DEBUG_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "format/elf/elf_file.h"

struct debug_link {
	char name[256]; /* without a folder, unless it is forged */
	uint32_t crc;
};

/* False when the file has none that can be read. */
bool debug_link_read(struct elf_file *elf, struct debug_link *ret);

/* Whether the name is one: a path would lead out of the folders that are searched. */
bool debug_link_is_plain(const struct debug_link *link);

/* Whether a whole regular file has this CRC-32 (that of zlib). */
bool debug_link_is_crc(int fd, uint32_t crc);

#endif
