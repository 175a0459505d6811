/*
 * BPF programs that are loaded: their functions, where these were compiled to, and the lines they
 * were compiled from. All of it is gone with the program, so it is read while recording.
 *
 * Source: struct bpf_prog_info of <linux/bpf.h>; names: bpf_get_prog_name() in the kernel's
 * kernel/bpf/core.c.
 */
#ifndef EBPROF_BPF_PROGRAM_H
#define EBPROF_BPF_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/str.h"
#include "format/base/vec.h"

struct bpf_program_function {
	uint32_t id; /* of its program */
	uint64_t start, length;
};

typedef void bpf_program_fn(void *context, const struct bpf_program_function *function);

/* Calls fn for each function of all programs. For nothing without CAP_SYS_ADMIN. */
void bpf_program_each(bpf_program_fn *fn, void *context);
/* Appends its name as kallsyms has it, bpf_prog_TAG_NAME. False: the program is gone. */
bool bpf_program_name(const struct bpf_program_function *function, struct str *ret);

/* Whether a function of a program that this process has open is there. */
bool bpf_program_is_own(uint64_t start);

struct bpf_line {
	uint64_t address; /* from here to the next one */
	uint32_t file;    /* in `files` */
	uint32_t line;
};

struct bpf_lines {
	VEC(struct bpf_line) list; /* ascending, once it was sorted */
	struct strtab files;
};

/* Those of its program, id 0: of any that has a function there; none where that is gone. */
void bpf_lines_read(const struct bpf_program_function *function, struct bpf_lines *ret);
void bpf_lines_deinit(struct bpf_lines *lines);

void bpf_lines_sort(struct bpf_lines *lines);
/* The line that the address is in; NULL: before all of them. */
const struct bpf_line *bpf_lines_find(const struct bpf_lines *lines, uint64_t address);

#endif
