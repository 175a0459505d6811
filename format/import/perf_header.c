#include "format/import/perf_header.h"

#include <stdio.h>
#include <string.h>

enum {
	FILE_HEADER_BYTES = 104,
	PIPE_HEADER_BYTES = 16,
	FEATURE_BITS = 256,
	SECTION_BYTES = 16,  /* offset, size */
	ATTR_BYTES_MIN = 64, /* PERF_ATTR_SIZE_VER0 */
	MAX_ATTRS_BYTES = 16 << 20,
	MAX_IDS_BYTES = 64 << 20,
	MAX_FEATURE_BYTES = 64 << 20,
	BUILD_ID_FIELD_BYTES = 24,
	MISC_BUILD_ID_SIZE = 1 << 15,
};

/* tools/perf/util/header.h */
enum perf_feature {
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_OSRELEASE = 4,
	FEATURE_VERSION = 5,
	FEATURE_ARCH = 6,
	FEATURE_NRCPUS = 7,
	FEATURE_CMDLINE = 11,
	FEATURE_EVENT_DESC = 12,
	FEATURE_CLOCK_DATA = 29,
};

/* Bits of struct perf_event_attr behind read_format. */
enum perf_attr_flag {
	ATTR_FREQ = 1 << 10,
	ATTR_SAMPLE_ID_ALL = 1 << 18,
};

static const uint64_t attr_build_id = 1ULL << 34;

struct perf_section {
	uint64_t offset, bytes;
};

static struct perf_section get_section(struct bytes_cursor *cursor)
{
	struct perf_section section;
	section.offset = bytes_get_u64(cursor);
	section.bytes = bytes_get_u64(cursor);
	return section;
}

/* ---- events ---- */

bool perf_header_add_event(struct perf_header *header, struct bytes_cursor *attr)
{
	struct perf_event event = {.type = bytes_get_u32(attr)};
	bytes_get_u32(attr); /* its size */
	event.config = bytes_get_u64(attr);
	uint64_t period = bytes_get_u64(attr);
	event.sample_type = bytes_get_u64(attr);
	event.read_format = bytes_get_u64(attr);
	uint64_t flags = bytes_get_u64(attr);
	if (attr->overrun)
		return false;
	event.has_build_ids = flags & attr_build_id;
	event.has_sample_ids = flags & ATTR_SAMPLE_ID_ALL;
	if (flags & ATTR_FREQ)
		event.frequency_hz = (uint32_t)period;
	else
		event.period = period;
	bytes_get(attr, 4 + 4 + 8 + 8); /* wakeup_events, bp_type, config1, config2 */
	event.branch_type = bytes_get_u64(attr);
	event.registers = bytes_get_u64(attr);
	bytes_get(attr, 4 + 4 + 8 + 4); /* sample_stack_user to aux_watermark */
	event.max_stack = bytes_get_u16(attr);
	vec_push(&header->events, event); /* what a shorter one lacks is 0 */
	return true;
}

void perf_header_add_ids(struct perf_header *header, size_t index, struct bytes_cursor *ids)
{
	while (bytes_left(ids) >= sizeof(uint64_t))
		*map_put(&header->events_by_id, bytes_get_u64(ids), NULL) = index;
}

static struct err *read_ids(struct perf_header *header, const struct import_file *file,
	size_t index, const struct perf_section *section, uint64_t *bytes_left_of_all)
{
	struct bytes_buf ids = {0};
	if (section->bytes > *bytes_left_of_all)
		return err_new(ERR_FORMAT, "the ids of its events take more than 64 MiB");
	*bytes_left_of_all -= section->bytes;
	try(import_file_read(file, section->offset, section->bytes, "the ids of an event", &ids));
	struct bytes_cursor cursor = bytes_cursor(ids.data, ids.len);
	perf_header_add_ids(header, index, &cursor);
	bytes_buf_deinit(&ids);
	return NULL;
}

