#include "record/runtime/runtime_inlined.h"

#include "format/base/bisect.h"

void runtime_inlined_deinit(struct runtime_inlined *inlined)
{
	vec_deinit(&inlined->functions);
	vec_deinit(&inlined->scopes);
	vec_deinit(&inlined->places);
	vec_deinit(&inlined->leaf_places);
}

static void put_places(
	struct bytes_buf *out, const struct runtime_inlined_place *places, size_t count)
{
	uint32_t before = 0;
	bytes_put_varint(out, count);
	for (size_t i = 0; i < count; i++) {
		bytes_put_varint(out, places[i].offset - before);
		bytes_put_varint(out, places[i].scope);
		before = places[i].offset;
	}
}

void runtime_inlined_put(struct bytes_buf *out, const struct runtime_inlined *inlined)
{
	bytes_put_varint(out, inlined->functions.len);
	vec_each(&inlined->functions, function) {
		bytes_put_blob(out, function->name, function->name_len);
		bytes_put_blob(out, function->file, function->file_len);
	}
	bytes_put_varint(out, inlined->scopes.len);
	vec_each(&inlined->scopes, scope) {
		bytes_put_varint(out, scope->function);
		bytes_put_varint(out, scope->line);
		bytes_put_varint(out, scope->caller);
	}
	bytes_put_u8(out, inlined->has_ranges);
	bytes_put_u8(out, inlined->knows_leaves);
	put_places(out, inlined->places.data, inlined->places.len);
	put_places(out, inlined->leaf_places.data, inlined->leaf_places.len);
}

static void get_functions(struct bytes_cursor *cursor, struct runtime_inlined *ret)
{
	for (uint64_t left = bytes_get_varint(cursor); left && !cursor->overrun; left--) {
		struct runtime_inlined_function function = {0};
		function.name = (const char *)bytes_get_blob(cursor, &function.name_len);
		function.file = (const char *)bytes_get_blob(cursor, &function.file_len);
		vec_push(&ret->functions, function);
	}
}

static bool get_scopes(struct bytes_cursor *cursor, struct runtime_inlined *ret)
{
	for (uint64_t left = bytes_get_varint(cursor); left && !cursor->overrun; left--) {
		struct runtime_inlined_scope scope = {.function = bytes_get_u32_varint(cursor)};
		scope.line = bytes_get_u32_varint(cursor);
		scope.caller = bytes_get_u32_varint(cursor);
		if (scope.function >= ret->functions.len || scope.caller > ret->scopes.len)
			return false;
		vec_push(&ret->scopes, scope);
	}
	return true;
}

/* The place behind another one, which it replaces. */
static bool get_next_place(struct bytes_cursor *cursor, const struct runtime_inlined *inlined,
	struct runtime_inlined_place *place)
{
	place->offset += bytes_get_u32_varint(cursor);
	place->scope = bytes_get_u32_varint(cursor);
	return place->scope <= inlined->scopes.len;
}

static bool get_places(struct bytes_cursor *cursor, struct runtime_inlined *ret)
{
	struct runtime_inlined_place place = {0}, leaf_place = {0};
	ret->has_ranges = bytes_get_u8(cursor);
	ret->knows_leaves = bytes_get_u8(cursor);
	for (uint64_t left = bytes_get_varint(cursor); left && !cursor->overrun; left--) {
		if (!get_next_place(cursor, ret, &place))
			return false;
		vec_push(&ret->places, place);
	}
	for (uint64_t left = bytes_get_varint(cursor); left && !cursor->overrun; left--) {
		if (!get_next_place(cursor, ret, &leaf_place))
			return false;
		vec_push(&ret->leaf_places, leaf_place);
	}
	return true;
}

bool runtime_inlined_get(const uint8_t *bytes, size_t len, struct runtime_inlined *ret)
{
	struct bytes_cursor cursor = bytes_cursor(bytes, len);
	*ret = (struct runtime_inlined){0};
	get_functions(&cursor, ret);
	if (get_scopes(&cursor, ret) && get_places(&cursor, ret) && !cursor.overrun)
		return true;
	runtime_inlined_deinit(ret);
	*ret = (struct runtime_inlined){0};
	return false;
}

uint32_t runtime_inlined_find(
	const struct runtime_inlined *inlined, uint32_t offset, bool is_leaf, bool *is_exact)
{
	const struct runtime_inlined_place *places = inlined->places.data;
	*is_exact = false;
	if (is_leaf && inlined->leaf_places.len) {
		const struct runtime_inlined_place *leaves = inlined->leaf_places.data;
		size_t count = inlined->leaf_places.len;
		size_t range = bisect(count, i, leaves[i].offset < offset);
		return range < count ? leaves[range].scope : RUNTIME_INLINED_NONE;
	}
	bool is_within = is_leaf && inlined->knows_leaves;
	uint64_t least = (uint64_t)offset + (is_within && !inlined->has_ranges);
	size_t at = bisect(inlined->places.len, i, places[i].offset < least);
	if (at == inlined->places.len)
		return RUNTIME_INLINED_NONE;
	bool is_own = inlined->has_ranges || places[at].offset == offset;
	*is_exact = is_leaf ? is_within : is_own;
	return places[at].scope;
}
