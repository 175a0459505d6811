#include "report/tui/app_state.h"

#include <stdarg.h>
#include <string.h>

#include "report/analyse/allocators.h"
#include "report/model/event_value.h"
#include "report/write/health.h"

bool app_has_view(const struct app *app)
{
	return app->model && (!app->model->is_flat || app->views[app->view]->is_flat);
}

const struct view *app_form(const struct app *app)
{
	const struct view *view = app->views[app->view];
	return view->form ? view->form(app->states[app->view]) : view;
}

const char *app_word(const struct app *app, enum action action)
{
	const struct view_word *row = app_form(app)->words;
	while (row && row->word && row->action != action)
		row++;
	return row ? row->word : NULL;
}

static void update_view(struct app *app)
{
	app->was_seen[app->view] |= app->model != NULL;
	if (app_has_view(app) && app->views[app->view]->update)
		app->views[app->view]->update(app->states[app->view], app);
}

/* ---- wishes ---- */

static void wish_for_trail(struct app *app)
{
	size_t nr_terms = app->wish.scope.terms.len;
	scope_deinit(&app->wish.scope);
	trail_scope(&app->trail, &app->wish.scope);
	/* Filters come or go; a zoom needs no new model. */
	app->wish.serial += app->wish.scope.terms.len != nr_terms;
	update_view(app);
}

/* Whether that filter is there already. */
static bool is_filtered_by(const struct app *app, const struct scope_term *term)
{
	vec_each(&app->trail.done, step)
		if (!step->is_zoom && scope_is_same_term(&step->term, term))
			return true;
	return false;
}

void app_filter(struct app *app, const struct scope_term *term)
{
	if (is_filtered_by(app, term)) {
		app_warn(app, "it is filtered so already: Esc undoes the last filter");
		return;
	}
	trail_add(&app->trail, &(struct trail_step){.term = *term});
	wish_for_trail(app);
}

void app_filter_wait(struct app *app, uint32_t thread, uint32_t stack)
{
	const struct scope_term term = {
		.kind = SCOPE_THREAD_STACK, .number = thread, .stack = stack};
	if (trail_forget_waits(&app->trail))
		app->wish.serial++; /* there are as many terms as before */
	app_filter(app, &term);
}

void app_annotate(struct app *app, uint32_t frame)
{
	app->wish.annotated = frame;
	app->wish.serial++;
}

void app_search(struct app *app, const char *text)
{
	mem_free(app->wish.search);
	app->wish.search = text[0] ? mem_strdup(text) : NULL;
	app->wish.serial++;
}

static void forget_behind(struct app *app, enum view_id view)
{
	size_t kept = 0;
	for (size_t i = 0; i < app->behind.len; i++)
		if (app->behind.data[i] != view)
			app->behind.data[kept++] = app->behind.data[i];
	app->behind.len = kept;
}

void app_show(struct app *app, enum view_id view)
{
	if (view == app->view || !app->views[view])
		return;
	/* Each view is met once on the way back, however often it was gone to. */
	forget_behind(app, view);
	forget_behind(app, app->view);
	vec_push(&app->behind, app->view);
	app->view = view;
	app->shown++;
	update_view(app);
}

void app_go_back(struct app *app)
{
	if (!app->behind.len) {
		app_warn(app, "nothing to undo, and no view to go back to: q quits");
		return;
	}
	app->view = app->behind.data[--app->behind.len];
	update_view(app);
}

void app_compare_with(struct app *app, const char *path)
{
	mem_free(app->wish.baseline);
	app->wish.baseline = path[0] ? mem_strdup(path) : NULL;
	app->wish.baseline_serial++;
	app->wish.is_swapped = false;
	trail_forget_both(&app->trail);
	if (app->model && app->model->names->groups_of) /* they end or begin now */
		trail_forget_zooms(&app->trail);
	app->wish.serial++;
	app_show(app, VIEW_DIFF);
}

void app_swap_sides(struct app *app)
{
	app->wish.is_swapped = !app->wish.is_swapped;
	trail_forget_both(&app->trail); /* whose frames belong to a side */
	app->wish.serial++;
}

static void set_message(struct app *app, bool is_warning, const char *fmt, va_list args)
{
	app->message_is_warning = is_warning;
	str_truncate(&app->message, 0);
	str_vprintf(&app->message, fmt, args);
}

void app_say(struct app *app, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	set_message(app, false, fmt, args);
	va_end(args);
}

void app_warn(struct app *app, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	set_message(app, true, fmt, args);
	va_end(args);
}

