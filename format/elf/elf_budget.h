/*
 * How many bytes may be unpacked at a time, over all sections and files that share the limit: each
 * section has one of its own, but a program may lead to any number of them. For any threads.
 */
#ifndef EBPROF_ELF_BUDGET_H
#define EBPROF_ELF_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct elf_budget {
	_Atomic uint64_t left;
	_Atomic uint64_t nr_refused;
};

void elf_budget_init(struct elf_budget *budget, uint64_t bytes);

/* A NULL budget has no limit. What was taken is to be given back. */
bool elf_budget_take(struct elf_budget *budget, uint64_t bytes);
void elf_budget_give(struct elf_budget *budget, uint64_t bytes);

/* What was taken could not be had all the same. */
void elf_budget_refuse(struct elf_budget *budget, uint64_t bytes);

/* How often it was refused so far. */
uint64_t elf_budget_refusals(const struct elf_budget *budget);

#endif
