#include "format/merge/merge_counters.h"

/* Where the value stands; 0 at first. Valid until the next call. */
static struct layout_tally *tally_at(
	struct merge_counters *counters, uint32_t source, uint32_t counter, uint32_t cpu)
{
	uint32_t key[] = {source, counter, cpu};
	uint32_t place = strtab_intern(&counters->places, (const char *)key, sizeof(key));
	if (place == counters->len)
		vec_push(counters, (struct merge_counter){source, counter, cpu, {0}});
	return &counters->data[place].tally;
}

void merge_counters_set(struct merge_counters *counters, const struct merge_counter *value)
{
	*tally_at(counters, value->source, value->counter, value->cpu) = value->tally;
}

void merge_counters_set_value(
	struct merge_counters *counters, const struct layout_counter_value *value)
{
	enum layout_event_counter counter;
	const struct first_source *first = first_source_of_counter(value->counter, &counter);
	struct merge_counter out = {
		.source = first ? MERGE_FIRST_SOURCE + (uint32_t)(first - first_sources)
				: MERGE_NO_SOURCE,
		.counter = first ? counter : value->counter,
		.cpu = value->cpu,
		.tally.count = value->value,
	};
	merge_counters_set(counters, &out);
}

static void add_tally(struct merge_counters *counters, uint32_t source, uint32_t counter,
	uint32_t cpu, struct layout_tally tally)
{
	struct layout_tally *place = tally_at(counters, source, counter, cpu);
	place->count += tally.count;
	place->sum += tally.sum;
}

void merge_counters_add(struct merge_counters *counters, const struct merge_counters *from)
{
	vec_each(from, it)
		add_tally(counters, it->source, it->counter, it->cpu, it->tally);
}

/* ---- mending ---- */

/* What a source's events were, and what is known to have become of them. */
struct balance {
	struct layout_tally all, accounted;
};

struct balances {
	struct balance *data;
	size_t len, cap;
};

static struct balance *balance_of(struct balances *balances, uint32_t source)
{
	if (source >= balances->len)
		vec_resize(balances, (size_t)source + 1);
	return &balances->data[source];
}

static void account(struct balance *balance, struct layout_tally tally)
{
	balance->accounted.count += tally.count;
	balance->accounted.sum += tally.sum;
}

static void balance_counter(struct balance *balance, const struct merge_counter *it)
{
	switch ((enum layout_event_counter)it->counter) {
	case LAYOUT_EVENTS:
		balance->all.count += it->tally.count;
		balance->all.sum += it->tally.sum;
		break;
	case LAYOUT_EVENTS_IDLE:
	case LAYOUT_EVENTS_FILTERED:
	case LAYOUT_EVENTS_BELOW:
	case LAYOUT_EVENTS_LOST_RING:
	case LAYOUT_EVENTS_LOST_BUSY:
	case LAYOUT_EVENTS_LOST_UNRESOLVED:
	case LAYOUT_EVENTS_LOST_WRITE:
		account(balance, it->tally);
		break;
	case LAYOUT_EVENTS_SAMPLES: /* they were counted anew */
	case LAYOUT_EVENTS_SKIPPED: /* none of the events */
	case LAYOUT_EVENT_COUNTER_COUNT:
		break;
	}
}

static uint64_t excess(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

void merge_counters_leave_out(struct merge_counters *counters, const struct merge_samples *left_out)
{
	for (uint32_t source = MERGE_FIRST_SOURCE; source < left_out->len; source++) {
		struct layout_tally out = left_out->data[source];
		if (!out.count)
			continue;
		struct layout_tally *samples = tally_at(counters, source, LAYOUT_EVENTS_SAMPLES, 0);
		samples->count = excess(samples->count, out.count);
		samples->sum = excess(samples->sum, out.sum);
		add_tally(counters, source, LAYOUT_EVENTS_FILTERED, 0, out);
	}
}

static uint64_t mend_source(
	struct merge_counters *counters, uint32_t source, const struct balance *balance)
{
	const struct layout_tally *all = &balance->all, *accounted = &balance->accounted;
	struct layout_tally lost = {
		excess(all->count, accounted->count), excess(all->sum, accounted->sum)};
	struct layout_tally more = {
		excess(accounted->count, all->count), excess(accounted->sum, all->sum)};
	if (lost.count || lost.sum)
		add_tally(counters, source, LAYOUT_EVENTS_LOST_WRITE, 0, lost);
	if (more.count || more.sum)
		add_tally(counters, source, LAYOUT_EVENTS, 0, more);
	return lost.count + more.count;
}

uint64_t merge_counters_add_mended(struct merge_counters *counters,
	const struct merge_counters *from, const struct merge_samples *samples)
{
	struct balances balances = {0};
	uint64_t mended = 0;
	vec_each(from, it) {
		if (it->source)
			balance_counter(balance_of(&balances, it->source), it);
		if (!it->source || it->counter != LAYOUT_EVENTS_SAMPLES)
			add_tally(counters, it->source, it->counter, it->cpu, it->tally);
	}
	for (uint32_t source = MERGE_FIRST_SOURCE; source < samples->len; source++) {
		struct layout_tally read = samples->data[source];
		account(balance_of(&balances, source), read);
		if (read.count)
			add_tally(counters, source, LAYOUT_EVENTS_SAMPLES, 0, read);
	}
	for (uint32_t source = MERGE_FIRST_SOURCE; source < balances.len; source++)
		mended += mend_source(counters, source, &balances.data[source]);
	vec_deinit(&balances);
	return mended;
}

/* ---- writing ---- */

static void write_first(const struct merge_counter *it, struct writer *writer)
{
	const struct first_source *first = &first_sources[it->source - MERGE_FIRST_SOURCE];
	struct layout_counter_value value = {
		first->counters[it->counter], it->cpu, it->tally.count};
	if (value.counter)
		writer_counter(writer, &value);
}

static void write_counter(const struct merge_counter *it, struct writer *writer)
{
	struct layout_counter_value value = {
		(enum layout_counter)it->counter, it->cpu, it->tally.count};
	writer_counter(writer, &value);
}

static void write_other(const struct merge_counter *it, struct writer *writer)
{
	struct layout_event_tally tally = {
		.source = it->source - MERGE_OTHER_SOURCE,
		.counter = (enum layout_event_counter)it->counter,
		.cpu = it->cpu,
		.count = it->tally.count,
		.sum = it->tally.sum,
	};
	writer_event_tally(writer, &tally);
}

void merge_counters_write(const struct merge_counters *counters, struct writer *writer)
{
	vec_each(counters, it) {
		if (it->source == MERGE_NO_SOURCE)
			write_counter(it, writer);
		else if (it->source < MERGE_OTHER_SOURCE)
			write_first(it, writer);
		else
			write_other(it, writer);
	}
}

void merge_counters_clear(struct merge_counters *counters)
{
	counters->len = 0;
	strtab_deinit(&counters->places);
}

void merge_counters_deinit(struct merge_counters *counters)
{
	strtab_deinit(&counters->places);
	vec_deinit(counters);
}
