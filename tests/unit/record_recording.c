/*
 * The files of a recording: what each begins with, how one follows on another, and that it ends in
 * order where there is no room left.
 */
#include "record/recording.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/file/first_sources.h"
#include "format/file/reader.h"
#include "tests/unit/small_disk.h"
#include "tests/unit/unit.h"

enum {
	PID = 0x7ffffff0, /* that no process has */
	MANY = 2000,
	MAX_ROUNDS = 1000,
};

static struct session_options options;
static struct sources sources;
static struct translate translate;
static struct recording recording;
static struct recording_counts counts;
static struct source_cpu cpu0 = {.cpu = 0};

/* ---- a session of ticks, but for the kernel ---- */

static void begin_as(struct session_options what)
{
	options = what;
	options.output = "x.data";
	struct source ticks = {.row = event_sources[EVENT_SOURCE_TIMER],
		.number = EVENT_SOURCE_TIMER,
		.name = event_sources[EVENT_SOURCE_TIMER]->name};
	struct source_event event = {.name = "cpu-clock", .unit = "ns", .frequency_hz = 997};
	vec_push(&ticks.events, event);
	vec_push(&sources, ticks);
	translate_init(&translate, true);
	recording = (struct recording){
		.options = &options, .translate = &translate, .stop_fd = -1, .sources = &sources};
	CHECK_OK(recording_begin(&recording));
}

static void begin_published_as(struct session_options what)
{
	begin_as(what);
	CHECK_OK(recording_publish(&recording));
	recording_mark_time(&recording);
}

static void begin_published(void)
{
	begin_published_as((struct session_options){.target = SESSION_SYSTEM});
}

static void let_go(void)
{
	recording_deinit(&recording);
	recording_counts_deinit(&counts);
	translate_deinit(&translate);
	sources_deinit(&sources);
	counts = (struct recording_counts){0};
	cpu0 = (struct source_cpu){.cpu = 0};
}

static void count_tick(enum event_counter outcome)
{
	cpu0.counted.of[EVENT_COUNTER_EVENTS].count++;
	cpu0.counted.of[outcome].count++;
}

/* As they come out of the ring, at any times, so that they do not become small. */
static void put_samples(unsigned nr_samples)
{
	for (unsigned i = 0; i < nr_samples; i++) {
		struct event_sample sample = {.type = EVENT_SAMPLE,
			.pid = PID,
			.tid = PID,
			.time_ns = (uint64_t)rand() << 8,
			.value = 1,
			.comm = "ticked"};
		count_tick(EVENT_COUNTER_SAMPLES);
		translate_collect(&translate, &sample, sizeof(sample));
	}
	translate_run(&translate, UINT64_MAX, UINT64_MAX);
}

static const struct recording_counts *read_counts(void)
{
	struct recording_source_counts *of = &counts.sources[EVENT_SOURCE_TIMER];
	of->cpus.len = 0;
	vec_push(&of->cpus, cpu0);
	of->samples = translate.stats.taken[EVENT_SOURCE_TIMER].received;
	return &counts;
}

static void finish(enum layout_end_reason reason)
{
	CHECK_OK(recording_finish(&recording, read_counts(), reason));
}

/* Also within the millisecond that their names have. */
static void switch_file(void)
{
	CHECK_OK(recording_switch(&recording, read_counts()));
}

/* ---- what a reader finds ---- */

struct found {
	char meta[4096]; /* "key=value\n" */
	size_t meta_len;
	uint64_t samples;
	uint64_t ticks[LAYOUT_EVENT_COUNTER_COUNT]; /* the file's last word on them */
	uint64_t counters[LAYOUT_COUNTER_COUNT];
	struct layout_clock clock; /* the last one */
	struct layout_end end;
};

static void on_meta(void *context, const char *key, size_t key_len, const char *value, size_t len)
{
	struct found *found = context;
	found->meta_len += (size_t)snprintf(found->meta + found->meta_len,
		sizeof(found->meta) - found->meta_len, "%.*s=%.*s\n", (int)key_len, key, (int)len,
		value);
	CHECK(found->meta_len < sizeof(found->meta));
}

static void on_sample(void *context, const struct layout_sample *sample)
{
	(void)sample;
	((struct found *)context)->samples++;
}

