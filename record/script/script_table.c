#include "record/script/script_table.h"

#include <string.h>
#include <time.h>

#include "format/base/clock.h"
#include "format/base/mem.h"
#include "format/file/layout.h"
#include "record/runtime/runtime.h"
#include "record/runtime/runtime_memory.h"

enum {
	LINE_BITS = 24, /* of an offset: function << LINE_BITS | line */
	LINE_MASK = (1 << LINE_BITS) - 1,
	MAX_NUMBERS = 1 << 20,
	MAX_FUNCTIONS = 1 << 20,
	MAX_TEXT_BYTES = 128 << 20, /* beyond that, code has neither names nor lines */
	MAX_WHOLE_LINES = 1 << 20,  /* bytes of one line table */
	MAX_UNREAD = 1 << 12,       /* that are read again */
	READS_BITS = 32, /* of a value of reading_numbers; where the newest is, is above */
};

static const uint64_t unread_pause_min_ns = NS_PER_S, unread_pause_max_ns = 60ULL * NS_PER_S;
static const uint64_t given_up = 1ULL << 32; /* in place of a function's number, with the kind */

_Static_assert(1 << LINE_BITS == LAYOUT_SCRIPT_FIRST, "function 0 is no function");

/* ---- texts ---- */

/* What is no character at all, or has no business in a name, is replaced. */
static uint32_t checked_character(uint32_t c)
{
	return c > 0x10ffff || c >> 11 == 0x1b || !c ? 0xfffd : c; /* surrogates */
}

/* A process can have many long names: what is sound is copied in one piece. */
static void put_utf8(struct str *out, const uint8_t *bytes, size_t len)
{
	size_t sound = 0; /* where it begins */
	for (size_t i = 0; i < len;) {
		uint32_t c = 0;
		if (bytes[i] - 1U < 0x7f) {
			i++;
			continue;
		}
		size_t used = str_utf8_decode((const char *)bytes + i, len - i, &c);
		if (!used || checked_character(c) != c) {
			str_write(out, bytes + sound, i - sound);
			str_put_code_point(out, checked_character(0));
			sound = i + (used ? used : 1);
		}
		i += used ? used : 1;
	}
	str_write(out, bytes + sound, len - sound);
}

/* Text of characters of one, two or four bytes, or of tagged ones, as UTF-8. */
static void script_table_put_text(struct str *out, const uint8_t *bytes, size_t len, uint8_t unit)
{
	if (unit == RUNTIME_UNIT_UTF8) {
		put_utf8(out, bytes, len);
		return;
	}
	bool is_tagged = unit == RUNTIME_UNIT_TAGGED;
	if (is_tagged)
		unit = 4;
	for (size_t i = 0; i + unit <= len; i += unit) {
		uint32_t c = bytes[i];
		if (unit >= 2)
			c |= (uint32_t)bytes[i + 1] << 8;
		if (unit == 4)
			c |= (uint32_t)bytes[i + 2] << 16 | (uint32_t)bytes[i + 3] << 24;
		str_put_code_point(out, checked_character(is_tagged ? c >> 8 : c));
	}
}

static uint8_t script_table_unit_of(const struct event_code *event, enum runtime_text what)
{
	return what == RUNTIME_TEXT_NAME   ? event->unit[0]
	       : what == RUNTIME_TEXT_FILE ? event->unit[1]
					   : 1;
}

static uint32_t script_table_intern(struct script_table *table, struct str *text)
{
	if (table->text_bytes > MAX_TEXT_BYTES)
		str_truncate(text, 0);
	table->text_bytes += text->len; /* also of known ones: a bound, no account */
	return strtab_intern(&table->texts, str_text(text), text->len);
}

/* ---- texts that are read later ---- */

struct request {
	struct event_code event;
	uint32_t wanted; /* a bit for each enum runtime_text */
	uint32_t given_bytes;
	uint8_t given[RUNTIME_MAX_GIVEN_BYTES]; /* see runtime_row.h */
};

_Static_assert(sizeof(struct request) <= TARGET_READER_MAX_REQUEST, "a request fits");

