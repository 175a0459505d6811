/* Several recordings as one: sums, times, identities, damage. */
#include "format/merge/merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/file/first_sources.h"
#include "report/analyse/scope.h"
#include "report/analyse/table.h"
#include "report/analyse/tasks.h"
#include "report/analyse/tree.h"
#include "report/model/column.h"
#include "report/name/namesakes.h"
#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

enum {
	SECOND = 1000000000,
	NR_FUNCTIONS = 12,
};

static const struct layout_clock early = {5ULL * SECOND, 1700000000ULL * SECOND};
static const struct layout_clock late = {2ULL * SECOND, 1700000100ULL * SECOND};

static struct err *file_write(void *context, const void *bytes, size_t len)
{
	CHECK_INT(write(*(int *)context, bytes, len), len);
	return NULL;
}

static struct err *merge(
	const int *fds, size_t count, bool takes_twice, int *ret, struct merge_result *result)
{
	struct merge_input inputs[4];
	static const char *const names[] = {"dir/a.data", "b.data", "other/a.data", "d.data"};
	for (size_t i = 0; i < count; i++)
		inputs[i] = (struct merge_input){.name = names[i], .fd = fds[i]};
	*ret = memfd_create("merged", MFD_CLOEXEC);
	return merge_write(
		&(struct merge_options){
			.inputs = inputs, .nr_inputs = count, .takes_twice = takes_twice},
		(struct writer_sink){.write = file_write, .context = ret}, result);
}

static int merged(const int *fds, size_t count)
{
	int fd;
	struct merge_result result;
	CHECK_OK(merge(fds, count, false, &fd, &result));
	merge_result_deinit(&result);
	return fd;
}

