/*
 * One part: the detail, the texts (each with its NUL, so that they can be used where they stand),
 * then the answers, whose frames refer to texts by number, 0 for none.
 */
#include "format/file/answers.h"

#include <string.h>

#include "format/base/mem.h"

enum {
	PART_BYTES = 1 << 20,
	SMALLEST_FRAME_BYTES = 6,
	SMALLEST_ANSWER_BYTES = 2,
};

/* ---- keeping ---- */

/* A text and its number; {NULL, 0}: none. */
struct kept_text {
	const char *text;
	uint32_t number;
};

static struct kept_text answers_keep_text(struct answers *answers, const char *text)
{
	if (!text)
		return (struct kept_text){0};
	uint32_t id = strtab_intern(&answers->strings, text, strnlen(text, ANSWERS_MAX_TEXT_BYTES));
	return (struct kept_text){strtab_get(&answers->strings, id), id + 1};
}

static void begin_answer(struct answers *answers, uint64_t offset)
{
	*map_put(&answers->by_offset, offset, NULL) = answers->list.len;
	struct answer answer = {.offset = offset, .first = (uint32_t)answers->frames.len};
	vec_push(&answers->list, answer);
}

/* `count` frames of the newest answer, to be filled; NULL: none. */
static struct chain_frame *answers_add_frames(struct answers *answers, uint32_t count)
{
	answers->list.data[answers->list.len - 1].count = count;
	vec_reserve(&answers->frames, count);
	answers->frames.len += count;
	return count ? &answers->frames.data[answers->frames.len - count] : NULL;
}

void answers_add(struct answers *answers, uint64_t offset, const struct chain *chain)
{
	begin_answer(answers, offset);
	/* The outermost is the one that a profile cannot do without. */
	uint32_t skipped = chain->count > ANSWERS_MAX_DEPTH ? chain->count - ANSWERS_MAX_DEPTH : 0;
	struct chain_frame *frame = answers_add_frames(answers, chain->count - skipped);
	for (uint32_t i = skipped; i < chain->count; i++, frame++) {
		*frame = chain->frames[i];
		struct kept_text function = answers_keep_text(answers, frame->function);
		frame->function = function.text;
		frame->number = function.number;
		frame->file = answers_keep_text(answers, frame->file).text;
		frame->decl_file = answers_keep_text(answers, frame->decl_file).text;
	}
}

/* NULL: it has none. */
static const struct chain_frame *answers_frames_of(
	const struct answers *answers, const struct answer *answer)
{
	return answer->count ? &answers->frames.data[answer->first] : NULL;
}

bool answers_find(const struct answers *answers, uint64_t offset, struct chain *ret)
{
	return answers_find_since(answers, 0, offset, ret);
}

bool answers_find_since(
	const struct answers *answers, size_t first, uint64_t offset, struct chain *ret)
{
	const uint64_t *index = map_get(&answers->by_offset, offset);
	if (!index || *index < first)
		return false;
	const struct answer *answer = &answers->list.data[*index];
	*ret = (struct chain){answers_frames_of(answers, answer), answer->count};
	return true;
}

size_t answers_count(const struct answers *answers)
{
	return answers->list.len;
}

size_t answers_text_count(const struct answers *answers)
{
	return answers->strings.entries.len;
}

void answers_each_function(
	const struct answers *answers, answers_on_function *on_function, void *context)
{
	CLEANUP_FREE uint8_t *seen = mem_zalloc_array(answers_text_count(answers) + 1, 1);
	vec_each(&answers->frames, frame) {
		if (seen[frame->number] || !frame->number)
			continue;
		seen[frame->number] = true;
		on_function(context, frame->number, frame->function);
	}
}

const char *answers_keep(struct answers *answers, const char *text, size_t len)
{
	return arena_strndup(&answers->strings.arena, text, len);
}

void answers_keep_block(struct answers *answers, uint8_t *block)
{
	vec_push(&answers->blocks, block);
}

bool answers_have_names(const struct answers *answers)
{
	vec_each(&answers->list, answer) {
		struct chain chain = {answers_frames_of(answers, answer), answer->count};
		if (chain_is_named(&chain))
			return true;
	}
	return false;
}

