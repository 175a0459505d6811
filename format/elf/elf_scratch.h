/*
 * Room for what is unpacked: a file without a name, gone with its last user.
 *
 * In memory a file costs a fifth of what a file system asks for each of its
 * pages, so it is one of memory where that leaves three times as much to everybody
 * else, by the machine and by the control groups that the process is in. Otherwise it is in
 * TMPDIR, or else /var/tmp: pages that the kernel can write back and take away.
 */
#ifndef EBPROF_ELF_SCRATCH_H
#define EBPROF_ELF_SCRATCH_H

#include <stdint.h>

/* For reading and writing, `len` bytes long; -1 when there is no room. */
int elf_scratch_open(uint64_t len);

#endif
