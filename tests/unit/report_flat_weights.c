#include "report/analyse/flat_weights.h"

#include <stdlib.h>

#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

static int by_function(const void *a, const void *b)
{
	const struct function_weight *x = a, *y = b;
	return x->function < y->function ? -1 : x->function > y->function;
}

static void sort(struct function_weights *weights)
{
	qsort(weights->data, weights->len, sizeof(*weights->data), by_function);
}

static void want_weights(
	const struct profile *profile, const struct tree_options *options, const char *name)
{
	struct slice slice;
	struct tree tree;
	struct function_weights flat = {0}, want;
	slice_init_all(&slice, profile);
	tree_init(&tree, profile, options);
	CLEANUP_FREE struct tree_weight *weights = tree_weigh(&tree, &slice);
	tree_weigh_functions(&tree, weights, profile->frames.data, profile->functions.len, &want);
	CHECK(flat_weigh_functions(profile, options, &slice, &flat));
	sort(&want);
	sort(&flat);
	CHECK_INT(flat.len, want.len);
	for (size_t i = 0; i < want.len && i < flat.len; i++) {
		const struct function_weight *a = &flat.data[i], *b = &want.data[i];
		const char *function = profile->functions.data[b->function].name;
		if (a->function != b->function || a->self != b->self || a->total != b->total ||
			a->self_samples != b->self_samples || a->samples != b->samples)
			CHECK_STR(name, function);
	}
	vec_deinit(&flat);
	vec_deinit(&want);
	tree_deinit(&tree);
	slice_deinit(&slice);
}

struct stacks {
	struct fixture fixture;
	uint32_t user, kernel, thread;
};

static void begin(struct stacks *stacks)
{
	struct fixture *fixture = &stacks->fixture;
	fixture_init(fixture);
	stacks->user = fixture_object(fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	stacks->kernel = fixture_object(fixture, LAYOUT_OBJECT_KERNEL, "[kernel]");
	stacks->thread = fixture_thread(fixture, fixture_process(fixture, 10, 0), 10, "app");
}

/* Recursion, one function at several addresses, the kernel's part, a cut stack, none at all. */
static struct profile *mixed_profile(void)
{
	struct stacks stacks;
	begin(&stacks);
	struct fixture *fixture = &stacks.fixture;
	uint32_t main = fixture_frame(fixture, stacks.user, 0x10, "main");
	uint32_t walk = fixture_frame(fixture, stacks.user, 0x20, "walk");
	uint32_t again = fixture_frame(fixture, stacks.user, 0x28, NULL);
	uint32_t leaf = fixture_frame(fixture, stacks.user, 0x40, "leaf");
	uint32_t read = fixture_frame(fixture, stacks.kernel, 0x50, "sys_read");
	uint32_t copy = fixture_frame(fixture, stacks.kernel, 0x60, "copy");
	uint32_t cut = fixture_frame(fixture, 0, LAYOUT_TRUNCATED_DEPTH, NULL);
	uint32_t in_walk = FIXTURE_STACK(fixture, main, walk);
	uint32_t in_leaf = FIXTURE_STACK(fixture, main, walk, again, walk, leaf);
	uint32_t in_again = FIXTURE_STACK(fixture, main, again, leaf, walk);
	uint32_t in_cut = FIXTURE_STACK(fixture, cut, leaf);
	uint32_t in_read = FIXTURE_STACK(fixture, read);
	uint32_t in_copy = FIXTURE_STACK(fixture, read, copy, read);
	fixture_samples(fixture, stacks.thread, in_walk, 0, 1);
	fixture_samples(fixture, stacks.thread, in_leaf, 0, 2);
	fixture_samples(fixture, stacks.thread, in_again, 0, 4);
	fixture_samples(fixture, stacks.thread, in_cut, 0, 8);
	fixture_samples(fixture, stacks.thread, in_walk, in_read, 16);
	fixture_samples(fixture, stacks.thread, in_leaf, in_copy, 32);
	fixture_samples(fixture, stacks.thread, 0, in_read, 64);
	fixture_samples(fixture, stacks.thread, 0, 0, 128);
	fixture_samples(fixture, stacks.thread, in_cut, in_copy, 256);
	return fixture_profile(fixture);
}

TEST(functions_weigh_as_in_the_tree)
{
	struct profile *profile = mixed_profile();
	struct tree_options options = {0};
	want_weights(profile, &options, "as they are");
	CLEANUP_FREE uint32_t *groups = mem_zalloc_array(profile->functions.len, sizeof(*groups));
	for (uint32_t i = 1; i < profile->functions.len; i++)
		groups[i] = i;
	groups[profile->frames.data[3].function] = profile->frames.data[2].function;
	options.groups = groups;
	want_weights(profile, &options, "in groups");
	profile_destroy(profile);
}

/* leaf in walk in main, at the address of main. */
TEST(inlined_functions_weigh_as_in_the_tree)
{
	struct profile *profile = mixed_profile();
	struct profile_frame inlined[] = {profile->frames.data[4], profile->frames.data[2]};
	uint32_t first = (uint32_t)profile->frames.len;
	inlined[0].outer = first + 1;
	inlined[1].outer = 1;
	vec_append(&profile->frames, inlined, 2);
	profile->frames.data[1].innermost = first;
	want_weights(profile, &(struct tree_options){0}, "inlined");
	want_weights(profile, &(struct tree_options){.hides_inlined = true}, "hidden");
	profile_destroy(profile);
}

TEST(a_function_of_both_parts_needs_the_tree)
{
	struct stacks stacks;
	begin(&stacks);
	struct fixture *fixture = &stacks.fixture;
	uint32_t main = fixture_frame(fixture, stacks.user, 0x10, "main");
	uint32_t both = fixture_frame(fixture, stacks.user, 0x20, "both");
	fixture_samples(fixture, stacks.thread, FIXTURE_STACK(fixture, main, both),
		FIXTURE_STACK(fixture, both), 1);
	struct profile *profile = fixture_profile(fixture);
	struct slice slice;
	struct function_weights flat = {0};
	slice_init_all(&slice, profile);
	CHECK(!flat_weigh_functions(profile, &(struct tree_options){0}, &slice, &flat));
	CHECK_INT(flat.len, 0);
	slice_deinit(&slice);
	profile_destroy(profile);
}
