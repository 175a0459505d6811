/*
 * A flame graph as a picture: flame_svg.h, of all samples of the event with the most. With a
 * baseline it is one of differences.
 */
#include "report/diff_tree.h"
#include "report/export/export.h"
#include "report/export/flame_svg.h"

/* What the title says was recorded. */
static const char *title_of(const struct profile *profile)
{
	const char *command = profile_meta(profile, LAYOUT_META_COMMAND);
	const char *target = profile_meta(profile, LAYOUT_META_TARGET);
	const char *host = profile_meta(profile, LAYOUT_META_HOST);
	return command && command[0] ? command
	       : target && target[0] ? target
	       : host && host[0]     ? host
				     : "ebprof";
}

static void put_picture(const struct tree *tree, const struct tree_weight *weights,
	const struct profile_function *functions, struct flame_svg_options picture, struct str *out)
{
	struct focus focus;
	struct short_names names = {0};
	focus_init(&focus, tree, weights, functions, FOCUS_CALLEES);
	picture.names = &names;
	picture.whole = weights[0].total;
	flame_svg_put(&focus, &picture, out);
	short_names_deinit(&names);
	focus_deinit(&focus);
}

static struct tree_weight *weigh(
	const struct profile *profile, uint32_t event, const struct tree *tree)
{
	struct slice slice;
	slice_init(&slice, profile);
	vec_each(&profile->samples, sample)
		if (sample->event == event)
			slice_add(&slice, sample->stack, profile_sample_value(profile, sample));
	struct tree_weight *weights = tree_weigh(tree, &slice);
	slice_deinit(&slice);
	return weights;
}

static void put_one(const struct profile *profile, struct str *out)
{
	struct tree tree;
	tree_init(&tree, profile, &(struct tree_options){0});
	CLEANUP_FREE struct tree_weight *weights =
		weigh(profile, export_main_event(profile), &tree);
	struct flame_svg_options picture = {
		.title = title_of(profile),
		.objects = profile->objects.data,
		.frames = profile->frames.data,
	};
	put_picture(&tree, weights, profile->functions.data, picture, out);
	tree_deinit(&tree);
}

static struct err *put_both(
	const struct profile *profile, const struct export_baseline *baseline, struct str *out)
{
	const struct profile *profiles[] = {
		[MATCH_BASE] = baseline->profile, [MATCH_NEW] = profile};
	uint32_t events[MATCH_SIDES];
	struct tree trees[MATCH_SIDES];
	struct tree_weight *weights[MATCH_SIDES];
	struct diff_tree diff;
	try(export_common_event(
		profile, baseline->profile, &events[MATCH_NEW], &events[MATCH_BASE]));
	for (int i = 0; i < MATCH_SIDES; i++)
		tree_init(&trees[i], profiles[i], &(struct tree_options){0});
	diff_tree_init(&diff, &(struct diff_tree_side){profiles[MATCH_BASE], &trees[MATCH_BASE]},
		&(struct diff_tree_side){profiles[MATCH_NEW], &trees[MATCH_NEW]});
	for (int i = 0; i < MATCH_SIDES; i++) {
		CLEANUP_FREE struct tree_weight *own = weigh(profiles[i], events[i], &trees[i]);
		weights[i] = diff_tree_weigh(&diff, (enum match_side)i, own);
	}
	CLEANUP_FREE struct tree_weight *mean =
		diff_tree_mean(&diff, weights[MATCH_BASE], weights[MATCH_NEW]);
	struct flame_svg_diff colours = {
		baseline->name, baseline->profile_name, weights[MATCH_BASE], weights[MATCH_NEW]};
	struct flame_svg_options picture = {
		.title = title_of(profile),
		.objects = diff.objects.data,
		.frames = diff.frames.data,
		.diff = &colours,
	};
	put_picture(&diff.tree, mean, diff.functions.data, picture, out);
	for (int i = 0; i < MATCH_SIDES; i++) {
		mem_free(weights[i]);
		tree_deinit(&trees[i]);
	}
	diff_tree_deinit(&diff);
	return NULL;
}

struct err *export_svg(const struct profile *profile, const struct export_options *options,
	struct export_sink sink)
{
	CLEANUP(str_deinit) struct str out = {0};
	if (options->baseline)
		try(put_both(profile, options->baseline, &out));
	else
		put_one(profile, &out);
	return sink.write(sink.context, out.data, out.len);
}
