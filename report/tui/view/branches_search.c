/*
 * Going from match to match through a tree that is mostly not there: children are found when they
 * are wanted. Which nodes of the call tree lead to a match is marked once, for all, so that only
 * branches are entered that have one; from match to match it is a walk along a path.
 */
#include "report/tui/view/branches.h"

/* Of the callers' side: a match above. Of the callees': below, in what took time. */
static void mark_leads(struct branches *branches)
{
	const struct model *model = branches->model;
	const struct tree_node *nodes = model->names->tree.nodes.data;
	size_t count = model->names->tree.nodes.len;
	bool *leads = mem_zalloc_array(count, sizeof(*leads));
	if (branches->origin.direction == FOCUS_CALLEES) {
		for (size_t i = count; i-- > 1;)
			if (model->weights[i].total &&
				(leads[i] || model->matches[nodes[i].function]))
				leads[nodes[i].parent] = true;
	} else {
		for (size_t i = 1; i < count; i++) {
			uint32_t parent = nodes[i].parent;
			leads[i] = parent && i != branches->focus.top &&
				   (leads[parent] || model->matches[nodes[parent].function]);
		}
	}
	branches->leads = leads;
}

static bool branches_search_is_match(const struct branches *branches, uint32_t node)
{
	uint32_t function = branches_node(branches, node)->function;
	return function && branches->model->matches[function];
}

/* Whether there is a match below. */
static bool leads_to_match(const struct branches *branches, uint32_t node)
{
	const struct focus_node *it = branches_node(branches, node);
	for (size_t i = 0; i < it->nr_places; i++)
		if (branches->leads[branches->focus.places.data[it->first_place + i].node])
			return true;
	return false;
}

static bool is_of_use(const struct branches *branches, uint32_t node)
{
	return branches_search_is_match(branches, node) || leads_to_match(branches, node);
}

static uint32_t first_of_use(const struct branches *branches, uint32_t sibling)
{
	while (sibling && !is_of_use(branches, sibling))
		sibling = branches_node(branches, sibling)->next_sibling;
	return sibling;
}

/* Up to `end`, without it; 0: to the last. */
static uint32_t last_of_use(const struct branches *branches, uint32_t sibling, uint32_t end)
{
	uint32_t last = 0;
	for (; sibling != end; sibling = branches_node(branches, sibling)->next_sibling)
		if (is_of_use(branches, sibling))
			last = sibling;
	return last;
}

static uint32_t branches_search_children_of(struct branches *branches, uint32_t node)
{
	focus_expand(&branches->focus, node);
	return branches_node(branches, node)->first_child;
}

/* `node` or the first one below it; it must be of use. */
static uint32_t first_within(struct branches *branches, uint32_t node)
{
	while (node && !branches_search_is_match(branches, node))
		node = first_of_use(branches, branches_search_children_of(branches, node));
	return node ? node : BRANCH_NONE;
}

static uint32_t last_within(struct branches *branches, uint32_t node)
{
	for (;;) {
		bool is_worth_it = node == branches->top || leads_to_match(branches, node);
		uint32_t child = is_worth_it
					 ? last_of_use(branches,
						   branches_search_children_of(branches, node), 0)
					 : 0;
		if (!child)
			return branches_search_is_match(branches, node) ? node : BRANCH_NONE;
		node = child;
	}
}

static bool can_search(struct branches *branches)
{
	if (branches->top == BRANCH_NONE || !branches->model->matches)
		return false;
	if (!branches->leads)
		mark_leads(branches);
	return true;
}

static bool is_top_match(const struct branches *branches)
{
	return branches_shows_top(branches) && branches_search_is_match(branches, branches->top);
}

uint32_t branches_next_match(struct branches *branches, uint32_t from)
{
	if (!can_search(branches))
		return BRANCH_NONE;
	if (from == BRANCH_NONE && is_top_match(branches))
		return branches->top;
	if (from == BRANCH_NONE)
		from = branches->top;
	if (from == branches->top || leads_to_match(branches, from)) {
		uint32_t child =
			first_of_use(branches, branches_search_children_of(branches, from));
		if (child)
			return first_within(branches, child);
	}
	while (from != branches->top) {
		uint32_t sibling =
			first_of_use(branches, branches_node(branches, from)->next_sibling);
		if (sibling)
			return first_within(branches, sibling);
		from = branches_node(branches, from)->parent;
	}
	return BRANCH_NONE;
}

uint32_t branches_previous_match(struct branches *branches, uint32_t from)
{
	if (!can_search(branches))
		return BRANCH_NONE;
	if (from == BRANCH_NONE) {
		uint32_t last = last_within(branches, branches->top);
		return last == branches->top && !is_top_match(branches) ? BRANCH_NONE : last;
	}
	while (from != branches->top) {
		uint32_t parent = branches_node(branches, from)->parent;
		uint32_t sibling =
			last_of_use(branches, branches_node(branches, parent)->first_child, from);
		if (sibling)
			return last_within(branches, sibling);
		from = parent;
		if (from == branches->top ? is_top_match(branches)
					  : branches_search_is_match(branches, from))
			return from;
	}
	return BRANCH_NONE;
}