static void on_counter(void *context, const struct layout_counter_value *value)
{
	struct found *found = context;
	enum layout_event_counter counter;
	if (first_source_of_counter(value->counter, &counter))
		found->ticks[counter] = value->value;
	else
		found->counters[value->counter] = value->value;
}

static void on_clock(void *context, const struct layout_clock *clock)
{
	((struct found *)context)->clock = *clock;
}

static void on_end(void *context, const struct layout_end *end)
{
	((struct found *)context)->end = *end;
}

/* A recording that ends in order, and whose ticks add up. */
static void read_recording(const char *name, struct found *ret)
{
	static const struct reader_visitor visitor = {
		.meta = on_meta,
		.sample = on_sample,
		.counter = on_counter,
		.clock = on_clock,
		.end = on_end,
	};
	struct reader_result result;
	uint64_t told = 0;
	*ret = (struct found){0};
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_OK(reader_read(fd, &visitor, ret, &result));
	CHECK(result.ended && !result.bad_chunks);
	close(fd);
	for (int i = LAYOUT_EVENTS_SAMPLES; i <= LAYOUT_EVENTS_LOST_WRITE; i++)
		told += ret->ticks[i];
	CHECK_INT(ret->ticks[LAYOUT_EVENTS], told);
	CHECK_INT(ret->ticks[LAYOUT_EVENTS_SAMPLES], ret->samples);
	/* Nothing is missing but what could not be written. */
	CHECK_INT(result.missing_chunks > 0, ret->ticks[LAYOUT_EVENTS_LOST_WRITE] > 0);
}

static uint64_t samples_in(const char *name)
{
	struct found found;
	read_recording(name, &found);
	return found.samples;
}

/* The value of a key; NULL: the file has none. */
static const char *meta_of(const struct found *found, const char *key)
{
	static char value[1024];
	char line[64];
	snprintf(line, sizeof(line), "\n%s=", key);
	const char *at = strstr(found->meta, line);
	if (!at)
		return NULL;
	at += strlen(line);
	snprintf(value, sizeof(value), "%.*s", (int)strcspn(at, "\n"), at);
	return value;
}

static int count_entries(void)
{
	int count = 0;
	DIR *folder = opendir(".");
	for (const struct dirent *entry; (entry = readdir(folder));)
		count += entry->d_name[0] != '.';
	closedir(folder);
	return count;
}

static int exists(const char *name)
{
	return access(name, F_OK) == 0;
}

static void put_file(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");
	CHECK(file);
	fputs(text, file);
	fclose(file);
}

static void check_text(const char *name, const char *want)
{
	char text[64] = "";
	FILE *file = fopen(name, "r");
	CHECK(file && fgets(text, sizeof(text), file));
	CHECK_STR(text, want);
	if (file)
		fclose(file);
}

/* ---- what a file begins with ---- */

static void check_target(struct session_options what, const char *target)
{
	struct found found;
	begin_published_as(what);
	finish(LAYOUT_END_SIGNAL);
	let_go();
	read_recording("x.data", &found);
	CHECK_STR(meta_of(&found, LAYOUT_META_TARGET), target);
	bool is_command = what.target == SESSION_COMMAND;
	if (is_command)
		CHECK_STR(meta_of(&found, LAYOUT_META_COMMAND), what.argv[0]);
	CHECK(is_command || !meta_of(&found, LAYOUT_META_COMMAND));
	CHECK(what.with_args || !meta_of(&found, LAYOUT_META_ARGS));
}

TEST(recording_names_its_target)
{
	static const uint32_t pids[] = {12, 4194303};
	char *argv[] = {"/bin/sleep", "secret", NULL};
	check_target((struct session_options){.target = SESSION_SYSTEM}, "system");
	check_target((struct session_options){.target = SESSION_USER, .uid = 1000}, "uid 1000");
	check_target((struct session_options){.target = SESSION_COMMAND, .argv = argv}, "command");
	check_target(
		(struct session_options){.target = SESSION_PROCESSES, .pids = pids, .nr_pids = 1},
		"pid 12");
	check_target(
		(struct session_options){.target = SESSION_PROCESSES, .pids = pids, .nr_pids = 2},
		"pid 12,4194303");
	check_target(
		(struct session_options){.target = SESSION_THREADS, .pids = pids, .nr_pids = 2},
		"tid 12,4194303");
	/* A command that only says how long to record is no target. */
	check_target((struct session_options){.target = SESSION_SYSTEM, .argv = argv}, "system");
}

