#include "record/sleeper_counts.h"

#include "record/task/mapping_table.h"

static uint32_t find_runtimes(const struct rule_source *rules, const struct process *process)
{
	struct mapping_cursor cursor = {0};
	uint32_t runtimes = 0;
	for (const struct mapping *mapping;
		rules && (mapping = mapping_table_next(&process->mappings, &cursor));)
		runtimes |= 1U << rule_source_runtime(rules, mapping->object);
	return runtimes & ~(1U << RUNTIME_NONE);
}

/* Of thousands of threads one after the other it looks through the mappings once. */
static uint32_t runtimes_of_sleeper(struct sleeper_counts *counts, const struct rule_source *rules,
	const struct process *process, uint64_t time_ns)
{
	struct sleeping_process *last = &counts->last;
	if (last->time_ns != time_ns || last->image != process->image)
		*last = (struct sleeping_process){
			time_ns, process->image, find_runtimes(rules, process)};
	return last->runtimes;
}

void sleeper_counts_add(struct sleeper_counts *counts, const struct rule_source *rules,
	const struct process *process, uint64_t time_ns)
{
	uint32_t runtimes = runtimes_of_sleeper(counts, rules, process, time_ns);
	vec_each(&counts->list, count)
		if (count->runtimes == runtimes) {
			count->samples++;
			return;
		}
	vec_push(&counts->list, (struct sleeper_count){runtimes, 1});
}

uint64_t sleeper_counts_take(struct sleeper_counts *counts, uint32_t runtimes)
{
	uint64_t samples = 0;
	vec_each(&counts->list, count)
		if (runtimes == UINT32_MAX || count->runtimes & runtimes)
			samples += count->samples;
	counts->list.len = 0;
	return samples;
}

void sleeper_counts_deinit(struct sleeper_counts *counts)
{
	vec_deinit(&counts->list);
}
