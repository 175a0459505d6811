#include "report/tui/wait_actions.h"

#include "report/write/longest_waits.h"

static void remember_choice(
	struct app *app, const struct profile *named, const struct longest_wait *wait)
{
	const struct wait_choice choice = {
		.thread = named->threads.data[wait->longest->thread].first,
		.stack = wait->longest->stack,
		.event = wait->longest->event,
		.frame = longest_waits_frame(named, wait->longest->stack),
	};
	vec_push(&app->waits, choice);
}

/* Waits that the filters leave; that of a row does not count: another one is to take its place. */
static void find_waits(
	const struct app *app, const struct profile *named, struct longest_waits *ret)
{
	CLEANUP(scope_deinit) struct scope scope = {0};
	const struct scope_stacks stacks = model_names_stacks(app->model->names, named);
	vec_each(&app->trail.done, step)
		if (!trail_step_is_wait(step) && !step->is_zoom)
			scope_add(&scope, &step->term);
	longest_waits_find(named, &scope, &stacks, LONGEST_WAITS_OF_SCREEN, ret);
}

static bool profile_has_waits(const struct profile *profile)
{
	vec_each(&profile->samples, sample)
		if (profile->events.data[sample->event].wait)
			return true;
	return false;
}

void wait_actions_open(struct app *app, enum action action)
{
	(void)action;
	const struct profile named = model_profile_with_names(app->model);
	CLEANUP(longest_waits_deinit) struct longest_waits waits;
	enum action actions[LONGEST_WAITS_MAX + 2] = {0}; /* none below the rows */
	struct str text = {0};
	find_waits(app, &named, &waits);
	if (!waits.all) {
		app_warn(app, profile_has_waits(&named)
				      ? "no waits here: Esc undoes the last filter"
				      : "no waits: record -e offcpu, runq or wall has them");
		return;
	}
	app->waits.len = 0;
	app->waits_written = app->model;
	for (size_t i = 0; i < waits.rows.len && i < LONGEST_WAITS_MAX; i++) {
		longest_waits_put_row(&named, &waits.rows.data[i], &text);
		remember_choice(app, &named, &waits.rows.data[i]);
		actions[i] = ACTION_WAIT_CHOSEN;
	}
	longest_waits_put_rest(&waits, app->waits.len, "", &text);
	size_t lines = 0;
	for (size_t i = 0; i < text.len; i++)
		lines += str_text(&text)[i] == '\n';
	overlay_open_choices(&app->overlay, longest_waits_heading, &text, actions, lines);
}

bool wait_actions_are_open(const struct app *app)
{
	return app->overlay.is_open && app->overlay.title == longest_waits_heading;
}

void wait_actions_renew(struct app *app)
{
	size_t selected = app->overlay.list.selected, top = app->overlay.list.top;
	if (!wait_actions_are_open(app) || app->waits_written == app->model)
		return;
	wait_actions_open(app, ACTION_WAITS);
	app->overlay.list.selected = selected;
	app->overlay.list.top = top;
}

/* An event that those waits are of, where what is shown has none of them. */
static void wish_event_of(struct app *app, uint32_t event)
{
	uint32_t now = app->wish.event ? app->wish.event : app->model->event;
	if (profile_event_has(app->model->profile, now, event))
		return;
	app->wish.event = event;
	app->wish.serial++;
}

void wait_actions_choose(struct app *app, enum action action)
{
	(void)action;
	size_t at = app->overlay.list.selected;
	if (at >= app->waits.len)
		return;
	const struct wait_choice *choice = &app->waits.data[at];
	wish_event_of(app, choice->event);
	app_filter_wait(app, choice->thread, choice->stack);
	if (choice->frame)
		app_select(app, choice->frame);
}
