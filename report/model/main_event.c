#include "report/model/main_event.h"

#include <string.h>

#include "format/base/mem.h"

/* Whether one of the recordings has time on CPUs and waits: those of two say nothing together. */
static bool is_sum_in_one(const struct profile *profile)
{
	enum {
		RUNS = 1,
		WAITS = 2,
	};
	CLEANUP_FREE uint8_t *has = mem_zalloc_array(profile->origins.len, 1);
	if (profile_nr_origins(profile) < 2)
		return true;
	vec_each(&profile->samples, sample) {
		const struct profile_event *event = &profile->events.data[sample->event];
		uint32_t process = profile->threads.data[sample->thread].process;
		uint32_t origin = profile->processes.data[process].info.origin;
		if (event->part_of)
			has[origin] |= event->wait ? WAITS : RUNS;
		if (has[origin] == (RUNS | WAITS))
			return true;
	}
	return false;
}

/* Of each event by its number, with what is shown as one with it, and of sums. */
static struct event_choice *count_events(const struct profile *profile, bool *is_sum_of_two)
{
	const struct profile_event *events = profile->events.data;
	struct event_choice *counts = mem_zalloc_array(profile->events.len, sizeof(*counts));
	*is_sum_of_two = false;
	vec_each(&profile->samples, sample) {
		uint32_t first = events[sample->event].first;
		struct event_choice *count = &counts[first ? first : sample->event];
		count->samples++;
		count->value += profile_sample_value(profile, sample);
	}
	bool is_of_one = is_sum_in_one(profile);
	for (uint32_t i = 1; i < profile->events.len; i++) {
		struct event_choice *sum = &counts[events[i].part_of];
		if (!events[i].part_of || !counts[i].samples)
			continue;
		*is_sum_of_two |= sum->samples > 0 && is_of_one;
		sum->samples += counts[i].samples;
		sum->value += counts[i].value;
	}
	return counts;
}

void event_choices_init(struct event_choices *choices, const struct profile *profile)
{
	bool is_sum_of_two;
	*choices = (struct event_choices){0};
	CLEANUP_FREE struct event_choice *counts = count_events(profile, &is_sum_of_two);
	for (uint32_t i = 0; i < profile->events.len; i++) {
		struct event_choice choice = counts[i];
		choice.event = i;
		bool is_whole = !profile->events.data[i].is_sum || is_sum_of_two ||
				i == profile->main_event; /* one part of it may be left */
		if (choice.samples && is_whole)
			vec_push(&choices->list, choice);
	}
	/* Event 0 stands for damage: of an empty recording its first real event is the answer. */
	if (!choices->list.len)
		vec_push(&choices->list,
			(struct event_choice){.event = profile->main_event ? profile->main_event
						       : profile->events.len > 1 ? 1
										 : 0});
	for (size_t i = 1; i < choices->list.len; i++)
		if (choices->list.data[i].samples > choices->list.data[choices->main].samples)
			choices->main = i;
	for (size_t i = 0; i < choices->list.len; i++)
		if (profile->main_event && choices->list.data[i].event == profile->main_event)
			choices->main = i;
}

uint64_t event_choices_samples(const struct event_choices *choices, uint32_t event)
{
	vec_each(&choices->list, choice)
		if (choice->event == event)
			return choice->samples;
	return 0;
}

void event_choices_deinit(struct event_choices *choices)
{
	vec_deinit(&choices->list);
}

uint32_t main_event_of(const struct profile *profile)
{
	struct event_choices choices;
	event_choices_init(&choices, profile);
	uint32_t event = choices.list.data[choices.main].event;
	event_choices_deinit(&choices);
	return event;
}

void main_event_fix(struct profile *profile)
{
	if (profile->samples.len && !profile->main_event)
		profile->main_event = main_event_of(profile);
}

const char *main_event_name_of(const struct profile *profile, uint32_t event)
{
	const char *name = profile->events.data[event].name;
	return event && name[0] ? name : "unknown";
}

void main_event_keep(struct profile *profile, uint32_t event)
{
	size_t kept = 0;
	vec_each(&profile->samples, sample)
		if (profile_event_has(profile, event, sample->event))
			profile->samples.data[kept++] = *sample;
	profile->samples.len = kept;
}

static bool has_samples(const struct profile *profile, uint32_t event)
{
	vec_each(&profile->samples, sample)
		if (profile_event_has(profile, event, sample->event))
			return true;
	return false;
}

bool main_event_is_counted_only(const struct profile *profile, uint32_t event)
{
	return profile->events.data[event].wait == PROFILE_WAIT_RUN_QUEUE &&
	       profile->thread_times.len && !has_samples(profile, event);
}

uint32_t main_event_find(const struct profile *profile, const struct profile_event *wanted)
{
	for (uint32_t i = 1; i < profile->events.len; i++)
		if (strcmp(profile->events.data[i].name, wanted->name) == 0 &&
			strcmp(profile->events.data[i].unit, wanted->unit) == 0)
			return i;
	return 0;
}

struct err *main_event_of_both(const struct profile *profile, const struct profile *baseline,
	uint32_t *event, uint32_t *baseline_event)
{
	bool is_base = !profile->samples.len && baseline->samples.len;
	const struct profile *from = is_base ? baseline : profile;
	const struct profile *other = is_base ? profile : baseline;
	uint32_t main_event = main_event_of(from);
	uint32_t found = main_event_find(other, &from->events.data[main_event]);
	if (other->samples.len && main_event && !has_samples(other, found))
		return err_new(ERR_USAGE,
			"the recordings cannot be compared: this one counts %s, the baseline %s "
			"(--event chooses what both have; diff --force compares them nevertheless)",
			main_event_name_of(profile, main_event),
			main_event_name_of(baseline, main_event_of(baseline)));
	*event = is_base ? found : main_event;
	*baseline_event = is_base ? main_event : found;
	return NULL;
}
