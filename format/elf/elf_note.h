/* The notes of a section or segment, one after another: gABI, "Note Section". */
#ifndef EBPROF_ELF_NOTE_H
#define EBPROF_ELF_NOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/bytes.h"

struct elf_note {
	uint32_t type, name_len, desc_len;
	const uint8_t *name, *desc; /* borrowed from the bytes */
};

/* False: there are no more, or what follows is none. */
bool elf_note_next(struct bytes_cursor *cursor, struct elf_note *ret);
bool elf_note_is(const struct elf_note *note, const char *owner, uint32_t type);

#endif
