#include "report/tui/chrome.h"

#include <stdarg.h>
#include <string.h>

#include "format/base/path.h"
#include "report/tui/app_state.h"
#include "report/tui/row_search.h"
#include "report/write/cause_words.h"
#include "report/write/longest_waits.h"
#include "report/write/ticks_share.h"

enum {
	LEAST_WIDTH = 20,
	LEAST_HEIGHT = 5,
	TABS_Y = 1,
};

/* ---- the first line ---- */

enum {
	PARTS_MAX = 11,
	NAME_LEAST = 16, /* columns of the file's name */
};

/* Where there is no room for all, parts go in the order of their ranks, the highest first. */
struct title {
	struct title_part {
		struct str text;
		int rank;
		enum action action; /* of a click; ACTION_NONE: none */
	} parts[PARTS_MAX];
	size_t count;
};

__attribute__((format(printf, 3, 4))) static void add_part(
	struct title *title, int rank, const char *fmt, ...)
{
	if (title->count == PARTS_MAX)
		return;
	struct title_part *part = &title->parts[title->count++];
	*part = (struct title_part){.rank = rank};
	va_list args;
	va_start(args, fmt);
	str_vprintf(&part->text, fmt, args);
	va_end(args);
}

/* The key that the part added last tells does what a click on it does. */
static void make_button(struct title *title, enum action action)
{
	title->parts[title->count - 1].action = action;
}

static void title_deinit(struct title *title)
{
	for (size_t i = 0; i < title->count; i++)
		str_deinit(&title->parts[i].text);
}

static void chrome_add_samples(const struct app *app, struct title *title)
{
	uint64_t all = event_choices_samples(&app->model->names->events, app->model->event);
	uint64_t shown = app->model->slice.whole.samples;
	if (shown < all)
		add_part(title, 1, "%llu of %llu %s", (unsigned long long)shown,
			(unsigned long long)all, str_plural(all, "sample", "samples"));
	else
		add_part(title, 1, "%llu %s", (unsigned long long)all,
			str_plural(all, "sample", "samples"));
}

/* Where there are several, the event decides what all other numbers mean. */
static void chrome_add_event(const struct app *app, struct title *title)
{
	const struct event_choices *events = &app->model->names->events;
	size_t number = 0;
	while (number < events->list.len && events->list.data[number].event != app->model->event)
		number++;
	if (events->list.len > 1) {
		add_part(title, 1, "%s (%zu of %zu events: m)",
			main_event_name_of(app->model->profile, app->model->event), number + 1,
			events->list.len);
		make_button(title, ACTION_EVENT);
	} else if (app->model->event)
		add_part(title, 5, "%s", app_event(app)->name);
}

/* Less than what can be read as a number is no news; `ebprof info` has it. */
static void chrome_add_share(
	struct title *title, int rank, const char *what, uint64_t part, uint64_t all)
{
	double percent = profile_percent(part, all);
	if (percent >= 0.05)
		add_part(title, rank, "%s %.1f%%", what, percent);
}

/* What a user should know before believing the names, once they have been looked for. */
static void chrome_add_unnamed(const struct app *app, struct title *title)
{
	enum {
		MANY_PERCENT = 5,
	};
	double percent = profile_percent(app->model->unnamed, app->model->slice.whole.value);
	if (percent < MANY_PERCENT || app->model->names_follow)
		return;
	add_part(title, 3, "%.0f%% without names: press 9", percent);
	make_button(title, ACTION_VIEW_9);
}

