#include "report/tui/compare_model.h"

/* The tables are the diff's; nothing is ever added to them. */
#define BORROW(to, from) ((to).data = (from).data, (to).len = (from).len)

struct model_names *compare_names_create(
	const struct diff_tree_side *base, const struct diff_tree_side *new)
{
	struct model_names *names = mem_zalloc(sizeof(*names));
	struct diff_tree *diff = mem_zalloc(sizeof(*diff));
	diff_tree_init(diff, base, new);
	names->references = 1;
	names->diff = diff;
	names->tree = diff->tree;
	BORROW(names->functions, diff->functions);
	BORROW(names->objects, diff->objects);
	BORROW(names->frames, diff->frames);
	names->groups = mem_zalloc_array(diff->functions.len, sizeof(*names->groups));
	for (uint32_t i = 0; i < diff->functions.len; i++)
		names->groups[i] = i;
	return names;
}

struct model *compare_model_create(const struct model *model, struct model_names *names,
	struct tree_weight *const sides[MATCH_SIDES], const char *search)
{
	struct model *both = mem_zalloc(sizeof(*both));
	both->references = 1;
	both->wish_serial = model->wish_serial;
	both->profile = model->profile;
	both->names = model_names_hold(names);
	both->weights = diff_tree_mean(names->diff, sides[MATCH_BASE], sides[MATCH_NEW]);
	both->slice.whole = (struct slice_sum){both->weights->total, both->weights->samples};
	model_find_matches(both, search);
	return both;
}
