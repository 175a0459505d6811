/*
 * Events that were chosen by points in the sequence of their sizes, at random distances of an
 * exponential distribution: what each stands for.
 *
 * At a mean distance R, an event of size s has a point in it with the probability
 * p = 1 - exp(-s / R). So that the sums of sizes and of numbers are right on average, it stands for
 * s / p and for 1 / p of them: nearly R where it is small, nearly itself where it is large.
 */
#ifndef EBPROF_POINT_WEIGHT_H
#define EBPROF_POINT_WEIGHT_H

#include <stddef.h>
#include <stdint.h>

/* `size` and `mean` are not 0. Rounded. */
uint64_t point_weight_sum(uint64_t size, uint64_t mean);
/* Whole ones, up or down, by `random`: on average it is right, also where it is less than 2. */
uint64_t point_weight_count(uint64_t size, uint64_t mean, uint64_t random);

/*
 * Fills in the distances of `count` probabilities from 0 on: entry i is longer than i of `count`
 * distances are. The distances between two entries have their mean in the middle, if what is
 * between is drawn evenly.
 */
void point_weight_distances(uint64_t mean, uint64_t *ret, size_t count);

#endif
