#include "report/name/symbol/clr_lines.h"

#include <string.h>
#include <unistd.h>

#include "format/base/bisect.h"
#include "format/base/mem.h"
#include "format/base/str.h"
#include "format/base/vec.h"
#include "format/clr/clr_file.h"
#include "format/clr/clr_pdb.h"
#include "format/clr/clr_ready.h"
#include "report/model/regular_file.h"

/* An image of the file whose PDB was found. */
struct lined_image {
	struct clr_file_image file;
	struct clr_ready ready;
	char *pdb_path;
	int pdb_fd;      /* -1: it was packed into the image, */
	uint8_t *packed; /* ... and is here */
	struct clr_bytes pdb_bytes;
	struct clr_pdb pdb;
	uint64_t first, end; /* addresses of its functions */
	/* The method of the address before, by the function that it begins with. */
	uint32_t method;
	bool has_method;
	struct clr_debug_map map;
	struct clr_pdb_points points;
};

struct clr_lines {
	VEC(struct lined_image *) images;
	VEC(char *) paths;
	VEC(struct chain_frame *) frames;
};

/* ---- the PDB ---- */

static bool clr_lines_read_pdb(void *context, uint64_t offset, void *to, size_t len)
{
	const struct lined_image *image = context;
	if (image->pdb_fd >= 0)
		return pread(image->pdb_fd, to, len, (off_t)offset) == (ssize_t)len;
	memcpy(to, image->packed + offset, len);
	return true;
}

static bool take_open_pdb(struct lined_image *image, uint64_t size)
{
	clr_bytes_init(&image->pdb_bytes, clr_lines_read_pdb, image, size);
	if (clr_pdb_open(&image->pdb_bytes, &image->file.image, &image->pdb))
		return true;
	clr_bytes_deinit(&image->pdb_bytes);
	mem_close_fd(&image->pdb_fd);
	return false;
}

static bool take_pdb_at(
	struct lined_image *image, const char *path, const struct regular_file_rules *rules)
{
	struct stat st;
	image->pdb_fd = regular_file_open(path, rules, &st);
	if (image->pdb_fd < 0 || !take_open_pdb(image, (uint64_t)st.st_size))
		return false;
	image->pdb_path = mem_strdup(path);
	return true;
}

static bool clr_lines_find_pdb(struct lined_image *image, const struct clr_lines_place *place)
{
	size_t len;
	CLEANUP(str_deinit) struct str built = {0};
	CLEANUP(str_deinit) struct str path = {0};
	image->packed = clr_pdb_unpack(&image->file.image, &len);
	if (image->packed && take_open_pdb(image, len)) {
		image->pdb_path = mem_strdup(place->path);
		return true;
	}
	clr_image_put_pdb_path(&image->file.image, &built);
	const char *name = strrchr(str_text(&built), '/'), *slash = strrchr(place->path, '/');
	name = name ? name + 1 : str_text(&built);
	if (!*name)
		return false;
	if (slash)
		str_write(&path, place->path, (size_t)(slash + 1 - place->path));
	str_puts(&path, name);
	if (take_pdb_at(image, str_text(&path), place->rules))
		return true;
	if (str_text(&built)[0] != '/')
		return false;
	str_truncate(&path, 0);
	str_printf(&path, "%s%s", place->root ? place->root : "", str_text(&built));
	return take_pdb_at(image, str_text(&path), place->rules);
}

/* ---- images ---- */

static void lined_image_destroy(struct lined_image *image)
{
	clr_debug_map_deinit(&image->map);
	clr_pdb_points_deinit(&image->points);
	clr_ready_deinit(&image->ready);
	clr_bytes_deinit(&image->pdb_bytes);
	mem_close_fd(&image->pdb_fd);
	mem_free(image->pdb_path);
	mem_free(image->packed);
	clr_file_close(&image->file);
	mem_free(image);
}

static bool take_extent(struct lined_image *image)
{
	uint32_t count = clr_image_count_functions(&image->file.image);
	if (!count)
		return false;
	struct clr_function first = clr_image_function(&image->file.image, 0),
			    last = clr_image_function(&image->file.image, count - 1);
	return clr_file_address(&image->file, first.begin, &image->first) &&
	       clr_file_address(&image->file, last.end ? last.end : last.begin, &image->end);
}

