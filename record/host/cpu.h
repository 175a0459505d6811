/* Which CPUs there are, and what they are called. */
#ifndef EBPROF_CPU_H
#define EBPROF_CPU_H

#include <stdbool.h>
#include <stddef.h>

#include "format/base/err.h"

struct cpu_list {
	int *data;
	size_t len, cap;
};

/* Appends a CPU that the list lacks. */
void cpu_list_add(struct cpu_list *cpus, int cpu);
bool cpu_list_has(const struct cpu_list *cpus, int cpu);
/* Appends the CPUs of a kernel list: "0-3,8". */
struct err *cpu_list_parse(const char *text, struct cpu_list *ret) ERR_MUST_CHECK;
/* The CPUs that are online now. */
struct err *cpu_list_online(struct cpu_list *ret) ERR_MUST_CHECK;

#endif
