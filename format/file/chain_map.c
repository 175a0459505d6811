/*
 * One part: the detail, the texts (each with its NUL, so that they can be used where they stand),
 * then the chains, whose frames refer to texts by number, 0 for none.
 */
#include "format/file/chain_map.h"

#include <string.h>

#include "format/base/mem.h"

enum {
	PART_BYTES = 1 << 20,
	SMALLEST_FRAME_BYTES = 6,
	SMALLEST_ENTRY_BYTES = 2,
};

/* ---- keeping ---- */

/* A text and its number; {NULL, 0}: none. */
struct kept_text {
	const char *text;
	uint32_t number;
};

static struct kept_text chain_map_keep_text(struct chain_map *chains, const char *text)
{
	if (!text)
		return (struct kept_text){0};
	uint32_t id =
		strtab_intern(&chains->strings, text, strnlen(text, CHAIN_MAP_MAX_TEXT_BYTES));
	return (struct kept_text){strtab_get(&chains->strings, id), id + 1};
}

static void chain_map_begin_entry(struct chain_map *chains, uint64_t offset)
{
	*map_put(&chains->by_offset, offset, NULL) = chains->list.len;
	struct chain_map_entry entry = {.offset = offset, .first = (uint32_t)chains->frames.len};
	vec_push(&chains->list, entry);
}

/* `count` frames of the newest entry, to be filled; NULL: none. */
static struct chain_frame *chain_map_add_frames(struct chain_map *chains, uint32_t count)
{
	chains->list.data[chains->list.len - 1].count = count;
	vec_reserve(&chains->frames, count);
	chains->frames.len += count;
	return count ? &chains->frames.data[chains->frames.len - count] : NULL;
}

void chain_map_add(struct chain_map *chains, uint64_t offset, const struct chain *chain)
{
	chain_map_begin_entry(chains, offset);
	/* The outermost is the one that a profile cannot do without. */
	uint32_t skipped =
		chain->count > CHAIN_MAP_MAX_DEPTH ? chain->count - CHAIN_MAP_MAX_DEPTH : 0;
	struct chain_frame *frame = chain_map_add_frames(chains, chain->count - skipped);
	for (uint32_t i = skipped; i < chain->count; i++, frame++) {
		*frame = chain->frames[i];
		struct kept_text function = chain_map_keep_text(chains, frame->function);
		frame->function = function.text;
		frame->number = function.number;
		frame->file = chain_map_keep_text(chains, frame->file).text;
		frame->decl_file = chain_map_keep_text(chains, frame->decl_file).text;
	}
}

/* NULL: it has none. */
static const struct chain_frame *chain_map_frames_of(
	const struct chain_map *chains, const struct chain_map_entry *entry)
{
	return entry->count ? &chains->frames.data[entry->first] : NULL;
}

bool chain_map_find(const struct chain_map *chains, uint64_t offset, struct chain *ret)
{
	return chain_map_find_since(chains, 0, offset, ret);
}

bool chain_map_find_since(
	const struct chain_map *chains, size_t first, uint64_t offset, struct chain *ret)
{
	const uint64_t *index = map_get(&chains->by_offset, offset);
	if (!index || *index < first)
		return false;
	const struct chain_map_entry *entry = &chains->list.data[*index];
	*ret = (struct chain){chain_map_frames_of(chains, entry), entry->count};
	return true;
}

size_t chain_map_count(const struct chain_map *chains)
{
	return chains->list.len;
}

size_t chain_map_text_count(const struct chain_map *chains)
{
	return chains->strings.entries.len;
}

void chain_map_each_function(
	const struct chain_map *chains, chain_map_on_function *on_function, void *context)
{
	CLEANUP_FREE uint8_t *seen = mem_zalloc_array(chain_map_text_count(chains) + 1, 1);
	vec_each(&chains->frames, frame) {
		if (seen[frame->number] || !frame->number)
			continue;
		seen[frame->number] = true;
		on_function(context, frame->number, frame->function);
	}
}

const char *chain_map_keep(struct chain_map *chains, const char *text, size_t len)
{
	return arena_strndup(&chains->strings.arena, text, len);
}

void chain_map_keep_block(struct chain_map *chains, uint8_t *block)
{
	vec_push(&chains->blocks, block);
}

bool chain_map_have_names(const struct chain_map *chains)
{
	vec_each(&chains->list, entry) {
		struct chain chain = {chain_map_frames_of(chains, entry), entry->count};
		if (chain_is_named(&chain))
			return true;
	}
	return false;
}

void chain_map_copy(struct chain_map *to, const struct chain_map *from)
{
	to->detail = from->detail;
	vec_each(&from->list, entry) {
		struct chain chain = {chain_map_frames_of(from, entry), entry->count};
		chain_map_add(to, entry->offset, &chain);
	}
}

