/* Waits of commands that ran twice: by what they are compared, whose they are, who says the same.
 */
#include "report/compare/waiting.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/merge/merge.h"
#include "report/compare/diff_lists.h"
#include "report/model/text/byte_sink.h"
#include "report/write/diff/diff_words.h"
#include "report/write/diff/diff_writer.h"
#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

enum {
	MS = 1000000,
};

struct kind {
	const char *event, *unit, *source; /* source: NULL: a timer's */
	const char *target;
};

static const struct kind waits = {"offcpu", "ns", "wait", LAYOUT_TARGET_COMMAND};

/*
 * A thread whose main() calls steady() and changing(), both of which sleep by rest(); and, apart
 * from them, as many waits of `other` as rest() has of changing().
 */
static int record_run(const struct kind *kind, uint64_t changing_ns)
{
	struct fixture fixture;
	fixture_init(&fixture);
	writer_meta(fixture.writer, LAYOUT_META_TARGET, kind->target);
	struct layout_event event = {
		.name = fixture_string(&fixture, kind->event),
		.unit = fixture_string(&fixture, kind->unit),
		.source = kind->source ? fixture_string(&fixture, kind->source) : 0,
	};
	uint32_t number = writer_event(fixture.writer, &event);
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "x");
	uint32_t app = fixture_object(&fixture, LAYOUT_OBJECT_SCRIPT, "[python]");
	uint32_t library = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "/usr/lib/libc.so.6");
	uint32_t reasons = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[wait]");
	uint32_t main =
		fixture_line(&fixture, app, LAYOUT_SCRIPT_FIRST + 0, "main", "/x/app.py", 1);
	uint32_t steady =
		fixture_line(&fixture, app, LAYOUT_SCRIPT_FIRST + 256, "steady", "/x/app.py", 2);
	uint32_t changing =
		fixture_line(&fixture, app, LAYOUT_SCRIPT_FIRST + 512, "changing", "/x/app.py", 3);
	uint32_t rest =
		fixture_line(&fixture, app, LAYOUT_SCRIPT_FIRST + 768, "rest", "/x/app.py", 4);
	uint32_t other =
		fixture_line(&fixture, app, LAYOUT_SCRIPT_FIRST + 1024, "other", "/x/app.py", 5);
	uint32_t sleeps = fixture_frame(&fixture, library, 0x100, "nanosleep");
	uint32_t asleep = fixture_frame(&fixture, reasons, 0x10, "[wait: sleep]");
	uint32_t locked = fixture_frame(&fixture, reasons, 0x20, "[wait: futex]");
	const struct {
		uint32_t stack;
		uint64_t ns;
	} kinds[] = {
		{FIXTURE_STACK(&fixture, main, steady, rest, sleeps, asleep), 10 * MS},
		{FIXTURE_STACK(&fixture, main, changing, rest, sleeps, asleep), changing_ns},
		{FIXTURE_STACK(&fixture, main, other, locked), 10 * MS},
	};
	for (int i = 0; i < 300; i++) {
		struct layout_sample sample = {
			.time_ns = fixture.time_ns += 50 * MS,
			.event = number,
			.thread = thread,
			.user_stack = kinds[i % 3].stack,
			.weight = kinds[i % 3].ns + (uint64_t)(i % 7) * 1000,
		};
		writer_sample(fixture.writer, &sample);
	}
	return fixture_finish(&fixture);
}

static struct err *file_write(void *context, const void *bytes, size_t len)
{
	CHECK_INT(write(*(int *)context, bytes, len), len);
	return NULL;
}

static struct profile *record_side(const struct kind *kind, int nr_runs, uint64_t changing_ns)
{
	struct merge_input inputs[3] = {{.name = "a"}, {.name = "b"}, {.name = "c"}};
	struct merge_result result;
	if (nr_runs == 1) {
		int only = record_run(kind, changing_ns);
		struct profile *profile = fixture_load(only);
		close(only);
		return profile;
	}
	for (int i = 0; i < nr_runs; i++)
		inputs[i].fd = record_run(kind, changing_ns + (uint64_t)i * 10000);
	int fd = memfd_create("merged", MFD_CLOEXEC);
	CHECK_OK(merge_write(
		&(struct merge_options){
			.inputs = inputs, .nr_inputs = (size_t)nr_runs, .takes_twice = true},
		(struct writer_sink){.write = file_write, .context = &fd}, &result));
	merge_result_deinit(&result);
	struct profile *profile = fixture_load(fd);
	for (int i = 0; i < nr_runs; i++)
		close(inputs[i].fd);
	close(fd);
	return profile;
}

struct compared {
	struct profile *base, *new;
	struct difference *diff;
};

static void compare(struct compared *ret, const struct kind *kind, int nr_runs, uint64_t base_ns,
	uint64_t new_ns, const struct diff_options *options)
{
	*ret = (struct compared){.base = record_side(kind, nr_runs, base_ns),
		.new = record_side(kind, nr_runs, new_ns)};
	CHECK_OK(difference_create(ret->base, ret->new, options, &ret->diff));
}

static void compared_deinit(struct compared *compared)
{
	difference_destroy(compared->diff);
	profile_destroy(compared->base);
	profile_destroy(compared->new);
}

static const struct diff_row *row_of(const struct compared *compared, const char *name)
{
	vec_each(&compared->diff->rows, row)
		if (strcmp(row->name, name) == 0)
			return row;
	unit_fail(__FILE__, __LINE__, "no row %s", name);
	return &compared->diff->rows.data[0];
}

