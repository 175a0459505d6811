/* Which functions -S means, and what is shown where it means none. */
#include <string.h>

#include "report/analyse/filter.h"
#include "report/analyse/hidden_frames.h"
#include "report/analyse/scope.h"
#include "report/model/main_event.h"
#include "report/write/text/text.h"
#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

static bool wants(const char *shown, const char *mangled, const char *word)
{
	struct profile profile = {0};
	vec_push(&profile.objects, (struct profile_object){.name = "prog", .path = "/bin/prog"});
	struct profile_function function = {.name = shown, .system_name = mangled};
	vec_push(&profile.functions, function);
	struct filter filter = {.symbols = {&word, 1}};
	CLEANUP_FREE bool *wanted = filter_functions(&profile, &filter);
	bool is_wanted = wanted[0];
	vec_deinit(&profile.objects);
	vec_deinit(&profile.functions);
	return is_wanted;
}

TEST(a_symbol_is_meant_by_each_of_its_names)
{
	static const char mangled[] = "_ZN2ns3VecIiE4pushEi"; /* ns::Vec<int>::push(int) */
	static const char *const shown[] = {
		"ns::Vec<int>::push(int)", "ns::Vec<int>::push", "ns::Vec<...>::push", mangled};
	for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++) {
		CHECK(wants(shown[i], mangled, shown[i]));
		CHECK(wants(shown[i], mangled, mangled));
		CHECK(wants(shown[i], mangled, "ns::Vec<int>::push"));
		CHECK(wants(shown[i], mangled, "ns::Vec<int>::push(int)"));
		CHECK(!wants(shown[i], mangled, "ns::Vec<char>::push"));
		CHECK(!wants(shown[i], mangled, "push"));
	}
	CHECK(wants("f", "f", "f"));
	CHECK(!wants("f", "f", "g"));
}

static void check_tree(struct profile *profile, const struct filter *filter, bool is_empty)
{
	CLEANUP(str_deinit) struct str text = {0};
	filter_samples(profile, filter);
	text_put_tree(profile, false, &(struct text_options){.filter = filter}, &text);
	CHECK_INT(strstr(str_text(&text), "# nothing matches\n") != NULL, is_empty);
}

TEST(a_tree_of_nothing_says_so)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	uint32_t frame = fixture_frame(&fixture, object, 0x10, "main");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, frame), 0, 2);
	struct profile *profile = fixture_profile(&fixture);
	const char *comms[] = {"app", "nope"};
	check_tree(profile, &(struct filter){.comms = {&comms[0], 1}}, false);
	check_tree(profile, &(struct filter){.comms = {&comms[1], 1}}, true);
	CLEANUP(str_deinit) struct str text = {0};
	struct filter all = {0};
	text_put_tree(
		profile, false, &(struct text_options){.filter = &all, .is_empty = true}, &text);
	CHECK(strstr(str_text(&text), "# the recording has no samples\n"));
	profile_destroy(profile);
}

/* What is in use, but was allocated in the last tenth of the time, unless the program has ended. */
static size_t count_without_newest(const char *target, enum layout_end_reason reason)
{
	struct fixture fixture;
	fixture_init(&fixture);
	writer_meta(fixture.writer, LAYOUT_META_TARGET, target);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	uint32_t frame = fixture_frame(&fixture, object, 0x10, "main");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, frame), 0, 100);
	struct profile *profile = fixture_profile(&fixture);
	profile->end.reason = reason;
	profile->first_ns = profile->samples.data[0].time_ns;
	profile->last_ns = profile->samples.data[99].time_ns;
	filter_samples(profile, &(struct filter){0});
	CHECK_INT(profile->samples.len, 100);
	filter_samples(profile, &(struct filter){.without_newest = true});
	size_t count = profile->samples.len;
	profile_destroy(profile);
	return count;
}

TEST(the_newest_samples_of_what_ran_on_are_left_out)
{
	CHECK_INT(count_without_newest(LAYOUT_TARGET_COMMAND, LAYOUT_END_COMMAND), 100);
	CHECK_INT(count_without_newest(LAYOUT_TARGET_COMMAND, LAYOUT_END_DURATION), 90);
	CHECK_INT(count_without_newest("process", LAYOUT_END_TARGET), 100);
	/* record -p PID -- sleep 10 */
	CHECK_INT(count_without_newest("process", LAYOUT_END_COMMAND), 90);
}

