/*
 * Functions as viewers tell them apart: by name and object, as reports do,
 * those of most frames first.
 */
#ifndef EBPROF_FUNCTION_TABLE_H
#define EBPROF_FUNCTION_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/str.h"
#include "report/model/profile.h"

struct function_table_entry {
	const char *name;
	const char *system_name; /* mangled */
	uint32_t object;
	const char *file; /* where it is declared, or at least has code; NULL: unknown */
	uint32_t line;    /* of the declaration; 0: unknown */
	bool is_kernel;
};

struct function_table {
	VEC(struct function_table_entry) entries; /* of the functions in stacks that have samples */
	uint32_t *of_frame; /* entry of each frame in such a stack; the last: of no stack at all */
};

void function_table_init(struct function_table *table, const struct profile *profile);
void function_table_deinit(struct function_table *table);

/* Its name, with the ending of folded stacks where it is the kernel's: foo_[k]. */
void function_table_put_name(const struct function_table_entry *entry, struct str *out);

#endif