void chain_map_deinit(struct chain_map *chains)
{
	strtab_deinit(&chains->strings);
	vec_deinit(&chains->frames);
	vec_deinit(&chains->list);
	map_deinit(&chains->by_offset);
	vec_each(&chains->blocks, block)
		mem_free(*block);
	vec_deinit(&chains->blocks);
	*chains = (struct chain_map){0};
}

/* ---- encoding ---- */

/* The texts of a part, numbered from 1 as they come. */
struct texts {
	struct map numbers; /* of a text, by where it stands in memory: each stands there once */
	VEC(const char *) list;
	size_t bytes;
};

static uint32_t chain_map_number_of(struct texts *texts, const char *text)
{
	if (!text)
		return 0;
	bool is_new;
	uint64_t *number = map_put(&texts->numbers, (uint64_t)(uintptr_t)text, &is_new);
	if (is_new) {
		vec_push(&texts->list, text);
		*number = texts->list.len;
		texts->bytes += strlen(text) + 1;
	}
	return (uint32_t)*number;
}

/* Without a name and a file, the line of a declaration has nothing to say, and its place is used.
 */
static bool line_is_bounds(const struct chain_frame *frame)
{
	return !frame->function && !frame->decl_file;
}

static void chain_map_put_frame(
	struct bytes_buf *out, struct texts *texts, const struct chain_frame *frame)
{
	bytes_put_varint(out, chain_map_number_of(texts, frame->function));
	bytes_put_varint(out, chain_map_number_of(texts, frame->file));
	bytes_put_varint(out, frame->line);
	bytes_put_varint(out, frame->column);
	bytes_put_varint(out, chain_map_number_of(texts, frame->decl_file));
	bytes_put_varint(out, line_is_bounds(frame) ? frame->bounds : frame->decl_line);
}

static void chain_map_put_entry(struct bytes_buf *out, struct texts *texts,
	const struct chain_map *chains, const struct chain_map_entry *entry)
{
	const struct chain_frame *frames = chain_map_frames_of(chains, entry);
	bytes_put_varint(out, entry->count);
	for (uint32_t i = 0; i < entry->count; i++)
		chain_map_put_frame(out, texts, &frames[i]);
	if (entry->count) /* inlined functions have no symbol */
		bytes_put_zigzag(out, (int64_t)(entry->offset - frames[entry->count - 1].start));
}

static size_t encode_part(
	const struct chain_map *chains, size_t first, size_t max_bytes, struct bytes_buf *out)
{
	CLEANUP(bytes_buf_deinit) struct bytes_buf list = {0};
	struct texts texts = {0};
	uint64_t offset = 0;
	size_t end = first;
	while (end < chains->list.len && list.len + texts.bytes < max_bytes) {
		const struct chain_map_entry *entry = &chains->list.data[end++];
		bytes_put_zigzag(&list, (int64_t)(entry->offset - offset));
		offset = entry->offset;
		chain_map_put_entry(&list, &texts, chains, entry);
	}
	bytes_put_varint(out, chains->detail);
	bytes_put_varint(out, texts.list.len);
	vec_each(&texts.list, text)
		bytes_put_blob(out, *text, strlen(*text) + 1);
	bytes_put_varint(out, end - first);
	bytes_put(out, list.data, list.len);
	vec_deinit(&texts.list);
	map_deinit(&texts.numbers);
	return end;
}

size_t chain_map_encode(const struct chain_map *chains, size_t first, struct bytes_buf *out)
{
	return encode_part(chains, first, PART_BYTES, out);
}

void chain_map_encode_all(const struct chain_map *chains, struct bytes_buf *out)
{
	encode_part(chains, 0, SIZE_MAX, out);
}

/* ---- decoding ---- */

static const char overrun[] = "chains that are longer than their chunk";
static const char bad_text[] = "a text of a chain that is none";

/* The texts of a part, as the map keeps them; list[0] is none. */
struct kept_texts {
	VEC(struct kept_text) list;
	bool are_in_place; /* they may stay where they are, and there were none before */
};

/* A part tells no text twice, so the first one's need not be looked for. */
static struct kept_text keep_text_of_part(
	struct chain_map *chains, const struct kept_texts *texts, const char *text, size_t len)
{
	if (!texts->are_in_place || len > CHAIN_MAP_MAX_TEXT_BYTES)
		return chain_map_keep_text(chains, text);
	return (struct kept_text){text, strtab_add(&chains->strings, text, len) + 1};
}

static const char *get_texts(
	struct chain_map *chains, struct bytes_cursor *cursor, struct kept_texts *texts)
{
	uint64_t count = bytes_get_varint(cursor);
	if (count > bytes_left(cursor))
		return overrun;
	vec_reserve(&texts->list, count + 1);
	vec_push(&texts->list, (struct kept_text){0});
	for (uint64_t i = 0; i < count; i++) {
		size_t len;
		const char *text = (const char *)bytes_get_blob(cursor, &len);
		if (cursor->overrun)
			return overrun;
		if (!len || memchr(text, 0, len) != text + len - 1)
			return bad_text;
		vec_push(&texts->list, keep_text_of_part(chains, texts, text, len - 1));
	}
	return NULL;
}

