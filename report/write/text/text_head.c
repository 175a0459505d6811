#include "report/write/text/text.h"

#include <string.h>

#include "report/analyse/stack_counts.h"
#include "report/model/event_value.h"
#include "report/write/exact_sum.h"
#include "report/write/text/text_fields.h"

static void text_put_event(const struct profile_event *event, struct str *out)
{
	str_puts_escaped(out, event->name);
	if (event->frequency_hz)
		str_printf(out, " %u Hz", event->frequency_hz);
	else if (event->period && strcmp(event->unit, LAYOUT_UNIT_HITS) != 0)
		str_printf(out, " every %llu %s", (unsigned long long)event->period, event->unit);
}

/* Of a sum its parts that have samples behind its name; of samples that do not say their event any
 * that it can be. */
static void text_put_shown_event(
	const struct profile *profile, const struct text_head *head, struct str *out)
{
	uint32_t shown = head->event;
	const struct profile_event *event = &profile->events.data[shown];
	if (shown)
		text_put_event(event, out);
	const char *joint = shown ? " = " : "";
	for (size_t i = 1; (!shown || event->is_sum) && i < profile->events.len; i++) {
		const struct profile_event *part = &profile->events.data[i];
		bool is_part = shown ? part->part_of == shown &&
					       event_choices_samples(head->choices, (uint32_t)i)
				     : !part->is_sum && !part->is_second;
		if (!is_part || part->first)
			continue;
		str_puts(out, joint);
		text_put_event(part, out);
		joint = " + ";
	}
}

static void text_put_other_events(
	const struct profile *profile, const struct text_head *head, struct str *out)
{
	size_t count = 0;
	vec_each(&head->choices->list, choice) {
		const struct profile_event *event = &profile->events.data[choice->event];
		if (choice->event == head->event)
			continue;
		str_puts(out, count++ ? ", " : "# also recorded: ");
		str_puts_escaped(out, main_event_name_of(profile, choice->event));
		str_putc(out, ' ');
		/* context-switches count context-switches */
		event_value_put(event, choice->value,
			strcmp(event->unit, main_event_name_of(profile, choice->event)) == 0, out);
	}
	if (count)
		str_puts(out, " (--event NAME shows another)\n");
}

static void text_put_sum(
	const struct profile *profile, const struct text_head *head, struct str *out)
{
	const struct profile_event *event = &profile->events.data[head->event];
	vec_each(&head->choices->list, choice) {
		if (!head->event || choice->event != head->event || !text_has_sum(event))
			continue;
		str_puts(out, " (");
		event_value_put(event, choice->value, false, out);
		str_puts(out, " in all)");
	}
}

static void text_put_whole(
	const struct profile *profile, const struct profile_event *event, struct str *out)
{
	uint64_t value = 0;
	if (!text_has_sum(event)) {
		str_printf(out, "%zu", profile->samples.len);
		return;
	}
	vec_each(&profile->samples, sample)
		value += profile_sample_value(profile, sample);
	event_value_put(event, value, true, out);
}

/* Filters leave out samples or only rows: of how many samples percents are then. */
static void text_put_filtered(
	const struct profile *profile, const struct text_head *head, struct str *out)
{
	unsigned long long left = head->samples, all = head->samples_before_filter;
	unsigned long long whole = profile->samples.len;
	str_printf(out, ", %llu ", left);
	if (left < all)
		str_printf(out, "of %llu ", all);
	str_puts(out, str_plural(all, "sample", "samples"));
	if (!head->has_percent)
		return;
	str_printf(out, " (percent of %s", whole == left ? "these " : whole == all ? "all " : "");
	text_put_whole(profile, &profile->events.data[head->event], out);
	str_putc(out, ')');
}

/* The times of a filter may cut waits short and leave none out. */
static bool is_cut_short(const struct profile *profile, const struct text_head *head)
{
	uint64_t value = 0;
	vec_each(&profile->samples, sample)
		value += profile_sample_value(profile, sample);
	vec_each(&head->choices->list, choice)
		if (choice->event == head->event)
			return value < choice->value;
	return false;
}

/* A process has its own peak. */
static void text_put_peak(const struct profile *profile, uint32_t event, struct str *out)
{
	uint32_t bytes = profile->heap_peak_event;
	if (!bytes || (event != bytes && event != bytes + 1))
		return;
	if (profile->nr_heap_peaks > 1)
		str_printf(out, "# of each of %zu processes what was in use when it had most\n",
			profile->nr_heap_peaks);
	else
		str_printf(out, "# what was in use %.3f s after the beginning, when most was\n",
			(double)(profile->heap_peak_ns - profile->first_ns) / 1e9);
	if (!profile->heap_unknown_count)
		return;
	str_printf(out, "# %llu %s (", (unsigned long long)profile->heap_unknown_count,
		str_plural(
			profile->heap_unknown_count, "sampled allocation", "sampled allocations"));
	event_value_put(&profile->events.data[bytes], profile->heap_unknown_bytes, false, out);
	str_puts(out, ") are not among these: how long they were in use is not known\n");
}

void text_put_head(const struct profile *profile, const struct text_head *head, struct str *out)
{
	uint64_t samples = head->samples;
	str_puts(out, "# ");
	str_puts_escaped(out, profile_title(profile));
	if (profile->events.len > 1) {
		str_puts(out, ", ");
		text_put_shown_event(profile, head, out);
	}
	if (samples == head->samples_before_filter && !is_cut_short(profile, head)) {
		str_printf(out, ", %llu %s", (unsigned long long)samples,
			str_plural(samples, "sample", "samples"));
		text_put_sum(profile, head, out);
	} else {
		text_put_filtered(profile, head, out);
	}
	double duration_s = profile_duration_s(profile);
	if (duration_s > 0 || !profile_meta(profile, LAYOUT_META_IMPORT)) /* which has no times */
		str_printf(out, ", %.1f s", duration_s);
	struct stack_counts stacks = stack_counts_of(profile);
	if (stacks.by_guesses)
		str_printf(out, ", %.1f%% of stacks reached by guesses",
			profile_percent(stacks.by_guesses, profile->samples.len));
	if (stacks.guessed_inlined)
		str_printf(out, ", %.1f%% of leaves guessed among inlined functions",
			profile_percent(stacks.guessed_inlined, profile->samples.len));
	if (stacks.truncated)
		str_printf(out, ", %.1f%% of stacks truncated",
			profile_percent(stacks.truncated, profile->samples.len));
	uint64_t lost, all = head->samples_before_filter;
	if (!profile_event_lost(profile, &profile->events.data[head->event], &lost)) {
		lost = profile_lost(profile);
		all = head->samples_of_all_events;
	}
	if (lost)
		str_printf(out, ", %llu lost (%.1f%%)", (unsigned long long)lost,
			profile_percent(lost, lost + all));
	str_putc(out, '\n');
	if (!head->is_filtered)
		exact_sum_put(profile, head->event, out);
	if (!head->is_filtered)
		text_put_peak(profile, head->event, out);
	text_put_other_events(profile, head, out);
	str_puts(out, "#\n");
}
