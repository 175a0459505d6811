#include "report/compare/run_counts.h"

#include <math.h>
#include <string.h>

#include "format/base/map.h"
#include "format/base/path.h"

/* ---- samples by stack ---- */

struct sorting {
	const struct profile *profile;
	uint32_t event;
	bool is_weighted;
	const bool *is_seen;     /* of each sample; NULL: all are */
	const uint32_t *runs;    /* of each thread */
	const bool *is_known;    /* of each stack */
	const bool *is_cut;      /* of each stack; NULL: none is */
	const uint32_t *numbers; /* of each run, without the empty ones */
	const bool *is_measured; /* of each event */
};

static bool is_of_event(const struct sorting *sorting, const struct profile_sample *sample)
{
	return profile_event_has(sorting->profile, sorting->event, sample->event);
}

static bool is_seen(const struct sorting *sorting, const struct profile_sample *sample)
{
	return !sorting->is_seen || sorting->is_seen[sample - sorting->profile->samples.data];
}

/* Ticks strike anywhere, and of short waits one stands for many; a long wait is one for certain. */
static bool is_by_chance(const struct sorting *sorting, const struct profile_sample *sample)
{
	return sample->is_estimate || !sorting->is_measured[sample->event];
}

bool run_samples_are_measured(const struct profile *profile, const struct profile_event *event)
{
	bool is_import = profile_meta(profile, LAYOUT_META_IMPORT);
	return event->wait || (profile_event_is_counted(profile, event) && !is_import);
}

/* For each event whether its samples are of what the recorder measured. */
static bool *find_measured(const struct profile *profile)
{
	bool *is_measured = mem_zalloc_array(profile->events.len + 1, sizeof(*is_measured));
	for (size_t i = 0; i < profile->events.len; i++)
		is_measured[i] = run_samples_are_measured(profile, &profile->events.data[i]);
	return is_measured;
}

static void add_amount(struct run_sum *sum, uint64_t value, double amount, bool is_chance)
{
	sum->samples++;
	sum->value += value;
	sum->squares += amount * amount;
	sum->chance_squares += is_chance ? amount * amount : 0;
}

static void add_sample(
	const struct sorting *sorting, const struct profile_sample *sample, struct run_sum *sum)
{
	uint64_t value = profile_sample_value(sorting->profile, sample);
	add_amount(sum, value, sorting->is_weighted ? (double)value : 1,
		is_by_chance(sorting, sample));
}

static bool is_counted(const struct sorting *sorting, const struct profile_sample *sample)
{
	return is_of_event(sorting, sample) && sorting->is_known[sample->stack] &&
	       is_seen(sorting, sample);
}

static bool has_left_out(const struct profile *profile)
{
	for (size_t i = 1; i < profile->frames.len; i++)
		if (profile_frame_is_left_out(&profile->frames.data[i]))
			return true;
	return false;
}

/* For each stack whether something was left out of it; NULL: of none. */
static bool *run_counts_find_cut(const struct profile *profile)
{
	if (!has_left_out(profile))
		return NULL;
	bool *is_cut = mem_zalloc_array(profile->stacks.len, sizeof(*is_cut));
	for (uint32_t i = 0; i < profile->stacks.len; i++) {
		struct profile_walk walk = profile_walk(profile, i);
		for (uint32_t frame; !is_cut[i] && (frame = profile_walk_next(&walk));)
			is_cut[i] = profile_frame_is_left_out(&profile->frames.data[frame]);
	}
	return is_cut;
}

/*
 * For each stack whether it has a frame that is in some code. Of which all was left out was in
 * some, too: in a rare function, of which its runs have as much as of others.
 */
