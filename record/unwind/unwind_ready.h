/*
 * Unwind rules of code that .NET's compiler made ahead of time (ReadyToRun): from the UNWIND_INFO
 * of its functions, which says what their prologues do. Epilogues are not described; they undo the
 * prologue in the reverse order, so they are found by the very bytes that they must have. On arm64
 * records of .xdata have all of it.
 */
#ifndef EBPROF_UNWIND_READY_H
#define EBPROF_UNWIND_READY_H

#include <stdbool.h>
#include <stdint.h>

#include "format/elf/elf_file.h"
#include "format/unwind/unwind_rule.h"

struct unwind_ready;

/* NULL: the file is no image with such code. */
struct unwind_ready *unwind_ready_open(struct elf_file *elf);
void unwind_ready_destroy(struct unwind_ready *ready);

uint32_t unwind_ready_count(const struct unwind_ready *ready);
/* [*start, *end) are addresses as the file's segments have them. False: the function makes no
 * sense. */
bool unwind_ready_function(
	struct unwind_ready *ready, uint32_t index, uint64_t *start, uint64_t *end);

/* The function that holds an address, without going through all. False: none does. */
bool unwind_ready_find(struct unwind_ready *ready, uint64_t address, uint32_t *index);

typedef void unwind_ready_on_rule(void *context, uint64_t address, const struct unwind_rule *rule);
/* Calls `on_rule` for each row of a function, by address; returns where its rules end. */
uint64_t unwind_ready_run(
	struct unwind_ready *ready, uint32_t index, unwind_ready_on_rule *on_rule, void *context);

#endif
