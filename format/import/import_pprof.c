#include "format/import/import_pprof.h"

#include <string.h>

#include "format/base/hex.h"
#include "format/base/inflate.h"
#include "format/file/layout.h"
#include "format/import/import_counts.h"
#include "format/import/pprof_tables.h"

enum {
	MAX_PACKED_BYTES = 1 << 30,
	MAX_UNPACKED_BYTES = 1 << 30,
	GZIP_HEADER_BYTES = 10,
	GZIP_TRAILER_BYTES = 8,
	PLACE_BYTES = 16,    /* between the offsets of places without an address */
	MAX_TYPES = 64,      /* profilers have a handful */
	FIRST_FIELD_MAX = 6, /* types, samples, mappings, places, functions, strings */
	FIELD_MAX = 31,      /* of profiles, with what may still come */
	SAMPLES_AT_NS = 1,
};

enum pprof_sample_field {
	SAMPLE_PLACE = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,
};

/* A type of values as an event, and the type that counts its samples. */
struct pprof_event {
	struct import_counts counts;
	size_t value, count; /* indices of types */
	bool has_count;
	uint64_t unit_ns; /* of values, to be multiplied; 1: they are something else */
	uint64_t period;  /* of its values, where no type counts samples; else 0 */
};

struct import_pprof {
	struct import_output *output;
	struct pprof_tables tables;
	VEC(struct pprof_event) events;
	uint32_t *objects;    /* of each map, with addresses; 0: not there yet */
	struct map frames;    /* index of a place -> frame */
	struct map owners;    /* frame -> index of the place that has it plus 1 */
	struct map processes; /* pid -> id */
	uint64_t nr_negative, nr_deep, nr_astray;
};

/* One sample, as its message has it. */
struct pprof_sample {
	VEC(uint64_t) places; /* ids, the innermost first */
	uint64_t values[MAX_TYPES];
	uint32_t nr_values;
	uint32_t labels;
	uint64_t pid, tid;
	struct pprof_text comm;
};

/* ---- what it is ---- */

static bool is_gzip(const uint8_t *bytes, size_t len)
{
	return len >= GZIP_HEADER_BYTES && bytes[0] == 0x1f && bytes[1] == 0x8b && bytes[2] == 8;
}

/* Profiles begin with a type of values, mostly, or with another message of theirs. */
bool import_pprof_is(const uint8_t *head, size_t len)
{
	struct bytes_cursor cursor = bytes_cursor(head, len);
	struct pprof_field field;
	if (is_gzip(head, len))
		return true;
	if (!pprof_field_next(&cursor, &field) || field.is_number || field.number > FIRST_FIELD_MAX)
		return false;
	while (pprof_field_next(&cursor, &field))
		if (!field.number || field.number > FIELD_MAX)
			return false;
	return !cursor.overrun || len == IMPORT_HEAD_BYTES;
}

/* RFC 1952. False: it is cut. */
static bool skip_gzip_header(struct bytes_cursor *cursor)
{
	enum {
		HAS_SUM = 1 << 1,
		HAS_EXTRA = 1 << 2,
		HAS_NAME = 1 << 3,
		HAS_COMMENT = 1 << 4,
	};
	bytes_get(cursor, 3);
	uint8_t flags = bytes_get_u8(cursor);
	bytes_get(cursor, 6);
	if (flags & HAS_EXTRA)
		bytes_get(cursor, bytes_get_u16(cursor));
	for (int text = HAS_NAME; text <= HAS_COMMENT; text <<= 1)
		while (flags & text && !cursor->overrun && bytes_get_u8(cursor))
			;
	if (flags & HAS_SUM)
		bytes_get_u16(cursor);
	return !cursor->overrun && bytes_left(cursor) >= GZIP_TRAILER_BYTES;
}