/* `attr_bytes`: of an event's attributes and of where its ids stand. */
static struct err *read_attrs(struct perf_header *header, const struct import_file *file,
	const struct perf_section *section, uint64_t attr_bytes)
{
	struct bytes_buf attrs = {0};
	uint64_t ids_left = MAX_IDS_BYTES;
	if (attr_bytes < ATTR_BYTES_MIN + SECTION_BYTES || section->bytes > MAX_ATTRS_BYTES ||
		section->bytes % attr_bytes)
		return err_new(ERR_FORMAT,
			"its header has %llu bytes of events at offset %llu, of %llu each",
			(unsigned long long)section->bytes, (unsigned long long)section->offset,
			(unsigned long long)attr_bytes);
	try(import_file_read(file, section->offset, section->bytes, "its list of events", &attrs));
	struct bytes_cursor cursor = bytes_cursor(attrs.data, attrs.len);
	struct err *err = NULL;
	while (!err && bytes_left(&cursor) && header->events.len < LAYOUT_MAX_EVENTS - 1) {
		struct bytes_cursor attr = bytes_get_cursor(&cursor, attr_bytes - SECTION_BYTES);
		struct perf_section ids = get_section(&cursor);
		if (perf_header_add_event(header, &attr))
			err = read_ids(header, file, header->events.len - 1, &ids, &ids_left);
	}
	bytes_buf_deinit(&attrs);
	return err;
}

/* ---- features ---- */

/* Text behind its length, which counts the zeros at its end. Borrowed; NULL: there is none. */
static const char *get_perf_text(struct bytes_cursor *cursor, size_t *len)
{
	uint32_t bytes = bytes_get_u32(cursor);
	const char *text = (const char *)bytes_get(cursor, bytes);
	*len = text ? strnlen(text, bytes) : 0;
	return text;
}

static void take_perf_text(char **field, struct bytes_cursor *cursor)
{
	size_t len;
	const char *text = get_perf_text(cursor, &len);
	if (!text || !len)
		return;
	mem_free(*field);
	*field = mem_strndup(text, len);
}

/* Of short options in one word, none of which takes a value: "-ag". */
static bool are_flags(const char *word, size_t len)
{
	return len > 1 && word[0] == '-' && word[1] != '-' &&
	       strspn(word + 1, "aABWbdghinNPqRsTvz") >= len - 1;
}

/*
 * perf's own words, of which nobody can say where they end but by "--": a word after an option with
 * one letter may be its value, and after a long one it is not known whether it is.
 */
struct own_words {
	bool is_over, may_be_value;
	uint32_t count;
};

/* Whether it is an option by which perf records the whole system. */
static bool take_own_word(struct own_words *words, const char *word, size_t len)
{
	bool is_flags = are_flags(word, len), is_option = len > 1 && word[0] == '-';
	if (words->is_over || ++words->count <= 2) /* "perf record" */
		return false;
	if (len == 10 && memcmp(word, "--all-cpus", len) == 0)
		return true;
	words->is_over =
		is_option ? word[1] == '-' && !memchr(word, '=', len) : !words->may_be_value;
	words->may_be_value = is_option && !is_flags && len == 2;
	return is_flags && memchr(word, 'a', len);
}

static void take_command_line(struct perf_header *header, struct bytes_cursor *cursor)
{
	struct str args = {0};
	struct own_words own = {0};
	bool is_command = false;
	uint32_t count = bytes_get_u32(cursor);
	for (uint32_t i = 0; i < count && !cursor->overrun; i++) {
		size_t len;
		const char *word = get_perf_text(cursor, &len);
		if (!word)
			break;
		if (is_command && !header->command)
			header->command = mem_strndup(word, len);
		header->is_of_system |= !is_command && take_own_word(&own, word, len);
		is_command |= len == 2 && memcmp(word, "--", 2) == 0;
		str_puts(&args, args.len ? " " : "");
		str_write(&args, word, len);
	}
	mem_free(header->args);
	header->args = str_steal(&args);
}

/* The names of events, in the order of their attributes. */
static void take_event_names(struct perf_header *header, struct bytes_cursor *cursor)
{
	uint32_t count = bytes_get_u32(cursor), attr_bytes = bytes_get_u32(cursor);
	for (uint32_t i = 0; i < count && i < header->events.len && !cursor->overrun; i++) {
		bytes_get(cursor, attr_bytes);
		uint32_t nr_ids = bytes_get_u32(cursor);
		take_perf_text(&header->events.data[i].name, cursor);
		bytes_get(cursor, (size_t)nr_ids * sizeof(uint64_t));
	}
}

