/*
 * Translations stand one behind the other. One is a begin, and operations of a code and its
 * operands, among which those that begin frames. Many are like one that came before: a begin may
 * say how far back that one is, and in place of operations there may be a count of those that are
 * the same in it, at the same places.
 *
 * Sources: src/deoptimizer/translation-opcode.h, src/deoptimizer/frame-translation-builder.cc,
 * src/codegen/{safepoint-table,maglev-safepoint-table}.h of V8; as in V8 14.6, where all
 * translations of the code that was looked at have the number of frames that they say.
 */
#include "record/runtime/node/node_translation.h"

#include "format/base/vec.h"

enum operation_code {
	FRAME_WITH_RETURN = 0,
	FRAME_OF_BUILTIN_THAT_CATCHES = 3, /* the last that begins a frame of a function */
	BEGIN_WITHOUT_FEEDBACK = 14,
	BEGIN_WITH_FEEDBACK = 15,
	MATCH_PREVIOUS = 44, /* or, in one byte, MATCHES + how many */
	MATCHES = 45,

	LAST_FRAME_OF_BYTECODES = 1,
	KEPT_OPERANDS = 2,
	MAX_OPERATIONS = 1 << 14,
};

static const uint8_t nr_operands[MATCHES] = {6, 4, 3, 3, 2, 1, 3, 4, 3, 3, 3, 1, 0, 0, 3, 3, 1, 1,
	1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 2, 1};

struct operation {
	uint8_t code;
	uint32_t operands[KEPT_OPERANDS]; /* the first ones */
};

struct operations {
	VEC(struct operation) all;
};

static bool is_begin(uint8_t code)
{
	return code == BEGIN_WITHOUT_FEEDBACK || code == BEGIN_WITH_FEEDBACK;
}

/* The sign is the lowest bit. */
static int32_t signed_operand(uint32_t operand)
{
	int32_t value = (int32_t)(operand >> 1);
	return operand & 1 ? -value : value;
}

/* Adds `count` operations that are those of `basis` at the same places. */
static bool repeat_operations(struct operations *to, const struct operations *basis, uint64_t count)
{
	if (!basis || count > basis->all.len || to->all.len + count > basis->all.len)
		return false;
	for (; count; count--) {
		struct operation same = basis->all.data[to->all.len];
		vec_push(&to->all, same);
	}
	return true;
}

/* The operations behind a begin, up to the next one. */
static bool read_operations(
	struct bytes_cursor *cursor, const struct operations *basis, struct operations *ret)
{
	while (bytes_left(cursor) && ret->all.len < MAX_OPERATIONS) {
		struct operation operation = {.code = bytes_get_u8(cursor)};
		if (is_begin(operation.code))
			return true;
		if (operation.code >= MATCH_PREVIOUS) {
			uint64_t count = (uint64_t)operation.code - MATCHES;
			if (operation.code == MATCH_PREVIOUS)
				count = bytes_get_varint(cursor);
			if (!repeat_operations(ret, basis, count))
				return false;
			continue;
		}
		for (int i = 0; i < nr_operands[operation.code]; i++) {
			uint32_t operand = (uint32_t)bytes_get_varint(cursor);
			if (i < KEPT_OPERANDS)
				operation.operands[i] = operand;
		}
		vec_push(&ret->all, operation);
	}
	return !cursor->overrun && !bytes_left(cursor);
}

struct begin {
	uint32_t distance; /* to the basis; 0: it has none */
	uint32_t nr_functions;
};

static bool read_begin(struct bytes_cursor *cursor, struct begin *ret)
{
	if (!is_begin(bytes_get_u8(cursor)))
		return false;
	ret->distance = (uint32_t)bytes_get_varint(cursor);
	bytes_get_varint(cursor); /* frames in all */
	ret->nr_functions = (uint32_t)signed_operand((uint32_t)bytes_get_varint(cursor));
	return !cursor->overrun;
}