static struct err *unpack_pprof(const struct bytes_buf *packed, struct bytes_buf *ret)
{
	struct bytes_cursor cursor = bytes_cursor(packed->data, packed->len);
	if (!skip_gzip_header(&cursor))
		return err_new(
			ERR_FORMAT, "the file ends at %zu, in the header of gzip", packed->len);
	struct bytes_cursor trailer =
		bytes_cursor(packed->data + packed->len - 4, sizeof(uint32_t));
	uint32_t len = bytes_get_u32(&trailer);
	size_t packed_len = bytes_left(&cursor) - GZIP_TRAILER_BYTES;
	if (len > MAX_UNPACKED_BYTES || len / 1100 > packed_len)
		return err_new(ERR_FORMAT,
			"it is cut or damaged: what stands at offset %zu, its end, is no trailer "
			"of "
			"gzip, since it would unpack to %u bytes",
			packed->len - 4, len);
	vec_resize(ret, len);
	if (!inflate_raw(cursor.pos, packed_len, ret->data, len))
		return err_new(ERR_FORMAT,
			"what is compressed, from offset %zu to %zu, is damaged or cut",
			bytes_offset(&cursor), packed->len);
	return NULL;
}

static bool pprof_begins_with(const struct bytes_buf *bytes, const char *text)
{
	return bytes->len >= strlen(text) && memcmp(bytes->data, text, strlen(text)) == 0;
}

/* Other files are compressed, too. */
static struct err *check_unpacked(const struct bytes_buf *unpacked)
{
	const char *other = pprof_begins_with(unpacked, LAYOUT_MAGIC) ? "a recording of ebprof"
			    : pprof_begins_with(unpacked, "PERFILE2") ? "a perf.data"
								      : NULL;
	return other ? err_new(ERR_FORMAT,
			       "it is none, but %s that gzip compressed: gunzip it first", other)
		     : NULL;
}

/* ---- events ---- */

static bool text_is(struct pprof_text text, const char *word)
{
	return text.len == strlen(word) && memcmp(text.bytes, word, text.len) == 0;
}

/* A type of unit "count" in front of one of another unit counts its samples: cpu, heap, locks. */
static void add_pprof_event(struct import_pprof *pprof, size_t index, bool has_count)
{
	const struct pprof_tables *tables = &pprof->tables;
	const struct pprof_type *type = &tables->types.data[index];
	struct pprof_text name = pprof_tables_text(tables, type->name);
	struct pprof_text unit = pprof_tables_text(tables, type->unit);
	uint64_t ns = import_counts_ns_of_unit(unit.bytes, unit.len);
	struct pprof_event event = {.value = index,
		.count = index - has_count,
		.has_count = has_count,
		.unit_ns = ns ? ns : 1};
	if (text_is(unit, "count") && !has_count) {
		event.has_count = true;
		event.count = index;
		unit = name;
	}
	if (type->name == tables->period_type.name && type->unit == tables->period_type.unit)
		event.period = tables->period;
	CLEANUP_FREE char *name_text = mem_strndup(name.bytes, name.len);
	CLEANUP_FREE char *unit_text = mem_strndup(unit.bytes, unit.len);
	import_counts_event(
		&event.counts, pprof->output, name_text, ns ? LAYOUT_UNIT_NS : unit_text);
	vec_push(&pprof->events, event);
}

static struct err *find_pprof_events(struct import_pprof *pprof)
{
	const struct pprof_tables *tables = &pprof->tables;
	size_t count = tables->types.len;
	if (!count)
		return err_new(ERR_FORMAT, "it has no types of values: is it a profile of pprof?");
	if (count > MAX_TYPES)
		return err_new(
			ERR_FORMAT, "it has %zu types of values, %d are read", count, MAX_TYPES);
	for (size_t i = 0; i < count; i++) {
		bool counts_next =
			i + 1 < count &&
			text_is(pprof_tables_text(tables, tables->types.data[i].unit), "count") &&
			!text_is(
				pprof_tables_text(tables, tables->types.data[i + 1].unit), "count");
		add_pprof_event(pprof, i + counts_next, counts_next);
		i += counts_next;
	}
	return NULL;
}

/* ---- places ---- */

static bool is_kernel_path(struct pprof_text path)
{
	static const char kernel[] = "[kernel";
	return path.len >= sizeof(kernel) - 1 &&
	       memcmp(path.bytes, kernel, sizeof(kernel) - 1) == 0;
}

