#include "report/write/export/tally.h"

#include "format/base/mem.h"

enum {
	FEW_ENTRIES = 1 << 20 /* that need not be added up before the end */
};

static uint32_t tally_group_of(const struct tally_entry *entry)
{
	return entry->group;
}

static uint32_t stack_of(const struct tally_entry *entry)
{
	return entry->stack;
}

/* A counting sort: the order of equal ones stays. */
static void sort_by(uint32_t (*key)(const struct tally_entry *entry),
	const struct tally_entry *entries, size_t count, struct tally_entry *sorted)
{
	uint32_t largest = 0;
	for (size_t i = 0; i < count; i++)
		largest = key(&entries[i]) > largest ? key(&entries[i]) : largest;
	CLEANUP_FREE size_t *ends = mem_zalloc_array((size_t)largest + 1, sizeof(*ends));
	for (size_t i = 0; i < count; i++)
		ends[key(&entries[i])]++;
	for (size_t i = 0; i < largest; i++)
		ends[i + 1] += ends[i];
	for (size_t i = count; i--;)
		sorted[--ends[key(&entries[i])]] = entries[i];
}

static size_t add_up(struct tally_entry *entries, size_t count)
{
	size_t last = 0;
	for (size_t i = 1; i < count; i++) {
		if (entries[i].stack == entries[last].stack &&
			entries[i].group == entries[last].group) {
			entries[last].samples += entries[i].samples;
			entries[last].value += entries[i].value;
		} else {
			entries[++last] = entries[i];
		}
	}
	return count ? last + 1 : 0;
}

void tally_finish(struct tally *tally)
{
	size_t count = tally->entries.len;
	CLEANUP_FREE struct tally_entry *by_group = mem_alloc(count * sizeof(*by_group));
	sort_by(tally_group_of, tally->entries.data, count, by_group);
	sort_by(stack_of, by_group, count, tally->entries.data);
	tally->nr_distinct = tally->entries.len = add_up(tally->entries.data, count);
}

void tally_add(struct tally *tally, uint32_t group, uint32_t stack, uint64_t value)
{
	size_t count = tally->entries.len;
	if (count == tally->entries.cap && count >= FEW_ENTRIES && count / 2 >= tally->nr_distinct)
		tally_finish(tally);
	vec_push(&tally->entries, (struct tally_entry){
					  .group = group,
					  .stack = stack,
					  .samples = 1,
					  .value = value,
				  });
}

void tally_deinit(struct tally *tally)
{
	vec_deinit(&tally->entries);
	tally->nr_distinct = 0;
}
