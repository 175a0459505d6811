#include "record/source/growing_period.h"

#include <bpf/libbpf.h>

#include "format/base/mem.h"
#include "record/source/source_kernel.h"

void growing_period_begin(
	struct growing_period *period, volatile unsigned long long *ns, uint64_t now_ns)
{
	period->ns = ns;
	period->asked_ns = *ns;
	period->since_ns = now_ns;
	mem_free(period->samples);
	period->samples =
		mem_zalloc_array((size_t)libbpf_num_possible_cpus(), sizeof(*period->samples));
}

/* Whether a CPU had too many samples since the counts that `period` has of it; takes the new ones.
 */
static bool are_too_many(
	struct growing_period *period, const struct event_counters *counted, double seconds)
{
	enum {
		MAX_SAMPLES_A_SECOND = 1000, /* of a CPU */
	};
	bool are = false;
	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++) {
		uint64_t samples = counted[cpu].of[EVENT_COUNTER_SAMPLES].count +
				   counted[cpu].of[EVENT_COUNTER_LOST_RING].count;
		are |= (double)(samples - period->samples[cpu]) > MAX_SAMPLES_A_SECOND * seconds;
		period->samples[cpu] = samples;
	}
	return are;
}

struct err *growing_period_update(struct growing_period *period, const struct source *source,
	const struct sample_bpf *bpf, uint64_t now_ns)
{
	enum {
		INTERVAL_NS = 250 * 1000 * 1000,
	};
	static const uint64_t longest_ns = 10ULL * 1000 * 1000 * 1000;
	CLEANUP_FREE struct event_counters *counted = NULL;
	if (!period->samples || now_ns < period->since_ns + INTERVAL_NS)
		return NULL;
	try(source_kernel_count(source, bpf, &counted));
	double seconds = (double)(now_ns - period->since_ns) / 1e9;
	if (are_too_many(period, counted, seconds) && *period->ns < longest_ns)
		*period->ns *= 2;
	period->since_ns = now_ns;
	return NULL;
}

uint64_t growing_period_raised(const struct growing_period *period)
{
	return period->ns && *period->ns != period->asked_ns ? *period->ns : 0;
}

void growing_period_deinit(struct growing_period *period)
{
	mem_free(period->samples);
	period->samples = NULL;
}
