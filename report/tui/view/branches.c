#include "report/tui/view/branches.h"

#include "report/tui/model_path.h"

void branches_deinit(struct branches *branches)
{
	focus_deinit(&branches->focus);
	model_release(branches->model);
	vec_deinit(&branches->marks);
	vec_deinit(&branches->marks_of);
	vec_deinit(&branches->lines);
	mem_free(branches->leads);
	*branches = (struct branches){0};
}

/* ---- nodes ---- */

const struct focus_node *branches_node(const struct branches *branches, uint32_t node)
{
	return &branches->focus.nodes.data[node];
}

bool branches_shows_top(const struct branches *branches)
{
	return !branches->hides_root && branches->top != BRANCH_NONE &&
	       branches_node(branches, branches->top)->function;
}

uint32_t branches_level(const struct branches *branches, uint32_t node)
{
	uint32_t depth = 0;
	for (uint32_t at = node; at && at != branches->top; depth++)
		at = branches_node(branches, branches_first_in_row(branches, at))->parent;
	bool is_root_seen = branches->hides_root || branches_shows_top(branches);
	return is_root_seen || !depth ? depth : depth - 1;
}

static struct branch_mark *branches_mark_of(const struct branches *branches, uint32_t node)
{
	uint32_t mark = node < branches->marks_of.len ? branches->marks_of.data[node] : 0;
	return mark || !node ? &branches->marks.data[mark] : NULL;
}

/* ---- nodes that share a row ---- */

/* Expands the node, which changes nothing that is seen. */
static uint32_t branches_only_child(const struct branches *branches, uint32_t node)
{
	return focus_only_child((struct focus *)&branches->focus, node);
}

static bool is_inlined_into_parent(const struct branches *branches, uint32_t node)
{
	uint32_t parent = branches_node(branches, node)->parent;
	return node != branches->top && parent != branches->top && parent &&
	       branches_is_inlined(branches, parent) &&
	       branches_only_child(branches, parent) == node;
}

/*
 * The only child, where it belongs into the row of the node; 0: it has a row of its own. Inlined
 * functions share rows with their like alone.
 */
static uint32_t branches_linked_child(const struct branches *branches, uint32_t node)
{
	bool is_group =
		branches->focus.tree->has_groups && branches_node(branches, node)->depth == 1;
	if (!branches->origin.folds || !node || node == branches->top || is_group)
		return 0;
	uint32_t child = branches_only_child(branches, node);
	bool is_inlined = branches_is_inlined(branches, node);
	if (!child || (is_inlined && branches_is_inlined(branches, child)))
		return child;
	bool is_in_chain = branches->origin.folds == BRANCH_FOLDS_CHAINS &&
			   !(is_inlined && is_inlined_into_parent(branches, node));
	uint32_t next = is_in_chain && branches_is_inlined(branches, child)
				? branches_only_child(branches, child)
				: 0;
	return is_in_chain && !(next && branches_is_inlined(branches, next)) ? child : 0;
}

/* The same, as it is shown. */
static uint32_t branches_next_in_row(const struct branches *branches, uint32_t node)
{
	const struct branch_mark *mark = branches_mark_of(branches, node);
	return mark && mark->is_unfolded ? 0 : branches_linked_child(branches, node);
}

uint32_t branches_first_in_row(const struct branches *branches, uint32_t node)
{
	while (node && node != branches->top) {
		uint32_t parent = branches_node(branches, node)->parent;
		if (branches_next_in_row(branches, parent) != node)
			break;
		node = parent;
	}
	return node;
}

uint32_t branches_row(const struct branches *branches, uint32_t node)
{
	for (uint32_t next; (next = branches_next_in_row(branches, node));)
		node = next;
	return node;
}

size_t branches_nodes_in_row(const struct branches *branches, uint32_t row)
{
	uint32_t first = branches_first_in_row(branches, row);
	return branches_node(branches, row)->depth - branches_node(branches, first)->depth + 1;
}

bool branches_is_inlined_row(const struct branches *branches, uint32_t row)
{
	uint32_t first = branches_first_in_row(branches, row);
	return first != row && branches_is_inlined(branches, first) &&
	       branches_is_inlined(branches, row);
}

