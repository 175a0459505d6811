#include "report/load/heap_peak.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/mem.h"

static const char source_of_heaps[] = "heap", source_of_peaks[] = "heap-peak";

/* What the events of a heap say; of one allocation in this order. */
enum heap_role {
	HEAP_NONE,
	HEAP_ALLOCATED,
	HEAP_USED, /* to the end; of the time when it was allocated */
	HEAP_FREED,
	HEAP_OBJECTS,
	HEAP_ROLES,
};

static const char *const names_of_roles[HEAP_ROLES] = {
	[HEAP_ALLOCATED] = "alloc_space",
	[HEAP_USED] = "inuse_space",
	[HEAP_FREED] = "freed_space",
	[HEAP_OBJECTS] = "alloc_objects",
};

enum {
	END_UNKNOWN = 0,
};

/* An allocation, and how long it was in use. */
struct heap_life {
	uint32_t sample; /* that of its bytes */
	uint32_t process;
	uint64_t end_ns; /* END_UNKNOWN; UINT64_MAX: it was in use to the end */
};

struct heap_change {
	uint32_t process;
	bool is_end;
	uint64_t time_ns, bytes;
};

struct heap_peak {
	struct profile *profile;
	uint8_t *roles;        /* of events: enum heap_role */
	VEC(uint32_t) places;  /* samples of what was allocated, is in use, or was freed */
	VEC(uint32_t) numbers; /* ... and of the number of what was allocated */
	VEC(struct heap_life) lives;
	VEC(struct heap_change) changes; /* of those whose end is known */
	uint64_t *peaks_ns;              /* of processes; 0: it has none */
};

static enum heap_role role_of_event(const struct profile_event *event)
{
	if (!event->source || strncmp(event->source, source_of_heaps, strlen(source_of_heaps)) != 0)
		return HEAP_NONE;
	for (int role = HEAP_NONE + 1; role < HEAP_ROLES; role++)
		if (strcmp(event->name, names_of_roles[role]) == 0)
			return (enum heap_role)role;
	return HEAP_NONE;
}

static bool find_roles(struct heap_peak *peak)
{
	const struct profile *profile = peak->profile;
	bool has_freed = false;
	peak->roles = mem_zalloc_array(profile->events.len + 1, sizeof(*peak->roles));
	for (size_t i = 1; i < profile->events.len; i++) {
		peak->roles[i] = (uint8_t)role_of_event(&profile->events.data[i]);
		has_freed |= peak->roles[i] == HEAP_FREED;
	}
	return has_freed;
}

static enum heap_role role_of_sample(const struct heap_peak *peak, uint32_t sample)
{
	return (enum heap_role)peak->roles[peak->profile->samples.data[sample].event];
}

/* ---- how long each was in use ---- */

