#include "report/compare/difference.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "format/base/err.h"
#include "report/compare/replacement.h"
#include "report/model/text/byte_sink.h"
#include "report/write/diff/diff_programs.h"
#include "report/write/diff/diff_words.h"
#include "report/write/diff/diff_writer.h"
#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

/* ---- two recordings ---- */

struct side {
	struct fixture fixture;
	uint32_t thread, object;
};

static void side_begin(struct side *side, const char *cpu_model)
{
	fixture_init(&side->fixture);
	if (cpu_model)
		writer_meta(side->fixture.writer, LAYOUT_META_CPU_MODEL, cpu_model);
	side->thread =
		fixture_thread(&side->fixture, fixture_process(&side->fixture, 1, 0), 1, "x");
	side->object = fixture_object(&side->fixture, LAYOUT_OBJECT_VDSO, "/bin/x");
}

/* main calls work, rest and as often more; and in one of them, something else. */
static struct profile *make_side(
	const char *cpu_model, unsigned work, unsigned rest, const char *other)
{
	struct side side;
	side_begin(&side, cpu_model);
	struct fixture *fixture = &side.fixture;
	uint32_t main = fixture_frame(fixture, side.object, 0x10, "main");
	uint32_t of_work = fixture_frame(fixture, side.object, 0x20, "work");
	uint32_t of_rest = fixture_frame(fixture, side.object, 0x30, "rest");
	fixture_samples(fixture, side.thread, FIXTURE_STACK(fixture, main, of_work), 0, work);
	uint32_t of_more = fixture_frame(fixture, side.object, 0x50, "more");
	fixture_samples(fixture, side.thread, FIXTURE_STACK(fixture, main, of_rest), 0, rest);
	fixture_samples(fixture, side.thread, FIXTURE_STACK(fixture, main, of_more), 0, rest);
	if (other) {
		uint32_t library = fixture_object(fixture, LAYOUT_OBJECT_VDSO, "/lib/other.so");
		uint32_t of_other = fixture_frame(fixture, library, 0x40, other);
		fixture_samples(
			fixture, side.thread, FIXTURE_STACK(fixture, main, of_other), 0, 100);
	}
	return fixture_profile(fixture);
}

/* Waits of two functions, as many of each, of so many ns. */
static struct profile *make_waits(uint64_t work_ns, uint64_t rest_ns)
{
	enum {
		WAITS = 400
	};
	struct side side;
	side_begin(&side, NULL);
	struct fixture *fixture = &side.fixture;
	struct layout_event event = {
		.name = fixture_string(fixture, "offcpu"),
		.unit = fixture_string(fixture, "ns"),
		.source = fixture_string(fixture, "wait"),
	};
	uint32_t number = writer_event(fixture->writer, &event);
	const uint64_t ns[] = {work_ns, rest_ns};
	const char *names[] = {"work", "rest"};
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t frame = fixture_frame(fixture, side.object, 0x20 + i, names[i]);
		uint32_t stack = FIXTURE_STACK(fixture, frame);
		for (int k = 0; k < WAITS; k++) {
			struct layout_sample sample = {
				.time_ns = fixture->time_ns += 1000000,
				.event = number,
				.thread = side.thread,
				.user_stack = stack,
				.weight = ns[i],
			};
			writer_sample(fixture->writer, &sample);
		}
	}
	return fixture_profile(fixture);
}

struct pair {
	struct profile *base, *new;
	struct diff_options options;
	struct difference *diff;
};

static void pair_init(struct pair *pair, struct profile *base, struct profile *new)
{
	*pair = (struct pair){.base = base, .new = new, .options = DIFF_OPTIONS_DEFAULT};
}

static void pair_deinit(struct pair *pair)
{
	difference_destroy(pair->diff);
	profile_destroy(pair->base);
	profile_destroy(pair->new);
}

static struct err *pair_compare(struct pair *pair)
{
	return difference_create(pair->base, pair->new, &pair->options, &pair->diff);
}

static const struct diff_row *find(const struct pair *pair, const char *name)
{
	vec_each(&pair->diff->rows, row)
		if (strcmp(row->name, name) == 0)
			return row;
	unit_fail(__FILE__, __LINE__, "no row %s", name);
	return NULL;
}

/* "self/total self/total" of base and new. */
static void check_counts(int line, const struct pair *pair, const char *name, const char *want)
{
	const struct diff_row *row = find(pair, name);
	CLEANUP(str_deinit) struct str text = {0};
	for (int side = 0; row && side < MATCH_SIDES; side++)
		str_printf(&text, "%s%llu/%llu", side ? " " : "",
			(unsigned long long)row->self.sides[side].samples,
			(unsigned long long)row->total.sides[side].samples);
	if (strcmp(str_text(&text), want) != 0)
		unit_fail(__FILE__, line, "%s: %s, not %s", name, str_text(&text), want);
}

