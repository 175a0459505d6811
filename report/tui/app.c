#include "report/tui/app.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "report/name/demangle/demangle.h"
#include "report/write/info.h"

void app_init(struct app *app, const struct app_options *options)
{
	*app = (struct app){.options = options};
	app->wish.hides_native = options->hides_native;
	app->wish.serial += options->hides_native; /* without a wish, all is shown */
	for (int i = 0; i < VIEW_COUNT; i++)
		if (views[i])
			app->states[i] = views[i]->create();
	if (options->baseline)
		app_compare_with(app, options->baseline);
}

void app_deinit(struct app *app)
{
	for (int i = 0; i < VIEW_COUNT; i++)
		if (views[i])
			views[i]->destroy(app->states[i]);
	model_release(app->model);
	listing_release(app->listing);
	model_wish_deinit(&app->wish);
	trail_deinit(&app->trail);
	vec_deinit(&app->selection.path);
	vec_deinit(&app->behind);
	str_deinit(&app->typed);
	for (int i = 0; i < APP_PROMPTS; i++)
		line_edit_deinit(&app->edits[i]);
	str_deinit(&app->message);
	app_print_deinit(&app->to_print);
	str_deinit(&app->to_copy);
	overlay_deinit(&app->overlay);
}

bool app_has_view(const struct app *app)
{
	return app->model && (!app->model->is_flat || views[app->view]->is_flat);
}

static void update_view(struct app *app)
{
	if (app_has_view(app) && views[app->view]->update)
		views[app->view]->update(app->states[app->view], app);
}

void app_update(struct app *app, struct model *model)
{
	if (!app->model)
		info_put_damage(model->profile, &app->message);
	app_select_script(app, model);
	model_release(app->model);
	app->model = model;
	update_view(app);
}

