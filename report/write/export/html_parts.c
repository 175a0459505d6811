#include "report/write/export/html_parts.h"

#include <string.h>

static uint32_t html_parts_add(
	struct html_parts *parts, const struct profile *profile, uint32_t event)
{
	struct html_part part = {
		.name = main_event_name_of(profile, event),
		.is_wait = profile->events.data[event].wait != PROFILE_NO_WAIT,
	};
	for (size_t i = 0; i < parts->list.len; i++)
		if (strcmp(parts->list.data[i].name, part.name) == 0)
			return (uint32_t)i;
	vec_push(&parts->list, part);
	return (uint32_t)parts->list.len - 1;
}

static void html_parts_add_side(
	struct html_parts *parts, size_t index, const struct html_data_side *side)
{
	const struct profile *profile = side->profile;
	bool is_any = false;
	parts->numbers[index] = mem_zalloc_array(profile->events.len, sizeof(uint32_t));
	for (uint32_t i = 0; i < profile->events.len; i++) {
		const struct profile_event *it = &profile->events.data[i];
		if (it->is_sum || !profile_event_has(profile, side->event, i))
			continue;
		parts->numbers[index][i] =
			html_parts_add(parts, profile, it->first ? it->first : i);
		is_any = true;
	}
	if (!is_any && !parts->list.len)
		html_parts_add(parts, profile, side->event);
}

void html_parts_init(struct html_parts *parts, const struct html_data_side *sides, size_t nr_sides)
{
	*parts = (struct html_parts){0};
	for (size_t i = 0; i < nr_sides; i++)
		html_parts_add_side(parts, i, &sides[i]);
}

void html_parts_deinit(struct html_parts *parts)
{
	vec_deinit(&parts->list);
	for (size_t i = 0; i < HTML_COLUMNS_MAX; i++)
		mem_free(parts->numbers[i]);
}
