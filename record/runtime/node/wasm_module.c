#include "record/runtime/node/wasm_module.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/bisect.h"

enum {
	SECTION_CUSTOM = 0,
	SECTION_IMPORT = 2,
	SECTION_FUNCTION = 3,
	SECTION_EXPORT = 7,
	LAST_SECTION = 13, /* tags */

	NAMES_OF_FUNCTIONS = 1,
	MAX_FUNCTIONS = 1 << 20, /* V8 takes a million */
};

bool wasm_section_head(const uint8_t *bytes, size_t len, enum wasm_section *section,
	size_t *head_len, uint64_t *body_len)
{
	static const char name[] = "name";
	struct bytes_cursor cursor = bytes_cursor(bytes, len);
	uint8_t id = bytes_get_u8(&cursor);
	*body_len = bytes_get_varint(&cursor);
	*head_len = bytes_offset(&cursor);
	*section = id == SECTION_IMPORT     ? WASM_SECTION_IMPORTS
		   : id == SECTION_FUNCTION ? WASM_SECTION_FUNCTIONS
		   : id == SECTION_EXPORT   ? WASM_SECTION_EXPORTS
					    : WASM_SECTION_OTHER;
	if (cursor.overrun || id > LAST_SECTION || *body_len > UINT32_MAX)
		return false;
	uint64_t name_len = id == SECTION_CUSTOM ? bytes_get_varint(&cursor) : 0;
	const uint8_t *text = name_len == sizeof(name) - 1 ? bytes_get(&cursor, name_len) : NULL;
	size_t with_name = bytes_offset(&cursor) - *head_len;
	if (text && memcmp(text, name, sizeof(name) - 1) == 0 && with_name <= *body_len) {
		*section = WASM_SECTION_NAMES;
		*body_len -= with_name;
		*head_len += with_name;
	}
	return true;
}

/* ---- imports ---- */

static void skip_text(struct bytes_cursor *cursor)
{
	size_t len;
	bytes_get_blob(cursor, &len);
}

static void skip_value_type(struct bytes_cursor *cursor)
{
	enum {
		REFERENCE_NULL = 0x63, /* to a type that follows */
		REFERENCE = 0x64,
	};
	uint8_t type = bytes_get_u8(cursor);
	if (type == REFERENCE_NULL || type == REFERENCE)
		bytes_get_varint(cursor);
}

static void skip_limits(struct bytes_cursor *cursor)
{
	enum {
		HAS_MAXIMUM = 1,
		HAS_PAGE_SIZE = 8,
	};
	uint8_t flags = bytes_get_u8(cursor);
	bytes_get_varint(cursor);
	if (flags & HAS_MAXIMUM)
		bytes_get_varint(cursor);
	if (flags & HAS_PAGE_SIZE)
		bytes_get_varint(cursor);
}

enum external_kind {
	EXTERNAL_FUNCTION,
	EXTERNAL_TABLE,
	EXTERNAL_MEMORY,
	EXTERNAL_GLOBAL,
	EXTERNAL_TAG,
};

static bool skip_import(struct bytes_cursor *cursor, enum external_kind kind)
{
	switch (kind) {
	case EXTERNAL_FUNCTION:
		bytes_get_varint(cursor);
		return true;
	case EXTERNAL_TABLE:
		skip_value_type(cursor);
		skip_limits(cursor);
		return true;
	case EXTERNAL_MEMORY:
		skip_limits(cursor);
		return true;
	case EXTERNAL_GLOBAL:
		skip_value_type(cursor);
		bytes_get_u8(cursor);
		return true;
	case EXTERNAL_TAG:
		bytes_get_u8(cursor);
		bytes_get_varint(cursor);
		return true;
	default:
		return false;
	}
}

