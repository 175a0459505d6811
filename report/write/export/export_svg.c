/*
 * A flame graph as a picture: flame_svg.h, of all samples of the event with the most. With a
 * baseline it is one of differences.
 */
#include "report/compare/diff_tree.h"
#include "report/model/main_event.h"
#include "report/name/namesakes.h"
#include "report/write/cut_stacks.h"
#include "report/write/export/export.h"
#include "report/write/export/flame_svg.h"

static void put_picture(struct focus *focus, struct flame_svg_options picture, struct str *out)
{
	picture.whole = focus->nodes.data[0].total;
	flame_svg_put(focus, &picture, out);
}

static struct tree_weight *svg_weigh(
	const struct profile *profile, uint32_t event, const struct tree *tree)
{
	struct slice slice;
	slice_init_event(&slice, profile, event);
	struct tree_weight *weights = tree_weigh(tree, &slice);
	slice_deinit(&slice);
	return weights;
}

static void svg_put_one(const struct profile *profile, struct str *out)
{
	struct tree tree;
	CLEANUP_FREE uint32_t *groups =
		namesakes_group(profile->functions.data, profile->functions.len);
	tree_init(&tree, profile, &(struct tree_options){.groups = groups});
	CLEANUP_FREE struct tree_weight *weights =
		svg_weigh(profile, main_event_of(profile), &tree);
	CLEANUP(str_deinit) struct str note = {0};
	cut_stacks_put_sentence(profile, &note);
	struct flame_svg_options picture = {
		.title = profile_title(profile),
		.event = main_event_name_of(profile, main_event_of(profile)),
		.note = note.len ? str_text(&note) : NULL,
		.objects = profile->objects.data,
		.nr_functions = profile->functions.len,
		.frames = profile->frames.data,
	};
	struct focus focus;
	focus_init(&focus, &tree, weights, profile->functions.data, FOCUS_CALLEES);
	put_picture(&focus, picture, out);
	focus_deinit(&focus);
	tree_deinit(&tree);
}

/* As wide as the mean of both. */
static void put_diff(const struct diff_tree *diff, const struct diff_source sources[MATCH_SIDES],
	struct tree_weight *const weights[MATCH_SIDES], const struct export_baseline *names,
	struct str *out)
{
	const struct tree_weight *const sides[] = {weights[MATCH_BASE], weights[MATCH_NEW]};
	struct compare compare;
	compare_init(&compare, diff, sides[MATCH_BASE], sides[MATCH_NEW]);
	compare_judge(&compare, diff, sources,
		names->judging); /* else nothing is known to have changed */
	CLEANUP_FREE struct tree_weight *mean = diff_tree_mean(diff, sides[0], sides[1]);
	struct focus both;
	struct diff_focus focus;
	focus_init(&both, &diff->tree, mean, diff->functions.data, FOCUS_CALLEES);
	diff_focus_init(&focus, diff, &both, sides, &compare);
	struct flame_svg_diff colours = {
		.base_name = names->name,
		.new_name = names->profile_name,
		.wholes = compare.wholes,
		.focus = &focus,
	};
	struct flame_svg_options picture = {
		.title = profile_title(sources[MATCH_NEW].profile),
		.objects = diff->objects.data,
		.nr_functions = diff->functions.len,
		.frames = diff->frames.data,
		.diff = &colours,
	};
	put_picture(&both, picture, out);
	diff_focus_deinit(&focus);
	focus_deinit(&both);
	compare_deinit(&compare);
}

static struct err *put_both(
	const struct profile *profile, const struct export_baseline *baseline, struct str *out)
{
	const struct profile *profiles[] = {
		[MATCH_BASE] = baseline->profile, [MATCH_NEW] = profile};
	uint32_t events[MATCH_SIDES];
	struct tree trees[MATCH_SIDES];
	struct tree_weight *own[MATCH_SIDES], *weights[MATCH_SIDES];
	struct diff_tree_side sides[MATCH_SIDES];
	struct diff_source sources[MATCH_SIDES];
	struct diff_tree diff;
	try(main_event_of_both(
		profile, baseline->profile, &events[MATCH_NEW], &events[MATCH_BASE]));
	for (int i = 0; i < MATCH_SIDES; i++) {
		tree_init(&trees[i], profiles[i], &(struct tree_options){0});
		own[i] = svg_weigh(profiles[i], events[i], &trees[i]);
		sides[i] = (struct diff_tree_side){profiles[i], &trees[i], own[i]};
		sources[i] = (struct diff_source){profiles[i], &trees[i], NULL, events[i]};
	}
	diff_tree_init(&diff, &sides[MATCH_BASE], &sides[MATCH_NEW]);
	for (int i = 0; i < MATCH_SIDES; i++)
		weights[i] = diff_tree_weigh(&diff, (enum match_side)i, own[i]);
	put_diff(&diff, sources, weights, baseline, out);
	for (int i = 0; i < MATCH_SIDES; i++) {
		mem_free(own[i]);
		mem_free(weights[i]);
		tree_deinit(&trees[i]);
	}
	diff_tree_deinit(&diff);
	return NULL;
}

struct err *export_svg(
	const struct profile *profile, const struct export_options *options, struct byte_sink sink)
{
	CLEANUP(str_deinit) struct str out = {0};
	if (options->baseline)
		try(put_both(profile, options->baseline, &out));
	else
		svg_put_one(profile, &out);
	return sink.write(sink.context, out.data, out.len);
}