void perf_header_add_build_id(
	struct perf_header *header, uint16_t misc, struct bytes_cursor *record)
{
	struct perf_build_id id = {.len = PERF_BUILD_ID_BYTES};
	bytes_get_u32(record); /* the pid, of a guest */
	const uint8_t *field = bytes_get(record, BUILD_ID_FIELD_BYTES);
	size_t left = bytes_left(record);
	const char *path = (const char *)bytes_get(record, left);
	size_t len = path ? strnlen(path, left) : 0;
	if (!field || !len)
		return;
	if (misc & MISC_BUILD_ID_SIZE)
		id.len = field[PERF_BUILD_ID_BYTES];
	if (id.len > PERF_BUILD_ID_BYTES || !id.len)
		return;
	memcpy(id.bytes, field, id.len);
	uint32_t number = strtab_intern(&header->paths, path, len);
	if (number == header->build_ids.len)
		vec_push(&header->build_ids, id);
}

static void take_build_ids(struct perf_header *header, struct bytes_cursor *cursor)
{
	enum {
		RECORD_HEADER_BYTES = 8,
	};
	while (bytes_left(cursor) >= RECORD_HEADER_BYTES) {
		bytes_get_u32(cursor);
		uint16_t misc = bytes_get_u16(cursor), bytes = bytes_get_u16(cursor);
		if (bytes < RECORD_HEADER_BYTES)
			return;
		struct bytes_cursor record = bytes_get_cursor(cursor, bytes - RECORD_HEADER_BYTES);
		perf_header_add_build_id(header, misc, &record);
	}
}

static void take_clock(struct perf_header *header, struct bytes_cursor *cursor)
{
	bytes_get(cursor, 4 + 4); /* version, which clock */
	header->clock.realtime_ns = bytes_get_u64(cursor);
	header->clock.monotonic_ns = bytes_get_u64(cursor);
	header->has_clock = !cursor->overrun;
}

void perf_header_add_feature(
	struct perf_header *header, unsigned feature, const uint8_t *bytes, size_t len)
{
	struct bytes_cursor cursor = bytes_cursor(bytes, len);
	switch ((enum perf_feature)feature) {
	case FEATURE_BUILD_ID:
		take_build_ids(header, &cursor);
		return;
	case FEATURE_HOSTNAME:
		take_perf_text(&header->host, &cursor);
		return;
	case FEATURE_OSRELEASE:
		take_perf_text(&header->kernel, &cursor);
		return;
	case FEATURE_VERSION:
		take_perf_text(&header->version, &cursor);
		return;
	case FEATURE_ARCH:
		take_perf_text(&header->arch, &cursor);
		return;
	case FEATURE_NRCPUS:
		bytes_get_u32(&cursor); /* that there could be */
		header->cpus = bytes_get_u32(&cursor);
		return;
	case FEATURE_CMDLINE:
		take_command_line(header, &cursor);
		return;
	case FEATURE_EVENT_DESC:
		take_event_names(header, &cursor);
		return;
	case FEATURE_CLOCK_DATA:
		take_clock(header, &cursor);
		return;
	}
}

/* A table of them stands behind the events: a section for each bit that is set. */
static struct err *read_features(
	struct perf_header *header, const struct import_file *file, const uint8_t *bits)
{
	struct bytes_buf table = {0}, body = {0};
	uint64_t offset = header->data_offset + header->data_bytes;
	unsigned count = 0;
	for (unsigned i = 0; i < FEATURE_BITS; i++)
		count += bits[i / 8] >> i % 8 & 1;
	try(import_file_read(
		file, offset, (uint64_t)count * SECTION_BYTES, "its table of features", &table));
	struct bytes_cursor cursor = bytes_cursor(table.data, table.len);
	struct err *err = NULL;
	for (unsigned i = 0; i < FEATURE_BITS && !err; i++) {
		if (!(bits[i / 8] >> i % 8 & 1))
			continue;
		struct perf_section section = get_section(&cursor);
		if (section.bytes > MAX_FEATURE_BYTES)
			continue;
		err = import_file_read(file, section.offset, section.bytes, "a feature", &body);
		if (!err)
			perf_header_add_feature(header, i, body.data, body.len);
	}
	bytes_buf_deinit(&table);
	bytes_buf_deinit(&body);
	return err;
}

/* ---- the file ---- */

