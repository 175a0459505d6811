#include "report/write/waker_list.h"

#include <stdlib.h>

#include "report/analyse/wakers.h"
#include "report/model/event_value.h"

enum {
	WAKERS_MAX = 30, /* lines */
	CALLERS_SHOWN = 5,
	WAKER_COLUMNS = 22,
};

struct waker_sum { /* of the wakers whose lines say the same */
	uint32_t line;
	uint64_t value, waits;
};

struct waker_sums {
	struct strtab lines; /* what they say, by number */
	VEC(struct waker_sum) of_lines;
	const struct profile_event *event; /* one of the waits, whose unit they have */
};

static bool has_chosen(const struct profile *profile, uint32_t stack, const bool *is_chosen)
{
	struct profile_walk walk = profile_walk(profile, stack);
	for (uint32_t frame; is_chosen && (frame = profile_walk_next(&walk));)
		if (is_chosen[profile->frames.data[frame].function])
			return true;
	return !is_chosen;
}

static int compare_waker_sums(const void *a, const void *b)
{
	const struct waker_sum *first = a, *second = b;
	if (first->value != second->value)
		return first->value < second->value ? 1 : -1;
	return (first->line > second->line) - (first->line < second->line);
}

static bool has_script(const struct profile *profile, uint32_t node)
{
	for (; node; node = profile->nodes.data[node].parent)
		if (profile_frame_is_script(&profile->frames.data[profile->nodes.data[node].frame],
			    profile->objects.data))
			return true;
	return false;
}

/* From where it woke the other on; of a script its own. */
static void put_functions_of_waker(const struct profile *profile, uint32_t node, struct str *out)
{
	bool is_of_script = has_script(profile, node);
	if (!node)
		str_putc(out, '-');
	for (int shown = 0; node && shown < CALLERS_SHOWN;
		node = profile->nodes.data[node].parent) {
		const struct profile_frame *frame =
			&profile->frames.data[profile->nodes.data[node].frame];
		const char *name = profile->functions.data[frame->function].name;
		if (is_of_script && !profile_frame_is_script(frame, profile->objects.data))
			continue;
		str_puts(out, shown++ ? " < " : "");
		str_puts_escaped(out, name);
	}
}

static void put_waker_line(
	const struct profile *profile, uint32_t number, bool is_interrupt, struct str *out)
{
	const struct profile_waker *waker = &profile->wakers.data[number];
	bool is_thread = number > PROFILE_WAKER_INTERRUPT && !is_interrupt;
	const char *name = waker_name(profile, number, is_interrupt);
	CLEANUP(str_deinit) struct str text = {0};
	str_puts_escaped(&text, name);
	if (is_thread)
		str_printf(&text, ":%u", profile->threads.data[waker->thread].tid);
	str_printf(out, "%-*s  ", WAKER_COLUMNS, str_text(&text));
	put_functions_of_waker(profile, is_thread ? waker->user : 0, out);
}

/* Wakers differ in what a line does not show, as interrupts in what they came upon. */
static uint32_t *find_lines(const struct profile *profile, struct waker_sums *sums)
{
	uint32_t *lines = mem_zalloc_array(profile->wakers.len, sizeof(*lines));
	CLEANUP_FREE bool *interrupts = wakers_find_interrupts(profile);
	for (uint32_t i = 0; i < profile->wakers.len; i++) {
		CLEANUP(str_deinit) struct str line = {0};
		put_waker_line(profile, i, interrupts[i], &line);
		lines[i] = strtab_intern(&sums->lines, line.data, line.len);
		if (lines[i] == sums->of_lines.len)
			vec_push(&sums->of_lines, (struct waker_sum){.line = lines[i]});
	}
	return lines;
}

static void sum_waits(const struct profile *profile, const struct scope *scope,
	const struct scope_stacks *stacks, const bool *is_chosen, struct waker_sums *sums)
{
	CLEANUP_FREE uint32_t *lines = find_lines(profile, sums);
	struct scope_walk walk;
	scope_walk_init(&walk, scope, profile, stacks, NULL);
	for (const struct profile_sample *sample; (sample = scope_walk_next(&walk));) {
		if (!profile->events.data[sample->event].wait ||
			!has_chosen(profile, sample->stack, is_chosen))
			continue;
		const struct profile_sample part = scope_walk_part(&walk, sample);
		uint32_t waker = profile->stacks.data[sample->stack].waker;
		struct waker_sum *sum = &sums->of_lines.data[lines[waker]];
		sum->value += profile_sample_value(profile, &part);
		sum->waits++;
		sums->event = &profile->events.data[sample->event];
	}
	scope_walk_deinit(&walk);
}

static void put_waker_sum(
	const struct waker_sums *sums, const struct waker_sum *sum, struct str *out)
{
	const struct strtab_entry *line = &sums->lines.entries.data[sum->line];
	CLEANUP(str_deinit) struct str value = {0};
	event_value_put(sums->event, sum->value, false, &value);
	str_printf(out, "%10s %8llu  %.*s\n", str_text(&value), (unsigned long long)sum->waits,
		(int)line->len, (const char *)line->bytes);
}

bool waker_list_put(const struct profile *profile, const struct scope *scope,
	const struct scope_stacks *stacks, const bool *is_chosen, struct str *out)
{
	struct waker_sums sums = {0};
	size_t shown = 0, left = 0;
	if (!profile->wakers.len)
		return false;
	sum_waits(profile, scope, stacks, is_chosen, &sums);
	qsort(sums.of_lines.data, sums.of_lines.len, sizeof(*sums.of_lines.data),
		compare_waker_sums);
	str_printf(out, "#%9s %8s  %-*s  %s\n", "waited", "samples", WAKER_COLUMNS, "woken by",
		"function < callers");
	for (; shown < sums.of_lines.len && sums.of_lines.data[shown].waits; shown++) {
		if (shown < WAKERS_MAX)
			put_waker_sum(&sums, &sums.of_lines.data[shown], out);
		else
			left++;
	}
	if (!sums.event)
		str_puts(out, "# no waits\n");
	if (left)
		str_printf(out, "# and %zu more\n", left);
	vec_deinit(&sums.of_lines);
	strtab_deinit(&sums.lines);
	return true;
}