bool branches_is_open(const struct branches *branches, uint32_t node)
{
	const struct branch_mark *mark = branches_mark_of(branches, node);
	return node == branches->top || (mark && mark->is_open) ||
	       branches_next_in_row(branches, node);
}

static bool has_caller(const struct focus *focus, const struct focus_place *place)
{
	uint32_t outermost = focus_outermost_place(focus, place->node);
	return place->node != focus->top && focus->tree->nodes.data[outermost].parent;
}

bool branches_has_children(const struct branches *branches, uint32_t node)
{
	const struct focus *focus = &branches->focus;
	const struct focus_node *it = branches_node(branches, node);
	if (it->is_expanded)
		return it->first_child;
	if (focus->direction == FOCUS_CALLEES)
		return it->total > it->self;
	for (size_t i = 0; i < it->nr_places; i++)
		if (has_caller(focus, &focus->places.data[it->first_place + i]))
			return true;
	return false;
}

bool branches_is_inlined(const struct branches *branches, uint32_t node)
{
	return branches->model->names->frames.data[branches_node(branches, node)->frame].outer;
}

uint32_t branches_levels(const struct branches *branches, uint32_t node)
{
	uint32_t levels = branches_node(branches, node)->levels;
	return levels ? levels : 1; /* of a root there may be no count */
}

static bool calls_itself(const struct branches *branches, uint32_t node)
{
	const struct focus_node *it = branches_node(branches, node);
	return node && branches_node(branches, it->parent)->function == it->function;
}

bool branches_is_level(struct branches *branches, uint32_t node)
{
	uint32_t function = branches_node(branches, node)->function;
	return branches->origin.merges_recursion && branches->shows_recursion &&
	       (calls_itself(branches, node) || focus_child(&branches->focus, node, function));
}

uint32_t branches_place(const struct branches *branches, uint32_t node)
{
	const struct focus_node *it = branches_node(branches, node);
	return it->nr_places == 1 ? branches->focus.places.data[it->first_place].node : 0;
}

uint32_t branches_child(struct branches *branches, uint32_t node, uint32_t function)
{
	uint32_t child = focus_child(&branches->focus, node, function);
	return child ? child : BRANCH_NONE;
}

/* ---- marks ---- */

/* Of a node whose parent has one. */
static uint32_t add_mark(struct branches *branches, uint32_t node)
{
	const struct focus_node *it = branches_node(branches, node);
	if (branches->marks.len >= BRANCH_MARKS)
		return 0;
	if (branches->marks_of.len <= node)
		vec_resize(&branches->marks_of, branches->focus.nodes.len);
	struct branch_mark mark = {
		.parent = it->parent ? branches->marks_of.data[it->parent] : 0,
		.frame = it->frame,
		.node = node,
	};
	vec_push(&branches->marks, mark);
	return branches->marks_of.data[node] = (uint32_t)branches->marks.len - 1;
}

uint32_t branches_mark(struct branches *branches, uint32_t node)
{
	CLEANUP_FREE uint32_t *path = NULL; /* of those that have none */
	uint32_t depth = branches_node(branches, node)->depth, count = 0;
	for (uint32_t at = node; !branches_mark_of(branches, at);
		at = branches_node(branches, at)->parent) {
		if (!path)
			path = mem_zalloc_array(depth, sizeof(*path));
		path[count++] = at;
	}
	while (count)
		if (!add_mark(branches, path[--count]))
			return 0;
	return node ? branches->marks_of.data[node] : 0;
}

static bool is_visible(const struct branches *branches, uint32_t node)
{
	for (uint32_t at = node; at != branches->top;) {
		if (!at)
			return false;
		at = branches_node(branches, at)->parent;
		if (!branches_is_open(branches, at))
			return false;
	}
	return true;
}

uint32_t branches_marked(const struct branches *branches, uint32_t mark)
{
	for (uint32_t at = mark; at; at = branches->marks.data[at].parent) {
		uint32_t node = branches->marks.data[at].node;
		if (node != BRANCH_NONE && is_visible(branches, node))
			return node;
	}
	return branches->top;
}

