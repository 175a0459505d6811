/* What the account of a session makes of what was counted. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "record/session_account.h"
#include "tests/unit/unit.h"

static struct translate translate;
static struct sources sources;
static const struct session_options session_options;
static struct recording recording;
static struct script_probes script_probes;
static struct left_out left_out;
static struct session_account account;
static struct session_drain drain;
static struct session_summary summary;

static void setup(void)
{
	translate_init(&translate, false);
	recording.translate = &translate;
	recording.sources = &sources;
	recording.options = &session_options;
	account.recording = &recording;
	account.drain = &drain;
	account.script_probes = &script_probes;
	account.left_out = &left_out;
	for (uint32_t i = 0; i < EVENT_SOURCES; i++)
		vec_push(&sources, (struct source){.row = event_sources[i],
					   .number = i,
					   .name = event_sources[i]->name,
					   .tallied = event_sources[i]->tallied});
}

static void teardown(void)
{
	session_account_deinit(&account);
	vec_deinit(&sources);
	vec_deinit(&recording.finished_names);
	vec_deinit(&script_probes.places);
	translate_deinit(&translate);
}

static const struct session_source *ticks(void)
{
	return session_summary_source(&summary, "timer");
}

static const struct session_source *hits(void)
{
	return session_summary_source(&summary, "probe");
}

static void put_cpu(enum event_source_number source, const struct source_cpu *cpu)
{
	vec_push(&account.counts.sources[source].cpus, *cpu);
}

/* ---- ticks and hits ---- */

TEST(what_counted_nothing_tells_of_nothing)
{
	setup();
	session_account_summarize(&account, NULL, &summary);
	CHECK_INT(ticks()->events + ticks()->skipped + hits()->events + summary.final.samples, 0);
	CHECK_INT(summary.lost_ring + summary.lost_unresolved + summary.lost_write, 0);
	CHECK_INT(summary.dsos + summary.complete + summary.kernel_only + summary.left, 0);
	CHECK(!summary.blame[0].path && !summary.unknown_runtimes[0].name);
	CHECK(!summary.script_probes.advice[0]);
	CHECK_INT(summary.files_kept, 1); /* the one that is being written */
	teardown();
}

TEST(ticks_are_summed_over_all_cpus)
{
	setup();
	struct source_cpu late = {.cpu = 0,
		.counted.of = {[EVENT_COUNTER_EVENTS].count = 90,
			[EVENT_COUNTER_IDLE].count = 30,
			[EVENT_COUNTER_FILTERED].count = 20,
			[EVENT_COUNTER_LOST_RING].count = 3},
		.skipped = 10};
	/* This one's clock was not read; it skipped nothing that is known of. */
	struct source_cpu unasked = {.cpu = 3,
		.counted.of = {[EVENT_COUNTER_EVENTS].count = 10,
			[EVENT_COUNTER_IDLE].count = 1,
			[EVENT_COUNTER_FILTERED].count = 2,
			[EVENT_COUNTER_LOST_RING].count = 4}};
	put_cpu(EVENT_SOURCE_TIMER, &late);
	put_cpu(EVENT_SOURCE_TIMER, &unasked);
	session_account_summarize(&account, NULL, &summary);
	CHECK_INT(ticks()->events, 100);
	CHECK_INT(ticks()->idle, 31);
	CHECK_INT(ticks()->filtered, 22);
	CHECK_INT(summary.lost_ring, 7);
	CHECK_INT(ticks()->skipped, 10);
	teardown();
}