static void chrome_put_title(const struct app *app, struct title *title)
{
	const struct model *model = app->model;
	const struct profile *profile = model->profile;
	uint64_t all = profile->samples.len, lost = profile_lost(profile);
	uint64_t shown = model->slice.whole.samples;
	if (app->live_words)
		add_part(title, 0, "%s", app->live_words);
	chrome_add_event(app, title);
	chrome_add_samples(app, title);
	if (profile->only)
		add_part(title, 1, "only %s", profile->only);
	add_part(title, 6, "%.1f s", profile_duration_s(profile));
	bool is_damaged = profile->file.damage.regions || profile->file.bad_chunks;
	if (is_damaged || !profile->file.ended)
		add_part(title, 2, "%s", is_damaged ? "damaged" : "cut");
	if (lost)
		add_part(title, 2, "lost %.1f%%", profile_percent(lost, lost + all));
	if (profile->counters[LAYOUT_COUNTER_HEAP_UNSEEN_MS])
		add_part(title, 2, "allocations unseen %.1f s",
			(double)profile->counters[LAYOUT_COUNTER_HEAP_UNSEEN_MS] / 1000);
	double seen = ticks_share_of(profile, app_event(app));
	if (seen < 1)
		add_part(title, 3, "%.0f%% of CPU time sampled", 100 * seen);
	chrome_add_share(title, 3, "by guesses", model->stacks.by_guesses, shown);
	chrome_add_share(title, 4, "inlined by guess", model->stacks.guessed_inlined, shown);
	chrome_add_share(title, 3, "truncated", model->stacks.truncated, shown);
	chrome_add_unnamed(app, title);
	if (app->naming.to_name)
		add_part(title, 4, "[%s %u/%u]", app->naming.is_fetching ? "fetching" : "naming",
			app->naming.named, app->naming.to_name);
	if (app->busy)
		add_part(title, 4, "[%s]", app->busy);
}

static int title_width(const struct title *title, const struct grid *grid)
{
	int width = 0;
	for (size_t i = 0; i < title->count; i++)
		width += 2 + grid_text_width(grid, str_text(&title->parts[i].text));
	return width;
}

/* The part that is needed least leaves. */
static void drop_part(struct title *title)
{
	size_t worst = 0;
	for (size_t i = 1; i < title->count; i++)
		if (title->parts[i].rank > title->parts[worst].rank)
			worst = i;
	str_deinit(&title->parts[worst].text);
	title->count--;
	for (size_t i = worst; i < title->count; i++)
		title->parts[i] = title->parts[i + 1];
}

/* For the mouse. */
static void note_button(struct chrome *chrome, struct rect cell, enum action action)
{
	if (action && chrome->nr_buttons < CHROME_BUTTONS_MAX)
		chrome->buttons[chrome->nr_buttons++] = (struct chrome_button){cell, action};
}

/* The folders are the first to go, then what the other parts leave to the name. */
static int draw_file_name(const struct app *app, struct grid *grid, int room)
{
	const char *name = app->options->file_name;
	if (grid_text_width(grid, name) > room)
		name = path_last_part(name);
	return grid_put_elided(grid, 0, 0, room, STYLE_TITLE | STYLE_BOLD, name);
}

static void chrome_title(struct chrome *chrome, const struct app *app, struct grid *grid)
{
	CLEANUP(title_deinit) struct title title = {0};
	grid_fill(grid, (struct rect){0, 0, grid->width, 1}, STYLE_TITLE, " ");
	if (app->model)
		chrome_put_title(app, &title);
	else
		add_part(&title, 1, "reading %.0f%%", 100 * app->loaded);
	int least = grid_text_width(grid, app->options->file_name);
	least = least < NAME_LEAST ? least : NAME_LEAST;
	while (title.count && title_width(&title, grid) + least > grid->width)
		drop_part(&title);
	int x = draw_file_name(app, grid, grid->width - title_width(&title, grid));
	for (size_t i = 0; i < title.count; i++) {
		int end = x + grid_printf(grid, x, 0, grid->width - x, STYLE_TITLE | STYLE_BOLD,
				      "  %s", str_text(&title.parts[i].text));
		note_button(chrome, (struct rect){x + 2, 0, end - x - 2, 1}, title.parts[i].action);
		x = end;
	}
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
	case SCOPE_FILE_PATTERN:
		str_printf(out, "files /%s/", term->text);
		break;
	case SCOPE_COMM_PATTERN:
		str_printf(out, "threads /%s/", term->text);
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
	case SCOPE_PID:
		str_printf(out, "pid %u", term->number);
		break;
	case SCOPE_TID:
		str_printf(out, "tid %u", term->number);
		break;
	case SCOPE_EVENT:
		str_puts(out, term->text);
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
	case SCOPE_THREAD_STACK: {
		const struct profile named = model_profile_with_names(app->model);
		if (term->number && term->stack < named.stacks.len)
			longest_waits_put_name(&named, term->number, term->stack, out);
		else
			str_puts(out, "waits that are not there any more");
		break;
	}
	case SCOPE_TIME:
		str_printf(out, "%.2f s to %.2f s", (double)term->from_ns / 1e9,
			(double)term->to_ns / 1e9);
		break;
	default: /* of commands' options, which are not among the steps of the trail */
		break;
	}
}

