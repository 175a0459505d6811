#include "record/tick_cost.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "record/sampler.h"

enum {
	TRIAL_HZ = 10000,
	DEPTH = 50, /* of the stack */
	WINDOW_NS = 1000 * 1000,
	WINDOWS = 8, /* in a round */
	ROUNDS = 3,
	RING_BYTES = 1 << 20,
};

static uint64_t spin(uint64_t turns)
{
	uint64_t began = clock_now_ns();
	for (uint64_t i = 0; i < turns; i++)
		__asm__ volatile("");
	return clock_now_ns() - began;
}

/* The quickest of some: what else disturbs makes them slower only. */
static uint64_t least_of(uint64_t turns)
{
	uint64_t least = UINT64_MAX;
	for (int i = 0; i < WINDOWS; i++) {
		uint64_t took = spin(turns);
		least = took < least ? took : least;
	}
	return least;
}

/* How many turns take about a window. */
static uint64_t find_turns(void)
{
	uint64_t turns = 1 << 12;
	while (turns < 1ULL << 32 && least_of(turns) < WINDOW_NS)
		turns *= 2;
	return turns;
}

/* Below a stack of some depth, each frame with one of its own. */
static __attribute__((noinline)) uint64_t least_below(uint64_t turns, int depth)
{
	uint64_t least = depth ? least_below(turns, depth - 1) : least_of(turns);
	__asm__ volatile("" : "+r"(least)); /* so that the call is none in the end */
	return least;
}

/* Rounds with and without ticks by turns: a CPU may become slower meanwhile. */
static struct err *time_turns(struct sampler *sampler, uint64_t *ret_ns)
{
	uint64_t turns = find_turns(), without = UINT64_MAX, with = UINT64_MAX;
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t least = least_below(turns, DEPTH);
		without = least < without ? least : without;
		try(sampler_start(sampler, clock_now_ns(), 0));
		least = least_below(turns, DEPTH);
		sampler_stop(sampler, clock_now_ns());
		with = least < with ? least : with;
	}
	*ret_ns = with > without ? (with - without) * NS_PER_S / (with * TRIAL_HZ) : 0;
	return NULL;
}

struct err *tick_cost_try(const struct session_options *options, uint64_t *ret_ns)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	const struct session_options trial = {
		.target = SESSION_THREADS, .event = options->event, .frequency_hz = TRIAL_HZ};
	struct sources sources = {0};
	struct sampler_options sampler_options = {
		.sources = &sources,
		.filter = EVENT_FILTER_THREAD,
		.tasks = {.ids = &tid, .nr_ids = 1, .are_threads = true},
		.ring_bytes = RING_BYTES,
		.call_graph = EVENT_CALL_GRAPH_FP,
	};
	struct sampler *sampler = NULL;
	struct err *err = sources_probe(&sources, event_sources, EVENT_SOURCES, &trial);
	if (!err)
		err = sampler_create(&sampler_options, &sampler);
	if (!err)
		err = time_turns(sampler, ret_ns);
	sampler_destroy(sampler);
	sources_deinit(&sources);
	return err;
}

uint32_t tick_cost_frequency(uint64_t tick_ns)
{
	return (uint32_t)((uint64_t)NS_PER_S * TICK_COST_MAX_PERCENT / 100 / tick_ns);
}
