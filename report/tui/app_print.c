/* The view as text, for a file. */
#include "report/tui/app.h"

void app_print_deinit(struct app_print *print)
{
	mem_free(print->path);
	str_deinit(&print->text);
	*print = (struct app_print){0};
}

/* A view that has no text of its own is printed as it is seen. */
static void print_grid(struct app *app, struct str *out)
{
	struct grid grid;
	grid_init(&grid, app->body.width, app->body.height, false);
	views[app->view]->draw(app->states[app->view], app, &grid, grid_all(&grid));
	grid_put_text(&grid, out);
	grid_deinit(&grid);
}

void app_print(struct app *app, const char *path)
{
	if (app->to_print.path)
		return;
	if (!app_has_view(app)) {
		app_say(app, "there is nothing to print yet");
		return;
	}
	app->to_print.path = mem_strdup(path);
	if (views[app->view]->print)
		views[app->view]->print(app->states[app->view], app, &app->to_print.text);
	else
		print_grid(app, &app->to_print.text);
}