void branches_forget(struct branches *branches)
{
	branches->marks.len = branches->marks_of.len = 0;
	branches->shows_recursion = false;
	vec_push(&branches->marks, (struct branch_mark){.is_open = true});
}

/* Those that are open, or of the node, and what leads to them: the others tell nothing. */
static bool *find_needed_marks(
	const struct branches *branches, uint32_t kept, const struct renewal *renewal)
{
	bool *needed = mem_zalloc_array(branches->marks.len, sizeof(*needed));
	needed[0] = needed[kept] = true;
	for (uint32_t i = (uint32_t)branches->marks.len; i-- > 1;) {
		const struct branch_mark *mark = &branches->marks.data[i];
		needed[i] |= mark->is_open || mark->is_unfolded;
		needed[mark->parent] |= needed[i];
	}
	for (uint32_t i = 1; i < branches->marks.len; i++) {
		struct branch_mark *mark = &branches->marks.data[i];
		mark->frame = renewal_frame(renewal, mark->frame);
		needed[i] &= mark->frame && needed[mark->parent];
	}
	return needed;
}

static void keep_marks(struct branches *branches, const bool *needed)
{
	CLEANUP_FREE uint32_t *places = mem_zalloc_array(branches->marks.len, sizeof(*places));
	uint32_t kept = 0;
	for (uint32_t i = 0; i < branches->marks.len; i++) {
		struct branch_mark mark = branches->marks.data[i];
		if (!needed[i])
			continue;
		mark.parent = places[mark.parent];
		places[i] = kept;
		branches->marks.data[kept++] = mark;
	}
	branches->marks.len = kept;
	vec_each(&branches->marks_of, mark)
		*mark = places[*mark];
}

uint32_t branches_renew(struct branches *branches, uint32_t node, const struct renewal *renewal)
{
	if (!branches->marks.len)
		return 0;
	CLEANUP_FREE bool *needed =
		find_needed_marks(branches, branches_mark(branches, node), renewal);
	keep_marks(branches, needed);
	while (node && !branches_mark_of(branches, node))
		node = branches_node(branches, node)->parent;
	return node;
}

/*
 * Finds the marks' nodes in a focus that is new. Two that have become one, since their functions
 * turned out to be the same, are open when either was.
 */
struct placing {
	struct branches *branches;
	unsigned inlined_left; /* so many inlined functions may be looked into */
	struct map children;   /* node << 32 | function -> child, of all nodes with marks below */
};

static void learn_children(struct placing *placing, uint32_t node)
{
	bool added;
	*map_put(&placing->children, (uint64_t)node << 32, &added) = node;
	if (!added)
		return;
	focus_expand(&placing->branches->focus, node);
	const struct focus_node *nodes = placing->branches->focus.nodes.data;
	for (uint32_t at = nodes[node].first_child; at; at = nodes[at].next_sibling)
		*map_put(&placing->children, (uint64_t)node << 32 | nodes[at].function, NULL) = at;
}

/*
 * The child of `node` for a function; or it is called by something that, as is known now, was
 * inlined into the node's function: then what stands between is open, too. 0: neither.
 */
static uint32_t branches_find_child(
	struct placing *placing, uint32_t node, uint32_t function, int levels)
{
	struct branches *branches = placing->branches;
	learn_children(placing, node);
	const uint64_t *child = map_get(&placing->children, (uint64_t)node << 32 | function);
	if (child || !levels)
		return child ? (uint32_t)*child : 0;
	for (uint32_t at = branches_node(branches, node)->first_child; at;
		at = branches_node(branches, at)->next_sibling) {
		if (!placing->inlined_left || !branches_is_inlined(branches, at))
			continue;
		placing->inlined_left--;
		uint32_t below = branches_find_child(placing, at, function, levels - 1);
		if (below && branches_open(branches, at))
			return below;
	}
	return 0;
}

/* Where native frames are hidden, that of a script is called by the nearest that is seen. */
static uint32_t seen_parent(const struct branches *branches, const struct branch_mark *mark)
{
	const struct branch_mark *marks = branches->marks.data;
	uint32_t parent = mark->parent;
	const struct model *model = branches->model;
	bool has_hidden = model->names->hides_native && model_path_is_script(model, mark->frame);
	while (has_hidden && parent && !model_path_is_script(model, marks[parent].frame))
		parent = marks[parent].parent;
	return parent;
}