TEST(recording_quotes_arguments_as_a_shell_reads_them)
{
	char *argv[] = {"/bin/sh", "-c", "it's $HOME", "", "a=b:c", "\"", "two\twords", NULL};
	struct found found;
	begin_published_as((struct session_options){
		.target = SESSION_COMMAND, .argv = argv, .with_args = true});
	finish(LAYOUT_END_COMMAND);
	let_go();
	read_recording("x.data", &found);
	CHECK_STR(meta_of(&found, LAYOUT_META_ARGS),
		"/bin/sh -c 'it'\\''s $HOME' '' a=b:c '\"' 'two\twords'");
	CHECK_INT(found.end.reason, LAYOUT_END_COMMAND);
}

TEST(recording_names_the_machine_in_each_file)
{
	static const char *const keys[] = {LAYOUT_META_BOOT, LAYOUT_META_CPUS, LAYOUT_META_MEMORY};
	struct utsname name;
	struct found first, second;
	uname(&name);
	begin_published();
	switch_file();
	finish(LAYOUT_END_SIGNAL);
	read_recording(recording.finished_names.data[0], &first);
	read_recording("x.data", &second);
	CHECK_STR(first.meta, second.meta);
	CHECK_STR(meta_of(&second, LAYOUT_META_HOST), name.nodename);
	CHECK_STR(meta_of(&second, LAYOUT_META_KERNEL), name.release);
	CHECK_STR(meta_of(&second, LAYOUT_META_ARCH), name.machine);
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		CHECK(meta_of(&second, keys[i]));
	let_go();
}

/* ---- the file that had the name ---- */

TEST(recording_that_never_ran_leaves_the_older_one)
{
	put_file("x.data", "older");
	begin_as((struct session_options){.target = SESSION_SYSTEM});
	check_text("x.data", "older");
	let_go();
	check_text("x.data", "older");
	CHECK_INT(count_entries(), 1);
}

TEST(recording_keeps_the_newest_older_one)
{
	for (unsigned i = 1; i <= 3; i++) {
		begin_published();
		put_samples(i);
		finish(LAYOUT_END_SIGNAL);
		let_go();
		CHECK_INT(samples_in("x.data"), i);
		CHECK_INT(exists("x.data.old"), i > 1);
		if (i > 1)
			CHECK_INT(samples_in("x.data.old"), i - 1);
	}
	CHECK_INT(count_entries(), 2);
}

/* ---- one file after the other ---- */

/* Switches so many times; each file has a sample more than the one before. */
static void record_files(uint32_t max_files, unsigned switches)
{
	begin_published_as((struct session_options){
		.target = SESSION_SYSTEM, .switching.max_files = max_files});
	for (unsigned i = 1; i <= switches; i++) {
		put_samples(i);
		switch_file();
		CHECK(exists("x.data"));
	}
	put_samples(switches + 1);
	finish(LAYOUT_END_SIGNAL);
	CHECK_INT(recording.nr_files, switches + 1);
	CHECK_INT(recording_samples(&recording, EVENT_SOURCE_TIMER),
		(switches + 1) * (switches + 2) / 2);
}

TEST(recording_keeps_the_last_files)
{
	put_file("x.data", "older");
	put_file("x.data.20200101-000000.000", "not ours");
	record_files(3, 5);
	CHECK_INT(recording_files_kept(&recording), 3);
	CHECK_INT(recording.finished_names.len, 2);
	CHECK_INT(samples_in(recording.finished_names.data[0]), 4);
	CHECK_INT(samples_in(recording.finished_names.data[1]), 5);
	CHECK_INT(samples_in("x.data"), 6);
	check_text("x.data.old", "older");
	check_text("x.data.20200101-000000.000", "not ours");
	CHECK_INT(count_entries(), 5);
	let_go();
}

TEST(recording_keeps_one_file_when_no_more_are_wanted)
{
	record_files(1, 3);
	CHECK_INT(recording_files_kept(&recording), 1);
	CHECK_INT(samples_in("x.data"), 4);
	CHECK_INT(count_entries(), 1);
	let_go();
}

