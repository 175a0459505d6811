/*
 * Sources: src/objects/{code,deoptimization-data}.h, src/codegen/source-position.h of
 * V8 10.2, 11.3, 12.4, 13.6, 14.6.
 */
#include "record/runtime/node/node_code.h"

#include <stdlib.h>
#include <string.h>

#include "bpf/runtime/node/node_row.h"
#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/base/str.h"
#include "format/base/vec.h"
#include "format/file/layout.h"
#include "record/runtime/node/node_bytecodes.h"
#include "record/runtime/node/node_function.h"
#include "record/runtime/node/node_lines.h"
#include "record/runtime/node/node_object.h"
#include "record/runtime/node/node_translation.h"
#include "record/runtime/node/node_wasm.h"
#include "record/runtime/runtime_inlined.h"
#include "record/runtime/runtime_memory.h"

enum {
	SCRIPT_NAME = 16,

	VERSION_WITH_ANOTHER_DATA = 13, /* for deoptimization */
	LAST_WITH_ALL_POSITIONS = 13,   /* later, calls of inlined functions have none */
	MAX_TABLE_BYTES = 1 << 18,
	INLINED_BYTES = 16, /* a position, and which function */
	MAX_INLINED_DEPTH = 64,
	POSITION_FUNCTION = 31, /* bit of a position: which of the inlined, plus 1 */
	POSITION_CHARACTER = 1, /* ... the character, plus 1 */
	MAX_DEOPTS = 1 << 14,
	DEOPT_WORDS = 3,       /* of each place where code can be given up */
	DEOPT_TRANSLATION = 1, /* word of it */
	FIRST_DEOPT = 12,      /* word of the data */
	EVERYWHERE = INT32_MAX,
};

/* A function that is read, or of which others are read that are inlined in it. */
struct reading_code {
	struct node_reader of;
	struct runtime_inlined made;
	struct strtab texts; /* names and files */
	VEC(struct known_function {
		uint64_t shared;
		const struct node_lines *lines; /* of its script */
		uint32_t start_line;
		bool has_bytecode_lines; /* they were read */
		struct node_bytecode_lines bytecode_lines;
	}) functions; /* by index in what is made */
	struct map scope_of_position;
	struct map scope_of_translation; /* by its number */
};

static void reading_code_deinit(struct reading_code *reading)
{
	vec_each(&reading->functions, function)
		vec_deinit(&function->bytecode_lines.all);
	vec_deinit(&reading->functions);
	map_deinit(&reading->scope_of_position);
	map_deinit(&reading->scope_of_translation);
	runtime_inlined_deinit(&reading->made);
	strtab_deinit(&reading->texts);
}

/* ---- functions ---- */

static const char *keep_function_text(struct reading_code *reading, const struct str *text)
{
	return strtab_get(
		&reading->texts, strtab_intern(&reading->texts, str_text(text), text->len));
}

static const struct node_lines no_lines;

/* The index of a function; negative: it cannot be read. */
static int take_inlined_function(struct reading_code *reading, uint64_t shared)
{
	for (size_t i = 0; i < reading->functions.len; i++)
		if (reading->functions.data[i].shared == shared)
			return (int)i;
	const struct node_reader *of = &reading->of;
	CLEANUP(str_deinit) struct str name = {0};
	CLEANUP(str_deinit) struct str file = {0};
	struct known_function known = {.shared = shared};
	uint64_t script = 0, url = 0;
	uint32_t start = node_no_position;
	if (node_object_type(of, shared) != of->row->shared_type ||
		!node_function_read_name(of, shared, &name, &start))
		return -1;
	bool has_script = node_object_read(of, shared, of->row->shared_script, &script) &&
			  node_object_type(of, script) == of->row->script_type;
	if (has_script && node_object_read(of, script, SCRIPT_NAME, &url) &&
		!node_object_put_string(of, url, RUNTIME_MAX_FILE_BYTES, &file))
		str_truncate(&file, 0);
	known.lines = has_script ? node_lines_of_script(of, script) : &no_lines;
	known.start_line = start == node_no_position ? 0 : node_lines_find(known.lines, start);
	if (!name.len && known.start_line)
		str_printf(&name, LAYOUT_NAMELESS_AT_LINE, known.start_line);
	struct runtime_inlined_function function = {.name = keep_function_text(reading, &name),
		.file = keep_function_text(reading, &file),
		.name_len = name.len,
		.file_len = file.len};
	vec_push(&reading->made.functions, function);
	vec_push(&reading->functions, known);
	return (int)reading->functions.len - 1;
}