/* Most samples are a timer's; in the last millisecond there are waits alone. */
TEST(a_slice_shows_the_event_that_the_recording_does)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t other = fixture_event(&fixture, "page-faults", "faults", 1);
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	fixture_samples(&fixture, thread, 0, 0, 100);
	struct layout_sample sample = {.thread = thread, .event = other};
	for (int i = 0; i < 5; i++) {
		sample.time_ns = fixture.time_ns += 1000000;
		writer_sample(fixture.writer, &sample);
	}
	struct profile *profile = fixture_profile(&fixture);
	uint32_t before = main_event_of(profile);
	uint64_t end_ns = profile->samples.data[104].time_ns - profile->first_ns;
	CHECK(before != other);
	/* The last of the timer's is in it. */
	filter_samples(profile, &(struct filter){.from_ns = end_ns - 5500000});
	CHECK_INT(profile->samples.len, 6);
	CHECK_INT(main_event_of(profile), before);
	filter_samples(profile, &(struct filter){.from_ns = end_ns - 2500000});
	CHECK_INT(profile->samples.len, 3);
	CHECK_INT(main_event_of(profile), other);
	filter_samples(profile, &(struct filter){.from_ns = end_ns + 1});
	CHECK_INT(profile->samples.len, 0);
	CHECK_INT(main_event_of(profile), before);
	profile_destroy(profile);
}

/* Asleep from 1 to 7 ms of the recording, and twice in 2 ms of which it is not known when. */
TEST(waits_are_cut_at_the_ends_of_a_time)
{
	struct fixture fixture;
	fixture_init(&fixture);
	struct layout_event event = {
		.name = fixture_string(&fixture, "offcpu"),
		.unit = fixture_string(&fixture, "ns"),
		.source = fixture_string(&fixture, "wait"),
	};
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	uint32_t stack = FIXTURE_STACK(&fixture, fixture_frame(&fixture, object, 0x10, "pause"));
	struct layout_sample sample = {.thread = thread,
		.user_stack = stack,
		.event = writer_event(fixture.writer, &event)};
	const struct {
		uint64_t end_ms, ms;
		bool is_estimate;
	} waits[] = {{7, 6, false}, {7, 2, true}, {9, 2, false}};
	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
		sample.time_ns = 1000000000 + waits[i].end_ms * 1000000;
		sample.weight = waits[i].ms * 1000000;
		sample.measured = waits[i].is_estimate ? 1000 : sample.weight;
		writer_sample(fixture.writer, &sample);
	}
	struct profile *profile = fixture_profile(&fixture);
	profile->first_ns = 1000000000;
	profile->last_ns = profile->first_ns + 10000000;
	filter_samples(profile, &(struct filter){.from_ns = 2000000, .to_ns = 5000000});
	CHECK_INT(profile->samples.len, 1);
	CHECK_INT(profile->samples.data[0].weight, 3000000);
	CHECK_INT(profile->samples.data[0].time_ns, profile->first_ns + 4999999);
	profile_destroy(profile);
}

TEST(a_container_is_meant_by_its_id_and_by_cgroups_above)
{
	static const char id[] = "0123456789abcdef0123";
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	uint32_t frame = fixture_frame(&fixture, object, 0x10, "main");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, frame), 0, 2);
	struct profile *profile = fixture_profile(&fixture);
	vec_each(&profile->processes, process) {
		process->container = id;
		process->cgroup = "/system.slice/docker.scope";
	}
	const char *wanted[] = {id, "0123456789ab", "/system.slice", "/system.slice/",
		"/system.slice/docker.scope", "0123456789", "/system", "/", "", "docker.scope"};
	static const bool meets[] = {1, 1, 1, 1, 1, 0, 0, 1, 0, 0};
	size_t all = profile->samples.len;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		profile->samples.len = all;
		filter_samples(profile, &(struct filter){.containers = {&wanted[i], 1}});
		CHECK_INT(profile->samples.len, meets[i] ? all : 0);
	}
	profile_destroy(profile);
}

