/*
 * The debug information of the running kernel that was recorded: a vmlinux of
 * its build ID. Where it runs changes with every boot (KASLR), so offsets count
 * from _text, in the recording as in the file.
 */
#ifndef EBPROF_KERNEL_FILE_H
#define EBPROF_KERNEL_FILE_H

#include "report/model/profile.h"
#include "report/name/symbol/symbol_file.h"

struct kernel_file {
	struct symbol_file file; /* with debug information, unless `file.debug` is NULL */
	uint64_t base;           /* the virtual address in the file of the object's offset 0 */
};

/*
 * Looks where distributions and kernel builds put it, below options->symfs. Fills *ret in any
 * case; false when there is none.
 */
bool kernel_file_find(const struct profile *profile, const struct profile_object *object,
	const struct symbol_file_options *options, struct kernel_file *ret);

/* The recorded kernel's, fit to be part of a path; NULL when it is not known. */
const char *kernel_file_release(const struct profile *profile);

void kernel_file_deinit(struct kernel_file *file);

#endif