void app_update_listing(struct app *app, struct listing *listing)
{
	listing_release(app->listing);
	app->listing = listing;
	update_view(app);
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

void app_filter(struct app *app, const struct scope_term *term)
{
	trail_add(&app->trail, &(struct trail_step){.term = *term});
	wish_for_trail(app);
}

void app_annotate(struct app *app, uint32_t frame)
{
	app->wish.annotated = frame;
	app->wish.serial++;
}

static void search_for(struct app *app, const char *text)
{
	mem_free(app->wish.search);
	app->wish.search = text[0] ? mem_strdup(text) : NULL;
	app->wish.serial++;
}

void app_compare_with(struct app *app, const char *path)
{
	mem_free(app->wish.baseline);
	app->wish.baseline = path[0] ? mem_strdup(path) : NULL;
	app->wish.baseline_serial++;
	trail_forget_both(&app->trail);
	app->wish.serial++;
	app_show(app, VIEW_DIFF);
}

void app_say(struct app *app, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	str_truncate(&app->message, 0);
	str_vprintf(&app->message, fmt, args);
	va_end(args);
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
	if (view == app->view || !views[view])
		return;
	/* Each view is met once on the way back, however often it was gone to. */
	forget_behind(app, view);
	forget_behind(app, app->view);
	vec_push(&app->behind, app->view);
	app->view = view;
	app->selection.is_default = false; /* there, it is what is looked at */
	app->shown++;
	update_view(app);
}

static void go_back(struct app *app)
{
	if (!app->behind.len) {
		app->is_over = true;
		return;
	}
	app->view = app->behind.data[--app->behind.len];
	update_view(app);
}

/* ---- actions ---- */

/* Parameters and all, also where they are not shown. */
static void put_whole_name(const struct profile_function *function, struct str *out)
{
	if (!demangle(function->system_name, DEMANGLE_FULL, out))
		str_puts(out, function->name);
}

static void show_whole_name(struct app *app)
{
	const struct profile_function *function = model_function(app->model, app_function(app));
	const struct profile_object *object = model_object(app->model, function->object);
	struct str text = {0};
	put_whole_name(function, &text);
	if (strcmp(str_text(&text), function->system_name) != 0)
		str_printf(&text, "\n%s", function->system_name);
	str_putc(&text, '\n');
	str_printf(&text, "%s\n", object->path);
	if (function->file)
		str_printf(&text, "%s:%u\n", function->file, function->line);
	overlay_open_text(&app->overlay, "Name", &text);
}

static void show_info(struct app *app)
{
	struct str text = {0};
	info_put_text(app->model->profile, true, &text);
	overlay_open_text(&app->overlay, "Recording", &text);
}

static void open_menu(struct app *app)
{
	static const enum action actions[] = {ACTION_ENTER, ACTION_VIEW_1 + VIEW_BUTTERFLY,
		ACTION_VIEW_1 + VIEW_SOURCE, ACTION_ONLY_FUNCTION, ACTION_WITHOUT_FUNCTION,
		ACTION_ONLY_OBJECT, ACTION_ONLY_THREAD, ACTION_ONLY_COMM, ACTION_ONLY_PROCESS,
		ACTION_ONLY_CONTAINER, ACTION_SEARCH_SYMBOL, ACTION_WHOLE_NAME, ACTION_COPY,
		ACTION_PRINT, ACTION_UNDO, ACTION_RESET, ACTION_HELP};
	overlay_open_menu(&app->overlay, "Menu", actions, sizeof(actions) / sizeof(*actions));
}

static void begin_prompt(struct app *app, enum app_prompt prompt)
{
	app->prompt = prompt;
	str_truncate(&app->typed, 0);
	line_edit_begin(&app->edits[prompt]);
}

/* With a name to begin with. */
static void begin_print(struct app *app)
{
	const struct view *view = views[app->view];
	begin_prompt(app, APP_PROMPT_PRINT);
	str_puts(&app->typed, "ebprof-");
	for (const char *at = view->name; *at; at++)
		str_putc(&app->typed, *at >= 'A' && *at <= 'Z' ? (char)(*at + 'a' - 'A') : *at);
	if (view->form)
		view = view->form(app->states[app->view]);
	str_printf(&app->typed, ".%s", view->print_suffix ? view->print_suffix : "txt");
}

/* The recording before this one, which `record` put aside under this name, if it is there. */
static void type_usual_baseline(struct app *app)
{
	str_truncate(&app->typed, 0);
	if (app->wish.baseline) {
		str_puts(&app->typed, app->wish.baseline);
		return;
	}
	str_printf(&app->typed, "%s.old", app->options->file_name);
	if (access(str_text(&app->typed), R_OK) < 0)
		str_truncate(&app->typed, 0);
}

static void copy_name(struct app *app)
{
	const struct profile_function *function = model_function(app->model, app_function(app));
	str_truncate(&app->to_copy, 0);
	put_whole_name(function, &app->to_copy);
	app_say(app, "copied");
}

/* Quotes an expression's signs. */
static void search_symbol(struct app *app)
{
	CLEANUP(str_deinit) struct str text = {0};
	const char *name = model_function(app->model, app_function(app))->name;
	for (; *name; name++) {
		if (strchr(".[]()*+?{}|^$\\", *name))
			str_putc(&text, '\\');
		str_putc(&text, *name);
	}
	search_for(app, str_text(&text));
}

static void act_on_trail(struct app *app, enum action action)
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
	else if (action == ACTION_UNDO && app->wish.search)
		search_for(app, "");
	else
		app_say(app, action == ACTION_REDO ? "nothing to redo" : "nothing to undo");
}

void app_go_back_to(struct app *app, size_t steps)
{
	bool is_changed = false;
	while (app->trail.done.len > steps)
		is_changed |= trail_undo(&app->trail);
	if (is_changed)
		wish_for_trail(app);
}

static void cancel(struct app *app)
{
	app->cancels++;
	if (app->busy || app->naming.to_name)
		app_say(app, "stopped; ^C again quits");
	else
		app->is_over = true;
}

/* What is the same in all views, and needs no model. */
static bool act_anywhere(struct app *app, enum action action)
{
	if (action >= ACTION_VIEW_1 && action <= ACTION_VIEW_9) {
		app_show(app, (enum view_id)(action - ACTION_VIEW_1));
		return true;
	}
	switch (action) {
	case ACTION_NEXT_VIEW:
		app_show(app, (app->view + 1) % VIEW_COUNT);
		return true;
	case ACTION_PREVIOUS_VIEW:
		app_show(app, (app->view + VIEW_COUNT - 1) % VIEW_COUNT);
		return true;
	case ACTION_UNIT:
		app->unit = (app->unit + 1) % 3;
		return true;
	case ACTION_HELP:
		overlay_open_help(&app->overlay);
		return true;
	case ACTION_MENU:
		open_menu(app);
		return true;
	case ACTION_SEARCH:
		begin_prompt(app, APP_PROMPT_SEARCH);
		return true;
	case ACTION_KEEP:
		begin_prompt(app, APP_PROMPT_KEEP);
		return true;
	case ACTION_EXCLUDE:
		begin_prompt(app, APP_PROMPT_EXCLUDE);
		return true;
	case ACTION_BASELINE:
		begin_prompt(app, APP_PROMPT_BASELINE);
		type_usual_baseline(app);
		return true;
	case ACTION_UNDO:
	case ACTION_REDO:
	case ACTION_RESET:
		act_on_trail(app, action);
		return true;
	case ACTION_CANCEL:
		cancel(app);
		return true;
	case ACTION_QUIT:
		go_back(app);
		return true;
	default:
		return false;
	}
}