static uint32_t chain_map_get_u32(struct bytes_cursor *cursor)
{
	uint64_t value = bytes_get_varint(cursor);
	return value > UINT32_MAX ? 0 : (uint32_t)value;
}

/* *is_bad when there is no such text. */
static struct kept_text chain_map_get_text(
	struct bytes_cursor *cursor, const struct kept_texts *texts, bool *is_bad)
{
	uint64_t place = bytes_get_varint(cursor);
	if (place < texts->list.len)
		return texts->list.data[place];
	*is_bad = true;
	return (struct kept_text){0};
}

static const char *get_frames(struct chain_map *chains, struct bytes_cursor *cursor,
	const struct kept_texts *texts, uint32_t count)
{
	bool is_bad = false;
	struct chain_frame *frame = chain_map_add_frames(chains, count);
	for (uint32_t i = 0; i < count; i++, frame++) {
		struct kept_text function = chain_map_get_text(cursor, texts, &is_bad);
		frame->function = function.text;
		frame->number = function.number;
		frame->file = chain_map_get_text(cursor, texts, &is_bad).text;
		frame->line = chain_map_get_u32(cursor);
		frame->column = chain_map_get_u32(cursor);
		frame->decl_file = chain_map_get_text(cursor, texts, &is_bad).text;
		frame->decl_line = chain_map_get_u32(cursor);
		frame->start = 0;
		frame->bounds = CHAIN_BOUNDS_UNTOLD;
		if (line_is_bounds(frame)) {
			frame->bounds = frame->decl_line < CHAIN_BOUNDS_END
						? (enum chain_bounds)frame->decl_line
						: CHAIN_BOUNDS_UNTOLD;
			frame->decl_line = 0;
		}
		frame->is_inlined = i + 1 < count;
	}
	return is_bad ? bad_text : NULL;
}

static const char *chain_map_get_entry(struct chain_map *chains, struct bytes_cursor *cursor,
	const struct kept_texts *texts, uint64_t *offset)
{
	*offset += (uint64_t)bytes_get_zigzag(cursor);
	uint64_t count = bytes_get_varint(cursor);
	if (cursor->overrun || count > bytes_left(cursor) / SMALLEST_FRAME_BYTES)
		return overrun;
	if (count > CHAIN_MAP_MAX_DEPTH)
		return "a chain that is too deep";
	chain_map_begin_entry(chains, *offset);
	const char *fault = get_frames(chains, cursor, texts, (uint32_t)count);
	if (fault || !count)
		return fault;
	struct chain_frame *outermost = &chains->frames.data[chains->frames.len - 1];
	outermost->start = *offset - (uint64_t)bytes_get_zigzag(cursor);
	return cursor->overrun ? overrun : NULL;
}

static const char *get_part(
	struct chain_map *chains, struct bytes_cursor *cursor, struct kept_texts *texts)
{
	uint64_t detail = bytes_get_varint(cursor), offset = 0;
	const char *fault = get_texts(chains, cursor, texts);
	uint64_t count = fault ? 0 : bytes_get_varint(cursor);
	if (count <= bytes_left(cursor) / SMALLEST_ENTRY_BYTES) {
		vec_reserve(&chains->list, count);
		vec_reserve(&chains->frames, bytes_left(cursor) / SMALLEST_FRAME_BYTES);
		map_reserve(&chains->by_offset, count);
	}
	for (uint64_t i = 0; !fault && i < count; i++)
		fault = chain_map_get_entry(chains, cursor, texts, &offset);
	if (!fault && cursor->overrun)
		fault = overrun;
	if (!fault && detail > chains->detail)
		chains->detail = detail < CHAIN_MAP_DETAIL_END ? (enum chain_map_detail)detail
							       : CHAIN_MAP_INLINED;
	return fault;
}

static const char *decode_part(
	struct chain_map *chains, struct bytes_cursor *cursor, bool texts_may_stay)
{
	struct kept_texts texts = {.are_in_place = texts_may_stay && !chains->strings.entries.len};
	const char *fault = get_part(chains, cursor, &texts);
	vec_deinit(&texts.list);
	return fault;
}

const char *chain_map_decode(struct chain_map *chains, struct bytes_cursor *cursor)
{
	return decode_part(chains, cursor, false);
}

const char *chain_map_take(struct chain_map *chains, uint8_t *bytes, size_t len)
{
	struct bytes_cursor cursor = bytes_cursor(bytes, len);
	const char *fault = NULL;
	chain_map_keep_block(chains, bytes);
	while (!fault && bytes_left(&cursor))
		fault = decode_part(chains, &cursor, true);
	return fault;
}
