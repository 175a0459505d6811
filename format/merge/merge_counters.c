#include "format/merge/merge_counters.h"

#include "format/base/vec.h"

/* Where the value stands; 0 at first. Valid until the next call. */
static uint64_t *counter_at(
	struct merge_counters *counters, enum layout_counter counter, uint32_t cpu)
{
	bool added;
	uint64_t *place = map_put(&counters->places, (uint64_t)counter << 32 | cpu, &added);
	if (added) {
		*place = counters->len;
		vec_push(counters, (struct layout_counter_value){counter, cpu, 0});
	}
	return &counters->data[*place].value;
}

void merge_counters_set(struct merge_counters *counters, const struct layout_counter_value *value)
{
	*counter_at(counters, value->counter, value->cpu) = value->value;
}

static void add_counter(
	struct merge_counters *counters, enum layout_counter counter, uint32_t cpu, uint64_t value)
{
	*counter_at(counters, counter, cpu) += value;
}

void merge_counters_add(struct merge_counters *counters, const struct merge_counters *source)
{
	vec_each(source, it)
		add_counter(counters, it->counter, it->cpu, it->value);
}

/* ---- mending ---- */

static uint64_t mend_counter(struct merge_counters *counters, uint64_t all, uint64_t told,
	enum layout_counter counter, enum layout_counter lost)
{
	if (all > told)
		add_counter(counters, lost, 0, all - told);
	else if (told > all)
		add_counter(counters, counter, 0, told - all);
	return all > told ? all - told : told - all;
}

/* `sums` of the source, over its CPUs. */
static uint64_t mend_counters(struct merge_counters *counters, const uint64_t *sums,
	uint64_t tick_samples, uint64_t hit_samples)
{
	uint64_t ticks = tick_samples + sums[LAYOUT_COUNTER_IDLE] + sums[LAYOUT_COUNTER_FILTERED] +
			 sums[LAYOUT_COUNTER_LOST_RING] + sums[LAYOUT_COUNTER_LOST_UNRESOLVED] +
			 sums[LAYOUT_COUNTER_LOST_WRITE];
	uint64_t hits = hit_samples + sums[LAYOUT_COUNTER_HITS_FILTERED] +
			sums[LAYOUT_COUNTER_HITS_LOST_RING] + sums[LAYOUT_COUNTER_HITS_LOST_BUSY] +
			sums[LAYOUT_COUNTER_HITS_LOST_UNRESOLVED] +
			sums[LAYOUT_COUNTER_HITS_LOST_WRITE];
	uint64_t mended = mend_counter(counters, sums[LAYOUT_COUNTER_TICKS], ticks,
		LAYOUT_COUNTER_TICKS, LAYOUT_COUNTER_LOST_WRITE);
	return mended + mend_counter(counters, sums[LAYOUT_COUNTER_HITS], hits, LAYOUT_COUNTER_HITS,
				LAYOUT_COUNTER_HITS_LOST_WRITE);
}

uint64_t merge_counters_add_mended(struct merge_counters *counters,
	const struct merge_counters *source, uint64_t tick_samples, uint64_t hit_samples)
{
	uint64_t sums[LAYOUT_COUNTER_COUNT] = {0};
	vec_each(source, it) {
		if ((unsigned)it->counter < LAYOUT_COUNTER_COUNT)
			sums[it->counter] += it->value;
		bool is_counted_anew = it->counter == LAYOUT_COUNTER_SAMPLES ||
				       it->counter == LAYOUT_COUNTER_HIT_SAMPLES;
		if (!is_counted_anew)
			add_counter(counters, it->counter, it->cpu, it->value);
	}
	add_counter(counters, LAYOUT_COUNTER_SAMPLES, 0, tick_samples);
	if (hit_samples)
		add_counter(counters, LAYOUT_COUNTER_HIT_SAMPLES, 0, hit_samples);
	return mend_counters(counters, sums, tick_samples, hit_samples);
}

void merge_counters_clear(struct merge_counters *counters)
{
	counters->len = 0;
	map_clear(&counters->places);
}

void merge_counters_deinit(struct merge_counters *counters)
{
	map_deinit(&counters->places);
	vec_deinit(counters);
}
