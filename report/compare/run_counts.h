/* Samples of two sides, counted by row and run. */
#ifndef EBPROF_RUN_COUNTS_H
#define EBPROF_RUN_COUNTS_H

#include "report/compare/entities.h"

/* The samples of one event of a recording, by stack; and which run each is of. */
struct run_samples {
	const struct profile *profile;
	size_t nr_stacks, nr_runs; /* runs with samples */
	uint32_t *first;           /* nr_stacks + 1 of them: where each stack's begin */
	uint32_t *runs;            /* of each sample */
	uint64_t *values;          /* of each sample, in the event's unit */
	bool *are_chance;          /* whether each sample was chosen by chance */
	bool is_weighted;          /* run_samples_differ() */
	/* Once they were summed, the entities of each stack as entities_of_stack() lists them. */
	struct entity_list entities;
	size_t *lists; /* nr_stacks + 1 of them: where each stack's begin */
};

/*
 * Whether samples of an event stand for different amounts, as those of waits do. Their numbers
 * would say nothing about time, so amounts are what they count; where this is false each sample
 * is 1.
 */
bool run_samples_differ(const struct diff_source sides[MATCH_SIDES], const uint32_t *events);
/*
 * Whether each event was measured, as waits, allocations and hits are, unlike what a timer or a
 * counter samples. Of what others recorded it is not known.
 */
bool run_samples_are_measured(const struct profile *profile, const struct profile_event *event);
/*
 * Also fills in the runs of `side`, and how much each of them has. Samples of which nothing is
 * known but that their stack was truncated count there alone: a function
 * that lacks them would lack more of them in a run that happens to have more, which is no change
 * of the program.
 */
void run_samples_init(struct run_samples *samples, const struct diff_source *source, uint32_t event,
	bool is_weighted, struct diff_side *side);
void run_samples_deinit(struct run_samples *samples);

struct run_sum {
	uint64_t samples, value; /* value: in the event's unit */
	/* Of the samples' amounts, and those of which alone chance chose the samples: judgement.h
	 * says what for. */
	double squares, chance_squares;
};

/* What is compared of it. */
static inline double run_sum_amount(const struct run_sum *sum, bool is_weighted)
{
	return is_weighted ? (double)sum->value : (double)sum->samples;
}

struct run_sums { /* of an entity and a side, over all of its runs */
	struct run_sum self, total;
	uint64_t stacks; /* a sum of hashes: equal for what is on the same stacks */
};

struct run_counts {
	struct run_samples sides[MATCH_SIDES];
	struct entities *entities;
	struct run_sums *sums[MATCH_SIDES]; /* of each entity */
	size_t nr_entities;
	size_t nr_runs, nr_base; /* of both sides; base's come first */
	uint32_t *old; /* of each entity, 1 + the one of base it was joined with; 0: none */
	/* Of the entities that were chosen: */
	size_t nr_rows;
	uint32_t *row_of;     /* of each entity, 1 + row; 0: it has none */
	double *self, *total; /* amounts: nr_runs of each row */
};

/* The sides are those of run_samples_init(); they become the counts'. */
void run_counts_init(struct run_counts *counts, const struct run_samples *base,
	const struct run_samples *new, struct entities *entities);
void run_counts_deinit(struct run_counts *counts);
/*
 * `new_of` has for each entity 0, or 1 + the one that what base's samples say of it is said of from
 * then on; the former only base has, the latter base has not.
 */
void run_counts_join(struct run_counts *counts, const uint32_t *new_of);
/* `rows` are entities. */
void run_counts_choose(struct run_counts *counts, const uint32_t *rows, size_t nr_rows);
/*
 * For each row and run, of the amount in its total that of which the self row is among `chosen`.
 * To be freed with mem_free().
 */
double *run_counts_of_chosen(struct run_counts *counts, const bool *chosen);

#endif
