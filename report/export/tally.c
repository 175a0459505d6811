#include "report/export/tally.h"

#include "format/base/mem.h"

void tally_add(struct tally *tally, uint32_t group, uint32_t stack, uint64_t value)
{
	bool added;
	uint64_t *index = map_put(&tally->by_key, (uint64_t)group << 32 | stack, &added);
	if (added) {
		*index = tally->entries.len;
		vec_push(&tally->entries, (struct tally_entry){.group = group, .stack = stack});
	}
	struct tally_entry *entry = &tally->entries.data[*index];
	entry->samples++;
	entry->value += value;
}

/* A counting sort; what remains to do takes no lookups, so the index goes. */
void tally_sort_by_stack(struct tally *tally, size_t nr_stacks)
{
	map_deinit(&tally->by_key);
	size_t count = tally->entries.len;
	CLEANUP_FREE size_t *starts = mem_zalloc_array(nr_stacks + 1, sizeof(*starts));
	struct tally_entry *sorted = mem_zalloc_array(count, sizeof(*sorted));
	vec_each(&tally->entries, entry)
		starts[entry->stack + 1]++;
	for (size_t i = 0; i < nr_stacks; i++)
		starts[i + 1] += starts[i];
	vec_each(&tally->entries, entry)
		sorted[starts[entry->stack]++] = *entry;
	mem_free(tally->entries.data);
	tally->entries.data = sorted;
	tally->entries.cap = count;
}

void tally_deinit(struct tally *tally)
{
	vec_deinit(&tally->entries);
	map_deinit(&tally->by_key);
}
