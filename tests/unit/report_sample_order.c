#include "report/model/sample_order.h"
#include "tests/unit/unit.h"

enum {
	COUNT = 5000
};

/* `thread` is where each stood, to tell samples of the same instant apart. */
static void check_sorted(const uint64_t *times_ns, size_t count)
{
	static struct profile_sample samples[COUNT];
	static bool is_seen[COUNT];
	size_t nr_wrong = 0;
	for (size_t i = 0; i < count; i++) {
		samples[i] = (struct profile_sample){.time_ns = times_ns[i], .thread = (uint32_t)i};
		is_seen[i] = false;
	}
	sample_order_sort(samples, count);
	for (size_t i = 0; i < count; i++) {
		const struct profile_sample *it = &samples[i], *before = &samples[i ? i - 1 : 0];
		nr_wrong += it->time_ns < before->time_ns;
		nr_wrong += i && it->time_ns == before->time_ns && it->thread < before->thread;
		nr_wrong += it->thread >= count || is_seen[it->thread] ||
			    it->time_ns != times_ns[it->thread];
		if (it->thread < count)
			is_seen[it->thread] = true;
	}
	CHECK_INT(nr_wrong, 0);
}

TEST(no_sample_and_one_are_in_order)
{
	check_sorted(NULL, 0);
	check_sorted(&(uint64_t){7}, 1);
}

TEST(displaced_samples_are_put_in_order)
{
	uint64_t times_ns[COUNT];
	for (size_t i = 0; i < COUNT; i++)
		times_ns[i] = 1000 + i / 3 - (i % 7 == 0 ? 20 : 0);
	check_sorted(times_ns, COUNT);
}

/* As recordings of the same time, one behind the other. */
TEST(parts_of_the_same_time_are_merged)
{
	for (size_t nr_parts = 2; nr_parts < 9; nr_parts++) {
		uint64_t times_ns[COUNT];
		for (size_t i = 0; i < COUNT; i++)
			times_ns[i] = i % (COUNT / nr_parts) * 2 + (i % 5 == 0);
		check_sorted(times_ns, COUNT);
	}
}

TEST(the_worst_orders_end)
{
	uint64_t falling[COUNT], mixed[COUNT], equal[COUNT], state = 1;
	for (size_t i = 0; i < COUNT; i++) {
		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		falling[i] = COUNT - i;
		mixed[i] = state >> 54;
		equal[i] = UINT64_MAX;
	}
	check_sorted(falling, COUNT);
	check_sorted(mixed, COUNT);
	check_sorted(equal, COUNT);
}
