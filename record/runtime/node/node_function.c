/*
 * Sources: src/codegen/source-position-table.cc, src/objects/{string,script,scope-info}.tq of V8
 * 10.2, 11.3, 12.4, 13.6, 14.6.
 */
#include "record/runtime/node/node_function.h"

#include <string.h>

#include "bpf/runtime/node/node_row.h"
#include "format/base/mem.h"
#include "format/base/vec.h"
#include "record/runtime/runtime_inlined.h"
#include "record/runtime/runtime_memory.h"

enum {
	MAP_TYPE = 12,
	SHARED_DATA = 8, /* of a SharedFunctionInfo: its bytecodes, or what leads to them */
	SCRIPT_SOURCE = 8,
	SCRIPT_NAME = 16,
	SCRIPT_LINE_ENDS = 56,
	SCRIPT_ID = 64,
	ARRAY_LENGTH = 8, /* of arrays of all kinds */
	ARRAY_DATA = 16,
	SMI_SHIFT = 32,

	STRING_LENGTH = 12,
	STRING_DATA = 16,
	STRING_SECOND = 24,
	LAST_STRING = 127,
	STRING_SHAPE = 7,
	STRING_IS_ONE_BYTE = 8,
	MAX_STRING_DEPTH = 8,
	MAX_NAME_CHARACTERS = 512,
	MAX_SOURCE_CHARACTERS = 4 << 20,

	SCOPE_WORDS = 12,          /* behind its locals: among them is the name */
	SCOPE_INLINED_LOCALS = 75, /* more have their names in a table */

	MAX_BYTECODES = 1 << 14,
	MAX_POSITIONS_BYTES = 1 << 18,
	MAX_LINES = 1 << 20,
};

struct reading_function {
	uint32_t pid;
	const struct node_row *row;
};

static bool read_at(
	const struct reading_function *reading, uint64_t pointer, uint64_t offset, uint64_t *ret)
{
	return runtime_read_process(reading->pid, pointer - 1 + offset, ret, sizeof(*ret));
}

/* -1: it is no object. */
static int type_of(const struct reading_function *reading, uint64_t pointer)
{
	uint64_t map;
	uint16_t type;
	if ((pointer & 3) != 1 || !read_at(reading, pointer, 0, &map))
		return -1;
	if (!(map & 3) && !runtime_read_process(reading->pid, map, &map, sizeof(map)))
		return -1; /* it was being moved */
	if ((map & 3) != 1 ||
		!runtime_read_process(reading->pid, map - 1 + MAP_TYPE, &type, sizeof(type)))
		return -1;
	return type;
}

static bool is_string(int type)
{
	return type >= 0 && type <= LAST_STRING;
}

/* ---- strings ---- */

enum string_shape {
	STRING_SEQUENTIAL = 0,
	STRING_CONS = 1,
	STRING_EXTERNAL = 2,
	STRING_SLICED = 3,
	STRING_THIN = 5,
};

/* `count` characters at an address, as UTF-8. */
static bool put_characters(const struct reading_function *reading, uint64_t address, int type,
	uint32_t count, struct str *out)
{
	uint32_t unit = type & STRING_IS_ONE_BYTE ? 1 : 2;
	CLEANUP_FREE uint8_t *bytes = mem_alloc((size_t)count * unit + 1);
	if (!runtime_read_process(reading->pid, address, bytes, (size_t)count * unit))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t c = bytes[i * unit];
		if (unit == 2)
			c |= (uint32_t)bytes[i * unit + 1] << 8;
		str_put_code_point(out, c >> 11 == 0x1b || !c ? 0xfffd : c); /* half of a pair */
	}
	return true;
}

