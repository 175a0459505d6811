#include "record/runtime/dotnet/dotnet_images.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/mem.h"
#include "record/runtime/runtime_memory.h"

enum {
	MAX_IMAGES = 16,
	MAX_HELD_BYTES = 64 << 20, /* of all of them; then they are read anew */
	MAX_MAPS_BYTES = 8 << 20,
};

struct dotnet_images {
	struct dotnet_image *of[MAX_IMAGES]; /* places are taken in turn */
	size_t count;
};

struct dotnet_images *dotnet_images_create(void)
{
	return mem_zalloc(sizeof(struct dotnet_images));
}

static void dotnet_image_destroy(struct dotnet_image *image)
{
	if (!image)
		return;
	if (image->has_ready)
		clr_ready_deinit(&image->ready);
	if (image->has_source)
		clr_source_close(&image->source);
	clr_bytes_deinit(&image->bytes);
	mem_free(image);
}

void dotnet_images_destroy(struct dotnet_images *images)
{
	for (size_t i = 0; images && i < MAX_IMAGES; i++)
		dotnet_image_destroy(images->of[i]);
	mem_free(images);
}

/* ---- images ---- */

static bool read_live_image(void *context, uint64_t offset, void *to, size_t len)
{
	const struct dotnet_image *image = context;
	return runtime_read_process(image->place.pid, image->place.base + offset, to, len);
}

static size_t count_head_bytes(const struct dotnet_image_place *place)
{
	return place->size < DOTNET_IMAGE_HEAD_BYTES ? place->size : DOTNET_IMAGE_HEAD_BYTES;
}

static bool is_place(const struct dotnet_image_place *a, const struct dotnet_image_place *b)
{
	return a->pid == b->pid && a->start_ns == b->start_ns && a->base == b->base &&
	       a->size == b->size && a->is_mapped == b->is_mapped;
}

/* Another one may be there by now; what could not be read may be there by now, too. */
static bool is_still_there(const struct dotnet_image *image)
{
	uint8_t head[DOTNET_IMAGE_HEAD_BYTES];
	size_t len = count_head_bytes(&image->place);
	return !image->bytes.is_bad && (!image->has_source || !image->source.bytes.is_bad) &&
	       runtime_read_process(image->place.pid, image->place.base, head, len) &&
	       memcmp(head, image->head, len) == 0;
}

static size_t count_held_bytes(const struct dotnet_images *images)
{
	size_t held = 0;
	for (size_t i = 0; i < MAX_IMAGES && images->of[i]; i++)
		held += clr_bytes_held(&images->of[i]->bytes) +
			(images->of[i]->has_source ? clr_source_held(&images->of[i]->source) : 0);
	return held;
}

static void forget_images(struct dotnet_images *images)
{
	for (size_t i = 0; i < MAX_IMAGES; i++) {
		dotnet_image_destroy(images->of[i]);
		images->of[i] = NULL;
	}
	images->count = 0;
}

/* NULL: it is none. */
static struct dotnet_image *make_image(const struct dotnet_image_place *place)
{
	struct dotnet_image *image = mem_zalloc(sizeof(*image));
	image->place = *place;
	clr_bytes_init(&image->bytes, read_live_image, image, place->size);
	if (clr_bytes_copy(&image->bytes, 0, image->head, count_head_bytes(place)) &&
		clr_image_open(&image->bytes, place->is_mapped, &image->image))
		return image;
	dotnet_image_destroy(image);
	return NULL;
}

struct dotnet_image *dotnet_images_open(
	struct dotnet_images *images, const struct dotnet_image_place *place)
{
	if (count_held_bytes(images) > MAX_HELD_BYTES)
		forget_images(images);
	size_t at = images->count % MAX_IMAGES;
	for (size_t i = 0; i < MAX_IMAGES && images->of[i]; i++) {
		if (!is_place(&images->of[i]->place, place))
			continue;
		if (is_still_there(images->of[i]))
			return images->of[i];
		at = i;
		break;
	}
	struct dotnet_image *image = make_image(place);
	if (!image)
		return NULL;
	images->count += at == images->count % MAX_IMAGES;
	dotnet_image_destroy(images->of[at]);
	images->of[at] = image;
	return image;
}

const struct clr_ready *dotnet_image_ready(struct dotnet_image *image)
{
	if (!image->has_ready)
		clr_ready_init(&image->ready, &image->image);
	image->has_ready = true;
	return &image->ready;
}

/* ---- where the symbols are ---- */

/* The path behind the mapping that an address is in, of a line of /proc/PID/maps. */
static bool is_mapped_at(const char *line, uint64_t address, struct str *path)
{
	unsigned long long start, end;
	int at = 0;
	if (sscanf(line, "%llx-%llx %*s %*s %*s %*s %n", &start, &end, &at) < 2 || !at ||
		address < start || address >= end)
		return false;
	if (line[at] == '/')
		str_puts(path, line + at);
	return true;
}

/* Images are mapped without being executable, so that other lists do not have them. */
static void find_mapped_path(uint32_t pid, uint64_t address, struct str *path)
{
	char name[64], *line = NULL;
	size_t cap = 0, read = 0;
	snprintf(name, sizeof(name), "/proc/%u/maps", pid);
	FILE *maps = fopen(name, "re");
	ssize_t len;
	while (maps && read < MAX_MAPS_BYTES && (len = getline(&line, &cap, maps)) > 0) {
		read += (size_t)len;
		line[len - 1] = '\0';
		if (is_mapped_at(line, address, path))
			break;
	}
	if (maps)
		fclose(maps);
	free(line);
}

static bool open_source(const struct dotnet_image *image, struct clr_source *ret)
{
	CLEANUP(str_deinit) struct str path = {0};
	uint8_t id[CLR_PDB_ID_BYTES];
	if (clr_source_open_packed(&image->image, ret))
		return true;
	if (!clr_image_pdb_id(&image->image, id))
		return false;
	find_mapped_path(image->place.pid, image->place.base, &path);
	return clr_source_open_beside(image->place.pid, &image->image, str_text(&path), ret);
}

const struct clr_source *dotnet_image_source(struct dotnet_image *image)
{
	if (!image->has_looked_for_source)
		image->has_source = open_source(image, &image->source);
	image->has_looked_for_source = true;
	return image->has_source ? &image->source : NULL;
}
