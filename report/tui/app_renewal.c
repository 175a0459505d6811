#include "report/tui/app_state.h"

#include "report/tui/renewal.h"
#include "report/write/longest_waits.h"

bool app_is_held(const struct app *app)
{
	bool is_of_waits = app->overlay.is_open && app->overlay.title == longest_waits_heading;
	return app->view == VIEW_SOURCE || is_of_waits; /* whose rows have numbers of now */
}

void app_renewed_wish(const struct app *app, const struct model *next, struct model_wish *ret)
{
	struct renewal *renewal = renewal_create(app->model, next);
	model_wish_copy(ret, &app->wish);
	vec_each(&ret->scope.terms, term)
		renewal_term(renewal, term);
	ret->event = renewal_event(renewal, ret->event);
	ret->annotated = ret->retried = 0;
	renewal_destroy(renewal);
}

static void renew_steps(const struct renewal *renewal, struct trail_step *steps, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (steps[i].is_zoom)
			renewal_path(renewal, &steps[i].zoom);
		else
			renewal_term(renewal, &steps[i].term);
	}
}

/* A selection that is not there any more leaves the first row selected. */
static void renew_selection(const struct renewal *renewal, struct app_selection *selection)
{
	selection->frame = renewal_frame(renewal, selection->frame);
	selection->group = renewal_frame(renewal, selection->group);
	selection->thread = renewal_thread(renewal, selection->thread);
	selection->process = renewal_process(renewal, selection->process);
	renewal_path(renewal, &selection->path);
}

void app_renew(struct app *app, struct model *model)
{
	struct model_wish wish = {0};
	struct renewal *renewal = renewal_create(app->model, model);
	app_renewed_wish(app, model, &wish);
	model_wish_deinit(&app->wish);
	app->wish = wish;
	renew_steps(renewal, app->trail.done.data, app->trail.done.len);
	renew_steps(renewal, app->trail.undone.data, app->trail.undone.len);
	renew_selection(renewal, &app->selection);
	for (int i = 0; i < VIEW_COUNT; i++)
		if (app->was_seen[i] && app->views[i]->renew)
			app->views[i]->renew(app->states[i], renewal);
	renewal_destroy(renewal);
	listing_release(app->listing);
	app->listing = NULL;
	model_release(app->model);
	app->model = model;
	for (int i = 0; i < VIEW_COUNT; i++)
		if (app->was_seen[i] && i != VIEW_SOURCE && app->views[i]->update)
			app->views[i]->update(app->states[i], app);
}
