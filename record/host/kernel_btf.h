/*
 * The kernel's types (BTF) that the BPF programs know too, and what these are made of: of 120,000
 * types some hundreds. libbpf places the programs' fields by them; it goes through all types it is
 * given once for each that it looks for, which takes 40 ms with the kernel's whole BTF.
 *
 * Pointers lead to nothing there, since no field is placed through one.
 *
 * Source: Documentation/bpf/btf.rst of Linux 6.18.
 */
#ifndef EBPROF_KERNEL_BTF_H
#define EBPROF_KERNEL_BTF_H

#include <stdbool.h>
#include <stddef.h>

#include "format/base/bytes.h"

struct btf;

/*
 * Appends, as a BTF of its own, those of the types in `bytes` that have the kind and the name of
 * one of `wanted`, where what stands behind ___ does not count. False: `bytes` are no BTF that is
 * understood; nothing was appended.
 */
bool kernel_btf_select(
	const void *bytes, size_t len, const struct btf *wanted, struct bytes_buf *ret);

/* The same of the running kernel's, written to the file. False: it cannot be read, or as above. */
bool kernel_btf_write(int fd, const struct btf *wanted);

#endif