static int order_of_heap(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* What is said of allocations that are equal: of one place and size. */
static int compare_kinds(const struct profile_sample *a, const struct profile_sample *b)
{
	int order = order_of_heap(a->thread, b->thread);
	order = order ? order : order_of_heap(a->stack, b->stack);
	return order ? order : order_of_heap(a->weight, b->weight);
}

static int compare_heap_places(const void *a, const void *b, void *context)
{
	const struct heap_peak *peak = context;
	const struct profile_sample *samples = peak->profile->samples.data;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = compare_kinds(&samples[x], &samples[y]);
	order = order ? order : order_of_heap(samples[x].time_ns, samples[y].time_ns);
	order = order ? order : order_of_heap(role_of_sample(peak, x), role_of_sample(peak, y));
	return order ? order : order_of_heap(x, y);
}

/* A thread does one thing at a time. */
static int compare_moments(const void *a, const void *b, void *context)
{
	const struct heap_peak *peak = context;
	const struct profile_sample *samples = peak->profile->samples.data;
	const struct profile_sample *x = &samples[*(const uint32_t *)a];
	const struct profile_sample *y = &samples[*(const uint32_t *)b];
	int order = order_of_heap(x->thread, y->thread);
	return order ? order : order_of_heap(x->time_ns, y->time_ns);
}

static void sort_heap_samples(struct heap_peak *peak)
{
	for (uint32_t i = 0; i < peak->profile->samples.len; i++) {
		enum heap_role role = role_of_sample(peak, i);
		if (role == HEAP_OBJECTS)
			vec_push(&peak->numbers, i);
		else if (role != HEAP_NONE)
			vec_push(&peak->places, i);
	}
	if (peak->places.len)
		qsort_r(peak->places.data, peak->places.len, sizeof(*peak->places.data),
			compare_heap_places, peak);
	if (peak->numbers.len)
		qsort_r(peak->numbers.data, peak->numbers.len, sizeof(*peak->numbers.data),
			compare_moments, peak);
}

/* Of equal ones, it does not matter which of them was freed: it is the oldest. */
static void find_lives(struct heap_peak *peak)
{
	const struct profile *profile = peak->profile;
	const struct profile_sample *samples = profile->samples.data, *before = NULL;
	size_t oldest = 0; /* of equal ones, whose end is not known yet */
	vec_each(&peak->places, place) {
		const struct profile_sample *sample = &samples[*place];
		struct heap_life life = {
			*place, profile->threads.data[sample->thread].process, END_UNKNOWN};
		enum heap_role role = role_of_sample(peak, *place);
		if (!before || compare_kinds(before, sample) != 0)
			oldest = peak->lives.len;
		before = sample;
		if (role == HEAP_ALLOCATED)
			vec_push(&peak->lives, life);
		while (oldest < peak->lives.len && peak->lives.data[oldest].end_ns != END_UNKNOWN)
			oldest++;
		if (oldest == peak->lives.len)
			continue;
		struct heap_life *newest = &peak->lives.data[peak->lives.len - 1];
		if (role == HEAP_FREED)
			peak->lives.data[oldest].end_ns = sample->time_ns;
		else if (role == HEAP_USED && samples[newest->sample].time_ns == sample->time_ns)
			newest->end_ns = UINT64_MAX;
	}
}

/* ---- when most was in use ---- */

static int compare_changes(const void *a, const void *b)
{
	const struct heap_change *x = a, *y = b;
	int order = order_of_heap(x->process, y->process);
	order = order ? order : order_of_heap(x->time_ns, y->time_ns);
	return order ? order : order_of_heap(x->is_end, y->is_end);
}

static void find_changes(struct heap_peak *peak)
{
	const struct profile_sample *samples = peak->profile->samples.data;
	vec_each(&peak->lives, life) {
		const struct profile_sample *sample = &samples[life->sample];
		struct heap_change change = {life->process, false, sample->time_ns, sample->weight};
		if (life->end_ns == END_UNKNOWN)
			continue;
		vec_push(&peak->changes, change);
		change.is_end = true;
		change.time_ns = life->end_ns;
		vec_push(&peak->changes, change);
	}
	if (peak->changes.len)
		qsort(peak->changes.data, peak->changes.len, sizeof(*peak->changes.data),
			compare_changes);
}

static void find_heap_peaks(struct heap_peak *peak)
{
	const struct heap_change *before = NULL;
	uint64_t bytes = 0, most = 0;
	vec_each(&peak->changes, change) {
		if (!before || before->process != change->process)
			bytes = most = 0;
		before = change;
		bytes = change->is_end ? bytes - change->bytes : bytes + change->bytes;
		if (bytes > most) {
			most = bytes;
			peak->peaks_ns[change->process] = change->time_ns;
		}
	}
}

/* ---- samples ---- */

static uint32_t add_peak_event(struct profile *profile, const char *name, const char *unit)
{
	vec_push(&profile->events,
		(struct profile_event){.name = name, .unit = unit, .source = source_of_peaks});
	return (uint32_t)profile->events.len - 1;
}

/* The sample of the number of what this one has the bytes of; NULL: there is none. */
static const uint32_t *number_of_bytes(const struct heap_peak *peak, uint32_t bytes)
{
	size_t low = 0, high = peak->numbers.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare_moments(&peak->numbers.data[middle], &bytes, (void *)peak);
		if (!order)
			return &peak->numbers.data[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static void add_peak_sample(struct profile *profile, uint32_t of, uint32_t event)
{
	struct profile_sample sample = profile->samples.data[of];
	sample.event = (uint16_t)(event & 0x7fff);
	vec_push(&profile->samples, sample);
}

static void add_peak_samples(struct heap_peak *peak)
{
	struct profile *profile = peak->profile;
	uint32_t bytes = add_peak_event(profile, "peak_space", "bytes");
	uint32_t objects = add_peak_event(profile, "peak_objects", "objects");
	profile->heap_peak_event = bytes;
	vec_each(&peak->lives, life) {
		uint64_t peak_ns = peak->peaks_ns[life->process];
		uint64_t begin_ns = profile->samples.data[life->sample].time_ns;
		if (life->end_ns == END_UNKNOWN || begin_ns > peak_ns || life->end_ns <= peak_ns)
			continue;
		add_peak_sample(profile, life->sample, bytes);
		const uint32_t *number = number_of_bytes(peak, life->sample);
		if (number)
			add_peak_sample(profile, *number, objects);
	}
}

static void count_peaks(const struct heap_peak *peak)
{
	struct profile *profile = peak->profile;
	for (size_t i = 0; i < profile->processes.len; i++) {
		uint64_t peak_ns = peak->peaks_ns[i];
		profile->nr_heap_peaks += peak_ns != 0;
		if (peak_ns > profile->heap_peak_ns)
			profile->heap_peak_ns = peak_ns;
	}
}

static void drop_freed(const struct heap_peak *peak)
{
	struct profile *profile = peak->profile;
	size_t kept = 0;
	for (uint32_t i = 0; i < profile->samples.len; i++)
		if (role_of_sample(peak, i) != HEAP_FREED)
			profile->samples.data[kept++] = profile->samples.data[i];
	profile->samples.len = kept;
}

static void heap_peak_deinit(struct heap_peak *peak)
{
	mem_free(peak->roles);
	mem_free(peak->peaks_ns);
	vec_deinit(&peak->places);
	vec_deinit(&peak->numbers);
	vec_deinit(&peak->lives);
	vec_deinit(&peak->changes);
}

void heap_peak_find(struct profile *profile)
{
	CLEANUP(heap_peak_deinit) struct heap_peak peak = {.profile = profile};
	bool has_end = profile->end.reason || profile_nr_origins(profile) > 0;
	if (!find_roles(&peak))
		return;
	if (has_end && profile->events.len + 2 <= LAYOUT_MAX_EVENTS) {
		peak.peaks_ns = mem_zalloc_array(profile->processes.len, sizeof(*peak.peaks_ns));
		sort_heap_samples(&peak);
		find_lives(&peak);
		find_changes(&peak);
		find_heap_peaks(&peak);
		add_peak_samples(&peak);
		count_peaks(&peak);
	}
	drop_freed(&peak);
}
