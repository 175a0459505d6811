/* The emulated kernel's own memory: what stands nowhere in it cannot be read. */
#ifndef EBPROF_EMULATE_MEMORY_H
#define EBPROF_EMULATE_MEMORY_H

#include <stddef.h>

/* Zeroed, for as long as the test runs. Aligned as maple nodes have to be. */
void *emulate_kernel_memory(size_t bytes);
/* A variable of a program, which is the kernel's memory, too. One at a time. */
void emulate_program_variable(const void *place, size_t bytes);

#endif