static bool count_imports(const struct bytes_buf *section, uint32_t *ret)
{
	struct bytes_cursor cursor = bytes_cursor(section->data, section->len);
	uint64_t count = section->len ? bytes_get_varint(&cursor) : 0;
	*ret = 0;
	for (uint64_t i = 0; i < count && !cursor.overrun; i++) {
		skip_text(&cursor);
		skip_text(&cursor);
		enum external_kind kind = bytes_get_u8(&cursor);
		*ret += kind == EXTERNAL_FUNCTION;
		if (!skip_import(&cursor, kind))
			return false;
	}
	return !cursor.overrun;
}

/* ---- names ---- */

static void add_function_name(
	struct wasm_module *module, uint64_t function, const uint8_t *text, size_t len)
{
	struct wasm_name name = {
		.function = (uint32_t)function, .len = (uint32_t)len, .text = (const char *)text};
	if (text && len && function < module->nr_imported + (uint64_t)module->nr_declared)
		vec_push(&module->names, name);
}

static void take_function_names(struct wasm_module *module, const struct bytes_buf *section)
{
	struct bytes_cursor cursor = bytes_cursor(section->data, section->len);
	while (bytes_left(&cursor)) {
		uint8_t id = bytes_get_u8(&cursor);
		struct bytes_cursor part = bytes_get_record(&cursor);
		uint64_t count = id == NAMES_OF_FUNCTIONS ? bytes_get_varint(&part) : 0;
		for (uint64_t i = 0; i < count && !part.overrun && !cursor.overrun; i++) {
			uint64_t function = bytes_get_varint(&part);
			size_t len = 0;
			const uint8_t *text = bytes_get_blob(&part, &len);
			if (!part.overrun)
				add_function_name(module, function, text, len);
		}
	}
}

static void take_exports(struct wasm_module *module, const struct bytes_buf *section)
{
	struct bytes_cursor cursor = bytes_cursor(section->data, section->len);
	uint64_t count = section->len ? bytes_get_varint(&cursor) : 0;
	for (uint64_t i = 0; i < count && !cursor.overrun; i++) {
		size_t len = 0;
		const uint8_t *text = bytes_get_blob(&cursor, &len);
		uint8_t kind = bytes_get_u8(&cursor);
		uint64_t index = bytes_get_varint(&cursor);
		if (!cursor.overrun && kind == EXTERNAL_FUNCTION)
			add_function_name(module, index, text, len);
	}
}

/* Of several names of one function the first. */
static int compare_names(const void *a, const void *b)
{
	const struct wasm_name *x = a, *y = b;
	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return (x->text > y->text) - (x->text < y->text);
}

static void sort_function_names(struct wasm_module *module)
{
	if (module->names.len)
		qsort(module->names.data, module->names.len, sizeof(*module->names.data),
			compare_names);
}

bool wasm_module_init(
	struct wasm_module *module, const struct bytes_buf sections[static WASM_SECTIONS])
{
	const struct bytes_buf *functions = &sections[WASM_SECTION_FUNCTIONS];
	struct bytes_cursor cursor = bytes_cursor(functions->data, functions->len);
	*module = (struct wasm_module){0};
	uint64_t nr_declared = functions->len ? bytes_get_varint(&cursor) : 0;
	if (cursor.overrun || nr_declared > MAX_FUNCTIONS ||
		!count_imports(&sections[WASM_SECTION_IMPORTS], &module->nr_imported))
		return false;
	module->nr_declared = (uint32_t)nr_declared;
	take_function_names(module, &sections[WASM_SECTION_NAMES]);
	if (!module->names.len) /* it was stripped */
		take_exports(module, &sections[WASM_SECTION_EXPORTS]);
	sort_function_names(module);
	return true;
}

void wasm_module_deinit(struct wasm_module *module)
{
	vec_deinit(&module->names);
}

const struct wasm_name *wasm_module_name(const struct wasm_module *module, uint32_t function)
{
	size_t at = bisect(module->names.len, i, module->names.data[i].function < function);
	bool is_found = at < module->names.len && module->names.data[at].function == function;
	return is_found ? &module->names.data[at] : NULL;
}