/* The line of a bytecode; where V8 has no positions, that where the function begins. */
static uint32_t line_of_bytecode(struct reading_code *reading, int function, uint32_t bytecode)
{
	struct known_function *known = &reading->functions.data[function];
	if (!known->has_bytecode_lines) {
		uint64_t bytecodes = node_lines_bytecodes(&reading->of, known->shared);
		known->has_bytecode_lines = true;
		node_bytecode_lines_read(&reading->of, bytecodes,
			reading->functions.data[function].lines, &known->bytecode_lines);
	}
	uint32_t line = node_bytecode_lines_find(&known->bytecode_lines, bytecode);
	return line ? line : known->start_line;
}

static uint32_t add_scope(
	struct reading_code *reading, int function, uint32_t line, uint32_t caller)
{
	struct runtime_inlined_scope scope = {
		.function = (uint32_t)function, .line = line, .caller = caller};
	vec_push(&reading->made.scopes, scope);
	return (uint32_t)reading->made.scopes.len;
}

static void add_place(struct runtime_inlined *made, uint32_t offset, uint32_t scope)
{
	struct runtime_inlined_place place = {.offset = offset, .scope = scope};
	vec_push(&made->places, place);
}

static void add_leaf_place(struct runtime_inlined *made, uint32_t offset, uint32_t scope)
{
	struct runtime_inlined_place place = {.offset = offset, .scope = scope};
	vec_push(&made->leaf_places, place);
}

/* ---- bytecodes ---- */

/* Lines of the one function, up to where that is another one. */
static void take_bytecodes(struct reading_code *reading)
{
	uint32_t line = line_of_bytecode(reading, 0, 0);
	uint32_t scope = add_scope(reading, 0, line, RUNTIME_INLINED_NONE);
	reading->made.has_ranges = true;
	vec_each(&reading->functions.data[0].bytecode_lines.all, next) {
		if (!next->bytecode || next->line == line || !next->line)
			continue;
		line = next->line;
		add_place(&reading->made, next->bytecode - 1, scope);
		scope = add_scope(reading, 0, line, RUNTIME_INLINED_NONE);
	}
	add_place(&reading->made, EVERYWHERE, scope);
}

/* ---- baseline code ---- */

static void take_baseline_places(struct reading_code *reading, struct node_baseline_places *places)
{
	uint32_t line = reading->functions.data[0].start_line;
	uint32_t scope = add_scope(reading, 0, line, RUNTIME_INLINED_NONE);
	reading->made.has_ranges = reading->made.knows_leaves = true;
	while (node_baseline_places_next(places)) {
		uint32_t here = line_of_bytecode(reading, 0, places->bytecode);
		if (here == line)
			continue;
		if (places->start)
			add_place(&reading->made, places->start - 1, scope);
		scope = add_scope(reading, 0, here, RUNTIME_INLINED_NONE);
		line = here;
	}
	add_place(&reading->made, EVERYWHERE, scope);
}

static bool take_code_of_baseline(struct reading_code *reading, const struct node_code *code)
{
	const struct node_reader *of = &reading->of;
	uint64_t bytecodes = node_lines_bytecodes(of, code->function.shared);
	uint64_t nr_bytes = 0, table_len = 0;
	CLEANUP_FREE uint8_t *table = NULL;
	if (!bytecodes || !node_object_read(of, bytecodes, NODE_ARRAY_LENGTH, &nr_bytes) ||
		(nr_bytes >>= NODE_SMI_SHIFT) > MAX_TABLE_BYTES ||
		!node_object_read_bytes(of, code->positions, MAX_TABLE_BYTES, &table, &table_len))
		return false;
	CLEANUP_FREE uint8_t *bytes = mem_alloc(nr_bytes + 1);
	struct node_baseline_places places;
	if (!runtime_read_process(
		    of->pid, bytecodes - 1 + of->row->bytecode_data, bytes, nr_bytes) ||
		!node_baseline_places_init(&places, of->row->version, of->row->minor_version, bytes,
			nr_bytes, table, table_len))
		return false;
	take_baseline_places(reading, &places);
	return true;
}

/* ---- optimized code ---- */

