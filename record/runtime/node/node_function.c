/*
 * Sources: src/codegen/source-position-table.cc, src/objects/{string,script,scope-info}.tq of V8
 * 10.2, 11.3, 12.4, 13.6, 14.6.
 */
#include "record/runtime/node/node_function.h"

#include <string.h>

#include "bpf/runtime/node/node_row.h"
#include "format/base/map.h"
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

	SCOPE_WORDS = 6, /* that are looked at behind its locals */
	SCOPE_FIRST_WITH_POSITIONS = 5,
	SCOPE_INLINED_LOCALS = 75, /* more have their names in a table */

	LAST_WITH_ALL_POSITIONS = 13, /* of V8 */
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
static int node_type_at(const struct reading_function *reading, uint64_t pointer)
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
	int type = node_type_at(reading, pointer);
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
 * assigned to, if that is known. Where it begins and ends in the script are two numbers behind
 * these, or, in later versions, ahead of the locals.
 */
static bool read_scope(
	const struct reading_function *reading, uint64_t scope, struct str *name, uint32_t *start)
{
	const struct node_row *row = reading->row;
	uint64_t locals, position, words[SCOPE_WORDS];
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
	if (row->scope_first == SCOPE_FIRST_WITH_POSITIONS &&
		read_at(reading, scope, 8 + 8 * (SCOPE_FIRST_WITH_POSITIONS - 2), &position))
		*start = (uint32_t)(position >> SMI_SHIFT);
	for (int i = 0; i + 1 < SCOPE_WORDS; i++) {
		bool is_number = !(uint32_t)words[i], is_next_number = !(uint32_t)words[i + 1];
		if (is_number && is_next_number) { /* behind a name's own number, or at once */
			bool is_names = i + 2 < SCOPE_WORDS && !(uint32_t)words[i + 2];
			if (!*start)
				*start = (uint32_t)(words[i + is_names] >> SMI_SHIFT);
			return true;
		}
		if (is_number)
			continue;
		if (!is_string(node_type_at(reading, words[i])))
			return true; /* another scope, or what a module imports */
		if (!name->len && !put_string(reading, words[i], 0, MAX_NAME_CHARACTERS, 0, name))
			return false;
	}
	return true;
}