static const char *chrome_name_of_frame(
	const struct app *app, const struct trail_step *step, uint32_t frame)
{
	const struct comparison *comparison = app->model->comparison;
	if (step->is_of_both && comparison && comparison->both) {
		const struct model *both = comparison->both;
		return model_function(both, model_function_of(both, frame))->name;
	}
	if (step->is_of_both)
		frame = diff_tree_frame_of(comparison ? comparison->own_side : MATCH_NEW, frame);
	if (!frame) /* of the baseline, which is not there now */
		return "?";
	return model_function(app->model, model_function_of(app->model, frame))->name;
}

static void chrome_put_step(const struct app *app, const struct trail_step *step, struct str *out)
{
	const struct path *zoom = &step->zoom;
	if (step->is_of_both)
		str_puts(out, "diff ");
	if (!step->is_zoom)
		put_term(app, &step->term, out);
	else if (!zoom->len)
		str_puts(out, "in all");
	else if (step->is_inverted && zoom->len > 1)
		str_printf(out, "%s from %s", chrome_name_of_frame(app, step, zoom->data[0]),
			chrome_name_of_frame(app, step, zoom->data[zoom->len - 1]));
	else
		str_printf(out, "%s %s", step->is_inverted ? "ending in" : "in",
			chrome_name_of_frame(app, step, zoom->data[zoom->len - 1]));
}

static const char *tab_name(const struct view *view, bool is_short)
{
	return is_short && view->short_name ? view->short_name : view->name;
}

static int width_of_tabs(const struct app *app, bool is_short)
{
	int width = 0;
	for (int i = 0; i < VIEW_COUNT; i++)
		if (app->views[i])
			width += 3 + (int)strlen(tab_name(app->views[i], is_short));
	return width;
}

/* All names where there is room for nine, else the numbers of the others. */
static void draw_tabs(struct chrome *chrome, const struct app *app, struct grid *grid)
{
	bool is_short = width_of_tabs(app, false) > grid->width;
	bool has_names = width_of_tabs(app, is_short) <= grid->width;
	int x = 0;
	for (int i = 0; i < VIEW_COUNT && x < grid->width; i++) {
		if (!app->views[i])
			continue;
		bool is_open = i == (int)app->view;
		unsigned style = is_open ? STYLE_TITLE | STYLE_BOLD : STYLE_DIM;
		struct chrome_spot *tab = &chrome->tabs[chrome->nr_tabs++];
		tab->x = x;
		tab->what = (size_t)i;
		if (has_names || is_open)
			x += grid_printf(grid, x, TABS_Y, grid->width - x, style, " %d %s", i + 1,
				tab_name(app->views[i], is_short && has_names));
		else
			x += grid_printf(grid, x, TABS_Y, grid->width - x, style, " %d", i + 1);
		tab->end = x;
	}
}