static struct err *read_file_header(
	struct perf_header *header, const struct import_file *file, struct bytes_cursor *cursor)
{
	uint64_t attr_bytes = bytes_get_u64(cursor);
	struct perf_section attrs = get_section(cursor), data = get_section(cursor);
	get_section(cursor); /* event types, of perf before 3.10 */
	const uint8_t *features = bytes_get(cursor, FEATURE_BITS / 8);
	if (data.offset > file->bytes)
		return err_new(ERR_FORMAT,
			"its header says that events begin at %llu, but the file ends at %llu",
			(unsigned long long)data.offset, (unsigned long long)file->bytes);
	header->data_offset = data.offset;
	uint64_t there = file->bytes - data.offset;
	header->is_unfinished = !data.bytes || data.bytes > there;
	header->data_bytes = header->is_unfinished ? there : data.bytes;
	try(read_attrs(header, file, &attrs, attr_bytes));
	return header->is_unfinished ? NULL : read_features(header, file, features);
}

struct err *perf_header_read(struct perf_header *header, const struct import_file *file)
{
	struct bytes_buf bytes = {0};
	uint64_t wanted = file->bytes < FILE_HEADER_BYTES ? file->bytes : FILE_HEADER_BYTES;
	try(import_file_read(file, 0, wanted, "its header", &bytes));
	struct bytes_cursor cursor = bytes_cursor(bytes.data, bytes.len);
	bytes_get_u64(&cursor);
	uint64_t header_bytes = bytes_get_u64(&cursor);
	struct err *err = NULL;
	header->is_pipe = header_bytes == PIPE_HEADER_BYTES;
	header->data_offset = PIPE_HEADER_BYTES;
	header->data_bytes = file->bytes - PIPE_HEADER_BYTES;
	if (cursor.overrun || (!header->is_pipe && bytes.len < FILE_HEADER_BYTES))
		err = err_new(ERR_FORMAT, "the file ends at %llu, in its header",
			(unsigned long long)file->bytes);
	else if (!header->is_pipe && header_bytes != FILE_HEADER_BYTES)
		err = err_new(ERR_FORMAT, "its header has %llu bytes, not %d",
			(unsigned long long)header_bytes, FILE_HEADER_BYTES);
	else if (!header->is_pipe)
		err = read_file_header(header, file, &cursor);
	bytes_buf_deinit(&bytes);
	return err;
}

void perf_header_deinit(struct perf_header *header)
{
	vec_each(&header->events, event)
		mem_free(event->name);
	vec_deinit(&header->events);
	map_deinit(&header->events_by_id);
	strtab_deinit(&header->paths);
	vec_deinit(&header->build_ids);
	char *texts[] = {header->host, header->kernel, header->version, header->arch,
		header->command, header->args};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		mem_free(texts[i]);
}

const struct perf_build_id *perf_header_build_id(
	const struct perf_header *header, const char *path, size_t len)
{
	uint32_t number;
	return strtab_find((struct strtab *)&header->paths, path, len, &number)
		       ? &header->build_ids.data[number]
		       : NULL;
}

/* ---- names of events ---- */

enum { /* perf_type_id */
	TYPE_HARDWARE = 0,
	TYPE_SOFTWARE = 1,
	TYPE_TRACEPOINT = 2,
};

static const char *known_name(const struct perf_event *event)
{
	static const char *const hardware[] = {"cycles", "instructions", "cache-references",
		"cache-misses", "branches", "branch-misses", "bus-cycles",
		"stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles"};
	static const char *const software[] = {"cpu-clock", "task-clock", "page-faults",
		"context-switches", "cpu-migrations", "minor-faults", "major-faults",
		"alignment-faults", "emulation-faults", "dummy", "bpf-output", "cgroup-switches"};
	if (event->type == TYPE_HARDWARE && event->config < sizeof(hardware) / sizeof(*hardware))
		return hardware[event->config];
	if (event->type == TYPE_SOFTWARE && event->config < sizeof(software) / sizeof(*software))
		return software[event->config];
	return NULL;
}

/* "cycles:ppH" counts what "cycles" does; "cycles:u" does not. */
static size_t len_without_precision(const char *name)
{
	const char *colon = strrchr(name, ':');
	size_t len = strlen(name);
	if (!colon || colon == name || !colon[1])
		return len;
	return strspn(colon + 1, "pPHDSIW") == strlen(colon + 1) ? (size_t)(colon - name) : len;
}

void perf_header_put_name(const struct perf_event *event, struct str *out)
{
	const char *known = known_name(event);
	if (event->name && event->type == TYPE_TRACEPOINT)
		str_puts(out, event->name);
	else if (event->name)
		str_write(out, event->name, len_without_precision(event->name));
	else if (known)
		str_puts(out, known);
	else
		str_printf(out, "event %u:%#llx", event->type, (unsigned long long)event->config);
}