static bool *find_known(const struct profile *profile)
{
	bool *is_known = mem_zalloc_array(profile->stacks.len, sizeof(*is_known));
	for (uint32_t i = 0; i < profile->stacks.len; i++) {
		struct profile_walk walk = profile_walk(profile, i);
		for (uint32_t frame; !is_known[i] && (frame = profile_walk_next(&walk));)
			is_known[i] = profile->frames.data[frame].object ||
				      profile_frame_is_left_out(&profile->frames.data[frame]);
	}
	return is_known;
}

/* Which run each thread is of: its recording, of those that were merged. */
static uint32_t *find_runs(const struct profile *profile)
{
	uint32_t *runs = mem_zalloc_array(profile->threads.len, sizeof(*runs));
	for (size_t i = 0; i < profile->threads.len; i++)
		runs[i] = profile->processes.data[profile->threads.data[i].process].info.origin;
	return runs;
}

static struct diff_run describe_run(const struct profile *profile, size_t origin)
{
	bool is_merged = origin > 0 && origin < profile->origins.len;
	enum layout_end_reason reason =
		is_merged ? profile->origins.data[origin].info.reason : profile->end.reason;
	const char *command =
		profile_origin_meta(profile, is_merged ? (uint32_t)origin : 0, LAYOUT_META_COMMAND);
	return (struct diff_run){
		.name = is_merged ? profile->origins.data[origin].name : "",
		.program = command ? path_last_part(command) : NULL,
		.is_whole_command = reason == LAYOUT_END_COMMAND,
	};
}

/* Of all samples of a run, and of those of which is known where they were. */
struct run_total {
	struct run_sum all, known;
};

/* Runs without samples are left out; `numbers` are those of the others, by origin. */
static void run_counts_put_runs(const struct sorting *sorting, const struct run_total *totals,
	size_t count, uint32_t *numbers, struct diff_side *side)
{
	for (size_t i = 0; i < count; i++) {
		const struct run_total *tally = &totals[i];
		if (!tally->all.samples) {
			/* Where something was merged, 0 is what damage left. */
			side->nr_empty += i > 0 || count == 1;
			continue;
		}
		numbers[i] = (uint32_t)side->runs.len;
		struct diff_run run = describe_run(sorting->profile, i);
		run.samples = tally->all.samples;
		run.value = fmax(1, (double)tally->all.value); /* 0: damage */
		run.amount = run_sum_amount(&tally->all, sorting->is_weighted);
		run.known_amount = run_sum_amount(&tally->known, sorting->is_weighted);
		vec_push(&side->runs, run);
		side->samples += run.samples;
		side->known += tally->known.samples;
		side->known_amount += run.known_amount;
		side->squares += tally->all.squares;
		side->chance_squares += tally->all.chance_squares;
		side->known_squares += tally->known.squares;
		side->known_chance_squares += tally->known.chance_squares;
		side->value += run.value;
	}
}

static void add_up_runs(
	const struct sorting *sorting, struct run_total *totals, struct diff_side *side)
{
	const struct profile *profile = sorting->profile;
	vec_each(&profile->samples, sample) {
		if (!is_seen(sorting, sample)) {
			side->unseen += is_of_event(sorting, sample);
			continue;
		}
		if (!is_of_event(sorting, sample)) {
			side->other_samples++;
			continue;
		}
		struct run_total *tally = &totals[sorting->runs[sample->thread]];
		add_sample(sorting, sample, &tally->all);
		if (sorting->is_known[sample->stack])
			add_sample(sorting, sample, &tally->known);
		side->cut += sorting->is_cut && sorting->is_cut[sample->stack];
	}
}

