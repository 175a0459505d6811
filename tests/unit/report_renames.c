/* Which functions are taken for one that got another name. */
#include "report/compare/renames.h"

#include <string.h>

#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

enum {
	EVENT = 1,            /* of a fixture */
	SIDE_SAMPLES = 10000, /* those that no function of a case has are main's own */
};

struct function {
	const char *name;     /* NULL: there is no symbol */
	unsigned self, below; /* samples in it, and in what it calls */
	const char *object;   /* NULL: that of main */
};

#define FUNCTIONS(...) \
	(const struct function[]) \
	{ \
		__VA_ARGS__, \
		{ \
			0 \
		} \
	}

static struct profile *make_side(const struct function *functions)
{
	struct fixture fixture;
	uint32_t thread, program = fixture_begin(&fixture, "/bin/x", &thread);
	uint32_t main = fixture_frame(&fixture, program, 0x10, "main");
	uint32_t leaf = fixture_frame(&fixture, program, 0x20, "leaf");
	unsigned rest = SIDE_SAMPLES;
	for (uint32_t i = 0; functions[i].self; i++) {
		const struct function *it = &functions[i];
		uint32_t object = it->object
					  ? fixture_object(&fixture, LAYOUT_OBJECT_VDSO, it->object)
					  : program;
		uint32_t frame = fixture_frame(&fixture, object, 0x100 + 16 * i, it->name);
		fixture_samples(
			&fixture, thread, FIXTURE_STACK(&fixture, main, frame), 0, it->self);
		if (it->below)
			fixture_samples(&fixture, thread,
				FIXTURE_STACK(&fixture, main, frame, leaf), 0, it->below);
		rest -= it->self + it->below;
	}
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main), 0, rest);
	return fixture_profile(&fixture);
}

struct pair {
	struct profile *profiles[MATCH_SIDES];
	struct diff_side sides[MATCH_SIDES];
	struct diff_options options;
	struct entities *entities;
	struct run_counts counts;
	size_t nr_joined;
};

static void pair_join(struct pair *pair, enum diff_by by, double min_share,
	const struct function *base, const struct function *new)
{
	struct run_samples samples[MATCH_SIDES];
	*pair = (struct pair){.options = DIFF_OPTIONS_DEFAULT};
	pair->options.by = by;
	pair->options.min_share = min_share;
	pair->profiles[MATCH_BASE] = make_side(base);
	pair->profiles[MATCH_NEW] = make_side(new);
	for (int side = 0; side < MATCH_SIDES; side++) {
		struct diff_source source = {.profile = pair->profiles[side]};
		run_samples_init(&samples[side], &source, EVENT, 0, &pair->sides[side]);
	}
	pair->entities = entities_create(by, pair->profiles[MATCH_BASE], pair->profiles[MATCH_NEW]);
	run_counts_init(&pair->counts, &samples[MATCH_BASE], &samples[MATCH_NEW], pair->entities);
	pair->nr_joined = renames_join(&pair->counts, pair->sides, &pair->options);
}

static void pair_deinit(struct pair *pair)
{
	run_counts_deinit(&pair->counts);
	entities_destroy(pair->entities);
	for (int side = 0; side < MATCH_SIDES; side++) {
		vec_deinit(&pair->sides[side].runs);
		profile_destroy(pair->profiles[side]);
	}
}

/* How many of these are joined, of functions that take 0.1 % or more. */
static size_t joined(const struct function *base, const struct function *new)
{
	struct pair pair;
	pair_join(&pair, DIFF_BY_FUNCTION, 0, base, new);
	size_t count = pair.nr_joined;
	pair_deinit(&pair);
	return count;
}

static uint32_t entity_of(const struct pair *pair, const char *name)
{
	for (uint32_t i = 0; i < pair->counts.nr_entities; i++) {
		struct diff_row row = {0};
		entities_name(pair->entities, i, &row);
		if (strcmp(row.name, name) == 0)
			return i;
	}
	unit_fail(__FILE__, __LINE__, "there is no %s", name);
	return 0;
}

/* What base's samples said of the old name is said of the new one, in sums and stacks. */
TEST(renames_are_counted_as_one)
{
	struct pair pair;
	pair_join(&pair, DIFF_BY_FUNCTION, 0, FUNCTIONS({"before", .self = 1000, .below = 500}),
		FUNCTIONS({"after", .self = 1010, .below = 490}));
	CHECK_INT(pair.nr_joined, 1);
	uint32_t before = entity_of(&pair, "before"), after = entity_of(&pair, "after");
	const struct run_sums *base = pair.counts.sums[MATCH_BASE],
			      *new = pair.counts.sums[MATCH_NEW];
	CHECK_INT(pair.counts.old[after], before + 1);
	CHECK_INT(pair.counts.old[before], 0);
	CHECK_INT(base[after].self.samples, 1000);
	CHECK_INT(base[after].total.samples, 1500);
	CHECK_INT(base[before].total.samples, 0);
	CHECK_INT(new[after].self.samples, 1010);
	CHECK_INT(new[after].total.samples, 1500);
	size_t old_ones = 0, new_ones = 0;
	vec_each(&pair.counts.sides[MATCH_BASE].entities, entity) {
		old_ones += *entity == before;
		new_ones += *entity == after;
	}
	CHECK_INT(old_ones, 0);
	CHECK_INT(new_ones, 2); /* of two stacks */
	pair_deinit(&pair);
}

