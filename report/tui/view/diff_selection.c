/* What is selected and zoomed to in the trees of two recordings. */
#include <string.h>

#include "report/tui/view/diff.h"
#include "report/tui/view/focus_selection.h"

struct model *diff_both(const struct app *app)
{
	return app->model->comparison->both;
}

/* ---- zooms ---- */

uint32_t diff_zoomed(const struct diff *diff, const struct app *app, struct focus *focus)
{
	const struct path *newest = trail_zoom_of_both(&app->trail, diff->is_inverted);
	return focus_follow(focus, diff_both(app), newest);
}

void diff_zoom(struct app *app, const struct focus *focus, uint32_t node)
{
	struct path path = {0};
	focus_path(focus, node, &path);
	app_zoom_both(app, &path, focus->direction == FOCUS_CALLERS);
	vec_deinit(&path);
}

/* ---- the selection ---- */

uint32_t diff_selected_function(const struct app *app)
{
	uint32_t function = app_function(app);
	const struct comparison *comparison = app->model->comparison;
	return function ? diff_both(app)->names->diff->function_of[comparison->own_side][function]
			: 0;
}

uint32_t diff_selected_place(const struct app *app)
{
	const struct model *both = diff_both(app);
	const struct tree *tree = &both->names->tree;
	uint32_t function = diff_selected_function(app), hottest = 0;
	for (uint32_t i = 1; function && i < tree->nodes.len; i++)
		if (tree->nodes.data[i].function == function &&
			(!hottest || both->weights[i].total > both->weights[hottest].total))
			hottest = i;
	return hottest;
}

void diff_select_node(struct app *app, const struct focus_node *node)
{
	if (!node || !node->function)
		return;
	const struct compare_row *row = compare_row_of(diff_compare(app), node->function);
	app_select(app, row ? row->frame : 0);
}

size_t diff_count_matches(const struct app *app, uint32_t function, size_t *number)
{
	const struct model *both = diff_both(app);
	const struct function_weights *rows = &both->functions;
	size_t own = 0;
	*number = 0;
	while (own < rows->len && rows->data[own].function != function)
		own++;
	if (own == rows->len || !both->matches || !both->matches[function])
		return both->nr_matches;
	*number = 1;
	for (size_t i = 0; i < rows->len; i++) {
		const struct function_weight *row = &rows->data[i];
		bool is_ahead = row->total > rows->data[own].total ||
				(row->total == rows->data[own].total && i < own);
		*number += is_ahead && both->matches[row->function];
	}
	return both->nr_matches;
}

void diff_put_node(const struct diff *diff, const struct app *app, const struct focus_node *node,
	const struct compare_row *row, struct str *out)
{
	if (node->function) {
		const struct model *both = diff_both(app);
		const struct profile_function *function = model_function(both, node->function);
		str_printf(
			out, "%s  %s", function->name, model_object(both, function->object)->name);
	} else {
		str_puts(out, "all");
	}
	diff_put_numbers(diff, app, row, COMPARE_TOTAL, out);
}