#define MERGED(...) \
	merged((const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

static struct profile *load_and_close(int fd)
{
	struct profile *profile = fixture_load(fd);
	close(fd);
	return profile;
}

static void put_counters(struct fixture *fixture, uint64_t samples)
{
	const struct layout_counter_value values[] = {
		{LAYOUT_COUNTER_TICKS, 0, samples + 7},
		{LAYOUT_COUNTER_SAMPLES, 0, samples},
		{LAYOUT_COUNTER_IDLE, 1, 4},
		{LAYOUT_COUNTER_FILTERED, 1, 2},
		{LAYOUT_COUNTER_LOST_RING, 0, 1},
	};
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		writer_counter(fixture->writer, &values[i]);
}

static uint32_t object_with(struct fixture *fixture, const char *path, uint8_t build_id)
{
	struct layout_object object = {
		.kind = LAYOUT_OBJECT_VDSO,
		.path = fixture_string(fixture, path),
		.build_id = {build_id},
		.build_id_len = build_id ? 20 : 0,
	};
	return writer_object(fixture->writer, &object);
}

/* Stacks at random of functions with the same names in every recording. */
static int random_recording(unsigned seed, const struct layout_clock *clock, const char *boot)
{
	struct fixture fixture;
	unsigned samples = 0;
	fixture_init_at(&fixture, clock);
	writer_meta(fixture.writer, LAYOUT_META_HOST, "host");
	if (boot)
		writer_meta(fixture.writer, LAYOUT_META_BOOT, boot);
	srand(seed);
	uint32_t first = object_with(&fixture, seed & 1 ? "[one]" : "[two]", 1);
	uint32_t second = object_with(&fixture, seed & 1 ? "[two]" : "[one]", 1);
	struct layout_process process = {.pid = 42, .start_ns = SECOND, .exe = first};
	uint32_t thread =
		fixture_thread(&fixture, writer_process(fixture.writer, &process), 42, "app");
	uint32_t frames[NR_FUNCTIONS];
	for (int i = 0; i < NR_FUNCTIONS; i++) {
		char name[16];
		int number = (i + (int)seed) % NR_FUNCTIONS;
		snprintf(name, sizeof(name), "f%d", number);
		frames[i] = fixture_frame(
			&fixture, number & 1 ? first : second, 0x100 + 16 * (uint64_t)number, name);
	}
	for (int i = 0; i < 100; i++) {
		uint32_t stack[8] = {0};
		for (int k = 0; k < 1 + rand() % 6; k++)
			stack[k] = frames[rand() % NR_FUNCTIONS];
		unsigned count = (unsigned)rand() % 5;
		fixture_samples(&fixture, thread, fixture_stack(&fixture, stack), 0, count);
		samples += count;
	}
	put_counters(&fixture, samples);
	return fixture_finish(&fixture);
}

/* ---- sums ---- */

static void check_law(const struct profile *profile)
{
	const uint64_t *counters = profile->counters;
	CHECK_INT(counters[LAYOUT_COUNTER_SAMPLES], profile->samples.len);
	CHECK_INT(counters[LAYOUT_COUNTER_TICKS],
		counters[LAYOUT_COUNTER_SAMPLES] + counters[LAYOUT_COUNTER_IDLE] +
			counters[LAYOUT_COUNTER_FILTERED] + profile_lost(profile));
}

struct sums {
	uint64_t self, total, self_samples;
};

static struct sums sums_of(const struct profile *profile, const char *name)
{
	struct table table;
	struct table_options options = {.columns = {COLUMN_SYM}, .nr_columns = 1};
	struct sums out = {0};
	table_init(&table, profile, &options);
	vec_each(&table.rows, row)
		if (strcmp(profile->functions.data[row->function].name, name) == 0)
			out = (struct sums){row->self, row->total, row->self_samples};
	table_deinit(&table);
	return out;
}

static void check_sums(const struct profile *a, const struct profile *b, const struct profile *both)
{
	CHECK_INT(both->samples.len, a->samples.len + b->samples.len);
	for (int i = 0; i < NR_FUNCTIONS; i++) {
		char name[16];
		snprintf(name, sizeof(name), "f%d", i);
		struct sums x = sums_of(a, name), y = sums_of(b, name), z = sums_of(both, name);
		CHECK_INT(z.self, x.self + y.self);
		CHECK_INT(z.total, x.total + y.total);
		CHECK_INT(z.self_samples, x.self_samples + y.self_samples);
	}
	for (int i = 0; i < LAYOUT_COUNTER_COUNT; i++)
		CHECK_INT(both->counters[i], a->counters[i] + b->counters[i]);
	check_law(both);
}

TEST(a_merge_is_the_sum_in_any_order)
{
	for (unsigned seed = 1; seed <= 20; seed++) {
		int a = random_recording(seed, &early, NULL);
		int b = random_recording(seed + 100, &late, NULL);
		struct profile *ab = load_and_close(MERGED(a, b)),
			       *ba = load_and_close(MERGED(b, a));
		struct profile *x = load_and_close(a), *y = load_and_close(b);
		check_sums(x, y, ab);
		check_sums(x, y, ba);
		CHECK_INT(ab->samples.len, ba->samples.len);
		for (size_t i = 0; i < ab->samples.len; i++)
			CHECK_INT(ab->samples.data[i].time_ns, ba->samples.data[i].time_ns);
		CHECK_INT(ab->frames.len, ba->frames.len);
		CHECK_INT(ab->nodes.len, ba->nodes.len);
		CHECK_INT(ab->objects.len, 3); /* those of both are the same */
		CHECK(ab->frames.len <= NR_FUNCTIONS + 1);
		profile_destroy(ab), profile_destroy(ba), profile_destroy(x), profile_destroy(y);
	}
}

TEST(merging_what_was_merged_is_merging_all)
{
	static const struct layout_clock third = {9ULL * SECOND, 1600000000ULL * SECOND};
	int a = random_recording(1, &early, "x"), b = random_recording(2, &late, "y");
	int c = random_recording(3, &third, NULL), ab = MERGED(a, b);
	struct profile *at_once = load_and_close(MERGED(a, b, c));
	struct profile *by_steps = load_and_close(MERGED(ab, c));
	CHECK_INT(profile_nr_origins(by_steps), 3);
	CHECK_INT(by_steps->samples.len, at_once->samples.len);
	for (size_t i = 0; i < at_once->samples.len; i++)
		CHECK_INT(by_steps->samples.data[i].time_ns, at_once->samples.data[i].time_ns);
	for (size_t i = 1; i < at_once->origins.len; i++)
		CHECK_INT(by_steps->origins.data[i].info.shift_ns,
			at_once->origins.data[i].info.shift_ns);
	CHECK_STR(profile_meta(by_steps, LAYOUT_META_HOST), "host");
	CHECK_STR(profile_meta(by_steps, LAYOUT_META_BOOT), "x, y");
	check_law(by_steps);
	profile_destroy(at_once), profile_destroy(by_steps);
	close(a), close(b), close(c), close(ab);
}

/* ---- origins ---- */

static size_t rows_by(const struct profile *profile, enum column first, enum column second)
{
	struct table table;
	struct table_options options = {.columns = {first, second}, .nr_columns = 2};
	table_init(&table, profile, &options);
	size_t count = table.rows.len;
	table_deinit(&table);
	return count;
}

static uint64_t samples_of_first_task(const struct profile *profile, enum scope_kind kind)
{
	CLEANUP(scope_deinit) struct scope scope = {0};
	scope_add(&scope, &(struct scope_term){.kind = kind, .number = 1});
	return scope_count(&scope, profile);
}

static void check_tasks(const struct profile *profile, uint32_t count)
{
	struct timeline timeline;
	struct tasks tasks;
	timeline_init(&timeline, profile, 0, profile->last_ns - profile->first_ns + 1);
	vec_each(&profile->samples, sample)
		timeline_add(&timeline, profile, sample);
	timeline_finish(&timeline);
	tasks_init(&tasks, profile, &timeline);
	CHECK_INT(tasks.nr_processes, count);
	CHECK_INT(tasks.nr_threads, count);
	uint64_t samples = 0;
	vec_each(&tasks.tasks, task)
		samples += task->kind == TASK_THREAD ? task->sum.samples : 0;
	CHECK_INT(samples, profile->samples.len);
	tasks_deinit(&tasks);
	timeline_deinit(&timeline);
}

/* Each sample has its origin all the same. */
TEST(a_process_that_two_recordings_of_one_boot_have_is_one)
{
	static const struct layout_clock next = {15ULL * SECOND, 1700000010ULL * SECOND};
	static const char *const boots[] = {"x", "y", NULL};
	for (int i = 0; i < 3; i++) {
		int a = random_recording(1, &early, "x"), b = random_recording(3, &next, boots[i]);
		struct profile *profile = load_and_close(MERGED(a, b));
		uint32_t count = i ? 2 : 1;
		CHECK_INT(profile_has_several_boots(profile), i > 0);
		CHECK_INT(rows_by(profile, COLUMN_PID, COLUMN_TID), count);
		CHECK_INT(rows_by(profile, COLUMN_PID, COLUMN_ORIGIN), 2);
		CHECK_INT(rows_by(profile, COLUMN_COMM, COLUMN_COMM), 1);
		check_tasks(profile, count);
		bool has_all =
			samples_of_first_task(profile, SCOPE_PROCESS) == profile->samples.len;
		CHECK_INT(has_all, !i);
		CHECK_INT(samples_of_first_task(profile, SCOPE_THREAD),
			samples_of_first_task(profile, SCOPE_PROCESS));
		profile_destroy(profile);
		close(a), close(b);
	}
}

TEST(one_pid_of_two_recordings_stays_two_processes)
{
	int a = random_recording(1, &early, NULL), b = random_recording(2, &late, NULL);
	struct profile *profile = load_and_close(MERGED(a, b));
	CHECK_INT(profile_nr_origins(profile), 2);
	CHECK_INT(profile->processes.len, 3);
	CHECK_STR(profile_thread_origin(profile, 1), "a.data");
	CHECK_STR(profile_thread_origin(profile, 2), "b.data");
	struct table table;
	struct table_options options = {.columns = {COLUMN_PID}, .nr_columns = 1};
	table_init(&table, profile, &options);
	CHECK_INT(table.rows.len, 2);
	table_deinit(&table);
	options.columns[0] = COLUMN_COMM;
	table_init(&table, profile, &options);
	CHECK_INT(table.rows.len, 1);
	table_deinit(&table);
	profile_destroy(profile);
	close(a), close(b);
}

TEST(what_comes_twice_is_refused)
{
	int a = random_recording(1, &early, NULL), b = random_recording(2, &late, NULL);
	int ab = MERGED(a, b), fd;
	struct merge_result result;
	const int twice[] = {a, b, a}, inside[] = {ab, b};
	CHECK_ERR(merge(twice, 3, false, &fd, &result), ERR_USAGE, "count twice");
	close(fd);
	CHECK_ERR(merge(inside, 2, false, &fd, &result), ERR_USAGE, "count twice");
	close(fd);
	CHECK_OK(merge(twice, 3, true, &fd, &result));
	CHECK_INT(result.origins, 3);
	merge_result_deinit(&result);
	struct profile *profile = load_and_close(fd);
	CHECK_STR(profile->origins.data[1].name, "a.data");
	CHECK_STR(profile->origins.data[3].name, "a.data#2");
	profile_destroy(profile);
	close(a), close(b), close(ab);
}

/* ---- times ---- */

static void check_times(const char *boot_a, const char *boot_b, uint64_t b_ns)
{
	static const struct layout_clock same = {8ULL * SECOND, 1700000003ULL * SECOND + 12345};
	int a = random_recording(1, &early, boot_a), b = random_recording(2, &same, boot_b);
	struct profile *profile = load_and_close(MERGED(b, a));
	uint64_t first_ns[3] = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
	vec_each(&profile->samples, sample)
		if (sample->time_ns < first_ns[sample->thread])
			first_ns[sample->thread] = sample->time_ns;
	CHECK_INT(first_ns[2], 5ULL * SECOND + 1000000);
	CHECK_INT(first_ns[1], b_ns);
	CHECK_INT(profile_wall_ns(profile, 5ULL * SECOND), early.realtime_ns);
	profile_destroy(profile);
	close(a), close(b);
}

TEST(one_boot_keeps_its_clock)
{
	check_times("x", "x", 8ULL * SECOND + 1000000);
	check_times("x", "y", 8ULL * SECOND + 1000000 + 12000); /* whole microseconds */
	check_times(NULL, NULL, 8ULL * SECOND + 1000000 + 12000);
}

/* ---- objects ---- */

static int kernel_recording(
	const struct layout_clock *clock, const char *boot, uint8_t build_id, const char *name)
{
	struct fixture fixture;
	fixture_init_at(&fixture, clock);
	writer_meta(fixture.writer, LAYOUT_META_BOOT, boot);
	struct layout_object object = {
		.kind = LAYOUT_OBJECT_KERNEL,
		.path = fixture_string(&fixture, "[kernel]"),
		.build_id = {build_id},
		.build_id_len = build_id ? 20 : 0,
		.base = 0xffffffff81000000,
	};
	uint32_t kernel = writer_object(fixture.writer, &object);
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	uint32_t frame = fixture_frame(&fixture, kernel, 0x10, name);
	fixture_samples(&fixture, thread, 0, FIXTURE_STACK(&fixture, frame), 3);
	return fixture_finish(&fixture);
}

static void check_kernels(const char *boot, uint8_t build_id, const char *name, bool are_one)
{
	int a = kernel_recording(&early, "x", build_id ? 1 : 0, "schedule");
	int b = kernel_recording(&late, boot, build_id, name);
	struct profile *profile = load_and_close(MERGED(a, b));
	CHECK_INT(profile->objects.len, are_one ? 2 : 3);
	CHECK_INT(profile->symbols.len, are_one ? 1 : 2);
	CHECK_INT(sums_of(profile, "schedule").self_samples, are_one ? 6 : 3);
	CHECK_INT(sums_of(profile, name).self_samples, are_one ? 6 : 3);
	profile_destroy(profile);
	close(a), close(b);
}

TEST(kernels_are_told_apart)
{
	check_kernels("x", 1, "schedule", true);
	check_kernels("y", 1, "schedule", true);
	check_kernels("y", 2, "other", false);
	check_kernels("x", 0, "schedule", true);
	check_kernels("y", 0, "other", false);
}

/* ---- what archives and snapshots add ---- */

static int archived_recording(
	const struct layout_clock *clock, enum chain_map_detail detail, const char *function)
{
	struct fixture fixture;
	fixture_init_at(&fixture, clock);
	uint32_t object = object_with(&fixture, "[prog]", 9);
	uint32_t process = fixture_process(&fixture, 1, object);
	uint32_t thread = fixture_thread(&fixture, process, 1, "app");
	uint32_t frame = fixture_frame(&fixture, object, 0x10, NULL);
	uint32_t outer = fixture_frame(&fixture, object, 0x20, NULL);
	struct layout_snapshot snapshot = {.process = process, .time_ns = fixture.time_ns};
	uint32_t id = writer_snapshot(fixture.writer, &snapshot);
	uint32_t user = FIXTURE_STACK(&fixture, frame),
		 whole = FIXTURE_STACK(&fixture, outer, frame);
	struct layout_sample sample = {
		.time_ns = fixture.time_ns + 1000,
		.event = fixture.event,
		.thread = thread,
		.user_stack = user,
		.snapshot = id,
		.weight = 1,
	};
	writer_sample(fixture.writer, &sample);
	fixture_flush(&fixture);
	struct chain_frame frames[] = {{.function = function}};
	struct chain_map chains = {.detail = detail};
	chain_map_add(&chains, 0x10, &(struct chain){frames, 1});
	writer_chains(fixture.writer, object, &chains);
	chain_map_deinit(&chains);
	writer_unwound(fixture.writer, &(struct layout_unwound){id, whole});
	return fixture_finish(&fixture);
}

static void check_archived(const struct profile *profile)
{
	struct chain chain;
	CHECK_INT(profile->samples.len, 2);
	CHECK_INT(profile->objects.len, 2);
	CHECK_INT(profile->nr_snapshots, 2);
	CHECK_INT(profile->unwound.len, 0); /* nothing was left to be unwound */
	vec_each(&profile->samples, sample)
		CHECK_INT(profile->nodes.data[profile->stacks.data[sample->stack].user].parent != 0,
			1);
	const struct chain_map *chains = &profile->objects.data[1].chains;
	CHECK_INT(chains->detail, CHAIN_MAP_SYMBOLS); /* all of it is promised for no more */
	CHECK(chain_map_find(chains, 0x10, &chain) && chain.count == 1);
	CHECK_STR(chain.frames[0].function, "better");
}

TEST(archives_survive)
{
	int a = archived_recording(&early, CHAIN_MAP_INLINED, "better");
	int b = archived_recording(&late, CHAIN_MAP_SYMBOLS, "worse");
	struct profile *ab = load_and_close(MERGED(a, b)), *ba = load_and_close(MERGED(b, a));
	check_archived(ab);
	check_archived(ba);
	profile_destroy(ab), profile_destroy(ba);
	close(a), close(b);
}

/* ---- damage ---- */

static int cut(int fd, off_t bytes)
{
	off_t size = lseek(fd, 0, SEEK_END);
	CHECK_INT(ftruncate(fd, size - bytes), 0);
	return fd;
}

TEST(what_is_left_of_a_cut_recording_is_merged)
{
	for (off_t bytes = 1; bytes < 200; bytes += 9) {
		int a = cut(random_recording(1, &early, NULL), bytes);
		int b = random_recording(2, &late, NULL), fd;
		struct merge_result result;
		const int fds[] = {a, b};
		CHECK_OK(merge(fds, 2, false, &fd, &result));
		CHECK(!result.inputs[0].file.ended && result.inputs[1].file.ended);
		merge_result_deinit(&result);
		struct profile *profile = load_and_close(fd), *x = load_and_close(a);
		struct profile *y = load_and_close(b);
		CHECK_INT(profile->samples.len, x->samples.len + y->samples.len);
		CHECK_INT(profile->origins.data[1].info.flags, LAYOUT_ORIGIN_CUT);
		CHECK_INT(profile->origins.data[2].info.flags, 0);
		CHECK(profile->file.ended && !profile->dangling);
		check_law(profile);
		profile_destroy(profile), profile_destroy(x), profile_destroy(y);
	}
}

/* Each byte in turn is another one: nothing crashes, and the sum holds. */
TEST(damage_anywhere)
{
	int a = random_recording(1, &early, NULL), b = random_recording(2, &late, NULL);
	off_t size = lseek(a, 0, SEEK_END);
	for (off_t at = 16; at < size; at += 13) {
		uint8_t byte, other;
		CHECK_INT(pread(a, &byte, 1, at), 1);
		other = (uint8_t)~byte;
		CHECK_INT(pwrite(a, &other, 1, at), 1);
		struct profile *profile = load_and_close(MERGED(a, b));
		check_law(profile);
		CHECK_INT(profile->dangling, 0);
		vec_each(&profile->samples, sample)
			CHECK(profile_thread_origin(profile, sample->thread)[0]);
		profile_destroy(profile);
		CHECK_INT(pwrite(a, &byte, 1, at), 1);
	}
	close(a), close(b);
}

/* ---- sources of events that COUNTERS does not know ---- */

/* Of two gulps of so many bytes; a third one was filtered, a fourth lost. */
static int metered_recording(const struct layout_clock *clock, uint64_t value)
{
	struct fixture fixture;
	uint32_t thread;
	fixture_init_at(&fixture, clock);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	thread = fixture_thread(&fixture, fixture_process(&fixture, 7, object), 7, "tap");
	struct layout_event event = {
		.name = fixture_string(&fixture, "gulps"),
		.unit = fixture_string(&fixture, "bytes"),
		.source = fixture_string(&fixture, "meter"),
	};
	struct layout_sample sample = {.time_ns = clock->monotonic_ns,
		.event = writer_event(fixture.writer, &event),
		.thread = thread,
		.weight = value};
	const struct layout_event_tally tallies[] = {
		{event.source, LAYOUT_EVENTS, 0, 4, 2 * value + 30},
		{event.source, LAYOUT_EVENTS_SAMPLES, 0, 2, 2 * value},
		{event.source, LAYOUT_EVENTS_FILTERED, 1, 1, 10},
		{event.source, LAYOUT_EVENTS_LOST_BUSY, 2, 1, 20},
	};
	for (size_t i = 0; i < sizeof(tallies) / sizeof(*tallies); i++)
		writer_event_tally(fixture.writer, &tallies[i]);
	CHECK_OK(writer_flush(fixture.writer));
	writer_sample(fixture.writer, &sample);
	writer_sample(fixture.writer, &sample);
	return fixture_finish(&fixture);
}

static void check_metered(const struct profile *profile, enum layout_event_counter counter,
	uint64_t count, uint64_t sum)
{
	CHECK_INT(profile_source_count(profile, FIRST_SOURCES, counter), count);
	CHECK_INT(profile->sources.data[0].tallies[counter].sum, sum);
}

TEST(counters_of_any_source_are_added)
{
	int a = metered_recording(&early, 100), b = metered_recording(&late, 1);
	int c = random_recording(1, &(struct layout_clock){9, 1600000000ULL * SECOND}, NULL);
	struct profile *ticks = load_and_close(c);
	c = random_recording(1, &(struct layout_clock){9, 1600000000ULL * SECOND}, NULL);
	struct profile *all = load_and_close(MERGED(a, b, c));
	CHECK_INT(all->sources.len, 1);
	CHECK_STR(all->sources.data[0].name, "meter");
	check_metered(all, LAYOUT_EVENTS, 8, 262);
	check_metered(all, LAYOUT_EVENTS_SAMPLES, 4, 202);
	check_metered(all, LAYOUT_EVENTS_FILTERED, 2, 20);
	check_metered(all, LAYOUT_EVENTS_LOST_BUSY, 2, 40);
	CHECK_INT(profile_source_lost(all, FIRST_SOURCES), 2);
	CHECK_INT(profile_lost(all), 2 + profile_lost(ticks));
	CHECK_INT(all->counters[LAYOUT_COUNTER_TICKS], ticks->counters[LAYOUT_COUNTER_TICKS]);
	CHECK_INT(all->samples.len, 4 + ticks->samples.len);
	CHECK_INT(all->events.len, 3); /* one of each kind, and none */
	CHECK(!all->dangling && !all->file.unknown_chunks);
	profile_destroy(ticks), profile_destroy(all);
	close(a), close(b), close(c);
}

/* The samples were not there yet when it was cut, the counters were. */
TEST(counters_of_any_source_are_mended)
{
	int a = metered_recording(&early, 100), b = metered_recording(&late, 1), fd;
	struct merge_result result;
	const int fds[] = {cut(a, 60), b};
	CHECK_OK(merge(fds, 2, false, &fd, &result));
	struct profile *profile = load_and_close(fd);
	uint64_t lost = 2 - (profile->samples.len - 2);
	CHECK(lost);
	CHECK_INT(result.inputs[0].mended, lost);
	check_metered(profile, LAYOUT_EVENTS, 8, 262);
	check_metered(profile, LAYOUT_EVENTS_SAMPLES, 4 - lost, 202 - lost * 100);
	check_metered(profile, LAYOUT_EVENTS_LOST_WRITE, lost, lost * 100);
	profile_destroy(profile);
	merge_result_deinit(&result);
	close(fds[0]), close(b);
}

/* ---- scripts: each recording numbers their functions for itself ---- */

/* outer() calls inner(), in app.py; also other.py has an inner(), in the same line. */
static int script_recording(const struct layout_clock *clock, bool is_turned, unsigned count)
{
	enum {
		IN_INNER = 3,
		IN_OUTER = 9,
	};
	struct fixture fixture;
	fixture_init_at(&fixture, clock);
	uint32_t python = fixture_object(&fixture, LAYOUT_OBJECT_SCRIPT, "[python]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 7, 0), 7, "app");
	uint64_t first = LAYOUT_SCRIPT_FIRST, third = 3 * LAYOUT_SCRIPT_FIRST;
	uint32_t outer = fixture_line(
		&fixture, python, 2 * LAYOUT_SCRIPT_FIRST + IN_OUTER, "outer", "/app.py", IN_OUTER);
	uint32_t inner = fixture_line(&fixture, python, (is_turned ? third : first) + IN_INNER,
		"inner", "/app.py", IN_INNER);
	uint32_t other = fixture_line(&fixture, python, (is_turned ? first : third) + IN_INNER,
		"inner", "/other.py", IN_INNER);
	uint32_t unnamed = fixture_frame(&fixture, python, LAYOUT_SCRIPT_NO_NAME, NULL);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, outer, inner), 0, count);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, outer, other), 0, 10 * count);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, unnamed), 0, 100 * count);
	return fixture_finish(&fixture);
}

