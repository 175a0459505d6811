/* Several events in one recording: what is shown as one, what waits wait for. */
#include <string.h>

#include "report/analyse/filter.h"
#include "report/analyse/timeline.h"
#include "report/analyse/wait_reasons.h"
#include "report/model/event_value.h"
#include "report/model/main_event.h"
#include "report/model/slice.h"
#include "report/write/longest_waits.h"
#include "report/write/waker_list.h"
#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

struct waits {
	struct fixture fixture;
	uint32_t thread, kernel, user;
};

static uint32_t waits_event(struct waits *waits, const char *name)
{
	struct layout_event event = {
		.name = fixture_string(&waits->fixture, name),
		.unit = fixture_string(&waits->fixture, "ns"),
		.source = fixture_string(&waits->fixture, "wait"),
	};
	return writer_event(waits->fixture.writer, &event);
}

static void waits_begin(struct waits *waits)
{
	uint32_t program = fixture_begin(&waits->fixture, "/bin/program", &waits->thread);
	waits->kernel = fixture_object(&waits->fixture, LAYOUT_OBJECT_KERNEL, "[kernel.kallsyms]");
	waits->user = FIXTURE_STACK(
		&waits->fixture, fixture_frame(&waits->fixture, program, 0x10, "main"));
}

/* A wait in a kernel function that two others call. */
static void waits_add(struct waits *waits, uint32_t event, const char *outer, const char *inner,
	const char *leaf, uint64_t ns)
{
	static uint64_t address = 0x1000;
	const char *names[] = {outer, inner, leaf};
	uint32_t frames[4] = {0};
	for (int i = 0; i < 3; i++)
		frames[i] = fixture_frame(&waits->fixture, waits->kernel,
			0xffffffff81000000 + (address += 0x10), names[i]);
	struct layout_sample sample = {
		.time_ns = waits->fixture.time_ns += 1000000,
		.event = event,
		.thread = waits->thread,
		.user_stack = waits->user,
		.kernel_stack = fixture_stack(&waits->fixture, frames),
		.weight = ns,
	};
	writer_sample(waits->fixture.writer, &sample);
}

static const char *leaf_of(const struct profile *profile, size_t sample)
{
	struct profile_walk walk = profile_walk(profile, profile->samples.data[sample].stack);
	uint32_t frame = profile_walk_next(&walk);
	return profile->functions.data[profile->frames.data[frame].function].name;
}

TEST(a_wait_has_its_reason_as_the_leaf)
{
	static const struct {
		const char *outer, *inner, *leaf, *reason;
	} rows[] = {
		{"do_futex", "__futex_wait", "futex_do_wait.isra.0", "[wait: futex]"},
		{"__x64_sys_epoll_wait", "ep_poll", "schedule_hrtimeout_range", "[wait: poll]"},
		{"common_nsleep", "hrtimer_nanosleep", "do_nanosleep", "[wait: sleep]"},
		{"ext4_file_read_iter", "filemap_read", "folio_wait_bit_common", "[wait: disk]"},
		{"unix_stream_recvmsg", "unix_stream_read_generic", "schedule_timeout",
			"[wait: net]"},
		{"vfs_read", "anon_pipe_read", "wait_event_interruptible", "[wait: pipe]"},
		{"kernel_wait4", "do_wait", "do_wait", "[wait: child]"},
		{"pipe_write", "mutex_lock", "__mutex_lock.constprop.0", "[wait: kernel lock]"},
		{"exc_page_fault", "handle_mm_fault", "folio_wait_bit_common", "[wait: fault]"},
		{"get_signal", "do_signal_stop", "schedule", "[wait: stopped]"},
		{"do_wait_for_nothing", "do_waiter", "do_futexes", "[wait: other]"},
	};
	struct waits waits;
	waits_begin(&waits);
	uint32_t blocked = waits_event(&waits, "offcpu"), queued = waits_event(&waits, "runq");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		waits_add(&waits, blocked, rows[i].outer, rows[i].inner, rows[i].leaf, 7);
	waits_add(&waits, queued, "do_syscall_64", "exit_to_user_mode_loop", "do_futex", 7);
	fixture_samples(&waits.fixture, waits.thread, waits.user, 0, 1);
	struct profile *profile = fixture_profile(&waits.fixture);
	wait_reasons_add(profile);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		CHECK_STR(leaf_of(profile, i), rows[i].reason);
	CHECK_STR(leaf_of(profile, 11), "[wait: run queue]");
	CHECK_STR(leaf_of(profile, 12), "main");
	profile_destroy(profile);
}