/* What the BPF side could not read, because it was not in memory, or too long. */
static uint32_t wanted_texts(const struct event_code *event)
{
	uint32_t wanted = 0;
	for (enum runtime_text what = 0; what < RUNTIME_TEXTS; what++) {
		bool is_whole = event->bytes[what] &&
				(what != RUNTIME_TEXT_LINES ||
					event->bytes[what] == event->whole_bytes[what]);
		if (!is_whole && (event->whole_bytes[what] || event->address[what]))
			wanted |= 1U << what;
	}
	return wanted;
}

static bool script_table_read_text(
	const struct event_code *event, enum runtime_text what, struct runtime_text_bytes *ret)
{
	uint32_t whole = event->whole_bytes[what];
	uint32_t max = what == RUNTIME_TEXT_LINES ? MAX_WHOLE_LINES : RUNTIME_MAX_FILE_BYTES;
	if (!whole)
		return event->address[what] && runtime_of(event->kind)->read_text(event, what, ret);
	ret->len = whole < max ? whole : max;
	ret->unit = script_table_unit_of(event, what);
	ret->data = mem_alloc(ret->len);
	if (runtime_read_process(event->pid, event->address[what], ret->data, ret->len))
		return true;
	mem_free(ret->data);
	return false;
}

/* What runtimes keep in the worker from one request to the next. */
struct kept_of_runtimes {
	void *of[RUNTIME_MAX_KINDS];
};

static bool read_inlined(struct kept_of_runtimes *kept, const struct request *request,
	struct runtime_text_bytes *ret)
{
	const struct event_code *event = &request->event;
	CLEANUP(bytes_buf_deinit) struct bytes_buf bytes = {0};
	if (!runtime_of(event->kind)
			->read_inlined(&kept->of[event->kind], event->pid, request->given,
				request->given_bytes, &bytes))
		return false;
	*ret = (struct runtime_text_bytes){bytes.data, bytes.len, 1};
	bytes = (struct bytes_buf){0};
	return true;
}

/* In the reader's worker. Of each text: bytes a character, length, and the bytes. */
static void read_wanted(void **kept, const void *bytes, size_t len, struct bytes_buf *ret)
{
	struct request request;
	if (len != sizeof(request))
		return;
	if (!*kept)
		*kept = mem_zalloc(sizeof(struct kept_of_runtimes));
	memcpy(&request, bytes, len);
	for (enum runtime_text what = 0; what < RUNTIME_TEXTS; what++) {
		struct runtime_text_bytes text = {.data = NULL};
		bool is_inlined = what == RUNTIME_TEXT_LINES && request.event.is_inlined;
		bool is_read = request.wanted >> what & 1 &&
			       (is_inlined ? read_inlined(*kept, &request, &text)
					   : script_table_read_text(&request.event, what, &text));
		bytes_put_u8(ret, is_read ? text.unit : 0);
		bytes_put_u32(ret, is_read ? (uint32_t)text.len : 0);
		if (is_read) {
			bytes_put(ret, text.data, text.len);
			mem_free(text.data);
		}
	}
}

static void script_inlined_destroy(struct script_inlined *inlined)
{
	if (!inlined)
		return;
	runtime_inlined_deinit(&inlined->code);
	vec_deinit(&inlined->functions);
	mem_free(inlined);
}

void script_table_init(struct script_table *table, struct object_table *objects)
{
	static const struct script_function none;
	*table = (struct script_table){.objects = objects};
	target_reader_init(&table->reader, read_wanted);
	strtab_intern(&table->texts, "", 0);
	strtab_intern(&table->keys, "", 0);
	vec_push(&table->functions, none);
	vec_push(&table->marks, (struct runtime_line_marks){0});
	vec_push(&table->inlined, NULL);
}

void script_table_deinit(struct script_table *table)
{
	target_reader_deinit(&table->reader);
	vec_each(&table->reading, reading)
		mem_free(reading->event);
	vec_deinit(&table->reading);
	vec_each(&table->unread, event)
		mem_free(*event);
	vec_deinit(&table->unread);
	map_deinit(&table->reading_numbers);
	strtab_deinit(&table->texts);
	strtab_deinit(&table->keys);
	vec_deinit(&table->functions);
	vec_each(&table->marks, marks)
		runtime_line_marks_deinit(marks);
	vec_deinit(&table->marks);
	vec_each(&table->inlined, inlined)
		script_inlined_destroy(*inlined);
	vec_deinit(&table->inlined);
	map_deinit(&table->by_number);
	map_deinit(&table->by_content);
}