#define CHECK_COUNTS(pair, name, want) check_counts(__LINE__, (pair), (name), (want))

/* ---- counts ---- */

TEST(difference_by_function)
{
	struct pair pair;
	pair_init(&pair, make_side(NULL, 1000, 1500, NULL), make_side(NULL, 2000, 1500, "late"));
	CHECK_OK(pair_compare(&pair));
	CHECK_INT(pair.diff->nr_entities, 5);
	CHECK_COUNTS(&pair, "main", "0/4000 0/5100");
	CHECK_COUNTS(&pair, "work", "1000/1000 2000/2000");
	CHECK_COUNTS(&pair, "late", "0/0 100/100");
	CHECK_STR(pair.diff->rows.data[0].name, "work");
	const struct diff_row *work = find(&pair, "work"), *late = find(&pair, "late");
	CHECK(fabs(work->self.effect - 1) < 1e-9);
	CHECK_INT(work->self.verdict, DIFF_REGRESSION);
	CHECK_STR(work->object, "x");
	CHECK(isinf(late->self.effect));
	CHECK_INT(late->self.verdict, DIFF_REGRESSION);
	CHECK_STR(late->object, "other.so");
	CHECK_INT(find(&pair, "rest")->self.verdict, DIFF_INCONCLUSIVE);
	CHECK_INT(pair.diff->verdict, DIFF_REGRESSION);
	CHECK(!pair.diff->knows_dispersion && pair.diff->program_reason);
	pair_deinit(&pair);
}

TEST(difference_by_file_and_stack)
{
	struct pair pair;
	pair_init(&pair, make_side(NULL, 1000, 1500, NULL), make_side(NULL, 1000, 1500, "late"));
	pair.options.by = DIFF_BY_FILE;
	CHECK_OK(pair_compare(&pair));
	CHECK_INT(pair.diff->nr_entities, 2);
	CHECK_COUNTS(&pair, "x", "4000/4000 4000/4100");
	CHECK_COUNTS(&pair, "other.so", "0/0 100/100");
	difference_destroy(pair.diff);
	pair.diff = NULL;
	pair.options.by = DIFF_BY_STACK;
	CHECK_OK(pair_compare(&pair));
	CHECK_COUNTS(&pair, "main", "0/4000 0/4100");
	CHECK_COUNTS(&pair, "late", "0/0 100/100");
	const struct diff_row *late = find(&pair, "late");
	CHECK_INT(late->path.len, 2);
	CHECK_STR(late->path.data[0], "main");
	CHECK_STR(late->path.data[1], "late");
	pair_deinit(&pair);
}

static struct profile *make_lines(unsigned first, unsigned second)
{
	struct side side;
	side_begin(&side, NULL);
	struct fixture *fixture = &side.fixture;
	uint32_t script = fixture_object(fixture, LAYOUT_OBJECT_SCRIPT, "python");
	uint32_t a = fixture_line(fixture, script, LAYOUT_SCRIPT_FIRST, "f", "/x/f.py", 10);
	uint32_t b = fixture_line(fixture, script, LAYOUT_SCRIPT_FIRST + 1, "f", "/x/f.py", 11);
	fixture_samples(fixture, side.thread, FIXTURE_STACK(fixture, a), 0, first);
	fixture_samples(fixture, side.thread, FIXTURE_STACK(fixture, b), 0, second);
	return fixture_profile(fixture);
}

TEST(difference_by_line)
{
	struct pair pair;
	pair_init(&pair, make_lines(5000, 1000), make_lines(5000, 2000));
	pair.options.by = DIFF_BY_LINE;
	CHECK_OK(pair_compare(&pair));
	CHECK_INT(pair.diff->rows.len, 2);
	const struct diff_row *first = &pair.diff->rows.data[0];
	CHECK_STR(first->name, "f");
	CHECK_STR(first->file, "/x/f.py");
	CHECK_INT(pair.diff->nr_entities, 2);
	pair_deinit(&pair);
}

/* Samples of a function's lines, in this file. */
static struct profile *make_edited(
	const char *path, const unsigned (*lines)[2], size_t nr_lines, unsigned rest)
{
	struct side side;
	side_begin(&side, NULL);
	struct fixture *fixture = &side.fixture;
	uint32_t script = fixture_object(fixture, LAYOUT_OBJECT_SCRIPT, "python");
	for (uint32_t i = 0; i < nr_lines; i++) {
		uint32_t frame = fixture_line(
			fixture, script, LAYOUT_SCRIPT_FIRST + i, "f", path, lines[i][0]);
		fixture_samples(
			fixture, side.thread, FIXTURE_STACK(fixture, frame), 0, lines[i][1]);
	}
	uint32_t other = fixture_line(fixture, script, LAYOUT_SCRIPT_FIRST + 9, "g", path, 90);
	fixture_samples(fixture, side.thread, FIXTURE_STACK(fixture, other), 0, rest);
	return fixture_profile(fixture);
}

