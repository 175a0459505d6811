#include "tests/unit/report_tui_fixture.h"

#include <locale.h>
#include <string.h>

static const struct app_options options = {.file_name = "test.data"};

static void fulfil(struct tui_fixture *fixture)
{
	if (fixture->app.model && fixture->serial == fixture->app.wish.serial)
		return;
	struct model *model =
		model_create(fixture->profile, fixture->names, &fixture->app.wish, NULL);
	fixture->serial = fixture->app.wish.serial;
	app_update(&fixture->app, model);
}

void tui_fixture_init(struct tui_fixture *fixture, struct profile *profile)
{
	setlocale(LC_CTYPE, "C.UTF-8");
	*fixture = (struct tui_fixture){
		.profile = profile,
		.names = model_names_create(profile, 1, false),
		.is_ascii = true,
	};
	app_init(&fixture->app, &options);
	fulfil(fixture);
	tui_fixture_screen(fixture, 80, 24);
}

void tui_fixture_deinit(struct tui_fixture *fixture)
{
	app_deinit(&fixture->app);
	grid_deinit(&fixture->grid);
	str_deinit(&fixture->text);
	model_names_release(fixture->names);
	profile_destroy(fixture->profile);
}

void tui_fixture_input(struct tui_fixture *fixture, struct input input)
{
	app_input(&fixture->app, &input);
	fulfil(fixture);
	if (fixture->grid.cells) /* where lines are is known from drawing alone */
		tui_fixture_screen(fixture, fixture->grid.width, fixture->grid.height);
}

void tui_fixture_key(struct tui_fixture *fixture, uint32_t key)
{
	tui_fixture_input(fixture, (struct input){.kind = INPUT_KEY, .key = key});
}

void tui_fixture_keys(struct tui_fixture *fixture, const char *keys)
{
	for (; *keys; keys++)
		tui_fixture_key(fixture, (unsigned char)*keys);
}

void tui_fixture_mouse(struct tui_fixture *fixture, enum input_kind kind, int x, int y)
{
	tui_fixture_input(fixture, (struct input){.kind = kind, .x = x, .y = y});
}

const char *tui_fixture_screen(struct tui_fixture *fixture, int width, int height)
{
	grid_deinit(&fixture->grid);
	grid_init(&fixture->grid, width, height, fixture->is_ascii);
	fixture->grid.colours = fixture->colours;
	app_draw(&fixture->app, &fixture->grid);
	str_truncate(&fixture->text, 0);
	grid_put_text(&fixture->grid, &fixture->text);
	return str_text(&fixture->text);
}

const char *tui_fixture_line(struct tui_fixture *fixture, int y)
{
	str_truncate(&fixture->text, 0);
	grid_put_text(&fixture->grid, &fixture->text);
	char *line = fixture->text.data;
	for (; y > 0; y--)
		line += strcspn(line, "\n") + 1;
	line[strcspn(line, "\n")] = 0;
	return line;
}

unsigned tui_fixture_style(const struct tui_fixture *fixture, int x, int y)
{
	return fixture->grid.cells[y * fixture->grid.width + x].style;
}