/* A counting sort: how many each stack has, where they begin, and then each into its place. */
static void sort_samples(struct run_samples *samples, const struct sorting *sorting)
{
	const struct profile *profile = sorting->profile;
	vec_each(&profile->samples, sample)
		if (is_counted(sorting, sample))
			samples->first[sample->stack + 1]++;
	for (size_t i = 0; i < samples->nr_stacks; i++)
		samples->first[i + 1] += samples->first[i];
	CLEANUP_FREE uint32_t *place = mem_zalloc_array(samples->nr_stacks, sizeof(*place));
	memcpy(place, samples->first, samples->nr_stacks * sizeof(*place));
	vec_each(&profile->samples, sample) {
		if (!is_counted(sorting, sample))
			continue;
		uint32_t at = place[sample->stack]++;
		samples->runs[at] = sorting->numbers[sorting->runs[sample->thread]];
		samples->values[at] = profile_sample_value(profile, sample);
		samples->are_chance[at] = is_by_chance(sorting, sample);
	}
}

bool run_samples_differ(const struct diff_source sides[MATCH_SIDES], const uint32_t *events)
{
	uint64_t first = 0;
	bool differ = false;
	for (int side = 0; side < MATCH_SIDES; side++) {
		const struct profile *profile = sides[side].profile;
		const struct profile_event *event = &profile->events.data[events[side]];
		bool is_probe = !event->source && strcmp(event->unit, LAYOUT_UNIT_HITS) == 0;
		if (is_probe)
			return false;
		vec_each(&profile->samples, sample) {
			if (!profile_event_has(profile, events[side], sample->event))
				continue;
			uint64_t value = profile_sample_value(profile, sample);
			first = first ? first : value;
			differ |= value != first;
		}
	}
	return differ;
}

void run_samples_init(struct run_samples *samples, const struct diff_source *source, uint32_t event,
	bool is_weighted, struct diff_side *side)
{
	const struct profile *profile = source->profile;
	size_t stacks = profile->stacks.len, nr_samples = profile->samples.len;
	size_t origins = profile->origins.len > 1 ? profile->origins.len : 1;
	CLEANUP_FREE uint32_t *runs = find_runs(profile);
	CLEANUP_FREE bool *is_known = find_known(profile);
	CLEANUP_FREE bool *is_cut = run_counts_find_cut(profile);
	CLEANUP_FREE uint32_t *numbers = mem_zalloc_array(origins, sizeof(*numbers));
	CLEANUP_FREE struct run_total *totals = mem_zalloc_array(origins, sizeof(*totals));
	CLEANUP_FREE bool *is_measured = find_measured(profile);
	struct sorting sorting = {profile, event, is_weighted, source->is_seen, runs, is_known,
		is_cut, numbers, is_measured};
	add_up_runs(&sorting, totals, side);
	run_counts_put_runs(&sorting, totals, origins, numbers, side);
	*samples = (struct run_samples){
		.profile = profile,
		.nr_stacks = stacks,
		.nr_runs = side->runs.len,
		.first = mem_zalloc_array(stacks + 1, sizeof(*samples->first)),
		.runs = mem_zalloc_array(nr_samples, sizeof(*samples->runs)),
		.values = mem_zalloc_array(nr_samples, sizeof(*samples->values)),
		.are_chance = mem_zalloc_array(nr_samples, sizeof(*samples->are_chance)),
		.is_weighted = is_weighted,
	};
	sort_samples(samples, &sorting);
}

void run_samples_deinit(struct run_samples *samples)
{
	mem_free(samples->first);
	mem_free(samples->runs);
	mem_free(samples->values);
	mem_free(samples->are_chance);
	mem_free(samples->lists);
	vec_deinit(&samples->entities);
	*samples = (struct run_samples){0};
}

/* ---- sums by entity ---- */

static double amount_at(const struct run_samples *samples, uint32_t at)
{
	return samples->is_weighted ? (double)samples->values[at] : 1;
}

static struct run_sum sum_of_stack(const struct run_samples *samples, uint32_t stack)
{
	struct run_sum sum = {0};
	for (uint32_t at = samples->first[stack]; at < samples->first[stack + 1]; at++)
		add_amount(
			&sum, samples->values[at], amount_at(samples, at), samples->are_chance[at]);
	return sum;
}

