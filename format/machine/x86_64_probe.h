/* Where a breakpoint of the kernel's uprobes costs little, and where it is met once a call. */
#ifndef EBPROF_X86_64_PROBE_H
#define EBPROF_X86_64_PROBE_H

#include <stddef.h>
#include <stdint.h>

/* See struct machine. */
size_t x86_64_cheap_probe(const uint8_t *code, size_t len);
size_t x86_64_go_stack_check(const uint8_t *code, size_t len);

#endif
