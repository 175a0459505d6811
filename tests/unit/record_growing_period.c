/* The period of waits: by how many samples there were, as the BPF programs count them. */
#include "record/source/growing_period.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/event.h"
/* Behind what it knows of. */
#include "bpf/sample.skel.h"
#include "format/base/mem.h"
#include "tests/unit/unit.h"

enum {
	SECOND_NS = 1000000000,
	ASKED_NS = 10000000,
};

/* The counters alone. */
static struct sample_bpf *load_counters(void)
{
	struct sample_bpf *bpf = sample_bpf__open();
	struct bpf_program *program = NULL;
	struct bpf_map *map = NULL;
	if (!bpf)
		unit_skip("the BPF programs cannot be opened here");
	while ((program = bpf_object__next_program(bpf->obj, program)))
		bpf_program__set_autoload(program, false);
	while ((map = bpf_object__next_map(bpf->obj, map)))
		if (!bpf_map__max_entries(map))
			bpf_map__set_max_entries(map, 1);
	if (sample_bpf__load(bpf)) {
		sample_bpf__destroy(bpf);
		unit_skip("BPF maps cannot be made here");
	}
	return bpf;
}

struct counting {
	struct sample_bpf *bpf;
	struct source source;
	struct growing_period period;
	volatile unsigned long long ns;
	uint64_t now_ns, count;
};

static void begin_counting(struct counting *counting, uint32_t max_samples, bool shrinks)
{
	*counting = (struct counting){.bpf = load_counters(), .ns = ASKED_NS, .now_ns = SECOND_NS};
	counting->source.number = EVENT_SOURCE_WAIT;
	counting->period.max_samples = max_samples;
	counting->period.shrinks = shrinks;
	growing_period_begin(&counting->period, &counting->ns, counting->now_ns);
}

/* So many more in a second, on the last CPU: what the period is then. */
static uint64_t period_behind(struct counting *counting, uint64_t samples)
{
	int nr_possible = libbpf_num_possible_cpus();
	CLEANUP_FREE struct event_counters *counted =
		mem_zalloc_array((size_t)nr_possible, sizeof(*counted));
	counting->count += samples;
	counting->now_ns += SECOND_NS;
	counted[nr_possible - 1].of[EVENT_COUNTER_SAMPLES].count = counting->count;
	CHECK(!bpf_map_update_elem(bpf_map__fd(counting->bpf->maps.counters),
		&counting->source.number, counted, BPF_ANY));
	CHECK_OK(growing_period_update(
		&counting->period, &counting->source, counting->bpf, counting->now_ns));
	return counting->ns;
}

static void end_counting(struct counting *counting)
{
	growing_period_deinit(&counting->period);
	sample_bpf__destroy(counting->bpf);
}

TEST(period_grows_while_there_are_too_many_samples)
{
	struct counting counting;
	begin_counting(&counting, 0, false);
	CHECK_INT(period_behind(&counting, 1000), ASKED_NS);
	CHECK_INT(growing_period_raised(&counting.period), 0);
	CHECK_INT(period_behind(&counting, 1001), 2 * ASKED_NS);
	CHECK_INT(period_behind(&counting, 0), 2 * ASKED_NS);
	CHECK_INT(growing_period_raised(&counting.period), 2 * ASKED_NS);
	end_counting(&counting);
}

/* With a quarter of what may be: twice as many are still not too many. */
TEST(period_of_an_endless_recording_shrinks_again)
{
	struct counting counting;
	begin_counting(&counting, 100, true);
	CHECK_INT(period_behind(&counting, 101), 2 * ASKED_NS);
	CHECK_INT(period_behind(&counting, 200), 4 * ASKED_NS);
	CHECK_INT(period_behind(&counting, 26), 4 * ASKED_NS);
	CHECK_INT(period_behind(&counting, 24), 2 * ASKED_NS);
	CHECK_INT(period_behind(&counting, 0), ASKED_NS);
	CHECK_INT(period_behind(&counting, 0), ASKED_NS); /* as it was asked for */
	end_counting(&counting);
}
