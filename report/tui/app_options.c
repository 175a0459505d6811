/* The menu of what can be shown otherwise. */
#include "report/tui/app.h"

static const struct option_row {
	enum action action;
	const char *text;
} rows[] = {
	{ACTION_OPTION_INLINED, "inlined functions as parts of their callers"},
	{ACTION_OPTION_WHOLE, "whole names"},
	{ACTION_OPTION_NO_PARAMETERS, "names without parameters"},
	{ACTION_OPTION_NO_TEMPLATES, "... nor arguments of templates"},
	{ACTION_OPTION_PATHS, "whole paths of files"},
	{ACTION_OPTION_NO_NATIVE, "native frames as parts of the scripts that call them"},
};

enum {
	ROWS = sizeof(rows) / sizeof(*rows),
};

static bool is_on(const struct app *app, enum action action)
{
	const struct model_look *look = &app->wish.look;
	switch (action) {
	case ACTION_OPTION_INLINED:
		return app->wish.hides_inlined;
	case ACTION_OPTION_NO_NATIVE:
		return app->wish.hides_native;
	case ACTION_OPTION_WHOLE:
		return look->demangle == DEMANGLE_FULL;
	case ACTION_OPTION_NO_PARAMETERS:
		return look->demangle == DEMANGLE_TEMPLATES;
	case ACTION_OPTION_NO_TEMPLATES:
		return look->demangle == DEMANGLE_SIMPLIFIED;
	case ACTION_OPTION_PATHS:
		return look->has_paths;
	default:
		return false;
	}
}

static void open_options(struct app *app)
{
	struct str text = {0};
	enum action actions[ROWS];
	for (int i = 0; i < ROWS; i++) {
		actions[i] = rows[i].action;
		str_printf(&text, "[%c] %s\n", is_on(app, actions[i]) ? 'x' : ' ', rows[i].text);
	}
	overlay_open_choices(&app->overlay, "Options", &text, actions, ROWS);
}

static void set_option(struct app *app, enum action action)
{
	struct model_wish *wish = &app->wish;
	if (action == ACTION_OPTION_INLINED)
		wish->hides_inlined = !wish->hides_inlined;
	else if (action == ACTION_OPTION_NO_NATIVE)
		wish->hides_native = !wish->hides_native;
	else if (action == ACTION_OPTION_PATHS)
		wish->look.has_paths = !wish->look.has_paths;
	else if (action == ACTION_OPTION_WHOLE)
		wish->look.demangle = DEMANGLE_FULL;
	else if (action == ACTION_OPTION_NO_PARAMETERS)
		wish->look.demangle = DEMANGLE_TEMPLATES;
	else
		wish->look.demangle = DEMANGLE_SIMPLIFIED;
	wish->serial++;
}

bool app_act_on_options(struct app *app, enum action action)
{
	if (action == ACTION_OPTIONS) {
		open_options(app);
		return true;
	}
	if (action == ACTION_NO_NATIVE) {
		if (app->model && !app->model->names->has_scripts)
			app_say(app, "no frames of scripts were recorded");
		else
			set_option(app, ACTION_OPTION_NO_NATIVE);
		return true;
	}
	for (size_t i = 0; i < ROWS; i++) {
		if (rows[i].action != action)
			continue;
		set_option(app, action);
		open_options(app); /* it stays open, for the next one */
		app->overlay.list.selected = i;
		return true;
	}
	return false;
}
