#include "report/tui/row_search.h"

#include "report/tui/app_state.h"

/* False: nothing is searched for, or it is no expression yet. */
static bool begin_pattern(const struct app *app, struct pattern *pattern)
{
	const char *wanted = app->wish.search;
	return wanted && wanted[0] && pattern_init(pattern, wanted);
}

/* ---- going to a match ---- */

struct row_search_job {
	const struct row_search *rows;
	void *state;
	const struct app *app;
	struct pattern pattern;
};

static bool row_search_is_match(const void *context, size_t row)
{
	const struct row_search_job *job = context;
	return job->rows->is_match(job->state, job->app, &job->pattern, row);
}

static bool find_hottest_row(const struct row_search_job *job, struct list *list)
{
	bool is_found = false;
	uint64_t most = 0;
	for (size_t i = 0; i < list->count; i++) {
		if ((is_found && !job->rows->weight) || !row_search_is_match(job, i))
			continue;
		uint64_t weight =
			job->rows->weight ? job->rows->weight(job->state, job->app, i) : 0;
		if (is_found && weight <= most)
			continue;
		list->selected = i;
		most = weight;
		is_found = true;
	}
	return is_found;
}

static bool find_row(const struct row_search_job *job, enum action action)
{
	struct list *list = job->rows->list(job->state);
	return action == ACTION_HOTTEST_MATCH
		       ? find_hottest_row(job, list)
		       : list_find(list, action == ACTION_PREVIOUS_MATCH, row_search_is_match, job);
}

bool row_search_act(const struct row_search *rows, void *state, struct app *app, enum action action)
{
	struct row_search_job job = {.rows = rows, .state = state, .app = app};
	if (action != ACTION_HOTTEST_MATCH && action != ACTION_NEXT_MATCH &&
		action != ACTION_PREVIOUS_MATCH)
		return false;
	if (!begin_pattern(app, &job.pattern)) {
		app_warn(app, "search for something first: /");
		return true;
	}
	size_t before = rows->list(state)->selected;
	bool is_found =
		find_row(&job, action) ||
		(rows->reveal && rows->reveal(state, app, &job.pattern) && find_row(&job, action));
	pattern_deinit(&job.pattern);
	if (!is_found) {
		app_warn(app, "nothing matches");
		return true;
	}
	if (action != ACTION_HOTTEST_MATCH && rows->list(state)->selected == before)
		app_say(app, "no other match");
	rows->select(state, app);
	return true;
}

size_t row_search_count(
	const struct row_search *rows, void *state, const struct app *app, size_t *number)
{
	struct pattern pattern;
	const struct list *list = rows->list(state);
	size_t count = 0;
	*number = 0;
	if (!begin_pattern(app, &pattern))
		return 0;
	for (size_t i = 0; i < list->count; i++) {
		if (!rows->is_match(state, app, &pattern, i))
			continue;
		count++;
		if (i == list->selected)
			*number = count;
	}
	pattern_deinit(&pattern);
	return count;
}

/* ---- how matches are seen ---- */

void row_marks_init(
	struct row_marks *marks, const struct row_search *rows, void *state, const struct app *app)
{
	*marks = (struct row_marks){0};
	marks->has_pattern = begin_pattern(app, &marks->pattern);
	size_t count = marks->has_pattern ? rows->list(state)->count : 0;
	for (size_t i = 0; i < count && !marks->has_any; i++)
		marks->has_any = rows->is_match(state, app, &marks->pattern, i);
}

void row_marks_deinit(struct row_marks *marks)
{
	if (marks->has_pattern)
		pattern_deinit(&marks->pattern);
}

bool row_marks_has(const struct row_marks *marks, const struct row_search *rows, const void *state,
	const struct app *app, size_t row)
{
	return marks->has_any && rows->is_match(state, app, &marks->pattern, row);
}

unsigned row_marks_style(const struct row_marks *marks, const struct row_search *rows,
	const void *state, const struct app *app, size_t row, unsigned style)
{
	if (!marks->has_any)
		return style;
	return row_marks_has(marks, rows, state, app, row) ? style | STYLE_MATCH : STYLE_DIM;
}
