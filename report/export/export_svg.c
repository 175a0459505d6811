/* A flame graph as a picture: flame_svg.h, of all samples of the event with the most. */
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

struct err *export_svg(const struct profile *profile, const struct export_options *options,
	struct export_sink sink)
{
	(void)options;
	uint32_t event = export_main_event(profile);
	struct tree tree;
	struct slice slice;
	struct focus focus;
	struct short_names names = {0};
	CLEANUP(str_deinit) struct str out = {0};
	tree_init(&tree, profile, &(struct tree_options){0});
	slice_init(&slice, profile);
	vec_each(&profile->samples, sample)
		if (sample->event == event)
			slice_add(&slice, sample->stack, profile_sample_value(profile, sample));
	struct tree_weight *weights = tree_weigh(&tree, &slice);
	focus_init(&focus, &tree, weights, profile->functions.data, FOCUS_CALLEES);
	struct flame_svg_options picture = {
		.title = title_of(profile),
		.objects = profile->objects.data,
		.frames = profile->frames.data,
		.whole = slice.whole.value,
		.names = &names,
	};
	flame_svg_put(&focus, &picture, &out);
	short_names_deinit(&names);
	focus_deinit(&focus);
	mem_free(weights);
	slice_deinit(&slice);
	tree_deinit(&tree);
	return sink.write(sink.context, out.data, out.len);
}
