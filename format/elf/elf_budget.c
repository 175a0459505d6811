#include "format/elf/elf_budget.h"

#include <stddef.h>

void elf_budget_init(struct elf_budget *budget, uint64_t bytes)
{
	atomic_init(&budget->left, bytes);
	atomic_init(&budget->nr_refused, 0);
}

bool elf_budget_take(struct elf_budget *budget, uint64_t bytes)
{
	if (!budget)
		return true;
	uint64_t left = atomic_load(&budget->left);
	while (bytes <= left)
		if (atomic_compare_exchange_weak(&budget->left, &left, left - bytes))
			return true;
	atomic_fetch_add(&budget->nr_refused, 1);
	return false;
}

void elf_budget_give(struct elf_budget *budget, uint64_t bytes)
{
	if (budget)
		atomic_fetch_add(&budget->left, bytes);
}

void elf_budget_refuse(struct elf_budget *budget, uint64_t bytes)
{
	elf_budget_give(budget, bytes);
	if (budget)
		atomic_fetch_add(&budget->nr_refused, 1);
}

uint64_t elf_budget_refusals(const struct elf_budget *budget)
{
	return budget ? atomic_load(&budget->nr_refused) : 0;
}