/* Characters [from, from + max) of a string. */
static bool put_string(const struct reading_function *reading, uint64_t pointer, uint32_t from,
	uint32_t max, int depth, struct str *out)
{
	int type = type_of(reading, pointer);
	uint32_t length, unit = type & STRING_IS_ONE_BYTE ? 1 : 2;
	uint64_t first = 0, second = 0;
	if (!is_string(type) || depth > MAX_STRING_DEPTH ||
		!runtime_read_process(
			reading->pid, pointer - 1 + STRING_LENGTH, &length, sizeof(length)))
		return false;
	if (from >= length || !max)
		return true;
	uint32_t count = length - from < max ? length - from : max;
	enum string_shape shape = type & STRING_SHAPE;
	if (shape == STRING_SEQUENTIAL)
		return put_characters(reading, pointer - 1 + STRING_DATA + (uint64_t)from * unit,
			type, count, out);
	if (!read_at(reading, pointer, STRING_DATA, &first) ||
		(shape != STRING_THIN && !read_at(reading, pointer, STRING_SECOND, &second)))
		return false;
	switch (shape) {
	case STRING_CONS: /* a long one is cut where its first part ends */
		return put_string(reading, first, from, count, depth + 1, out) &&
		       (from || put_string(reading, second, 0, count, depth + 1, out));
	case STRING_EXTERNAL:
		return put_characters(reading, second + (uint64_t)from * unit, type, count, out);
	case STRING_SLICED:
		return put_string(reading, first, from + (uint32_t)(second >> SMI_SHIFT), count,
			depth + 1, out);
	case STRING_THIN:
		return put_string(reading, first, from, count, depth + 1, out);
	default:
		return false;
	}
}

/* ---- names ---- */

/*
 * What stands behind the locals: the name, if it has one of its own, with a number; what it was
 * assigned to, if that is known; then two numbers, where it begins and ends in the script.
 */
static bool read_scope(
	const struct reading_function *reading, uint64_t scope, struct str *name, uint32_t *start)
{
	const struct node_row *row = reading->row;
	uint64_t locals, words[SCOPE_WORDS];
	if (!read_at(reading, scope, 8 + 8ULL * row->scope_locals, &locals))
		return false;
	locals >>= SMI_SHIFT;
	uint64_t at = row->scope_first + (locals < SCOPE_INLINED_LOCALS ? 2 * locals : locals + 1);
	/* A module has the number of its variables ahead of the locals. */
	if (locals && read_at(reading, scope, 8 + 8ULL * row->scope_first, &words[0]) &&
		!(uint32_t)words[0])
		at++;
	if (!runtime_read_process(reading->pid, scope - 1 + 8 + 8 * at, words, sizeof(words)))
		return false;
	for (int i = 0; i + 1 < SCOPE_WORDS; i++) {
		bool is_number = !(uint32_t)words[i], is_next_number = !(uint32_t)words[i + 1];
		if (is_number && is_next_number) {
			*start = (uint32_t)(words[i] >> SMI_SHIFT);
			return true;
		}
		if (!name->len && is_string(type_of(reading, words[i])) &&
			!put_string(reading, words[i], 0, MAX_NAME_CHARACTERS, 0, name))
			return false;
	}
	return true;
}

/* The name, and where the function begins in its script; 0: not known. */
static bool read_name(
	const struct reading_function *reading, uint64_t shared, struct str *name, uint32_t *start)
{
	uint64_t word;
	*start = 0;
	if (!read_at(reading, shared, reading->row->shared_name, &word))
		return false;
	int type = type_of(reading, word);
	if (is_string(type))
		return put_string(reading, word, 0, MAX_NAME_CHARACTERS, 0, name);
	return type != reading->row->scope_info_type || read_scope(reading, word, name, start);
}

/* ---- lines ---- */

struct line_ends {
	VEC(uint32_t) ends; /* of each line, the character behind it */
};

static bool read_line_ends(
	const struct reading_function *reading, uint64_t array, struct line_ends *ret)
{
	uint64_t length;
	if (type_of(reading, array) < 0 || !read_at(reading, array, ARRAY_LENGTH, &length))
		return false;
	length >>= SMI_SHIFT;
	if (!length || length > MAX_LINES)
		return false;
	CLEANUP_FREE uint64_t *ends = mem_alloc(length * sizeof(*ends));
	if (!runtime_read_process(
		    reading->pid, array - 1 + ARRAY_DATA, ends, length * sizeof(*ends)))
		return false;
	for (uint64_t i = 0; i < length; i++)
		vec_push(&ret->ends, (uint32_t)(ends[i] >> SMI_SHIFT));
	return true;
}