/* One step; where the mouse finds it is noted. */
static int draw_step(struct chrome *chrome, const struct app *app, struct grid *grid,
	struct rect room, size_t index)
{
	CLEANUP(str_deinit) struct str text = {0};
	chrome_put_step(app, &app->trail.done.data[index], &text);
	int x = room.x, y = room.y, end = room.x + room.width;
	x += grid_printf(grid, x, y, end - x, STYLE_DIM, "%s ", grid_glyph(grid, GLYPH_CRUMB));
	x += grid_put_elided(grid, x, y, end - x, STYLE_HEADER, str_text(&text));
	x += grid_put(grid, x, y, end - x, STYLE_HEADER, " ");
	if (chrome->nr_crumbs < CHROME_CRUMBS_MAX)
		chrome->crumbs[chrome->nr_crumbs++] = (struct chrome_spot){room.x, x, index + 1};
	return x - room.x;
}

static int step_width(const struct app *app, const struct grid *grid, size_t index)
{
	CLEANUP(str_deinit) struct str text = {0};
	chrome_put_step(app, &app->trail.done.data[index], &text);
	return 3 + grid_text_width(grid, str_text(&text));
}

/* The newest steps that fit; the newest one in any case. */
static void draw_steps(
	struct chrome *chrome, const struct app *app, struct grid *grid, struct rect room)
{
	size_t count = app->trail.done.len, first = count;
	int left = room.width, end = room.x + room.width;
	while (first && (first == count || step_width(app, grid, first - 1) + 2 <= left))
		left -= step_width(app, grid, --first);
	if (first)
		room.x += grid_printf(grid, room.x, room.y, grid->width - room.x, STYLE_DIM, "%s ",
			grid_glyph(grid, GLYPH_ELLIPSIS));
	for (size_t i = first; i < count; i++) {
		room.width = end - room.x;
		room.x += draw_step(chrome, app, grid, room, i);
	}
}

/* Of what is hidden everywhere; returns the columns that it takes. */
static int draw_hidden(const struct app *app, struct grid *grid, int y)
{
	int x = 0;
	if (app->model->names->hides_native)
		x += grid_put(grid, x, y, grid->width - x, STYLE_WARM, "[no native] ");
	if (app->model->names->hides_kernel)
		x += grid_put(grid, x, y, grid->width - x, STYLE_WARM, "[no kernel] ");
	return x;
}

/* How many match, and which of them is selected, 0: none of them, or it is not known. */
static size_t count_matches(const struct app *app, size_t *number)
{
	const struct view *form = app_form(app);
	const struct comparison *comparison = app->model->comparison;
	bool lacks_both = form->is_of_both && (!comparison || !comparison->both);
	if (app_has_view(app) && form->search)
		return row_search_count(form->search, app->states[app->view], app, number);
	if (app_has_view(app) && form->count_matches && !lacks_both)
		return form->count_matches(app->states[app->view], app, number);
	*number = app_match_number(app);
	return app->model->nr_matches;
}

/* Of functions also how much all of them took. */
static void put_search(const struct app *app, struct str *out)
{
	size_t number, count = count_matches(app, &number);
	str_printf(out, "/%s: ", app->wish.search ? app->wish.search : "");
	if (number)
		str_printf(out, "%zu/%zu", number, count);
	else
		str_printf(out, "%zu %s", count, str_plural(count, "match", "matches"));
	if (!app_form(app)->search && !app_form(app)->is_of_both)
		str_printf(out, ", %.2f%%", app_percent(app, app->model->matched.value));
}

static void draw_trail(struct chrome *chrome, const struct app *app, struct grid *grid, int y)
{
	enum {
		GAP = 2, /* columns between the steps and what is searched for */
	};
	CLEANUP(str_deinit) struct str search = {0};
	if (app->model->matches)
		put_search(app, &search);
	int width = grid_text_width(grid, str_text(&search)), half = grid->width / 2;
	bool has_steps = app->trail.done.len;
	int x = draw_hidden(app, grid, y);
	chrome->trail_y = y;
	if (!has_steps) {
		grid_put_elided(grid, x, y, grid->width - x, STYLE_HEADER, str_text(&search));
		return;
	}
	width = width < half ? width : half; /* how many there are stands at its end */
	int end = width ? grid->width - width - GAP : grid->width;
	draw_steps(chrome, app, grid, (struct rect){x, y, end - x, 1});
	grid_put_elided(grid, grid->width - width, y, width, STYLE_HEADER, str_text(&search));
}