static void place_mark(struct placing *placing, uint32_t index)
{
	enum {
		INLINED_LEVELS = 8
	};
	struct branches *branches = placing->branches;
	struct branch_mark *mark = &branches->marks.data[index];
	uint32_t parent = branches->marks.data[seen_parent(branches, mark)].node;
	mark->node = BRANCH_NONE;
	uint32_t function = model_function_of(branches->model, mark->frame);
	if (parent == BRANCH_NONE || !function)
		return;
	/* Only callees: to their callers, inlined functions come ahead of what they are in. */
	bool is_down = branches->origin.direction == FOCUS_CALLEES;
	uint32_t child =
		branches_find_child(placing, parent, function, is_down ? INLINED_LEVELS : 0);
	if (!child)
		return;
	mark = &branches->marks.data[index]; /* there may be more of them now */
	mark->node = child;
	if (branches->marks_of.len <= mark->node)
		vec_resize(&branches->marks_of, branches->focus.nodes.len);
	uint32_t *known = &branches->marks_of.data[mark->node];
	if (*known && *known != index) {
		branches->marks.data[*known].is_open |= mark->is_open;
		branches->marks.data[*known].is_unfolded |= mark->is_unfolded;
		mark->is_open = mark->is_unfolded = false;
	} else {
		*known = index;
	}
}

static void place_marks(struct branches *branches)
{
	struct placing placing = {.branches = branches, .inlined_left = 4096};
	branches->marks_of.len = 0;
	for (uint32_t i = 1; i < branches->marks.len; i++)
		place_mark(&placing, i);
	for (uint32_t i = 1; i < branches->marks.len; i++)
		if (branches->marks.data[i].is_open && branches->marks.data[i].node != BRANCH_NONE)
			focus_expand(&branches->focus, branches->marks.data[i].node);
	map_deinit(&placing.children);
}

/* ---- what is looked at ---- */

static void begin_focus(struct branches *branches)
{
	const struct model *model = branches->model;
	const struct branches_origin *origin = &branches->origin;
	const struct tree *tree = &model->names->tree;
	const struct profile_function *functions = model->names->functions.data;
	focus_deinit(&branches->focus);
	if (origin->function)
		focus_init_function(&branches->focus, tree, model->weights, functions,
			origin->direction, origin->function);
	else if (origin->node && origin->direction == FOCUS_CALLERS)
		focus_init_leaves(&branches->focus, tree, model->weights, functions, origin->node);
	else
		focus_init(&branches->focus, tree, model->weights, functions, origin->direction);
	if (origin->merges_recursion && !branches->shows_recursion)
		focus_merge_recursion(&branches->focus);
	branches->focus.rank = origin->rank;
	branches->focus.rank_context = origin->rank_context;
}

uint32_t branches_find_place(struct branches *branches, uint32_t place)
{
	bool is_whole;
	uint32_t node = focus_find(&branches->focus, place, &is_whole);
	for (uint32_t at = node; at != branches->top; at = branches_node(branches, at)->parent)
		if (!at) /* it is beside the top */
			return branches->top;
	return node;
}

void branches_set(struct branches *branches, struct model *model,
	const struct branches_origin *origin, bool hides_root)
{
	model_hold(model);
	model_release(branches->model);
	branches->model = model;
	branches->origin = *origin;
	branches->hides_root = hides_root;
	mem_free(steal_ptr(branches->leads));
	if (!branches->marks.len)
		branches_forget(branches);
	begin_focus(branches);
	place_marks(branches);
	bool is_whole = true;
	branches->top = 0;
	if (origin->node && !origin->function && origin->direction == FOCUS_CALLEES)
		branches->top = focus_find(&branches->focus, origin->node, &is_whole);
	if (!is_whole)
		branches->top = BRANCH_NONE;
	branches_list(branches);
}

void branches_zoom(struct branches *branches, uint32_t node)
{
	branches->top = node;
	branches_list(branches);
}

/* ---- opening and closing ---- */

