#include "record/task/thread_times.h"

static uint64_t key_of_thread(const struct event_thread_times *event)
{
	uint64_t since_ns = event->time_ns - event->times.life_ns;
	return (uint64_t)event->tid << 32 | (uint32_t)map_mix(since_ns);
}

static uint64_t grown(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static bool is_kernel_known(const struct event_thread_account *kernel)
{
	return kernel->on_ns || kernel->queued_ns || kernel->voluntary || kernel->involuntary;
}

/*
 * The programs read a thread's times while it goes on: a wait that ends meanwhile may be there in
 * part. It is not longer than the life.
 */
static void bound_waits(struct layout_thread_times *times)
{
	if (times->queued_ns > times->life_ns)
		times->queued_ns = times->life_ns;
	if (times->blocked_ns > times->life_ns - times->queued_ns)
		times->blocked_ns = times->life_ns - times->queued_ns;
}

static struct layout_thread_times times_between(
	const struct event_times *now, const struct event_times *before)
{
	struct layout_thread_times times = {
		.life_ns = grown(now->life_ns, before->life_ns),
		.queued_ns = grown(now->queued_ns, before->queued_ns),
		.blocked_ns = grown(now->blocked_ns, before->blocked_ns),
		.has_kernel = is_kernel_known(&now->kernel) || now->blocked_ns == now->life_ns,
		.kernel_on_ns = grown(now->kernel.on_ns, before->kernel.on_ns),
		.kernel_queued_ns = grown(now->kernel.queued_ns, before->kernel.queued_ns),
		.voluntary = grown(now->kernel.voluntary, before->kernel.voluntary),
		.involuntary = grown(now->kernel.involuntary, before->kernel.involuntary),
	};
	bound_waits(&times);
	return times;
}

static void forget_thread_times(struct thread_times *times, uint64_t key, uint32_t index)
{
	map_remove(&times->by_thread, key);
	vec_push(&times->free, index);
}

static void keep_thread_times(
	struct thread_times *times, uint64_t key, const struct event_times *sums)
{
	uint64_t *index = map_put(&times->by_thread, key, NULL);
	if (times->free.len) {
		*index = times->free.data[--times->free.len];
		times->sums.data[*index] = *sums;
	} else {
		*index = times->sums.len;
		vec_push(&times->sums, *sums);
	}
}

struct layout_thread_times thread_times_take(
	struct thread_times *times, const struct event_thread_times *event)
{
	static const struct event_times none = {0};
	uint64_t key = key_of_thread(event);
	const uint64_t *index = map_get(&times->by_thread, key);
	struct event_times *before = index ? &times->sums.data[*index] : NULL;
	struct layout_thread_times ret = times_between(&event->times, before ? before : &none);
	if (before && event->has_ended)
		forget_thread_times(times, key, (uint32_t)*index);
	else if (before)
		*before = event->times;
	else if (!event->has_ended)
		keep_thread_times(times, key, &event->times);
	return ret;
}

void thread_times_deinit(struct thread_times *times)
{
	map_deinit(&times->by_thread);
	vec_deinit(&times->sums);
	vec_deinit(&times->free);
}
