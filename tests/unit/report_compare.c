#include "report/compare/compare.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/err.h"
#include "tests/unit/diff_pair.h"
#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

struct pair {
	struct profile *profiles[MATCH_SIDES];
	struct diff_pair diff;
	struct compare compare;
	bool is_judged;
};

static void pair_init(struct pair *pair, struct fixture *base, struct fixture *new)
{
	pair->profiles[MATCH_BASE] = fixture_profile(base);
	pair->profiles[MATCH_NEW] = fixture_profile(new);
	diff_pair_init(&pair->diff, pair->profiles[MATCH_BASE], pair->profiles[MATCH_NEW]);
	compare_init(&pair->compare, &pair->diff.diff, pair->diff.weights[MATCH_BASE],
		pair->diff.weights[MATCH_NEW]);
	struct tree trees[MATCH_SIDES];
	struct diff_source sources[MATCH_SIDES];
	for (int i = 0; i < MATCH_SIDES; i++) {
		tree_init(&trees[i], pair->profiles[i], &(struct tree_options){0});
		sources[i] = (struct diff_source){pair->profiles[i], &trees[i], NULL, 0};
	}
	pair->is_judged = compare_judge(&pair->compare, &pair->diff.diff, sources, NULL);
	for (int i = 0; i < MATCH_SIDES; i++)
		tree_deinit(&trees[i]);
}

static void pair_forget_profiles(struct pair *pair)
{
	for (int i = 0; i < MATCH_SIDES; i++)
		profile_destroy(pair->profiles[i]);
}

static void pair_deinit(struct pair *pair)
{
	compare_deinit(&pair->compare);
	diff_pair_deinit(&pair->diff);
}

/* Rows are by name; here by object first. */
static int by_names(const void *a, const void *b)
{
	const struct compare_row *x = a, *y = b;
	int order = strcmp(x->object, y->object);
	return order ? order : strcmp(x->name, y->name);
}

/* One line a row: "object name base self/total new self/total", in samples. */
static void check_rows(struct compare *compare, const char *want)
{
	CLEANUP(str_deinit) struct str text = {0};
	qsort(compare->rows.data, compare->rows.len, sizeof(*compare->rows.data), by_names);
	vec_each(&compare->rows, row)
		str_printf(&text, "%s %s %llu/%llu %llu/%llu\n", row->object, row->name,
			(unsigned long long)row->base.self_samples,
			(unsigned long long)row->base.samples,
			(unsigned long long)row->new.self_samples,
			(unsigned long long)row->new.samples);
	CHECK_STR(str_text(&text), want);
}

static void compare_fixtures(struct fixture *base, struct fixture *new, const char *want)
{
	struct pair pair;
	pair_init(&pair, base, new);
	pair_forget_profiles(&pair); /* nothing is borrowed */
	check_rows(&pair.compare, want);
	pair_deinit(&pair);
}

/* What moved, was cloned or carries another version is the same function. */
TEST(compare_matches_by_names)
{
	struct fixture base, new;
	uint32_t thread, object = fixture_begin(&base, "/lib/libx.so.1.2", &thread);
	uint32_t main = fixture_frame(&base, object, 0x10, "main");
	uint32_t work = fixture_frame(&base, object, 0x20, "_Z4worki");
	uint32_t part = fixture_frame(&base, object, 0x30, "_Z4worki.part.0");
	uint32_t gone = fixture_frame(&base, object, 0x40, "gone@@V_1");
	fixture_samples(&base, thread, FIXTURE_STACK(&base, main, work, part), 0, 3);
	fixture_samples(&base, thread, FIXTURE_STACK(&base, main, gone), 0, 2);
	object = fixture_begin(&new, "/usr/lib/libx.so.2", &thread);
	main = fixture_frame(&new, object, 0x50, "main");
	work = fixture_frame(&new, object, 0x60, "_Z4worki.constprop.0.isra.0");
	uint32_t stub = fixture_frame(&new, object, 0x70, "gone@plt");
	fixture_samples(&new, thread, FIXTURE_STACK(&new, main, work), 0, 4);
	fixture_samples(&new, thread, FIXTURE_STACK(&new, main, stub), 0, 1);
	compare_fixtures(&base, &new,
		"libx.so.2 gone 2/2 0/0\n"
		"libx.so.2 gone@plt 0/0 1/1\n"
		"libx.so.2 main 0/5 0/5\n"
		"libx.so.2 work(int) 3/3 4/4\n");
}