bool branches_open(struct branches *branches, uint32_t node)
{
	if (node == branches->top)
		return true;
	uint32_t mark = branches_mark(branches, node);
	if (!mark && node)
		return false;
	focus_expand(&branches->focus, node);
	branches->marks.data[mark].is_open = true;
	return true;
}

/* What was unfolded from the node on. */
static void fold_below(struct branches *branches, uint32_t node)
{
	for (; node; node = branches_linked_child(branches, node)) {
		struct branch_mark *mark = branches_mark_of(branches, node);
		if (mark)
			mark->is_unfolded = false;
	}
}

void branches_close(struct branches *branches, uint32_t node)
{
	struct branch_mark *mark = branches_mark_of(branches, node);
	if (!mark || node == branches->top)
		return;
	mark->is_open = false;
	fold_below(branches, node);
}

/* The node does not share a row with its child. */
static bool branches_part(struct branches *branches, uint32_t node)
{
	if (!branches_open(branches, node))
		return false;
	branches_mark_of(branches, node)->is_unfolded = true;
	return true;
}

bool branches_unfold(struct branches *branches, uint32_t row)
{
	uint32_t first = branches_first_in_row(branches, row);
	for (uint32_t at = row; at != first;) {
		at = branches_node(branches, at)->parent;
		if (!branches_part(branches, at))
			return false;
	}
	return true;
}

void branches_fold(struct branches *branches, uint32_t node)
{
	if (!node) /* the top: nothing is above it, and its parent is itself */
		return;
	for (uint32_t parent = branches_node(branches, node)->parent;
		branches_linked_child(branches, parent) == node;
		parent = branches_node(branches, node)->parent)
		node = parent;
	fold_below(branches, node);
}

uint32_t branches_show_recursion(struct branches *branches, uint32_t node, bool is_shown)
{
	while (!is_shown && calls_itself(branches, node))
		node = branches_node(branches, node)->parent;
	uint32_t mark = branches_mark(branches, node);
	branches->shows_recursion = is_shown;
	begin_focus(branches);
	place_marks(branches);
	node = mark ? branches->marks.data[mark].node : 0;
	if (node == BRANCH_NONE)
		return branches_marked(branches, mark);
	uint32_t function = branches_node(branches, node)->function, below = node;
	while (is_shown && (below = focus_child(&branches->focus, below, function)) &&
		branches_reveal(branches, below))
		;
	return node;
}

/* To the function that is looked at; or it calls itself for the second time. */
static bool leads_back(const struct branches *branches, uint32_t node)
{
	const struct focus_node *it = branches_node(branches, node);
	uint32_t centre = branches->origin.function;
	return (centre && it->function == centre) ||
	       (calls_itself(branches, node) && calls_itself(branches, it->parent));
}

bool branches_open_hot_path(struct branches *branches, uint32_t node, double share)
{
	enum {
		LEVELS = 256 /* at once; recursion can go deep */
	};
	for (int level = 0; level < LEVELS && branches_has_children(branches, node); level++) {
		focus_expand(&branches->focus, node);
		uint32_t child = branches_node(branches, node)->first_child;
		uint64_t total = branches_node(branches, node)->total;
		if (!child || !branches_open(branches, node))
			return false;
		if ((double)branches_node(branches, child)->total < share * (double)total)
			break;
		if (share > 0 && leads_back(branches, child))
			break;
		node = child;
	}
	return true;
}

/* The levels next to the top first, so that a tree that is too large is open to the same depth. */
bool branches_open_all(struct branches *branches)
{
	VEC(uint32_t) nodes = {0};
	bool is_done = true;
	if (branches->top != BRANCH_NONE)
		vec_push(&nodes, branches->top);
	for (size_t i = 0; i < nodes.len && is_done; i++) {
		uint32_t node = nodes.data[i];
		if (!branches_has_children(branches, node))
			continue;
		focus_expand(&branches->focus, node);
		is_done =
			branches->marks.len < BRANCH_MARKS_OPENED && branches_open(branches, node);
		for (uint32_t at = branches_node(branches, node)->first_child; at;
			at = branches_node(branches, at)->next_sibling)
			vec_push(&nodes, at);
	}
	vec_deinit(&nodes);
	return is_done;
}

