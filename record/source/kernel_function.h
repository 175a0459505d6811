/* Where functions of the kernel are, by /proc/kallsyms. */
#ifndef EBPROF_KERNEL_FUNCTION_H
#define EBPROF_KERNEL_FUNCTION_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/event.h"

struct kernel_function {
	const char *name;
	bool is_there;
	struct event_function at; /* zeros where addresses are hidden */
};

/* Fills in what is known of those of these names. */
void kernel_functions_find(struct kernel_function *functions, size_t count);

#endif
