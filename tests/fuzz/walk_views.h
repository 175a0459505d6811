/* What a person can see of a recording: the terminal interface's models, in all views, by keys. */
#ifndef EBPROF_WALK_VIEWS_H
#define EBPROF_WALK_VIEWS_H

#include <locale.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/base/err.h"
#include "report/load/load.h"
#include "report/tui/app.h"
#include "report/tui/baseline.h"

struct walk_views {
	const void *bytes; /* of the recording */
	size_t len;
	struct profile *profile;
	struct model_names *names;
	struct root_frames roots;
	struct baseline *baseline; /* the same recording; NULL: not wished for yet */
	struct app_options options;
	struct app app;
	struct grid grid;
	unsigned fulfilled; /* serial of the newest wish */
};

/* Loaded and named by what the recording itself has; NULL: it is none. */
static inline struct profile *walk_views_load(const void *bytes, size_t len)
{
	const struct symbolize_options by_itself = {
		.files.symfs = "/nonexistent", .cache_folder = ""};
	const struct profile_options options = {.unwinds_here = true};
	int fd = memfd_create("recording", MFD_CLOEXEC);
	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len || lseek(fd, 0, SEEK_SET) != 0)
		abort();
	struct profile *profile = NULL;
	struct err *err = profile_load(fd, &options, &profile);
	close(fd);
	if (err)
		err_destroy(err);
	else
		symbolize(profile, &by_itself);
	return profile;
}

/* What the worker shows first: functions, by sums without a tree. */
static inline void walk_views_flat(struct walk_views *walk)
{
	struct model_names *names = model_names_create_flat(walk->profile, 0);
	struct slice slice;
	slice_init_all(&slice, walk->profile);
	struct model *model = model_create_flat(walk->profile, names, &walk->app.wish, &slice);
	slice_deinit(&slice);
	model_names_release(names);
	if (model)
		app_update(&walk->app, model);
	app_draw(&walk->app, &walk->grid);
}

/* What the worker does with a wish. */
static inline void walk_views_fulfil(struct walk_views *walk)
{
	const struct model_wish *wish = &walk->app.wish;
	if (!walk->names || !model_names_are_for(walk->profile, walk->names, wish)) {
		model_names_release(walk->names);
		walk->names = model_names_create_for(walk->profile, 1, wish, &walk->roots);
	}
	struct model *model = model_create(walk->profile, walk->names, wish, NULL);
	if (wish->baseline && !walk->baseline)
		walk->baseline =
			baseline_create("baseline", walk_views_load(walk->bytes, walk->len));
	if (wish->baseline && !baseline_compare(walk->baseline, model, wish, NULL))
		abort();
	walk->fulfilled = wish->serial;
	app_update(&walk->app, model);
}

static inline void walk_views_input(struct walk_views *walk, struct input input)
{
	app_input(&walk->app, &input);
	app_print_deinit(&walk->app.to_print);
	str_truncate(&walk->app.to_copy, 0);
	if (walk->app.wish.serial != walk->fulfilled)
		walk_views_fulfil(walk);
	app_draw(&walk->app, &walk->grid);
}

/* Each byte is a key; those beyond ASCII press the mouse instead, or are keys of no character. */
static inline void walk_views_key(struct walk_views *walk, uint8_t byte)
{
	struct input input = {.kind = INPUT_KEY, .key = byte};
	if (byte >= 0xc0)
		input = (struct input){.kind = INPUT_PRESS + byte % (INPUT_RESIZE - INPUT_PRESS),
			.x = byte * 7 % walk->grid.width,
			.y = byte * 3 % walk->grid.height};
	else if (byte >= 0x80)
		input.key = INPUT_UP + byte % (INPUT_OTHER - INPUT_UP);
	walk_views_input(walk, input);
}

/*
 * Every view is drawn, of sums alone and of the whole model, then the keys are pressed: 1 to 9 lead
 * to the views, D and a line compare the recording with itself. What is no recording is left alone.
 */
static inline void walk_views(const void *bytes, size_t len, const uint8_t *keys, size_t nr_keys)
{
	setlocale(LC_CTYPE, "C.UTF-8"); /* columns are counted by it */
	const struct symbol_file_options files = {.symfs = "/nonexistent"};
	struct walk_views walk = {
		.bytes = bytes, .len = len, .options = {.file_name = "x.data", .files = &files}};
	walk.profile = walk_views_load(bytes, len);
	if (!walk.profile)
		return;
	grid_init(&walk.grid, 90, 24, false);
	app_init(&walk.app, &walk.options);
	walk_views_flat(&walk);
	walk_views_fulfil(&walk);
	for (const char *view = "123456789"; *view; view++)
		walk_views_key(&walk, (uint8_t)*view);
	for (size_t i = 0; i < nr_keys && !walk.app.is_over; i++)
		walk_views_key(&walk, keys[i]);
	app_deinit(&walk.app);
	model_names_release(walk.names);
	root_frames_deinit(&walk.roots);
	baseline_destroy(walk.baseline);
	grid_deinit(&walk.grid);
	profile_destroy(walk.profile);
}

#endif