bool branches_reveal(struct branches *branches, uint32_t node)
{
	uint32_t row = branches_row(branches, node);
	if (row != node && branches_is_inlined_row(branches, row) &&
		!branches_unfold(branches, row))
		return false;
	if (row != node && !branches_part(branches, node))
		return false;
	while (node != branches->top && node) {
		node = branches_node(branches, node)->parent;
		if (!branches_open(branches, node))
			return false;
	}
	return true;
}

/* The line after that of row `at`; 0: there is none. */
static uint32_t next_visible(const struct branches *branches, uint32_t at)
{
	uint32_t child = branches_node(branches, at)->first_child;
	if (child && branches_is_open(branches, at))
		return branches_row(branches, child);
	while (at != branches->top) {
		uint32_t first = branches_first_in_row(branches, at);
		uint32_t next = branches_node(branches, first)->next_sibling;
		if (next)
			return branches_row(branches, next);
		at = branches_node(branches, first)->parent;
	}
	return 0;
}

void branches_list(struct branches *branches)
{
	branches->lines.len = 0;
	if (branches->top == BRANCH_NONE)
		return;
	focus_expand(&branches->focus, branches->top);
	if (branches_shows_top(branches))
		vec_push(&branches->lines, branches->top);
	for (uint32_t at = next_visible(branches, branches->top); at;
		at = next_visible(branches, at))
		vec_push(&branches->lines, at);
}

/* ---- searching ---- */

/*
 * Going from match to match through a tree that is mostly not there: children are found when they
 * are wanted. Which nodes of the call tree lead to a match is marked once, for all, so that only
 * branches are entered that have one; from match to match it is a walk along a path.
 */

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
		bool ends_at_groups = focus_has_leaves_in_groups(&branches->focus);
		for (size_t i = 1; i < count; i++) {
			uint32_t parent = nodes[i].parent;
			bool is_in_group = ends_at_groups && !nodes[parent].parent;
			leads[i] = parent && i != branches->focus.top && !is_in_group &&
				   (leads[parent] || model->matches[nodes[parent].function]);
		}
	}
	branches->leads = leads;
}

static bool branches_is_match(const struct branches *branches, uint32_t node)
{
	uint32_t function = branches_node(branches, node)->function;
	return function && branches->model->matches[function];
}

/* Whether there is a match below. */
static bool leads_to_match(const struct branches *branches, uint32_t node)
{
	const struct focus_node *it = branches_node(branches, node);
	const struct tree_node *nodes = branches->model->names->tree.nodes.data;
	/* There the places are the leaves, which are below. */
	bool is_group = it->depth == 1 && focus_has_leaves_in_groups(&branches->focus);
	for (size_t i = 0; i < it->nr_places; i++) {
		uint32_t place = branches->focus.places.data[it->first_place + i].node;
		if (branches->leads[place] ||
			(is_group && branches->model->matches[nodes[place].function]))
			return true;
	}
	return false;
}

static bool is_of_use(const struct branches *branches, uint32_t node)
{
	return branches_is_match(branches, node) || leads_to_match(branches, node);
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

static uint32_t branches_children_of(struct branches *branches, uint32_t node)
{
	focus_expand(&branches->focus, node);
	return branches_node(branches, node)->first_child;
}

/* `node` or the first one below it; it must be of use. */
static uint32_t first_within(struct branches *branches, uint32_t node)
{
	while (node && !branches_is_match(branches, node))
		node = first_of_use(branches, branches_children_of(branches, node));
	return node ? node : BRANCH_NONE;
}

static uint32_t last_within(struct branches *branches, uint32_t node)
{
	for (;;) {
		bool is_worth_it = node == branches->top || leads_to_match(branches, node);
		uint32_t child =
			is_worth_it ? last_of_use(branches, branches_children_of(branches, node), 0)
				    : 0;
		if (!child)
			return branches_is_match(branches, node) ? node : BRANCH_NONE;
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
	return branches_shows_top(branches) && branches_is_match(branches, branches->top);
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
		uint32_t child = first_of_use(branches, branches_children_of(branches, from));
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
					  : branches_is_match(branches, from))
			return from;
	}
	return BRANCH_NONE;
}
