/* Filters of what is selected. */
#include "report/tui/app.h"

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

static void keep_only_task(struct app *app, enum action action)
{
	struct scope_term term;
	if (put_task_term(app, action, &term))
		app_filter(app, &term);
	else
		app_say(app, "select a thread%s first: view 6",
			action == ACTION_ONLY_THREAD || action == ACTION_ONLY_COMM ? ""
										   : " or process");
}

static void keep_only(struct app *app, enum action action)
{
	uint32_t function = app_function(app);
	struct scope_term term = {0};
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
		app_say(app, "nothing is selected");
		return;
	}
	app_filter(app, &term);
}

bool app_keep_selected(struct app *app, enum action action)
{
	switch (action) {
	case ACTION_ONLY_THREAD:
	case ACTION_ONLY_COMM:
	case ACTION_ONLY_PROCESS:
	case ACTION_ONLY_CONTAINER:
		keep_only_task(app, action);
		return true;
	case ACTION_ONLY_FUNCTION:
	case ACTION_WITHOUT_FUNCTION:
	case ACTION_ONLY_OBJECT:
	case ACTION_ONLY_KERNEL:
		keep_only(app, action);
		return true;
	default:
		return false;
	}
}