/* hits = samples + filtered + lost, whatever became of the timer's. */
TEST(hits_stand_beside_ticks_and_add_up)
{
	setup();
	struct source_cpu of_ticks = {
		.counted.of = {
			[EVENT_COUNTER_EVENTS].count = 500, [EVENT_COUNTER_LOST_RING].count = 2}};
	struct source_cpu of_hits = {.counted.of = {[EVENT_COUNTER_EVENTS].count = 100,
					     [EVENT_COUNTER_FILTERED].count = 20,
					     [EVENT_COUNTER_LOST_RING].count = 5,
					     [EVENT_COUNTER_LOST_BUSY].count = 7}};
	put_cpu(EVENT_SOURCE_TIMER, &of_ticks);
	put_cpu(EVENT_SOURCE_PROBE, &of_hits);
	account.counts.sources[EVENT_SOURCE_PROBE].unresolved.count = 3;
	account.counts.sources[EVENT_SOURCE_PROBE].lost_write = 1;
	account.counts.sources[EVENT_SOURCE_TIMER].unresolved.count = 10;
	account.counts.sources[EVENT_SOURCE_TIMER].lost_write = 20;
	recording.earlier_samples[EVENT_SOURCE_PROBE] = 64;
	recording.earlier_samples[EVENT_SOURCE_TIMER] = 400;
	session_account_summarize(&account, NULL, &summary);
	CHECK_INT(hits()->events, 100);
	CHECK_INT(hits()->samples, 64);
	CHECK_INT(hits()->filtered, 20);
	CHECK_INT(hits()->lost, 16);
	CHECK_INT(hits()->lost_busy, 7);
	CHECK_INT(hits()->events, hits()->samples + hits()->filtered + hits()->lost);
	CHECK_INT(summary.final.samples, 464); /* of both */
	CHECK_INT(summary.lost_unresolved, 13);
	CHECK_INT(summary.lost_write, 21);
	CHECK_INT(summary.lost_ring, 7);
	teardown();
}

TEST(samples_that_were_not_written_are_lost)
{
	setup();
	struct source_cpu of_ticks = {.counted.of = {[EVENT_COUNTER_EVENTS].count = 50}};
	put_cpu(EVENT_SOURCE_TIMER, &of_ticks);
	account.counts.sources[EVENT_SOURCE_TIMER].samples.count = 50;
	recording.earlier_samples[EVENT_SOURCE_TIMER] = 38;
	session_account_finish(&account);
	session_account_summarize(&account, NULL, &summary);
	CHECK_INT(ticks()->samples, 38);
	CHECK_INT(ticks()->lost, 12);
	CHECK_INT(summary.lost_write, 12);
	CHECK_INT(hits()->lost, 0);
	teardown();
}

TEST(what_became_of_stacks_is_taken_over)
{
	setup();
	struct translate_stats *stats = &translate.stats;
	*stats = (struct translate_stats){
		.complete = 7, .by_guesses = 2, .kernel_only = 5, .left = 3};
	for (size_t i = 0; i < TRANSLATE_MAX_CAUSES; i++)
		stats->truncated[i] = 100 + i;
	account.counts.targets_full = 1;
	account.counts.files_full = 2;
	account.counts.sideband_lost = 4;
	account.counts.mappings_full = 5;
	translate.kernel.is_hidden = true;
	recording.nr_files = 9;
	vec_push(&recording.finished_names, NULL);
	session_account_summarize(&account, NULL, &summary);
	CHECK_INT(summary.complete, 7);
	CHECK_INT(summary.by_guesses, 2);
	CHECK_INT(summary.kernel_only, 5);
	CHECK_INT(summary.left, 3);
	CHECK_INT(summary.truncated[0], 100);
	CHECK_INT(summary.truncated[TRANSLATE_MAX_CAUSES - 1], 100 + TRANSLATE_MAX_CAUSES - 1);
	CHECK_INT(summary.targets_full, 1);
	CHECK_INT(summary.files_full, 2);
	CHECK_INT(summary.sideband_lost, 4);
	CHECK_INT(summary.mappings_full, 5);
	CHECK(summary.kernel_hidden);
	CHECK_INT(summary.files, 9);
	CHECK_INT(summary.files_kept, 2);
	teardown();
}

/* ---- files, and which of them cut stacks ---- */

static struct object *add_idle_file(const char *path, uint8_t build_id)
{
	return object_table_by_build_id(&translate.objects, path, &build_id, build_id ? 1 : 0);
}

/* Some sample was in it. */
static struct object *put_in_file(struct object *object)
{
	object_ids_put(&translate.emitter.objects, object, 1);
	return object;
}

static struct object *add_file(const char *path, uint8_t build_id)
{
	return put_in_file(add_idle_file(path, build_id));
}

static void blame(const struct object *object, enum layout_truncation why, uint64_t stacks)
{
	while (stacks--)
		blame_table_add(&translate.blames, object, why);
}