/* main -> loop -> f() -> loop -> g() -> malloc -> [kernel], and a thread without scripts. */
static struct profile *mixed_profile(void)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t native = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t script = fixture_object(&fixture, LAYOUT_OBJECT_SCRIPT, "[python]");
	uint32_t kernel = fixture_object(&fixture, LAYOUT_OBJECT_KERNEL, "[kernel.kallsyms]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	uint32_t start = fixture_frame(&fixture, native, 0x10, "main");
	uint32_t loop = fixture_frame(&fixture, native, 0x20, "loop");
	uint32_t f = fixture_frame(&fixture, script, LAYOUT_SCRIPT_FIRST, "f");
	uint32_t g = fixture_frame(&fixture, script, 2 * LAYOUT_SCRIPT_FIRST, "g");
	uint32_t leaf = fixture_frame(&fixture, native, 0x30, "malloc");
	uint32_t fault = fixture_frame(&fixture, kernel, 0x40, "page_fault");
	uint32_t whole = FIXTURE_STACK(&fixture, start, loop, f, loop, g, leaf);
	fixture_samples(&fixture, thread, whole, FIXTURE_STACK(&fixture, fault), 2);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, start, loop, f, loop, g), 0, 3);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, start, leaf), 0, 4);
	return fixture_profile(&fixture);
}

static void check_folded(const struct profile *profile, const char *want)
{
	CLEANUP(bytes_buf_deinit) struct bytes_buf folded = {0};
	fixture_export(profile, EXPORT_FOLDED, 0, &folded);
	CHECK_STR((const char *)folded.data, want);
}

TEST(native_frames_are_left_out_where_there_are_scripts)
{
	struct profile *profile = mixed_profile();
	filter_samples(profile, &(struct filter){.hidden = HIDDEN_NATIVE});
	check_folded(profile, "app;f;g 5\napp;main;malloc 4\n");
	profile_destroy(profile);
}

TEST(a_language_is_meant_by_its_name)
{
	const char *python = "Python", *perl = "perl", *part = "pyth";
	struct profile *profile = mixed_profile();
	filter_samples(
		profile, &(struct filter){.languages = {&python, 1}, .hidden = HIDDEN_NATIVE});
	check_folded(profile, "app;f;g 5\n");
	filter_samples(profile, &(struct filter){.languages = {&part, 1}});
	CHECK_INT(profile->samples.len, 0);
	profile_destroy(profile);
	profile = mixed_profile();
	filter_samples(profile, &(struct filter){.languages = {&perl, 1}});
	CHECK_INT(profile->samples.len, 0);
	profile_destroy(profile);
}

TEST(samples_of_an_event)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	fixture_samples(&fixture, thread, 0, 0, 3);
	fixture.event = fixture_event(&fixture, "off-cpu", "ns", 1);
	fixture_samples(&fixture, thread, 0, 0, 2);
	struct profile *profile = fixture_profile(&fixture);
	const char *names[] = {"off-cpu", "cpu-clock"};
	filter_samples(profile, &(struct filter){.events = {names, 2}});
	CHECK_INT(profile->samples.len, 5);
	CHECK_INT(main_event_of(profile), 1);
	filter_samples(profile, &(struct filter){.events = {names, 1}});
	CHECK_INT(profile->samples.len, 2);
	CHECK_INT(main_event_of(profile), 2);
	profile_destroy(profile);
}

/* Either of several words, and of dsos and symbols both by one function. */
/* Stubs of a virtual machine are no part of the program, though they are of its language's object.
 */
TEST(frames_of_the_runtime_itself_are_left_out_with_native_ones)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t script = fixture_object(&fixture, LAYOUT_OBJECT_SCRIPT, "[java]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	uint32_t f = fixture_frame(&fixture, script, LAYOUT_SCRIPT_FIRST, "f");
	uint32_t g = fixture_frame(&fixture, script, 2 * LAYOUT_SCRIPT_FIRST, "g");
	struct layout_frame of_runtime = {script, 3 * LAYOUT_SCRIPT_FIRST, LAYOUT_FRAME_OF_RUNTIME};
	uint32_t stub = writer_frame(fixture.writer, &of_runtime);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, stub, f, stub, g, stub), 0, 2);
	struct profile *profile = fixture_profile(&fixture);
	hidden_frames_leave_out(profile, HIDDEN_NATIVE);
	check_folded(profile, "app;f;g 2\n");
	profile_destroy(profile);
}

