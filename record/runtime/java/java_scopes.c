/*
 * Sources: src/java/share/code/{pcDesc,scopeDesc,debugInfo,compressedStream}.{hpp,cpp} of JDK
 * 11, 17, 21, 25.
 */
#include "record/runtime/java/java_scopes.h"

#include <string.h>

#include "bpf/runtime/java/java_row.h"
#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/base/str.h"
#include "record/runtime/java/java_lines.h"
#include "record/runtime/runtime_inlined.h"
#include "record/runtime/runtime_memory.h"

enum {
	PLACE_BYTES = 16, /* PcDesc: offset in the code, offset of the scope, two more */
	MAX_PLACES = 1 << 14,
	MAX_DATA_BYTES = 1 << 20,
	MAX_METHODS = 1 << 12,
	MAX_DEPTH = 256,
	METHOD_HEAD_BYTES = 64,
	MAX_SYMBOL_BYTES = 512,
	HAS_LINES = 1,  /* of a method's flags */
	NO_SCOPE = 0,   /* offset of one in the data */
	USED_BYTES = 8, /* ahead of a compiled method: whether it is one */
};

/* A method that code was made of. */
struct method {
	uint32_t function;               /* its index in what is made */
	struct runtime_lines lines;      /* .bytes are its own */
	struct runtime_line_marks marks; /* of them */
	uint16_t bytecodes;              /* bytes */
};

struct reading {
	uint32_t pid;
	const struct java_scopes *given;
	uint8_t *data; /* scopes */
	size_t data_len;
	struct map method_of; /* Method* -> index, plus 1 */
	VEC(struct method) methods;
	struct map scope_of; /* offset in the data -> number of its scope, plus 1 */
	struct strtab texts;
	struct runtime_inlined made;
};

/* ---- methods ---- */

static bool scopes_read_u64(const struct reading *reading, uint64_t address, uint64_t *ret)
{
	return runtime_read_process(reading->pid, address, ret, sizeof(*ret));
}

/* Appends a symbol's characters. */
static bool put_symbol(const struct reading *reading, uint64_t symbol, struct str *out)
{
	const struct java_scopes *given = reading->given;
	char bytes[MAX_SYMBOL_BYTES];
	uint32_t length;
	if (!runtime_read_process(
		    reading->pid, symbol + given->symbol_length, &length, sizeof(length)))
		return false;
	length = given->flags & JAVA_LENGTH_IS_UPPER_HALF ? length >> 16 : length & 0xffff;
	length = length < MAX_SYMBOL_BYTES ? length : MAX_SYMBOL_BYTES;
	if (!runtime_read_process(reading->pid, symbol + given->symbol_body, bytes, length))
		return false;
	str_write(out, bytes, length);
	return true;
}

/* ... of a symbol among a class's constants. */
static bool put_constant(
	const struct reading *reading, uint64_t constants, uint16_t index, struct str *out)
{
	uint64_t symbol;
	return scopes_read_u64(
		       reading, constants + reading->given->pool_bytes + 8ULL * index, &symbol) &&
	       put_symbol(reading, symbol & ~1ULL, out);
}

static uint16_t head_u16(const uint8_t head[METHOD_HEAD_BYTES], uint16_t offset)
{
	uint16_t value = 0;
	if (offset <= METHOD_HEAD_BYTES - sizeof(value))
		memcpy(&value, head + offset, sizeof(value));
	return value;
}

static bool read_texts(const struct reading *reading, const uint8_t head[METHOD_HEAD_BYTES],
	uint64_t constants, struct str *name, struct str *file)
{
	const struct java_scopes *given = reading->given;
	uint64_t holder, symbol;
	uint16_t source_file;
	if (!scopes_read_u64(reading, constants + given->pool_holder, &holder) ||
		!scopes_read_u64(reading, holder + given->class_name, &symbol) ||
		!put_symbol(reading, symbol, name))
		return false;
	str_write(name, ".", 1);
	if (!put_constant(reading, constants, head_u16(head, given->name_index), name))
		return false;
	if (given->signature_index != JAVA_NOT_FOUND &&
		!put_constant(reading, constants, head_u16(head, given->signature_index), name))
		return false;
	uint64_t file_holder = given->flags & JAVA_FILE_IS_OF_CLASS ? holder : constants;
	bool has_file = given->source_file_index != JAVA_NOT_FOUND &&
			runtime_read_process(reading->pid, file_holder + given->source_file_index,
				&source_file, sizeof(source_file)) &&
			source_file;
	if (has_file && !put_constant(reading, constants, source_file, file))
		str_truncate(file, 0);
	return true;
}