TEST(files_with_samples_count_by_what_is_known_of_them)
{
	setup();
	struct object *whole = add_file("/bin/whole", 1);
	whole->info.segments = mem_zalloc(sizeof(*whole->info.segments));
	whole->info.nr_segments = 1;
	add_file("/bin/gone", 2);
	add_file("/bin/anonymous", 0);
	add_file("/tmp/jit-123.dump", 0);    /* marks a JIT compiler, holds no code */
	add_file("/tmp/jit-123.dump.so", 3); /* no such mark */
	add_idle_file("/bin/idle", 4);       /* mapped, never sampled */
	put_in_file(object_table_special(
		&translate.objects, LAYOUT_OBJECT_KERNEL, "[kernel.kallsyms]"));
	session_account_summarize(&account, NULL, &summary);
	CHECK_INT(summary.dsos, 4);
	CHECK_INT(summary.dsos_with_build_id, 3);
	CHECK_INT(summary.dsos_readable, 1);
	teardown();
}

static void check_blame(size_t at, const char *path, enum layout_truncation truncation, int samples)
{
	const struct session_blame *blame = &summary.blame[at];
	CHECK_STR(blame->path, path);
	CHECK_INT(blame->truncation, truncation);
	CHECK_INT(blame->samples, samples);
}

TEST(the_worst_stand_first_and_equal_ones_as_they_came)
{
	setup();
	blame(add_file("/a", 1), LAYOUT_TRUNCATED_NO_RULE, 5);
	struct object *both = add_file("/b", 2);
	blame(both, LAYOUT_TRUNCATED_NO_RULE, 5);
	blame(both, LAYOUT_TRUNCATED_DEPTH, 9);
	add_file("/c", 3);
	session_account_summarize(&account, NULL, &summary);
	check_blame(0, "/b", LAYOUT_TRUNCATED_DEPTH, 9);
	check_blame(1, "/a", LAYOUT_TRUNCATED_NO_RULE, 5);
	check_blame(2, "/b", LAYOUT_TRUNCATED_NO_RULE, 5);
	CHECK(!summary.blame[3].path);
	teardown();
}

TEST(one_too_many_leaves_out_the_least)
{
	setup();
	static const uint64_t samples[] = {3, 1, 4, 2, 5};
	for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++) {
		char path[] = {'/', (char)('0' + samples[i]), '\0'};
		blame(add_file(path, (uint8_t)(1 + i)), LAYOUT_TRUNCATED_DEPTH, samples[i]);
	}
	session_account_summarize(&account, NULL, &summary);
	check_blame(0, "/5", LAYOUT_TRUNCATED_DEPTH, 5);
	check_blame(1, "/4", LAYOUT_TRUNCATED_DEPTH, 4);
	check_blame(2, "/3", LAYOUT_TRUNCATED_DEPTH, 3);
	check_blame(3, "/2", LAYOUT_TRUNCATED_DEPTH, 2);
	teardown();
}

TEST(code_of_no_file_is_blamed_once_for_all_processes)
{
	setup();
	for (int i = 0; i < 3; i++)
		blame(object_table_anonymous(&translate.objects), LAYOUT_TRUNCATED_NO_RULE, 4);
	blame(add_file("/a", 1), LAYOUT_TRUNCATED_NO_RULE, 11);
	session_account_summarize(&account, NULL, &summary);
	check_blame(0, "[JIT]", LAYOUT_TRUNCATED_NO_RULE, 12);
	check_blame(1, "/a", LAYOUT_TRUNCATED_NO_RULE, 11);
	CHECK(!summary.blame[2].path);
	teardown();
}

/* ---- probes of scripts' functions ---- */

TEST(what_script_probes_cost_is_told_only_when_there_are_some)
{
	setup();
	struct script_probe entry = {.path = "/php"}, leave = {.path = "/php", .event = 1};
	leave.shadow.flags = SHADOW_IS_RETURN;
	vec_push(&script_probes.places, entry);
	vec_push(&script_probes.places, leave);
	vec_push(&script_probes.places, entry);
	struct shadow_cost cost = {
		.clock = SHADOW_CLOCK_KERNEL, .program_ns = 1000, .around_ns = 2000};
	cost.counted.hits[1] = 10; /* [0] belongs to no source */
	cost.counted.hits[2] = 7;
	cost.counted.hits[3] = 5;
	cost.counted.filtered = 6;
	cost.counted.unmatched = 2;
	cost.counted.deep = 1;
	session_account_summarize(&account, NULL, &summary);
	CHECK_INT(summary.script_probes.entries, 0);
	summary = (struct session_summary){0};
	session_account_summarize(&account, &cost, &summary);
	const struct session_script_probes *told = &summary.script_probes;
	CHECK_INT(told->entries, 15);
	CHECK_INT(told->returns, 7);
	CHECK_INT(told->filtered, 6);
	CHECK_INT(told->unmatched, 2);
	CHECK_INT(told->deep, 1);
	CHECK_INT(told->program_ns, 1000);
	CHECK_INT(told->around_ns, 2000);
	CHECK(told->is_timed_by_kernel);
	CHECK(!told->advice[0]);
	teardown();
}