/* ---- functions ---- */

static struct runtime_lines lines_of(
	const struct script_table *table, const struct script_function *function)
{
	return (struct runtime_lines){
		.version = function->version,
		.first_line = function->first_line,
		.bytes = (const uint8_t *)strtab_get(&table->texts, function->lines),
		.len = function->lines_len,
	};
}

static void put_texts(enum runtime_kind kind, struct str *name, struct str *file)
{
	if (runtime_of(kind)->put_texts)
		runtime_of(kind)->put_texts(name, file);
}

static uint32_t intern_function(struct script_table *table, const struct script_function *function);

/* A function that was inlined, whose places are lines. */
static uint32_t intern_inlined_function(struct script_table *table,
	const struct script_function *outer, const struct runtime_inlined_function *inlined)
{
	struct script_function function; /* bytes are compared */
	memset(&function, 0, sizeof(function));
	CLEANUP(str_deinit) struct str name = {0};
	CLEANUP(str_deinit) struct str file = {0};
	put_utf8(&name, (const uint8_t *)inlined->name, inlined->name_len);
	put_utf8(&file, (const uint8_t *)inlined->file, inlined->file_len);
	put_texts(outer->kind, &name, &file);
	function.kind = outer->kind;
	function.is_of_runtime = outer->is_of_runtime;
	function.version = RUNTIME_VERSION_LINES;
	function.name = script_table_intern(table, &name);
	function.file = script_table_intern(table, &file);
	return intern_function(table, &function);
}

/* NULL: nothing was read of it. */
static struct script_inlined *make_inlined(struct script_table *table, uint32_t id)
{
	const struct script_function function = table->functions.data[id];
	struct runtime_lines lines = lines_of(table, &function);
	struct script_inlined *inlined = mem_zalloc(sizeof(*inlined));
	if (!lines.len || !runtime_inlined_get(lines.bytes, lines.len, &inlined->code)) {
		script_inlined_destroy(inlined);
		return NULL;
	}
	vec_each(&inlined->code.functions, of)
		vec_push(&inlined->functions, intern_inlined_function(table, &function, of));
	return inlined;
}

/* Its table of lines is read once, however many frames ask for a place. */
static uint32_t intern_function(struct script_table *table, const struct script_function *function)
{
	uint32_t id = strtab_intern(&table->keys, (const char *)function, sizeof(*function));
	if (id < table->functions.len)
		return id;
	struct runtime_line_marks marks = {0};
	struct runtime_lines lines = lines_of(table, function);
	runtime_next_line_fn *next = runtime_of(function->kind)->next_line;
	if (next && function->version != RUNTIME_VERSION_LINES && !function->is_inlined)
		runtime_line_marks_init(&marks, &lines, next);
	vec_push(&table->functions, *function);
	vec_push(&table->marks, marks);
	vec_push(&table->inlined, NULL);
	if (function->is_inlined) {
		struct script_inlined *inlined = make_inlined(table, id); /* which adds functions */
		table->inlined.data[id] = inlined;
	}
	return id;
}

static bool script_table_is_sound(const struct event_code *event, size_t len)
{
	if (len < sizeof(*event) || !runtime_of(event->kind))
		return false;
	uint64_t bytes = 0;
	for (int i = 0; i < RUNTIME_TEXTS; i++)
		bytes += event->bytes[i];
	if (event->is_inlined &&
		(!runtime_of(event->kind)->read_inlined ||
			event->bytes[RUNTIME_TEXT_LINES] > RUNTIME_MAX_GIVEN_BYTES))
		return false;
	return bytes <= len - sizeof(*event);
}

