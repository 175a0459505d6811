#include "report/tui/app.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "report/name/demangle/demangle.h"
#include "report/tui/command_palette.h"
#include "report/tui/group_actions.h"
#include "report/tui/row_search.h"
#include "report/tui/typed_filter.h"
#include "report/tui/wait_actions.h"
#include "report/write/info.h"
#include "report/write/waker_list.h"

void app_init(struct app *app, const struct app_options *options)
{
	*app = (struct app){.options = options, .views = views};
	app->wish.hides_native = options->hides_native;
	app->wish.hides_kernel = options->hides_kernel;
	/* Without a wish, all is shown. */
	app->wish.serial += options->hides_native || options->hides_kernel;
	for (int i = 0; i < VIEW_COUNT; i++)
		if (app->views[i])
			app->states[i] = app->views[i]->create();
	if (options->baseline)
		app_compare_with(app, options->baseline);
}

void app_print_deinit(struct app_print *print)
{
	mem_free(print->path);
	str_deinit(&print->text);
	*print = (struct app_print){0};
}

void app_deinit(struct app *app)
{
	for (int i = 0; i < VIEW_COUNT; i++)
		if (app->views[i])
			app->views[i]->destroy(app->states[i]);
	model_release(app->model);
	listing_release(app->listing);
	model_wish_deinit(&app->wish);
	trail_deinit(&app->trail);
	vec_deinit(&app->selection.path);
	vec_deinit(&app->behind);
	vec_deinit(&app->waits);
	str_deinit(&app->typed);
	for (int i = 0; i < APP_PROMPTS; i++)
		line_edit_deinit(&app->edits[i]);
	str_deinit(&app->message);
	app_print_deinit(&app->to_print);
	mem_free(app->to_save);
	str_deinit(&app->to_copy);
	overlay_deinit(&app->overlay);
}

/* ---- filters of what is selected ---- */

/* What it is of the selected thread or process; false when none is selected. */
static bool put_task_term(const struct app *app, enum action action, struct scope_term *term)
{
	const struct profile *profile = app->model->profile;
	uint32_t thread = app->selection.thread, process = app->selection.process;
	if (action == ACTION_ONLY_THREAD) {
		*term = (struct scope_term){.kind = SCOPE_THREAD, .number = thread};
		return thread;
	}
	if (action == ACTION_ONLY_COMM) {
		*term = (struct scope_term){.kind = SCOPE_COMM};
		term->text = (char *)profile->threads.data[thread].comm;
		return thread;
	}
	if (action == ACTION_ONLY_PROCESS) {
		*term = (struct scope_term){.kind = SCOPE_PROCESS, .number = process};
		return process;
	}
	*term = (struct scope_term){.kind = SCOPE_CONTAINER};
	term->text = (char *)scope_container(&profile->processes.data[process]);
	return process;
}

static const char *why_no_task(const struct app *app, enum action action)
{
	bool wants_thread = action == ACTION_ONLY_THREAD || action == ACTION_ONLY_COMM;
	if (!wants_thread)
		return "select a thread or process first: view 6";
	if (app->view != VIEW_PROCESSES)
		return "select a thread first: view 6";
	return app->selection.process ? "this is a process: e opens it, then choose a thread"
				      : "e opens this, then choose a process and its thread";
}

static void keep_only_task(struct app *app, enum action action)
{
	struct scope_term term;
	if (put_task_term(app, action, &term))
		app_filter(app, &term);
	else
		app_warn(app, "%s", why_no_task(app, action));
}

