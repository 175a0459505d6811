#include "report/write/waker_list.h"

#include <stdlib.h>
#include <string.h>

#include "report/analyse/wakers.h"
#include "report/model/event_value.h"

enum {
	WAKERS_MAX = 30, /* lines */
	CALLERS_SHOWN = 5,
	WAKER_COLUMNS = 22,
};

struct waker_sum {
	uint32_t waker;
	uint64_t value, waits;
};

static bool has_chosen(const struct profile *profile, uint32_t stack, const bool *is_chosen)
{
	struct profile_walk walk = profile_walk(profile, stack);
	for (uint32_t frame; is_chosen && (frame = profile_walk_next(&walk));)
		if (is_chosen[profile->frames.data[frame].function])
			return true;
	return !is_chosen;
}

/* By the wakers of the profile. Returns an event of the waits, whose unit they have. */
static const struct profile_event *sum_waits(
	const struct profile *profile, const bool *is_chosen, struct waker_sum *sums)
{
	const struct profile_event *event = NULL;
	for (uint32_t i = 0; i < profile->wakers.len; i++)
		sums[i].waker = i;
	vec_each(&profile->samples, sample) {
		if (!profile->events.data[sample->event].wait ||
			!has_chosen(profile, sample->stack, is_chosen))
			continue;
		struct waker_sum *sum = &sums[profile->stacks.data[sample->stack].waker];
		sum->value += profile_sample_value(profile, sample);
		sum->waits++;
		event = &profile->events.data[sample->event];
	}
	return event;
}

static int compare_waker_sums(const void *a, const void *b)
{
	const struct waker_sum *first = a, *second = b;
	if (first->value != second->value)
		return first->value < second->value ? 1 : -1;
	return (first->waker > second->waker) - (first->waker < second->waker);
}

/* From where it woke the other on. */
static void put_functions_of_waker(const struct profile *profile, uint32_t node, struct str *out)
{
	if (!node)
		str_putc(out, '-');
	for (int i = 0; node && i < CALLERS_SHOWN; i++) {
		const struct layout_node *it = &profile->nodes.data[node];
		const struct profile_frame *frame = &profile->frames.data[it->frame];
		const char *name = profile->functions.data[frame->function].name;
		str_puts(out, i ? " < " : "");
		str_put_escaped(out, name, strlen(name));
		node = it->parent;
	}
}

static void put_waker_sum(const struct profile *profile, const struct profile_event *event,
	const struct waker_sum *sum, bool is_interrupt, struct str *out)
{
	const struct profile_waker *waker = &profile->wakers.data[sum->waker];
	bool is_thread = sum->waker > PROFILE_WAKER_INTERRUPT && !is_interrupt;
	const char *name = waker_name(profile, sum->waker, is_interrupt);
	CLEANUP(str_deinit) struct str value = {0}, text = {0};
	event_value_put(event, sum->value, false, &value);
	str_put_escaped(&text, name, strlen(name));
	if (is_thread)
		str_printf(&text, ":%u", profile->threads.data[waker->thread].tid);
	str_printf(out, "%10s %8llu  %-*s  ", str_text(&value), (unsigned long long)sum->waits,
		WAKER_COLUMNS, str_text(&text));
	put_functions_of_waker(profile, is_thread ? waker->user : 0, out);
	str_putc(out, '\n');
}

bool waker_list_put(const struct profile *profile, const bool *is_chosen, struct str *out)
{
	if (!profile->wakers.len)
		return false;
	CLEANUP_FREE struct waker_sum *sums = mem_zalloc_array(profile->wakers.len, sizeof(*sums));
	CLEANUP_FREE bool *interrupts = wakers_find_interrupts(profile);
	const struct profile_event *event = sum_waits(profile, is_chosen, sums);
	qsort(sums, profile->wakers.len, sizeof(*sums), compare_waker_sums);
	str_printf(out, "#%9s %8s  %-*s  %s\n", "waited", "samples", WAKER_COLUMNS, "woken by",
		"function < callers");
	size_t left = 0;
	for (size_t i = 0; i < profile->wakers.len && sums[i].waits; i++) {
		if (i < WAKERS_MAX)
			put_waker_sum(profile, event, &sums[i], interrupts[sums[i].waker], out);
		else
			left++;
	}
	if (!event)
		str_puts(out, "# no waits\n");
	if (left)
		str_printf(out, "# and %zu more\n", left);
	return true;
}
