/* What stands around every view: title, breadcrumb, detail of the selection, hints. */
#include <string.h>

#include "report/tui/app.h"

enum {
	LEAST_WIDTH = 20,
	LEAST_HEIGHT = 5,
};

double app_percent(const struct app *app, uint64_t value)
{
	return profile_percent(value, app->model->slice.whole.value);
}

void app_put_value(const struct app *app, struct str *out, uint64_t value, uint64_t samples)
{
	if (app->unit == APP_SAMPLES)
		str_printf(out, "%llu", (unsigned long long)samples);
	else if (app->unit == APP_PERCENT)
		str_printf(out, "%.2f%%", app_percent(app, value));
	else if (value >= 1000000000)
		str_printf(out, "%.2f s", (double)value / 1e9);
	else
		str_printf(out, "%.1f ms", (double)value / 1e6);
}

static unsigned share_style(double percent)
{
	return percent >= 5 ? STYLE_HOT : percent >= 0.5 ? STYLE_WARM : STYLE_DIM;
}

void app_draw_value(const struct app *app, struct grid *grid, struct rect area, uint64_t value,
	uint64_t samples)
{
	CLEANUP(str_deinit) struct str text = {0};
	app_put_value(app, &text, value, samples);
	grid_put_right(grid, area.x, area.y, area.width, share_style(app_percent(app, value)),
		str_text(&text));
}

unsigned app_name_style(const struct app *app, uint32_t function)
{
	const struct profile_function *it = model_function(app->model, function);
	unsigned match = app->model->matches && app->model->matches[function] ? STYLE_MATCH : 0;
	if (profile_is_kernel(app->model->profile, it->object))
		return STYLE_KERNEL | match;
	return (it->is_known ? STYLE_NORMAL : STYLE_UNKNOWN) | match;
}

/* ---- the first line ---- */

static void put_title(const struct app *app, struct str *out)
{
	const struct model *model = app->model;
	const struct profile *profile = model->profile;
	str_printf(out, "%s", app->options->file_name);
	if (profile->events.len > 1)
		str_printf(out, "  %s", profile->events.data[1].name);
	uint64_t all = profile->samples.len, shown = model->slice.whole.samples;
	if (shown < all)
		str_printf(out, "  %llu of %llu samples", (unsigned long long)shown,
			(unsigned long long)all);
	else
		str_printf(out, "  %llu samples", (unsigned long long)all);
	str_printf(out, "  %.1f s", profile_duration_s(profile));
	uint64_t lost = profile_lost(profile);
	if (lost)
		str_printf(out, "  lost %.1f%%", profile_percent(lost, lost + all));
	if (model->stacks.truncated)
		str_printf(
			out, "  truncated %.1f%%", profile_percent(model->stacks.truncated, all));
	if (app->naming.to_name)
		str_printf(out, "  [%s %u/%u]", app->naming.is_fetching ? "fetching" : "naming",
			app->naming.named, app->naming.to_name);
	if (app->busy)
		str_printf(out, "  [%s]", app->busy);
}

static void draw_title(const struct app *app, struct grid *grid)
{
	CLEANUP(str_deinit) struct str text = {0};
	grid_fill(grid, (struct rect){0, 0, grid->width, 1}, STYLE_TITLE, " ");
	if (app->model)
		put_title(app, &text);
	else
		str_printf(&text, "%s  reading %.0f%%", app->options->file_name, 100 * app->loaded);
	grid_put(grid, 0, 0, grid->width, STYLE_TITLE | STYLE_BOLD, str_text(&text));
}

/* ---- the second line ---- */

