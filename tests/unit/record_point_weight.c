/* What a sample stands for that was chosen by points among bytes. */
#include "record/event/point_weight.h"

#include <math.h>

#include "tests/unit/unit.h"

enum {
	MEAN = 1 << 19,
	DISTANCES = 1024,
};

TEST(small_ones_stand_for_the_mean)
{
	CHECK_INT(point_weight_sum(1, MEAN), MEAN + 1); /* and half of itself */
	CHECK_INT(point_weight_sum(1000, MEAN), MEAN + 500);
	CHECK_INT(point_weight_count(1, MEAN, 0), MEAN + 1);
}

TEST(large_ones_stand_for_themselves)
{
	CHECK_INT(point_weight_sum(100ULL * MEAN, MEAN), 100ULL * MEAN);
	CHECK_INT(point_weight_count(100ULL * MEAN, MEAN, UINT64_MAX), 1);
	CHECK_INT(point_weight_sum(1ULL << 62, MEAN), 1ULL << 62);
}

/* An allocation of the mean is chosen with 1 - 1/e. */
TEST(numbers_are_right_on_average)
{
	uint64_t sum = 0, count = 100000, random = 1;
	for (uint64_t i = 0; i < count; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		sum += point_weight_count(MEAN, MEAN, random);
	}
	double expected = 1 / (1 - exp(-1));
	CHECK(fabs((double)sum / (double)count - expected) < 0.01);
}

/* As bpf/source/heap.bpf.h draws them: evenly between two entries, anew behind the last. */
TEST(distances_have_their_mean)
{
	uint64_t distances[DISTANCES];
	point_weight_distances(MEAN, distances, DISTANCES);
	double sum = 0, square = 0;
	for (int i = 0; i + 1 < DISTANCES; i++) {
		double a = (double)distances[i], b = (double)distances[i + 1];
		CHECK(a <= b);
		sum += (a + b) / 2;
		square += (a * a + a * b + b * b) / 3;
	}
	/* m = sum / n + (last + m) / n, and so for the square */
	double last = (double)distances[DISTANCES - 1];
	double mean = (sum + last) / (DISTANCES - 1);
	double second = (square + last * last + 2 * last * mean) / (DISTANCES - 1);
	CHECK(fabs(mean / MEAN - 1) < 1e-4);
	CHECK(fabs(second / MEAN / MEAN - 2) < 1e-3);
}