/* V8 has them only of scripts whose lines it was asked for. */
static bool count_lines(
	const struct reading_function *reading, uint64_t source, struct line_ends *ret)
{
	CLEANUP(str_deinit) struct str text = {0};
	if (!put_string(reading, source, 0, MAX_SOURCE_CHARACTERS, 0, &text))
		return false;
	uint32_t character = 0;
	for (size_t i = 0; i < text.len; i++) {
		uint8_t byte = (uint8_t)str_text(&text)[i];
		if (byte == '\n')
			vec_push(&ret->ends, character);
		character += (byte & 0xc0) != 0x80; /* not within a character */
	}
	vec_push(&ret->ends, character);
	return true;
}

static uint32_t line_of(const struct line_ends *lines, uint32_t position)
{
	size_t low = 0, high = lines->ends.len;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (lines->ends.data[mid] < position)
			low = mid + 1;
		else
			high = mid;
	}
	return low < lines->ends.len ? (uint32_t)low + 1 : 0;
}

static int64_t get_signed_varint(struct bytes_cursor *cursor)
{
	uint64_t value = bytes_get_varint(cursor);
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* The array of the function's bytecodes; 0: it has none now. */
static uint64_t find_bytecodes(const struct reading_function *reading, uint64_t shared)
{
	uint64_t data;
	enum {
		WAYS = 4, /* what an interpreter's copy, or compiled code, has in between */
	};
	if (!read_at(reading, shared, SHARED_DATA, &data))
		return 0;
	for (int i = 0; i < WAYS; i++) {
		if (type_of(reading, data) == reading->row->bytecode_array_type)
			return data;
		/* Of compiled code it is the first or the second word, by the version. */
		uint64_t first, second;
		if (!read_at(reading, data, 8, &first) || !read_at(reading, data, 16, &second))
			return 0;
		data = type_of(reading, first) == reading->row->bytecode_array_type ? first
										    : second;
	}
	return 0;
}

/* The line of each bytecode, from pairs of (bytecode, position), each counted on from the last. */
static void take_positions(struct runtime_inlined *made, const uint8_t *bytes, size_t len,
	uint32_t nr_bytecodes, const struct line_ends *lines)
{
	struct bytes_cursor cursor = bytes_cursor(bytes, len);
	int64_t bytecode = -1, position = 0;
	uint32_t scope = (uint32_t)made->scopes.len, at = 1; /* 0 is there already */
	uint32_t line = made->scopes.data[scope - 1].line;
	while (at < nr_bytecodes) {
		int64_t delta = bytes_left(&cursor) ? get_signed_varint(&cursor) : 0;
		bool is_end = cursor.overrun || !bytes_left(&cursor);
		/* Negative ones are of expressions, others of statements. */
		int64_t next =
			is_end ? nr_bytecodes : bytecode + (delta >= 0 ? delta : -(delta + 1));
		for (; at < nr_bytecodes && (int64_t)at < next; at++) {
			struct runtime_inlined_place place = {.offset = at, .scope = scope};
			vec_push(&made->places, place);
		}
		if (is_end || next < bytecode)
			break;
		bytecode = next;
		position += get_signed_varint(&cursor);
		uint32_t character = (uint32_t)(position >> 1 & 0x3fffffff);
		uint32_t here = character ? line_of(lines, character - 1) : 0;
		if (here != line) {
			struct runtime_inlined_scope of_line = {.line = here};
			vec_push(&made->scopes, of_line);
			scope = (uint32_t)made->scopes.len;
			line = here;
		}
	}
}

static bool read_lines(
	const struct reading_function *reading, uint64_t script, struct line_ends *ret)
{
	uint64_t ends, source;
	return read_at(reading, script, SCRIPT_LINE_ENDS, &ends) &&
	       read_at(reading, script, SCRIPT_SOURCE, &source) &&
	       (read_line_ends(reading, ends, ret) || count_lines(reading, source, ret));
}

/* Of a function that was not asked for its lines yet, V8 has no positions. */
static void take_lines_of(const struct reading_function *reading, uint64_t shared,
	const struct line_ends *lines, struct runtime_inlined *made)
{
	uint64_t bytecodes = find_bytecodes(reading, shared), positions, length, nr_bytecodes;
	if (!bytecodes || !read_at(reading, bytecodes, ARRAY_LENGTH, &nr_bytecodes) ||
		!read_at(reading, bytecodes, reading->row->bytecode_positions, &positions) ||
		type_of(reading, positions) < 0 ||
		!read_at(reading, positions, ARRAY_LENGTH, &length))
		return;
	length >>= SMI_SHIFT;
	nr_bytecodes >>= SMI_SHIFT;
	if (!length || length > MAX_POSITIONS_BYTES || nr_bytecodes > MAX_BYTECODES)
		return;
	CLEANUP_FREE uint8_t *bytes = mem_alloc(length);
	if (runtime_read_process(reading->pid, positions - 1 + ARRAY_DATA, bytes, length))
		take_positions(made, bytes, length, (uint32_t)nr_bytecodes, lines);
}

/* ---- the function ---- */

bool node_function_read(uint32_t pid, const void *given, size_t len, struct bytes_buf *ret)
{
	struct node_function function;
	if (len != sizeof(function))
		return false;
	memcpy(&function, given, sizeof(function));
	struct reading_function reading = {.pid = pid, .row = &function.row};
	CLEANUP(str_deinit) struct str name = {0};
	CLEANUP(str_deinit) struct str file = {0};
	CLEANUP(runtime_inlined_deinit) struct runtime_inlined made = {0};
	uint64_t script = 0, url = 0, flags, id;
	uint32_t start;
	uint64_t shared = function.shared;
	/* It may have moved, and another one be there. */
	if (type_of(&reading, shared) != function.row.shared_type ||
		!read_at(&reading, shared, function.row.shared_flags, &flags) ||
		flags >> 32 != function.literal_id || !read_name(&reading, shared, &name, &start))
		return false;
	bool has_script = read_at(&reading, shared, function.row.shared_script, &script) &&
			  type_of(&reading, script) == function.row.script_type &&
			  read_at(&reading, script, SCRIPT_ID, &id);
	if (function.script_id && (!has_script || id >> SMI_SHIFT != function.script_id))
		return false;
	if (has_script && read_at(&reading, script, SCRIPT_NAME, &url) &&
		!put_string(&reading, url, 0, RUNTIME_MAX_FILE_BYTES, 0, &file))
		str_truncate(&file, 0);
	struct runtime_inlined_function only = {.name = str_text(&name),
		.file = str_text(&file),
		.name_len = name.len,
		.file_len = file.len};
	vec_push(&made.functions, only);
	/* Where no bytecode is known, the line is that where the function begins. */
	struct line_ends lines = {.ends = {0}};
	bool has_lines = has_script && read_lines(&reading, script, &lines);
	struct runtime_inlined_scope first = {
		.line = has_lines && start ? line_of(&lines, start) : 0};
	struct runtime_inlined_place place = {.scope = 1};
	vec_push(&made.scopes, first);
	vec_push(&made.places, place);
	if (has_lines)
		take_lines_of(&reading, shared, &lines, &made);
	vec_deinit(&lines.ends);
	runtime_inlined_put(ret, &made);
	return true;
}

void node_function_put_texts(struct str *name, struct str *file)
{
	static const char file_url[] = "file://", anonymous[] = "(anonymous)";
	if (!name->len)
		str_write(name, anonymous, sizeof(anonymous) - 1);
	if (file->len < sizeof(file_url) ||
		memcmp(str_text(file), file_url, sizeof(file_url) - 1) != 0)
		return;
	CLEANUP(str_deinit) struct str path = {0};
	str_write(&path, str_text(file) + sizeof(file_url) - 1, file->len - (sizeof(file_url) - 1));
	str_truncate(file, 0);
	str_write(file, str_text(&path), path.len);
}

bool node_function_next_line(const struct runtime_lines *lines, struct runtime_line_entry *entry)
{
	(void)lines, (void)entry;
	return false;
}
