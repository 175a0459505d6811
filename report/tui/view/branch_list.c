#include "report/tui/view/branch_list.h"

#include "report/tui/app_state.h"

void branch_list_deinit(struct branch_list *list)
{
	for (int i = 0; i < BRANCH_PARTS; i++)
		branches_deinit(&list->parts[i]);
	vec_deinit(&list->rows);
}

/* ---- rows ---- */

struct branch_row branch_list_row(const struct branch_list *list)
{
	return list->list.selected < list->rows.len
		       ? list->rows.data[list->list.selected]
		       : (struct branch_row){BRANCH_BELOW, BRANCH_NONE};
}

const struct focus_node *branch_list_selected(const struct branch_list *list)
{
	struct branch_row row = branch_list_row(list);
	return row.node == BRANCH_NONE ? NULL : branches_node(&list->parts[row.part], row.node);
}

static void push_part(struct branch_list *list, enum branch_part part)
{
	const struct branches *branches = &list->parts[part];
	size_t count = branches->lines.len;
	for (size_t i = 0; i < count; i++) {
		size_t at = part == BRANCH_ABOVE ? count - 1 - i : i;
		vec_push(&list->rows, (struct branch_row){part, branches->lines.data[at]});
	}
}

static bool is_row(struct branch_row a, struct branch_row b)
{
	return a.part == b.part && a.node == b.node;
}

/* The line of a row, or of the nearest above it in its tree. */
static size_t find_row(const struct branch_list *list, struct branch_row row)
{
	const struct branches *branches = &list->parts[row.part];
	while (row.node != BRANCH_NONE && branches->model) {
		for (size_t i = 0; i < list->rows.len; i++)
			if (is_row(list->rows.data[i], row))
				return i;
		if (!row.node)
			break;
		row.node = branches_node(branches, row.node)->parent;
	}
	return 0;
}

/* The deepest that is not hidden by a closed one. */
static uint32_t visible_node(const struct branches *branches, uint32_t node)
{
	uint32_t seen = node;
	for (uint32_t at = node; at && at != branches->top;) {
		at = branches_node(branches, at)->parent;
		if (!branches_is_open(branches, at))
			seen = at;
	}
	return seen;
}

static void fill(struct branch_list *list, struct branch_row selected)
{
	size_t before = list->list.selected;
	list->rows.len = 0;
	for (int part = BRANCH_PARTS; part-- > 0;) {
		if (!list->parts[part].model)
			continue;
		branches_list(&list->parts[part]);
		push_part(list, (enum branch_part)part);
	}
	if (selected.node != BRANCH_NONE)
		selected.node = visible_node(&list->parts[selected.part], selected.node);
	size_t now = find_row(list, selected), top = list->list.top;
	/* It stays where it is on the screen, as far as the rows suffice. */
	list->list.top = top + now > before ? top + now - before : 0;
	list->list.selected = now;
	list->list.count = list->rows.len;
}

void branch_list_fill(struct branch_list *list)
{
	fill(list, branch_list_row(list));
}

struct branch_row branch_list_remember(struct branch_list *list)
{
	struct branch_row row = branch_list_row(list);
	if (row.node != BRANCH_NONE)
		row.node = branches_mark(&list->parts[row.part], row.node);
	return row;
}

void branch_list_recall(struct branch_list *list, struct branch_row remembered)
{
	struct branches *branches = &list->parts[remembered.part];
	if (remembered.node != BRANCH_NONE && branches->model)
		remembered.node = branches_marked(branches, remembered.node);
	fill(list, remembered);
}

void branch_list_select(struct branch_list *list, struct branch_row row)
{
	branches_reveal(&list->parts[row.part], row.node);
	branch_list_fill(list);
	list->list.selected = find_row(list, row);
	size_t height = list->list.area.height > 0 ? (size_t)list->list.area.height : 0;
	size_t selected = list->list.selected, top = list->list.top;
	list->is_to_be_centred = selected < top || selected - top >= height;
}

/* ---- opening and closing ---- */

static void say_if_full(struct app *app, bool is_done)
{
	if (!is_done)
		app_say(app, "too many branches were opened: C closes them");
}

static void set_open(struct branch_list *list, struct app *app, struct branch_row row, bool is_open)
{
	struct branches *branches = &list->parts[row.part];
	list->is_touched = true;
	if (!is_open)
		branches_close(branches, row.node);
	else if (branches_has_children(branches, row.node))
		say_if_full(app, branches_open(branches, row.node));
	branch_list_fill(list);
}

static bool is_unfolded(const struct branch_list *list, struct branch_row row)
{
	const struct branches *branches = &list->parts[row.part];
	return branches_is_open(branches, row.node) && branches_has_children(branches, row.node);
}