/* A method cold() of a class: no compiler's word. */
TEST(compare_keeps_names_with_dots)
{
	struct fixture sides[2];
	for (int i = 0; i < 2; i++) {
		uint32_t thread, object = fixture_begin(&sides[i], "app", &thread);
		uint32_t clone = fixture_frame(&sides[i], object, 0x10, "work.cold");
		object = fixture_object(&sides[i], LAYOUT_OBJECT_SCRIPT, "[python]");
		uint32_t cold = fixture_line(&sides[i], object, 1, "Cache.cold", "/src/a.py", 7);
		fixture_samples(&sides[i], thread, FIXTURE_STACK(&sides[i], cold, clone), 0, 1);
	}
	compare_fixtures(&sides[0], &sides[1],
		"[python] Cache.cold 0/1 0/1\n"
		"app work 1/1 1/1\n");
}

/* Names of both sides are matched as they are, and numbers only where one file is left on each. */
TEST(compare_versions_only_where_they_are_clear)
{
	static const char *const names[2][5] = {
		{"libc-2.36.so", "python3.11", "bench1", "worker-1", "libssl.so.1.1"},
		{"libc.so.6", "python3.12", "bench2", "worker-2", "libssl.so.3"},
	};
	struct fixture sides[2];
	for (int i = 0; i < 2; i++) {
		uint32_t thread, object = fixture_begin(&sides[i], names[i][0], &thread);
		for (int n = 0; n < 5; n++) {
			if (n)
				object = fixture_object(&sides[i], LAYOUT_OBJECT_VDSO, names[i][n]);
			uint32_t f = fixture_frame(&sides[i], object, 0x10, "f");
			fixture_samples(&sides[i], thread, FIXTURE_STACK(&sides[i], f), 0, 1);
		}
		/* Both have it; and one has another build of it, too. */
		object = fixture_object(&sides[i], LAYOUT_OBJECT_VDSO, "libz.so.1");
		uint32_t f = fixture_frame(&sides[i], object, 0x10, "f");
		fixture_samples(&sides[i], thread, FIXTURE_STACK(&sides[i], f), 0, 1);
		if (!i)
			continue;
		object = fixture_object(&sides[i], LAYOUT_OBJECT_VDSO, "libz.so.2");
		f = fixture_frame(&sides[i], object, 0x10, "f");
		fixture_samples(&sides[i], thread, FIXTURE_STACK(&sides[i], f), 0, 1);
	}
	compare_fixtures(&sides[0], &sides[1],
		"bench1 f 1/1 0/0\n"
		"bench2 f 0/0 1/1\n"
		"libc.so.6 f 1/1 1/1\n"
		"libssl.so.3 f 1/1 1/1\n"
		"libz.so.1 f 1/1 1/1\n"
		"libz.so.2 f 0/0 1/1\n"
		"python3.12 f 1/1 1/1\n"
		"worker-2 f 1/1 1/1\n");
}

/* The programs that ran are one, whatever they are called; not so what they load. */
TEST(compare_programs_under_other_names)
{
	struct fixture sides[2];
	for (int i = 0; i < 2; i++) {
		fixture_init(&sides[i]);
		uint32_t program =
			fixture_object(&sides[i], LAYOUT_OBJECT_VDSO, i ? "app-patched" : "app");
		uint32_t other = fixture_object(
			&sides[i], LAYOUT_OBJECT_VDSO, i ? "libnew.so" : "libold.so");
		uint32_t process = fixture_process(&sides[i], 1, program);
		uint32_t thread = fixture_thread(&sides[i], process, 1, "x");
		uint32_t f = fixture_frame(&sides[i], program, 0x10, "f");
		uint32_t g = fixture_frame(&sides[i], other, 0x10, "g");
		fixture_samples(&sides[i], thread, FIXTURE_STACK(&sides[i], f, g), 0, 1);
	}
	compare_fixtures(&sides[0], &sides[1],
		"app-patched f 0/1 0/1\n"
		"libnew.so g 0/0 1/1\n"
		"libold.so g 1/1 0/0\n");
}

/* Of code without names only its file is known, unless the builds are the same. */
TEST(compare_code_without_names)
{
	struct fixture sides[2];
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t thread;
		fixture_begin(&sides[i], "[vdso]", &thread);
		uint32_t object =
			fixture_object(&sides[i], LAYOUT_OBJECT_FILE, "/nonexistent/lib.so");
		uint32_t a = fixture_frame(&sides[i], object, 0x10 + i, NULL);
		uint32_t b = fixture_frame(&sides[i], object, 0x20 + i, NULL);
		fixture_samples(&sides[i], thread, FIXTURE_STACK(&sides[i], a, b), 0, 2 + i);
		fixture_samples(&sides[i], thread, FIXTURE_STACK(&sides[i], a), 0, 1);
	}
	compare_fixtures(&sides[0], &sides[1], "lib.so lib.so [no symbol] 3/3 4/4\n");
}

