/*
 * What the flame graph costs on the screen: milliseconds of processor time until it is laid out and
 * drawn for the first time, as after each change of the model, and whenever a key was pressed; the
 * best of several rounds. First with the root on top, then with the leaves.
 *   flame FILE
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "format/base/err.h"
#include "report/load/load.h"
#include "report/name/symbol/symbolizer.h"
#include "report/tui/app.h"

enum {
	WIDTH = 200,
	HEIGHT = 50,
	ROUNDS = 5,
};

static double now_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static void check(struct err *err)
{
	if (!err)
		return;
	fprintf(stderr, "flame: %s\n", err_message(err));
	exit(1);
}

static double draw(struct app *app, struct grid *grid, uint32_t key)
{
	double begin = now_ms();
	struct input input = {.kind = INPUT_KEY, .key = key};
	app_input(app, &input);
	app_draw(app, grid);
	return now_ms() - begin;
}

static void keep_best(double *best, double value)
{
	if (!*best || value < *best)
		*best = value;
}

static void measure(struct app *app, const char *what)
{
	struct grid grid;
	grid_init(&grid, WIDTH, HEIGHT, false);
	double first = 0, key = 0, zoom = 0, undo = 0;
	for (int i = 0; i < ROUNDS; i++) {
		app_input(app, &(struct input){.kind = INPUT_KEY, .key = '1'});
		keep_best(&first, draw(app, &grid, '4'));
		for (int down = 0; down < 5; down++)
			keep_best(&key, draw(app, &grid, 'j'));
		keep_best(&zoom, draw(app, &grid, INPUT_ENTER));
		keep_best(&undo, draw(app, &grid, INPUT_ESCAPE));
	}
	printf("%-8s first %7.2f  key %7.2f  zoom %7.2f  undo %7.2f\n", what, first, key, zoom,
		undo);
	grid_deinit(&grid);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: flame FILE\n");
		return 2;
	}
	int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	struct profile *profile = NULL;
	check(profile_load(fd, NULL, &profile));
	symbolize(profile, &(struct symbolize_options){0});
	struct app_options options = {.file_name = argv[1]};
	struct app app;
	app_init(&app, &options);
	struct model_names *names = model_names_create(profile, 0, false);
	app_update(&app, model_create(profile, names, &app.wish, NULL));
	printf("%zu samples, %zu nodes; ms\n", profile->samples.len, names->tree.nodes.len);
	measure(&app, "root");
	app_input(&app, &(struct input){.kind = INPUT_KEY, .key = '4'});
	app_input(&app, &(struct input){.kind = INPUT_KEY, .key = 'I'});
	measure(&app, "leaves");
	app_deinit(&app);
	model_names_release(names);
	profile_destroy(profile);
	return 0;
}