/* What the code keeps of its inlined functions. */
struct optimized {
	uint64_t literals;
	uint8_t *inlined; /* INLINED_BYTES each */
	uint32_t nr_inlined;
};

static bool read_optimized(const struct node_reader *of, uint64_t data, struct optimized *ret)
{
	bool is_later = of->row->version >= VERSION_WITH_ANOTHER_DATA;
	uint64_t literals_at = NODE_ARRAY_DATA + 8 * (is_later ? 3 : 2);
	uint64_t inlined_at = NODE_ARRAY_DATA + 8 * (is_later ? 8 : 7);
	uint64_t inlined, len = 0;
	if (node_object_type(of, data) < 0 ||
		!node_object_read(of, data, literals_at, &ret->literals) ||
		!node_object_read(of, data, inlined_at, &inlined))
		return false;
	if (!node_object_read_bytes(of, inlined, MAX_TABLE_BYTES, &ret->inlined, &len))
		len = 0;
	ret->nr_inlined = (uint32_t)(len / INLINED_BYTES);
	return true;
}

/* The index of a function among the code's literals; negative: it cannot be read. */
static int take_literal(
	struct reading_code *reading, const struct optimized *optimized, uint32_t at)
{
	uint64_t shared;
	return node_object_read(
		       &reading->of, optimized->literals, NODE_ARRAY_DATA + 8ULL * at, &shared)
		       ? take_inlined_function(reading, (shared & ~3ULL) | 1) /* it may be weak */
		       : -1;
}

/* The number of the scope of a position in the code's functions; NONE: it cannot be read. */
static uint32_t take_position(struct reading_code *reading, const struct optimized *optimized,
	uint64_t position, int depth)
{
	const uint64_t *known = map_get(&reading->scope_of_position, position);
	if (known)
		return (uint32_t)*known;
	uint32_t inlined = (uint32_t)(position >> POSITION_FUNCTION & 0xffff);
	uint32_t character = (uint32_t)(position >> POSITION_CHARACTER & 0x3fffffff);
	uint32_t caller = RUNTIME_INLINED_NONE, number = RUNTIME_INLINED_NONE;
	int function = 0;
	if (inlined && (inlined > optimized->nr_inlined || depth == MAX_INLINED_DEPTH))
		return RUNTIME_INLINED_NONE;
	if (inlined) {
		uint64_t outer;
		int32_t literal;
		const uint8_t *entry = optimized->inlined + (size_t)(inlined - 1) * INLINED_BYTES;
		memcpy(&outer, entry, sizeof(outer));
		memcpy(&literal, entry + sizeof(outer), sizeof(literal));
		caller = take_position(reading, optimized, outer, depth + 1);
		if (literal >= 0)
			function = take_literal(reading, optimized, (uint32_t)literal);
	}
	if (function >= 0 && (!inlined || caller != RUNTIME_INLINED_NONE)) {
		const struct node_lines *lines = reading->functions.data[function].lines;
		uint32_t line = character ? node_lines_find(lines, character - 1) : 0;
		number = add_scope(reading, function, line, caller);
	}
	*map_put(&reading->scope_of_position, position, NULL) = number;
	return number;
}

/*
 * Pairs of (place in the code, position), each counted on from the one before. `add` gets the last
 * place of each scope.
 */
static bool take_code_positions(struct reading_code *reading, const struct optimized *optimized,
	const struct node_code *code,
	void (*add)(struct runtime_inlined *made, uint32_t offset, uint32_t scope))
{
	CLEANUP_FREE uint8_t *bytes = NULL;
	uint64_t len;
	if (!node_object_read_bytes(&reading->of, code->positions, MAX_TABLE_BYTES, &bytes, &len))
		return false;
	struct bytes_cursor cursor = bytes_cursor(bytes, len);
	int64_t place = -1, position = 0;
	uint32_t scope = RUNTIME_INLINED_NONE;
	while (bytes_left(&cursor)) {
		int64_t before = place;
		node_lines_next_position(reading->of.row, &cursor, &place, &position);
		if (cursor.overrun || place < before || place > EVERYWHERE)
			break;
		if (place > before && place > 0)
			add(&reading->made, (uint32_t)(place - 1), scope);
		scope = take_position(reading, optimized, (uint64_t)position, 0);
	}
	add(&reading->made, EVERYWHERE, scope);
	return true;
}

/* ---- optimized code, by its translations ---- */

