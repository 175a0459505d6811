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

static uint32_t group_of(const struct tally_entry *entry)
{
	return entry->group;
}

static uint32_t stack_of(const struct tally_entry *entry)
{
	return entry->stack;
}

/* A counting sort; what remains to do takes no lookups, so the index goes. */
static void sort_by(
	struct tally *tally, uint32_t (*key)(const struct tally_entry *entry), size_t nr_keys)
{
	map_deinit(&tally->by_key);
	size_t count = tally->entries.len;
	CLEANUP_FREE size_t *starts = mem_zalloc_array(nr_keys + 1, sizeof(*starts));
	struct tally_entry *sorted = mem_zalloc_array(count, sizeof(*sorted));
	vec_each(&tally->entries, entry)
		starts[key(entry) + 1]++;
	for (size_t i = 0; i < nr_keys; i++)
		starts[i + 1] += starts[i];
	vec_each(&tally->entries, entry)
		sorted[starts[key(entry)]++] = *entry;
	mem_free(tally->entries.data);
	tally->entries.data = sorted;
	tally->entries.cap = count;
}

void tally_sort_by_stack(struct tally *tally, size_t nr_stacks)
{
	sort_by(tally, stack_of, nr_stacks);
}

void tally_sort_by_group(struct tally *tally, size_t nr_groups)
{
	sort_by(tally, group_of, nr_groups);
}

void tally_deinit(struct tally *tally)
{
	vec_deinit(&tally->entries);
	map_deinit(&tally->by_key);
}