/* False: there are other characters in it. */
static bool take_hex(struct pprof_text text, uint8_t *ret)
{
	for (size_t i = 0; i + 1 < text.len; i += 2) {
		int high = hex_digit_value(text.bytes[i]), low = hex_digit_value(text.bytes[i + 1]);
		if (high < 0 || low < 0)
			return false;
		ret[i / 2] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static uint32_t object_of_map(struct import_pprof *pprof, const struct pprof_map *map)
{
	size_t index = (size_t)(map - pprof->tables.maps.data);
	uint32_t known = pprof->objects[index];
	struct pprof_text path = pprof_tables_text(&pprof->tables, map->path);
	struct pprof_text id = pprof_tables_text(&pprof->tables, map->build_id);
	struct layout_object object = {.kind = LAYOUT_OBJECT_FILE};
	if (known)
		return known;
	if (is_kernel_path(path))
		object = (struct layout_object){.kind = LAYOUT_OBJECT_KERNEL, .base = map->start};
	else if (text_is(path, "[vdso]"))
		object.kind = LAYOUT_OBJECT_VDSO;
	else if (!path.len || path.bytes[0] != '/')
		object.kind = LAYOUT_OBJECT_UNKNOWN;
	size_t bytes = id.len / 2;
	if (id.len % 2 == 0 && bytes && bytes <= LAYOUT_BUILD_ID_MAX_BYTES &&
		take_hex(id, object.build_id))
		object.build_id_len = (uint32_t)bytes;
	CLEANUP_FREE char *text = mem_strndup(path.bytes, path.len);
	known = import_output_object(pprof->output, &object,
		is_kernel_path(path) ? "[kernel.kallsyms]"
		: path.len           ? text
				     : "[pprof]");
	pprof->objects[index] = known;
	return known;
}

/* Of code without addresses: its map's name, or that of the profile, says whose it is. */
static uint32_t object_without_addresses(struct import_pprof *pprof, const struct pprof_map *map)
{
	struct pprof_text path = {"[pprof]", 7};
	if (map && pprof_tables_text(&pprof->tables, map->path).len)
		path = pprof_tables_text(&pprof->tables, map->path);
	CLEANUP_FREE char *text = mem_strndup(path.bytes, path.len);
	return import_output_object(
		pprof->output, &(struct layout_object){.kind = LAYOUT_OBJECT_UNKNOWN}, text);
}

/* Names that are mangled are shown as the reader demangles them; all others as they are. */
static struct pprof_text name_of_code(
	const struct pprof_tables *tables, const struct pprof_code *code)
{
	struct pprof_text mangled = pprof_tables_text(tables, code->system_name);
	struct pprof_text name = pprof_tables_text(tables, code->name);
	bool is_mangled = mangled.len > 2 && mangled.bytes[0] == '_' &&
			  (mangled.bytes[1] == 'Z' || mangled.bytes[1] == 'R');
	return is_mangled || !name.len ? mangled : name;
}

static const char *keep_pprof_text(struct arena *arena, struct pprof_text text)
{
	return text.len ? arena_strndup(arena, text.bytes, text.len) : NULL;
}

/* A line's field 1 is its function, 2 the line; the first one is innermost. */
static void add_pprof_line(const struct pprof_tables *tables, struct bytes_cursor line,
	struct arena *arena, struct chain_frame *ret)
{
	uint64_t function = 0, number = 0;
	for (struct pprof_field field; pprof_field_next(&line, &field);) {
		if (field.number == 1)
			function = field.value;
		else if (field.number == 2)
			number = field.value;
	}
	const struct pprof_code *code = pprof_tables_function(tables, function);
	*ret = (struct chain_frame){.line = number > UINT32_MAX ? 0 : (uint32_t)number};
	if (!code)
		return;
	ret->function = keep_pprof_text(arena, name_of_code(tables, code));
	ret->file = ret->decl_file = keep_pprof_text(arena, pprof_tables_text(tables, code->file));
	ret->decl_line = code->line > UINT32_MAX ? 0 : (uint32_t)code->line;
}

static void put_pprof_chain(struct import_pprof *pprof, const struct pprof_place *place,
	uint32_t object, uint64_t offset)
{
	enum {
		PLACE_LINE = 4,
	};
	struct arena arena = {0};
	VEC(struct chain_frame) frames = {0};
	struct bytes_cursor message = place->lines;
	for (struct pprof_field field; pprof_field_next(&message, &field);) {
		struct chain_frame frame;
		if (field.number != PLACE_LINE || field.is_number ||
			frames.len == CHAIN_MAP_MAX_DEPTH)
			continue;
		add_pprof_line(&pprof->tables, field.bytes, &arena, &frame);
		frame.is_inlined = true;
		vec_push(&frames, frame);
	}
	if (frames.len) {
		frames.data[frames.len - 1].is_inlined = false;
		import_output_chain(pprof->output, object, offset,
			&(struct chain){frames.data, (uint32_t)frames.len});
	}
	vec_deinit(&frames);
	arena_deinit(&arena);
}

/* Two places of one address that have different names are two. */
static uint32_t frame_of_place(struct import_pprof *pprof, const struct pprof_place *place)
{
	const struct pprof_map *map = pprof_tables_map(&pprof->tables, place->map);
	uint64_t index = (uint64_t)(place - pprof->tables.places.data);
	bool is_new, has_address = map && place->address && place->address >= map->start;
	uint64_t *known = map_put(&pprof->frames, index, &is_new);
	if (!is_new)
		return (uint32_t)*known;
	for (;;) {
		uint32_t object = has_address ? object_of_map(pprof, map)
					      : object_without_addresses(pprof, map);
		uint64_t offset = (index + 1) * PLACE_BYTES;
		if (has_address)
			offset = place->address - map->start +
				 (is_kernel_path(pprof_tables_text(&pprof->tables, map->path))
						 ? 0
						 : map->offset);
		uint32_t frame = import_output_frame(pprof->output,
			&(struct layout_frame){.object = object, .offset = offset}, NULL);
		uint64_t *owner = map_put(&pprof->owners, frame, NULL);
		if (*owner && has_address) {
			has_address = false;
			continue;
		}
		*owner = index + 1;
		*known = frame;
		put_pprof_chain(pprof, place, object, offset);
		return frame;
	}
}

/* ---- samples ---- */

struct pprof_label {
	struct pprof_text key, text;
	uint64_t number;
	bool is_text;
};

static struct pprof_label get_pprof_label(
	const struct pprof_tables *tables, struct bytes_cursor message)
{
	struct pprof_label label = {{"", 0}, {"", 0}, 0, false};
	for (struct pprof_field field; pprof_field_next(&message, &field);) {
		if (field.number == 1)
			label.key = pprof_tables_text(tables, field.value);
		else if (field.number == 2 && field.value) {
			label.text = pprof_tables_text(tables, field.value);
			label.is_text = true;
		} else if (field.number == 3)
			label.number = field.value;
	}
	return label;
}

/* What tells of tasks is no label here. */
static bool take_task_label(struct pprof_sample *sample, const struct pprof_label *label)
{
	if (!label->is_text && (text_is(label->key, "pid") || text_is(label->key, "process_id")))
		sample->pid = label->number;
	else if (!label->is_text &&
		 (text_is(label->key, "tid") || text_is(label->key, "thread_id")))
		sample->tid = label->number;
	else if (label->is_text && (text_is(label->key, "comm") || text_is(label->key, "thread") ||
					   text_is(label->key, "thread_name")))
		sample->comm = label->text;
	else
		return false;
	return true;
}

static uint32_t add_pprof_label(
	struct import_pprof *pprof, uint32_t rest, const struct pprof_label *label)
{
	struct writer *writer = pprof->output->writer;
	struct layout_label out = {
		.rest = rest,
		.key = writer_string(writer, label->key.bytes, label->key.len),
		.kind = label->is_text ? LAYOUT_LABEL_TEXT : LAYOUT_LABEL_NUMBER,
		.value = label->is_text ? writer_string(writer, label->text.bytes, label->text.len)
					: label->number,
	};
	return import_output_label(pprof->output, &out);
}

static void read_pprof_sample(
	struct import_pprof *pprof, struct bytes_cursor message, struct pprof_sample *ret)
{
	uint32_t nr_labels = 0;
	uint64_t number;
	ret->places.len = ret->nr_values = ret->labels = 0;
	ret->pid = ret->tid = 0;
	ret->comm = (struct pprof_text){"", 0};
	for (struct pprof_field field; pprof_field_next(&message, &field);) {
		if (field.number == SAMPLE_PLACE) {
			while (pprof_number_next(&field, &number))
				vec_push(&ret->places, number);
		} else if (field.number == SAMPLE_VALUE) {
			while (pprof_number_next(&field, &number) && ret->nr_values < MAX_TYPES)
				ret->values[ret->nr_values++] = number;
		} else if (field.number == SAMPLE_LABEL && !field.is_number) {
			struct pprof_label label = get_pprof_label(&pprof->tables, field.bytes);
			if (!take_task_label(ret, &label) && label.key.len &&
				nr_labels++ < LAYOUT_MAX_LABELS)
				ret->labels = add_pprof_label(pprof, ret->labels, &label);
		}
	}
}

static uint64_t value_of(const struct pprof_sample *sample, size_t type)
{
	return type < sample->nr_values ? sample->values[type] : 0;
}

/* How many samples are summed up in one; at least one of any value. */
static uint64_t count_of_sample(const struct pprof_event *event, const struct pprof_sample *sample)
{
	uint64_t value = value_of(sample, event->value);
	uint64_t count = event->has_count ? value_of(sample, event->count)
			 : event->period  ? value / event->period
					  : 1;
	return value && !count ? 1 : count;
}

static uint64_t value_of_event(const struct pprof_event *event, const struct pprof_sample *sample)
{
	uint64_t value;
	return __builtin_mul_overflow(value_of(sample, event->value), event->unit_ns, &value)
		       ? UINT64_MAX
		       : value;
}

/* Differences of profiles have values below 0, which no time is. */
static bool has_negative(const struct pprof_sample *sample)
{
	for (uint32_t i = 0; i < sample->nr_values; i++)
		if (sample->values[i] >> 63)
			return true;
	return false;
}

static uint32_t pprof_thread(struct import_pprof *pprof, const struct pprof_sample *sample)
{
	uint32_t pid = (uint32_t)sample->pid;
	CLEANUP_FREE char *comm = mem_strndup(sample->comm.bytes, sample->comm.len);
	bool is_new;
	uint64_t *process = map_put(&pprof->processes, pid, &is_new);
	if (is_new)
		*process =
			writer_process(pprof->output->writer, &(struct layout_process){.pid = pid});
	return import_output_thread(
		pprof->output, (uint32_t)*process, sample->tid ? (uint32_t)sample->tid : pid, comm);
}

/* The kernel's frames, the innermost, stand on the user's. */
static void put_pprof_stack(
	struct import_pprof *pprof, const struct pprof_sample *sample, struct layout_sample *out)
{
	size_t count = sample->places.len;
	uint32_t *top = &out->user_stack;
	pprof->nr_deep += count > IMPORT_MAX_DEPTH;
	size_t last = count > IMPORT_MAX_DEPTH ? count - IMPORT_MAX_DEPTH : 0;
	for (size_t i = count; i-- > last;) {
		const struct pprof_place *place =
			pprof_tables_place(&pprof->tables, sample->places.data[i]);
		if (!place) {
			pprof->nr_astray++;
			continue;
		}
		const struct pprof_map *map = pprof_tables_map(&pprof->tables, place->map);
		if (map && is_kernel_path(pprof_tables_text(&pprof->tables, map->path)))
			top = &out->kernel_stack;
		*top = import_output_node(pprof->output, *top, frame_of_place(pprof, place));
	}
}

static struct err *expect_samples(struct import_pprof *pprof, struct pprof_sample *sample)
{
	vec_each(&pprof->tables.samples, message) {
		read_pprof_sample(pprof, *message, sample);
		if (has_negative(sample))
			continue;
		vec_each(&pprof->events, event)
			if (!import_counts_expect(&event->counts, count_of_sample(event, sample)))
				return err_new(ERR_FORMAT,
					"the counts of its samples are too large to be added");
	}
	return NULL;
}

static void write_pprof_samples(struct import_pprof *pprof, struct pprof_sample *sample)
{
	vec_each(&pprof->tables.samples, message) {
		read_pprof_sample(pprof, *message, sample);
		if (has_negative(sample)) {
			pprof->nr_negative++;
			continue;
		}
		struct layout_sample out = {.time_ns = SAMPLES_AT_NS,
			.thread = pprof_thread(pprof, sample),
			.labels = sample->labels};
		put_pprof_stack(pprof, sample, &out);
		vec_each(&pprof->events, event)
			import_counts_put(&event->counts, pprof->output, &out,
				count_of_sample(event, sample), value_of_event(event, sample));
	}
}

static void put_pprof_notes(const struct import_pprof *pprof, struct str *notes)
{
	vec_each(&pprof->events, event)
		import_counts_finish(&event->counts, pprof->output, notes);
	if (pprof->nr_negative)
		str_printf(notes, "%llu %s left out: a difference of profiles is no profile\n",
			(unsigned long long)pprof->nr_negative,
			str_plural(pprof->nr_negative, "sample with a value below 0 is",
				"samples with values below 0 are"));
	if (pprof->nr_deep)
		str_printf(notes, "%llu %s deeper than %d frames, the innermost are left out\n",
			(unsigned long long)pprof->nr_deep,
			str_plural(pprof->nr_deep, "stack is", "stacks are"), IMPORT_MAX_DEPTH);
	if (pprof->nr_astray)
		str_printf(notes, "%llu %s of no place in the profile, and left out\n",
			(unsigned long long)pprof->nr_astray,
			str_plural(pprof->nr_astray, "frame is", "frames are"));
}

static struct err *read_pprof_profile(
	struct import_pprof *pprof, const struct bytes_buf *bytes, struct import_result *result)
{
	struct pprof_tables *tables = &pprof->tables;
	struct pprof_sample sample = {0};
	try(pprof_tables_read(tables, bytes->data, bytes->len));
	pprof->objects = mem_zalloc_array(tables->maps.len + 1, sizeof(*pprof->objects));
	try(find_pprof_events(pprof));
	struct err *err = expect_samples(pprof, &sample);
	if (!err) {
		if (tables->time_ns)
			writer_clock(pprof->output->writer,
				&(struct layout_clock){SAMPLES_AT_NS, tables->time_ns});
		write_pprof_samples(pprof, &sample);
		if (tables->duration_ns < INT64_MAX)
			pprof->output->last_ns = SAMPLES_AT_NS + tables->duration_ns;
		put_pprof_notes(pprof, &result->notes);
	}
	vec_deinit(&sample.places);
	return err;
}

struct err *import_pprof_read(
	const struct import_file *file, struct import_output *output, struct import_result *result)
{
	struct import_pprof pprof = {.output = output};
	struct bytes_buf bytes = {0}, unpacked = {0};
	if (file->bytes > MAX_PACKED_BYTES)
		return err_new(ERR_FORMAT, "profiles of more than 1 GiB are not read");
	struct err *err = import_file_read(file, 0, file->bytes, "the profile", &bytes);
	bool is_packed = !err && is_gzip(bytes.data, bytes.len);
	if (is_packed)
		err = unpack_pprof(&bytes, &unpacked);
	if (!err && is_packed)
		err = check_unpacked(&unpacked);
	if (!err)
		err = read_pprof_profile(&pprof, is_packed ? &unpacked : &bytes, result);
	pprof_tables_deinit(&pprof.tables);
	vec_deinit(&pprof.events);
	mem_free(pprof.objects);
	map_deinit(&pprof.frames);
	map_deinit(&pprof.owners);
	map_deinit(&pprof.processes);
	bytes_buf_deinit(&bytes);
	bytes_buf_deinit(&unpacked);
	return err;
}
