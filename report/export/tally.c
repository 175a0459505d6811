#include "report/export/tally.h"

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

void tally_deinit(struct tally *tally)
{
	vec_deinit(&tally->entries);
	map_deinit(&tally->by_key);
}