static void app_keep_only(struct app *app, enum action action)
{
	uint32_t function = app_function(app);
	struct scope_term term = {0};
	bool is_of_selection = action == ACTION_ONLY_FUNCTION || action == ACTION_WITHOUT_FUNCTION;
	if (is_of_selection && group_actions_filter(app, action == ACTION_WITHOUT_FUNCTION))
		return;
	if (action == ACTION_ONLY_KERNEL && app->model->names->hides_kernel) {
		app_warn(app, "the kernel's frames are hidden: H shows them");
		return;
	}
	if (action == ACTION_ONLY_KERNEL) {
		term.kind = SCOPE_KERNEL;
	} else if (action == ACTION_ONLY_FUNCTION && function) {
		term.kind = SCOPE_FUNCTION;
		term.number = app->selection.frame;
	} else if (action == ACTION_WITHOUT_FUNCTION && function) {
		term.kind = SCOPE_FUNCTION;
		term.excludes = true;
		term.number = app->selection.frame;
	} else if (action == ACTION_ONLY_OBJECT && function) {
		term.kind = SCOPE_OBJECT;
		term.number = model_function(app->model, function)->object;
	} else {
		app_warn(app, "nothing is selected");
		return;
	}
	app_filter(app, &term);
}

/* ---- the menu of what can be shown otherwise ---- */

/* Of rows that choose among the ways to show names, one is on; each of the others turns a switch.
 */
static const struct option_row {
	enum action action;
	const char *text;
	size_t switch_at; /* of a bool of struct model_wish; 0: it chooses `demangle` */
	enum demangle_mode demangle;
} option_rows[] = {
	{ACTION_OPTION_INLINED, "inlined functions as parts of their callers",
		offsetof(struct model_wish, hides_inlined), 0},
	{ACTION_OPTION_WHOLE, "whole names", 0, DEMANGLE_USUAL},
	{ACTION_OPTION_NO_PARAMETERS, "names without parameters", 0, DEMANGLE_TEMPLATES},
	{ACTION_OPTION_NO_TEMPLATES, "... nor arguments of templates", 0, DEMANGLE_SIMPLIFIED},
	{ACTION_OPTION_PATHS, "whole paths of files", offsetof(struct model_wish, look.has_paths),
		0},
	{ACTION_OPTION_NO_NATIVE, "native frames as parts of the scripts that call them",
		offsetof(struct model_wish, hides_native), 0},
	{ACTION_OPTION_NO_KERNEL, "the kernel's frames as parts of the programs that call it",
		offsetof(struct model_wish, hides_kernel), 0},
};

enum {
	OPTION_ROWS = sizeof(option_rows) / sizeof(*option_rows),
};

static bool *switch_of(struct model_wish *wish, const struct option_row *row)
{
	return (bool *)((char *)wish + row->switch_at);
}

static bool is_on(struct app *app, const struct option_row *row)
{
	return row->switch_at ? *switch_of(&app->wish, row)
			      : app->wish.look.demangle == row->demangle;
}

static void set_option(struct app *app, const struct option_row *row)
{
	struct model_wish *wish = &app->wish;
	if (row->switch_at)
		*switch_of(wish, row) = !*switch_of(wish, row);
	else
		wish->look.demangle = row->demangle;
	wish->serial++;
}

static void open_options(struct app *app, enum action action)
{
	(void)action;
	struct str text = {0};
	enum action actions[OPTION_ROWS];
	for (int i = 0; i < OPTION_ROWS; i++) {
		actions[i] = option_rows[i].action;
		str_printf(&text, "[%c] %s\n", is_on(app, &option_rows[i]) ? 'x' : ' ',
			option_rows[i].text);
	}
	overlay_open_choices(&app->overlay, "Options", &text, actions, OPTION_ROWS);
}

/* The menu stays open, for the next one. */
static void choose_option(struct app *app, enum action action)
{
	size_t i = 0;
	while (option_rows[i].action != action)
		i++;
	set_option(app, &option_rows[i]);
	open_options(app, ACTION_OPTIONS);
	app->overlay.list.selected = i;
}

static void hide_native(struct app *app, enum action action)
{
	(void)action;
	if (app->model && !app->model->names->has_scripts) {
		app_warn(app, "no frames of scripts were recorded");
		return;
	}
	app->wish.hides_native = !app->wish.hides_native;
	app->wish.serial++;
}