static void add_run_sum(struct run_sum *to, const struct run_sum *sum)
{
	to->samples += sum->samples;
	to->value += sum->value;
	to->squares += sum->squares;
	to->chance_squares += sum->chance_squares;
}

/* Entities are numbered as stacks are looked at, so there may be more than at the last one. */
static void run_counts_add_stack(struct run_counts *counts, enum match_side side, uint32_t stack,
	const struct entity_list *list, size_t *room)
{
	const struct run_samples *samples = &counts->sides[side];
	size_t count = entities_count(counts->entities);
	if (count > *room) {
		size_t more = count * 2;
		struct run_sums **sums = &counts->sums[side];
		*sums = mem_realloc_array(*sums, more, sizeof(**sums));
		memset(*sums + *room, 0, (more - *room) * sizeof(**sums));
		*room = more;
	}
	struct run_sum sum = sum_of_stack(samples, stack);
	uint64_t hash = map_hash_bytes(&stack, sizeof(stack), side);
	for (size_t i = 0; i < list->len; i++) {
		struct run_sums *sums = &counts->sums[side][list->data[i]];
		add_run_sum(&sums->total, &sum);
		sums->stacks += hash;
		if (i == 0)
			add_run_sum(&sums->self, &sum);
	}
}

static void sum_side(struct run_counts *counts, enum match_side side)
{
	struct entity_list list = {0};
	struct run_samples *samples = &counts->sides[side];
	size_t room = 0;
	samples->lists = mem_zalloc_array(samples->nr_stacks + 1, sizeof(*samples->lists));
	for (uint32_t stack = 0; stack < samples->nr_stacks; stack++) {
		if (samples->first[stack] != samples->first[stack + 1]) {
			entities_of_stack(counts->entities, side, stack, &list);
			run_counts_add_stack(counts, side, stack, &list, &room);
			vec_append(&samples->entities, list.data, list.len);
		}
		samples->lists[stack + 1] = samples->entities.len;
	}
	vec_deinit(&list);
	/* Of each entity, also of those that only the other side has. */
	counts->nr_entities = entities_count(counts->entities);
}

/* Both sides' have as many then. */
static void even_out(struct run_counts *counts, enum match_side side, size_t had)
{
	struct run_sums **sums = &counts->sums[side];
	size_t count = counts->nr_entities;
	*sums = mem_realloc_array(*sums, count, sizeof(**sums));
	if (count > had)
		memset(*sums + had, 0, (count - had) * sizeof(**sums));
}

void run_counts_init(struct run_counts *counts, const struct run_samples *base,
	const struct run_samples *new, struct entities *entities)
{
	*counts = (struct run_counts){
		.sides = {*base, *new},
		.entities = entities,
		.nr_runs = base->nr_runs + new->nr_runs,
		.nr_base = base->nr_runs,
	};
	sum_side(counts, MATCH_NEW);
	size_t of_new = counts->nr_entities;
	sum_side(counts, MATCH_BASE);
	even_out(counts, MATCH_NEW, of_new);
	even_out(counts, MATCH_BASE, counts->nr_entities);
	counts->old = mem_zalloc_array(counts->nr_entities + 1, sizeof(*counts->old));
}

void run_counts_join(struct run_counts *counts, const uint32_t *new_of)
{
	struct run_sums *base = counts->sums[MATCH_BASE];
	for (uint32_t old = 0; old < counts->nr_entities; old++) {
		if (!new_of[old])
			continue;
		base[new_of[old] - 1] = base[old];
		base[old] = (struct run_sums){0};
		counts->old[new_of[old] - 1] = old + 1;
	}
	vec_each(&counts->sides[MATCH_BASE].entities, entity)
		if (new_of[*entity])
			*entity = new_of[*entity] - 1;
}

void run_counts_deinit(struct run_counts *counts)
{
	for (int side = 0; side < MATCH_SIDES; side++) {
		run_samples_deinit(&counts->sides[side]);
		mem_free(counts->sums[side]);
	}
	mem_free(counts->old);
	mem_free(counts->row_of);
	mem_free(counts->self);
	mem_free(counts->total);
}