void answers_copy(struct answers *to, const struct answers *from)
{
	to->detail = from->detail;
	vec_each(&from->list, answer) {
		struct chain chain = {answers_frames_of(from, answer), answer->count};
		answers_add(to, answer->offset, &chain);
	}
}

void answers_deinit(struct answers *answers)
{
	strtab_deinit(&answers->strings);
	vec_deinit(&answers->frames);
	vec_deinit(&answers->list);
	map_deinit(&answers->by_offset);
	vec_each(&answers->blocks, block)
		mem_free(*block);
	vec_deinit(&answers->blocks);
	*answers = (struct answers){0};
}

/* ---- encoding ---- */

/* The texts of a part, numbered from 1 as they come. */
struct texts {
	struct map numbers; /* of a text, by where it stands in memory: each stands there once */
	VEC(const char *) list;
	size_t bytes;
};

static uint32_t answers_number_of(struct texts *texts, const char *text)
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

static void answers_put_frame(
	struct bytes_buf *out, struct texts *texts, const struct chain_frame *frame)
{
	bytes_put_varint(out, answers_number_of(texts, frame->function));
	bytes_put_varint(out, answers_number_of(texts, frame->file));
	bytes_put_varint(out, frame->line);
	bytes_put_varint(out, frame->column);
	bytes_put_varint(out, answers_number_of(texts, frame->decl_file));
	bytes_put_varint(out, frame->decl_line);
}

static void answers_put_answer(struct bytes_buf *out, struct texts *texts,
	const struct answers *answers, const struct answer *answer)
{
	const struct chain_frame *frames = answers_frames_of(answers, answer);
	bytes_put_varint(out, answer->count);
	for (uint32_t i = 0; i < answer->count; i++)
		answers_put_frame(out, texts, &frames[i]);
	if (answer->count) /* inlined functions have no symbol */
		bytes_put_zigzag(out, (int64_t)(answer->offset - frames[answer->count - 1].start));
}

static size_t encode_part(
	const struct answers *answers, size_t first, size_t max_bytes, struct bytes_buf *out)
{
	CLEANUP(bytes_buf_deinit) struct bytes_buf list = {0};
	struct texts texts = {0};
	uint64_t offset = 0;
	size_t end = first;
	while (end < answers->list.len && list.len + texts.bytes < max_bytes) {
		const struct answer *answer = &answers->list.data[end++];
		bytes_put_zigzag(&list, (int64_t)(answer->offset - offset));
		offset = answer->offset;
		answers_put_answer(&list, &texts, answers, answer);
	}
	bytes_put_varint(out, answers->detail);
	bytes_put_varint(out, texts.list.len);
	vec_each(&texts.list, text)
		bytes_put_blob(out, *text, strlen(*text) + 1);
	bytes_put_varint(out, end - first);
	bytes_put(out, list.data, list.len);
	vec_deinit(&texts.list);
	map_deinit(&texts.numbers);
	return end;
}

size_t answers_encode(const struct answers *answers, size_t first, struct bytes_buf *out)
{
	return encode_part(answers, first, PART_BYTES, out);
}

void answers_encode_all(const struct answers *answers, struct bytes_buf *out)
{
	encode_part(answers, 0, SIZE_MAX, out);
}

/* ---- decoding ---- */

static const char overrun[] = "answers that are longer than their chunk";
static const char bad_text[] = "a text of an answer that is none";

/* The texts of a part, as `answers` keeps them; list[0] is none. */
struct kept_texts {
	VEC(struct kept_text) list;
	bool are_in_place; /* they may stay where they are, and there were none before */
};

/* A part tells no text twice, so the first one's need not be looked for. */
static struct kept_text keep_text_of_part(
	struct answers *answers, const struct kept_texts *texts, const char *text, size_t len)
{
	if (!texts->are_in_place || len > ANSWERS_MAX_TEXT_BYTES)
		return answers_keep_text(answers, text);
	return (struct kept_text){text, strtab_add(&answers->strings, text, len) + 1};
}

static const char *get_texts(
	struct answers *answers, struct bytes_cursor *cursor, struct kept_texts *texts)
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
		vec_push(&texts->list, keep_text_of_part(answers, texts, text, len - 1));
	}
	return NULL;
}