TEST(renames_of_several_functions_are_told_apart_by_size)
{
	struct pair pair;
	pair_join(&pair, DIFF_BY_FUNCTION, 0,
		FUNCTIONS({"small", .self = 500}, {"large", .self = 2000}),
		FUNCTIONS({"great", .self = 2040}, {"little", .self = 510}));
	CHECK_INT(pair.nr_joined, 2);
	CHECK_INT(pair.counts.old[entity_of(&pair, "great")], entity_of(&pair, "large") + 1);
	CHECK_INT(pair.counts.old[entity_of(&pair, "little")], entity_of(&pair, "small") + 1);
	pair_deinit(&pair);
}

/* A quarter more, or a fifth less, is as much; by self and by total time. */
TEST(renames_need_about_the_same_size)
{
	CHECK_INT(joined(FUNCTIONS({"a", .self = 1000}), FUNCTIONS({"b", .self = 1245})), 1);
	CHECK_INT(joined(FUNCTIONS({"a", .self = 1000}), FUNCTIONS({"b", .self = 1255})), 0);
	CHECK_INT(joined(FUNCTIONS({"a", .self = 1245}), FUNCTIONS({"b", .self = 1000})), 1);
	CHECK_INT(joined(FUNCTIONS({"a", .self = 1255}), FUNCTIONS({"b", .self = 1000})), 0);
	/* The same total, of which more is its own; the same self, and it calls more. */
	CHECK_INT(joined(FUNCTIONS({"a", .self = 1000, .below = 500}),
			  FUNCTIONS({"b", .self = 1300, .below = 200})),
		0);
	CHECK_INT(joined(FUNCTIONS({"a", .self = 1000, .below = 500}),
			  FUNCTIONS({"b", .self = 1000, .below = 1000})),
		0);
}

TEST(renames_have_to_be_unambiguous)
{
	CHECK_INT(joined(FUNCTIONS({"a", .self = 1000}),
			  FUNCTIONS({"b", .self = 1000}, {"c", .self = 1100})),
		0);
	CHECK_INT(joined(FUNCTIONS({"a", .self = 1000}, {"b", .self = 1100}),
			  FUNCTIONS({"c", .self = 1000})),
		0);
	/* b could have been a, which could be c as well: none of them is. */
	CHECK_INT(joined(FUNCTIONS({"a", .self = 1000}, {"b", .self = 1300}),
			  FUNCTIONS({"c", .self = 1100}, {"d", .self = 900})),
		0);
	/* What is on both sides is no new name, however alike. */
	CHECK_INT(joined(FUNCTIONS({"a", .self = 1000}, {"both", .self = 1000}),
			  FUNCTIONS({"b", .self = 1000}, {"both", .self = 1000})),
		1);
}

TEST(renames_stay_in_their_object_and_have_names)
{
	CHECK_INT(joined(FUNCTIONS({"a", 1000, 0, "/lib/one.so"}),
			  FUNCTIONS({"b", 1000, 0, "/lib/one.so"})),
		1);
	CHECK_INT(joined(FUNCTIONS({"a", 1000, 0, "/lib/one.so"}),
			  FUNCTIONS({"b", 1000, 0, "/lib/two.so"})),
		0);
	CHECK_INT(joined(FUNCTIONS({NULL, .self = 1000}), FUNCTIONS({"b", .self = 1000})), 0);
	CHECK_INT(joined(FUNCTIONS({"a", .self = 1000}), FUNCTIONS({NULL, .self = 1000})), 0);
}

/* A thousandth of a side or more, whatever is to be reported; what is reported may ask for more. */
TEST(renames_of_small_functions_are_no_evidence)
{
	CHECK_INT(joined(FUNCTIONS({"a", .self = 11}), FUNCTIONS({"b", .self = 11})), 1);
	CHECK_INT(joined(FUNCTIONS({"a", .self = 9}), FUNCTIONS({"b", .self = 9})), 0);
	CHECK_INT(joined(FUNCTIONS({"a", .self = 9}), FUNCTIONS({"b", .self = 11})), 0);
	struct pair pair;
	pair_join(&pair, DIFF_BY_FUNCTION, 0.01, FUNCTIONS({"a", .self = 99}),
		FUNCTIONS({"b", .self = 99}));
	CHECK_INT(pair.nr_joined, 0);
	pair_deinit(&pair);
	pair_join(&pair, DIFF_BY_FUNCTION, 0.01, FUNCTIONS({"a", .self = 101}),
		FUNCTIONS({"b", .self = 101}));
	CHECK_INT(pair.nr_joined, 1);
	pair_deinit(&pair);
}

/* Modules that only one side has are other modules; lines and stacks move with every change. */
TEST(renames_are_of_functions_only)
{
	static const enum diff_by others[] = {DIFF_BY_FILE, DIFF_BY_LINE, DIFF_BY_STACK};
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		struct pair pair;
		pair_join(&pair, others[i], 0, FUNCTIONS({"a", 1000, 0, "/lib/one.so"}),
			FUNCTIONS({"b", 1000, 0, "/lib/two.so"}));
		CHECK_INT(pair.nr_joined, 0);
		pair_deinit(&pair);
	}
}