/* A line above the function comes or goes, in another checkout. */
TEST(lines_that_all_moved_are_the_same)
{
	static const unsigned lines[][3][2] = {
		{{10, 5000}, {11, 200}, {13, 1000}}, {{11, 5000}, {12, 200}, {14, 1000}}};
	for (int side = 0; side < 2; side++) {
		struct pair pair;
		pair_init(&pair, make_edited("/old/f.py", lines[side], 3, 9000),
			make_edited("/new/f.py", lines[!side], 3, 9000));
		pair.options.by = DIFF_BY_LINE;
		CHECK_OK(pair_compare(&pair));
		CHECK_INT(pair.diff->nr_entities, 4);
		vec_each(&pair.diff->rows, row) {
			CHECK_INT(row->self.sides[0].samples, row->self.sides[1].samples);
			CHECK(!row->is_edited);
		}
		pair_deinit(&pair);
	}
}

/* Line 13 is now another one's number: no more can be told than of the function. */
TEST(lines_that_moved_apart_are_one)
{
	static const unsigned before[][2] = {{10, 5000}, {12, 30}, {13, 4000}};
	static const unsigned after[][2] = {{10, 5000}, {13, 30}, {14, 4000}};
	struct pair pair;
	pair_init(
		&pair, make_edited("/f.py", before, 3, 9000), make_edited("/f.py", after, 3, 9000));
	pair.options.by = DIFF_BY_LINE;
	CHECK_OK(pair_compare(&pair));
	CHECK_INT(pair.diff->nr_entities, 2);
	const struct diff_row *row = find(&pair, "f");
	CHECK(row && row->is_edited);
	CHECK_COUNTS(&pair, "f", "9030/9030 9030/9030");
	CLEANUP(str_deinit) struct str name = {0};
	diff_put_name(&name, pair.diff, row);
	CHECK_STR(str_text(&name), "f f.py (lines moved)");
	pair_deinit(&pair);
}

/* One more line is slow now, and none moved. */
TEST(a_line_that_is_new_is_a_row)
{
	static const unsigned before[][2] = {{10, 5000}};
	static const unsigned after[][2] = {{10, 5000}, {11, 4000}};
	struct pair pair;
	pair_init(
		&pair, make_edited("/f.py", before, 1, 9000), make_edited("/f.py", after, 2, 9000));
	pair.options.by = DIFF_BY_LINE;
	CHECK_OK(pair_compare(&pair));
	CHECK_INT(pair.diff->nr_entities, 3);
	CHECK_INT(pair.diff->rows.data[0].line, 11);
	CHECK_INT(pair.diff->rows.data[0].self.verdict, DIFF_REGRESSION);
	pair_deinit(&pair);
}

static struct profile *make_namesakes(const char *folder, unsigned first, unsigned second)
{
	struct side side;
	side_begin(&side, NULL);
	struct fixture *fixture = &side.fixture;
	uint32_t script = fixture_object(fixture, LAYOUT_OBJECT_SCRIPT, "python");
	const char *names[] = {"a.py", "b.py"};
	const unsigned counts[] = {first, second};
	for (uint32_t i = 0; i < 2; i++) {
		CLEANUP(str_deinit) struct str path = {0};
		str_printf(&path, "%s/%s", folder, names[i]);
		uint32_t frame = fixture_line(fixture, script, LAYOUT_SCRIPT_FIRST + 0x100 * i,
			"run", str_text(&path), 10 + i);
		fixture_samples(fixture, side.thread, FIXTURE_STACK(fixture, frame), 0, counts[i]);
	}
	return fixture_profile(fixture);
}

TEST(functions_of_one_name_are_known_by_their_files)
{
	struct pair pair;
	pair_init(&pair, make_namesakes("/old", 5000, 1000), make_namesakes("/new", 5000, 2000));
	CHECK_OK(pair_compare(&pair));
	CHECK_INT(pair.diff->nr_entities, 2);
	vec_each(&pair.diff->rows, row) {
		bool is_first = strcmp(row->file, "/new/a.py") == 0;
		CHECK_STR(row->name, "run");
		CHECK(is_first || strcmp(row->file, "/new/b.py") == 0);
		CHECK_INT(row->self.sides[MATCH_BASE].samples, is_first ? 5000 : 1000);
		CHECK_INT(row->self.sides[MATCH_NEW].samples, is_first ? 5000 : 2000);
	}
	pair_deinit(&pair);
	/* It moved into another file, and no other one has its name. */
	pair_init(&pair, make_namesakes("/old", 0, 1000), make_namesakes("/new", 2000, 0));
	CHECK_OK(pair_compare(&pair));
	CHECK_COUNTS(&pair, "run", "1000/1000 2000/2000");
	pair_deinit(&pair);
}