struct translations {
	uint8_t *bytes;
	uint64_t len;
	uint64_t *deopts; /* DEOPT_WORDS each */
	uint32_t nr_deopts;
};

static bool read_translations(const struct node_reader *of, uint64_t data, struct translations *ret)
{
	uint64_t array, len;
	if (!node_object_read(of, data, NODE_ARRAY_DATA, &array) ||
		!node_object_read_bytes(of, array, MAX_TABLE_BYTES, &ret->bytes, &ret->len) ||
		!node_object_read(of, data, NODE_ARRAY_LENGTH, &len))
		return false;
	len >>= NODE_SMI_SHIFT;
	if (len < FIRST_DEOPT || (len - FIRST_DEOPT) / DEOPT_WORDS > MAX_DEOPTS)
		return false;
	ret->nr_deopts = (uint32_t)(len - FIRST_DEOPT) / DEOPT_WORDS;
	size_t bytes = (size_t)ret->nr_deopts * DEOPT_WORDS * sizeof(*ret->deopts);
	ret->deopts = mem_alloc(bytes + 1);
	return runtime_read_process(
		of->pid, data - 1 + NODE_ARRAY_DATA + 8 * FIRST_DEOPT, ret->deopts, bytes);
}

/* The number of the scope of the innermost frame of a translation; NONE: it cannot be read. */
static uint32_t take_translation(struct reading_code *reading, const struct optimized *optimized,
	const struct translations *translations, uint32_t number)
{
	struct node_translated_frame frames[MAX_INLINED_DEPTH];
	if (number >= translations->nr_deopts)
		return RUNTIME_INLINED_NONE;
	uint64_t at = translations->deopts[(size_t)number * DEOPT_WORDS + DEOPT_TRANSLATION] >>
		      NODE_SMI_SHIFT;
	bool is_new;
	uint64_t *known = map_put(&reading->scope_of_translation, at, &is_new);
	if (!is_new)
		return (uint32_t)*known;
	size_t count = node_translation_frames(
		translations->bytes, translations->len, at, frames, MAX_INLINED_DEPTH);
	uint32_t scope = RUNTIME_INLINED_NONE;
	for (size_t i = 0; i < count && i < MAX_INLINED_DEPTH; i++) {
		int function = take_literal(reading, optimized, frames[i].literal);
		if (function < 0)
			return RUNTIME_INLINED_NONE;
		uint32_t line = line_of_bytecode(reading, function, frames[i].bytecode);
		scope = add_scope(reading, function, line, scope);
	}
	if (count > MAX_INLINED_DEPTH)
		scope = RUNTIME_INLINED_NONE;
	*map_put(&reading->scope_of_translation, at, NULL) = scope;
	return scope;
}