/* `answer`: what was read later, NULL: nothing was, or not all that was wanted. */
static void script_table_take_function(struct script_table *table, const struct event_code *event,
	const struct bytes_buf *answer, bool is_given_up)
{
	const uint8_t *inlined = (const uint8_t *)(event + 1);
	struct bytes_cursor cursor =
		bytes_cursor(answer ? answer->data : NULL, answer ? answer->len : 0);
	struct script_function function; /* bytes are compared */
	memset(&function, 0, sizeof(function));
	function.kind = event->kind;
	function.version = event->version;
	function.first_line = event->first_line;
	function.is_inlined = event->is_inlined;
	function.is_of_runtime = event->is_of_runtime;
	CLEANUP(str_deinit) struct str name = {0};
	CLEANUP(str_deinit) struct str file = {0};
	CLEANUP(str_deinit) struct str lines = {0};
	for (enum runtime_text what = 0; what < RUNTIME_TEXTS; what++) {
		struct runtime_text_bytes text = {(uint8_t *)(uintptr_t)inlined, event->bytes[what],
			script_table_unit_of(event, what)};
		inlined += event->bytes[what];
		uint8_t unit = bytes_get_u8(&cursor);
		uint32_t len = bytes_get_u32(&cursor);
		const uint8_t *bytes = bytes_get(&cursor, len);
		if (len && bytes)
			text = (struct runtime_text_bytes){(uint8_t *)(uintptr_t)bytes, len, unit};
		bool is_given = event->is_inlined && !(len && bytes); /* leads to them alone */
		if (what == RUNTIME_TEXT_LINES && !is_given)
			str_write(&lines, text.data, text.len);
		else if (what == RUNTIME_TEXT_LINES)
			continue;
		else
			script_table_put_text(what == RUNTIME_TEXT_NAME ? &name : &file, text.data,
				text.len, text.unit);
	}
	/* Without a name, what was read has it. */
	if (name.len || lines.len || !event->is_inlined)
		put_texts(event->kind, &name, &file);
	function.name = script_table_intern(table, &name);
	function.file = script_table_intern(table, &file);
	function.lines = script_table_intern(table, &lines);
	function.lines_len = (uint32_t)lines.len;
	uint64_t nameless = is_given_up ? given_up | event->kind : 0;
	uint64_t id = function.name ? intern_function(table, &function) : nameless;
	*map_put(&table->by_number, event->number, NULL) = id;
	if (event->content && function.lines_len && function.name)
		*map_put(&table->by_content, event->content, NULL) = id;
	table->given_up += is_given_up;
}

/* Lines, and what is inlined, can wait; without a name the frame is lost. */
static bool lacks_name(const struct request *request)
{
	const struct event_code *event = &request->event;
	const struct runtime *runtime = runtime_of(event->kind);
	return !event->bytes[RUNTIME_TEXT_NAME] ||
	       (event->is_inlined && runtime->lacks_name &&
		       runtime->lacks_name(request->given, request->given_bytes));
}

/* Of an event that is the table's from now on. */
static void begin_reading(struct script_table *table, struct event_code *event, bool is_again)
{
	struct request request; /* no byte of it is left as it was */
	memset(&request, 0, sizeof(request));
	request.event = *event;
	request.wanted = wanted_texts(event);
	if (event->is_inlined) {
		request.given_bytes = event->bytes[RUNTIME_TEXT_LINES];
		const uint8_t *texts = (const uint8_t *)(event + 1);
		memcpy(request.given,
			texts + event->bytes[RUNTIME_TEXT_NAME] + event->bytes[RUNTIME_TEXT_FILE],
			request.given_bytes);
	}
	struct script_reading reading = {event, is_again};
	vec_push(&table->reading, reading);
	if (lacks_name(&request))
		target_reader_submit_first(&table->reader, event->pid, &request, sizeof(request));
	else
		target_reader_submit(&table->reader, event->pid, &request, sizeof(request));
}

void script_table_take(struct script_table *table, const struct event_code *event, size_t len)
{
	if (!script_table_is_sound(event, len) || table->functions.len > MAX_FUNCTIONS)
		return;
	const uint64_t *known = event->content ? map_get(&table->by_content, event->content) : NULL;
	if (known) { /* it was read before it was moved, and may be moving now */
		*map_put(&table->by_number, event->number, NULL) = *known;
		return;
	}
	if (!wanted_texts(event)) {
		script_table_take_function(table, event, NULL, false);
		return;
	}
	struct event_code *copy = mem_alloc(len);
	memcpy(copy, event, len);
	bool is_new;
	uint64_t *reads = map_put(&table->reading_numbers, event->number, &is_new);
	uint64_t newest = table->reading.len, others = is_new ? 0 : (uint32_t)*reads;
	*reads = newest << READS_BITS | (others + 1);
	begin_reading(table, copy, false);
}

