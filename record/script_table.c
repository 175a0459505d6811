#include "record/script_table.h"

#include <string.h>

#include "format/base/mem.h"
#include "format/file/layout.h"
#include "record/vm/runtime.h"

enum {
	LINE_BITS = 24, /* of an offset: function << LINE_BITS | line */
	LINE_MASK = (1 << LINE_BITS) - 1,
	MAX_NUMBERS = 1 << 20,
	MAX_FUNCTIONS = 1 << 20,
	MAX_TEXT_BYTES = 128 << 20, /* beyond that, code has neither names nor lines */
	MAX_WHOLE_LINES = 1 << 20,  /* bytes of one line table */
};

_Static_assert(1 << LINE_BITS == LAYOUT_SCRIPT_FIRST, "function 0 is no function");
_Static_assert((int)VM_FAILED_STATE == (int)LAYOUT_SCRIPT_NO_STATE &&
		       (int)VM_FAILED_UNREADABLE == (int)LAYOUT_SCRIPT_UNREADABLE &&
		       (int)VM_FAILED_TORN == (int)LAYOUT_SCRIPT_TORN &&
		       (int)VM_FAILED_NAME == (int)LAYOUT_SCRIPT_NO_NAME &&
		       (int)VM_FAILED_PENDING == (int)LAYOUT_SCRIPT_PENDING &&
		       (int)VM_FAILED_NUMBER == (int)LAYOUT_SCRIPT_NO_NUMBER &&
		       (int)VM_FAILED_DEEP == (int)LAYOUT_SCRIPT_DEEP,
	"the same numbers");

void script_table_init(struct script_table *table, struct object_table *objects)
{
	static const struct script_function none;
	*table = (struct script_table){.objects = objects};
	strtab_intern(&table->texts, "", 0);
	strtab_intern(&table->keys, "", 0);
	vec_push(&table->functions, none);
	vec_push(&table->marks, (struct vm_line_marks){0});
}

void script_table_deinit(struct script_table *table)
{
	strtab_deinit(&table->texts);
	strtab_deinit(&table->keys);
	vec_deinit(&table->functions);
	vec_each(&table->marks, marks)
		vm_line_marks_deinit(marks);
	vec_deinit(&table->marks);
	map_deinit(&table->by_number);
}

/* ---- texts ---- */

/* What is no character at all, or has no business in a name, is replaced. */
static uint32_t checked_character(uint32_t c)
{
	return c > 0x10ffff || c >> 11 == 0x1b || !c ? 0xfffd : c; /* surrogates */
}

static void put_utf8(struct str *out, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len;) {
		uint32_t c = 0;
		size_t used = str_utf8_decode((const char *)bytes + i, len - i, &c);
		str_put_code_point(out, checked_character(used ? c : 0));
		i += used ? used : 1;
	}
}

/* Text of characters of one, two or four bytes, as UTF-8. */
static void put_text(struct str *out, const uint8_t *bytes, size_t len, uint8_t unit)
{
	if (unit == VM_UNIT_UTF8) {
		put_utf8(out, bytes, len);
		return;
	}
	for (size_t i = 0; i + unit <= len; i += unit) {
		uint32_t c = bytes[i];
		if (unit >= 2)
			c |= (uint32_t)bytes[i + 1] << 8;
		if (unit == 4)
			c |= (uint32_t)bytes[i + 2] << 16 | (uint32_t)bytes[i + 3] << 24;
		str_put_code_point(out, checked_character(c));
	}
}

static uint8_t unit_of(const struct event_vm_code *event, enum vm_text what)
{
	return what == VM_TEXT_NAME ? event->unit[0] : what == VM_TEXT_FILE ? event->unit[1] : 1;
}

/* What the BPF side could not read, because it was not in memory, or too long. */
static bool read_again(
	const struct event_vm_code *event, enum vm_text what, struct vm_text_bytes *ret)
{
	uint32_t whole = event->whole_bytes[what];
	uint32_t max = what == VM_TEXT_LINES ? MAX_WHOLE_LINES : VM_MAX_FILE_BYTES;
	if (!whole)
		return event->address[what] && vm_runtime(event->kind)->read_text(event, what, ret);
	ret->len = whole < max ? whole : max;
	ret->unit = unit_of(event, what);
	ret->data = mem_alloc(ret->len);
	if (vm_read_process(event->pid, event->address[what], ret->data, ret->len))
		return true;
	mem_free(ret->data);
	return false;
}

/* A text of the event, or what can be had of it now; UTF-8 but for the lines. */
static uint32_t take_text(struct script_table *table, const struct event_vm_code *event,
	enum vm_text what, const uint8_t *bytes, uint32_t *len)
{
	bool is_lines = what == VM_TEXT_LINES;
	struct vm_text_bytes again = {.data = NULL};
	struct vm_text_bytes text = {
		(uint8_t *)(uintptr_t)bytes, event->bytes[what], unit_of(event, what)};
	bool is_whole = text.len && (!is_lines || text.len == event->whole_bytes[what]);
	bool is_read = !is_whole && read_again(event, what, &again);
	if (is_read)
		text = again;
	CLEANUP(str_deinit) struct str out = {0};
	if (is_lines)
		str_write(&out, text.data, text.len);
	else
		put_text(&out, text.data, text.len, text.unit);
	if (is_read)
		mem_free(again.data);
	if (table->text_bytes > MAX_TEXT_BYTES)
		str_truncate(&out, 0);
	table->text_bytes += out.len; /* also of known ones: a bound, no account */
	*len = (uint32_t)out.len;
	return strtab_intern(&table->texts, str_text(&out), out.len);
}

/* ---- functions ---- */

