#include "report/write/thread_dump.h"

#include <string.h>

#include "format/file/script_failure.h"
#include "report/analyse/wait_reasons.h"
#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

/* Three threads: one runs, two wait with one stack. */
static struct profile *three_threads(void)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t app = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t process = fixture_process(&fixture, 10, 0);
	uint32_t first = fixture_thread(&fixture, process, 10, "app");
	uint32_t second = fixture_thread(&fixture, process, 11, "worker");
	uint32_t third = fixture_thread(&fixture, process, 12, "worker");
	uint32_t main = fixture_frame(&fixture, app, 0x10, "main");
	uint32_t hot = fixture_frame(&fixture, app, 0x20, "hot");
	uint32_t take = fixture_frame(&fixture, app, 0x30, "take");
	fixture_samples(&fixture, second, FIXTURE_STACK(&fixture, main), 0, 1);
	fixture_samples(&fixture, first, FIXTURE_STACK(&fixture, main, hot), 0, 1);
	fixture.event = fixture_event(&fixture, "offcpu", "ns", 1);
	fixture_samples(&fixture, second, FIXTURE_STACK(&fixture, main, take), 0, 1);
	fixture_samples(&fixture, third, FIXTURE_STACK(&fixture, main, take), 0, 1);
	struct profile *profile = fixture_profile(&fixture);
	vec_each(&profile->events, event)
		if (event->name && strcmp(event->name, "offcpu") == 0)
			event->wait = PROFILE_WAIT_BLOCKED;
	return profile;
}

static void want_line(const struct str *text, const char *line)
{
	if (!strstr(str_text(text), line))
		unit_fail(__FILE__, __LINE__, "no \"%s\" in:\n%s", line, str_text(text));
}

static struct err *add_json(void *context, const void *bytes, size_t len)
{
	str_write(context, bytes, len);
	return NULL;
}

static bool is_not_12(const void *context, uint32_t pid, uint32_t tid)
{
	return !context && pid == 10 && tid != 12;
}

TEST(thread_dump_leaves_out_what_has_ended)
{
	struct profile *profile = three_threads();
	struct thread_dump *dump = thread_dump_create(profile, is_not_12, NULL);
	CLEANUP(str_deinit) struct str text = {0};
	thread_dump_put(dump, &text);
	want_line(&text, "# pid 10 app: 2 threads, 1 running, 1 waiting; 1 ended meanwhile\n");
	CHECK(!strstr(str_text(&text), "12\n"));
	thread_dump_destroy(dump);
	profile_destroy(profile);
}

TEST(thread_dump_folds_threads_with_one_stack)
{
	struct profile *profile = three_threads();
	struct thread_dump *dump = thread_dump_create(profile, NULL, NULL);
	CLEANUP(str_deinit) struct str text = {0};
	CHECK(thread_dump_count(dump) == 3);
	thread_dump_put(dump, &text);
	want_line(&text, "# pid 10 app: 3 threads, 1 running, 2 waiting\n");
	want_line(&text, "\n1 thread runs: app 10\n    hot  ");
	want_line(&text, "worker 11, 12\n    take  ");
	/* What a thread did before is not what it does. */
	CHECK(!strstr(str_text(&text), "worker 11\n"));
	CLEANUP(str_deinit) struct str json = {0};
	CHECK_OK(thread_dump_put_json(dump, (struct byte_sink){add_json, &json}));
	want_line(&json, "\"state\":\"waiting\"");
	want_line(&json, "\"tid\":12");
	thread_dump_destroy(dump);
	profile_destroy(profile);
}

/* It is over when its stack is looked for; one that ran before goes on where it was. */
TEST(thread_dump_has_waits_without_stacks)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t app = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t process = fixture_process(&fixture, 10, 0);
	uint32_t blocked = fixture_thread(&fixture, process, 10, "app");
	uint32_t queued = fixture_thread(&fixture, process, 11, "worker");
	uint32_t hot = fixture_frame(&fixture, app, 0x20, "hot");
	fixture_samples(&fixture, queued, FIXTURE_STACK(&fixture, hot), 0, 1);
	fixture.event = fixture_event(&fixture, "offcpu", "ns", 1);
	fixture_samples(&fixture, blocked, 0, 0, 1);
	fixture.event = fixture_event(&fixture, "runq", "ns", 1);
	fixture_samples(&fixture, queued, 0, 0, 1);
	struct profile *profile = fixture_profile(&fixture);
	profile->events.data[2].wait = PROFILE_WAIT_BLOCKED;
	profile->events.data[3].wait = PROFILE_WAIT_RUN_QUEUE;
	wait_reasons_add(profile);
	struct thread_dump *dump = thread_dump_create(profile, NULL, NULL);
	CLEANUP(str_deinit) struct str text = {0};
	thread_dump_put(dump, &text);
	want_line(&text, ": worker 11\n    hot  ");
	want_line(&text, "1 thread waits (unknown)");
	want_line(&text, ": app 10\n    (the wait was over before its stack was read)\n");
	thread_dump_destroy(dump);
	profile_destroy(profile);
}

TEST(thread_dump_says_what_cannot_be_read_of_a_sleeper)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t script = fixture_object(&fixture, LAYOUT_OBJECT_SCRIPT, "[python]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 10, 0), 10, "app");
	uint32_t unread = fixture_frame(&fixture, script, LAYOUT_SCRIPT_PENDING, "[unnamed]");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, unread), 0, 1);
	struct profile *profile = fixture_profile(&fixture);
	struct thread_dump *dump = thread_dump_create(profile, NULL, NULL);
	CLEANUP(str_deinit) struct str text = {0};
	thread_dump_put(dump, &text);
	want_line(&text, "(functions that are not readable asleep)");
	thread_dump_destroy(dump);
	profile_destroy(profile);
}
