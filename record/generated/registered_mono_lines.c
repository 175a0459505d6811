#include "record/generated/registered_mono_lines.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/clr/clr_image.h"
#include "format/dwarf/dwarf_cursor.h"
#include "record/host/clr_source.h"
#include "record/runtime/runtime_memory.h"

enum {
	/* MonoImage */
	IMAGE_BYTES = 0x60,
	IMAGE_RAW = 0x10,
	IMAGE_RAW_BYTES = 0x18,
	IMAGE_PATH = 0x20,
	IMAGE_GUID = 0x58, /* its text */
	GUID_TEXT_BYTES = 36,

	/* MonoSeqPointInfo: a number, then the points, or a pointer to them. */
	POINTS_HEAD_BYTES = 16,
	POINTS_HAVE_MORE = 1, /* of each there is what debuggers want */
	POINTS_ARE_HERE = 2,
	POINTS_SHIFT = 2,
	MAX_POINT_BYTES = 1 << 20,
	MAX_POINTS = 64 << 10,
	MAX_NEXT = 4096,
	IL_OF_EXIT = 0xffffff,

	METHOD_TOKENS = 0x06,
	MAX_PATH_BYTES = 1024,
	MAX_IMAGES = 32,
	MAX_HELD = 8 << 20, /* bytes of symbols, of all images */
};

/* ---- symbols of images ---- */

/* An image that methods were of, and its symbols, if it has any. */
struct mono_image {
	uint32_t pid;
	uint64_t address;
	uint8_t head[IMAGE_BYTES];
	char guid[GUID_TEXT_BYTES]; /* another image may come to have the address */
	bool has_source;
	struct clr_source source;
};

struct mono_images {
	VEC(struct mono_image *) list;
};

static void mono_images_clear(struct mono_images *images)
{
	vec_each(&images->list, image) {
		if ((*image)->has_source)
			clr_source_close(&(*image)->source);
		mem_free(*image);
	}
	images->list.len = 0;
}

static void mono_images_trim(struct mono_images *images)
{
	size_t held = 0;
	vec_each(&images->list, image)
		held += (*image)->has_source ? clr_source_held(&(*image)->source) : 0;
	if (images->list.len >= MAX_IMAGES || held > MAX_HELD)
		mono_images_clear(images);
}

static uint64_t head_word(const struct mono_image *image, size_t at)
{
	uint64_t word;
	memcpy(&word, image->head + at, sizeof(word));
	return word;
}

static bool read_image_head(const struct mono_method_place *place, struct mono_image *ret)
{
	*ret = (struct mono_image){.pid = place->pid, .address = place->image};
	return runtime_read_process(place->pid, place->image, ret->head, IMAGE_BYTES) &&
	       runtime_read_process(
		       place->pid, head_word(ret, IMAGE_GUID), ret->guid, GUID_TEXT_BYTES);
}

struct raw_image {
	uint32_t pid;
	uint64_t base;
};

static bool read_raw_image(void *context, uint64_t offset, void *to, size_t len)
{
	const struct raw_image *raw = context;
	return runtime_read_process(raw->pid, raw->base + offset, to, len);
}

static void read_image_path(const struct mono_image *image, char ret[MAX_PATH_BYTES])
{
	enum {
		PIECE = 64 /* no page's end is crossed */
	};
	uint64_t address = head_word(image, IMAGE_PATH);
	size_t at = 0, len;
	memset(ret, 0, MAX_PATH_BYTES);
	do {
		len = PIECE - address % PIECE;
		if (at + len >= MAX_PATH_BYTES ||
			!runtime_read_process(image->pid, address, ret + at, len)) {
			ret[0] = '\0';
			return;
		}
		at += len;
		address += len;
	} while (strlen(ret) == at);
}

/* Mono has the file of an image in memory as it is. */
static void open_image_source(struct mono_image *image)
{
	struct raw_image raw = {image->pid, head_word(image, IMAGE_RAW)};
	struct clr_bytes bytes;
	struct clr_image clr;
	char path[MAX_PATH_BYTES];
	read_image_path(image, path);
	clr_bytes_init(&bytes, read_raw_image, &raw, (uint32_t)head_word(image, IMAGE_RAW_BYTES));
	if (clr_image_open(&bytes, false, &clr))
		image->has_source = clr_source_open_packed(&clr, &image->source) ||
				    clr_source_open_beside(image->pid, &clr, path, &image->source);
	clr_bytes_deinit(&bytes);
}

/* NULL: there are no symbols of the image. */
static const struct clr_source *find_image_source(
	struct mono_images *images, const struct mono_method_place *place)
{
	struct mono_image now;
	if (!read_image_head(place, &now))
		return NULL;
	vec_each(&images->list, image)
		if ((*image)->pid == now.pid && (*image)->address == now.address &&
			memcmp((*image)->guid, now.guid, sizeof(now.guid)) == 0)
			return (*image)->has_source ? &(*image)->source : NULL;
	mono_images_trim(images);
	struct mono_image *image = mem_alloc(sizeof(*image));
	*image = now;
	open_image_source(image);
	vec_push(&images->list, image);
	return image->has_source ? &image->source : NULL;
}

