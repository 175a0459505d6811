#include "report/write/longest_waits.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/map.h"
#include "report/model/event_value.h"

enum {
	WAITS_MAX = 30,   /* rows */
	CALLERS_SEEN = 5, /* functions of a line, from where the program waits on */
	COMM_COLUMNS = 22,
};

/* Of one thread by one stack: a row. */
struct wait_group {
	const struct profile_sample *longest;
	uint64_t count, sum;
};

struct waits {
	VEC(struct wait_group) groups; /* the longest waits first */
	uint64_t exact, all;           /* waits whose length is known, and all */
};

static int compare_groups(const void *a, const void *b, void *context)
{
	const struct profile *profile = context;
	const struct wait_group *x = a, *y = b;
	uint64_t of_x = profile_sample_value(profile, x->longest),
		 of_y = profile_sample_value(profile, y->longest);
	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	return x->longest < y->longest ? -1 : x->longest > y->longest;
}

static void add_wait(struct waits *waits, struct map *places, const struct profile *profile,
	const struct profile_sample *sample)
{
	bool is_new;
	uint64_t *place = map_put(places, (uint64_t)sample->thread << 32 | sample->stack, &is_new);
	if (is_new) {
		*place = waits->groups.len;
		vec_push(&waits->groups, (struct wait_group){.longest = sample});
	}
	struct wait_group *group = &waits->groups.data[*place];
	uint64_t value = profile_sample_value(profile, sample);
	if (value > profile_sample_value(profile, group->longest))
		group->longest = sample;
	group->count++;
	group->sum += value;
}

static struct waits find_waits(const struct profile *profile)
{
	struct waits waits = {0};
	struct map places = {0}; /* thread << 32 | stack -> its group */
	vec_each(&profile->samples, sample) {
		if (!profile->events.data[sample->event].wait)
			continue;
		waits.all++;
		if (sample->is_estimate)
			continue;
		waits.exact++;
		add_wait(&waits, &places, profile, sample);
	}
	map_deinit(&places);
	if (waits.groups.len)
		qsort_r(waits.groups.data, waits.groups.len, sizeof(*waits.groups.data),
			compare_groups, (void *)profile);
	return waits;
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

static void put_wait(const struct profile *profile, const struct wait_group *group, struct str *out)
{
	const struct profile_sample *sample = group->longest;
	const struct profile_event *event = &profile->events.data[sample->event];
	const struct profile_thread *thread = &profile->threads.data[sample->thread];
	uint64_t value = profile_sample_value(profile, sample);
	uint64_t end_ns = sample->time_ns - profile->first_ns;
	CLEANUP(str_deinit) struct str length = {0}, sum = {0}, comm = {0}, reason = {0};
	event_value_put(event, value, false, &length);
	event_value_put(event, group->sum, false, &sum);
	str_put_escaped(&comm, thread->comm, strlen(thread->comm));
	str_printf(&comm, ":%u", thread->tid);
	put_reason(profile, sample, &reason);
	str_printf(out, "%10s %6llu %10s %9.3f s  %-*s  %-13s  ", str_text(&length),
		(unsigned long long)group->count, str_text(&sum),
		(double)(end_ns > value ? end_ns - value : 0) / 1e9, COMM_COLUMNS, str_text(&comm),
		str_text(&reason));
	put_functions(profile, sample, out);
	str_putc(out, '\n');
}

bool longest_waits_put(const struct profile *profile, struct str *out)
{
	struct waits waits = find_waits(profile);
	uint64_t shown = 0;
	if (waits.all)
		str_printf(out, "#%9s %6s %10s %11s  %-*s  %-13s  %s\n", "longest", "times",
			"in all", "begin", COMM_COLUMNS, "thread", "reason", "function < callers");
	for (size_t i = 0; i < waits.groups.len && i < WAITS_MAX; i++) {
		put_wait(profile, &waits.groups.data[i], out);
		shown += waits.groups.data[i].count;
	}
	if (waits.exact > shown)
		str_printf(out, "# %llu more %s\n", (unsigned long long)(waits.exact - shown),
			str_plural(waits.exact - shown, "wait", "waits"));
	if (waits.all > waits.exact)
		str_printf(out, "# %llu %s for shorter waits, which no line shows\n",
			(unsigned long long)(waits.all - waits.exact),
			str_plural(waits.all - waits.exact, "sample stands", "samples stand"));
	vec_deinit(&waits.groups);
	return waits.all;
}
