#include "report/write/thread_life.h"

#include <string.h>

#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

enum {
	MS = 1000 * 1000,
};

static struct profile *two_threads(void)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t process = fixture_process(&fixture, 7, 0);
	uint32_t one = fixture_thread(&fixture, process, 7, "one");
	uint32_t other = fixture_thread(&fixture, process, 8, "other");
	/* A thread that took another name is told twice. */
	uint32_t renamed = fixture_thread(&fixture, process, 7, "renamed");
	writer_thread_times(fixture.writer, &(struct layout_thread_times){one, 1000 * MS, 100 * MS,
						    600 * MS, true, 310 * MS, 90 * MS, 4, 2});
	writer_thread_times(fixture.writer,
		&(struct layout_thread_times){other, 500 * MS, 0, 500 * MS, false, 0, 0, 0, 0});
	fixture_samples(&fixture, one, 0, 0, 395);
	writer_thread_times(fixture.writer,
		&(struct layout_thread_times){renamed, 100 * MS, 0, 0, true, 100 * MS, 0, 0, 1});
	return fixture_profile(&fixture);
}

TEST(lives_of_threads_are_added_up)
{
	struct profile *profile = two_threads();
	CLEANUP(str_deinit) struct str json = {0};
	thread_life_put_json(profile, &json);
	CHECK(strstr(str_text(&json),
		"\"life_ns\": 1600000000, \"running_ns\": 400000000, \"queued_ns\": 100000000, "
		"\"blocked_ns\": 1100000000, \"kernel_running_ns\": 410000000, "
		"\"kernel_queued_ns\": 90000000, \"voluntary\": 4, "
		"\"involuntary\": 3"));
	CHECK(strstr(str_text(&json), "\"tid\": 7, \"comm\": \"one\", \"life_ns\": 1100000000, "));
	CHECK(strstr(str_text(&json), "\"tid\": 8, \"comm\": \"other\", \"life_ns\": 500000000, "));
	CHECK(!strstr(str_text(&json), "renamed"));
	profile_destroy(profile);
}

/* Of the thread that the kernel has no account of nothing is compared. */
TEST(lives_are_beside_what_the_kernel_counts)
{
	struct profile *profile = two_threads();
	CLEANUP(str_deinit) struct str text = {0};
	thread_life_put(profile, &text);
	CHECK(strstr(str_text(&text),
		"410.0 ms running (here 400.0 ms), 90.0 ms in run queues (here 100.0 ms)"));
	CHECK(strstr(str_text(&text), "running was measured at each switch between threads; "
				      "by the samples of cpu-clock it is 395.0 ms\n"));
	CHECK(strstr(str_text(&text), "left a CPU 4 times to wait, 3 times for others"));
	profile_destroy(profile);
}
