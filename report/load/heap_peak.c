#include "report/load/heap_peak.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/mem.h"

static const char source_of_heaps[] = "heap", source_of_peaks[] = "heap-peak";

/* What a sample says of an allocation: each is of the thread and the time of that. */
enum heap_role {
	HEAP_NONE,
	HEAP_BYTES,
	HEAP_OBJECTS,
	HEAP_USED,     /* to the end */
	HEAP_LIFETIME, /* it was freed */
	HEAP_USED_OBJECTS,
	HEAP_ROLES,
};

static const char *const names_of_roles[HEAP_ROLES] = {
	[HEAP_BYTES] = "alloc_space",
	[HEAP_OBJECTS] = "alloc_objects",
	[HEAP_USED] = "inuse_space",
	[HEAP_LIFETIME] = "lifetime",
	[HEAP_USED_OBJECTS] = "inuse_objects",
};

enum {
	NO_SAMPLE = UINT32_MAX,
	PEAK_EVENTS = 2, /* that are added */
};

struct heap_allocation {
	uint32_t samples[HEAP_ROLES]; /* NO_SAMPLE: there is none */
	uint32_t process;
	uint64_t end_ns; /* UINT64_MAX: it was in use to the end */
	bool is_cut;     /* ... which was that of the file */
};

struct heap_change {
	uint32_t process;
	bool is_end;
	uint64_t time_ns, bytes;
};