void chrome_put_heading(const struct app *app, struct str *out)
{
	CLEANUP(title_deinit) struct title title = {0};
	const char *name = app->options->file_name;
	str_printf(out, "# %s, ", app->views[app->view]->name);
	str_puts_escaped(out, name);
	str_printf(out, ", %s", main_event_name_of(app->model->profile, app->model->event));
	chrome_add_samples(app, &title);
	str_printf(out, ", %s, %.1f s\n", str_text(&title.parts[0].text),
		profile_duration_s(app->model->profile));
	if (app->model->names->hides_native)
		str_puts(out, "# without native frames below those of scripts\n");
	if (app->model->names->hides_kernel)
		str_puts(out, "# without the kernel's frames\n");
	vec_each(&app->trail.done, step) {
		CLEANUP(str_deinit) struct str text = {0};
		chrome_put_step(app, step, &text);
		str_puts(out, "# ");
		str_puts_escaped(out, str_text(&text));
		str_putc(out, '\n');
	}
}

static const struct chrome_spot *spot_at(const struct chrome_spot *spots, size_t count, int x)
{
	for (size_t i = 0; i < count; i++)
		if (x >= spots[i].x && x < spots[i].end)
			return &spots[i];
	return NULL;
}

static enum action button_at(const struct chrome *chrome, int x, int y)
{
	for (size_t i = 0; i < chrome->nr_buttons; i++) {
		const struct rect *cell = &chrome->buttons[i].cell;
		if (y == cell->y && x >= cell->x && x < cell->x + cell->width)
			return chrome->buttons[i].action;
	}
	return ACTION_NONE;
}

bool chrome_point(
	const struct chrome *chrome, struct app *app, const struct input *input, enum action *ret)
{
	bool is_click = input->kind == INPUT_PRESS || input->kind == INPUT_DOUBLE;
	const struct chrome_spot *tab = NULL, *crumb = NULL;
	bool is_press = input->kind == INPUT_PRESS;
	*ret = is_press ? button_at(chrome, input->x, input->y) : ACTION_NONE;
	if (is_click && input->y == TABS_Y)
		tab = spot_at(chrome->tabs, chrome->nr_tabs, input->x);
	if (is_click && input->y == chrome->trail_y)
		crumb = spot_at(chrome->crumbs, chrome->nr_crumbs, input->x);
	if (tab)
		app_show(app, (enum view_id)tab->what);
	else if (crumb)
		app_go_back_to(app, crumb->what);
	return tab || crumb || *ret;
}

/* ---- the last lines ---- */

/* In the group that it is selected in; NULL: in none, or not there. */
static const struct function_weight *weight_in_group(const struct app *app, uint32_t function)
{
	uint32_t group = model_function_of(app->model, app->selection.group);
	for (size_t i = 0; group && i < app->model->of_groups.len; i++) {
		const struct function_weight *weight = &app->model->of_groups.data[i];
		if (weight->function == function && weight->group == group)
			return weight;
	}
	return NULL;
}

