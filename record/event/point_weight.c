#include "record/event/point_weight.h"

#include <math.h>

static double point_probability(uint64_t size, uint64_t mean)
{
	return -expm1(-(double)size / (double)mean);
}

uint64_t point_weight_sum(uint64_t size, uint64_t mean)
{
	return (uint64_t)((double)size / point_probability(size, mean) + 0.5);
}

uint64_t point_weight_count(uint64_t size, uint64_t mean, uint64_t random)
{
	double count = 1 / point_probability(size, mean);
	uint64_t whole = (uint64_t)count;
	double rest = count - (double)whole;
	return whole + ((double)(random >> 11) * 0x1p-53 < rest);
}

/*
 * Between entries a and b the distances have the density of exp(-x); drawn evenly instead, their
 * mean is a little too long, by (b - a)^2 / 12 in units of the mean: each entry is so much shorter.
 */
void point_weight_distances(uint64_t mean, uint64_t *ret, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		double at = -log1p(-(double)i / (double)count);
		double next = i + 1 < count ? -log1p(-(double)(i + 1) / (double)count) : at;
		double error = (next - at) * (next - at) / 12;
		double distance = at > error ? at - error : at;
		ret[i] = (uint64_t)(distance * (double)mean + 0.5);
	}
}