static void hide_kernel(struct app *app, enum action action)
{
	(void)action;
	if (app->model && !app->model->names->has_kernel) {
		app_warn(app, "no frames of the kernel were recorded");
		return;
	}
	app->wish.hides_kernel = !app->wish.hides_kernel;
	app->wish.serial++;
}

/* ---- the view as text, for a file ---- */

/* A view that has no text of its own is printed as it is seen; shades are characters. */
static void print_grid(struct app *app, struct str *out)
{
	struct grid grid;
	grid_init(&grid, app->chrome.body.width, app->chrome.body.height, false);
	grid.colours = GRID_MONO;
	app->views[app->view]->draw(app->states[app->view], app, &grid, grid_all(&grid));
	grid_put_text(&grid, out);
	grid_deinit(&grid);
}

/* Of the file that takes it: "txt", "svg". */
static const char *app_print_suffix(const struct app *app)
{
	const struct view *view = app_form(app);
	return view->print_suffix ? view->print_suffix : "txt";
}

static void print_view(struct app *app, const char *path)
{
	const char *suffix = app_print_suffix(app), *typed = strrchr(path, '.');
	bool is_text = strcmp(suffix, "txt") == 0;
	if (app->to_print.path)
		return;
	if (!app_has_view(app)) {
		app_warn(app, "there is nothing to print yet");
		return;
	}
	if (typed && strcmp(typed, is_text ? ".svg" : ".txt") == 0) {
		app_warn(app, "this view is written as %s: call it .%s",
			is_text ? "text" : "a picture", suffix);
		return;
	}
	app->to_print.path = mem_strdup(path);
	if (is_text)
		chrome_put_heading(app, &app->to_print.text);
	if (app->views[app->view]->print)
		app->views[app->view]->print(app->states[app->view], app, &app->to_print.text);
	else
		print_grid(app, &app->to_print.text);
}

/* ---- actions ---- */

/* Parameters and all, also where they are not shown. */
static void put_whole_name(const struct profile_function *function, struct str *out)
{
	if (!demangle(function->system_name, DEMANGLE_FULL, out))
		str_puts(out, function->name);
}

