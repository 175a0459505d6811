#include "format/elf/pe_bundle.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/bytes.h"

enum {
	MARK_BYTES = 32,
	VERSION = 6,
	PLACES_BYTES = 2 * 16 + 8, /* two files that are named apart, and flags */
	TYPE_ASSEMBLY = 1,
};

/* SHA-256 of ".net core bundle"; where the list begins stands ahead of it. */
static const uint8_t mark[MARK_BYTES] = {0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b,
	0x93, 0x02, 0x14, 0xd7, 0xa0, 0x32, 0x13, 0xf5, 0xb9, 0xe6, 0xef, 0xae, 0x33, 0x18, 0xee,
	0x3b, 0x2d, 0xce, 0x24, 0xb3, 0x6a, 0xae};

uint64_t pe_bundle_find_list(const uint8_t *data, size_t len)
{
	const uint8_t *found = memmem(data, len, mark, sizeof(mark));
	if (!found || found - data < 8)
		return 0;
	struct bytes_cursor cursor = bytes_cursor(found - 8, 8);
	return bytes_get_u64(&cursor);
}

/* Its length is ahead of it, seven bits a byte, the lowest first. */
static const uint8_t *get_text(struct bytes_cursor *cursor, size_t *len)
{
	*len = bytes_get_u32_varint(cursor);
	return bytes_get(cursor, *len);
}

static void take_entry(struct bytes_cursor *cursor, uint64_t file_bytes, struct pe_bundle *ret)
{
	size_t len;
	struct pe_bundle_image image = {.offset = bytes_get_u64(cursor)};
	image.bytes = bytes_get_u64(cursor);
	bool is_compressed = bytes_get_u64(cursor) != 0;
	bool is_image = bytes_get_u8(cursor) == TYPE_ASSEMBLY;
	get_text(cursor, &len);
	if (cursor->overrun || !is_image || is_compressed || !image.bytes ||
		image.offset > file_bytes || image.bytes > file_bytes - image.offset)
		return;
	vec_push(&ret->images, image);
}

static int compare_images(const void *a, const void *b)
{
	const struct pe_bundle_image *x = a, *y = b;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* One that begins in another one is none. */
static void sort_images(struct pe_bundle *bundle)
{
	size_t left = 0;
	uint64_t end = 0;
	if (bundle->images.len)
		qsort(bundle->images.data, bundle->images.len, sizeof(*bundle->images.data),
			compare_images);
	vec_each(&bundle->images, image) {
		if (image->offset < end)
			continue;
		end = image->offset + image->bytes;
		bundle->images.data[left++] = *image;
	}
	bundle->images.len = left;
}

bool pe_bundle_parse(const uint8_t *list, size_t len, uint64_t file_bytes, struct pe_bundle *ret)
{
	struct bytes_cursor cursor = bytes_cursor(list, len);
	struct pe_bundle bundle = {0};
	uint32_t version = bytes_get_u32(&cursor);
	bytes_get_u32(&cursor);
	uint32_t count = bytes_get_u32(&cursor);
	size_t id_len;
	const uint8_t *id = get_text(&cursor, &id_len);
	if (version != VERSION || count > PE_BUNDLE_MAX_IMAGES || !id)
		return false;
	memcpy(bundle.id, id, id_len < sizeof(bundle.id) ? id_len : sizeof(bundle.id));
	bytes_get(&cursor, PLACES_BYTES);
	for (uint32_t i = 0; i < count; i++)
		take_entry(&cursor, file_bytes, &bundle);
	sort_images(&bundle);
	if (cursor.overrun) {
		pe_bundle_deinit(&bundle);
		return false;
	}
	*ret = bundle;
	return true;
}

void pe_bundle_deinit(struct pe_bundle *bundle)
{
	vec_deinit(&bundle->images);
}