static bool read_basis(const uint8_t *bytes, size_t len, size_t at, struct operations *ret)
{
	struct bytes_cursor cursor = bytes_cursor(bytes + at, len - at);
	struct begin begin;
	return read_begin(&cursor, &begin) && !begin.distance &&
	       read_operations(&cursor, NULL, ret);
}

static size_t put_frames(
	const struct operations *operations, struct node_translated_frame *frames, size_t max)
{
	size_t count = 0;
	vec_each(&operations->all, operation) {
		if (operation->code > FRAME_OF_BUILTIN_THAT_CATCHES)
			continue;
		int32_t bytecode = signed_operand(operation->operands[0]);
		bool has_bytecode = operation->code <= LAST_FRAME_OF_BYTECODES && bytecode > 0;
		if (count < max)
			frames[count] = (struct node_translated_frame){
				.literal = (uint32_t)signed_operand(operation->operands[1]),
				.bytecode = has_bytecode ? (uint32_t)bytecode : 0};
		count++;
	}
	return count;
}

size_t node_translation_frames(const uint8_t *bytes, size_t len, size_t at,
	struct node_translated_frame *frames, size_t max)
{
	if (at >= len)
		return 0;
	struct bytes_cursor cursor = bytes_cursor(bytes + at, len - at);
	struct operations basis = {0}, operations = {0};
	struct begin begin = {0};
	bool is_read = read_begin(&cursor, &begin) && begin.distance <= at &&
		       (!begin.distance || read_basis(bytes, len, at - begin.distance, &basis)) &&
		       read_operations(&cursor, begin.distance ? &basis : NULL, &operations);
	size_t count = is_read ? put_frames(&operations, frames, max) : 0;
	vec_deinit(&basis.all);
	vec_deinit(&operations.all);
	return count == begin.nr_functions ? count : 0;
}

/* ---- safepoints ---- */

bool node_safepoints_init(
	struct node_safepoints *safepoints, const uint8_t *bytes, size_t len, bool is_maglev)
{
	*safepoints = (struct node_safepoints){.cursor = bytes_cursor(bytes, len)};
	struct bytes_cursor *cursor = &safepoints->cursor;
	bytes_get_u32(cursor); /* slots of the frame */
	safepoints->left = bytes_get_u32(cursor);
	uint32_t sizes = bytes_get_u32(cursor);
	if (is_maglev)
		bytes_get_u32(cursor);
	safepoints->pc_bytes = sizes >> 4 & 7;
	safepoints->translation_bytes = sizes & 1 ? sizes >> 7 & 7 : 0;
	safepoints->other_bytes = (uint8_t)((sizes >> 1 & 7) + is_maglev);
	return !cursor->overrun && safepoints->pc_bytes && safepoints->pc_bytes <= 4 &&
	       safepoints->translation_bytes <= 4;
}

static uint32_t get_little(struct bytes_cursor *cursor, uint8_t len)
{
	uint32_t value = 0;
	for (int i = 0; i < len; i++)
		value |= (uint32_t)bytes_get_u8(cursor) << 8 * i;
	return value;
}

bool node_safepoints_next(struct node_safepoints *safepoints, struct node_safepoint *ret)
{
	struct bytes_cursor *cursor = &safepoints->cursor;
	if (!safepoints->left)
		return false;
	safepoints->left--;
	*ret = (struct node_safepoint){
		.pc = get_little(cursor, safepoints->pc_bytes), .translation = -1};
	if (safepoints->translation_bytes) { /* both are one more than what they say */
		ret->translation = (int32_t)get_little(cursor, safepoints->translation_bytes) - 1;
		uint32_t trampoline = get_little(cursor, safepoints->pc_bytes);
		ret->trampoline = trampoline ? trampoline - 1 : 0;
	}
	bytes_get(cursor, safepoints->other_bytes);
	return !cursor->overrun;
}
