#include "report/write/longest_waits.h"

#include <stdlib.h>
#include <string.h>

#include "report/model/event_value.h"

enum {
	WAITS_MAX = 30,
	CALLERS_SEEN = 5, /* functions of a line, from where the program waits on */
	COMM_COLUMNS = 22,
};

/* The longest so far, the longest first. */
struct longest {
	const struct profile_sample *samples[WAITS_MAX];
	size_t count;
	uint64_t exact, all; /* waits whose length is known, and all */
};

static bool is_longer(const struct profile *profile, const struct profile_sample *a,
	const struct profile_sample *b)
{
	return profile_sample_value(profile, a) > profile_sample_value(profile, b);
}

static void longest_offer(
	struct longest *longest, const struct profile *profile, const struct profile_sample *sample)
{
	size_t at = longest->count < WAITS_MAX ? longest->count++ : WAITS_MAX - 1;
	if (at == WAITS_MAX - 1 && longest->samples[at] &&
		!is_longer(profile, sample, longest->samples[at]))
		return;
	for (; at && is_longer(profile, sample, longest->samples[at - 1]); at--)
		longest->samples[at] = longest->samples[at - 1];
	longest->samples[at] = sample;
}

static struct longest find_longest(const struct profile *profile)
{
	struct longest longest = {0};
	vec_each(&profile->samples, sample) {
		if (!profile->events.data[sample->event].wait)
			continue;
		longest.all++;
		if (sample->is_estimate)
			continue;
		longest.exact++;
		longest_offer(&longest, profile, sample);
	}
	return longest;
}

static const struct profile_function *function_of(const struct profile *profile, uint32_t frame)
{
	return &profile->functions.data[profile->frames.data[frame].function];
}

/* Without "[wait: " and "]". */
static void put_reason(
	const struct profile *profile, const struct profile_sample *sample, struct str *out)
{
	static const char before[] = "[wait: ";
	struct profile_walk walk = profile_walk(profile, sample->stack);
	uint32_t leaf = profile_walk_next(&walk);
	const char *name = leaf ? function_of(profile, leaf)->name : "";
	size_t len = strlen(name);
	if (strncmp(name, before, strlen(before)) == 0)
		str_write(out, name + strlen(before), len - strlen(before) - 1);
	else
		str_puts(out, "-");
}

/* Of a script, its functions are what the program is; else those that are not the kernel's. */
static void put_functions(
	const struct profile *profile, const struct profile_sample *sample, struct str *out)
{
	bool has_script = false;
	struct profile_walk walk = profile_walk(profile, sample->stack);
	for (uint32_t frame; (frame = profile_walk_next(&walk));)
		has_script |= profile_frame_is_script(
			&profile->frames.data[frame], profile->objects.data);
	int seen = 0;
	walk = profile_walk(profile, sample->stack);
	for (uint32_t frame; seen < CALLERS_SEEN && (frame = profile_walk_next(&walk));) {
		const struct profile_frame *it = &profile->frames.data[frame];
		bool is_seen = has_script ? profile_frame_is_script(it, profile->objects.data)
					  : !profile_is_kernel(profile, it->object);
		const char *name = function_of(profile, frame)->name;
		if (!is_seen)
			continue;
		str_puts(out, seen++ ? " < " : "");
		str_put_escaped(out, name, strlen(name));
	}
	if (!seen)
		str_puts(out, "-");
}

static void put_wait(
	const struct profile *profile, const struct profile_sample *sample, struct str *out)
{
	const struct profile_event *event = &profile->events.data[sample->event];
	const struct profile_thread *thread = &profile->threads.data[sample->thread];
	uint64_t value = profile_sample_value(profile, sample);
	uint64_t end_ns = sample->time_ns - profile->first_ns;
	CLEANUP(str_deinit) struct str length = {0}, comm = {0}, reason = {0};
	event_value_put(event, value, false, &length);
	str_put_escaped(&comm, thread->comm, strlen(thread->comm));
	str_printf(&comm, ":%u", thread->tid);
	put_reason(profile, sample, &reason);
	str_printf(out, "%10s %9.3f s  %-*s  %-13s  ", str_text(&length),
		(double)(end_ns > value ? end_ns - value : 0) / 1e9, COMM_COLUMNS, str_text(&comm),
		str_text(&reason));
	put_functions(profile, sample, out);
	str_putc(out, '\n');
}

bool longest_waits_put(const struct profile *profile, struct str *out)
{
	struct longest longest = find_longest(profile);
	if (!longest.all)
		return false;
	str_printf(out, "#%9s %11s  %-*s  %-13s  %s\n", "length", "begin", COMM_COLUMNS, "thread",
		"reason", "function < callers");
	for (size_t i = 0; i < longest.count; i++)
		put_wait(profile, longest.samples[i], out);
	if (longest.exact > longest.count)
		str_printf(out, "# %llu more %s\n",
			(unsigned long long)(longest.exact - longest.count),
			str_plural(longest.exact - longest.count, "wait", "waits"));
	if (longest.all > longest.exact)
		str_printf(out, "# %llu %s for shorter waits, which no line shows\n",
			(unsigned long long)(longest.all - longest.exact),
			str_plural(longest.all - longest.exact, "sample stands", "samples stand"));
	return true;
}