TEST(compare_shares_and_chance)
{
	struct fixture base, new;
	uint32_t thread, object = fixture_begin(&base, "[vdso]", &thread);
	uint32_t a = fixture_frame(&base, object, 0x10, "a");
	uint32_t b = fixture_frame(&base, object, 0x20, "b");
	uint32_t c = fixture_frame(&base, object, 0x30, "c");
	fixture_samples(&base, thread, FIXTURE_STACK(&base, a), 0, 500);
	fixture_samples(&base, thread, FIXTURE_STACK(&base, b), 0, 490);
	fixture_samples(&base, thread, FIXTURE_STACK(&base, c), 0, 10);
	object = fixture_begin(&new, "[vdso]", &thread);
	a = fixture_frame(&new, object, 0x10, "a");
	b = fixture_frame(&new, object, 0x20, "b");
	c = fixture_frame(&new, object, 0x30, "c");
	fixture_samples(&new, thread, FIXTURE_STACK(&new, a), 0, 1200); /* 60 % of twice as many */
	fixture_samples(&new, thread, FIXTURE_STACK(&new, b), 0, 776);
	fixture_samples(&new, thread, FIXTURE_STACK(&new, c), 0, 24);
	struct pair pair;
	pair_init(&pair, &base, &new);
	struct profile *const *profiles = pair.profiles;
	const struct compare *compare = &pair.compare;
	check_rows(&pair.compare, "[vdso] a 500/500 1200/1200\n"
				  "[vdso] b 490/490 776/776\n"
				  "[vdso] c 10/10 24/24\n");
	const struct compare_row *rows = compare->rows.data;
	CHECK_INT(1000 * compare_base_percent(&compare->wholes, &rows[0], COMPARE_SELF), 50000);
	CHECK_INT(1000 * compare_new_percent(&compare->wholes, &rows[0], COMPARE_TOTAL), 60000);
	CHECK_INT(compare_direction(&rows[0], COMPARE_SELF), 1);
	CHECK_INT(compare_direction(&rows[2], COMPARE_SELF), 0); /* 1.0 and 1.2 % */
	CHECK(compare_cannot_tell(&rows[2], COMPARE_SELF));
	CHECK_INT(compare_strength(-1), 0);
	CHECK_INT(compare_strength(0.9), 0);
	CHECK_INT(compare_strength(1), 1);
	CHECK_INT(compare_strength(compare_points(&compare->wholes, &rows[0], COMPARE_TOTAL)), 3);
	uint32_t frame = compare_find_frame(profiles[0], profiles[1], rows[1].frame);
	CHECK_STR(profiles[0]->functions.data[profiles[0]->frames.data[frame].function].name, "b");
	CHECK_INT(compare_find_object(profiles[0], profiles[1], 1), 1);
	CHECK_INT(compare_find_object(profiles[0], profiles[1], 0), 0);
	pair_forget_profiles(&pair);
	pair_deinit(&pair);
}

/* ---- and `ebprof diff` ---- */

/* main calls a, b, c and d so often. */
static void put_calls(struct fixture *fixture, const unsigned counts[4])
{
	static const char *const names[] = {"a", "b", "c", "d"};
	uint32_t thread, object = fixture_begin(fixture, "app", &thread);
	uint32_t main = fixture_frame(fixture, object, 0x10, "main");
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t frame = fixture_frame(fixture, object, 0x20 + i, names[i]);
		fixture_samples(fixture, thread, FIXTURE_STACK(fixture, main, frame), 0, counts[i]);
	}
}

static int direction_of(enum diff_verdict verdict)
{
	return (verdict == DIFF_REGRESSION) - (verdict == DIFF_IMPROVEMENT);
}