TEST(amounts_are_compared_where_that_can_be_and_is_needed)
{
	static const struct {
		struct kind kind;
		int nr_runs;
		bool is_forced, has_changed;
		const char *metric;
	} cases[] = {
		{{"offcpu", "ns", "wait", LAYOUT_TARGET_COMMAND}, 3, false, false, "amount"},
		{{"offcpu", "ns", "wait", LAYOUT_TARGET_COMMAND}, 3, true, true, "share"},
		{{"offcpu", "ns", "wait", LAYOUT_TARGET_COMMAND}, 1, false, true, "share"},
		{{"offcpu", "ns", "wait", "process"}, 3, false, true, "share"},
		{{"cpu-clock", "ns", NULL, LAYOUT_TARGET_COMMAND}, 3, false, false, "share"},
		{{"cpu-clock", "ns", NULL, LAYOUT_TARGET_COMMAND}, 3, false, true, "cpu-s"},
		{{"cpu-clock", "ns", NULL, LAYOUT_TARGET_COMMAND}, 1, false, true, "share"},
		{{"cycles", "cycles", NULL, LAYOUT_TARGET_COMMAND}, 3, false, false, "share"},
		{{"cycles", "cycles", NULL, LAYOUT_TARGET_COMMAND}, 3, false, true, "amount"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct diff_options options = DIFF_OPTIONS_DEFAULT;
		struct compared compared;
		options.is_forced = cases[i].is_forced;
		compare(&compared, &cases[i].kind, cases[i].nr_runs, 10 * MS,
			(cases[i].has_changed ? 60 : 10) * MS, &options);
		CHECK_STR(diff_metric_name(compared.diff), cases[i].metric);
		compared_deinit(&compared);
	}
}

/* By shares, other() and steady() would take less than before. */
TEST(what_stays_as_it_was_does_not_seem_to_take_less)
{
	struct diff_options options = DIFF_OPTIONS_DEFAULT;
	struct compared compared;
	compare(&compared, &waits, 3, 10 * MS, 30 * MS, &options);
	CHECK_INT(row_of(&compared, "[wait: futex]")->self.verdict, DIFF_SAME);
	CHECK_INT(row_of(&compared, "steady")->total.verdict, DIFF_SAME);
	CHECK_INT(row_of(&compared, "changing")->total.verdict, DIFF_REGRESSION);
	compared_deinit(&compared);
}

TEST(the_function_that_waits_longer_is_named)
{
	CLEANUP(str_deinit) struct str text = {0};
	struct diff_options options = DIFF_OPTIONS_DEFAULT;
	struct compared compared;
	compare(&compared, &waits, 3, 10 * MS, 15 * MS, &options);
	vec_each(&compared.diff->rows, row)
		CHECK_INT(row->waits_longer, strcmp(row->name, "changing") == 0);
	diff_put_verdict(&text, compared.diff);
	CHECK(strstr(str_text(&text), "[wait: sleep] takes 25.0% longer"));
	CHECK(strstr(str_text(&text), "; with what it calls, changing takes 49.9% longer"));
	compared_deinit(&compared);
}

/* rest() stands for nanosleep(), the innermost of the user's own; changing() has other stacks, and
 * other() as many samples as changing(). */
TEST(of_callers_with_the_same_samples_the_users_own_is_shown)
{
	struct diff_options options = DIFF_OPTIONS_DEFAULT;
	struct compared compared;
	compare(&compared, &waits, 3, 10 * MS, 15 * MS, &options);
	CHECK(!row_of(&compared, "rest")->repeats);
	CHECK(!row_of(&compared, "changing")->repeats);
	CHECK(!row_of(&compared, "main")->repeats);
	CHECK(row_of(&compared, "nanosleep")->repeats);
	CHECK_INT(diff_count_repeats(compared.diff), 1);
	CHECK(diff_is_in_list(compared.diff, row_of(&compared, "rest"), DIFF_LIST_CALLERS));
	CHECK(!diff_is_in_list(compared.diff, row_of(&compared, "nanosleep"), DIFF_LIST_CALLERS));
	compared_deinit(&compared);
}

TEST(of_waits_more_runs_tell_more)
{
	CLEANUP(str_deinit) struct str text = {0};
	struct diff_options options = DIFF_OPTIONS_DEFAULT;
	struct compared compared;
	compare(&compared, &waits, 1, 10 * MS, 11 * MS, &options);
	diff_put_verdict(&text, compared.diff);
	CHECK(strstr(str_text(&text), "there are too few runs") &&
		strstr(str_text(&text), " Record 3 runs a side or more: one tells nothing of "));
	compared_deinit(&compared);
}

TEST(callers_of_stacks_stand_below_in_lines)
{
	CLEANUP(str_deinit) struct str text = {0};
	struct diff_options options = DIFF_OPTIONS_DEFAULT;
	struct compared compared;
	options.by = DIFF_BY_STACK;
	compare(&compared, &waits, 3, 10 * MS, 15 * MS, &options);
	vec_each(&compared.diff->rows, row)
		if (diff_is_in_list(compared.diff, row, DIFF_LIST_CALLERS))
			CHECK_STR(row->path.data[row->path.len - 1], "main"); /* of all three */
	CHECK_OK(diff_writers[DIFF_TEXT].write(compared.diff,
		&(struct diff_writer_options){.width = 80, .base_name = "a", .new_name = "b"},
		byte_sink_to_text(&text)));
	CHECK(strstr(str_text(&text), "  [wait: sleep]  [wait]\n"
				      "        < nanosleep < rest < changing < main\n"));
	compared_deinit(&compared);
}