/* NULL: it has no code, or no PDB. */
static struct lined_image *open_lined_image(const struct clr_lines_place *place, size_t index)
{
	struct lined_image *image = mem_zalloc(sizeof(*image));
	image->pdb_fd = -1;
	if (!clr_file_open(place->elf, index, &image->file)) {
		mem_free(image);
		return NULL;
	}
	if (!take_extent(image) || !clr_lines_find_pdb(image, place)) {
		lined_image_destroy(image);
		return NULL;
	}
	clr_ready_init(&image->ready, &image->file.image);
	return image;
}

struct clr_lines *clr_lines_open(const struct clr_lines_place *place)
{
	struct clr_lines *lines = mem_zalloc(sizeof(*lines));
	size_t count = clr_file_count(place->elf);
	for (size_t i = 0; i < count; i++) {
		struct lined_image *image = open_lined_image(place, i);
		if (image)
			vec_push(&lines->images, image);
	}
	if (lines->images.len)
		return lines;
	clr_lines_close(lines);
	return NULL;
}

void clr_lines_close(struct clr_lines *lines)
{
	if (!lines)
		return;
	vec_each(&lines->images, image)
		lined_image_destroy(*image);
	vec_each(&lines->frames, frame)
		mem_free(*frame);
	vec_deinit(&lines->images);
	vec_deinit(&lines->frames);
	vec_each(&lines->paths, path)
		mem_free(*path);
	vec_deinit(&lines->paths);
	mem_free(lines);
}

const char *clr_lines_pdb_path(const struct clr_lines *lines)
{
	return lines->images.data[0]->pdb_path;
}

/* ---- lines ---- */

/* Addresses ascend: it is mostly the method of the one before. */
static bool clr_lines_take_method(struct lined_image *image, uint32_t function)
{
	uint32_t first;
	struct clr_debug_map map;
	if (!clr_ready_debug_map(&image->ready, function, &first, &map))
		return false;
	if (image->has_method && image->method == first) {
		clr_debug_map_deinit(&map);
		return true;
	}
	clr_debug_map_deinit(&image->map);
	clr_pdb_points_deinit(&image->points);
	image->map = map;
	image->method = first;
	image->has_method = true;
	clr_pdb_read_points(&image->pdb, clr_ready_method(&image->ready, function), &image->points);
	return true;
}

/* NULL: it has no line. */
static const struct clr_pdb_point *clr_lines_point_at(struct lined_image *image, uint32_t address)
{
	uint32_t function;
	if (!clr_image_find_function(&image->file.image, address, &function) ||
		!clr_lines_take_method(image, function))
		return NULL;
	uint32_t into = address - clr_image_function(&image->file.image, image->method).begin;
	const struct clr_debug_map *map = &image->map;
	size_t at = bisect(map->points.len, i, map->points.data[i].native <= into);
	return at ? clr_pdb_points_find_code(&image->points, map->points.data[at - 1].il) : NULL;
}

static void put_line(struct clr_lines *lines, struct lined_image *image,
	const struct clr_pdb_point *point, struct chain *chain)
{
	CLEANUP(str_deinit) struct str path = {0};
	clr_pdb_put_document(&image->pdb, point->document, &path);
	if (!path.len)
		return;
	struct chain_frame *frame = mem_zalloc(sizeof(*frame));
	char *kept = mem_strdup(str_text(&path));
	vec_push(&lines->paths, kept);
	frame->file = kept;
	frame->line = point->line;
	vec_push(&lines->frames, frame);
	*chain = (struct chain){frame, 1};
}

void clr_lines_run(
	struct clr_lines *lines, const uint64_t *addresses, size_t count, struct chain *chains)
{
	memset(chains, 0, count * sizeof(*chains));
	vec_each(&lines->images, it) {
		struct lined_image *image = *it;
		uint32_t begin = clr_image_function(&image->file.image, 0).begin;
		for (size_t i = bisect(count, j, addresses[j] < image->first);
			i < count && addresses[i] < image->end; i++) {
			const struct clr_pdb_point *point = clr_lines_point_at(
				image, (uint32_t)(addresses[i] - image->first) + begin);
			if (point)
				put_line(lines, image, point, &chains[i]);
		}
	}
}