static void check_agrees(const unsigned base_counts[4], const unsigned new_counts[4])
{
	struct fixture base, new;
	struct pair pair;
	struct difference *diff;
	struct diff_options options = DIFF_OPTIONS_DEFAULT;
	put_calls(&base, base_counts);
	put_calls(&new, new_counts);
	pair_init(&pair, &base, &new);
	CHECK(pair.is_judged);
	CHECK_OK(difference_create(
		pair.profiles[MATCH_BASE], pair.profiles[MATCH_NEW], &options, &diff));
	vec_each(&pair.compare.rows, row) {
		const struct diff_row *judged = NULL;
		vec_each(&diff->rows, it)
			if (strcmp(it->name, row->name) == 0)
				judged = it;
		int self = judged ? direction_of(judged->self.verdict) : 0;
		int total = judged ? direction_of(judged->total.verdict) : 0;
		CHECK_INT(compare_direction(row, COMPARE_SELF), self);
		CHECK_INT(compare_direction(row, COMPARE_TOTAL), total);
	}
	difference_destroy(diff);
	pair_forget_profiles(&pair);
	pair_deinit(&pair);
}

/*
 * 13 % of 1,000 samples instead of 10 %, of which a test at 5 % would say that it is no chance; a
 * function that takes much longer, of which all others have a smaller share; and few samples.
 */
TEST(compare_never_contradicts_diff)
{
	check_agrees(
		(const unsigned[]){100, 300, 300, 300}, (const unsigned[]){130, 290, 290, 290});
	check_agrees(
		(const unsigned[]){100, 300, 300, 300}, (const unsigned[]){900, 300, 300, 300});
	check_agrees((const unsigned[]){100, 300, 300, 300}, (const unsigned[]){10, 300, 330, 300});
	check_agrees((const unsigned[]){3, 3, 3, 3}, (const unsigned[]){9, 0, 3, 3});
}

/* hot and six others; one of these has 40 callers in a row. */
static void put_callers(struct fixture *fixture, unsigned hot, unsigned others)
{
	enum {
		CALLERS = 40,
		OTHERS = 6,
	};
	uint32_t thread, object = fixture_begin(fixture, "app", &thread), frames[CALLERS + 2] = {0};
	uint32_t frame = fixture_frame(fixture, object, 0x10, "hot");
	fixture_samples(fixture, thread, FIXTURE_STACK(fixture, frame), 0, hot);
	for (uint32_t i = 0; i < OTHERS; i++) {
		char name[] = {'o', (char)('a' + i), '\0'};
		frame = fixture_frame(fixture, object, 0x20 + i, name);
		if (i) {
			fixture_samples(fixture, thread, FIXTURE_STACK(fixture, frame), 0, others);
			continue;
		}
		for (uint32_t k = 0; k < CALLERS; k++) {
			char caller[] = {'c', (char)('a' + k / 10), (char)('0' + k % 10), '\0'};
			frames[k] = fixture_frame(fixture, object, 0x40 + k, caller);
		}
		frames[CALLERS] = frame;
		fixture_samples(fixture, thread, fixture_stack(fixture, frames), 0, others);
	}
}

/* What is sure of a function's self time, though not of its total, which is the same, is coloured.
 */
TEST(compare_total_of_a_leaf)
{
	struct fixture base, new;
	struct pair pair;
	put_callers(&base, 200, 300);
	put_callers(&new, 300, 284);
	pair_init(&pair, &base, &new);
	CHECK(pair.is_judged);
	bool is_met = false;
	vec_each(&pair.compare.judged->rows, row)
		if (strcmp(row->name, "hot") == 0) {
			is_met = true;
			CHECK_INT(row->self.verdict, DIFF_REGRESSION);
			CHECK_INT(row->total.verdict, DIFF_INCONCLUSIVE);
		}
	CHECK(is_met);
	vec_each(&pair.compare.rows, row)
		CHECK_INT(compare_direction(row, COMPARE_TOTAL), strcmp(row->name, "hot") == 0);
	pair_forget_profiles(&pair);
	pair_deinit(&pair);
}

/* The part of a function that goes the other way is none of its change. */
TEST(compare_of_a_part)
{
	struct compare_change change = {DIFF_REGRESSION, {1000, 2000}, 1};
	CHECK_INT(compare_change_of_part(&change, 10, 21).verdict, DIFF_REGRESSION);
	CHECK_INT(compare_change_of_part(&change, 10, 20).verdict, DIFF_INCONCLUSIVE);
	CHECK_INT(compare_change_of_part(&change, 10, 0).verdict, DIFF_INCONCLUSIVE);
	change.verdict = DIFF_IMPROVEMENT;
	CHECK_INT(compare_change_of_part(&change, 10, 19).verdict, DIFF_IMPROVEMENT);
	CHECK_INT(compare_change_of_part(&change, 0, 1).verdict, DIFF_INCONCLUSIVE);
	change.verdict = DIFF_SAME;
	CHECK_INT(compare_change_of_part(&change, 0, 100).verdict, DIFF_SAME);
}