TEST(recording_keeps_all_files_without_a_limit)
{
	record_files(0, 4);
	CHECK_INT(recording_files_kept(&recording), 5);
	for (unsigned i = 0; i < 4; i++) {
		struct found found;
		read_recording(recording.finished_names.data[i], &found);
		CHECK_INT(found.samples, i + 1);
		CHECK_INT(found.end.reason, LAYOUT_END_SWITCH);
	}
	CHECK_INT(count_entries(), 5);
	let_go();
}

TEST(file_that_was_taken_away_is_its_takers)
{
	begin_published_as(
		(struct session_options){.target = SESSION_SYSTEM, .switching.max_files = 1});
	put_samples(7);
	CHECK_INT(rename("x.data", "taken.data"), 0);
	switch_file();
	finish(LAYOUT_END_SIGNAL);
	CHECK_INT(samples_in("taken.data"), 7);
	CHECK_INT(samples_in("x.data"), 0);
	CHECK_INT(count_entries(), 2);
	let_go();
}

TEST(counters_of_a_file_begin_with_it)
{
	struct found first, second;
	begin_published();
	put_samples(3);
	count_tick(EVENT_COUNTER_IDLE);
	count_tick(EVENT_COUNTER_LOST_RING);
	counts.sideband_lost = 5;
	counts.targets_full = 6;
	counts.cpus_back = 1;
	counts.waits_without_scripts = 3;
	counts.programs_skipped = 2;
	counts.code_unread = 4;
	CHECK_OK(recording_flush(&recording, read_counts()));
	put_samples(2);
	switch_file();
	put_samples(1);
	count_tick(EVENT_COUNTER_IDLE);
	counts.sideband_lost = 9;
	counts.waits_without_scripts = 7;
	finish(LAYOUT_END_SIGNAL);
	read_recording(recording.finished_names.data[0], &first);
	read_recording("x.data", &second);
	CHECK_INT(first.ticks[LAYOUT_EVENTS], 7);
	CHECK_INT(first.samples, 5);
	CHECK_INT(first.ticks[LAYOUT_EVENTS_IDLE], 1);
	CHECK_INT(first.ticks[LAYOUT_EVENTS_LOST_RING], 1);
	CHECK_INT(first.counters[LAYOUT_COUNTER_SIDEBAND_LOST], 5);
	CHECK_INT(first.counters[LAYOUT_COUNTER_TARGETS_FULL], 6);
	CHECK_INT(first.counters[LAYOUT_COUNTER_CPUS_BACK], 1);
	CHECK_INT(first.counters[LAYOUT_COUNTER_WAITS_WITHOUT_SCRIPTS], 3);
	CHECK_INT(first.counters[LAYOUT_COUNTER_PROGRAMS_SKIPPED], 2);
	CHECK_INT(first.counters[LAYOUT_COUNTER_CODE_UNREAD], 4);
	CHECK_INT(second.ticks[LAYOUT_EVENTS], 2);
	CHECK_INT(second.samples, 1);
	CHECK_INT(second.ticks[LAYOUT_EVENTS_IDLE], 1);
	CHECK_INT(second.ticks[LAYOUT_EVENTS_LOST_RING], 0);
	CHECK_INT(second.counters[LAYOUT_COUNTER_SIDEBAND_LOST], 4);
	CHECK_INT(second.counters[LAYOUT_COUNTER_TARGETS_FULL], 0);
	CHECK_INT(second.counters[LAYOUT_COUNTER_CPUS_BACK], 0);
	CHECK_INT(second.counters[LAYOUT_COUNTER_WAITS_WITHOUT_SCRIPTS], 4);
	CHECK_INT(second.counters[LAYOUT_COUNTER_PROGRAMS_SKIPPED], 0);
	CHECK_INT(second.counters[LAYOUT_COUNTER_CODE_UNREAD], 0);
	let_go();
}

/* However long it takes to write what was sampled. */
TEST(recording_ends_when_sampling_did)
{
	struct found found;
	begin_published();
	recording.until_ns = clock_now_ns() - 1;
	put_samples(1);
	finish(LAYOUT_END_DURATION);
	read_recording("x.data", &found);
	CHECK_INT(found.clock.monotonic_ns, recording.until_ns);
	CHECK_INT(found.end.time_ns, recording.until_ns);
	CHECK_INT(found.end.reason, LAYOUT_END_DURATION);
	let_go();
}