/* Of a thread that slept as the recording began the kernel has no functions that schedule. */
TEST(a_wait_is_one_stack_whether_it_began_before_the_recording_or_not)
{
	struct waits waits;
	waits_begin(&waits);
	uint32_t blocked = waits_event(&waits, "offcpu"), queued = waits_event(&waits, "runq");
	waits_add(&waits, blocked, "call", "common_nsleep", "hrtimer_nanosleep", 7);
	waits_add(&waits, blocked, "common_nsleep", "hrtimer_nanosleep", "do_nanosleep", 7);
	waits_add(&waits, blocked, "hrtimer_nanosleep", "do_nanosleep", "schedule", 7);
	waits_add(&waits, blocked, "schedule", "schedule_timeout", "io_schedule", 7);
	waits_add(&waits, queued, "common_nsleep", "hrtimer_nanosleep", "do_nanosleep", 7);
	struct profile *profile = fixture_profile(&waits.fixture);
	wait_reasons_add(profile);
	static const char *const last[] = {"hrtimer_nanosleep", "hrtimer_nanosleep",
		"hrtimer_nanosleep", "io_schedule", "do_nanosleep"};
	for (size_t i = 0; i < sizeof(last) / sizeof(*last); i++) {
		struct profile_walk walk = profile_walk(profile, profile->samples.data[i].stack);
		profile_walk_next(&walk);
		uint32_t frame = profile_walk_next(&walk);
		CHECK_STR(profile->functions.data[profile->frames.data[frame].function].name,
			last[i]);
	}
	CHECK_STR(leaf_of(profile, 1), "[wait: sleep]");
	CHECK_STR(leaf_of(profile, 3), "[wait: disk]"); /* nothing else is in it: it stays */
	profile_destroy(profile);
}

/* Running and waiting add up, what else counts nanoseconds does not. */
TEST(wall_time_is_the_sum_of_running_and_waiting)
{
	struct waits waits;
	waits_begin(&waits);
	fixture_samples(&waits.fixture, waits.thread, waits.user, 0, 3);
	waits_add(&waits, waits_event(&waits, "offcpu"), "a", "b", "c", 5000000);
	waits_add(&waits, waits_event(&waits, "runq"), "a", "b", "c", 2000000);
	waits.fixture.event = fixture_event(&waits.fixture, "other-time", "ns", 0);
	fixture_samples(&waits.fixture, waits.thread, waits.user, 0, 2);
	struct profile *profile = fixture_profile(&waits.fixture);
	struct event_choices choices;
	event_choices_init(&choices, profile);
	CHECK_INT(choices.list.len, 5);
	const struct event_choice *wall = &choices.list.data[choices.main];
	CHECK_STR(profile->events.data[wall->event].name, "wall");
	CHECK_INT(wall->samples, 5);
	CHECK_INT(wall->value, 10000000);
	CHECK(!event_value_is_cpu_time(&profile->events.data[wall->event]));
	for (uint32_t event = 0; event < profile->events.len; event++)
		if (profile->events.data[event].wait)
			CHECK(!event_value_is_cpu_time(&profile->events.data[event]));
	CHECK(event_value_is_cpu_time(&profile->events.data[profile->samples.data[0].event]));
	struct slice slice;
	slice_init_event(&slice, profile, wall->event);
	CHECK_INT(slice.whole.value, 10000000);
	slice_deinit(&slice);
	const char *name = "wall";
	filter_samples(profile, &(struct filter){.events = {&name, 1}});
	CHECK_INT(profile->samples.len, 5);
	main_event_keep(profile, 2);
	CHECK_INT(profile->samples.len, 1);
	CHECK_INT(main_event_of(profile), 2); /* one part alone is no sum */
	event_choices_deinit(&choices);
	profile_destroy(profile);
}