TEST(what_was_chosen_is_not_the_whole_program)
{
	struct pair pair;
	CLEANUP(str_deinit) struct str text = {0};
	pair_init(&pair, make_side(NULL, 1000, 1500, NULL), make_side(NULL, 2000, 1500, NULL));
	pair.options.is_part = true;
	CHECK_OK(pair_compare(&pair));
	diff_put_program(&text, pair.diff);
	CHECK(strncmp(str_text(&text), "What was chosen: ", 17) == 0);
	pair_deinit(&pair);
}

/* Most of a program is split in two, and next to nothing is left beside what stays. */
static struct profile *make_split(unsigned whole, unsigned part, unsigned stays, unsigned noise)
{
	struct side side;
	side_begin(&side, NULL);
	struct fixture *fixture = &side.fixture;
	const struct {
		const char *name;
		unsigned count;
	} functions[] = {{"whole", whole}, {"part", part}, {"other_part", part}, {"stays", stays},
		{"noise", noise}};
	for (uint32_t i = 0; i < 5; i++) {
		uint32_t frame = fixture_frame(fixture, side.object, 0x10 + i, functions[i].name);
		fixture_samples(
			fixture, side.thread, FIXTURE_STACK(fixture, frame), 0, functions[i].count);
	}
	return fixture_profile(fixture);
}

TEST(what_stays_is_not_compared_with_noise)
{
	struct pair pair;
	pair_init(&pair, make_split(6000, 0, 4000, 30), make_split(0, 3000, 4000, 60));
	CHECK_OK(pair_compare(&pair));
	const struct diff_row *stays = find(&pair, "stays");
	CHECK(fabs(stays->self.effect) < 0.02);
	CHECK(stays->self.verdict != DIFF_IMPROVEMENT && stays->self.p > 0.1);
	pair_deinit(&pair);
	/* Its share is another one, as the others' is: which changed cannot be told. */
	pair_init(&pair, make_split(6000, 0, 4000, 30), make_split(0, 9000, 4000, 60));
	CHECK_OK(pair_compare(&pair));
	CHECK_INT(find(&pair, "stays")->self.verdict, DIFF_INCONCLUSIVE);
	pair_deinit(&pair);
}

TEST(what_was_split_is_no_regression)
{
	struct pair pair;
	CLEANUP(str_deinit) struct str text = {0};
	pair_init(&pair, make_split(40000, 0, 60000, 30), make_split(0, 20000, 60000, 30));
	CHECK_OK(pair_compare(&pair));
	CHECK_INT(pair.diff->replacements.len, 1);
	CHECK_INT(pair.diff->replacements.data[0].judgement.verdict, DIFF_SAME);
	CHECK_INT(pair.diff->replacements.data[0].nr_withheld, 3);
	CHECK_INT(find(&pair, "part")->self.verdict, DIFF_INCONCLUSIVE);
	CHECK_INT(find(&pair, "whole")->self.verdict, DIFF_INCONCLUSIVE);
	CHECK_INT(pair.diff->verdict, DIFF_SAME);
	diff_put_caveats(&text, pair.diff);
	CHECK(strstr(str_text(&text), "What only new has of x (2 functions) may be what only base "
				      "has (1 function), split "
				      "or rewritten: together 39.99% -> 39.99%, +0.0%"));
	pair_deinit(&pair);
	/* Its parts take longer than it did. */
	pair_init(&pair, make_split(40000, 0, 60000, 30), make_split(0, 30000, 60000, 30));
	CHECK_OK(pair_compare(&pair));
	CHECK_INT(find(&pair, "part")->self.verdict, DIFF_REGRESSION);
	CHECK_INT(find(&pair, "whole")->self.verdict, DIFF_INCONCLUSIVE);
	CHECK_INT(pair.diff->verdict, DIFF_REGRESSION);
	pair_deinit(&pair);
	/* Nothing is gone that it could have been. */
	pair_init(&pair, make_split(0, 0, 60000, 3000), make_split(0, 20000, 60000, 3000));
	CHECK_OK(pair_compare(&pair));
	CHECK_INT(pair.diff->replacements.len, 0);
	CHECK_INT(find(&pair, "part")->self.verdict, DIFF_REGRESSION);
	pair_deinit(&pair);
}

static struct profile *make_with_kernel(unsigned nr_kernel, const char *kernel)
{
	struct side side;
	side_begin(&side, NULL);
	struct fixture *fixture = &side.fixture;
	uint32_t object = fixture_object(fixture, LAYOUT_OBJECT_KERNEL, kernel);
	uint32_t work = fixture_frame(fixture, side.object, 0x10, "work");
	uint32_t softirq = fixture_frame(fixture, object, 0x20, "handle_softirqs");
	fixture_samples(fixture, side.thread, FIXTURE_STACK(fixture, work), 0, 9000);
	fixture_samples(fixture, side.thread, FIXTURE_STACK(fixture, work),
		FIXTURE_STACK(fixture, softirq), nr_kernel);
	return fixture_profile(fixture);
}

