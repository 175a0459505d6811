#include "report/compare/diff_tree.h"

#include <string.h>

#include "report/analyse/focus.h"
#include "report/compare/diff_focus.h"
#include "tests/unit/diff_pair.h"
#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

static void pair_init_as(
	struct diff_pair *pair, struct fixture *base, struct fixture *new, bool joins_renames)
{
	struct profile *profiles[] = {fixture_profile(base), fixture_profile(new)};
	diff_pair_init_as(pair, profiles[0], profiles[1], joins_renames);
	profile_destroy(profiles[0]);
	profile_destroy(profiles[1]);
}

static void pair_init(struct diff_pair *pair, struct fixture *base, struct fixture *new)
{
	pair_init_as(pair, base, new, false);
}

static void put_path(const struct diff_tree *diff, uint32_t node, struct str *out)
{
	const struct tree_node *it = &diff->tree.nodes.data[node];
	if (!node)
		return;
	put_path(diff, it->parent, out);
	str_printf(out, ">%s", diff->functions.data[it->function].name);
}

static uint32_t node_of(const struct diff_pair *pair, const char *path)
{
	for (uint32_t i = 0; i < pair->diff.tree.nodes.len; i++) {
		CLEANUP(str_deinit) struct str text = {0};
		put_path(&pair->diff, i, &text);
		if (strcmp(str_text(&text), path) == 0)
			return i;
	}
	CHECK(!"there is such a path");
	return 0;
}

/* In samples: self and total of the base, of the new one. */
static void check(const struct diff_pair *pair, const char *path, unsigned base_self, unsigned base,
	unsigned new_self, unsigned new)
{
	uint32_t node = node_of(pair, path);
	const struct tree_weight *old = &pair->weights[MATCH_BASE][node];
	const struct tree_weight *now = &pair->weights[MATCH_NEW][node];
	CHECK_INT(old->self, base_self * 1000000ULL);
	CHECK_INT(old->total, base * 1000000ULL);
	CHECK_INT(old->self_samples, base_self);
	CHECK_INT(old->samples, base);
	CHECK_INT(now->self, new_self * 1000000ULL);
	CHECK_INT(now->total, new * 1000000ULL);
	CHECK_INT(now->self_samples, new_self);
	CHECK_INT(now->samples, new);
}

/* main calls work, part of which moved to a clone, and gone or fresh. */
static void put_pair(struct diff_pair *pair)
{
	struct fixture base, new;
	uint32_t thread, object = fixture_begin(&base, "libx.so.1", &thread);
	uint32_t main = fixture_frame(&base, object, 0x10, "main");
	uint32_t work = fixture_frame(&base, object, 0x20, "work");
	uint32_t gone = fixture_frame(&base, object, 0x30, "gone");
	fixture_samples(&base, thread, FIXTURE_STACK(&base, main, work), 0, 4);
	fixture_samples(&base, thread, FIXTURE_STACK(&base, main, gone, work), 0, 2);
	fixture_samples(&base, thread, 0, 0, 2);
	object = fixture_begin(&new, "libx.so.2", &thread);
	uint32_t fresh = fixture_frame(&new, object, 0x10, "fresh");
	uint32_t clone = fixture_frame(&new, object, 0x20, "work.constprop.0");
	work = fixture_frame(&new, object, 0x30, "work");
	main = fixture_frame(&new, object, 0x40, "main");
	fixture_samples(&new, thread, FIXTURE_STACK(&new, main, work), 0, 5);
	fixture_samples(&new, thread, FIXTURE_STACK(&new, main, clone), 0, 3);
	fixture_samples(&new, thread, FIXTURE_STACK(&new, main, clone, fresh), 0, 7);
	fixture_samples(&new, thread, FIXTURE_STACK(&new, main), 0, 1);
	pair_init(pair, &base, &new);
}