TEST(dsos_and_symbols_are_met_by_one_function)
{
	static const char *const symbols[] = {"f", "malloc"}, *const dsos[] = {"[python]"};
	struct filter filter = {.symbols = {symbols, 2}};
	struct profile *profile = mixed_profile();
	CHECK_INT(filter_count_stacks(profile, &filter), 9);
	filter.dsos = (struct filter_strings){dsos, 1};
	CHECK_INT(filter_count_stacks(profile, &filter), 5);
	filter.symbols = (struct filter_strings){symbols + 1, 1};
	CHECK_INT(filter_count_stacks(profile, &filter), 0);
	filter.dsos.len = 0;
	filter_stacks(profile, &filter);
	check_folded(
		profile, "app;main;loop;f;loop;g;malloc;page_fault_[k] 2\napp;main;malloc 4\n");
	profile_destroy(profile);
}

/* ps shows 15 bytes of it; who knows more may say so. */
TEST(a_long_name_of_a_thread_is_meant_by_what_the_kernel_has_of_it)
{
	const struct profile_thread thread = {.comm = "ForkJoinPool.commonPool-worker-1"};
	CHECK(scope_is_called(&thread, "ForkJoinPool.commonPool-worker-1"));
	CHECK(scope_is_called(&thread, "ForkJoinPool.co"));
	CHECK(!scope_is_called(&thread, "ForkJoinPool.c"));
	CHECK(!scope_is_called(&thread, "ForkJoinPool.commonPool"));
	CHECK(!scope_is_called(&thread, "ForkJoinPool.commonPool-worker-10"));
}

/* What the kernel did for a program counts for it; why a thread waits, and a thread of the kernel's
 * own, stay. */
TEST(the_kernels_frames_are_left_out_where_there_are_callers)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t native = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t kernel = fixture_object(&fixture, LAYOUT_OBJECT_KERNEL, "[kernel]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	uint32_t worker = fixture_thread(&fixture, fixture_process(&fixture, 2, 0), 2, "kworker");
	uint32_t main = fixture_frame(&fixture, native, 0x10, "main");
	uint32_t work = fixture_frame(&fixture, native, 0x20, "work");
	uint32_t entry = fixture_frame(&fixture, kernel, 0x30, "entry");
	uint32_t read = fixture_frame(&fixture, kernel, 0x40, "sys_read");
	uint32_t in_work = FIXTURE_STACK(&fixture, main, work);
	uint32_t in_kernel = FIXTURE_STACK(&fixture, entry, read);
	fixture_samples(&fixture, thread, in_work, in_kernel, 2);
	fixture_samples(&fixture, thread, in_work, 0, 3);
	fixture_samples(&fixture, worker, 0, in_kernel, 4);
	struct profile *profile = fixture_profile(&fixture);
	size_t nr_nodes = profile->nodes.len;
	hidden_frames_leave_out(profile, HIDDEN_KERNEL);
	CHECK_INT(profile->nodes.len, nr_nodes); /* of what stays no node is made again */
	check_folded(profile, "app;main;work 5\nkworker;entry_[k];sys_read_[k] 4\n");
	profile_destroy(profile);
	profile = mixed_profile();
	filter_samples(profile, &(struct filter){.hidden = HIDDEN_NATIVE | HIDDEN_KERNEL});
	check_folded(profile, "app;f;g 5\napp;main;malloc 4\n");
	profile_destroy(profile);
}

TEST(an_event_is_meant_without_its_terms)
{
	CHECK(scope_is_event("page-faults/period=10/", "page-faults"));
	CHECK(scope_is_event("page-faults/period=10/", "page-faults/period=10/"));
	CHECK(scope_is_event("syscalls:sys_exit_read/value=ret/", "sys_exit_read"));
	CHECK(scope_is_event("duration:b:function", "duration:./a/b:function"));
	CHECK(scope_is_event("duration:b:function", "duration:b:function"));
	CHECK(scope_is_event("mem:0x10000000/4:w", "mem:0x10000000/4:w"));
	CHECK(!scope_is_event("duration:b:function", "duration:/a/c:function"));
	CHECK(!scope_is_event("duration:b:function", "uprobe:/a/b:function"));
	CHECK(scope_is_event("uprobe:/bin/a:run", "run"));
	CHECK(!scope_is_event("page-faults/period=10/", "faults"));
	CHECK(!scope_is_event("page-faults/period=10/", "period=10/"));
	CHECK(!scope_is_event("uprobe:/bin/a:run", "uprobe:/bin"));
	CHECK(!scope_is_event("page-faults/period=10/", ""));
	CHECK(!scope_is_event("/", "x"));
	CHECK(!scope_is_event("//", "x"));
}