static uint32_t answers_get_u32(struct bytes_cursor *cursor)
{
	uint64_t value = bytes_get_varint(cursor);
	return value > UINT32_MAX ? 0 : (uint32_t)value;
}

/* *is_bad when there is no such text. */
static struct kept_text answers_get_text(
	struct bytes_cursor *cursor, const struct kept_texts *texts, bool *is_bad)
{
	uint64_t place = bytes_get_varint(cursor);
	if (place < texts->list.len)
		return texts->list.data[place];
	*is_bad = true;
	return (struct kept_text){0};
}

static const char *get_frames(struct answers *answers, struct bytes_cursor *cursor,
	const struct kept_texts *texts, uint32_t count)
{
	bool is_bad = false;
	struct chain_frame *frame = answers_add_frames(answers, count);
	for (uint32_t i = 0; i < count; i++, frame++) {
		struct kept_text function = answers_get_text(cursor, texts, &is_bad);
		frame->function = function.text;
		frame->number = function.number;
		frame->file = answers_get_text(cursor, texts, &is_bad).text;
		frame->line = answers_get_u32(cursor);
		frame->column = answers_get_u32(cursor);
		frame->decl_file = answers_get_text(cursor, texts, &is_bad).text;
		frame->decl_line = answers_get_u32(cursor);
		frame->start = 0;
		frame->is_inlined = i + 1 < count;
	}
	return is_bad ? bad_text : NULL;
}

static const char *get_answer(struct answers *answers, struct bytes_cursor *cursor,
	const struct kept_texts *texts, uint64_t *offset)
{
	*offset += (uint64_t)bytes_get_zigzag(cursor);
	uint64_t count = bytes_get_varint(cursor);
	if (cursor->overrun || count > bytes_left(cursor) / SMALLEST_FRAME_BYTES)
		return overrun;
	if (count > ANSWERS_MAX_DEPTH)
		return "an answer that is too deep";
	begin_answer(answers, *offset);
	const char *fault = get_frames(answers, cursor, texts, (uint32_t)count);
	if (fault || !count)
		return fault;
	struct chain_frame *outermost = &answers->frames.data[answers->frames.len - 1];
	outermost->start = *offset - (uint64_t)bytes_get_zigzag(cursor);
	return cursor->overrun ? overrun : NULL;
}

static const char *get_part(
	struct answers *answers, struct bytes_cursor *cursor, struct kept_texts *texts)
{
	uint64_t detail = bytes_get_varint(cursor), offset = 0;
	const char *fault = get_texts(answers, cursor, texts);
	uint64_t count = fault ? 0 : bytes_get_varint(cursor);
	if (count <= bytes_left(cursor) / SMALLEST_ANSWER_BYTES) {
		vec_reserve(&answers->list, count);
		vec_reserve(&answers->frames, bytes_left(cursor) / SMALLEST_FRAME_BYTES);
		map_reserve(&answers->by_offset, count);
	}
	for (uint64_t i = 0; !fault && i < count; i++)
		fault = get_answer(answers, cursor, texts, &offset);
	if (!fault && cursor->overrun)
		fault = overrun;
	if (!fault && detail > answers->detail)
		answers->detail =
			detail < ANSWERS_DETAIL_END ? (enum answers_detail)detail : ANSWERS_INLINED;
	return fault;
}

static const char *decode_part(
	struct answers *answers, struct bytes_cursor *cursor, bool texts_may_stay)
{
	struct kept_texts texts = {.are_in_place = texts_may_stay && !answers->strings.entries.len};
	const char *fault = get_part(answers, cursor, &texts);
	vec_deinit(&texts.list);
	return fault;
}

const char *answers_decode(struct answers *answers, struct bytes_cursor *cursor)
{
	return decode_part(answers, cursor, false);
}

const char *answers_take(struct answers *answers, uint8_t *bytes, size_t len)
{
	struct bytes_cursor cursor = bytes_cursor(bytes, len);
	const char *fault = NULL;
	answers_keep_block(answers, bytes);
	while (!fault && bytes_left(&cursor))
		fault = decode_part(answers, &cursor, true);
	return fault;
}
