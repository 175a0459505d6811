/* A variable that each thread has its own copy of, found by the code of a function that reads it.
 */
#ifndef EBPROF_THREAD_VARIABLE_H
#define EBPROF_THREAD_VARIABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/elf/elf_dynsym.h"

enum thread_variable_kind {
	THREAD_VARIABLE_AT,      /* so far from the thread's pointer */
	THREAD_VARIABLE_IN_SLOT, /* module and offset are there, as __tls_get_addr() takes them */
	/* That distance is there, or the address of such a slot: descriptors have either. */
	THREAD_VARIABLE_BY_DISTANCE,
};

struct thread_variable {
	enum thread_variable_kind kind;
	uint64_t place; /* the distance, or the virtual address of what has the other */
	uint32_t more;  /* to be added to the offset or the distance that is there */
};

enum {
	THREAD_VARIABLE_BEHIND_BYTES = 24, /* of an instruction that is looked at */
};

/* False: the function's first instructions read none. Of x86-64 and arm64. */
bool thread_variable_find(
	struct elf_file *elf, const struct elf_dynsym *function, struct thread_variable *ret);
/*
 * The same of machine code that is at the virtual address: an access that begins within `len`
 * bytes. THREAD_VARIABLE_BEHIND_BYTES more can be read.
 */
bool thread_variable_of_code(uint16_t elf_machine, const uint8_t *code, size_t len,
	uint64_t address, struct thread_variable *ret);

#endif
