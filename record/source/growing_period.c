#include "record/source/growing_period.h"

#include <bpf/libbpf.h>

#include "format/base/mem.h"
#include "record/source/source_kernel.h"

void growing_period_begin(
	struct growing_period *period, volatile unsigned long long *ns, uint64_t now_ns)
{
	period->ns = ns;
	period->asked_ns = period->longest_ns = *ns;
	period->since_ns = now_ns;
	mem_free(period->samples);
	period->samples =
		mem_zalloc_array((size_t)libbpf_num_possible_cpus(), sizeof(*period->samples));
}

/* What the CPU with the most had since the counts that `period` has of it; takes the new ones. */
static uint64_t most_samples(struct growing_period *period, const struct event_counters *counted)
{
	uint64_t most = 0;
	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++) {
		uint64_t samples = counted[cpu].of[EVENT_COUNTER_SAMPLES].count +
				   counted[cpu].of[EVENT_COUNTER_LOST_RING].count;
		uint64_t more = samples - period->samples[cpu];
		most = more > most ? more : most;
		period->samples[cpu] = samples;
	}
	return most;
}

struct err *growing_period_update(struct growing_period *period, const struct source *source,
	const struct sample_bpf *bpf, uint64_t now_ns)
{
	enum {
		INTERVAL_NS = 250 * 1000 * 1000,
		MAX_SAMPLES = 1000,
		FEW = 4, /* times as many would not be too many */
	};
	static const uint64_t limit_ns = 10ULL * 1000 * 1000 * 1000;
	CLEANUP_FREE struct event_counters *counted = NULL;
	if (!period->samples || now_ns < period->since_ns + INTERVAL_NS)
		return NULL;
	try(source_kernel_count(source, bpf, &counted));
	double seconds = (double)(now_ns - period->since_ns) / 1e9;
	double most = (double)most_samples(period, counted);
	double max = (period->max_samples ? period->max_samples : MAX_SAMPLES) * seconds;
	bool is_few = most * FEW < max;
	if (most > max && *period->ns < limit_ns)
		*period->ns *= 2;
	else if (period->shrinks && is_few && *period->ns > period->asked_ns)
		*period->ns /= 2;
	if (*period->ns > period->longest_ns)
		period->longest_ns = *period->ns;
	period->since_ns = now_ns;
	return NULL;
}

uint64_t growing_period_raised(const struct growing_period *period)
{
	return period->longest_ns != period->asked_ns ? period->longest_ns : 0;
}

void growing_period_deinit(struct growing_period *period)
{
	mem_free(period->samples);
	period->samples = NULL;
}