void app_act_on_trail(struct app *app, enum action action)
{
	bool is_changed = false;
	if (action == ACTION_UNDO)
		is_changed = trail_undo(&app->trail);
	else if (action == ACTION_REDO)
		is_changed = trail_redo(&app->trail);
	else
		is_changed = trail_reset(&app->trail);
	if (is_changed)
		wish_for_trail(app);
	if (action == ACTION_RESET && app->wish.search) {
		app_search(app, "");
		is_changed = true;
	}
	if (action == ACTION_RESET && (app->wish.hides_kernel || app->wish.hides_native))
		app_say(app, "%s%s is no filter: %s shows those frames again",
			is_changed ? "" : "nothing to reset; ",
			app->wish.hides_kernel ? "[no kernel]" : "[no native]",
			app->wish.hides_kernel ? "H" : "S");
	else if (is_changed)
		return;
	else if (action == ACTION_UNDO && app->wish.search)
		app_search(app, "");
	else if (action == ACTION_UNDO)
		app_go_back(app);
	else
		app_warn(app, action == ACTION_REDO ? "nothing to redo" : "nothing to reset");
}

void app_go_back_to(struct app *app, size_t steps)
{
	bool is_changed = false;
	while (app->trail.done.len > steps)
		is_changed |= trail_undo(&app->trail);
	if (is_changed)
		wish_for_trail(app);
}

/* ---- the selection ---- */

uint32_t app_function(const struct app *app)
{
	return app->model && app->selection.frame
		       ? model_function_of(app->model, app->selection.frame)
		       : 0;
}

/* Whose samples they are is known, so that filters of tasks are of use. */
static void select_group(struct app *app, uint32_t frame)
{
	app->selection.group = frame;
	const struct planted *planted = app->model ? app->model->names->groups_of : NULL;
	const struct root_group *group = frame ? planted_find(planted, frame) : NULL;
	if (!group || (planted->kind != ROOT_PROCESS && planted->kind != ROOT_THREAD))
		return;
	app->selection.thread = planted->kind == ROOT_THREAD ? group->thread : 0;
	app->selection.process = app->model->profile->threads.data[group->thread].process;
}

void app_select_in_group(struct app *app, uint32_t frame, uint32_t group)
{
	app->selection.frame = frame;
	app->selection.path.len = 0;
	app->selection.is_default = false;
	select_group(app, group);
}

void app_select(struct app *app, uint32_t frame)
{
	app_select_in_group(app, frame, 0);
}

static bool has_function(const struct model *model, uint32_t function)
{
	for (size_t i = 0; i < model->functions.len; i++)
		if (model->functions.data[i].function == function)
			return true;
	return false;
}

uint32_t app_hottest_node(const struct app *app, uint32_t function)
{
	uint32_t zoomed = app_zoomed_node(app);
	uint32_t group = zoomed ? 0 : model_path_group(app->model, app->selection.group);
	return model_path_hottest(app->model, function, zoomed ? zoomed : group);
}

/*
 * Before the model becomes another one: what was selected and is there no more, since native frames
 * are hidden, is what called it in a script.
 */
static void select_script(struct app *app, const struct model *next)
{
	struct app_selection *selection = &app->selection;
	uint32_t function = app_function(app);
	bool begins_to_hide = next->names->hides_native && app->model && !app->model->is_flat &&
			      !app->model->names->hides_native;
	if (!begins_to_hide || !function || selection->is_default ||
		model_path_is_script(next, selection->frame))
		return;
	if (!selection->path.len && has_function(next, model_function_of(next, selection->frame)))
		return;
	if (!selection->path.len)
		model_path_to(app->model, app_hottest_node(app, function), &selection->path);
	struct path seen = {0};
	model_path_seen(next, &selection->path, &seen);
	if (seen.len)
		selection->frame = seen.data[seen.len - 1];
	vec_deinit(&seen);
}

void app_select_node(struct app *app, uint32_t node)
{
	const struct tree *tree = &app->model->names->tree;
	model_path_to(app->model, node, &app->selection.path);
	app->selection.frame = tree->nodes.data[node].frame;
	app->selection.is_default = false;
	select_group(app, tree->has_groups ? app->selection.path.data[0] : 0);
}

uint32_t app_node(const struct app *app)
{
	return app->model ? model_path_follow(app->model, &app->selection.path) : 0;
}

uint32_t app_zoomed_node(const struct app *app)
{
	const struct path *zoom = trail_zoom(&app->trail, false);
	return app->model && zoom ? model_path_follow(app->model, zoom) : 0;
}

void app_zoom(struct app *app, uint32_t node)
{
	struct trail_step step = {.is_zoom = true};
	model_path_to(app->model, node, &step.zoom);
	trail_add(&app->trail, &step);
	vec_deinit(&step.zoom);
}

void app_zoom_callers(struct app *app, const struct path *path)
{
	struct trail_step step = {.is_zoom = true, .is_inverted = true, .zoom = *path};
	trail_add(&app->trail, &step);
}

void app_zoom_both(struct app *app, const struct path *path, bool is_inverted)
{
	struct trail_step step = {
		.is_zoom = true, .is_inverted = is_inverted, .is_of_both = true, .zoom = *path};
	trail_add(&app->trail, &step);
}

/* ---- models ---- */

