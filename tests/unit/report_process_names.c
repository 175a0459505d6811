#include "report/model/process_names.h"

#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

static void check_name(const struct profile *profile, uint32_t tid, const char *want)
{
	struct process_names names;
	CLEANUP(str_deinit) struct str name = {0};
	process_names_init(&names, profile);
	vec_each(&profile->threads, thread)
		if (thread->tid == tid)
			process_names_put(&names, thread, &name);
	process_names_deinit(&names);
	CHECK_STR(str_text(&name), want);
}

TEST(threads_are_of_a_process_that_is_called_by_its_first_one)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t exe =
		fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "/usr/bin/a-program-with-a-long-name");
	uint32_t led = fixture_process(&fixture, 7, exe);
	uint32_t asleep = fixture_process(&fixture, 20, exe);
	fixture_thread(&fixture, led, 7, "server");
	fixture_thread(&fixture, led, 8, "worker");
	fixture_thread(&fixture, asleep, 21, "GC Thread");
	struct profile *profile = fixture_profile(&fixture);
	check_name(profile, 7, "server");
	check_name(profile, 8, "server");
	/* As exec would have called it, to 15 bytes. */
	check_name(profile, 21, "a-program-with-");
	profile_destroy(profile);
}
