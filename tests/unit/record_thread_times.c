/* How threads spent their time becomes what there was of it in each file. */
#include "record/task/thread_times.h"

#include "tests/unit/unit.h"

static struct event_thread_times told(uint32_t tid, uint64_t time_ns, uint64_t life_ns)
{
	return (struct event_thread_times){
		.tid = tid,
		.time_ns = time_ns,
		.times = {.life_ns = life_ns,
			.queued_ns = life_ns / 10,
			.blocked_ns = life_ns / 2,
			.kernel = {life_ns / 5 * 2, life_ns / 10, life_ns / 100, 3}},
	};
}

TEST(times_of_a_thread_are_told_by_file)
{
	struct thread_times times = {0};
	struct event_thread_times event = told(7, 5000, 1000);
	struct layout_thread_times first = thread_times_take(&times, &event);
	CHECK_INT(first.life_ns, 1000);
	CHECK_INT(first.blocked_ns, 500);
	CHECK(first.has_kernel);
	event = told(7, 6000, 2000);
	event.has_ended = true;
	struct layout_thread_times second = thread_times_take(&times, &event);
	CHECK_INT(second.life_ns, 1000);
	CHECK_INT(second.queued_ns, 100);
	CHECK_INT(second.kernel_on_ns, 400);
	CHECK_INT(second.voluntary, 10);
	CHECK_INT(second.involuntary, 0);
	CHECK_INT(times.by_thread.len, 0);
	thread_times_deinit(&times);
}

/* The number is another thread's now, which is followed since later. */
TEST(a_number_that_is_used_again_is_another_thread)
{
	struct thread_times times = {0};
	struct event_thread_times event = told(7, 5000, 1000);
	thread_times_take(&times, &event);
	event = told(7, 6000, 500);
	CHECK_INT(thread_times_take(&times, &event).life_ns, 500);
	CHECK_INT(times.by_thread.len, 2);
	thread_times_deinit(&times);
}

TEST(waits_are_not_longer_than_the_life)
{
	struct thread_times times = {0};
	struct event_thread_times event = told(7, 5000, 1000);
	event.times.blocked_ns = 990;
	struct layout_thread_times got = thread_times_take(&times, &event);
	CHECK_INT(got.queued_ns, 100);
	CHECK_INT(got.blocked_ns, 900);
	thread_times_deinit(&times);
}
