/*
 * The kernel's own code: its text and its modules. Addresses are stored as
 * offsets from the kernel's _text or a module's base, so KASLR is gone, and the
 * symbols that samples need go into the recording: kallsyms cannot be read later.
 *
 * To find the object of an address takes little and is done at once;
 * names take long and are left to kernel_symbols.h.
 */
#ifndef EBPROF_KERNEL_H
#define EBPROF_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "record/host/bpf_program.h"
#include "record/task/kernel_symbols.h"
#include "record/task/object.h"

struct kernel_module {
	uint64_t start, end;
	struct object *object;
	bool is_identified; /* its build ID was looked for */
};

/* A function of a BPF program. Programs that are loaded again share an object: one tag, one code.
 */
struct kernel_program {
	uint64_t start, end;
	uint32_t id;           /* 0: not known */
	char *name;            /* owned: as the kernel told it when it was loaded; or NULL */
	struct object *object; /* NULL: its name was not asked for yet, or cannot be had */
	bool are_lines_read;
	struct bpf_lines lines;
};

struct kernel {
	struct object_table *objects; /* borrowed; NULL until kernel_load() */
	struct object *object;
	bool is_hidden; /* kptr_restrict or a missing CAP_SYSLOG zeroes all addresses */
	VEC(struct kernel_module) modules;   /* by address */
	VEC(struct kernel_program) programs; /* the oldest first; later ones may take their place */
	uint64_t modules_read_ns;
	struct kernel_symbols symbols;
};

/* Looks where the kernel is, and its modules, once; less than a millisecond. */
void kernel_load(struct kernel *kernel, struct object_table *objects, uint64_t now_ns);
void kernel_deinit(struct kernel *kernel);

/* Code of that name stands at [start, start + length) from now on. After kernel_load(). */
void kernel_add_program(struct kernel *kernel, uint64_t start, uint64_t length, const char *name);

/*
 * The line that a place in a BPF program's object was compiled from; *file is borrowed. The first
 * time a program is asked for it is read: soon, while it is loaded. False: not known.
 */
bool kernel_program_line(struct kernel *kernel, const struct object *object, uint64_t offset,
	const char **file, uint32_t *line);

/*
 * Which object the address is in, and where. An address outside of all that is
 * known means new modules, perhaps: then they are read again, and the symbols
 * with them, at most once in a second.
 */
struct object *kernel_resolve(
	struct kernel *kernel, uint64_t address, uint64_t now_ns, uint64_t *offset);

/* ---- the parts of kernel_load() ---- */

/* From a text like /proc/modules, which is changed. True: there are some that were not known. */
bool kernel_take_modules(struct kernel *kernel, char *text);

#endif