static const char *keep_text(struct reading *reading, const struct str *text)
{
	uint32_t id = strtab_intern(&reading->texts, str_text(text), text->len);
	return strtab_get(&reading->texts, id);
}

static void take_lines(struct reading *reading, struct method *method, uint64_t address)
{
	struct event_code event = {.pid = reading->pid, .version = reading->given->version};
	struct runtime_text_bytes text = {.data = NULL};
	event.address[RUNTIME_TEXT_LINES] = address;
	method->lines.version = event.version;
	if (!java_lines_read(&event, RUNTIME_TEXT_LINES, &text))
		return;
	method->lines.bytes = text.data;
	method->lines.len = text.len;
	runtime_line_marks_init(&method->marks, &method->lines, java_lines_next);
}

/* The index of a method, plus 1; 0: it cannot be read. */
static uint32_t read_method(struct reading *reading, uint64_t address)
{
	const struct java_scopes *given = reading->given;
	bool is_new;
	uint64_t *known = map_put(&reading->method_of, address, &is_new);
	if (!is_new)
		return (uint32_t)*known;
	*known = 0;
	uint64_t const_method, constants;
	uint8_t head[METHOD_HEAD_BYTES];
	CLEANUP(str_deinit) struct str name = {0};
	CLEANUP(str_deinit) struct str file = {0};
	if (reading->methods.len == MAX_METHODS ||
		!scopes_read_u64(reading, address + given->const_method, &const_method) ||
		!runtime_read_process(reading->pid, const_method, head, sizeof(head)) ||
		!scopes_read_u64(reading, const_method + given->constants, &constants) ||
		!read_texts(reading, head, constants, &name, &file))
		return 0;
	struct method method = {.function = (uint32_t)reading->made.functions.len,
		.bytecodes = head_u16(head, given->bytecode_bytes)};
	struct runtime_inlined_function function = {.name = keep_text(reading, &name),
		.file = keep_text(reading, &file),
		.name_len = name.len,
		.file_len = file.len};
	if (head_u16(head, given->method_flags) & HAS_LINES)
		take_lines(reading, &method,
			const_method + given->const_method_bytes + method.bytecodes);
	vec_push(&reading->made.functions, function);
	vec_push(&reading->methods, method);
	*known = reading->methods.len;
	return (uint32_t)*known;
}

/* ---- scopes ---- */

struct scope {
	uint32_t sender; /* offset of the scope that it is inlined in; NO_SCOPE: none */
	uint32_t method; /* number among the metadata, from 1 on */
	uint32_t bci;
};

static bool decode_scope(const struct reading *reading, uint32_t offset, struct scope *ret)
{
	if (offset >= reading->data_len)
		return false;
	uint8_t version = reading->given->version;
	struct bytes_cursor cursor =
		bytes_cursor(reading->data + offset, reading->data_len - offset);
	ret->sender = java_lines_number(&cursor, version);
	ret->method = java_lines_number(&cursor, version);
	ret->bci = java_lines_number(&cursor, version) - 1;
	return !cursor.overrun;
}

/* The number of a scope in what is made; senders come before. RUNTIME_INLINED_NONE: unreadable. */
static uint32_t take_scope(struct reading *reading, uint32_t offset, int depth)
{
	const uint64_t *known = map_get(&reading->scope_of, offset);
	struct scope scope;
	uint64_t address;
	if (known)
		return (uint32_t)*known;
	uint32_t number = RUNTIME_INLINED_NONE;
	if (depth < MAX_DEPTH && decode_scope(reading, offset, &scope) && scope.method &&
		scope.sender < offset &&
		scopes_read_u64(
			reading, reading->given->metadata + 8ULL * (scope.method - 1), &address)) {
		uint32_t caller = scope.sender == NO_SCOPE
					  ? RUNTIME_INLINED_NONE
					  : take_scope(reading, scope.sender, depth + 1);
		uint32_t index = read_method(reading, address);
		bool is_whole = index && (scope.sender == NO_SCOPE || caller);
		if (is_whole) {
			struct method *method = &reading->methods.data[index - 1];
			struct runtime_inlined_scope made = {
				.function = method->function, .caller = caller};
			if (method->lines.len)
				made.line = runtime_line_marks_find(&method->marks, &method->lines,
					java_lines_next,
					scope.bci < method->bytecodes ? scope.bci : 0);
			vec_push(&reading->made.scopes, made);
			number = (uint32_t)reading->made.scopes.len;
		}
	}
	*map_put(&reading->scope_of, offset, NULL) = number;
	return number;
}

