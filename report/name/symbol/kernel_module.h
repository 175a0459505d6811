/*
 * The debug information of a module of the recorded kernel. Modules are
 * relocatable files: where the kernel has put each of their sections follows
 * from the symbols that were captured, which the file has as well.
 */
#ifndef EBPROF_KERNEL_MODULE_H
#define EBPROF_KERNEL_MODULE_H

#include "report/model/profile.h"
#include "report/name/symbol/symbol_file.h"

/* One whose place is known. */
struct kernel_module_section {
	uint64_t offset, size; /* in the module, as frames count */
	uint64_t address;      /* as elf_relocate.h lays the file out */
};

struct kernel_module_file {
	struct symbol_file file; /* with debug information, unless `file.debug` is NULL */
	VEC(struct kernel_module_section) sections;
};

/*
 * Looks below the folders of debug symbols and of modules, below options->symfs. Fills *ret in any
 * case; false when there is no file of this build.
 */
bool kernel_module_find(const struct profile *profile, uint32_t object,
	const struct symbol_file_options *options, struct kernel_module_file *ret);

/* The file's address of a frame's offset, 0 when the place of its section is not known. */
uint64_t kernel_module_address(const struct kernel_module_file *module, uint64_t offset);

void kernel_module_deinit(struct kernel_module_file *module);

#endif
