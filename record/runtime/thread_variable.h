/* A variable that each thread has its own copy of, found by the code of a function that reads it.
 */
#ifndef EBPROF_THREAD_VARIABLE_H
#define EBPROF_THREAD_VARIABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/elf/elf_dynsym.h"

struct thread_variable {
	/* The slot's virtual address; or how far from the thread's pointer the variable is. */
	uint64_t place;
	bool is_in_slot; /* module and offset, as __tls_get_addr() takes them */
	uint32_t more;   /* to be added to the slot's offset */
};

enum {
	THREAD_VARIABLE_BEHIND_BYTES = 24, /* of an instruction that is looked at */
};

/* False: the function's first instructions read none. x86-64. */
bool thread_variable_find(
	struct elf_file *elf, const struct elf_dynsym *function, struct thread_variable *ret);
/*
 * The same of machine code that is at the virtual address: an access that begins within `len`
 * bytes. THREAD_VARIABLE_BEHIND_BYTES more can be read.
 */
bool thread_variable_of_code(
	const uint8_t *code, size_t len, uint64_t address, struct thread_variable *ret);

#endif