/* ---- no room ---- */

/* Samples until they cannot be written any more. */
static void record_until_full(void)
{
	struct err *err = NULL;
	begin_published();
	for (int round = 0; !err && round < MAX_ROUNDS; round++) {
		put_samples(MANY);
		err = recording_flush(&recording, read_counts());
	}
	CHECK_ERR(err, ERR_IO, "x.data: cannot write");
	put_samples(MANY); /* which were in the ring meanwhile */
}

/* What was written is there, what was not is counted. */
static void check_full(uint64_t max_bytes)
{
	struct found found;
	struct stat st;
	uint64_t all = cpu0.counted.of[EVENT_COUNTER_SAMPLES].count;
	CHECK_ERR(recording_finish(&recording, read_counts(), LAYOUT_END_SIGNAL), ERR_IO,
		"the output failed before");
	read_recording("x.data", &found);
	CHECK_INT(found.end.reason, LAYOUT_END_WRITE_ERROR);
	CHECK(found.samples > 0);
	CHECK_INT(found.samples + found.ticks[LAYOUT_EVENTS_LOST_WRITE], all);
	CHECK_INT(recording_samples(&recording, EVENT_SOURCE_TIMER), found.samples);
	CHECK_INT(stat("x.data", &st), 0);
	CHECK_INT(st.st_size, recording_bytes(&recording));
	CHECK((uint64_t)st.st_size <= max_bytes);
	let_go();
}

TEST(full_disk_ends_a_recording_in_order)
{
	small_disk_enter();
	record_until_full();
	check_full(SMALL_DISK_PAGES * SMALL_DISK_PAGE_BYTES);
}

TEST(limit_of_file_sizes_ends_a_recording_in_order)
{
	struct rlimit limit = {50000, 50000};
	signal(SIGXFSZ, SIG_IGN); /* as a session does */
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
	record_until_full();
	check_full(limit.rlim_cur);
}

/* Where there is no room for the next file this one goes on, to its end. */
TEST(full_disk_keeps_the_file_that_cannot_be_followed)
{
	struct found found;
	small_disk_enter();
	begin_published();
	put_samples(4);
	CHECK_OK(recording_flush(&recording, read_counts()));
	small_disk_fill();
	CHECK_ERR(recording_switch(&recording, read_counts()), ERR_IO, "No space left");
	CHECK_INT(recording.finished_names.len, 0);
	finish(LAYOUT_END_WRITE_ERROR); /* as a session does after an error */
	read_recording("x.data", &found);
	CHECK_INT(found.samples, 4);
	CHECK_INT(found.end.reason, LAYOUT_END_WRITE_ERROR);
	CHECK_INT(count_entries(), 2); /* with what fills the disk */
	let_go();
}

/* What waits is looked at, too: it is written while it fits. */
TEST(limit_of_the_user_is_never_exceeded)
{
	enum {
		MAX_BYTES = 30000
	};
	struct found found;
	struct stat st;
	begin_published_as(
		(struct session_options){.target = SESSION_SYSTEM, .max_bytes = MAX_BYTES});
	CHECK(!recording_is_over(&recording, MAX_BYTES));
	CHECK(!recording_is_filling(&recording, MAX_BYTES));
	int rounds = 0;
	for (; !recording_is_over(&recording, MAX_BYTES) && rounds < MAX_ROUNDS; rounds++) {
		put_samples(10);
		if (recording_is_filling(&recording, MAX_BYTES))
			CHECK_OK(recording_flush(&recording, read_counts()));
	}
	CHECK(rounds < MAX_ROUNDS);
	CHECK(!recording_is_over(&recording, 0) || writer_is_full(recording.writer));
	CHECK(!recording_is_filling(&recording, 0));
	put_samples(10000);
	finish(LAYOUT_END_SIZE);
	read_recording("x.data", &found);
	CHECK_INT(found.end.reason, LAYOUT_END_SIZE);
	CHECK(found.samples > 0);
	CHECK(found.ticks[LAYOUT_EVENTS_LOST_WRITE] > 0);
	CHECK_INT(stat("x.data", &st), 0);
	CHECK(st.st_size <= MAX_BYTES);
	let_go();
}