/* What stands at each node, with its samples. */
static void check_script_tree(const struct profile *profile, uint64_t count)
{
	CLEANUP_FREE uint32_t *groups =
		namesakes_group(profile->functions.data, profile->functions.len);
	struct tree tree;
	tree_init(&tree, profile, &(struct tree_options){.groups = groups});
	struct slice slice;
	slice_init_all(&slice, profile);
	CLEANUP_FREE struct tree_weight *weights = tree_weigh(&tree, &slice);
	CHECK_INT(tree.nodes.len, 5); /* the root, outer, two called inner, what has no name */
	for (uint32_t i = 1; i < tree.nodes.len; i++) {
		const struct profile_frame *frame = &profile->frames.data[tree.nodes.data[i].frame];
		const char *file = frame->file ? frame->file : "";
		bool is_outer = strcmp(profile->functions.data[frame->function].name, "outer") == 0;
		CHECK_INT(weights[i].samples, !frame->file                   ? 100 * count
					      : is_outer                     ? 11 * count
					      : strcmp(file, "/app.py") == 0 ? count
									     : 10 * count);
	}
	slice_deinit(&slice);
	tree_deinit(&tree);
}

TEST(a_function_of_a_script_is_one_in_all_recordings)
{
	static const struct layout_clock third = {9ULL * SECOND, 1600000000ULL * SECOND};
	int a = script_recording(&early, false, 1), b = script_recording(&late, true, 2);
	int c = script_recording(&third, true, 4), ab = MERGED(a, b);
	struct profile *one = load_and_close(MERGED(a)), *both = load_and_close(MERGED(a, b));
	struct profile *all = load_and_close(MERGED(ab, c));
	check_script_tree(one, 1);
	check_script_tree(both, 3);
	check_script_tree(all, 7);
	CHECK(!all->dangling);
	profile_destroy(one), profile_destroy(both), profile_destroy(all);
	close(a), close(b), close(c), close(ab);
}

