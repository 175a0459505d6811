#include "tests/unit/report_tui_fixture.h"

#include <locale.h>
#include <string.h>

#include "tests/unit/unit.h"

static void give_model(struct screen *screen)
{
	const struct model_wish *wish = &screen->app.wish;
	if (!model_names_are_for(screen->profile, screen->names, wish)) {
		struct model_names *old = screen->names;
		screen->names =
			model_names_create_for(screen->profile, old->serial, wish, &screen->roots);
		model_names_release(old);
	}
	struct model *model = model_create(screen->profile, screen->names, wish, NULL);
	screen->fulfilled = screen->app.wish.serial;
	app_update(&screen->app, model);
}

void screen_init(struct screen *screen, struct profile *profile, int width, int height)
{
	struct app_options options = {.file_name = "x.data"};
	screen_init_with(screen, profile, width, height, options, VIEW_TOP);
}

void screen_init_with(struct screen *screen, struct profile *profile, int width, int height,
	struct app_options options, enum view_id view)
{
	setlocale(LC_CTYPE, "C.UTF-8"); /* columns are counted by it */
	*screen = (struct screen){.profile = profile, .options = options};
	screen->names = model_names_create(profile, 1, false);
	grid_init(&screen->grid, width, height, true);
	app_init(&screen->app, &screen->options);
	screen->app.view = view;
	give_model(screen);
	screen_text(screen);
}

void screen_deinit(struct screen *screen)
{
	app_deinit(&screen->app);
	model_names_release(screen->names);
	root_frames_deinit(&screen->roots);
	grid_deinit(&screen->grid);
	str_deinit(&screen->text);
	profile_destroy(screen->profile);
}

/* ---- input ---- */

static void give_input(struct screen *screen, struct input input)
{
	app_input(&screen->app, &input);
	if (screen->app.wish.serial != screen->fulfilled)
		give_model(screen);
	app_draw(&screen->app, &screen->grid);
}

void screen_key(struct screen *screen, uint32_t key)
{
	give_input(screen, (struct input){.kind = INPUT_KEY, .key = key});
}

void screen_type(struct screen *screen, const char *keys)
{
	for (; *keys; keys++)
		screen_key(screen, (unsigned char)*keys);
}

void screen_mouse(struct screen *screen, enum input_kind kind, int x, int y)
{
	give_input(screen, (struct input){.kind = kind, .x = x, .y = y});
}

void screen_rename(struct screen *screen)
{
	model_names_release(screen->names);
	screen->names = model_names_create(screen->profile, 2, screen->app.wish.hides_inlined);
	give_model(screen);
}

void screen_renew(struct screen *screen, struct profile *profile)
{
	struct model_wish wish, none = {0};
	struct root_frames roots = {0};
	struct model_names *names = model_names_create_for(profile, 1, &none, &roots);
	struct model *model = model_create(profile, names, &none, NULL);
	app_renewed_wish(&screen->app, model, &wish);
	model_release(model);
	model_names_release(names);
	names = model_names_create_for(profile, 1, &wish, &roots);
	model = model_create(profile, names, &wish, NULL);
	model_wish_deinit(&wish);
	app_renew(&screen->app, model);
	model_names_release(screen->names);
	root_frames_deinit(&screen->roots);
	profile_destroy(screen->profile);
	screen->profile = profile;
	screen->names = names;
	screen->roots = roots;
	screen->fulfilled = screen->app.wish.serial;
}

void screen_flatten(struct screen *screen)
{
	struct model_names *names = model_names_create_flat(screen->profile, 0);
	struct slice slice;
	slice_init_all(&slice, screen->profile);
	struct model *model = model_create_flat(screen->profile, names, &screen->app.wish, &slice);
	slice_deinit(&slice);
	model_names_release(names);
	CHECK(model);
	app_update(&screen->app, model);
}

/* ---- output ---- */

const char *screen_text(struct screen *screen)
{
	app_draw(&screen->app, &screen->grid);
	str_truncate(&screen->text, 0);
	grid_put_text(&screen->grid, &screen->text);
	return str_text(&screen->text);
}

const char *screen_resize(struct screen *screen, int width, int height)
{
	enum grid_colours colours = screen->grid.colours;
	bool is_ascii = screen->grid.is_ascii;
	grid_deinit(&screen->grid);
	grid_init(&screen->grid, width, height, is_ascii);
	screen->grid.colours = colours;
	give_input(screen, (struct input){.kind = INPUT_RESIZE});
	return screen_text(screen);
}

const char *screen_lines(struct screen *screen, int first, int count)
{
	const char *at = screen_text(screen);
	for (int i = 0; i < first; i++)
		at += strcspn(at, "\n") + 1;
	const char *end = at;
	for (int i = 0; i < count; i++)
		end += strcspn(end, "\n") + 1;
	str_truncate(&screen->text, (size_t)(end - str_text(&screen->text)));
	return at;
}

const char *screen_line(struct screen *screen, int y)
{
	const char *line = screen_lines(screen, y, 1);
	str_truncate(&screen->text, screen->text.len - 1);
	return line;
}

int screen_selected(struct screen *screen)
{
	const struct rect *body = &screen->app.chrome.body;
	app_draw(&screen->app, &screen->grid);
	for (int y = body->y; y < body->y + body->height; y++) {
		const struct cell *line =
			&screen->grid.cells[(size_t)y * (size_t)screen->grid.width];
		if (line[body->x].style & STYLE_SELECTED)
			return y;
	}
	return -1;
}

unsigned screen_style(struct screen *screen, const char *text)
{
	app_draw(&screen->app, &screen->grid);
	size_t count = (size_t)screen->grid.width * (size_t)screen->grid.height;
	size_t len = strlen(text);
	for (size_t i = 0; i + len <= count; i++) {
		size_t same = 0;
		while (same < len &&
			screen->grid.cells[i + same].code_point == (unsigned char)text[same])
			same++;
		if (same == len)
			return screen->grid.cells[i].style;
	}
	unit_fail(__FILE__, __LINE__, "\"%s\" is nowhere", text);
	return 0;
}

unsigned screen_style_at(const struct screen *screen, int x, int y)
{
	const struct grid *grid = &screen->grid;
	return grid->cells[(size_t)y * (size_t)grid->width + (size_t)x].style;
}