/* Other programs' interrupts are in it, which no one run tells from a change. */
TEST(the_kernels_functions_are_not_judged_by_one_run)
{
	struct pair pair;
	CLEANUP(str_deinit) struct str text = {0};
	pair_init(&pair, make_with_kernel(20, "[kernel.kallsyms]"),
		make_with_kernel(110, "[kernel.kallsyms]"));
	CHECK_OK(pair_compare(&pair));
	CHECK(find(&pair, "handle_softirqs")->is_kernel);
	CHECK_INT(find(&pair, "handle_softirqs")->self.verdict, DIFF_INCONCLUSIVE);
	CHECK(pair.diff->verdict != DIFF_REGRESSION);
	diff_put_caveats(&text, pair.diff);
	CHECK(strstr(str_text(&text), "Of the kernel's functions, "));
	pair_deinit(&pair);
}

static void write_report(const struct pair *pair, enum diff_format format, struct str *out);

/* One function on one side, many small ones on the other, beside what stays. */
static struct profile *make_shattered(unsigned whole, unsigned nr_parts, unsigned part)
{
	struct side side;
	side_begin(&side, NULL);
	struct fixture *fixture = &side.fixture;
	uint32_t stays = fixture_frame(fixture, side.object, 0x10, "stays");
	fixture_samples(fixture, side.thread, FIXTURE_STACK(fixture, stays), 0, 2000);
	if (whole) {
		uint32_t frame = fixture_frame(fixture, side.object, 0x20, "whole");
		fixture_samples(fixture, side.thread, FIXTURE_STACK(fixture, frame), 0, whole);
	}
	for (uint32_t i = 0; i < nr_parts; i++) {
		char name[32];
		snprintf(name, sizeof(name), "part%u", i);
		uint32_t frame = fixture_frame(fixture, side.object, 0x30 + i, name);
		fixture_samples(fixture, side.thread, FIXTURE_STACK(fixture, frame), 0, part);
	}
	return fixture_profile(fixture);
}

TEST(parts_that_together_take_longer_are_a_regression)
{
	struct pair pair;
	CLEANUP(str_deinit) struct str text = {0};
	pair_init(&pair, make_shattered(400, 0, 0), make_shattered(0, 60, 14));
	CHECK_OK(pair_compare(&pair));
	CHECK_INT(find(&pair, "part7")->self.verdict, DIFF_INCONCLUSIVE);
	CHECK_INT(find(&pair, "whole")->self.verdict, DIFF_INCONCLUSIVE);
	CHECK_INT(pair.diff->verdict, DIFF_REGRESSION);
	diff_put_verdict(&text, pair.diff);
	CHECK(strstr(str_text(&text), "REGRESSION: what only new has of x (60 functions) takes "));
	static const enum diff_format formats[] = {
		DIFF_GITHUB, DIFF_JUNIT, DIFF_MARKDOWN, DIFF_JSON};
	static const char *const wanted[] = {
		"::error title=ebprof%3A rewritten code::what only new",
		"name=\"rewritten code\">\n<failure",
		"**REGRESSION**: what only new has of `x` (60", "\"regression\":true"};
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		str_truncate(&text, 0);
		write_report(&pair, formats[i], &text);
		if (!strstr(str_text(&text), wanted[i]))
			unit_fail(__FILE__, __LINE__, "no \"%s\": %s", wanted[i], str_text(&text));
	}
	pair_deinit(&pair);
}

static struct profile *make_of(const char *command)
{
	struct side side;
	side_begin(&side, NULL);
	struct fixture *fixture = &side.fixture;
	writer_meta(fixture->writer, LAYOUT_META_COMMAND, command);
	uint32_t frame = fixture_frame(fixture, side.object, 0x10, "main");
	fixture_samples(fixture, side.thread, FIXTURE_STACK(fixture, frame), 0, 100);
	return fixture_profile(fixture);
}

TEST(runs_of_several_programs_are_said)
{
	struct pair pair;
	CLEANUP(str_deinit) struct str text = {0};
	pair_init(&pair, make_of("old/app"), make_of("new/app"));
	CHECK_OK(pair_compare(&pair));
	diff_put_programs(&text, pair.diff, str_puts_escaped);
	CHECK_STR(str_text(&text), "");
	pair_deinit(&pair);
	pair_init(&pair, make_of("old/app"), make_of("/bin/sh"));
	CHECK_OK(pair_compare(&pair));
	diff_put_programs(&text, pair.diff, str_puts_escaped);
	CHECK_STR(str_text(&text), "Base is of app, new of sh. ");
	CHECK(!diff_programs_are_mixed(pair.diff));
	vec_push(&pair.diff->sides[MATCH_NEW].runs,
		(struct diff_run){.name = "s.data", .program = "app"});
	str_truncate(&text, 0);
	diff_put_programs(&text, pair.diff, str_puts_escaped);
	CHECK_STR(str_text(&text),
		"Not all runs are of one program: base 1 of app; new 1 of sh, 1 of app (s.data). ");
	CHECK(diff_programs_are_mixed(pair.diff));
	pair_deinit(&pair);
}