/* No offset is left behind the highest: this one's functions stay apart, with their names. */
TEST(functions_of_scripts_with_forged_numbers)
{
	int fds[2];
	for (int i = 0; i < 2; i++) {
		struct fixture fixture;
		uint32_t thread;
		fixture_init_at(&fixture, i ? &late : &early);
		thread = fixture_thread(&fixture, fixture_process(&fixture, 7, 0), 7, "app");
		uint32_t python = fixture_object(&fixture, LAYOUT_OBJECT_SCRIPT, "[python]");
		uint32_t frame = fixture_line(
			&fixture, python, UINT64_MAX, i ? "second" : "first", "/app.py", 1);
		fixture_samples(
			&fixture, thread, FIXTURE_STACK(&fixture, frame), 0, 3 + (unsigned)i);
		fds[i] = fixture_finish(&fixture);
	}
	struct profile *profile = load_and_close(MERGED(fds[0], fds[1]));
	CHECK_INT(sums_of(profile, "first").self_samples, 3);
	CHECK_INT(sums_of(profile, "second").self_samples, 4);
	profile_destroy(profile);
	close(fds[0]), close(fds[1]);
}

/* ---- pieces of one recorder ---- */

static struct profile *pieces_of(const int *fds, struct merge_span span)
{
	struct merge_input inputs[] = {{.name = "ring/1.data", .fd = fds[0]},
		{.name = "ring/2.data", .fd = fds[1], .is_open = true}};
	struct merge_options options = {
		.inputs = inputs, .nr_inputs = 2, .are_pieces = true, .span = span};
	struct merge_result result;
	int out = memfd_create("pieces", MFD_CLOEXEC);
	CHECK_OK(merge_write(
		&options, (struct writer_sink){.write = file_write, .context = &out}, &result));
	merge_result_deinit(&result);
	return load_and_close(out);
}