TEST(events_of_one_name_are_shown_as_one)
{
	struct fixture fixture;
	uint32_t thread, program = fixture_begin(&fixture, "/bin/program", &thread);
	uint32_t stack = FIXTURE_STACK(&fixture, fixture_frame(&fixture, program, 0x10, "main"));
	fixture_samples(&fixture, thread, stack, 0, 2);
	fixture.event = fixture_event(&fixture, "cpu-clock", "ns", 10000000);
	fixture_samples(&fixture, thread, stack, 0, 3);
	struct profile *profile = fixture_profile(&fixture);
	struct event_choices choices;
	event_choices_init(&choices, profile);
	CHECK_INT(choices.list.len, 1);
	CHECK_INT(choices.list.data[0].samples, 5);
	CHECK_INT(choices.list.data[0].value, 32000000);
	main_event_keep(profile, main_event_of(profile));
	CHECK_INT(profile->samples.len, 5);
	event_choices_deinit(&choices);
	profile_destroy(profile);
}

static void check_value(const char *unit, uint64_t value, bool is_short, const char *want)
{
	CLEANUP(str_deinit) struct str text = {0};
	event_value_put(&(struct profile_event){.unit = unit}, value, is_short, &text);
	CHECK_STR(str_text(&text), want);
}

TEST(values_have_the_units_of_their_events)
{
	check_value("ns", 1230000000, true, "1.23 s");
	check_value("ns", 4500000, false, "4.5 ms");
	check_value("bytes", 512, false, "512 B");
	check_value("bytes", 2621440, true, "2.5 MiB");
	check_value("hits", 1234, false, "1234 hits");
	check_value("hits", 1234, true, "1234");
}

/* 5 ms from 4 to 9 ms of 10; the second stands for others. */
TEST(waits_are_seen_as_long_as_they_last)
{
	struct waits waits;
	waits_begin(&waits);
	uint32_t event = waits_event(&waits, "offcpu");
	waits.fixture.time_ns += 8000000;
	waits_add(&waits, event, "a", "pipe_read", "c", 5000000);
	struct layout_sample other = {
		.time_ns = waits.fixture.time_ns += 1000000,
		.event = event,
		.thread = waits.thread,
		.user_stack = waits.user,
		.weight = 5000000,
		.measured = 1000,
	};
	writer_sample(waits.fixture.writer, &other);
	struct profile *profile = fixture_profile(&waits.fixture);
	wait_reasons_add(profile);
	profile->first_ns = 1000000000;
	struct timeline timeline;
	timeline_init(&timeline, profile, 0, 10000000);
	vec_each(&profile->samples, sample)
		timeline_add(&timeline, profile, sample);
	timeline_finish(&timeline);
	struct timeline_sum sums[10] = {0};
	timeline_add_all(
		&timeline, &(struct timeline_window){0, (timeline.nr_buckets + 9) / 10, 10}, sums);
	for (int i = 0; i < 10; i++) /* columns are a bit wider than a millisecond */
		CHECK(i == 3 || (sums[i].value > 0) == (i >= 4));
	CHECK(sums[5].value > 900000 && sums[5].value < 1100000);
	CHECK_INT(sums[5].samples, 0);
	CHECK_INT(sums[5].waited, sums[5].value);
	timeline_deinit(&timeline);
	CLEANUP(str_deinit) struct str text = {0};
	CHECK(longest_waits_put(profile, LONGEST_WAITS_MAX, &text));
	CHECK(strstr(str_text(&text),
		"    5.0 ms      1     5.0 ms     0.004 s  x:1                     pipe "));
	CHECK(strstr(str_text(&text), "# 1 sample stands for shorter waits"));
	profile_destroy(profile);
}

/* A thread that sleeps again and again is one row, which leaves room for the others. */
TEST(waits_of_one_stack_are_one_row)
{
	struct waits waits;
	waits_begin(&waits);
	struct layout_sample sample = {
		.event = waits_event(&waits, "offcpu"),
		.thread = waits.thread,
		.user_stack = waits.user,
	};
	for (uint64_t i = 0; i < 40; i++) {
		sample.time_ns = waits.fixture.time_ns += 4000000;
		sample.weight = sample.measured = i == 7 ? 3000000 : 2000000;
		writer_sample(waits.fixture.writer, &sample);
	}
	struct profile *profile = fixture_profile(&waits.fixture);
	CLEANUP(str_deinit) struct str text = {0};
	CHECK(longest_waits_put(profile, LONGEST_WAITS_MAX, &text));
	CHECK(strstr(str_text(&text), "\n    3.0 ms     40    81.0 ms "));
	CHECK(!strstr(str_text(&text), " more wait"));
	profile_destroy(profile);
}