static const struct function_weight *chrome_weight_of(const struct app *app, uint32_t function)
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
	const struct function_weight *weight = chrome_weight_of(app, function);
	uint32_t group = model_path_group(app->model, app->selection.frame);
	if (group) {
		const struct tree_weight *of_group = &app->model->weights[group];
		str_puts(&numbers, " total ");
		app_put_value(app, &numbers, of_group->total, of_group->samples);
	} else if (weight) {
		const struct function_weight *own =
			app->view == VIEW_BUTTERFLY ? NULL : weight_in_group(app, function);
		const struct function_weight *shown = own ? own : weight;
		str_puts(&numbers, " self ");
		app_put_value(app, &numbers, shown->self, shown->self_samples);
		str_puts(&numbers, " total ");
		app_put_value(app, &numbers, shown->total, shown->samples);
		if (own && own->total < weight->total) {
			str_puts(&numbers, " of ");
			app_put_value(app, &numbers, weight->total, weight->samples);
		}
	}
	const struct profile_function *it = model_function(app->model, function);
	CLEANUP(str_deinit) struct str name = {0};
	const struct model_names *names = app->model->names;
	const char *cause =
		cause_of_frame(&names->frames.data[app->selection.frame], names->objects.data);
	str_printf(&name, "%s  %s", profile_function_own_name(it),
		cause ? cause : model_object(app->model, it->object)->name);
	int room = grid->width - (int)numbers.len;
	bool is_cut = cause && grid_text_width(grid, str_text(&name)) > room;
	if (room < LEAST_WIDTH || is_cut)
		room = grid->width;
	grid_put_elided(grid, 0, y, room, app_name_style(app, function), str_text(&name));
	grid_put(grid, room, y, grid->width - room, STYLE_DIM, str_text(&numbers));
}

/* A name, in front of those of its parts that leave it enough room. */
static void draw_parts(struct grid *grid, int y, const char *text)
{
	enum {
		LEAST_NAME = 12,
		GAP = 2
	};
	size_t len = strcspn(text, "\t");
	CLEANUP_FREE char *name = mem_strndup(text, len);
	int wanted = grid_text_width(grid, name);
	int kept = wanted < LEAST_NAME ? wanted : LEAST_NAME;
	CLEANUP(str_deinit) struct str parts = {0};
	for (const char *at = text + len; *at; at += len) {
		len = 1 + strcspn(at + 1, "\t");
		CLEANUP_FREE char *part = mem_strndup(at + 1, len - 1);
		int width = grid_text_width(grid, str_text(&parts));
		if (part[0] && kept + width + GAP + grid_text_width(grid, part) > grid->width)
			break;
		if (part[0])
			str_printf(&parts, "  %s", part);
	}
	int room = grid->width - grid_text_width(grid, str_text(&parts));
	int x = grid_put_elided(grid, 0, y, room, STYLE_NORMAL, name);
	grid_put(grid, x, y, grid->width - x, STYLE_NORMAL, str_text(&parts));
}

static void draw_detail(struct app *app, struct grid *grid, int y)
{
	CLEANUP(str_deinit) struct str detail = {0};
	if (app_has_view(app) && app->views[app->view]->detail)
		app->views[app->view]->detail(app->states[app->view], app, &detail);
	if (detail.len)
		draw_parts(grid, y, str_text(&detail));
	else
		draw_function(app, grid, y);
}

/* What has been found of what is being typed; nothing while that is being computed. */
static void draw_found(const struct app *app, struct grid *grid, int x, int y)
{
	const char *text = str_text(&app->typed);
	struct pattern pattern;
	CLEANUP(str_deinit) struct str found = {0};
	if (!app->model || !text[0] || app->model->wish_serial != app->wish.serial)
		return;
	size_t number;
	if (app->model->matches)
		str_printf(&found, "%zu found", count_matches(app, &number));
	else if (pattern_init(&pattern, text))
		pattern_deinit(&pattern);
	else
		str_puts(&found, "no expression yet");
	int width = grid_text_width(grid, str_text(&found));
	if (x + width <= grid->width)
		grid_put(grid, grid->width - width, y, width, STYLE_DIM, str_text(&found));
}