/* ---- what is refused ---- */

TEST(difference_refuses_nothing_to_compare)
{
	struct pair pair;
	pair_init(&pair, make_side(NULL, 0, 0, NULL), make_side(NULL, 10, 10, NULL));
	CHECK_ERR(pair_compare(&pair), ERR_USAGE, "the base side has no samples");
	pair.options.is_forced = true;
	CHECK_ERR(pair_compare(&pair), ERR_USAGE, "the base side has no samples");
	pair_deinit(&pair);
	pair_init(&pair, make_side(NULL, 10, 10, NULL), make_side(NULL, 0, 0, NULL));
	CHECK_ERR(pair_compare(&pair), ERR_USAGE, "the new side has no samples");
	pair_deinit(&pair);
}

TEST(difference_refuses_another_cpu)
{
	struct pair pair;
	pair_init(&pair, make_side("Fast 1", 10, 10, NULL), make_side("Slow 2", 10, 10, NULL));
	CHECK_ERR(pair_compare(&pair), ERR_USAGE, "\"Fast 1\" and \"Slow 2\"");
	pair.options.is_forced = true;
	CHECK_OK(pair_compare(&pair));
	difference_destroy(pair.diff);
	pair.diff = NULL;
	pair.options.metric = DIFF_CPU_S;
	CHECK_ERR(pair_compare(&pair), ERR_USAGE, "CPU models");
	pair_deinit(&pair);
	/* One that says nothing is not another one. */
	pair_init(&pair, make_side("Fast 1", 10, 10, NULL), make_side(NULL, 10, 10, NULL));
	CHECK_OK(pair_compare(&pair));
	pair_deinit(&pair);
}

TEST(difference_refuses_another_event)
{
	struct side side;
	side_begin(&side, NULL);
	struct fixture *fixture = &side.fixture;
	fixture->event = fixture_event(fixture, "cycles", "cycles", 1000);
	uint32_t main = fixture_frame(fixture, side.object, 0x10, "main");
	fixture_samples(fixture, side.thread, FIXTURE_STACK(fixture, main), 0, 10);
	struct pair pair;
	pair_init(&pair, make_side(NULL, 10, 10, NULL), fixture_profile(fixture));
	CHECK_ERR(pair_compare(&pair), ERR_USAGE, "cycles");
	pair.options.is_forced = true;
	CHECK_OK(pair_compare(&pair));
	CHECK_INT(pair.diff->verdict, DIFF_INCONCLUSIVE);
	pair_deinit(&pair);
}

/*
 * Of a baseline that had to become small: half of the work lost who called it; and of something
 * rare, which main calls, nothing is left, or not even that main calls it.
 */
static struct profile *make_cut(void)
{
	struct side side;
	side_begin(&side, NULL);
	struct fixture *fixture = &side.fixture;
	uint32_t main = fixture_frame(fixture, side.object, 0x10, "main");
	uint32_t caller = fixture_frame(fixture, side.object, 0x15, "caller");
	uint32_t work = fixture_frame(fixture, side.object, 0x20, "work");
	uint32_t cut = fixture_frame(fixture, 0, LAYOUT_TRUNCATED_LEFT_OUT, NULL);
	uint32_t whole = FIXTURE_STACK(fixture, main, caller, work);
	fixture_samples(fixture, side.thread, whole, 0, 1000);
	fixture_samples(fixture, side.thread, FIXTURE_STACK(fixture, main, cut, work), 0, 1000);
	fixture_samples(fixture, side.thread, FIXTURE_STACK(fixture, main), 0, 2000);
	fixture_samples(fixture, side.thread, FIXTURE_STACK(fixture, main, cut), 0, 200);
	fixture_samples(fixture, side.thread, FIXTURE_STACK(fixture, cut), 0, 200);
	return fixture_profile(fixture);
}

static struct profile *make_whole(void)
{
	struct side side;
	side_begin(&side, NULL);
	struct fixture *fixture = &side.fixture;
	uint32_t main = fixture_frame(fixture, side.object, 0x10, "main");
	uint32_t caller = fixture_frame(fixture, side.object, 0x15, "caller");
	uint32_t work = fixture_frame(fixture, side.object, 0x20, "work");
	uint32_t whole = FIXTURE_STACK(fixture, main, caller, work);
	fixture_samples(fixture, side.thread, whole, 0, 2000);
	fixture_samples(fixture, side.thread, FIXTURE_STACK(fixture, main), 0, 2400);
	return fixture_profile(fixture);
}

