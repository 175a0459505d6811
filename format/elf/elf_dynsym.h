/*
 * Dynamic symbols by name: what a program or library shows to others, also when
 * it is stripped. Read, not mapped, so that it serves the recorder.
 *
 * Source: System V gABI, "Symbol Table".
 */
#ifndef EBPROF_ELF_DYNSYM_H
#define EBPROF_ELF_DYNSYM_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/elf/elf_file.h"

struct elf_dynsym {
	uint64_t address; /* virtual; 0: there is no such symbol, or not in this file */
	uint64_t size;    /* bytes */
};

/*
 * Fills ret[i] for names[i]. Where the first name is missing the others are not looked for.
 * ERR_FORMAT when the tables contradict themselves or lie outside of the file.
 */
struct err *elf_dynsym_find(struct elf_file *file, const char *const *names, size_t count,
	struct elf_dynsym *ret) ERR_MUST_CHECK;

#endif
