/*
 * Where a file keeps its GNU build ID: in a note of a PT_NOTE, else of an SHT_NOTE section
 * (relocatable files; separate debug files, whose segments hold nothing).
 *
 * The recorder looks for it on its main loop, so the search has a budget for the whole file. Real
 * files have a handful of notes, and relocatable ones that of the build ID among the first
 * sections.
 *
 * Source: System V gABI, "Note Section"; ld(1), --build-id.
 */
#ifndef EBPROF_ELF_BUILD_ID_H
#define EBPROF_ELF_BUILD_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/elf/elf_file.h"

enum {
	/* Of a whole file: */
	ELF_BUILD_ID_PLACES_MAX = 64,     /* segments and sections of notes */
	ELF_BUILD_ID_BYTES_MAX = 1 << 20, /* of notes and of section headers */
};

struct elf_note_range {
	uint64_t offset, len; /* bytes of the file; unchecked */
};

struct elf_note_places {
	const struct elf_note_range *segments; /* the PT_NOTEs */
	size_t nr_segments;
	uint64_t headers_offset, nr_headers; /* of sections */
};

struct elf_build_id {
	uint8_t bytes[ELF_BUILD_ID_MAX];
	size_t len;       /* 0: none was found */
	bool is_given_up; /* ... in as much as the budget allows */
};

struct elf_build_id elf_build_id_search(
	const struct elf_file *file, const struct elf_note_places *places);

#endif
