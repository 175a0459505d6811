#include "report/write/overview.h"

#include "report/write/info.h"

#include <string.h>

#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

/* Of ten samples eight are of user code, six of them of one function, and one has no name. */
static struct profile *ten_samples(void)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t app = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t kernel = fixture_object(&fixture, LAYOUT_OBJECT_KERNEL, "[kernel.kallsyms]");
	uint32_t first = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	uint32_t second = fixture_thread(&fixture, fixture_process(&fixture, 2, 0), 2, "app");
	uint32_t main = fixture_frame(&fixture, app, 0x10, "main");
	uint32_t hot = fixture_frame(&fixture, app, 0x20, "hot");
	uint32_t unknown = fixture_frame(&fixture, app, 0x30, "");
	uint32_t in_kernel = fixture_frame(&fixture, kernel, 0x40, "do_read");
	fixture_samples(&fixture, first, FIXTURE_STACK(&fixture, main, hot), 0, 6);
	fixture_samples(&fixture, first, FIXTURE_STACK(&fixture, main), 0, 1);
	fixture_samples(&fixture, second, FIXTURE_STACK(&fixture, main, unknown), 0, 1);
	uint32_t main_node = FIXTURE_STACK(&fixture, main);
	fixture_samples(&fixture, second, main_node, FIXTURE_STACK(&fixture, in_kernel), 2);
	struct profile *profile = fixture_profile(&fixture);
	vec_each(&profile->functions, function)
		if (strcmp(function->name, "hot") == 0 || strcmp(function->name, "main") == 0)
			function->is_known = true;
	return profile;
}

static void want(const struct str *text, const char *line)
{
	if (!strstr(str_text(text), line))
		unit_fail(__FILE__, __LINE__, "no \"%s\" in:\n%s", line, str_text(text));
}

TEST(waits_are_neither_in_user_code_nor_in_the_kernel)
{
	struct profile *profile = ten_samples();
	CLEANUP(str_deinit) struct str text = {0};
	struct filter all = {0};
	vec_each(&profile->events, event)
		event->wait = PROFILE_WAIT_BLOCKED;
	overview_put(profile, &all, &text);
	want(&text, "where          0.0% in user code, 0.0% in the kernel, 100.0% waiting\n");
	profile_destroy(profile);
}

TEST(sums_of_a_known_shape)
{
	struct profile *profile = ten_samples();
	CLEANUP(str_deinit) struct str text = {0};
	struct filter all = {0};
	profile->counters[LAYOUT_COUNTER_TICKS] = 3670;
	profile->counters[LAYOUT_COUNTER_SAMPLES] = 10;
	profile->counters[LAYOUT_COUNTER_SKIPPED] = 314;
	overview_put(profile, &all, &text);
	want(&text, "samples        10, of 2 threads in 2 processes\n");
	want(&text, "where          80.0% in user code, 20.0% in the kernel\n");
	want(&text, "functions      60.0% in the hottest, 100.0% in 10, all of it in 4\n");
	want(&text, "90.0% in functions that have one, 0.0% with a line\n");
	want(&text, "1.9 frames on average, 2 at most\n");
	static const char losses[] =
		"lost           0 of 10 samples (0.0%)\n"
		"skipped        about 314 of 3984 ticks that were due (7.9%): the CPU was idle, or "
		"its timer was late\n";
	want(&text, losses);
	str_truncate(&text, 0);
	info_put_text(profile, false, &text);
	want(&text, losses); /* ... and info says the same */
	CHECK(!strstr(str_text(&text), "scripts"));
	profile_destroy(profile);
}

/* As the table's: a wait of 9 s is more than nine samples of 1 ms each. */
TEST(shares_are_of_the_events_values)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t app = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t kernel = fixture_object(&fixture, LAYOUT_OBJECT_KERNEL, "[kernel.kallsyms]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	uint32_t stack = FIXTURE_STACK(&fixture, fixture_frame(&fixture, app, 0x10, "main"));
	uint32_t in_kernel =
		FIXTURE_STACK(&fixture, fixture_frame(&fixture, kernel, 0x40, "schedule"));
	fixture_samples(&fixture, thread, stack, 0, 9);
	fixture_samples(&fixture, thread, stack, in_kernel, 1);
	struct profile *profile = fixture_profile(&fixture);
	profile->samples.data[9].weight = 9 * profile->samples.data[0].weight;
	CLEANUP(str_deinit) struct str text = {0};
	struct filter all = {0};
	overview_put(profile, &all, &text);
	want(&text, "where          50.0% in user code, 50.0% in the kernel\n");
	want(&text, "functions      50.0% in the hottest");
	want(&text, "kernel only, of the samples\n");
	profile_destroy(profile);
}

TEST(sums_are_of_what_is_chosen)
{
	struct profile *profile = ten_samples();
	CLEANUP(str_deinit) struct str text = {0};
	static const uint32_t pid = 2;
	struct filter filter = {.pids = {&pid, 1}};
	filter_samples(profile, &filter);
	overview_put(profile, &filter, &text);
	want(&text, "samples        3, of 1 thread in 1 process\n");
	want(&text, "where          33.3% in user code, 66.7% in the kernel\n");
	profile->samples.len = 0;
	str_truncate(&text, 0);
	overview_put(profile, &filter, &text);
	CHECK_INT(text.len, 0);
	profile_destroy(profile);
}