void script_table_read_again(struct script_table *table, uint64_t now_ns)
{
	size_t count = table->unread.len;
	if (!count)
		return;
	if (!table->unread_from_ns) {
		uint64_t longer_ns = 2 * table->unread_pause_ns;
		if (longer_ns > unread_pause_max_ns)
			longer_ns = unread_pause_max_ns;
		table->unread_pause_ns = table->is_hopeful ? unread_pause_min_ns : longer_ns;
		table->unread_from_ns = now_ns + table->unread_pause_ns;
	}
	if (now_ns < table->unread_from_ns)
		return;
	table->unread_from_ns = 0;
	table->is_hopeful = false;
	vec_each(&table->unread, event)
		begin_reading(table, *event, true);
	table->unread.len = 0;
}

void script_table_send(struct script_table *table)
{
	target_reader_send(&table->reader);
}

bool script_table_is_reading(const struct script_table *table)
{
	return table->nr_read < table->reading.len;
}

/* What was given up is kept, to be read again; what is new there does not wait longer for it that
 * others failed. */
static void end_reading(struct script_table *table, struct script_reading *reading, bool is_read)
{
	bool is_kept = !is_read && runtime_of(reading->event->kind)->is_read_again &&
		       table->unread.len < MAX_UNREAD;
	bool is_new = is_kept && !reading->is_again;
	table->is_hopeful |= is_new || (is_read && reading->is_again);
	if (is_new && table->unread_pause_ns > unread_pause_min_ns)
		table->unread_from_ns = 0;
	if (is_kept)
		vec_push(&table->unread, reading->event);
	else
		mem_free(reading->event);
	reading->event = NULL;
	table->nr_read++;
}

/* What is made of a process's texts costs time as reading them does: it is the process's. */
bool script_table_collect(struct script_table *table)
{
	bool has_late = false;
	const struct bytes_buf *answer;
	while (script_table_is_reading(table) && target_reader_take(&table->reader, &answer)) {
		struct script_reading *reading =
			&table->reading.data[target_reader_taken(&table->reader)];
		struct event_code *event = reading->event;
		uint64_t *reads = map_get(&table->reading_numbers, event->number);
		uint64_t begun_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
		if (answer || reads) /* else that was counted when it was given up */
			script_table_take_function(table, event, answer, !answer);
		has_late |= answer && !reads;
		target_reader_charge(&table->reader, event->pid,
			clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns);
		if (reads && !(uint32_t)-- * reads)
			map_remove(&table->reading_numbers, event->number);
		end_reading(table, reading, answer);
	}
	if (!script_table_is_reading(table))
		table->nr_read = table->reading.len = 0;
	return has_late;
}

int script_table_fd(const struct script_table *table)
{
	return target_reader_fd(&table->reader);
}

/* ---- places ---- */

/* Asked for once a frame. */
static struct object *script_table_object_of(struct script_table *table, enum runtime_kind kind)
{
	struct object **object = &table->object_of[kind];
	if (!*object)
		*object = object_table_special(
			table->objects, LAYOUT_OBJECT_SCRIPT, runtime_of(kind)->object);
	return *object;
}

struct object *script_table_failure(struct script_table *table, enum runtime_kind kind,
	enum layout_script_failure why, uint64_t *offset)
{
	*offset = why;
	return script_table_object_of(table, runtime_of(kind) ? kind : RUNTIME_NONE + 1);
}

/* A place without a name is the language's all the same; one runtime is as good as the other. */
static struct object *find_failure(struct script_table *table, uint32_t place, uint64_t *offset)
{
	enum runtime_kind kind = place >> RUNTIME_FRAME_FAILED_KIND_SHIFT;
	uint32_t why = place & ((1 << RUNTIME_FRAME_FAILED_KIND_SHIFT) - 1);
	return script_table_failure(table, kind, why ? why : LAYOUT_SCRIPT_NO_NAME, offset);
}