/* The first line of what recordings of the event cannot have, which nothing shown tells. */
static void tell_of_lacks(struct app *app)
{
	const struct profile_event *event = app_event(app);
	bool are_waits = event->wait || event->is_sum;
	bool is_heap = allocators_may_be_left_out(app->model->profile);
	if (app->has_told_of_lacks || app->model->names_follow || app->message.len ||
		(!are_waits && !is_heap))
		return;
	const struct profile named = model_profile_with_names(app->model);
	CLEANUP(str_deinit) struct str text = {0};
	if (are_waits)
		health_put_own_threads(&named, &text);
	else
		health_put_own_heaps(&named, &text);
	app->has_told_of_lacks = text.len;
	if (text.len)
		app_say(app, "%.*s", (int)strcspn(str_text(&text) + 2, "\n"), str_text(&text) + 2);
}

void app_update(struct app *app, struct model *model)
{
	CLEANUP(str_deinit) struct str damage = {0};
	if (!app->model)
		health_put_damage(model->profile, &damage);
	if (damage.len) { /* more urgent than what a new user is told */
		str_truncate(&app->message, 0);
		str_puts(&app->message, str_text(&damage));
		app->message_is_warning = true;
	}
	select_script(app, model);
	model_release(app->model);
	app->model = model;
	update_view(app);
	tell_of_lacks(app);
}

void app_update_listing(struct app *app, struct listing *listing)
{
	listing_release(app->listing);
	app->listing = listing;
	update_view(app);
}

/* ---- values and names as they are shown ---- */

double app_percent(const struct app *app, uint64_t value)
{
	return profile_percent(value, app->model->slice.whole.value);
}

const struct profile_event *app_event(const struct app *app)
{
	return &app->model->profile->events.data[app->model->event];
}

void app_put_value(const struct app *app, struct str *out, uint64_t value, uint64_t samples)
{
	if (app->unit == APP_SAMPLES)
		str_printf(out, "%llu", (unsigned long long)samples);
	else if (app->unit == APP_PERCENT)
		str_printf(out, "%.2f%%", app_percent(app, value));
	else
		event_value_put(app_event(app), value, true, out);
}

static unsigned app_state_share_style(double percent)
{
	return percent >= 5 ? STYLE_HOT : percent >= 0.5 ? STYLE_WARM : STYLE_DIM;
}

void app_draw_value(const struct app *app, struct grid *grid, struct rect area, uint64_t value,
	uint64_t samples)
{
	CLEANUP(str_deinit) struct str text = {0};
	app_put_value(app, &text, value, samples);
	grid_put_right(grid, area.x, area.y, area.width,
		app_state_share_style(app_percent(app, value)), str_text(&text));
}

unsigned app_name_style(const struct app *app, uint32_t function)
{
	const struct profile_function *it = model_function(app->model, function);
	unsigned match = app->model->matches && app->model->matches[function] ? STYLE_MATCH : 0;
	if (profile_is_kernel(app->model->profile, it->object))
		return STYLE_KERNEL | match;
	if (it->is_known && model_object(app->model, it->object)->info.kind == LAYOUT_OBJECT_SCRIPT)
		return STYLE_SCRIPT | match;
	return (it->is_known ? STYLE_NORMAL : STYLE_UNKNOWN) | match;
}

unsigned app_row_style(const struct app *app, uint32_t function)
{
	const bool *matches = app->model->matches;
	bool is_other = app->model->nr_matches && !matches[function];
	return is_other ? STYLE_DIM : app_name_style(app, function);
}

unsigned app_file_style(const struct app *app, const struct grid *grid, uint32_t function)
{
	const struct model_names *names = app->model->names;
	bool is_told = names->has_languages && grid->colours == GRID_RICH &&
		       (app_row_style(app, function) & STYLE_MASK) != STYLE_DIM;
	enum frame_kind kind = is_told ? (enum frame_kind)names->kinds[function] : FRAME_UNNAMED;
	return frame_kind_is_script(kind) ? STYLE_FLAME_OF(kind, false) : STYLE_DIM;
}

size_t app_match_number(const struct app *app)
{
	const struct model *model = app->model;
	uint32_t function = app_function(app);
	struct word_order order = model_hottest_first(model);
	uint32_t count = (uint32_t)model->functions.len, own = 0;
	size_t number = 1;
	if (!function || !model->matches || !model->matches[function])
		return 0;
	while (own < count && model->functions.data[own].function != function)
		own++;
	for (uint32_t i = 0; own < count && i < count; i++) {
		const struct function_weight *weight = &model->functions.data[i];
		/* Each time that it is drawn: most have no more self, which is seen at once. */
		bool may_be_ahead = weight->self >= model->functions.data[own].self;
		number += may_be_ahead && model->matches[weight->function] &&
			  word_less(&order, i, own);
	}
	return own < count ? number : 0;
}

void app_draw_no_samples(const struct app *app, struct grid *grid, struct rect area)
{
	const char *text = "no samples here: Esc undoes the last filter or zoom";
	if (app->options->is_live && !app->model->profile->samples.len)
		text = "no samples yet; what sleeps is looked at every few seconds";
	else if (!app->trail.done.len)
		text = app->model->profile->samples.len ? "no samples here: the options leave none"
							: "no samples here: the recording has none";
	grid_put(grid, area.x, area.y, area.width, STYLE_WARNING, text);
}