static void go_left(struct branch_list *list, struct app *app, struct branch_row row)
{
	const struct branches *branches = &list->parts[row.part];
	if (is_unfolded(list, row) && row.node != branches->top) {
		set_open(list, app, row, false);
		return;
	}
	if (row.node == branches->top)
		return;
	struct branch_row parent = {row.part, branches_node(branches, row.node)->parent};
	/* A function's callers stand above the line of the function, which is the other part's. */
	if (parent.node == branches->top && branches->hides_root)
		parent = (struct branch_row){BRANCH_BELOW, list->parts[BRANCH_BELOW].top};
	else if (parent.node == branches->top && !branches_shows_top(branches))
		return;
	list->list.selected = find_row(list, parent);
}

static void go_right(struct branch_list *list, struct app *app, struct branch_row row)
{
	if (!is_unfolded(list, row)) {
		set_open(list, app, row, true);
		return;
	}
	uint32_t child = branches_node(&list->parts[row.part], row.node)->first_child;
	list->list.selected = find_row(list, (struct branch_row){row.part, child});
}

static void close_all(struct branch_list *list)
{
	list->is_touched = true;
	for (int part = 0; part < BRANCH_PARTS; part++)
		if (list->parts[part].model)
			branches_forget(&list->parts[part]);
	branch_list_fill(list);
}

static void open_hot_path(struct branch_list *list, struct app *app, struct branch_row row)
{
	list->is_touched = true;
	say_if_full(app, branches_open_hot_path(&list->parts[row.part], row.node, 0));
	branch_list_fill(list);
}

/* ---- searching ---- */

/* In a part that grows upwards, down is towards its root. */
static uint32_t match_in(struct branch_list *list, struct branch_row from, bool goes_up)
{
	struct branches *branches = &list->parts[from.part];
	if (!branches->model)
		return BRANCH_NONE;
	return goes_up == (from.part == BRANCH_ABOVE)
		       ? branches_next_match(branches, from.node)
		       : branches_previous_match(branches, from.node);
}

/* From the selected row to the end of its part, through the other, and from the beginning again. */
static bool go_to_match(struct branch_list *list, bool goes_up)
{
	struct branch_row row = branch_list_row(list);
	for (int round = 0; round <= BRANCH_PARTS; round++) {
		uint32_t node = match_in(list, row, goes_up);
		if (node != BRANCH_NONE) {
			branch_list_select(list, (struct branch_row){row.part, node});
			return true;
		}
		row.part = row.part == BRANCH_ABOVE ? BRANCH_BELOW : BRANCH_ABOVE;
		row.node = BRANCH_NONE;
	}
	return false;
}

/* ---- input ---- */

static bool act_on_branch(
	struct branch_list *list, struct app *app, enum action action, struct branch_row row)
{
	switch (action) {
	case ACTION_LEFT:
		go_left(list, app, row);
		return true;
	case ACTION_RIGHT:
		go_right(list, app, row);
		return true;
	case ACTION_EXPAND:
		set_open(list, app, row, true);
		return true;
	case ACTION_COLLAPSE:
		set_open(list, app, row, false);
		return true;
	case ACTION_TOGGLE:
		set_open(list, app, row, !is_unfolded(list, row));
		return true;
	case ACTION_EXPAND_ALL:
		open_hot_path(list, app, row);
		return true;
	case ACTION_COLLAPSE_ALL:
		close_all(list);
		return true;
	default:
		return false;
	}
}

bool branch_list_act(struct branch_list *list, struct app *app, enum action action)
{
	if (action == ACTION_NEXT_MATCH || action == ACTION_PREVIOUS_MATCH) {
		if (!go_to_match(list, action == ACTION_PREVIOUS_MATCH))
			app_say(app, "no match");
		return true;
	}
	struct branch_row row = branch_list_row(list);
	if (row.node != BRANCH_NONE && act_on_branch(list, app, action, row))
		return true;
	return list_act(&list->list, action);
}

enum branch_click branch_list_mouse(
	struct branch_list *list, struct app *app, const struct input *input)
{
	if (!list_mouse(&list->list, input))
		return BRANCH_CLICK_NONE;
	struct branch_row row = branch_list_row(list);
	bool is_press = input->kind == INPUT_PRESS || input->kind == INPUT_DOUBLE;
	if (!is_press || row.node == BRANCH_NONE || input->x != branch_list_marker_x(list, row) ||
		!branches_has_children(&list->parts[row.part], row.node))
		return BRANCH_CLICK_ROW;
	set_open(list, app, row, !is_unfolded(list, row));
	return BRANCH_CLICK_MARKER;
}