static uint32_t script_table_line_of(const struct script_table *table, uint64_t id, uint32_t place)
{
	const struct script_function *function = &table->functions.data[id];
	const struct runtime *runtime = runtime_of(function->kind);
	struct runtime_lines lines = lines_of(table, function);
	if (function->is_inlined)
		return 0;
	if (function->version == RUNTIME_VERSION_LINES)
		return place;
	if (runtime->line_of)
		return runtime->line_of(&lines, place);
	return runtime_line_marks_find(&table->marks.data[id], &lines, runtime->next_line, place);
}

static uint32_t script_table_number_of(uint64_t word)
{
	return word >> RUNTIME_FRAME_CODE_SHIFT & ((1U << RUNTIME_FRAME_CODE_BITS) - 1);
}

/* It keeps the name that the BPF side read, when it was sent last. */
void script_table_give_up(struct script_table *table, uint64_t word)
{
	uint32_t number = script_table_number_of(word);
	const uint64_t *reads = map_get(&table->reading_numbers, number);
	if (!reads)
		return;
	const struct event_code *newest = table->reading.data[*reads >> READS_BITS].event;
	if (newest)
		script_table_take_function(table, newest, NULL, true);
	map_remove(&table->reading_numbers, number);
}

bool script_table_lacks(const struct script_table *table, uint64_t word)
{
	return map_get(&table->reading_numbers, script_table_number_of(word)) != NULL;
}

struct object *script_table_find(struct script_table *table, uint64_t word, uint64_t *offset)
{
	uint32_t place = word & ((1U << RUNTIME_FRAME_CODE_SHIFT) - 1);
	uint32_t number = script_table_number_of(word);
	if (!number)
		return find_failure(table, place, offset);
	const uint64_t *id = map_get(&table->by_number, number);
	if (!id || !*id)
		return script_table_failure(table, RUNTIME_NONE + 1, LAYOUT_SCRIPT_NO_NAME, offset);
	if (*id >= given_up)
		return script_table_failure(
			table, (enum runtime_kind)(uint32_t)*id, LAYOUT_SCRIPT_GIVEN_UP, offset);
	*offset = *id << LINE_BITS | (script_table_line_of(table, *id, place) & LINE_MASK);
	return script_table_object_of(table, table->functions.data[*id].kind);
}

/*
 * Of code that was interrupted it may not be known which of the inlined functions it was in: the
 * next place of which it is known is taken for it, and what is guessed so is flagged. The function
 * that all are inlined in is the same everywhere.
 */
size_t script_table_find_inlined(struct script_table *table, uint64_t word, struct object **object,
	struct script_frame *frames, size_t max)
{
	*object = script_table_find(table, word, &frames->offset);
	const uint64_t *id = map_get(&table->by_number, script_table_number_of(word));
	bool is_known = id && *id < table->inlined.len;
	bool is_of_runtime = is_known && table->functions.data[*id].is_of_runtime;
	uint32_t flags = is_of_runtime ? LAYOUT_FRAME_OF_RUNTIME : 0;
	const struct script_inlined *inlined = is_known ? table->inlined.data[*id] : NULL;
	frames->flags = flags;
	if (!inlined)
		return 1;
	uint32_t place = word & (RUNTIME_FRAME_IS_LEAF - 1);
	bool is_exact, is_leaf = word & RUNTIME_FRAME_IS_LEAF;
	size_t count = 0;
	for (uint32_t number = runtime_inlined_find(&inlined->code, place, is_leaf, &is_exact);
		number != RUNTIME_INLINED_NONE && count < max && (is_exact || is_leaf);) {
		const struct runtime_inlined_scope *scope = &inlined->code.scopes.data[number - 1];
		uint64_t function = inlined->functions.data[scope->function];
		bool is_guess = !is_exact && scope->caller != RUNTIME_INLINED_NONE;
		frames[count++] = (struct script_frame){
			.offset = function << LINE_BITS | (scope->line & LINE_MASK),
			.flags = flags | (is_guess ? LAYOUT_FRAME_GUESSED_INLINED : 0)};
		number = scope->caller;
	}
	return count ? count : 1;
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
	map_deinit(&table->by_content);
}