static void put_term(const struct app *app, const struct scope_term *term, struct str *out)
{
	const struct profile *profile = app->model->profile;
	if (term->excludes)
		str_puts(out, "not ");
	switch (term->kind) {
	case SCOPE_FUNCTION: {
		uint32_t function = model_function_of(app->model, term->number);
		str_puts(out, model_function(app->model, function)->name);
		break;
	}
	case SCOPE_PATTERN:
		str_printf(out, "/%s/", term->text);
		break;
	case SCOPE_OBJECT:
		str_puts(out, model_object(app->model, term->number)->name);
		break;
	case SCOPE_KERNEL:
		str_puts(out, "kernel");
		break;
	case SCOPE_THREAD:
		str_printf(out, "%s:%u", profile->threads.data[term->number].comm,
			profile->threads.data[term->number].tid);
		break;
	case SCOPE_PROCESS:
		str_printf(out, "pid %u", profile->processes.data[term->number].info.pid);
		break;
	case SCOPE_COMM:
		str_printf(out, "threads \"%s\"", term->text);
		break;
	case SCOPE_CONTAINER:
		str_puts(out, term->text[0] ? term->text : "no cgroup");
		break;
	case SCOPE_CPU:
		str_printf(out, "CPU %u", term->number);
		break;
	case SCOPE_TIME:
		str_printf(out, "%.2f s to %.2f s", (double)term->from_ns / 1e9,
			(double)term->to_ns / 1e9);
		break;
	}
}

static const char *name_of_frame(const struct app *app, uint32_t frame)
{
	return model_function(app->model, model_function_of(app->model, frame))->name;
}

static void put_step(const struct app *app, const struct trail_step *step, struct str *out)
{
	const struct path *zoom = &step->zoom;
	if (!step->is_zoom)
		put_term(app, &step->term, out);
	else if (!zoom->len)
		str_puts(out, "in all");
	else if (step->is_inverted && zoom->len > 1)
		str_printf(out, "%s from %s", name_of_frame(app, zoom->data[0]),
			name_of_frame(app, zoom->data[zoom->len - 1]));
	else
		str_printf(out, "in %s", name_of_frame(app, zoom->data[zoom->len - 1]));
}

static void draw_tabs(const struct app *app, struct grid *grid)
{
	int x = 0;
	for (int i = 0; i < VIEW_COUNT && x < grid->width; i++) {
		if (!views[i])
			continue;
		unsigned style = i == (int)app->view ? STYLE_HEADER | STYLE_BOLD | STYLE_SELECTED
						     : STYLE_DIM;
		/* Where there is no room, the numbers of the others. */
		bool is_short = grid->width < 80 && i != (int)app->view;
		x += is_short ? grid_printf(grid, x, 1, grid->width - x, style, " %d ", i + 1)
			      : grid_printf(grid, x, 1, grid->width - x, style, " %d %s ", i + 1,
					views[i]->name);
	}
}

static void draw_trail(const struct app *app, struct grid *grid, int y)
{
	CLEANUP(str_deinit) struct str text = {0};
	vec_each(&app->trail.done, step) {
		str_printf(&text, "%s ", grid_glyph(grid, GLYPH_CRUMB));
		put_step(app, step, &text);
		str_putc(&text, ' ');
	}
	if (app->model->matches)
		str_printf(&text, "%s/%s: %zu functions, %.2f%%", text.len ? " " : "",
			app->wish.search ? app->wish.search : "", app->model->nr_matches,
			app_percent(app, app->model->matched.value));
	grid_put_elided(grid, 0, y, grid->width, STYLE_HEADER, str_text(&text));
}

/* ---- the last lines ---- */

static const struct function_weight *weight_of(const struct app *app, uint32_t function)
{
	for (size_t i = 0; i < app->model->functions.len; i++)
		if (app->model->functions.data[i].function == function)
			return &app->model->functions.data[i];
	return NULL;
}

static void draw_function(const struct app *app, struct grid *grid, int y)
{
	uint32_t function = app_function(app);
	if (!function)
		return;
	CLEANUP(str_deinit) struct str numbers = {0};
	const struct function_weight *weight = weight_of(app, function);
	if (weight) {
		str_puts(&numbers, " self ");
		app_put_value(app, &numbers, weight->self, weight->self_samples);
		str_puts(&numbers, " total ");
		app_put_value(app, &numbers, weight->total, weight->samples);
	}
	const struct profile_function *it = model_function(app->model, function);
	CLEANUP(str_deinit) struct str name = {0};
	str_printf(&name, "%s  %s", it->name, model_object(app->model, it->object)->name);
	int room = grid->width - (int)numbers.len;
	if (room < LEAST_WIDTH)
		room = grid->width;
	grid_put_elided(grid, 0, y, room, app_name_style(app, function), str_text(&name));
	grid_put(grid, room, y, grid->width - room, STYLE_DIM, str_text(&numbers));
}

