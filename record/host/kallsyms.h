/*
 * /proc/kallsyms, a symbol a line: address, type as in nm, name, [module]. The
 * kernel's own come first, in the order of their addresses; those of modules,
 * BPF programs and trampolines follow in no order.
 */
#ifndef EBPROF_KALLSYMS_H
#define EBPROF_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kallsyms_symbol {
	uint64_t address; /* 0 when addresses are hidden: see kernel.h */
	const char *name; /* not terminated, gone after the call */
	size_t name_len;
	char type;
};

/* False: enough. */
typedef bool kallsyms_fn(void *context, const struct kallsyms_symbol *symbol);

/*
 * Calls fn for each line that makes sense. By hand and without stdio: formatting 100,000 lines
 * and more takes the kernel 40 ms, and reading them should not take as long again.
 */
void kallsyms_read(int fd, kallsyms_fn *fn, void *context);

/*
 * The address of _text, with which the kernel's own code begins, by the first lines; 0 when it is
 * hidden, and then *is_hidden.
 */
uint64_t kallsyms_read_base(int fd, bool *is_hidden);

/* Code, and no label in it: modules of arm64 and RISC-V list their mapping symbols here. */
bool kallsyms_is_function(const struct kallsyms_symbol *symbol);
bool kallsyms_has_name(const struct kallsyms_symbol *symbol, const char *name);

#endif