TEST(diff_tree_of_changed_builds)
{
	struct diff_pair pair;
	put_pair(&pair);
	CHECK_INT(pair.diff.tree.nodes.len, 6);
	check(&pair, "", 2, 8, 0, 16);
	check(&pair, ">main", 0, 6, 1, 16);
	check(&pair, ">main>work", 4, 4, 8, 15);
	check(&pair, ">main>gone", 0, 2, 0, 0);
	check(&pair, ">main>gone>work", 2, 2, 0, 0);
	check(&pair, ">main>work>fresh", 0, 0, 7, 7);
	CHECK_INT(pair.diff.functions.len, 5);
	CHECK_INT(pair.diff.objects.len, 2);
	CHECK_STR(pair.diff.objects.data[1].name, "libx.so.2");
	vec_each(&pair.diff.tree.nodes, node)
		CHECK_INT(pair.diff.frames.data[node->frame].function, node->function);
	/* What only the base has has no frame of the new one. */
	for (uint32_t i = 1; i < pair.diff.tree.nodes.len; i++) {
		uint32_t frame = diff_tree_frame_of(MATCH_NEW, pair.diff.tree.nodes.data[i].frame);
		CHECK_INT(frame != 0, pair.weights[MATCH_NEW][i].samples != 0);
	}
	diff_pair_deinit(&pair);
}

/* What is made of trees can be made of it, by the weights of either side. */
TEST(diff_tree_in_focus)
{
	struct diff_pair pair;
	put_pair(&pair);
	struct focus focus;
	const uint64_t totals[MATCH_SIDES] = {6000000, 15000000};
	const size_t nr_callers[MATCH_SIDES] = {2, 1};
	for (int i = 0; i < MATCH_SIDES; i++) {
		uint32_t work = pair.diff.tree.nodes.data[node_of(&pair, ">main>work")].function;
		focus_init_function(&focus, &pair.diff.tree, pair.weights[i],
			pair.diff.functions.data, FOCUS_CALLERS, work);
		focus_expand(&focus, 0);
		CHECK_INT(focus.nodes.data[0].total, totals[i]);
		CHECK_INT(focus.nodes.len - 1, nr_callers[i]);
		focus_deinit(&focus);
	}
	diff_pair_deinit(&pair);
}

/* main calls `name`, which calls leaf, or has a part of its own do so. */
static void put_named(
	struct fixture *fixture, const char *name, unsigned self, unsigned below, bool has_part)
{
	uint32_t thread, object = fixture_begin(fixture, "x", &thread);
	uint32_t main = fixture_frame(fixture, object, 0x10, "main");
	uint32_t named = fixture_frame(fixture, object, 0x20, name);
	uint32_t leaf = fixture_frame(fixture, object, 0x30, "leaf");
	CLEANUP(str_deinit) struct str clone = {0};
	str_printf(&clone, "%s.part.0", name);
	uint32_t part = fixture_frame(fixture, object, 0x40, str_text(&clone));
	fixture_samples(fixture, thread, FIXTURE_STACK(fixture, main), 0, 1000 - self - below);
	fixture_samples(fixture, thread, FIXTURE_STACK(fixture, main, named), 0, self);
	if (has_part)
		fixture_samples(
			fixture, thread, FIXTURE_STACK(fixture, main, named, part, leaf), 0, below);
	else
		fixture_samples(
			fixture, thread, FIXTURE_STACK(fixture, main, named, leaf), 0, below);
}

/* What each calls is compared below its one name, clones and recursion and all. */
TEST(diff_tree_of_a_renamed_function)
{
	struct fixture base, new;
	struct diff_pair pair;
	put_named(&base, "before", 200, 100, true);
	put_named(&new, "after", 210, 90, true);
	pair_init_as(&pair, &base, &new, true);
	CHECK_INT(pair.diff.tree.nodes.len, 5);
	check(&pair, ">main", 700, 1000, 700, 1000);
	check(&pair, ">main>after, was before", 200, 300, 210, 300);
	uint32_t part = node_of(&pair, ">main>after, was before>after, was before");
	CHECK(pair.diff.tree.nodes.data[part].is_recursive);
	check(&pair, ">main>after, was before>after, was before>leaf", 100, 100, 90, 90);
	vec_each(&pair.diff.tree.nodes, node)
		CHECK_INT(pair.diff.frames.data[node->frame].function, node->function);
	uint32_t frame = diff_tree_frame_of(MATCH_NEW, pair.diff.tree.nodes.data[part].frame);
	CHECK_INT(diff_tree_frame_across(&pair.diff, MATCH_NEW, frame), 2); /* of before */
	CHECK_INT(diff_tree_frame_across(&pair.diff, MATCH_NEW, 0), 0);
	CHECK_INT(diff_tree_frame_across(&pair.diff, MATCH_NEW, UINT32_MAX / 4), 0);
	diff_pair_deinit(&pair);
}