TEST(pieces_are_one_origin)
{
	static const struct layout_clock next = {15ULL * SECOND, 1700000010ULL * SECOND};
	int fds[] = {random_recording(1, &early, "x"), random_recording(3, &next, "x")};
	struct profile *one = pieces_of(fds, (struct merge_span){0});
	struct profile *two = load_and_close(MERGED(fds[0], fds[1]));
	CHECK_INT(profile_nr_origins(one), 1);
	CHECK_INT(one->samples.len, two->samples.len);
	CHECK_INT(one->processes.len + 1, two->processes.len); /* the same process in both */
	CHECK_INT(one->threads.len + 1, two->threads.len);
	check_law(one);
	profile_destroy(one), profile_destroy(two);
}

/* The recorder of the second piece knew at once what the runtime calls the thread. */
TEST(a_thread_of_pieces_has_one_entry_for_a_name)
{
	static const struct layout_clock next = {15ULL * SECOND, 1700000010ULL * SECOND};
	int fds[2];
	for (unsigned i = 0; i < 2; i++) {
		struct fixture fixture;
		fixture_init_at(&fixture, i ? &next : &early);
		writer_meta(fixture.writer, LAYOUT_META_BOOT, "x");
		struct layout_process process = {.pid = 7, .start_ns = SECOND};
		uint32_t id = writer_process(fixture.writer, &process);
		uint32_t code = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
		uint32_t stack = FIXTURE_STACK(&fixture, fixture_frame(&fixture, code, 16, "run"));
		struct layout_thread named = {id, 8, fixture_string(&fixture, "worker-1"),
			fixture_string(&fixture, "python3")};
		if (!i)
			fixture_samples(
				&fixture, fixture_thread(&fixture, id, 8, "python3"), stack, 0, 2);
		fixture_samples(&fixture, writer_thread(fixture.writer, &named), stack, 0, 3 + i);
		fds[i] = fixture_finish(&fixture);
	}
	struct profile *profile = pieces_of(fds, (struct merge_span){0});
	CHECK_INT(profile->samples.len, 9);
	vec_each(&profile->samples, sample) {
		CHECK_INT(sample->thread, profile->samples.data[0].thread);
		CHECK_STR(profile->threads.data[sample->thread].comm, "worker-1");
	}
	profile_destroy(profile);
	close(fds[0]), close(fds[1]);
}

