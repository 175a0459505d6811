/*
 * One file that may hold an object's symbols: opening it, and judging whether it
 * is the right one. The first thing that is known decides: the build ID, the
 * checksum that .gnu_debuglink has for it, size and time of change.
 */
#ifndef EBPROF_DEBUG_FILE_H
#define EBPROF_DEBUG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/elf/elf_file.h"
#include "report/model/debug_attempt.h"

struct regular_file_rules;

struct debug_identity {
	const uint8_t *build_id; /* borrowed */
	size_t build_id_len;     /* 0: there is none */
	bool has_crc;
	uint32_t crc;
	uint64_t size_bytes, mtime_ns; /* 0 and 0: unknown */
	bool may_be_packed;            /* see packed_file.h */
};

/*
 * Opens regular files only, as the rules say: the path comes from the recording. With
 * DEBUG_ACCEPTED, *fd and *elf are yours, and *fd must stay open as long as *elf.
 */
enum debug_verdict debug_file_open(const char *path, const struct regular_file_rules *rules,
	const struct debug_identity *identity, int *fd, struct elf_file **elf);

/* Whether it has functions and lines. */
bool debug_file_has_dwarf(struct elf_file *elf);

#endif