/* Three waits: two that an interrupt ended, one whose waker is not known. */
TEST(wakers_are_listed_by_what_was_waited_for_them)
{
	struct waits waits;
	waits_begin(&waits);
	uint32_t event = waits_event(&waits, "offcpu");
	struct layout_sample sample = {
		.event = event,
		.thread = waits.thread,
		.user_stack = waits.user,
	};
	static const uint64_t lengths[] = {3000000, 2000000, 4000000};
	for (int i = 0; i < 3; i++) {
		sample.time_ns = waits.fixture.time_ns += 1000000;
		sample.weight = sample.measured = lengths[i];
		sample.waker = i < 2 ? LAYOUT_WAKER_INTERRUPT : 0;
		writer_sample(waits.fixture.writer, &sample);
	}
	struct profile *profile = fixture_profile(&waits.fixture);
	CLEANUP(str_deinit) struct str text = {0}, none = {0};
	struct scope all = {0};
	const struct scope_stacks stacks = {.profile = profile};
	CHECK(waker_list_put(profile, &all, &stacks, NULL, &text));
	const char *interrupt = strstr(str_text(&text), "    5.0 ms        2  interrupt ");
	const char *unknown = strstr(str_text(&text), "    4.0 ms        1  unknown ");
	CHECK(interrupt && unknown && interrupt < unknown);
	CLEANUP_FREE bool *chosen = mem_zalloc_array(profile->functions.len, sizeof(*chosen));
	CHECK(waker_list_put(profile, &all, &stacks, chosen, &none));
	CHECK(strstr(str_text(&none), "# no waits"));
	scope_add(&all, &(struct scope_term){.kind = SCOPE_TID, .number = 999});
	str_truncate(&none, 0);
	CHECK(waker_list_put(profile, &all, &stacks, NULL, &none));
	CHECK(strstr(str_text(&none), "# no waits"));
	scope_deinit(&all);
	profile_destroy(profile);
}

/* Frames of the library that waits, and of a header that is in the program, are not what is sought.
 */
TEST(waits_have_the_function_of_the_program)
{
	static const char *const names[] = {"main", "take_order", "__gthread_mutex_lock",
		"pthread_mutex_lock", "lll_lock", "lll_wait", "futex_wait", "syscall"};
	struct waits waits;
	uint32_t frames[9] = {0};
	waits_begin(&waits);
	struct fixture *fixture = &waits.fixture;
	uint32_t program = fixture_object(fixture, LAYOUT_OBJECT_FILE, "/work/shop");
	uint32_t libc = fixture_object(fixture, LAYOUT_OBJECT_VDSO, "libc.so.6");
	for (uint32_t i = 0; i < 8; i++)
		frames[i] = fixture_frame(fixture, i < 3 ? program : libc, 0x100 + i, names[i]);
	struct layout_sample sample = {
		.event = waits_event(&waits, "offcpu"),
		.thread = waits.thread,
		.user_stack = fixture_stack(fixture, frames),
		.time_ns = fixture->time_ns += 4000000,
		.weight = 3000000,
		.measured = 3000000,
	};
	writer_sample(fixture->writer, &sample);
	struct profile *profile = fixture_profile(fixture);
	for (uint32_t i = 0; i < 8; i++) { /* of files nothing is known here */
		struct profile_function *function =
			&profile->functions.data[profile->frames.data[frames[i]].function];
		function->is_known = true;
		function->name = names[i];
		function->file = i == 2 ? "/usr/include/c++/12/bits/gthr-default.h" : NULL;
	}
	CLEANUP(str_deinit) struct str text = {0};
	CHECK(longest_waits_put(profile, LONGEST_WAITS_MAX, &text));
	CHECK(strstr(str_text(&text), "syscall < futex_wait < lll_wait < lll_lock < "
				      "pthread_mutex_lock < ... < take_order\n"));
	profile_destroy(profile);
}