static struct vm_lines lines_of(
	const struct script_table *table, const struct script_function *function)
{
	return (struct vm_lines){
		.version = function->version,
		.first_line = function->first_line,
		.bytes = (const uint8_t *)strtab_get(&table->texts, function->lines),
		.len = function->lines_len,
	};
}

/* Its table of lines is read once, whatever number of frames ask for a place. */
static uint32_t intern_function(struct script_table *table, const struct script_function *function)
{
	uint32_t id = strtab_intern(&table->keys, (const char *)function, sizeof(*function));
	if (id < table->functions.len)
		return id;
	struct vm_line_marks marks = {0};
	struct vm_lines lines = lines_of(table, function);
	vm_next_line_fn *next = vm_runtime(function->kind)->next_line;
	if (next && function->version != VM_VERSION_LINES)
		vm_line_marks_init(&marks, &lines, next);
	vec_push(&table->functions, *function);
	vec_push(&table->marks, marks);
	return id;
}

static bool is_sound(const struct event_vm_code *event, size_t len)
{
	if (len < sizeof(*event) || !vm_runtime(event->kind))
		return false;
	uint64_t bytes = 0;
	for (int i = 0; i < VM_TEXTS; i++)
		bytes += event->bytes[i];
	return bytes <= len - sizeof(*event);
}

void script_table_take(struct script_table *table, const struct event_vm_code *event, size_t len)
{
	const uint8_t *text = (const uint8_t *)(event + 1);
	if (!is_sound(event, len) || table->functions.len > MAX_FUNCTIONS)
		return;
	struct script_function function; /* bytes are compared */
	memset(&function, 0, sizeof(function));
	function.kind = event->kind;
	function.version = event->version;
	function.first_line = event->first_line;
	uint32_t ignored;
	function.name = take_text(table, event, VM_TEXT_NAME, text, &ignored);
	text += event->bytes[VM_TEXT_NAME];
	function.file = take_text(table, event, VM_TEXT_FILE, text, &ignored);
	text += event->bytes[VM_TEXT_FILE];
	function.lines = take_text(table, event, VM_TEXT_LINES, text, &function.lines_len);
	uint32_t id = function.name ? intern_function(table, &function) : 0;
	*map_put(&table->by_number, event->number, NULL) = id;
}

/* ---- places ---- */

/* Asked for once a frame. */
static struct object *object_of(struct script_table *table, enum vm_kind kind)
{
	struct object **object = &table->object_of[kind];
	if (!*object)
		*object = object_table_special(
			table->objects, LAYOUT_OBJECT_SCRIPT, vm_runtime(kind)->object);
	return *object;
}

struct object *script_table_failure(
	struct script_table *table, enum vm_kind kind, enum vm_failure why, uint64_t *offset)
{
	*offset = why;
	return object_of(table, vm_runtime(kind) ? kind : VM_NONE + 1);
}

/* A place without a name is the language's all the same; one runtime is as good as the other. */
static struct object *find_failure(struct script_table *table, uint32_t place, uint64_t *offset)
{
	enum vm_kind kind = place >> VM_FRAME_FAILED_KIND_SHIFT;
	uint32_t why = place & ((1 << VM_FRAME_FAILED_KIND_SHIFT) - 1);
	return script_table_failure(table, kind, why ? why : VM_FAILED_NAME, offset);
}

static uint32_t line_of(const struct script_table *table, uint64_t id, uint32_t place)
{
	const struct script_function *function = &table->functions.data[id];
	const struct vm_runtime *runtime = vm_runtime(function->kind);
	struct vm_lines lines = lines_of(table, function);
	if (function->version == VM_VERSION_LINES)
		return place;
	if (runtime->line_of)
		return runtime->line_of(&lines, place);
	return vm_line_marks_find(&table->marks.data[id], &lines, runtime->next_line, place);
}

struct object *script_table_find(struct script_table *table, uint64_t word, uint64_t *offset)
{
	uint32_t place = word & ((1U << VM_FRAME_CODE_SHIFT) - 1);
	uint32_t number = word >> VM_FRAME_CODE_SHIFT & ((1U << VM_FRAME_CODE_BITS) - 1);
	if (!number)
		return find_failure(table, place, offset);
	const uint64_t *id = map_get(&table->by_number, number);
	if (!id || !*id)
		return script_table_failure(table, VM_NONE + 1, VM_FAILED_NAME, offset);
	*offset = *id << LINE_BITS | (line_of(table, *id, place) & LINE_MASK);
	return object_of(table, table->functions.data[*id].kind);
}

static const char *failure_name(uint64_t why)
{
	static const char *const failures[LAYOUT_SCRIPT_FAILURES_END] = {
#define X(name, number, word) [number] = "[unnamed: " word "]",
		LAYOUT_SCRIPT_FAILURES(X)
#undef X
	};
	return why < LAYOUT_SCRIPT_FAILURES_END && failures[why] ? failures[why] : "[unnamed]";
}

void script_table_describe(
	const struct script_table *table, uint64_t offset, struct script_place *ret)
{
	uint64_t id = offset >> LINE_BITS;
	*ret = (struct script_place){.name = failure_name(offset), .start = offset};
	if (!id || id >= table->functions.len)
		return;
	const struct script_function *function = &table->functions.data[id];
	ret->name = strtab_get(&table->texts, function->name);
	ret->file = function->file ? strtab_get(&table->texts, function->file) : NULL;
	ret->start = id << LINE_BITS;
	ret->line = offset & LINE_MASK;
}

bool script_table_is_full(const struct script_table *table)
{
	return table->by_number.len > MAX_NUMBERS;
}

void script_table_forget_numbers(struct script_table *table)
{
	map_deinit(&table->by_number);
}