/* As `diff` has it: what took another size is another function, and stacks know no renames. */
TEST(diff_tree_of_what_was_not_renamed)
{
	struct fixture base, new;
	struct diff_pair pair;
	put_named(&base, "before", 200, 100, false);
	put_named(&new, "after", 300, 100, false);
	pair_init_as(&pair, &base, &new, true);
	check(&pair, ">main>before>leaf", 100, 100, 0, 0);
	check(&pair, ">main>after>leaf", 0, 0, 100, 100);
	diff_pair_deinit(&pair);
	/* Of a thousand samples four may be chance, five are not. */
	for (unsigned i = 4; i <= 5; i++) {
		put_named(&base, "before", i, 0, false);
		put_named(&new, "after", i, 0, false);
		pair_init_as(&pair, &base, &new, true);
		CHECK_INT(pair.diff.tree.nodes.len, i == 4 ? 4 : 3);
		diff_pair_deinit(&pair);
	}
	put_named(&base, "before", 200, 100, false);
	put_named(&new, "after", 200, 100, false);
	pair_init(&pair, &base, &new);
	check(&pair, ">main>before", 200, 300, 0, 0);
	check(&pair, ">main>after", 0, 0, 200, 300);
	diff_pair_deinit(&pair);
}

TEST(diff_tree_marks_recursion_by_function)
{
	struct fixture base, new;
	uint32_t thread, object = fixture_begin(&base, "x", &thread);
	uint32_t f = fixture_frame(&base, object, 0x10, "f");
	uint32_t part = fixture_frame(&base, object, 0x20, "f.part.0");
	fixture_samples(&base, thread, FIXTURE_STACK(&base, f, part), 0, 1);
	object = fixture_begin(&new, "x", &thread);
	f = fixture_frame(&new, object, 0x10, "f");
	fixture_samples(&new, thread, FIXTURE_STACK(&new, f), 0, 1);
	struct diff_pair pair;
	pair_init(&pair, &base, &new);
	CHECK(!pair.diff.tree.nodes.data[node_of(&pair, ">f")].is_recursive);
	CHECK(pair.diff.tree.nodes.data[node_of(&pair, ">f>f")].is_recursive);
	check(&pair, ">f>f", 1, 1, 0, 0);
	diff_pair_deinit(&pair);
}

/* The mean shows what either side has, and does not ask how long it was recorded. */
TEST(diff_tree_mean_of_shares)
{
	struct diff_pair pair;
	put_pair(&pair);
	struct tree_weight *mean =
		diff_tree_mean(&pair.diff, pair.weights[MATCH_BASE], pair.weights[MATCH_NEW]);
	CHECK_INT(mean[0].total, DIFF_TREE_WHOLE);
	CHECK_INT(mean[0].self_samples, 2);
	CHECK_INT(mean[0].self, DIFF_TREE_WHOLE / 8); /* 2 of 8, and nothing */
	CHECK_INT(mean[node_of(&pair, ">main>gone")].total, DIFF_TREE_WHOLE / 8);
	CHECK_INT(mean[node_of(&pair, ">main>work>fresh")].total, 7 * (DIFF_TREE_WHOLE / 32));
	CHECK_INT(mean[node_of(&pair, ">main>work")].samples, 19);
	mem_free(mean);
	diff_pair_deinit(&pair);
}