static void show_whole_name(struct app *app, enum action action)
{
	(void)action;
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

static void show_info(struct app *app, enum action action)
{
	(void)action;
	struct str text = {0};
	if (app->model->profile->only)
		str_printf(&text, "numbers of samples: only of %s\n\n", app->model->profile->only);
	if (app->model->profile->only_some_events)
		str_puts(&text, "numbers of samples: only of the events that were asked for\n\n");
	info_put_text(app->model->profile, true, &text);
	overlay_open_text(&app->overlay, "Recording", &text);
}

/* Of the selected function, or reason; of all waits where none is. */
static void show_wakers(struct app *app, enum action action)
{
	(void)action;
	const struct profile named = model_profile_with_names(app->model);
	uint32_t function = app_function(app);
	CLEANUP_FREE bool *is_chosen = NULL;
	struct str text = {0};
	if (function) {
		const char *name = model_function(app->model, function)->name;
		is_chosen = mem_zalloc_array(named.functions.len, sizeof(*is_chosen));
		for (size_t i = 0; i < named.functions.len; i++)
			is_chosen[i] = app->model->names->groups[i] == function;
		str_printf(&text, "# waits of %s\n", name);
	}
	const struct model *sums = app->model->sums ? app->model->sums : app->model;
	const struct scope_stacks stacks = model_names_stacks(app->model->names, &named);
	if (waker_list_put(&named, &sums->scope, &stacks, is_chosen, &text))
		overlay_open_text(&app->overlay, "Who ended waits", &text);
	else
		app_warn(app, "no wakers: record -e offcpu --wakers has them");
	str_deinit(&text);
}

static void open_menu(struct app *app, enum action action)
{
	(void)action;
	static const enum action actions[] = {ACTION_ENTER, ACTION_VIEW_1 + VIEW_BUTTERFLY,
		ACTION_VIEW_1 + VIEW_SOURCE, ACTION_ONLY_FUNCTION, ACTION_WITHOUT_FUNCTION,
		ACTION_ONLY_OBJECT, ACTION_ONLY_THREAD, ACTION_ONLY_COMM, ACTION_ONLY_PROCESS,
		ACTION_ONLY_CONTAINER, ACTION_SEARCH_SYMBOL, ACTION_WHOLE_NAME, ACTION_COPY,
		ACTION_PRINT, ACTION_UNDO, ACTION_RESET, ACTION_HELP};
	overlay_open_menu(&app->overlay, "Menu", actions, sizeof(actions) / sizeof(*actions),
		app_word(app, ACTION_ENTER));
}

static void begin_prompt(struct app *app, enum app_prompt prompt)
{
	app->prompt = prompt;
	str_truncate(&app->typed, 0);
	line_edit_begin(&app->edits[prompt]);
}

/* With a name to begin with. */
static void begin_print(struct app *app, enum action action)
{
	(void)action;
	const struct view *view = app->views[app->view];
	begin_prompt(app, APP_PROMPT_PRINT);
	str_puts(&app->typed, "ebprof-");
	for (const char *at = view->name; *at; at++)
		str_putc(&app->typed, *at >= 'A' && *at <= 'Z' ? (char)(*at + 'a' - 'A') : *at);
	str_printf(&app->typed, ".%s", app_print_suffix(app));
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

static void app_copy_name(struct app *app, enum action action)
{
	(void)action;
	const struct profile_function *function = model_function(app->model, app_function(app));
	str_truncate(&app->to_copy, 0);
	put_whole_name(function, &app->to_copy);
	app_say(app, "sent to the terminal to be copied (OSC 52); w shows it");
}

/* Quotes an expression's signs. */
static void search_symbol(struct app *app, enum action action)
{
	(void)action;
	CLEANUP(str_deinit) struct str text = {0};
	const char *name = model_function(app->model, app_function(app))->name;
	for (; *name; name++) {
		if (strchr(".[]()*+?{}|^$\\", *name))
			str_putc(&text, '\\');
		str_putc(&text, *name);
	}
	app_search(app, str_text(&text));
}

/* What is searched for becomes a filter; it goes on being marked. */
static void narrow(struct app *app, enum action action)
{
	(void)action;
	struct scope_term term = {.kind = SCOPE_PATTERN, .text = app->wish.search};
	if (app->model->matches)
		app_filter(app, &term);
	else
		app_warn(app, "search for something first: /");
}

static void cancel(struct app *app, enum action action)
{
	(void)action;
	app->cancels++;
	if (app->busy || app->naming.to_name)
		app_say(app, "stopped; ^C again quits");
	else
		app->is_over = true;
}

static void show_view(struct app *app, enum action action)
{
	app_show(app, (enum view_id)(action - ACTION_VIEW_1));
}

static void step_view(struct app *app, enum action action)
{
	int step = action == ACTION_NEXT_VIEW ? 1 : VIEW_COUNT - 1;
	app_show(app, (app->view + step) % VIEW_COUNT);
}

static void step_unit(struct app *app, enum action action)
{
	(void)action;
	app->unit = (app->unit + 1) % 3;
}

static void step_event(struct app *app, enum action action)
{
	(void)action;
	const struct event_choices *events = &app->model->names->events;
	size_t next = 0;
	if (events->list.len < 2) {
		app_warn(
			app, app->model->profile->only_some_events
				     ? "the others were left out: start without -e, --leaks, --peak"
				     : "no other event was recorded");
		return;
	}
	uint32_t now = app->wish.event ? app->wish.event : app->model->event;
	for (size_t i = 0; i < events->list.len; i++)
		if (events->list.data[i].event == now)
			next = (i + 1) % events->list.len;
	app->wish.event = events->list.data[next].event;
	app->wish.serial++;
}

static void show_help(struct app *app, enum action action)
{
	(void)action;
	overlay_open_help(&app->overlay);
}

static void begin_expression(struct app *app, enum action action)
{
	begin_prompt(app, action == ACTION_SEARCH ? APP_PROMPT_SEARCH
			  : action == ACTION_KEEP ? APP_PROMPT_KEEP
						  : APP_PROMPT_EXCLUDE);
}

static void list_commands(struct app *app)
{
	enum action actions[COMMAND_PALETTE_MAX];
	size_t count = command_palette_find(str_text(&app->typed), actions);
	if (count)
		overlay_open_menu(
			&app->overlay, "Commands", actions, count, app_word(app, ACTION_ENTER));
	else
		overlay_close(&app->overlay);
}

static void begin_command(struct app *app, enum action action)
{
	(void)action;
	begin_prompt(app, APP_PROMPT_COMMAND);
	list_commands(app);
}

static void begin_baseline(struct app *app, enum action action)
{
	(void)action;
	if (app->options->is_live) {
		app_warn(app, "O saves what was recorded: ebprof report compares that");
		return;
	}
	begin_prompt(app, APP_PROMPT_BASELINE);
	type_usual_baseline(app);
}

static void pause_or_go_on(struct app *app, enum action action)
{
	(void)action;
	app->is_paused = app->options->is_live && !app->is_paused;
}

/* "ebprof.data", "ebprof-2.data": the first that no file has. */
static void put_free_name(struct str *out)
{
	enum {
		NAMES_TRIED = 1000,
	};
	str_puts(out, "ebprof.data");
	for (int i = 2; i < NAMES_TRIED && access(str_text(out), F_OK) == 0; i++) {
		str_truncate(out, 0);
		str_printf(out, "ebprof-%d.data", i);
	}
}

static void begin_save(struct app *app, enum action action)
{
	(void)action;
	if (!app->options->is_live) {
		app_say(app, "it is in a file: %s", app->options->file_name);
		return;
	}
	begin_prompt(app, APP_PROMPT_SAVE);
	put_free_name(&app->typed);
}

static void app_leave(struct app *app, enum action action)
{
	(void)action;
	app->is_over = true;
}

/* What each action does where the view has no meaning of its own for it. */
static const struct action_row {
	enum action first, last;
	bool needs_model;
	void (*run)(struct app *app, enum action action);
} action_rows[] = {
	{ACTION_VIEW_1, ACTION_VIEW_9, false, show_view},
	{ACTION_NEXT_VIEW, ACTION_PREVIOUS_VIEW, false, step_view},
	{ACTION_UNDO, ACTION_RESET, false, app_act_on_trail},
	{ACTION_KEEP, ACTION_EXCLUDE, false, begin_expression},
	{ACTION_ONLY_THREAD, ACTION_ONLY_CONTAINER, true, keep_only_task},
	{ACTION_ONLY_FUNCTION, ACTION_ONLY_KERNEL, true, app_keep_only},
	{ACTION_SEARCH, ACTION_SEARCH, false, begin_expression},
	{ACTION_SEARCH_SYMBOL, ACTION_SEARCH_SYMBOL, true, search_symbol},
	{ACTION_NARROW, ACTION_NARROW, true, narrow},
	{ACTION_EVENT, ACTION_EVENT, true, step_event},
	{ACTION_GROUP, ACTION_GROUP, true, group_actions_open},
	{ACTION_GROUP_NONE, ACTION_GROUP_EVENT, true, group_actions_choose},
	{ACTION_UNIT, ACTION_UNIT, false, step_unit},
	{ACTION_INFO, ACTION_INFO, true, show_info},
	{ACTION_WAITS, ACTION_WAITS, true, wait_actions_open},
	{ACTION_WAIT_CHOSEN, ACTION_WAIT_CHOSEN, true, wait_actions_choose},
	{ACTION_WAKERS, ACTION_WAKERS, true, show_wakers},
	{ACTION_OPTIONS, ACTION_OPTIONS, false, open_options},
	{ACTION_OPTION_INLINED, ACTION_OPTION_PATHS, false, choose_option},
	{ACTION_NO_NATIVE, ACTION_NO_NATIVE, false, hide_native},
	{ACTION_NO_KERNEL, ACTION_NO_KERNEL, false, hide_kernel},
	{ACTION_WHOLE_NAME, ACTION_WHOLE_NAME, true, show_whole_name},
	{ACTION_COPY, ACTION_COPY, true, app_copy_name},
	{ACTION_PRINT, ACTION_PRINT, true, begin_print},
	{ACTION_BASELINE, ACTION_BASELINE, false, begin_baseline},
	{ACTION_MENU, ACTION_MENU, false, open_menu},
	{ACTION_COMMANDS, ACTION_COMMANDS, false, begin_command},
	{ACTION_HELP, ACTION_HELP, false, show_help},
	{ACTION_PAUSE, ACTION_PAUSE, false, pause_or_go_on},
	{ACTION_SAVE, ACTION_SAVE, true, begin_save},
	{ACTION_CANCEL, ACTION_CANCEL, false, cancel},
	{ACTION_QUIT, ACTION_QUIT, false, app_leave},
};

/* What only some views do. */
static void say_where(struct app *app, enum action action)
{
	static const struct {
		enum action first, last;
		const char *text;
	} rows[] = {
		{ACTION_LEFT, ACTION_RIGHT, "nothing is on the left or right here: views 3 to 6"},
		{ACTION_NEXT_FUNCTION, ACTION_PREVIOUS_FUNCTION,
			"the next and the last function: view 2"},
		{ACTION_RANGE, ACTION_RANGE, "ranges of time: view 5"},
		{ACTION_HOTTEST_MATCH, ACTION_HOTTEST_MATCH, "there is nothing to search in here"},
		{ACTION_TOGGLE, ACTION_COLLAPSE_ALL, "there are no branches here: view 3"},
		{ACTION_FOLD, ACTION_FOLD, "there are no chains of calls here: view 3"},
		{ACTION_INVERT, ACTION_INVERT, "nothing to invert here: views 3 and 4"},
		{ACTION_SORT_LEFT, ACTION_SORT_REVERSE, "nothing to sort here: view 1"},
		{ACTION_SWAP, ACTION_SWAP, "nothing is compared here: D, then view 8"},
		{ACTION_RETRY, ACTION_RETRY, "files are looked for again in view 9"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (action >= rows[i].first && action <= rows[i].last)
			app_warn(app, "%s", rows[i].text);
}

static bool act_in_view(struct app *app, enum action action)
{
	if (!app_has_view(app))
		return false;
	void *state = app->states[app->view];
	const struct row_search *rows = app_form(app)->search;
	return app->views[app->view]->act(state, app, action) ||
	       (rows && row_search_act(rows, state, app, action));
}

static void act(struct app *app, enum action action)
{
	if (act_in_view(app, action))
		return;
	if (app_has_view(app))
		say_where(app, action);
	for (size_t i = 0; i < sizeof(action_rows) / sizeof(*action_rows); i++) {
		const struct action_row *row = &action_rows[i];
		if (action >= row->first && action <= row->last &&
			(app->model || !row->needs_model))
			row->run(app, action);
	}
}

/* Once the model knows them. */
static void go_to_hottest_match(struct app *app)
{
	bool is_known = app_has_view(app) && app->model->wish_serial == app->wish.serial;
	if (!app->goes_to_match || !is_known)
		return;
	app->goes_to_match = false;
	act(app, ACTION_HOTTEST_MATCH);
}

/* ---- what is typed ---- */

static void end_prompt(struct app *app)
{
	enum app_prompt prompt = app->prompt;
	app->prompt = APP_PROMPT_NONE;
	const char *text = str_text(&app->typed);
	line_edit_remember(&app->edits[prompt], text);
	if (prompt == APP_PROMPT_BASELINE) {
		app_compare_with(app, text);
		return;
	}
	if (prompt == APP_PROMPT_SEARCH)
		app->goes_to_match = text[0]; /* it was searched for while it was typed */
	if (!text[0] || prompt == APP_PROMPT_SEARCH)
		return;
	if (prompt == APP_PROMPT_PRINT) {
		print_view(app, text);
		return;
	}
	if (prompt == APP_PROMPT_SAVE) {
		mem_free(app->to_save);
		app->to_save = mem_strdup(text);
		return;
	}
	typed_filter_add(app, text, prompt == APP_PROMPT_EXCLUDE);
}

static void type_key(struct app *app, uint32_t key)
{
	bool is_search = app->prompt == APP_PROMPT_SEARCH;
	if (key == INPUT_ENTER) {
		end_prompt(app);
	} else if (key == INPUT_ESCAPE || key == INPUT_CTRL('c')) {
		app->prompt = APP_PROMPT_NONE;
		if (is_search)
			app_search(app, "");
	} else if (key == INPUT_TAB && app->prompt == APP_PROMPT_BASELINE) {
		type_usual_baseline(app);
	} else if (line_edit_key(&app->edits[app->prompt], &app->typed, key) && is_search) {
		app_search(app, str_text(&app->typed));
	}
}

static bool moves_in_list(uint32_t key)
{
	return key == INPUT_UP || key == INPUT_DOWN || key == INPUT_PAGE_UP ||
	       key == INPUT_PAGE_DOWN;
}

/* What is chosen from the list is done; letters make it shorter, arrows move in it. */
static void type_command(struct app *app, const struct input *input)
{
	bool is_key = input->kind == INPUT_KEY, was_open = app->overlay.is_open;
	bool is_enter = is_key && key_action(input->key) == ACTION_ENTER;
	bool is_left = is_key && (input->key == INPUT_ESCAPE || input->key == INPUT_CTRL('c'));
	enum action chosen = ACTION_NONE;
	if (was_open && (!is_key || is_enter || moves_in_list(input->key)))
		chosen = overlay_input(&app->overlay, input);
	else if (is_key && !is_left && !moves_in_list(input->key) &&
		 line_edit_key(&app->edits[APP_PROMPT_COMMAND], &app->typed, input->key))
		list_commands(app);
	bool is_over = is_left || is_enter || (!is_key && was_open && !app->overlay.is_open);
	if (!is_over)
		return;
	app->prompt = APP_PROMPT_NONE;
	overlay_close(&app->overlay);
	if (chosen)
		act(app, chosen);
}

/* ---- drawing ---- */

static void draw_view(struct app *app, struct grid *grid)
{
	const struct rect *body = &app->chrome.body;
	if (!app->model || body->height <= 0)
		return;
	if (app_has_view(app))
		app->views[app->view]->draw(app->states[app->view], app, grid, *body);
	else
		grid_put(grid, 0, body->y, grid->width, STYLE_DIM,
			app->busy ? "the call tree is being made"
				  : "there is no call tree: ^C stopped it");
}

/* ---- keys that change nothing that can be seen ---- */

/* At the end of a list, or in the view that is asked for, that needs no words. */
static bool has_visible_effect(enum action action)
{
	bool is_move = action >= ACTION_UP && action <= ACTION_LAST;
	bool is_view = action >= ACTION_VIEW_1 && action <= ACTION_VIEW_9;
	return action && !is_move && !is_view && action != ACTION_REDRAW && action != ACTION_QUIT;
}

static void say_key_was_ignored(struct app *app, uint32_t key)
{
	const struct key_row *row = key_row_of(key_action(key));
	if (key > ' ' && key < 0x7f)
		app_say(app, "%c changes nothing here: ? lists the keys", (int)key);
	else if (row)
		app_say(app, "%.*s changes nothing here: ? lists the keys",
			(int)strcspn(row->shown, " "), row->shown);
}

/* Behind the newest key, once what it was to change is drawn. */
static void answer_ignored_key(struct app *app, struct grid *grid)
{
	uint32_t key = app->pressed;
	uint64_t seen = app->seen;
	app->pressed = 0;
	app->seen = grid_hash(grid, grid->height - 1);
	bool is_pending =
		app->busy || !app_has_view(app) || app->model->wish_serial != app->wish.serial;
	if (!key || is_pending || app->prompt || app->message.len || app->seen != seen)
		return;
	say_key_was_ignored(app, key);
	struct rect bottom = {0, grid->height - 1, grid->width, 1};
	grid_fill(grid, bottom, STYLE_NORMAL, " ");
	chrome_draw_below(app, grid);
}

static void draw_app(struct app *app, struct grid *grid)
{
	go_to_hottest_match(app);
	wait_actions_renew(app);
	grid_clear(grid);
	if (!chrome_draw_above(&app->chrome, app, grid))
		return;
	draw_view(app, grid);
	chrome_draw_below(app, grid);
	enum {
		ROOM_FOR_LAST_LINE = 8,
	};
	/* The last line says how the box is closed, or has what is typed. */
	bool is_kept = app->prompt == APP_PROMPT_COMMAND || grid->height >= ROOM_FOR_LAST_LINE;
	grid->height -= is_kept;
	if (app->overlay.is_open)
		overlay_draw(&app->overlay, grid);
	grid->height += is_kept;
}

void app_draw(struct app *app, struct grid *grid)
{
	draw_app(app, grid);
	answer_ignored_key(app, grid);
}

/* ---- input ---- */

static bool is_in(const struct rect *rect, const struct input *input)
{
	return input->x >= rect->x && input->x < rect->x + rect->width && input->y >= rect->y &&
	       input->y < rect->y + rect->height;
}

static void point(struct app *app, const struct input *input)
{
	enum action chosen;
	if (!app->model)
		return;
	if (chrome_point(&app->chrome, app, input, &chosen)) {
		if (chosen)
			act(app, chosen);
		return;
	}
	bool is_taken = app_has_view(app) && app->views[app->view]->mouse &&
			is_in(&app->chrome.body, input) &&
			app->views[app->view]->mouse(app->states[app->view], app, input);
	if (is_taken && input->kind == INPUT_DOUBLE)
		act(app, ACTION_ENTER);
	if (input->kind == INPUT_MENU)
		open_menu(app, ACTION_MENU);
}

/* While it is recorded, Space is for what has no other key that is as near. */
static enum action action_of_key(const struct app *app, uint32_t key)
{
	return app->options->is_live && key == ' ' ? ACTION_PAUSE : key_action(key);
}

static void say_key_is_free(struct app *app, uint32_t key)
{
	if (key > ' ' && key < 0x7f)
		app_say(app, "%c does nothing: ? lists the keys", (int)key);
}

void app_input(struct app *app, const struct input *input)
{
	if (input->kind == INPUT_KEY || input->kind == INPUT_PRESS)
		str_truncate(&app->message, 0);
	if (app->prompt == APP_PROMPT_COMMAND) {
		type_command(app, input);
	} else if (app->overlay.is_open) {
		bool are_waits = wait_actions_are_open(app);
		enum action chosen = overlay_input(&app->overlay, input);
		if (chosen == ACTION_WAKERS && are_waits) /* it is about what is selected below */
			app_say(app,
				"Enter shows a wait's function, and Z then who ended its waits");
		else if (chosen)
			act(app, chosen);
	} else if (input->kind == INPUT_PASTE) {
		if (app->prompt && input->key >= 0x20)
			type_key(app, input->key);
	} else if (app->prompt && input->kind == INPUT_KEY) {
		type_key(app, input->key);
	} else if (input->kind == INPUT_KEY) {
		enum action action = action_of_key(app, input->key);
		app->pressed = has_visible_effect(action) ? input->key : 0;
		if (action)
			act(app, action);
		else
			say_key_is_free(app, input->key);
	} else if (input->kind != INPUT_RESIZE && input->kind != INPUT_POINTER) {
		point(app, input);
	}
}