static bool take_places(struct reading *reading)
{
	const struct java_scopes *given = reading->given;
	uint64_t count = (given->places_end - given->places) / PLACE_BYTES;
	if (given->places_end < given->places || count > MAX_PLACES)
		return false;
	CLEANUP_FREE uint8_t *bytes = mem_alloc(count * PLACE_BYTES + 1);
	if (!runtime_read_process(reading->pid, given->places, bytes, count * PLACE_BYTES))
		return false;
	uint32_t before = 0;
	for (uint64_t i = 0; i < count; i++) {
		int32_t words[2];
		memcpy(words, bytes + i * PLACE_BYTES, sizeof(words));
		if (words[0] < 0 || (uint32_t)words[0] < before || words[1] <= 0)
			continue; /* what marks the ends */
		before = (uint32_t)words[0];
		struct runtime_inlined_place place = {
			.offset = before, .scope = take_scope(reading, (uint32_t)words[1], 0)};
		vec_push(&reading->made.places, place);
	}
	return true;
}

/* Its length stands nowhere in all versions: up to what comes behind, or as far as it goes. */
static bool read_data(struct reading *reading)
{
	const struct java_scopes *given = reading->given;
	uint64_t len = given->data_end - given->data;
	if (given->data_end < given->data || len > MAX_DATA_BYTES)
		return false;
	reading->data = mem_alloc(len + 1);
	reading->data_len = len;
	return runtime_read_process(reading->pid, given->data, reading->data, len);
}

static void reading_deinit(struct reading *reading)
{
	vec_each(&reading->methods, method) {
		runtime_line_marks_deinit(&method->marks);
		mem_free((void *)(uintptr_t)method->lines.bytes);
	}
	vec_deinit(&reading->methods);
	map_deinit(&reading->method_of);
	map_deinit(&reading->scope_of);
	strtab_deinit(&reading->texts);
	runtime_inlined_deinit(&reading->made);
	mem_free(reading->data);
}

/*
 * Whether the compiled method is still the one that was sampled. Then it was while its scopes were
 * read, and so were its classes: it is freed before they are. Ahead of it stand, as of all that the
 * code cache has, its length and whether it is in use (HeapBlock of share/memory/heap.hpp, JDK 11
 * to 26); until JDK 19 one whose classes were unloaded has no method first
 * (nmethod::make_unloaded()).
 */
static bool is_same_compiled_method(const struct reading *reading)
{
	const struct java_scopes *given = reading->given;
	uint8_t is_used = 0;
	uint64_t method = 0;
	uint32_t number = 0;
	return runtime_read_process(reading->pid, given->at - USED_BYTES, &is_used, 1) && is_used &&
	       scopes_read_u64(reading, given->at + given->compiled_method, &method) &&
	       method == given->method &&
	       runtime_read_process(
		       reading->pid, given->at + given->compile_id, &number, sizeof(number)) &&
	       number == given->number;
}

bool java_scopes_read(uint32_t pid, const void *given, size_t len, struct bytes_buf *ret)
{
	struct java_scopes scopes;
	if (len != sizeof(scopes))
		return false;
	memcpy(&scopes, given, sizeof(scopes));
	CLEANUP(reading_deinit) struct reading reading = {.pid = pid, .given = &scopes};
	if (!read_data(&reading) || !take_places(&reading) || !is_same_compiled_method(&reading))
		return false;
	reading.made.knows_leaves = scopes.knows_leaves;
	runtime_inlined_put(ret, &reading.made);
	return true;
}