static void draw_detail(struct app *app, struct grid *grid, int y)
{
	CLEANUP(str_deinit) struct str detail = {0};
	if (views[app->view]->detail)
		views[app->view]->detail(app->states[app->view], app, &detail);
	if (detail.len)
		grid_put_elided(grid, 0, y, grid->width, STYLE_NORMAL, str_text(&detail));
	else
		draw_function(app, grid, y);
}

static void draw_prompt(const struct app *app, struct grid *grid, int y)
{
	static const char *const before[] = {
		[APP_PROMPT_SEARCH] = "/",
		[APP_PROMPT_KEEP] = "keep: ",
		[APP_PROMPT_EXCLUDE] = "exclude: ",
		[APP_PROMPT_PRINT] = "write to: ",
		[APP_PROMPT_BASELINE] = "compare with: ",
	};
	int x = grid_put(grid, 0, y, grid->width, STYLE_KEY | STYLE_BOLD, before[app->prompt]);
	x += grid_put(grid, x, y, grid->width - x, STYLE_NORMAL, str_text(&app->typed));
	grid_put(grid, x, y, 1, STYLE_NORMAL | STYLE_SELECTED, " ");
}

static void draw_hints(const struct app *app, struct grid *grid, int y)
{
	static const enum action always[] = {ACTION_SEARCH, ACTION_HELP, ACTION_QUIT, ACTION_NONE};
	const enum action *lists[] = {views[app->view]->hints, always};
	int x = 0;
	for (size_t list = 0; list < 2; list++)
		for (const enum action *at = lists[list]; at && *at; at++) {
			const struct key_row *row = key_row_of(*at);
			if (!row)
				continue;
			size_t first = strcspn(row->shown, " "), words = strcspn(row->help, ":;,(");
			CLEANUP_FREE char *key = mem_strndup(row->shown, first);
			CLEANUP_FREE char *help = mem_strndup(row->help, words);
			int width = grid_text_width(grid, key) + grid_text_width(grid, help) + 3;
			if (x + width > grid->width)
				return;
			x += grid_put(grid, x, y, grid->width - x, STYLE_KEY | STYLE_BOLD, key);
			x += grid_printf(grid, x, y, grid->width - x, STYLE_DIM, " %s  ", help);
		}
}

static void draw_bottom(const struct app *app, struct grid *grid, int y)
{
	if (app->prompt)
		draw_prompt(app, grid, y);
	else if (app->message.len)
		grid_put(grid, 0, y, grid->width, STYLE_WARNING, str_text(&app->message));
	else
		draw_hints(app, grid, y);
}

/* ---- */

static void draw_too_small(struct grid *grid)
{
	grid_printf(grid, 0, 0, grid->width, STYLE_WARNING, "%dx%d: too small", grid->width,
		grid->height);
	grid_put(grid, 0, 1, grid->width, STYLE_WARNING, "20x5 needed");
}

void app_draw(struct app *app, struct grid *grid)
{
	grid_clear(grid);
	if (grid->width < LEAST_WIDTH || grid->height < LEAST_HEIGHT) {
		draw_too_small(grid);
		return;
	}
	draw_title(app, grid);
	/* Low screens go without tabs and detail: the view is what matters. */
	bool has_tabs = grid->height >= 10;
	bool has_trail = app->model && (app->trail.done.len || app->model->matches);
	bool has_detail = grid->height >= 8;
	int top = 1, bottom = grid->height - 1;
	if (has_tabs) {
		draw_tabs(app, grid);
		top++;
	}
	if (has_trail)
		draw_trail(app, grid, top++);
	if (has_detail && app->model)
		bottom--;
	app->body = (struct rect){0, top, grid->width, bottom - top};
	if (app->model && app->body.height > 0)
		views[app->view]->draw(app->states[app->view], app, grid, app->body);
	if (has_detail && app->model)
		draw_detail(app, grid, bottom);
	draw_bottom(app, grid, grid->height - 1);
	if (app->overlay.is_open)
		overlay_draw(&app->overlay, grid);
}