TEST(difference_with_a_cut_baseline_is_by_self_time)
{
	struct pair pair;
	CLEANUP(str_deinit) struct str text = {0};
	pair_init(&pair, make_cut(), make_whole());
	CHECK_OK(pair_compare(&pair));
	CHECK_INT(pair.diff->sides[MATCH_BASE].cut, 1400);
	CHECK_INT(pair.diff->sides[MATCH_BASE].known, 4400);
	CHECK_INT(pair.diff->sides[MATCH_NEW].cut, 0);
	CHECK_INT(pair.diff->rows.len, 3);
	CHECK_COUNTS(&pair, "caller", "0/1000 0/2000");
	CHECK_COUNTS(&pair, "main", "2000/4200 2400/4400");
	CHECK(!find(&pair, "caller")->total.is_tested);
	CHECK(find(&pair, "work")->self.is_tested);
	CHECK(fabs(find(&pair, "work")->self.sides[MATCH_BASE].share - 2000 / 4400.) < 1e-9);
	write_report(&pair, DIFF_TEXT, &text);
	CHECK(strstr(str_text(&text), "31.8%")); /* of base's samples are cut */
	CHECK(!strstr(str_text(&text), "(total time)") && !strstr(str_text(&text), "left_out"));
	difference_destroy(pair.diff);
	pair.diff = NULL;
	pair.options.by = DIFF_BY_STACK;
	CHECK_ERR(pair_compare(&pair), ERR_USAGE, "--by function");
	pair_deinit(&pair);
}

TEST(difference_by_cpu_time_needs_runs)
{
	struct pair pair;
	pair_init(&pair, make_side(NULL, 10, 10, NULL), make_side(NULL, 10, 10, NULL));
	pair.options.metric = DIFF_CPU_S;
	CHECK_ERR(pair_compare(&pair), ERR_USAGE, "two runs");
	pair_deinit(&pair);
}

/* main calls `first` and `second`. */
static struct profile *make_named(
	const char *first, unsigned nr_first, const char *second, unsigned nr_second)
{
	struct side side;
	side_begin(&side, NULL);
	struct fixture *fixture = &side.fixture;
	uint32_t main = fixture_frame(fixture, side.object, 0x10, "main");
	uint32_t a = fixture_frame(fixture, side.object, 0x20, first);
	uint32_t b = fixture_frame(fixture, side.object, 0x30, second);
	fixture_samples(fixture, side.thread, FIXTURE_STACK(fixture, main), 0, 40000);
	fixture_samples(fixture, side.thread, FIXTURE_STACK(fixture, main, a), 0, nr_first);
	fixture_samples(fixture, side.thread, FIXTURE_STACK(fixture, main, b), 0, nr_second);
	return fixture_profile(fixture);
}

TEST(difference_of_a_renamed_function)
{
	struct pair pair;
	CLEANUP(str_deinit) struct str text = {0};
	pair_init(&pair, make_named("before", 30000, "same", 30000),
		make_named("after", 30100, "same", 30000));
	CHECK_OK(pair_compare(&pair));
	CHECK_INT(pair.diff->verdict, DIFF_SAME);
	CHECK_INT(pair.diff->nr_entities, 3);
	CHECK_COUNTS(&pair, "after", "30000/30000 30100/30100");
	CHECK_STR(find(&pair, "after")->old_name, "before");
	CHECK_INT(find(&pair, "after")->self.verdict, DIFF_SAME);
	CHECK(!find(&pair, "same")->old_name);
	write_report(&pair, DIFF_JSON, &text);
	CHECK(strstr(str_text(&text), "\"old_name\":\"before\""));
	pair_deinit(&pair);
	/* Slower under its new name. */
	pair_init(&pair, make_named("before", 30000, "same", 30000),
		make_named("after", 35000, "same", 30000));
	CHECK_OK(pair_compare(&pair));
	CHECK_INT(find(&pair, "after")->self.verdict, DIFF_REGRESSION);
	CHECK(fabs(find(&pair, "after")->self.effect - 1 / 6.) < 1e-3);
	pair_deinit(&pair);
}

/* Which of two it became is not known; nor is one of another size the same. */
TEST(difference_of_what_was_not_renamed)
{
	struct pair pair;
	pair_init(&pair, make_named("before", 30000, "same", 30000),
		make_named("one", 29000, "two", 31000));
	CHECK_OK(pair_compare(&pair));
	CHECK_INT(pair.diff->nr_entities, 5);
	CHECK_COUNTS(&pair, "one", "0/0 29000/29000");
	/* Together they take as much, and may be other code. */
	CHECK_INT(pair.diff->verdict, DIFF_INCONCLUSIVE);
	pair_deinit(&pair);
	pair_init(&pair, make_named("before", 30000, "same", 30000),
		make_named("after", 45000, "same", 30000));
	CHECK_OK(pair_compare(&pair));
	CHECK_COUNTS(&pair, "before", "30000/30000 0/0");
	CHECK_COUNTS(&pair, "after", "0/0 45000/45000");
	pair_deinit(&pair);
}

