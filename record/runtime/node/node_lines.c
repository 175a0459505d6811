/*
 * Sources: src/codegen/source-position-table.cc, src/objects/script.tq of V8 10.2, 11.3, 12.4,
 * 13.6, 14.6. In 14 the lowest bit of how far on in the code is not of that: with it positions of
 * Node.js 25.9 and 26.10 reach to twice the length of their bytecodes.
 */
#include "record/runtime/node/node_lines.h"

#include <string.h>

#include "format/base/bisect.h"
#include "format/base/mem.h"
#include "record/runtime/node/node_function.h"
#include "record/runtime/runtime_memory.h"

enum {
	SHARED_DATA = 8, /* of a SharedFunctionInfo: its bytecodes, or what leads to them */
	SCRIPT_SOURCE = 8,
	SCRIPT_LINE_ENDS = 56,

	CHUNK_CHARACTERS = 1 << 15,
	MAX_SOURCE_CHARACTERS = 32 << 20,
	MAX_LINES = 1 << 22,
	MAX_KEPT_LINES = 1 << 21, /* of four bytes */
	MAX_KEPT_SCRIPTS = 512,
	KEPT_HEAD_WORDS = 4,
	MAX_BYTECODES = 1 << 28,
	MAX_POSITIONS_BYTES = 1 << 18,
	POSITION_CHARACTER = 0x3fffffff, /* above the lowest bit; plus 1 */
	VERSION_WITH_BREAKS = 14,        /* positions say where debuggers may stop */
};

/* ---- scripts ---- */

static bool read_line_ends(
	const struct node_reader *reading, uint64_t array, struct node_lines *ret)
{
	uint64_t length;
	if (node_object_type(reading, array) < 0 ||
		!node_object_read(reading, array, NODE_ARRAY_LENGTH, &length))
		return false;
	length >>= NODE_SMI_SHIFT;
	if (!length || length > MAX_LINES)
		return false;
	CLEANUP_FREE uint64_t *ends = mem_alloc(length * sizeof(*ends));
	if (!runtime_read_process(
		    reading->pid, array - 1 + NODE_ARRAY_DATA, ends, length * sizeof(*ends)))
		return false;
	for (uint64_t i = 0; i < length; i++)
		vec_push(&ret->ends, (uint32_t)(ends[i] >> NODE_SMI_SHIFT));
	return true;
}

static void end_lines(
	const uint8_t *bytes, uint32_t count, uint32_t unit, uint32_t first, struct node_lines *ret)
{
	const uint8_t *end = bytes + (size_t)count * unit;
	for (const uint8_t *at = bytes; (at = memchr(at, '\n', (size_t)(end - at))); at++) {
		size_t offset = (size_t)(at - bytes);
		if (unit == 1 || (!(offset & 1) && !at[1]))
			vec_push(&ret->ends, first + (uint32_t)(offset / unit));
	}
}

/* V8 has them only of scripts whose lines it was asked for. */
static bool count_lines(const struct node_reader *reading, uint64_t source, struct node_lines *ret)
{
	struct node_characters characters;
	if (!node_object_find_characters(reading, source, &characters) ||
		characters.count > MAX_SOURCE_CHARACTERS)
		return false;
	CLEANUP_FREE uint8_t *bytes = mem_alloc(CHUNK_CHARACTERS * 2);
	uint32_t unit = characters.unit;
	for (uint32_t at = 0; at < characters.count; at += CHUNK_CHARACTERS) {
		uint32_t left = characters.count - at;
		uint32_t count = left < CHUNK_CHARACTERS ? left : CHUNK_CHARACTERS;
		if (!runtime_read_process(reading->pid, characters.address + (uint64_t)at * unit,
			    bytes, (size_t)count * unit))
			return false;
		end_lines(bytes, count, unit, at, ret);
	}
	vec_push(&ret->ends, characters.count);
	return true;
}

struct kept_script {
	uint32_t pid;
	uint64_t script_id, source;     /* the object that has its text, */
	uint64_t head[KEPT_HEAD_WORDS]; /* ... and how that begins */
	struct node_lines lines;
};

struct node_scripts {
	VEC(struct kept_script *) list;
	uint64_t nr_lines;
};

struct node_scripts *node_scripts_create(void)
{
	return mem_zalloc(sizeof(struct node_scripts));
}

static void forget_scripts(struct node_scripts *scripts)
{
	vec_each(&scripts->list, kept) {
		vec_deinit(&(*kept)->lines.ends);
		mem_free(*kept);
	}
	vec_deinit(&scripts->list);
	scripts->nr_lines = 0;
}

void node_scripts_destroy(struct node_scripts *scripts)
{
	if (!scripts)
		return;
	forget_scripts(scripts);
	mem_free(scripts);
}