/* ---- rows by run ---- */

/* Where a side's samples are counted, row by row. */
struct tally {
	struct run_counts *counts;
	const bool *chosen; /* NULL: all samples, into the counts' own cells */
	double *cells;
};

static double *new_cells(const struct run_counts *counts)
{
	return mem_zalloc_array(counts->nr_rows * counts->nr_runs + 1, sizeof(double));
}

static void tally_row(
	const struct tally *tally, uint32_t row, bool is_self, size_t run, double amount)
{
	struct run_counts *counts = tally->counts;
	size_t cell = row * counts->nr_runs + run;
	if (tally->chosen) {
		tally->cells[cell] += amount;
		return;
	}
	counts->total[cell] += amount;
	counts->self[cell] += is_self ? amount : 0;
}

/* Samples of a stack mostly come run by run. */
static void tally_stack(const struct tally *tally, enum match_side side, uint32_t stack,
	const struct entity_list *rows, bool has_self)
{
	const struct run_samples *samples = &tally->counts->sides[side];
	size_t first_run = side == MATCH_NEW ? tally->counts->nr_base : 0;
	uint32_t end = samples->first[stack + 1];
	for (uint32_t at = samples->first[stack], next; at < end; at = next) {
		double amount = amount_at(samples, at);
		for (next = at + 1; next < end && samples->runs[next] == samples->runs[at]; next++)
			amount += amount_at(samples, next);
		for (size_t i = 0; i < rows->len; i++)
			tally_row(tally, rows->data[i], has_self && i == 0,
				first_run + samples->runs[at], amount);
	}
}

/* The rows among a stack's entities. */
static bool list_rows(const struct run_counts *counts, enum match_side side, uint32_t stack,
	struct entity_list *rows)
{
	const struct run_samples *samples = &counts->sides[side];
	const uint32_t *entities = samples->entities.data + samples->lists[stack];
	size_t count = samples->lists[stack + 1] - samples->lists[stack];
	rows->len = 0;
	for (size_t i = 0; i < count; i++)
		if (counts->row_of[entities[i]])
			vec_push(rows, counts->row_of[entities[i]] - 1);
	return counts->row_of[entities[0]];
}

static void run_counts_tally_side(const struct tally *tally, enum match_side side)
{
	struct run_counts *counts = tally->counts;
	const struct run_samples *samples = &counts->sides[side];
	struct entity_list rows = {0};
	for (uint32_t stack = 0; stack < samples->nr_stacks; stack++) {
		if (samples->first[stack] == samples->first[stack + 1])
			continue;
		bool has_self = list_rows(counts, side, stack, &rows);
		if (tally->chosen && !(has_self && tally->chosen[rows.data[0]]))
			continue;
		tally_stack(tally, side, stack, &rows, has_self);
	}
	vec_deinit(&rows);
}

void run_counts_choose(struct run_counts *counts, const uint32_t *rows, size_t nr_rows)
{
	counts->nr_rows = nr_rows;
	counts->row_of = mem_zalloc_array(counts->nr_entities + 1, sizeof(*counts->row_of));
	for (size_t i = 0; i < nr_rows; i++)
		counts->row_of[rows[i]] = (uint32_t)i + 1;
	counts->self = new_cells(counts);
	counts->total = new_cells(counts);
	struct tally tally = {.counts = counts};
	run_counts_tally_side(&tally, MATCH_BASE);
	run_counts_tally_side(&tally, MATCH_NEW);
}

double *run_counts_of_chosen(struct run_counts *counts, const bool *chosen)
{
	struct tally tally = {counts, chosen, new_cells(counts)};
	run_counts_tally_side(&tally, MATCH_BASE);
	run_counts_tally_side(&tally, MATCH_NEW);
	return tally.cells;
}