/* ---- reports ---- */

static void write_report(const struct pair *pair, enum diff_format format, struct str *out)
{
	struct diff_writer_options options = {
		.limit = 20, .width = 100, .base_name = "old\x1b[2J", .new_name = "new"};
	CHECK_OK(diff_writers[format].write(pair->diff, &options, byte_sink_to_text(out)));
}

/* Names are chosen by others: no control bytes reach a terminal, no quotes break JSON. */
TEST(difference_reports_are_safe)
{
	struct pair pair;
	pair_init(&pair, make_side(NULL, 1000, 1500, NULL),
		make_side(NULL, 1000, 1500, "x\x1b]0;y\a\n\"},{\xff::error::"));
	CHECK_OK(pair_compare(&pair));
	CLEANUP(str_deinit) struct str text = {0}, json = {0};
	write_report(&pair, DIFF_TEXT, &text);
	CHECK(!strchr(str_text(&text), '\x1b') && !strchr(str_text(&text), '\a'));
	CHECK(!strchr(str_text(&text), '\xff'));
	CHECK(strncmp(str_text(&text), "REGRESSION: ", 12) == 0);
	CHECK(strstr(str_text(&text), "is new, and takes 2.44%"));
	write_report(&pair, DIFF_JSON, &json);
	CHECK(strstr(str_text(&json), "\"verdict\":\"regression\""));
	CHECK(strstr(str_text(&json), "\\u001b]0;y\\u0007\\u000a\\\"},{"));
	CHECK(strstr(str_text(&json), "\"effect\":null"));
	CHECK(!strchr(str_text(&json), '\x1b') && !strchr(str_text(&json), '\xff'));
	pair_deinit(&pair);
}

/* No line is longer than there is room. */
TEST(difference_text_is_narrow)
{
	char name[300];
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	struct pair pair;
	pair_init(&pair, make_side(NULL, 1000, 1500, NULL), make_side(NULL, 1000, 1500, name));
	CHECK_OK(pair_compare(&pair));
	CLEANUP(str_deinit) struct str text = {0};
	write_report(&pair, DIFF_TEXT, &text);
	size_t longest = 0;
	for (const char *line = strstr(str_text(&text), "\n\n"); line && *line;) {
		size_t len = strcspn(line + 1, "\n");
		longest = len > longest ? len : longest;
		line = strchr(line + 1, '\n');
	}
	CHECK(longest > 60 && longest <= 100);
	pair_deinit(&pair);
}

/* As many waits as before, each of them twice as long. */
TEST(diff_compares_waits_by_their_time)
{
	struct pair pair;
	pair_init(&pair, make_waits(10000000, 10000000), make_waits(20000000, 10000000));
	CHECK_OK(pair_compare(&pair));
	CHECK_INT(find(&pair, "work")->self.verdict, DIFF_REGRESSION);
	CHECK(fabs(find(&pair, "work")->self.sides[MATCH_NEW].share - 2. / 3) < 0.01);
	CHECK(find(&pair, "work")->self.sides[MATCH_NEW].value == 400 * 20e6);
	pair_deinit(&pair);
	pair_init(&pair, make_waits(10000000, 30000000), make_waits(10000000, 30000000));
	CHECK_OK(pair_compare(&pair));
	CHECK(find(&pair, "work")->self.verdict != DIFF_REGRESSION);
	pair_deinit(&pair);
}

/* Short waits stand between long ones, always in the same order: each has the share that it took.
 */
TEST(shares_of_waits_are_those_of_their_time)
{
	struct pair pair;
	pair_init(&pair, make_waits(80000000, 1000000), make_waits(120000000, 1000000));
	CHECK_OK(pair_compare(&pair));
	const struct diff_amount *rest = find(&pair, "rest")->self.sides;
	CHECK(fabs(rest[MATCH_BASE].share - 1. / 81) < 1e-9);
	CHECK(fabs(rest[MATCH_NEW].share - 1. / 121) < 1e-9);
	CHECK_INT(rest[MATCH_BASE].samples, 400);
	CHECK(fabs(find(&pair, "work")->self.effect - 0.5) < 1e-3);
	pair_deinit(&pair);
}

/* As those of a perf.data are, whose events say no period. */
TEST(diff_counts_samples_of_equal_amounts_as_they_are)
{
	struct pair pair;
	pair_init(&pair, make_waits(10000000, 10000000), make_waits(10000000, 10000000));
	CHECK_OK(pair_compare(&pair));
	CHECK(!pair.diff->is_weighted);
	pair_deinit(&pair);
	pair_init(&pair, make_waits(10000000, 10000000), make_waits(20000000, 20000000));
	CHECK_OK(pair_compare(&pair));
	CHECK(pair.diff->is_weighted);
	pair_deinit(&pair);
}
