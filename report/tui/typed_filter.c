#include "report/tui/typed_filter.h"

#include "format/base/path.h"
#include "report/model/pattern.h"
#include "report/tui/app_state.h"

static bool has_function_called(const struct model_names *names, const struct pattern *pattern)
{
	for (size_t i = 1; i < names->functions.len; i++)
		if (pattern_matches(pattern, names->functions.data[i].name))
			return true;
	return false;
}

static bool has_file_called(const struct model_names *names, const struct pattern *pattern)
{
	for (size_t i = 1; i < names->objects.len; i++)
		if (names->objects.data[i].is_used &&
			(pattern_matches(pattern, names->objects.data[i].name) ||
				pattern_matches(
					pattern, path_last_part(names->objects.data[i].name))))
			return true;
	return false;
}

static bool has_thread_called(const struct profile *profile, const struct pattern *pattern)
{
	vec_each(&profile->threads, thread)
		if (pattern_matches(pattern, thread->comm))
			return true;
	return false;
}

/* False: nothing has such a name. */
static bool find_kind(const struct app *app, const struct pattern *pattern, enum scope_kind *ret)
{
	*ret = SCOPE_PATTERN;
	if (!app->model || has_function_called(app->model->names, pattern))
		return true;
	if (app->naming.to_name)
		return true;
	*ret = SCOPE_FILE_PATTERN;
	if (has_file_called(app->model->names, pattern))
		return true;
	*ret = SCOPE_COMM_PATTERN;
	return has_thread_called(app->model->profile, pattern);
}

void typed_filter_add(struct app *app, const char *text, bool excludes)
{
	struct pattern pattern;
	struct scope_term term = {.excludes = excludes, .text = (char *)text};
	if (!pattern_init(&pattern, text)) {
		app_warn(app, "\"%s\" is no regular expression", text);
		return;
	}
	bool is_found = find_kind(app, &pattern, &term.kind);
	bool are_threads_called =
		is_found && app->model && has_thread_called(app->model->profile, &pattern);
	pattern_deinit(&pattern);
	if (!is_found) {
		app_warn(app, "no function, file or thread has a name like that");
		return;
	}
	if (term.kind != SCOPE_PATTERN)
		app_say(app, "no function is called so: %s %s of that name",
			excludes ? "without" : "only",
			term.kind == SCOPE_FILE_PATTERN ? "files" : "threads");
	else if (are_threads_called)
		app_say(app, "functions of that name; threads have it, too: 6 lists them");
	app_filter(app, &term);
}