/* What is not in a span counts as filtered; two halves have what the whole has. */
TEST(spans_take_each_sample_once)
{
	static const struct layout_clock next = {15ULL * SECOND, 1700000010ULL * SECOND};
	int fds[] = {random_recording(5, &early, "x"), random_recording(8, &next, "x")};
	struct profile *all = pieces_of(fds, (struct merge_span){0});
	for (size_t i = 0; i < all->samples.len; i += 7) {
		uint64_t cut_ns = profile_wall_ns(all, all->samples.data[i].time_ns);
		struct profile *before = pieces_of(fds, (struct merge_span){.to_ns = cut_ns});
		struct profile *behind = pieces_of(fds, (struct merge_span){.from_ns = cut_ns});
		CHECK_INT(before->samples.len + behind->samples.len, all->samples.len);
		vec_each(&before->samples, sample)
			CHECK(profile_wall_ns(before, sample->time_ns) < cut_ns);
		vec_each(&behind->samples, sample)
			CHECK(profile_wall_ns(behind, sample->time_ns) >= cut_ns);
		CHECK_INT(before->counters[LAYOUT_COUNTER_TICKS],
			all->counters[LAYOUT_COUNTER_TICKS]);
		check_law(before);
		check_law(behind);
		profile_destroy(before), profile_destroy(behind);
	}
	profile_destroy(all);
}

TEST(no_recording_is_refused)
{
	int a = random_recording(1, &early, NULL), fd;
	int b = memfd_create("text", MFD_CLOEXEC);
	struct merge_result result;
	const int fds[] = {a, b};
	CHECK_INT(write(b, "no recording at all", 19), 19);
	CHECK_ERR(merge(fds, 2, false, &fd, &result), ERR_FORMAT, "b.data");
	close(fd), close(a), close(b);
}