static int compare_places(const void *a, const void *b)
{
	const struct runtime_inlined_place *x = a, *y = b;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Where a call returns to, it is the byte before that is looked for. */
static void take_safepoints(struct reading_code *reading, const struct optimized *optimized,
	const struct translations *translations, struct node_safepoints *safepoints)
{
	struct node_safepoint safepoint;
	struct runtime_inlined *made = &reading->made;
	while (node_safepoints_next(safepoints, &safepoint)) {
		if (safepoint.translation < 0 || !safepoint.pc)
			continue;
		uint32_t scope = take_translation(
			reading, optimized, translations, (uint32_t)safepoint.translation);
		if (scope == RUNTIME_INLINED_NONE)
			continue;
		add_place(made, safepoint.pc - 1, scope);
		if (safepoint.trampoline)
			add_place(made, safepoint.trampoline - 1, scope);
	}
	qsort(made->places.data, made->places.len, sizeof(*made->places.data), compare_places);
}

static bool take_translations(struct reading_code *reading, const struct optimized *optimized,
	const struct node_code *code)
{
	enum {
		MAX_SAFEPOINT_BYTES = 1 << 17,
		PIECE = 1 << 12,
	};
	CLEANUP_FREE uint8_t *bytes = mem_alloc(MAX_SAFEPOINT_BYTES);
	struct translations translations = {0};
	struct node_safepoints safepoints;
	size_t len = 0;
	/* How long the table is, it says itself; what follows it may end anywhere. */
	for (; len < MAX_SAFEPOINT_BYTES; len += PIECE)
		if (!runtime_read_process(
			    reading->of.pid, code->start + code->size + len, bytes + len, PIECE))
			break;
	bool is_maglev = code->is_maglev;
	bool is_read = read_translations(&reading->of, code->deopt_data, &translations) &&
		       node_safepoints_init(&safepoints, bytes, len, is_maglev);
	if (is_read)
		take_safepoints(reading, optimized, &translations, &safepoints);
	mem_free(translations.bytes);
	mem_free(translations.deopts);
	return is_read && reading->made.places.len;
}

/* Where calls return to is in translations, where code may be interrupted in positions alone. */
static bool take_calls_and_leaves(struct reading_code *reading, const struct optimized *optimized,
	const struct node_code *code)
{
	bool has_calls = take_translations(reading, optimized, code);
	return take_code_positions(reading, optimized, code, add_leaf_place) || has_calls;
}

static bool take_optimized(struct reading_code *reading, const struct node_code *code)
{
	struct optimized optimized = {0};
	bool is_read = read_optimized(&reading->of, code->deopt_data, &optimized);
	if (is_read && reading->of.row->version > LAST_WITH_ALL_POSITIONS) {
		is_read = take_calls_and_leaves(reading, &optimized, code);
	} else if (is_read) {
		reading->made.has_ranges = true;
		is_read = take_code_positions(reading, &optimized, code, add_place);
	}
	mem_free(optimized.inlined);
	return is_read;
}

/* ---- reading ---- */

/* What a worker keeps from one request to the next. */
struct kept {
	struct node_scripts *scripts;
	struct node_wasm *wasm;
};

static struct kept *get_kept(void **kept)
{
	if (!*kept) {
		struct kept *made = mem_alloc(sizeof(*made));
		*made = (struct kept){node_scripts_create(), node_wasm_create()};
		*kept = made;
	}
	return *kept;
}

void node_code_destroy_kept(void *kept)
{
	struct kept *of_worker = kept;
	if (!of_worker)
		return;
	node_scripts_destroy(of_worker->scripts);
	node_wasm_destroy(of_worker->wasm);
	mem_free(of_worker);
}

/* One function everywhere in its code. */
static bool take_wasm(
	struct reading_code *reading, struct node_wasm *wasm, const struct node_code *code)
{
	static const char file[] = "WebAssembly";
	CLEANUP(str_deinit) struct str name = {0};
	if (!node_wasm_read_name(wasm, reading->of.pid, code, &name))
		return false;
	struct runtime_inlined_function function = {.name = keep_function_text(reading, &name),
		.file = file,
		.name_len = name.len,
		.file_len = sizeof(file) - 1};
	vec_push(&reading->made.functions, function);
	reading->made.has_ranges = reading->made.knows_leaves = true;
	add_place(&reading->made, EVERYWHERE, add_scope(reading, 0, 0, RUNTIME_INLINED_NONE));
	return true;
}

static bool take_javascript(struct reading_code *reading, const struct node_code *code)
{
	if (!node_function_is_there(&reading->of, &code->function) ||
		take_inlined_function(reading, code->function.shared) < 0)
		return false;
	bool is_read = true;
	if (code->kind == NODE_CODE_OPTIMIZED)
		is_read = take_optimized(reading, code);
	else if (code->kind == NODE_CODE_BASELINE)
		is_read = take_code_of_baseline(reading, code);
	else
		take_bytecodes(reading);
	/* Without it its places are no bytecodes, whose lines are known. What was read meanwhile is
	 * right if the function has not moved. */
	return is_read && node_function_is_there(&reading->of, &code->function);
}

bool node_code_lacks_name(const void *given, size_t len)
{
	struct node_code code;
	if (len != sizeof(code))
		return false;
	memcpy(&code, given, sizeof(code));
	return code.kind == NODE_CODE_WASM;
}

bool node_code_read(void **kept, uint32_t pid, const void *given, size_t len, struct bytes_buf *ret)
{
	struct node_code code;
	if (len != sizeof(code))
		return false;
	memcpy(&code, given, sizeof(code));
	struct kept *of_worker = get_kept(kept);
	node_scripts_trim(of_worker->scripts);
	CLEANUP(reading_code_deinit)
	struct reading_code reading = {
		.of = {.pid = pid, .row = &code.function.row, .scripts = of_worker->scripts}};
	bool is_read = code.kind == NODE_CODE_WASM ? take_wasm(&reading, of_worker->wasm, &code)
						   : take_javascript(&reading, &code);
	if (is_read)
		runtime_inlined_put(ret, &reading.made);
	return is_read;
}
