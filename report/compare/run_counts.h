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
	uint64_t *values;          /* of each stack, in the event's unit */
	/* Once they were summed, the entities of each stack as entities_of_stack() lists them. */
	struct entity_list entities;
	size_t *lists; /* nr_stacks + 1 of them: where each stack's begin */
};

/*
 * How much of what an event counts is one sample where its samples stand for different amounts, as
 * those of waits do: their numbers would say nothing about time, and the statistics need numbers.
 * The sum of the squares of their values by the sum of these: as many of it as there are then vary
 * by chance as much as the sum of the values does. 0: each sample is one.
 */
double run_samples_quantum(const struct diff_source sides[MATCH_SIDES], const uint32_t *events);
/*
 * Also fills in the runs of `side`, and how much each of them has. Samples of which nothing is
 * known but that their stack was truncated count there alone: a function
 * that lacks them would lack more of them in a run that happens to have more, which is no change
 * of the program.
 */
void run_samples_init(struct run_samples *samples, const struct diff_source *source, uint32_t event,
	double quantum, struct diff_side *side);
void run_samples_deinit(struct run_samples *samples);

struct run_sums {             /* of an entity and a side, over all of its runs */
	uint64_t self, total; /* samples */
	uint64_t self_value, total_value;
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
	uint32_t *row_of;       /* of each entity, 1 + row; 0: it has none */
	uint32_t *self, *total; /* nr_runs of each row */
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
 * For each row and run, of the samples in its total those of which the self row is among `chosen`.
 * To be freed with mem_free().
 */
uint32_t *run_counts_of_chosen(struct run_counts *counts, const bool *chosen);

#endif
