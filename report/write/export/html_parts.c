#include "report/write/export/html_parts.h"

static uint32_t html_parts_add(struct html_parts *parts, uint32_t event)
{
	for (size_t i = 0; i < parts->events.len; i++)
		if (parts->events.data[i] == event)
			return (uint32_t)i;
	vec_push(&parts->events, event);
	return (uint32_t)parts->events.len - 1;
}

void html_parts_init(struct html_parts *parts, const struct profile *profile, uint32_t event)
{
	*parts = (struct html_parts){0};
	parts->numbers = mem_zalloc_array(profile->events.len, sizeof(*parts->numbers));
	for (uint32_t i = 0; i < profile->events.len; i++) {
		const struct profile_event *it = &profile->events.data[i];
		if (!it->is_sum && profile_event_has(profile, event, i))
			parts->numbers[i] = html_parts_add(parts, it->first ? it->first : i);
	}
	if (!parts->events.len)
		html_parts_add(parts, event);
}

void html_parts_deinit(struct html_parts *parts)
{
	vec_deinit(&parts->events);
	mem_free(parts->numbers);
}