/* ---- sequence points ---- */

static int32_t get_zigzag(struct bytes_cursor *cursor)
{
	uint32_t value = (uint32_t)dwarf_uleb(cursor);
	return (int32_t)(value >> 1 ^ -(value & 1));
}

static int compare_points(const void *a, const void *b)
{
	const struct mono_point *x = a, *y = b;
	return x->native < y->native ? -1 : x->native > y->native;
}

void registered_mono_points(
	const uint8_t *bytes, size_t len, bool has_more, struct mono_points *ret)
{
	struct bytes_cursor cursor = bytes_cursor(bytes, len);
	struct mono_point point = {0};
	while (bytes_left(&cursor) && ret->list.len < MAX_POINTS) {
		point.il = (int32_t)((uint32_t)point.il + (uint32_t)get_zigzag(&cursor));
		point.native = (int32_t)((uint32_t)point.native + (uint32_t)get_zigzag(&cursor));
		uint64_t nr_next = 0;
		if (has_more) {
			dwarf_uleb(&cursor); /* flags */
			nr_next = dwarf_uleb(&cursor);
		}
		for (uint64_t i = 0; i < nr_next && i < MAX_NEXT && !cursor.overrun; i++)
			dwarf_uleb(&cursor);
		if (cursor.overrun || nr_next > MAX_NEXT)
			break;
		if (point.native >= 0)
			vec_push(&ret->list, point);
	}
	if (ret->list.len)
		qsort(ret->list.data, ret->list.len, sizeof(*ret->list.data), compare_points);
}

static void read_points(const struct mono_method_place *place, struct mono_points *ret)
{
	uint8_t head[POINTS_HEAD_BYTES];
	uint64_t at = place->points;
	if (!runtime_read_process(place->pid, at, head, sizeof(head)))
		return;
	struct bytes_cursor cursor = bytes_cursor(head, sizeof(head));
	uint32_t word = (uint32_t)dwarf_uleb(&cursor), len = word >> POINTS_SHIFT;
	at += (uint64_t)(cursor.pos - head);
	if (!(word & POINTS_ARE_HERE))
		at = bytes_get_u64(&cursor);
	if (!len || len > MAX_POINT_BYTES || cursor.overrun)
		return;
	CLEANUP_FREE uint8_t *bytes = mem_alloc(len);
	if (runtime_read_process(place->pid, at, bytes, len))
		registered_mono_points(bytes, len, word & POINTS_HAVE_MORE, ret);
}

/* ---- lines ---- */

static const struct clr_pdb_point *find_statement(const struct clr_pdb_points *lines, int32_t il)
{
	uint32_t at = il < 0 ? 0 : il >= IL_OF_EXIT ? UINT32_MAX : (uint32_t)il;
	const struct clr_pdb_point *found = clr_pdb_points_find(lines, at);
	return found ? found : clr_pdb_points_find(lines, UINT32_MAX);
}

/* What comes ahead of the first point is of the first statement. Of a method that has code of
 * several files (a part of it was included) only the lines of the first one are known. */
static void join_lines(const struct mono_method_place *place, const struct mono_points *points,
	const struct clr_pdb_points *statements, uint32_t document, struct registered_lines *ret)
{
	const struct clr_pdb_point *first = find_statement(statements, 0);
	struct registered_line line = {
		.start = place->start, .line = first->document == document ? first->line : 0};
	vec_push(&ret->list, line);
	vec_each(&points->list, point) {
		const struct clr_pdb_point *found = find_statement(statements, point->il);
		line.start = place->start + (uint32_t)point->native;
		line.line = found->document == document ? found->line : 0;
		if ((uint32_t)point->native >= place->size)
			break;
		if (ret->list.data[ret->list.len - 1].line != line.line)
			vec_push(&ret->list, line);
	}
}

void registered_mono_lines(void **kept, const struct mono_method_place *place,
	struct registered_lines *ret, struct str *file)
{
	struct clr_pdb_points statements = {0};
	struct mono_points points = {0};
	if (!*kept)
		*kept = mem_zalloc(sizeof(struct mono_images));
	bool is_method = place->token >> 24 == METHOD_TOKENS && place->points;
	const struct clr_source *source = is_method ? find_image_source(*kept, place) : NULL;
	if (!source)
		return;
	clr_source_read_points(source, place->token & 0xffffff, &statements);
	const struct clr_pdb_point *last = clr_pdb_points_find(&statements, UINT32_MAX);
	if (last && !source->bytes.is_bad) {
		read_points(place, &points);
		clr_source_put_document(source, last->document, file);
		join_lines(place, &points, &statements, last->document, ret);
	}
	vec_deinit(&points.list);
	clr_pdb_points_deinit(&statements);
}
