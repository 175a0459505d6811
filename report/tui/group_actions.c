#include "report/tui/group_actions.h"

static const struct group_row {
	enum action action;
	enum grouping grouping;
	const char *text;
} group_rows[] = {
	{ACTION_GROUP_NONE, GROUPING_NONE, "nothing"},
	{ACTION_GROUP_PROCESS, GROUPING_PROCESS, "process"},
	{ACTION_GROUP_THREAD, GROUPING_THREAD, "thread"},
	{ACTION_GROUP_CONTAINER, GROUPING_CONTAINER, "container, else control group"},
	{ACTION_GROUP_FILE, GROUPING_FILE, "file whose code ran"},
	{ACTION_GROUP_EVENT, GROUPING_EVENT, "event, where several are shown as one"},
};

enum {
	GROUP_ROWS = sizeof(group_rows) / sizeof(*group_rows),
};

void group_actions_open(struct app *app, enum action action)
{
	(void)action;
	if (app->wish.baseline) {
		app_warn(app, "what is compared is not grouped: D, then no file, ends that");
		return;
	}
	struct str text = {0};
	enum action actions[GROUP_ROWS];
	size_t chosen = 0;
	for (size_t i = 0; i < GROUP_ROWS; i++) {
		bool is_on =
			group_rows[i].grouping == model_grouping(app->model->profile, &app->wish);
		chosen = is_on ? i : chosen;
		actions[i] = group_rows[i].action;
		str_printf(&text, "(%c) %s\n", is_on ? '*' : ' ', group_rows[i].text);
	}
	overlay_open_choices(&app->overlay, "Group by", &text, actions, GROUP_ROWS);
	app->overlay.list.selected = chosen;
}

void group_actions_choose(struct app *app, enum action action)
{
	size_t i = 0;
	while (group_rows[i].action != action)
		i++;
	bool is_other = model_grouping(app->model->profile, &app->wish) != group_rows[i].grouping;
	app->wish.grouping = group_rows[i].grouping;
	app->wish.serial++;
	if (is_other && trail_forget_zooms(&app->trail))
		app_say(app, "branches are others now: the zoom has ended");
	bool is_group = planted_find(app->model->names->groups_of, app->selection.frame);
	if (is_other) /* the function, wherever it is then */
		app_select(app, is_group ? 0 : app->selection.frame);
}

/* False: no filter keeps just this group. */
static bool put_group_term(
	const struct app *app, const struct root_group *group, struct scope_term *term)
{
	const struct profile *profile = app->model->profile;
	const struct profile_thread *thread = &profile->threads.data[group->thread];
	switch (app->model->names->grouping) {
	case GROUPING_PROCESS:
		term->kind = SCOPE_PID;
		term->number = thread->pid;
		return true;
	case GROUPING_THREAD:
		term->kind = SCOPE_TID;
		term->number = thread->tid;
		return true;
	case GROUPING_CONTAINER:
		term->kind = SCOPE_CONTAINER;
		term->text = (char *)scope_container(&profile->processes.data[thread->process]);
		return true;
	case GROUPING_EVENT:
		term->kind = SCOPE_EVENT;
		term->text = (char *)profile->events.data[group->event].name;
		return true;
	default:
		return false;
	}
}

bool group_actions_filter(struct app *app, bool excludes)
{
	const struct root_group *group =
		planted_find(app->model->names->groups_of, app->selection.frame);
	struct scope_term term = {.excludes = excludes};
	if (group && put_group_term(app, group, &term))
		app_filter(app, &term);
	else if (group)
		app_warn(app, "Enter zooms into a file; d keeps stacks that pass through one");
	return group;
}