static void act_on_selection(struct app *app, enum action action)
{
	switch (action) {
	case ACTION_WHOLE_NAME:
		show_whole_name(app);
		break;
	case ACTION_COPY:
		copy_name(app);
		break;
	case ACTION_SEARCH_SYMBOL:
		search_symbol(app);
		break;
	case ACTION_INFO:
		show_info(app);
		break;
	case ACTION_PRINT:
		begin_print(app);
		break;
	default:
		break;
	}
}

static void act(struct app *app, enum action action)
{
	if (app_has_view(app) && views[app->view]->act(app->states[app->view], app, action))
		return;
	if (act_anywhere(app, action) || app_act_on_options(app, action) || !app->model)
		return;
	if (!app_keep_selected(app, action))
		act_on_selection(app, action);
}

/* ---- what is typed ---- */

static void end_prompt(struct app *app)
{
	enum app_prompt prompt = app->prompt;
	app->prompt = APP_PROMPT_NONE;
	const char *text = str_text(&app->typed);
	line_edit_remember(&app->edits[prompt], text);
	struct pattern pattern;
	if (prompt == APP_PROMPT_BASELINE) {
		app_compare_with(app, text);
		return;
	}
	if (!text[0] || prompt == APP_PROMPT_SEARCH)
		return; /* it was searched for while it was typed */
	if (prompt == APP_PROMPT_PRINT) {
		app_print(app, text);
		return;
	}
	if (!pattern_init(&pattern, text)) {
		app_say(app, "\"%s\" is no regular expression", text);
		return;
	}
	pattern_deinit(&pattern);
	struct scope_term term = {
		.kind = SCOPE_PATTERN,
		.excludes = prompt == APP_PROMPT_EXCLUDE,
		.text = (char *)text,
	};
	app_filter(app, &term);
}

static void type_key(struct app *app, uint32_t key)
{
	bool is_search = app->prompt == APP_PROMPT_SEARCH;
	if (key == INPUT_ENTER) {
		end_prompt(app);
	} else if (key == INPUT_ESCAPE || key == INPUT_CTRL('c')) {
		app->prompt = APP_PROMPT_NONE;
		if (is_search)
			search_for(app, "");
	} else if (key == INPUT_TAB && app->prompt == APP_PROMPT_BASELINE) {
		type_usual_baseline(app);
	} else if (line_edit_key(&app->edits[app->prompt], &app->typed, key) && is_search) {
		search_for(app, str_text(&app->typed));
	}
}

/* ---- input ---- */

static bool is_in(const struct rect *rect, const struct input *input)
{
	return input->x >= rect->x && input->x < rect->x + rect->width && input->y >= rect->y &&
	       input->y < rect->y + rect->height;
}

static void point(struct app *app, const struct input *input)
{
	if (!app->model || app_point_frame(app, input))
		return;
	bool is_taken = app_has_view(app) && views[app->view]->mouse && is_in(&app->body, input) &&
			views[app->view]->mouse(app->states[app->view], app, input);
	if (is_taken && input->kind == INPUT_DOUBLE)
		act(app, ACTION_ENTER);
	if (input->kind == INPUT_MENU)
		open_menu(app);
}

void app_input(struct app *app, const struct input *input)
{
	if (input->kind == INPUT_KEY || input->kind == INPUT_PRESS)
		str_truncate(&app->message, 0);
	if (app->overlay.is_open) {
		enum action chosen = overlay_input(&app->overlay, input);
		if (chosen)
			act(app, chosen);
	} else if (input->kind == INPUT_PASTE) {
		if (app->prompt && input->key >= 0x20)
			type_key(app, input->key);
	} else if (app->prompt && input->kind == INPUT_KEY) {
		type_key(app, input->key);
	} else if (input->kind == INPUT_KEY) {
		act(app, key_action(input->key));
	} else if (input->kind != INPUT_RESIZE) {
		point(app, input);
	}
}