void node_scripts_trim(struct node_scripts *scripts)
{
	if (scripts->nr_lines > MAX_KEPT_LINES || scripts->list.len > MAX_KEPT_SCRIPTS)
		forget_scripts(scripts);
}

static bool is_same_script(const struct kept_script *a, const struct kept_script *b)
{
	return a->pid == b->pid && a->script_id == b->script_id && a->source == b->source &&
	       memcmp(a->head, b->head, sizeof(a->head)) == 0;
}

const struct node_lines *node_lines_of_script(const struct node_reader *reading, uint64_t script)
{
	static const struct node_lines none;
	struct kept_script found = {.pid = reading->pid};
	uint64_t ends;
	if (!node_object_read(reading, script, NODE_SCRIPT_ID, &found.script_id) ||
		!node_object_read(reading, script, SCRIPT_SOURCE, &found.source) ||
		!node_object_read(reading, script, SCRIPT_LINE_ENDS, &ends) ||
		!runtime_read_process(
			reading->pid, found.source - 1, found.head, sizeof(found.head)))
		return &none;
	vec_each(&reading->scripts->list, kept)
		if (is_same_script(*kept, &found))
			return &(*kept)->lines;
	if (!read_line_ends(reading, ends, &found.lines) &&
		!count_lines(reading, found.source, &found.lines))
		found.lines.ends.len = 0;
	struct kept_script *script_to_keep = mem_alloc(sizeof(*script_to_keep));
	*script_to_keep = found;
	vec_push(&reading->scripts->list, script_to_keep);
	reading->scripts->nr_lines += found.lines.ends.len;
	return &script_to_keep->lines;
}

uint32_t node_lines_find(const struct node_lines *lines, uint32_t character)
{
	size_t at = bisect(lines->ends.len, i, lines->ends.data[i] < character);
	return at < lines->ends.len ? (uint32_t)at + 1 : 0;
}

/* ---- bytecodes ---- */

uint64_t node_lines_bytecodes(const struct node_reader *reading, uint64_t shared)
{
	uint64_t data;
	enum {
		WAYS = 4, /* what an interpreter's copy, or compiled code, has in between */
	};
	if (!node_object_read(reading, shared, SHARED_DATA, &data))
		return 0;
	for (int i = 0; i < WAYS; i++) {
		if (node_object_type(reading, data) == reading->row->bytecode_array_type)
			return data;
		/* Of compiled code it is the first or the second word, by the version. */
		uint64_t first, second;
		if (!node_object_read(reading, data, 8, &first) ||
			!node_object_read(reading, data, 16, &second))
			return 0;
		bool is_first =
			node_object_type(reading, first) == reading->row->bytecode_array_type;
		data = is_first ? first : second;
	}
	return 0;
}

static int64_t get_position_delta(struct bytes_cursor *cursor)
{
	uint64_t value = bytes_get_varint(cursor);
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

void node_lines_next_position(
	const struct node_row *row, struct bytes_cursor *cursor, int64_t *place, int64_t *position)
{
	/* Negative ones are of expressions, others of statements. */
	int64_t delta = get_position_delta(cursor);
	delta = delta >= 0 ? delta : -(delta + 1);
	*place += row->version >= VERSION_WITH_BREAKS ? delta >> 1 : delta;
	*position += get_position_delta(cursor);
}

void node_bytecode_lines_read(const struct node_reader *reading, uint64_t bytecodes,
	const struct node_lines *lines, struct node_bytecode_lines *ret)
{
	CLEANUP_FREE uint8_t *bytes = NULL;
	uint64_t positions, len;
	if (!bytecodes || !lines->ends.len ||
		!node_object_read(
			reading, bytecodes, reading->row->bytecode_positions, &positions) ||
		!node_object_read_bytes(reading, positions, MAX_POSITIONS_BYTES, &bytes, &len))
		return;
	struct bytes_cursor cursor = bytes_cursor(bytes, len);
	int64_t bytecode = -1, position = 0;
	while (bytes_left(&cursor)) {
		int64_t before = bytecode;
		node_lines_next_position(reading->row, &cursor, &bytecode, &position);
		if (cursor.overrun || bytecode < before || bytecode >= MAX_BYTECODES)
			break;
		uint32_t character = (uint32_t)(position >> 1 & POSITION_CHARACTER);
		/* The function's own entry is ahead of its first bytecode. */
		struct node_bytecode_line line = {.bytecode = bytecode < 0 ? 0 : (uint32_t)bytecode,
			.line = character ? node_lines_find(lines, character - 1) : 0};
		if (!ret->all.len || ret->all.data[ret->all.len - 1].line != line.line)
			vec_push(&ret->all, line);
	}
}

uint32_t node_bytecode_lines_find(const struct node_bytecode_lines *lines, uint32_t bytecode)
{
	size_t behind = bisect(lines->all.len, i, lines->all.data[i].bytecode <= bytecode);
	return behind ? lines->all.data[behind - 1].line : 0;
}