/* main calls kept and, in the base, what was left out of it; all of the new one's others. */
TEST(diff_tree_compares_as_deep_as_a_baseline_goes)
{
	struct fixture base, new;
	uint32_t thread, object = fixture_begin(&base, "x", &thread);
	uint32_t main = fixture_frame(&base, object, 0x10, "main");
	uint32_t kept = fixture_frame(&base, object, 0x20, "kept");
	uint32_t leaf = fixture_frame(&base, object, 0x30, "leaf");
	uint32_t gone = fixture_frame(&base, object, 0x40, "gone");
	uint32_t mark = fixture_frame(&base, 0, LAYOUT_TRUNCATED_LEFT_OUT, NULL);
	fixture_samples(&base, thread, FIXTURE_STACK(&base, main, kept), 0, 4);
	fixture_samples(&base, thread, FIXTURE_STACK(&base, main, mark, leaf), 0, 3);
	fixture_samples(&base, thread, FIXTURE_STACK(&base, main, mark), 0, 1);
	fixture_samples(&base, thread, FIXTURE_STACK(&base, main, gone), 0, 2);
	object = fixture_begin(&new, "x", &thread);
	main = fixture_frame(&new, object, 0x10, "main");
	kept = fixture_frame(&new, object, 0x20, "kept");
	leaf = fixture_frame(&new, object, 0x30, "leaf");
	uint32_t rare = fixture_frame(&new, object, 0x50, "rare");
	fixture_samples(&new, thread, FIXTURE_STACK(&new, main, kept, rare), 0, 4);
	fixture_samples(&new, thread, FIXTURE_STACK(&new, main, rare, leaf), 0, 5);
	fixture_samples(&new, thread, FIXTURE_STACK(&new, main, leaf), 0, 2);
	struct diff_pair pair;
	pair_init(&pair, &base, &new);
	CHECK_STR(pair.diff.functions.data[pair.diff.left_out].name, DIFF_TREE_LEFT_OUT);
	check(&pair, ">main", 0, 10, 0, 11);
	check(&pair, ">main>kept", 4, 4, 0, 4);
	check(&pair, ">main>kept>rare", 0, 0, 4, 4); /* kept had no mark: it is new there */
	check(&pair, ">main>gone", 2, 2, 0, 0);      /* the new one has no mark */
	check(&pair, ">main>" DIFF_TREE_LEFT_OUT, 1, 4, 0, 7);
	check(&pair, ">main>" DIFF_TREE_LEFT_OUT ">leaf", 3, 3, 2, 2);
	check(&pair, ">main>" DIFF_TREE_LEFT_OUT ">rare>leaf", 0, 0, 5, 5);
	/* What stands below is neither more nor less. */
	const struct tree_weight *const sides[] = {pair.weights[0], pair.weights[1]};
	CLEANUP_FREE struct tree_weight *mean = diff_tree_mean(&pair.diff, sides[0], sides[1]);
	struct focus both;
	struct diff_focus focus;
	focus_init(&both, &pair.diff.tree, mean, pair.diff.functions.data, FOCUS_CALLEES);
	struct compare compare;
	compare_init(&compare, &pair.diff, sides[MATCH_BASE], sides[MATCH_NEW]);
	diff_focus_init(&focus, &pair.diff, &both, sides, &compare);
	bool is_whole;
	uint32_t node = focus_find(
		&both, node_of(&pair, ">main>" DIFF_TREE_LEFT_OUT ">rare>leaf"), &is_whole);
	CHECK(is_whole && diff_focus_row(&focus, node).is_cut);
	CHECK(diff_focus_row(&focus, both.nodes.data[node].parent).is_cut);
	node = focus_find(&both, node_of(&pair, ">main>" DIFF_TREE_LEFT_OUT), &is_whole);
	CHECK(is_whole && !diff_focus_row(&focus, node).is_cut);
	diff_focus_deinit(&focus);
	compare_deinit(&compare);
	focus_deinit(&both);
	diff_pair_deinit(&pair);
}

TEST(diff_tree_of_strangers_and_nothing)
{
	struct fixture base, new;
	uint32_t thread, object = fixture_begin(&base, "one", &thread);
	uint32_t f = fixture_frame(&base, object, 0x10, "f");
	fixture_samples(&base, thread, FIXTURE_STACK(&base, f), 0, 3);
	object = fixture_begin(&new, "two", &thread);
	f = fixture_frame(&new, object, 0x10, "f"); /* of another file */
	fixture_samples(&new, thread, FIXTURE_STACK(&new, f), 0, 1);
	struct diff_pair pair;
	pair_init(&pair, &base, &new);
	CHECK_INT(pair.diff.tree.nodes.len, 3);
	CHECK_INT(pair.weights[MATCH_BASE][0].samples, 3);
	diff_pair_deinit(&pair);
	fixture_begin(&base, "one", &thread);
	fixture_begin(&new, "one", &thread);
	pair_init(&pair, &base, &new);
	CHECK_INT(pair.diff.tree.nodes.len, 1);
	struct tree_weight *mean =
		diff_tree_mean(&pair.diff, pair.weights[MATCH_BASE], pair.weights[MATCH_NEW]);
	CHECK_INT(mean[0].total, 0);
	mem_free(mean);
	diff_pair_deinit(&pair);
}