static void draw_prompt(const struct app *app, struct grid *grid, int y)
{
	static const char *const before[] = {
		[APP_PROMPT_SEARCH] = "/",
		[APP_PROMPT_KEEP] = "filter: ",
		[APP_PROMPT_EXCLUDE] = "exclude: ",
		[APP_PROMPT_PRINT] = "write to: ",
		[APP_PROMPT_BASELINE] = "compare with (the earlier one, \"before\"): ",
		[APP_PROMPT_SAVE] = "save to: ",
		[APP_PROMPT_COMMAND] = ":",
	};
	const char *text = str_text(&app->typed);
	size_t behind = app->edits[app->prompt].behind;
	size_t cursor = app->typed.len - (behind < app->typed.len ? behind : app->typed.len);
	int x = grid_put(grid, 0, y, grid->width, STYLE_KEY | STYLE_BOLD, before[app->prompt]);
	/* Of a line that is too long, the part before the cursor. */
	CLEANUP_FREE char *left = mem_strndup(text, cursor);
	const char *seen = left;
	while (*seen && grid_text_width(grid, seen) >= grid->width - x)
		for (seen++; ((unsigned char)*seen & 0xc0) == 0x80;)
			seen++;
	x += grid_put(grid, x, y, grid->width - x, STYLE_NORMAL, seen);
	grid_put(grid, x, y, grid->width - x, STYLE_NORMAL, text + cursor);
	struct rect at = {x, y, 1, 1};
	grid_mark(grid, at, STYLE_SELECTED);
	x += grid_text_width(grid, text + cursor) + 2;
	if (app->prompt == APP_PROMPT_SEARCH)
		draw_found(app, grid, x, y);
	else if (app->prompt == APP_PROMPT_COMMAND && !app->overlay.is_open)
		grid_put(grid, x, y, grid->width - x, STYLE_WARNING,
			"no command is called so: Esc, then ? lists all");
}

/* Returns the columns it takes, drawn or not. */
static int draw_hint(const struct app *app, struct grid *grid, int x, int y, enum action action)
{
	const struct key_row *row = key_row_of(action);
	if (!row)
		return 0;
	CLEANUP_FREE char *key = mem_strndup(row->shown, strcspn(row->shown, " "));
	CLEANUP(str_deinit) struct str text = {0};
	const char *word = app_word(app, action);
	str_printf(&text, " %s  ", word ? word : key_hint(action));
	int room = grid->width - x, used = grid_text_width(grid, key);
	grid_put(grid, x, y, room, STYLE_KEY | STYLE_BOLD, key);
	grid_put(grid, x + used, y, room - used, STYLE_DIM, str_text(&text));
	return used + grid_text_width(grid, str_text(&text));
}

/* ... and where the mouse finds it. */
static int put_hint(struct app *app, struct grid *grid, int x, int y, enum action action)
{
	int width = draw_hint(app, grid, x, y, action);
	int seen = width < grid->width - x ? width : grid->width - x;
	note_button(&app->chrome, (struct rect){x, y, seen - 1, 1}, action);
	return width;
}

/* Between two native frames, who reads a script loses his way: the view's second hint. */
static int draw_native_hint(struct app *app, struct grid *grid, int x, int y, int room)
{
	bool has_functions =
		app->view != VIEW_HEAT && app->view != VIEW_PROCESSES && app->view != VIEW_SYMBOLS;
	bool is_of_use = has_functions && app->model && app->model->names->has_scripts &&
			 !app->model->names->hides_native;
	int width = draw_hint(app, grid, grid->width, y, ACTION_NO_NATIVE);
	return is_of_use && width <= room ? put_hint(app, grid, x, y, ACTION_NO_NATIVE) : 0;
}

static bool has_other_events(const struct app *app)
{
	return app->model && app->model->names->events.list.len > 1;
}