/* As many languages as are silent, and always an end. */
TEST(advice_ends_with_null_however_much_there_is)
{
	setup();
	script_probes.runtimes = UINT32_MAX;
	script_probes.misses_files = true;
	struct shadow_cost cost = {.clock = SHADOW_CLOCK_OWN};
	session_account_summarize(&account, &cost, &summary);
	size_t max = sizeof(summary.script_probes.advice) / sizeof(char *), count = 0;
	while (count < max && summary.script_probes.advice[count])
		count++;
	CHECK(count > 1 && count < max);
	CHECK(!summary.script_probes.is_timed_by_kernel);
	teardown();
}

/* ---- while it runs ---- */

enum {
	SECOND = 1000 * 1000 * 1000
};

TEST(time_counts_from_the_start_of_sampling_once_there_is_one)
{
	setup();
	account.begun_ns = 10ULL * SECOND;
	drain.drained_ns = 13ULL * SECOND;
	struct session_progress waits = session_account_progress(&account, false);
	CHECK_INT(waits.elapsed_s * 10, 30);
	account.started_ns = 12ULL * SECOND;
	struct session_progress samples = session_account_progress(&account, false);
	CHECK_INT(samples.elapsed_s * 10, 10);
	teardown();
}

TEST(progress_counts_what_came_and_all_that_was_lost)
{
	setup();
	struct source_cpu of_ticks = {
		.counted.of = {
			[EVENT_COUNTER_LOST_RING].count = 1, [EVENT_COUNTER_IDLE].count = 1000}};
	struct source_cpu of_hits = {
		.counted.of = {
			[EVENT_COUNTER_LOST_RING].count = 2, [EVENT_COUNTER_LOST_BUSY].count = 4}};
	put_cpu(EVENT_SOURCE_TIMER, &of_ticks);
	put_cpu(EVENT_SOURCE_PROBE, &of_hits);
	account.counts.sources[EVENT_SOURCE_TIMER].unresolved.count = 8;
	account.counts.sources[EVENT_SOURCE_TIMER].lost_write = 16;
	account.counts.sources[EVENT_SOURCE_PROBE].unresolved.count = 32;
	account.counts.sources[EVENT_SOURCE_PROBE].lost_write = 64;
	translate.stats.taken[EVENT_SOURCE_TIMER].received.count = 50;
	translate.stats.taken[EVENT_SOURCE_TIMER].unresolved.count = 8;
	recording.earlier_bytes = 777;
	struct session_progress progress = session_account_progress(&account, false);
	CHECK_INT(progress.lost, 127);
	CHECK_INT(progress.samples, 42);
	CHECK_INT(progress.bytes, 777);
	CHECK_INT(progress.threads, 0);
	teardown();
}

static struct err *drop(void *context, const void *bytes, size_t len)
{
	(void)context, (void)bytes, (void)len;
	return NULL;
}

TEST(what_waits_to_be_written_counts_as_it_will_be_compressed)
{
	setup();
	struct writer *writer = writer_create((struct writer_sink){drop, NULL});
	recording.writer = writer;
	char text[4000];
	memset(text, 'x', sizeof(text));
	writer_string(writer, text, sizeof(text));
	uint64_t over = session_account_progress(&account, false).bytes;
	uint64_t runs = session_account_progress(&account, true).bytes;
	CHECK_INT(runs - over, writer_bytes_pending(writer) / 4);
	CHECK(runs > over);
	writer_destroy(writer);
	teardown();
}

/* Too short a time says nothing; then it is what we took since everything runs, not before. */
TEST(overhead_is_ours_since_everything_runs)
{
	setup();
	account.running_ns = SECOND;
	drain.drained_ns = SECOND + SECOND / 2 - 1;
	CHECK(session_account_progress(&account, false).overhead_percent == 0);
	drain.drained_ns = 3ULL * SECOND;
	account.running_cpu_s = session_account_cpu_s(RUSAGE_SELF) - 1;
	/* At least the one second of these two, and what this test took since. */
	double percent = session_account_progress(&account, false).overhead_percent;
	CHECK(percent >= 49.9);
	teardown();
}
