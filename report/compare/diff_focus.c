#include "report/compare/diff_focus.h"

#include "format/base/map.h"

void diff_focus_init(struct diff_focus *focus, const struct diff_tree *diff, struct focus *both,
	const struct tree_weight *const sides[MATCH_SIDES], const struct compare *compare)
{
	*focus = (struct diff_focus){.both = both, .diff = diff, .compare = compare};
	for (int side = 0; side < MATCH_SIDES; side++)
		focus_init(&focus->sides[side], both->tree, sides[side], both->functions,
			both->direction);
	vec_push(&focus->twins, (struct diff_twins){{1, 1}, true});
}

void diff_focus_deinit(struct diff_focus *focus)
{
	for (int side = 0; side < MATCH_SIDES; side++)
		focus_deinit(&focus->sides[side]);
	vec_deinit(&focus->twins);
	*focus = (struct diff_focus){0};
}

/* All children of a node whose own twins are known. */
static void find_twins(struct diff_focus *focus, uint32_t parent)
{
	const struct focus_node *nodes = focus->both->nodes.data;
	if (focus->twins.len < focus->both->nodes.len)
		vec_resize(&focus->twins, focus->both->nodes.len);
	struct map children = {0}; /* of a side, by function: node + 1 */
	for (int side = 0; side < MATCH_SIDES; side++) {
		struct focus *of = &focus->sides[side];
		uint32_t twin = focus->twins.data[parent].nodes[side];
		map_clear(&children);
		if (twin)
			focus_expand(of, twin - 1);
		for (uint32_t at = twin ? of->nodes.data[twin - 1].first_child : 0; at;
			at = of->nodes.data[at].next_sibling)
			*map_put(&children, of->nodes.data[at].function, NULL) = at + 1;
		for (uint32_t at = nodes[parent].first_child; at; at = nodes[at].next_sibling) {
			const uint64_t *found = map_get(&children, nodes[at].function);
			focus->twins.data[at].nodes[side] = found ? (uint32_t)*found : 0;
			focus->twins.data[at].is_found = true;
		}
	}
	map_deinit(&children);
}

static bool is_found(const struct diff_focus *focus, uint32_t node)
{
	return node < focus->twins.len && focus->twins.data[node].is_found;
}

static void diff_focus_put_value(const struct focus_node *node, struct compare_value *ret)
{
	ret->self = node->self;
	ret->total = node->total;
	ret->samples = node->samples;
}

/* Callers of what was left out are not known; of callees those below a mark. */
static bool is_cut(const struct diff_focus *focus, uint32_t node)
{
	const struct focus_node *nodes = focus->both->nodes.data;
	uint32_t left_out = focus->diff->left_out;
	if (!node || !left_out)
		return false;
	if (focus->both->direction == FOCUS_CALLERS)
		return true;
	while ((node = nodes[node].parent))
		if (nodes[node].function == left_out)
			return true;
	return false;
}

static void diff_focus_put_change(
	const struct diff_focus *focus, uint32_t node, struct compare_row *row)
{
	const struct focus_node *nodes = focus->both->nodes.data;
	bool is_inverted = focus->both->direction == FOCUS_CALLERS;
	bool is_weighted = focus->compare->judged && focus->compare->judged->is_weighted;
	while (is_inverted && nodes[node].parent)
		node = nodes[node].parent;
	const struct compare_row *function = compare_row_of(focus->compare, nodes[node].function);
	if (function)
		row->changes[COMPARE_TOTAL] = compare_change_of_part(
			&function->changes[is_inverted ? COMPARE_SELF : COMPARE_TOTAL],
			is_weighted ? row->base.total : row->base.samples,
			is_weighted ? row->new.total : row->new.samples);
}

struct compare_row diff_focus_row(struct diff_focus *focus, uint32_t node)
{
	const struct focus_node *nodes = focus->both->nodes.data;
	VEC(uint32_t) path = {0}; /* from the node up to one whose children's twins are known */
	for (uint32_t at = node; !is_found(focus, at); at = nodes[at].parent)
		vec_push(&path, nodes[at].parent);
	while (path.len)
		find_twins(focus, path.data[--path.len]);
	vec_deinit(&path);
	struct compare_row row = {.is_cut = is_cut(focus, node)};
	const uint32_t *twins = focus->twins.data[node].nodes;
	if (twins[MATCH_BASE])
		diff_focus_put_value(
			&focus->sides[MATCH_BASE].nodes.data[twins[MATCH_BASE] - 1], &row.base);
	if (twins[MATCH_NEW])
		diff_focus_put_value(
			&focus->sides[MATCH_NEW].nodes.data[twins[MATCH_NEW] - 1], &row.new);
	diff_focus_put_change(focus, node, &row);
	return row;
}