/* As many of the view's as fit before those that must be seen. */
static void draw_hints(struct app *app, struct grid *grid, int y)
{
	static const enum action always[] = {
		ACTION_PAUSE, ACTION_SAVE, ACTION_SEARCH, ACTION_HELP, ACTION_QUIT, ACTION_NONE};
	const enum action *first = always + (app->options->is_live ? 0 : 2), *last = first;
	int kept = 0, x = 0;
	for (const enum action *at = first; *at; at++)
		kept += draw_hint(app, grid, grid->width, y, *at);
	for (; *last && kept > grid->width + 2; last++)
		kept -= draw_hint(app, grid, grid->width, y, *last);
	for (const enum action *at = app->views[app->view]->hints; at && *at; at++) {
		if (*at == ACTION_SEARCH || *at == ACTION_HELP || *at == ACTION_QUIT ||
			(*at == ACTION_EVENT && !has_other_events(app)))
			continue;
		int width = draw_hint(app, grid, grid->width, y, *at);
		if (x + width + kept > grid->width + 2)
			break;
		x += put_hint(app, grid, x, y, *at);
		if (at == app->views[app->view]->hints)
			x += draw_native_hint(app, grid, x, y, grid->width + 2 - x - kept);
	}
	for (; *last; last++)
		x += put_hint(app, grid, x, y, *last);
}

/* What can be done with a box over the view. */
static void draw_overlay_hints(const struct app *app, struct grid *grid, int y)
{
	const struct overlay *overlay = &app->overlay;
	const char *chosen =
		overlay->title == longest_waits_heading ? "only these waits" : "choose";
	const char *const hints[][2] = {
		{"Enter", overlay->actions.len ? chosen : "close"},
		{"Esc", overlay->actions.len ? "close" : NULL},
	};
	int x = 0;
	for (size_t i = 0; i < sizeof(hints) / sizeof(*hints) && hints[i][1]; i++) {
		x += grid_put(grid, x, y, grid->width - x, STYLE_KEY | STYLE_BOLD, hints[i][0]) + 1;
		x += grid_put(grid, x, y, grid->width - x, STYLE_DIM, hints[i][1]) + 2;
	}
}

static void draw_bottom(struct app *app, struct grid *grid, int y)
{
	if (app->prompt)
		draw_prompt(app, grid, y);
	else if (app->message.len)
		grid_put_elided(grid, 0, y, grid->width,
			app->message_is_warning ? STYLE_WARNING : STYLE_KEY,
			str_text(&app->message));
	else if (app->overlay.is_open)
		draw_overlay_hints(app, grid, y);
	else
		draw_hints(app, grid, y);
}

/* ---- */

static void draw_too_small(struct grid *grid)
{
	grid_put(grid, 0, 0, grid->width, STYLE_WARNING, "too small:");
	grid_printf(grid, 0, 1, grid->width, STYLE_WARNING, "%dx%d of", grid->width, grid->height);
	grid_printf(grid, 0, 2, grid->width, STYLE_WARNING, "%dx%d", LEAST_WIDTH, LEAST_HEIGHT);
}

/* Low screens go without tabs and detail: the view is what matters. */
static bool has_tabs(const struct grid *grid)
{
	return grid->height >= 10;
}

static bool has_detail(const struct app *app, const struct grid *grid)
{
	return grid->height >= 8 && app->model;
}

static bool hides_frames(const struct model *model)
{
	return model->names->hides_native || model->names->hides_kernel;
}

bool chrome_draw_above(struct chrome *chrome, const struct app *app, struct grid *grid)
{
	if (grid->width < LEAST_WIDTH || grid->height < LEAST_HEIGHT) {
		draw_too_small(grid);
		return false;
	}
	chrome->nr_buttons = 0;
	chrome_title(chrome, app, grid);
	chrome->trail_y = -1;
	chrome->nr_tabs = chrome->nr_crumbs = 0;
	int top = 1, bottom = grid->height - 1 - has_detail(app, grid);
	if (has_tabs(grid)) {
		draw_tabs(chrome, app, grid);
		top++;
	}
	if (app->model && (app->trail.done.len || app->model->matches ||
				  (hides_frames(app->model) && has_detail(app, grid))))
		draw_trail(chrome, app, grid, top++);
	chrome->body = (struct rect){0, top, grid->width, bottom - top};
	return true;
}

void chrome_draw_below(struct app *app, struct grid *grid)
{
	if (has_detail(app, grid))
		draw_detail(app, grid, grid->height - 2);
	draw_bottom(app, grid, grid->height - 1);
}
