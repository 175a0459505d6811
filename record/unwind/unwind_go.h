/*
 * How to unwind Go's own code, which has no call frame information: by the
 * table of stack pointer changes, by frame pointers, and by knowing the few
 * functions of its runtime where stacks begin or are switched. x86-64.
 *
 * Sources: cmd/internal/obj/x86/obj6.go (where a frame saves rbp),
 * runtime/asm_amd64.s and sys_linux_amd64.s, of Go 1.19 and 1.24.
 */
#ifndef EBPROF_UNWIND_GO_H
#define EBPROF_UNWIND_GO_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/event.h"
#include "format/base/err.h"
#include "format/elf/elf_file.h"

struct unwind_go;

/* *ret is NULL for a file that is none of Go's. Errors as go_pclntab_open(). */
struct err *unwind_go_open(struct elf_file *elf, struct unwind_go **ret) ERR_MUST_CHECK;
void unwind_go_destroy(struct unwind_go *go);

uint32_t unwind_go_count(const struct unwind_go *go);
/* [start, end) of a function, virtual addresses. False when there is nothing to be said of it. */
bool unwind_go_function(const struct unwind_go *go, uint32_t index, uint64_t *start, uint64_t *end);

/* From `address` on, until the next call or the function's end. The first is at its start. */
typedef void unwind_go_on_rule(void *context, uint64_t address, const struct unwind_rule *rule);

/* Returns where its rules end, as cfi_reader_run(). */
uint64_t unwind_go_run(
	struct unwind_go *go, uint32_t index, unwind_go_on_rule *on_rule, void *context);

#endif
