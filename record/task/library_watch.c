#include "record/task/library_watch.h"

#include <string.h>

#include "format/base/mem.h"

static struct watched_image *watched_image_of(struct library_watch *watch, uint32_t pid)
{
	const uint64_t *index = watch->path ? map_get(&watch->pids, pid) : NULL;
	return index ? &watch->images.data[*index - 1] : NULL;
}

/* What mapped nothing has not run. */
static void end_image(struct library_watch *watch, struct watched_image *image)
{
	bool is_without = image->program && !image->has_it;
	watch->nr_without += is_without;
	if (is_without) {
		mem_free(watch->program);
		watch->program = image->program;
	} else {
		mem_free(image->program);
	}
	*image = (struct watched_image){0};
}

void library_watch_exec(struct library_watch *watch, uint32_t pid)
{
	struct watched_image *image = watched_image_of(watch, pid);
	if (!watch->path)
		return;
	if (image) {
		end_image(watch, image);
		return;
	}
	vec_push(&watch->images, (struct watched_image){0});
	*map_put(&watch->pids, pid, NULL) = watch->images.len;
}

void library_watch_map(struct library_watch *watch, uint32_t pid, const char *path)
{
	struct watched_image *image = watched_image_of(watch, pid);
	if (!image)
		return;
	if (!image->program)
		image->program = mem_strdup(path);
	image->has_it |= strcmp(path, watch->path) == 0;
}

void library_watch_exit(struct library_watch *watch, uint32_t pid)
{
	struct watched_image *image = watched_image_of(watch, pid);
	if (!image)
		return;
	end_image(watch, image);
	map_remove(&watch->pids, pid);
}

void library_watch_finish(struct library_watch *watch)
{
	vec_each(&watch->images, image)
		end_image(watch, image);
	map_clear(&watch->pids);
	watch->images.len = 0;
}

void library_watch_deinit(struct library_watch *watch)
{
	library_watch_finish(watch);
	map_deinit(&watch->pids);
	vec_deinit(&watch->images);
	mem_free(watch->program);
}