/* The name, and where the function begins in its script; 0: not known. */
static bool read_function_name(
	const struct reading_function *reading, uint64_t shared, struct str *name, uint32_t *start)
{
	uint64_t word;
	*start = 0;
	if (!read_at(reading, shared, reading->row->shared_name, &word))
		return false;
	int type = node_type_at(reading, word);
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
	if (node_type_at(reading, array) < 0 || !read_at(reading, array, ARRAY_LENGTH, &length))
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

static int64_t get_position_delta(struct bytes_cursor *cursor)
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
		if (node_type_at(reading, data) == reading->row->bytecode_array_type)
			return data;
		/* Of compiled code it is the first or the second word, by the version. */
		uint64_t first, second;
		if (!read_at(reading, data, 8, &first) || !read_at(reading, data, 16, &second))
			return 0;
		data = node_type_at(reading, first) == reading->row->bytecode_array_type ? first
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
		int64_t delta = bytes_left(&cursor) ? get_position_delta(&cursor) : 0;
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
		position += get_position_delta(&cursor);
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
		node_type_at(reading, positions) < 0 ||
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

/* ---- functions ---- */

/* A function that is read, or of which others are read that are inlined in it. */
struct reading_code {
	struct reading_function of;
	struct runtime_inlined made;
	struct strtab texts; /* names and files */
	VEC(struct known_function {
		uint64_t shared;
		uint32_t lines; /* index of those of its script */
		uint32_t start;
	}) functions; /* by index in what is made */
	VEC(struct known_lines {
		uint64_t script;
		struct line_ends ends;
	}) lines;
	struct map scope_of; /* position -> scope */
};

static void reading_code_deinit(struct reading_code *reading)
{
	vec_each(&reading->lines, lines)
		vec_deinit(&lines->ends.ends);
	vec_deinit(&reading->lines);
	vec_deinit(&reading->functions);
	map_deinit(&reading->scope_of);
	runtime_inlined_deinit(&reading->made);
	strtab_deinit(&reading->texts);
}

/* The index of the lines of a script; none where they cannot be read. */
static uint32_t take_script_lines(struct reading_code *reading, uint64_t script, bool has_script)
{
	for (uint32_t i = 0; i < reading->lines.len; i++)
		if (reading->lines.data[i].script == script)
			return i;
	struct known_lines lines = {.script = script};
	if (has_script && !read_lines(&reading->of, script, &lines.ends))
		lines.ends.ends.len = 0;
	vec_push(&reading->lines, lines);
	return (uint32_t)reading->lines.len - 1;
}

static const char *keep_function_text(struct reading_code *reading, const struct str *text)
{
	return strtab_get(
		&reading->texts, strtab_intern(&reading->texts, str_text(text), text->len));
}

/* The index of a function; negative: it cannot be read. */
static int take_inlined_function(struct reading_code *reading, uint64_t shared)
{
	for (size_t i = 0; i < reading->functions.len; i++)
		if (reading->functions.data[i].shared == shared)
			return (int)i;
	const struct reading_function *of = &reading->of;
	CLEANUP(str_deinit) struct str name = {0};
	CLEANUP(str_deinit) struct str file = {0};
	struct known_function known = {.shared = shared};
	uint64_t script = 0, url = 0;
	if (node_type_at(of, shared) != of->row->shared_type ||
		!read_function_name(of, shared, &name, &known.start))
		return -1;
	bool has_script = read_at(of, shared, of->row->shared_script, &script) &&
			  node_type_at(of, script) == of->row->script_type;
	if (has_script && read_at(of, script, SCRIPT_NAME, &url) &&
		!put_string(of, url, 0, RUNTIME_MAX_FILE_BYTES, 0, &file))
		str_truncate(&file, 0);
	known.lines = take_script_lines(reading, script, has_script);
	struct runtime_inlined_function function = {.name = keep_function_text(reading, &name),
		.file = keep_function_text(reading, &file),
		.name_len = name.len,
		.file_len = file.len};
	vec_push(&reading->made.functions, function);
	vec_push(&reading->functions, known);
	return (int)reading->functions.len - 1;
}

static const struct line_ends *lines_of_function(const struct reading_code *reading, int function)
{
	return &reading->lines.data[reading->functions.data[function].lines].ends;
}

/* Bytecodes of the one function; where no bytecode is known, the line is where it begins. */
static void take_bytecodes(struct reading_code *reading)
{
	const struct known_function *known = &reading->functions.data[0];
	const struct line_ends *lines = lines_of_function(reading, 0);
	struct runtime_inlined_scope first = {
		.line = known->start ? line_of(lines, known->start) : 0};
	struct runtime_inlined_place place = {.scope = 1};
	vec_push(&reading->made.scopes, first);
	vec_push(&reading->made.places, place);
	if (lines->ends.len)
		take_lines_of(&reading->of, known->shared, lines, &reading->made);
}

/* ---- optimized code ---- */

enum {
	VERSION_WITH_ANOTHER_DATA = 13,
	MAX_INLINED_BYTES = 1 << 18,
	INLINED_BYTES = 16, /* a position, and which function */
	MAX_INLINED_DEPTH = 64,
	POSITION_FUNCTION = 31, /* bit of a position: which of the inlined, plus 1 */
	POSITION_CHARACTER = 1, /* ... the character, plus 1 */
};

/* What the code keeps of its inlined functions. */
struct optimized {
	uint64_t literals;
	uint8_t *inlined; /* INLINED_BYTES each */
	uint32_t nr_inlined;
};

/* An array of bytes; the caller's. */
static bool read_byte_array(const struct reading_function *reading, uint64_t array, uint64_t max,
	uint8_t **bytes, uint64_t *len)
{
	if (node_type_at(reading, array) < 0 || !read_at(reading, array, ARRAY_LENGTH, len))
		return false;
	*len >>= SMI_SHIFT;
	if (*len > max)
		return false;
	*bytes = mem_alloc(*len + 1);
	return runtime_read_process(reading->pid, array - 1 + ARRAY_DATA, *bytes, *len);
}

static bool read_optimized(
	const struct reading_function *reading, uint64_t data, struct optimized *ret)
{
	bool is_later = reading->row->version >= VERSION_WITH_ANOTHER_DATA;
	uint64_t literals_at = ARRAY_DATA + 8 * (is_later ? 3 : 2);
	uint64_t inlined_at = ARRAY_DATA + 8 * (is_later ? 8 : 7);
	uint64_t inlined, len = 0;
	if (node_type_at(reading, data) < 0 ||
		!read_at(reading, data, literals_at, &ret->literals) ||
		!read_at(reading, data, inlined_at, &inlined))
		return false;
	if (!read_byte_array(reading, inlined, MAX_INLINED_BYTES, &ret->inlined, &len))
		len = 0;
	ret->nr_inlined = (uint32_t)(len / INLINED_BYTES);
	return true;
}

/* The number of the scope of a position in the code's functions; NONE: it cannot be read. */
static uint32_t take_position(struct reading_code *reading, const struct optimized *optimized,
	uint64_t position, int depth)
{
	const uint64_t *known = map_get(&reading->scope_of, position);
	if (known)
		return (uint32_t)*known;
	uint32_t inlined = (uint32_t)(position >> POSITION_FUNCTION & 0xffff);
	uint32_t character = (uint32_t)(position >> POSITION_CHARACTER & 0x3fffffff);
	uint32_t caller = RUNTIME_INLINED_NONE, number = RUNTIME_INLINED_NONE;
	int function = 0;
	if (inlined && (inlined > optimized->nr_inlined || depth == MAX_INLINED_DEPTH))
		return RUNTIME_INLINED_NONE;
	if (inlined) {
		uint64_t outer, shared;
		int32_t literal;
		const uint8_t *entry = optimized->inlined + (size_t)(inlined - 1) * INLINED_BYTES;
		memcpy(&outer, entry, sizeof(outer));
		memcpy(&literal, entry + sizeof(outer), sizeof(literal));
		caller = take_position(reading, optimized, outer, depth + 1);
		if (literal >= 0)
			function = read_at(&reading->of, optimized->literals,
					   ARRAY_DATA + 8ULL * (uint32_t)literal, &shared)
					   ? take_inlined_function(reading, (shared & ~3ULL) | 1)
					   : -1;
	}
	if (function >= 0 && (!inlined || caller != RUNTIME_INLINED_NONE)) {
		struct runtime_inlined_scope scope = {
			.function = (uint32_t)function, .caller = caller};
		const struct line_ends *lines = lines_of_function(reading, function);
		scope.line = character ? line_of(lines, character - 1) : 0;
		vec_push(&reading->made.scopes, scope);
		number = (uint32_t)reading->made.scopes.len;
	}
	*map_put(&reading->scope_of, position, NULL) = number;
	return number;
}

/* Pairs of (place in the code, position), each counted on from the one before. */
static void take_code_positions(struct reading_code *reading, const struct optimized *optimized,
	const uint8_t *bytes, uint64_t len)
{
	struct bytes_cursor cursor = bytes_cursor(bytes, len);
	int64_t place = -1, position = 0;
	uint32_t scope = RUNTIME_INLINED_NONE;
	reading->made.has_ranges = true;
	while (bytes_left(&cursor)) {
		int64_t delta = get_position_delta(&cursor);
		int64_t next = place + (delta >= 0 ? delta : -(delta + 1));
		position += get_position_delta(&cursor);
		if (cursor.overrun || next < place || next > UINT32_MAX / 2)
			break;
		struct runtime_inlined_place range = {
			.offset = (uint32_t)(next - 1), .scope = scope};
		if (next > place && next > 0)
			vec_push(&reading->made.places, range);
		scope = take_position(reading, optimized, (uint64_t)position, 0);
		place = next;
	}
	struct runtime_inlined_place last = {.offset = UINT32_MAX / 2, .scope = scope};
	vec_push(&reading->made.places, last);
}

static bool take_optimized(struct reading_code *reading, const struct node_code *code)
{
	struct optimized optimized = {0};
	CLEANUP_FREE uint8_t *bytes = NULL;
	uint64_t len;
	bool is_read =
		read_optimized(&reading->of, code->deopt_data, &optimized) &&
		read_byte_array(&reading->of, code->positions, MAX_POSITIONS_BYTES, &bytes, &len);
	if (is_read)
		take_code_positions(reading, &optimized, bytes, len);
	mem_free(optimized.inlined);
	return is_read;
}

/* ---- reading ---- */

/* Whether the function is still there: it may have moved, and another one be in its place. */
static bool is_the_function(
	const struct reading_function *reading, const struct node_function *function)
{
	uint64_t flags, script, id;
	if (node_type_at(reading, function->shared) != reading->row->shared_type ||
		!read_at(reading, function->shared, reading->row->shared_flags, &flags) ||
		flags >> 32 != function->literal_id)
		return false;
	if (!function->script_id)
		return true;
	return read_at(reading, function->shared, reading->row->shared_script, &script) &&
	       node_type_at(reading, script) == reading->row->script_type &&
	       read_at(reading, script, SCRIPT_ID, &id) && id >> SMI_SHIFT == function->script_id;
}

bool node_function_read(uint32_t pid, const void *given, size_t len, struct bytes_buf *ret)
{
	struct node_code code;
	if (len != sizeof(code))
		return false;
	memcpy(&code, given, sizeof(code));
	CLEANUP(reading_code_deinit)
	struct reading_code reading = {.of = {.pid = pid, .row = &code.function.row}};
	if (!is_the_function(&reading.of, &code.function) ||
		take_inlined_function(&reading, code.function.shared) < 0)
		return false;
	/* Positions of later code lack calls of inlined functions: it would look called by others.
	 */
	bool is_optimized = code.deopt_data && code.function.row.version <= LAST_WITH_ALL_POSITIONS;
	if (!is_optimized || !take_optimized(&reading, &code))
		take_bytecodes(&reading);
	runtime_inlined_put(ret, &reading.made);
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
