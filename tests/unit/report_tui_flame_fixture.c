#include "tests/unit/report_tui_flame_fixture.h"

#include <locale.h>
#include <string.h>

#include "tests/unit/unit.h"

static void fulfil(struct flame_fixture *fixture)
{
	fixture->wished = fixture->app.wish.serial;
	app_update(&fixture->app,
		model_create(fixture->profile, fixture->names, &fixture->app.wish, NULL));
}

void flame_fixture_init(
	struct flame_fixture *fixture, struct profile *profile, int width, int height)
{
	setlocale(LC_CTYPE, "C.UTF-8");
	*fixture = (struct flame_fixture){
		.profile = profile,
		.options = {.file_name = "ebprof.data"},
	};
	grid_init(&fixture->grid, width, height, false);
	app_init(&fixture->app, &fixture->options);
	fixture->names = model_names_create(profile, 0, false);
	fulfil(fixture);
}

void flame_fixture_deinit(struct flame_fixture *fixture)
{
	app_deinit(&fixture->app);
	model_names_release(fixture->names);
	profile_destroy(fixture->profile);
	grid_deinit(&fixture->grid);
	str_deinit(&fixture->text);
}

void flame_fixture_resize(struct flame_fixture *fixture, int width, int height, bool is_ascii)
{
	grid_deinit(&fixture->grid);
	grid_init(&fixture->grid, width, height, is_ascii);
	flame_fixture_input(fixture, &(struct input){.kind = INPUT_RESIZE});
}

void flame_fixture_input(struct flame_fixture *fixture, const struct input *input)
{
	app_draw(&fixture->app, &fixture->grid); /* as it was seen by who did that */
	app_input(&fixture->app, input);
	if (fixture->app.wish.serial != fixture->wished)
		fulfil(fixture);
}

void flame_fixture_key(struct flame_fixture *fixture, uint32_t key)
{
	flame_fixture_input(fixture, &(struct input){.kind = INPUT_KEY, .key = key});
}

void flame_fixture_keys(struct flame_fixture *fixture, const char *keys)
{
	for (; *keys; keys++)
		flame_fixture_key(fixture, (unsigned char)*keys);
}

void flame_fixture_rename(struct flame_fixture *fixture)
{
	model_names_release(fixture->names);
	fixture->names = model_names_create(fixture->profile, 1, fixture->app.wish.hides_inlined);
	fulfil(fixture);
}

const char *flame_fixture_text(struct flame_fixture *fixture)
{
	app_draw(&fixture->app, &fixture->grid);
	str_truncate(&fixture->text, 0);
	grid_put_text(&fixture->grid, &fixture->text);
	return str_text(&fixture->text);
}

const char *flame_fixture_line(struct flame_fixture *fixture, int y)
{
	flame_fixture_text(fixture);
	char *line = fixture->text.data;
	while (y-- > 0)
		line = strchr(line, '\n') + 1;
	*strchr(line, '\n') = 0;
	return line;
}

unsigned flame_fixture_style(const struct flame_fixture *fixture, int x, int y)
{
	const struct grid *grid = &fixture->grid;
	return grid->cells[(size_t)y * (size_t)grid->width + (size_t)x].style;
}