/* What a line says is said once: lines of code and calls of a function by itself make none. */
TEST(waits_that_say_the_same_are_one_row)
{
	static const char *const names[] = {
		"main", "walk", "walk", "walk", "std::mutex<int>::lock", "futex_wait"};
	struct waits waits;
	waits_begin(&waits);
	struct fixture *fixture = &waits.fixture;
	uint32_t program = fixture_object(fixture, LAYOUT_OBJECT_FILE, "/work/shop");
	uint32_t libc = fixture_object(fixture, LAYOUT_OBJECT_VDSO, "libc.so.6");
	uint32_t event = waits_event(&waits, "offcpu"), frames[7] = {0}, first[7];
	for (uint32_t stack = 0; stack < 2; stack++) { /* of other addresses in libc */
		for (uint32_t i = 0; i < 6; i++)
			frames[i] = fixture_frame(fixture, i < 4 ? program : libc,
				0x100 * (i + 1) + (i < 4 ? 0 : stack), names[i]);
		uint32_t deep[7] = {0}; /* the second one calls itself once less */
		deep[0] = frames[0];
		memcpy(&deep[1], &frames[1 + stack], (5 - stack) * sizeof(*deep));
		struct layout_sample sample = {
			.event = event,
			.thread = waits.thread,
			.user_stack = fixture_stack(fixture, deep),
			.time_ns = fixture->time_ns += 4000000,
			.weight = 3000000,
			.measured = 3000000,
		};
		writer_sample(fixture->writer, &sample);
		if (!stack)
			memcpy(first, frames, sizeof(first));
	}
	struct profile *profile = fixture_profile(fixture);
	for (uint32_t i = 0; i < 12; i++) {
		const uint32_t *of = i < 6 ? first : frames;
		struct profile_frame *frame = &profile->frames.data[of[i % 6]];
		frame->function =
			profile->frames.data[first[i % 6 == 2 || i % 6 == 3 ? 1 : i % 6]].function;
		frame->line = 7;
		profile->functions.data[frame->function].name = names[i % 6];
		profile->functions.data[frame->function].is_known = true;
	}
	CLEANUP(str_deinit) struct str text = {0};
	CHECK(longest_waits_put(profile, LONGEST_WAITS_MAX, &text));
	CHECK(strstr(str_text(&text), "3.0 ms      2     6.0 ms"));
	CHECK(strstr(str_text(&text), "futex_wait < std::mutex<int>::lock < walk:7 (x3) < main\n"));
	profile_destroy(profile);
}

/* What no function of a program is in waits for work, as threads of runtimes do. */
TEST(waits_of_programs_come_before_those_of_libraries)
{
	struct waits waits;
	waits_begin(&waits);
	struct fixture *fixture = &waits.fixture;
	uint32_t program = fixture_object(fixture, LAYOUT_OBJECT_FILE, "/work/shop");
	uint32_t libc = fixture_object(fixture, LAYOUT_OBJECT_VDSO, "libc.so.6");
	uint32_t event = waits_event(&waits, "offcpu");
	uint32_t own = fixture_frame(fixture, program, 0x100, "take_order");
	uint32_t idle = fixture_frame(fixture, libc, 0x200, "wait_for_work");
	const uint32_t stacks[] = {FIXTURE_STACK(fixture, idle), FIXTURE_STACK(fixture, own)};
	for (uint32_t i = 0; i < 2; i++) {
		struct layout_sample sample = {
			.event = event,
			.thread = waits.thread,
			.user_stack = stacks[i],
			.time_ns = fixture->time_ns += 40000000,
			.weight = i ? 3000000 : 30000000,
			.measured = i ? 3000000 : 30000000,
		};
		writer_sample(fixture->writer, &sample);
	}
	struct profile *profile = fixture_profile(fixture);
	uint32_t functions[] = {
		profile->frames.data[own].function, profile->frames.data[idle].function};
	for (size_t i = 0; i < 2; i++) {
		profile->functions.data[functions[i]].name = i ? "wait_for_work" : "take_order";
		profile->functions.data[functions[i]].is_known = true;
	}
	CLEANUP(str_deinit) struct str text = {0};
	CHECK(longest_waits_put(profile, LONGEST_WAITS_MAX, &text));
	const char *first = strstr(str_text(&text), "take_order");
	CHECK(first && strstr(first, "wait_for_work"));
	CLEANUP(str_deinit) struct str one = {0};
	CHECK(longest_waits_put(profile, 1, &one));
	CHECK(!strstr(str_text(&one), "wait_for_work"));
	CHECK(strstr(str_text(&one), "# 1 more wait\n# --percent-limit 0 shows all\n"));
	profile_destroy(profile);
}
