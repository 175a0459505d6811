/*
 * USDT probes: places that a program's author has marked, each by a no-op instruction and a note
 * that says where that is. The same probe may stand in several places. Read strictly, as all of
 * an ELF file is: the recorder does so as root.
 *
 * Sources: "User Space Probe Implementation" of the SystemTap wiki; <sys/sdt.h> of SystemTap 4.8.
 */
#ifndef EBPROF_ELF_STAPSDT_H
#define EBPROF_ELF_STAPSDT_H

#include <stdint.h>

#include "format/base/err.h"
#include "format/base/vec.h"
#include "format/elf/elf_file.h"

struct elf_stapsdt_probe {
	const char *provider, *name; /* borrowed from the list; never empty */
	const char *arguments;       /* "-4@%eax 8@8(%rsp)"; borrowed, "" for none */
	uint64_t offset;             /* in the file: of the instruction */
	/* In the file: of a u16 that counts who wants the probe, which the program looks at before
	 * it goes there. 0: it always does. */
	uint64_t semaphore_offset;
};

struct elf_stapsdt {
	VEC(struct elf_stapsdt_probe) probes; /* in the file's order */
	VEC(uint8_t *) notes;                 /* what the texts are borrowed from */
};

/*
 * Those of a file that is to be run; none is no error. What leads to no instruction of the file is
 * left out, and all that follows a note that is none. ERR_FORMAT when notes lie outside of the
 * file, or are too large.
 */
struct err *elf_stapsdt_read(struct elf_file *file, struct elf_stapsdt *ret) ERR_MUST_CHECK;
void elf_stapsdt_deinit(struct elf_stapsdt *list);

#endif