struct heap_peak {
	struct profile *profile;
	uint8_t *roles;                    /* of events: enum heap_role */
	uint32_t events[HEAP_ROLES];       /* the last of each; 0: none */
	bool is_cut;                       /* what was not freed was in use as the file was cut */
	VEC(uint32_t) samples;             /* that have one, by thread and time */
	VEC(struct heap_allocation) known; /* how long they were in use */
	VEC(struct heap_change) changes;   /* of these */
	uint64_t *peaks_ns;                /* of processes; 0: it has none */
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

/* Whether lifetimes were recorded. */
static bool find_roles(struct heap_peak *peak)
{
	const struct profile *profile = peak->profile;
	bool has_lifetimes = false;
	peak->roles = mem_zalloc_array(profile->events.len + PEAK_EVENTS, sizeof(*peak->roles));
	for (size_t i = 1; i < profile->events.len; i++) {
		enum heap_role role = role_of_event(&profile->events.data[i]);
		peak->roles[i] = (uint8_t)role;
		peak->events[role] = (uint32_t)i;
		has_lifetimes |= peak->roles[i] == HEAP_LIFETIME;
	}
	return has_lifetimes;
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

/* A thread does one thing at a time: what is of one instant is of one allocation. */
static int compare_instants(const struct profile_sample *a, const struct profile_sample *b)
{
	int order = order_of_heap(a->thread, b->thread);
	return order ? order : order_of_heap(a->time_ns, b->time_ns);
}

static int compare_heap_samples(const void *a, const void *b, void *context)
{
	const struct profile_sample *samples = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = compare_instants(&samples[x], &samples[y]);
	return order ? order : order_of_heap(x, y);
}

static void sort_heap_samples(struct heap_peak *peak)
{
	struct profile *profile = peak->profile;
	for (uint32_t i = 0; i < profile->samples.len; i++)
		if (role_of_sample(peak, i) != HEAP_NONE)
			vec_push(&peak->samples, i);
	if (peak->samples.len)
		qsort_r(peak->samples.data, peak->samples.len, sizeof(*peak->samples.data),
			compare_heap_samples, profile->samples.data);
}

/* Whether what was in use at the end stands in the file that the process is of. */
static bool has_known_end(const struct profile *profile, uint32_t process)
{
	uint32_t origin = profile->processes.data[process].info.origin;
	bool is_merged = origin && origin < profile->origins.len;
	const struct layout_origin *info = is_merged ? &profile->origins.data[origin].info : NULL;
	uint32_t reason = info ? info->reason : profile->end.reason;
	bool is_cut = info && info->flags & (LAYOUT_ORIGIN_CUT | LAYOUT_ORIGIN_DAMAGED);
	return reason && !is_cut && reason != LAYOUT_END_WRITE_ERROR && reason != LAYOUT_END_SWITCH;
}

/*
 * Whether the recorder was killed, and of everything that it sampled until then the file says if it
 * was freed: then the rest was in use, as the samples at the end would have said.
 */
static bool is_cut_and_followed(const struct profile *profile)
{
	uint64_t unfollowed = 0;
	if (profile->end.reason || profile_nr_origins(profile) || profile->file.damage.regions ||
		profile->file.bad_chunks)
		return false;
	vec_each(&profile->sources, source)
		if (strcmp(source->name, "heap-used") == 0 ||
			strcmp(source->name, "heap-lifetime") == 0)
			for (int i = 0; i < LAYOUT_EVENT_COUNTER_COUNT; i++)
				if (i != LAYOUT_EVENTS && i != LAYOUT_EVENTS_SAMPLES)
					unfollowed += source->tallies[i].count;
	return !unfollowed;
}

static void take_allocation(struct heap_peak *peak, struct heap_allocation *allocation)
{
	struct profile *profile = peak->profile;
	uint32_t *of = allocation->samples;
	if (of[HEAP_BYTES] == NO_SAMPLE) { /* it was allocated in an earlier file */
		of[HEAP_BYTES] = of[HEAP_USED];
		of[HEAP_OBJECTS] = of[HEAP_USED_OBJECTS];
	}
	if (of[HEAP_BYTES] == NO_SAMPLE)
		return;
	const struct profile_sample *bytes = &profile->samples.data[of[HEAP_BYTES]];
	allocation->process = profile->threads.data[bytes->thread].process;
	bool is_known = of[HEAP_LIFETIME] != NO_SAMPLE || of[HEAP_USED] != NO_SAMPLE;
	allocation->is_cut = !is_known && peak->is_cut;
	if (!peak->is_cut && (!is_known || !has_known_end(profile, allocation->process))) {
		profile->heap_unknown_count++;
		profile->heap_unknown_bytes += bytes->weight;
		return;
	}
	allocation->end_ns = UINT64_MAX;
	if (of[HEAP_LIFETIME] != NO_SAMPLE)
		allocation->end_ns =
			bytes->time_ns + profile->samples.data[of[HEAP_LIFETIME]].weight;
	vec_push(&peak->known, *allocation);
}

static void find_allocations(struct heap_peak *peak)
{
	const struct profile_sample *samples = peak->profile->samples.data;
	for (size_t i = 0, next; i < peak->samples.len; i = next) {
		struct heap_allocation allocation;
		memset(allocation.samples, 0xff, sizeof(allocation.samples));
		const struct profile_sample *first = &samples[peak->samples.data[i]];
		for (next = i; next < peak->samples.len; next++) {
			uint32_t sample = peak->samples.data[next];
			if (compare_instants(first, &samples[sample]) != 0)
				break;
			allocation.samples[role_of_sample(peak, sample)] = sample;
		}
		take_allocation(peak, &allocation);
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
	vec_each(&peak->known, allocation) {
		const struct profile_sample *bytes = &samples[allocation->samples[HEAP_BYTES]];
		struct heap_change change = {
			allocation->process, false, bytes->time_ns, bytes->weight};
		vec_push(&peak->changes, change);
		change.is_end = true;
		change.time_ns = allocation->end_ns;
		vec_push(&peak->changes, change);
	}
	if (peak->changes.len)
		qsort(peak->changes.data, peak->changes.len, sizeof(*peak->changes.data),
			compare_changes);
}

static void find_heap_peaks(struct heap_peak *peak)
{
	struct profile *profile = peak->profile;
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
	for (size_t i = 0; i < profile->processes.len; i++) {
		uint64_t peak_ns = peak->peaks_ns[i];
		profile->nr_heap_peaks += peak_ns != 0;
		if (peak_ns > profile->heap_peak_ns)
			profile->heap_peak_ns = peak_ns;
	}
}

/* ---- samples ---- */

static uint32_t add_peak_event(struct profile *profile, const char *name, const char *unit)
{
	vec_push(&profile->events,
		(struct profile_event){.name = name, .unit = unit, .source = source_of_peaks});
	return (uint32_t)profile->events.len - 1;
}

static void add_heap_sample(struct profile *profile, uint32_t of, uint32_t event)
{
	if (of == NO_SAMPLE || !event)
		return;
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
	vec_each(&peak->known, allocation) {
		const uint32_t *of = allocation->samples;
		uint64_t peak_ns = peak->peaks_ns[allocation->process];
		uint64_t begin_ns = profile->samples.data[of[HEAP_BYTES]].time_ns;
		if (begin_ns > peak_ns || allocation->end_ns <= peak_ns)
			continue;
		add_heap_sample(profile, of[HEAP_BYTES], bytes);
		add_heap_sample(profile, of[HEAP_OBJECTS], objects);
	}
}

static void add_used_samples(struct heap_peak *peak)
{
	vec_each(&peak->known, allocation) {
		if (!allocation->is_cut)
			continue;
		const uint32_t *of = allocation->samples;
		add_heap_sample(peak->profile, of[HEAP_BYTES], peak->events[HEAP_USED]);
		add_heap_sample(peak->profile, of[HEAP_OBJECTS], peak->events[HEAP_USED_OBJECTS]);
	}
}

static void drop_lifetimes(const struct heap_peak *peak)
{
	struct profile *profile = peak->profile;
	size_t kept = 0;
	vec_each(&profile->samples, sample)
		if (peak->roles[sample->event] != HEAP_LIFETIME)
			profile->samples.data[kept++] = *sample;
	profile->samples.len = kept;
}

static void heap_peak_deinit(struct heap_peak *peak)
{
	mem_free(peak->roles);
	mem_free(peak->peaks_ns);
	vec_deinit(&peak->samples);
	vec_deinit(&peak->known);
	vec_deinit(&peak->changes);
}

void heap_peak_find(struct profile *profile)
{
	CLEANUP(heap_peak_deinit) struct heap_peak peak = {.profile = profile};
	if (!find_roles(&peak))
		return;
	peak.peaks_ns = mem_zalloc_array(profile->processes.len, sizeof(*peak.peaks_ns));
	peak.is_cut = is_cut_and_followed(profile);
	sort_heap_samples(&peak);
	find_allocations(&peak);
	find_changes(&peak);
	find_heap_peaks(&peak);
	if (profile->nr_heap_peaks && profile->events.len + PEAK_EVENTS <= LAYOUT_MAX_EVENTS)
		add_peak_samples(&peak);
	add_used_samples(&peak);
	drop_lifetimes(&peak);
}
