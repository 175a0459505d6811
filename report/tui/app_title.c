/* The first line. */
#include <stdarg.h>
#include <string.h>

#include "report/tui/app.h"

enum {
	PARTS_MAX = 10,
	NAME_LEAST = 12, /* columns of the file's name */
};

/* Where there is no room for all, parts go in the order of their ranks, the highest first. */
struct title {
	struct title_part {
		struct str text;
		int rank;
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

static void title_deinit(struct title *title)
{
	for (size_t i = 0; i < title->count; i++)
		str_deinit(&title->parts[i].text);
}

static void add_samples(const struct app *app, struct title *title)
{
	uint64_t all = app->model->profile->samples.len;
	uint64_t shown = app->model->slice.whole.samples;
	if (shown < all)
		add_part(title, 1, "%llu of %llu %s", (unsigned long long)shown,
			(unsigned long long)all, str_plural(all, "sample", "samples"));
	else
		add_part(title, 1, "%llu %s", (unsigned long long)all,
			str_plural(all, "sample", "samples"));
}

static void put_title(const struct app *app, struct title *title)
{
	const struct model *model = app->model;
	const struct profile *profile = model->profile;
	uint64_t all = profile->samples.len, lost = profile_lost(profile);
	if (profile->events.len > 1)
		add_part(title, 5, "%s", profile->events.data[1].name);
	add_samples(app, title);
	add_part(title, 6, "%.1f s", profile_duration_s(profile));
	bool is_damaged = profile->file.damage.regions || profile->file.bad_chunks;
	if (is_damaged || !profile->file.ended)
		add_part(title, 2, "%s", is_damaged ? "damaged" : "cut");
	if (lost)
		add_part(title, 2, "lost %.1f%%", profile_percent(lost, lost + all));
	if (model->stacks.truncated)
		add_part(title, 3, "truncated %.1f%%",
			profile_percent(model->stacks.truncated, all));
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

/* The folders are the first to go, then what the other parts leave to the name. */
static int draw_file_name(const struct app *app, struct grid *grid, int room)
{
	const char *name = app->options->file_name, *last = strrchr(name, '/');
	if (last && last[1] && grid_text_width(grid, name) > room)
		name = last + 1;
	return grid_put_elided(grid, 0, 0, room, STYLE_TITLE | STYLE_BOLD, name);
}

void app_draw_title(const struct app *app, struct grid *grid)
{
	CLEANUP(title_deinit) struct title title = {0};
	grid_fill(grid, (struct rect){0, 0, grid->width, 1}, STYLE_TITLE, " ");
	if (app->model)
		put_title(app, &title);
	else
		add_part(&title, 1, "reading %.0f%%", 100 * app->loaded);
	int least = grid_text_width(grid, app->options->file_name);
	least = least < NAME_LEAST ? least : NAME_LEAST;
	while (title.count && title_width(&title, grid) + least > grid->width)
		drop_part(&title);
	int x = draw_file_name(app, grid, grid->width - title_width(&title, grid));
	for (size_t i = 0; i < title.count; i++)
		x += grid_printf(grid, x, 0, grid->width - x, STYLE_TITLE | STYLE_BOLD, "  %s",
			str_text(&title.parts[i].text));
}
