/*
 * The kernel's own code: its text, modules and symbols. Addresses are stored as
 * offsets from the kernel's _text or a module's base, so KASLR is gone, and the
 * symbols that samples need go into the recording: kallsyms cannot be read later.
 */
#ifndef EBPROF_KERNEL_H
#define EBPROF_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/object.h"

struct kernel_symbol {
	uint64_t address, size;
	uint32_t name;          /* offset in kernel.names */
	uint32_t written_epoch; /* of the file that has it already; see emitter.h */
};

struct kernel_module {
	uint64_t start, end;
	struct object *object;
};

struct kernel {
	bool is_loaded;
	bool is_hidden; /* kptr_restrict or a missing CAP_SYSLOG zeroes all addresses */
	struct object *object;
	VEC(struct kernel_module) modules; /* by address */
	VEC(struct kernel_symbol) symbols; /* functions, by address */
	struct str names;
};

/* Reads kallsyms and the modules, once; about 40 ms, so only when a kernel frame turns up. */
void kernel_load(struct kernel *kernel, struct object_table *objects);
void kernel_deinit(struct kernel *kernel);

/* Which object the address is in, and where. */
struct object *kernel_resolve(const struct kernel *kernel, uint64_t address, uint64_t *offset);
/* The function at or before the address; NULL when there is none. */
struct kernel_symbol *kernel_find_symbol(struct kernel *kernel, uint64_t address);
const char *kernel_symbol_name(const struct kernel *kernel, const struct kernel_symbol *symbol);

#endif
