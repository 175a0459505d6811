/*
 * perf.data, as `perf report`, hotspot and others read it. Source:
 * tools/perf/Documentation/perf.data-file-format.txt and include/uapi/linux/perf_event.h of the
 * kernel.
 *
 * A recording has places in files, not addresses, so files get addresses here: each has a range of
 * its own, the same in all processes, and the mappings say so. The kernel's stay what they were.
 * Names are not part of the format: its readers find them by build IDs, which are; what was
 * inlined they find by the same files. Code of scripts, and of no file, has none.
 *
 * The header has the size of the samples, which are therefore made twice: counted, then written.
 */
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/map.h"
#include "report/write/export/export.h"

enum perf_data_number {
	FILE_HEADER_BYTES = 104,
	ATTR_BYTES = 128, /* PERF_ATTR_SIZE_VER7 */
	SECTION_BYTES = 16,
	TYPE_SOFTWARE = 1,
	SOFTWARE_CLOCK = 0,
	SOFTWARE_DUMMY = 9, /* for what perf knows by its name alone */
	RECORD_COMM = 3,
	RECORD_SAMPLE = 9,
	RECORD_MMAP2 = 10,
	RECORD_KSYMBOL = 17,
	RECORD_HEADER_BYTES = 8,
	MISC_KERNEL = 1,
	MISC_USER = 2,
	MISC_BUILD_ID = 1 << 14,      /* of MMAP2 */
	MISC_BUILD_ID_SIZE = 1 << 15, /* of the table of build IDs */
	PERF_BUILD_ID_MAX = 20,
	PROT_READ_EXEC = 1 | 4,
	MAP_FLAG_PRIVATE = 2,
	MAX_FRAMES = 8000,     /* so that a record's size fits 16 bits */
	ALIGN_BYTES = 1 << 16, /* of the ranges of files */
	FIRST_ADDRESS = 1 << 22,
	NAME_MAX_BYTES = 4096,
	/* IP, TID, TIME, CALLCHAIN, CPU, PERIOD, IDENTIFIER */
	SAMPLE_TYPE = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 16,
};

static const uint64_t attr_flags_of_all = /* mmap, comm, sample_id_all, mmap2, comm_exec, ksymbol */
	1ULL << 8 | 1ULL << 9 | 1ULL << 18 | 1ULL << 23 | 1ULL << 24 | 1ULL << 29 |
	1ULL << 34; /* build_id */
static const uint64_t attr_flag_freq = 1ULL << 10;
static const int64_t context_kernel = -128, context_user = -512;

struct file_range {           /* of an object */
	uint64_t first, last; /* offsets that occur */
	uint64_t address;     /* of `first`, rounded down */
	bool is_used;
};

struct perf_data {
	const struct profile *profile;
	struct byte_sink sink;
	struct file_range *ranges; /* of each object */
	struct map mapped;         /* process << 32 | object */
	struct map names;          /* pid << 32 | tid -> thread plus 1, whose name it has now */
	struct bytes_buf out, record;
	bool only_counts;
	uint64_t data_bytes;
};

/* ---- where files stand ---- */

static bool is_of_kernel(const struct perf_data *data, uint32_t object)
{
	return profile_is_kernel(data->profile, object);
}

/* What is only made up for a view, or says that a stack is cut, is at no address. */
static bool has_perf_address(const struct perf_data *data, const struct profile_frame *frame)
{
	const struct profile *profile = data->profile;
	return frame->object && frame->object != profile->syscall_object &&
	       frame->object != profile->wait_object;
}

static void find_ranges(struct perf_data *data)
{
	const struct profile *profile = data->profile;
	uint64_t address = FIRST_ADDRESS;
	data->ranges = mem_zalloc_array(profile->objects.len, sizeof(*data->ranges));
	vec_each(&profile->frames, frame) {
		struct file_range *range = &data->ranges[frame->object];
		if (!range->is_used || frame->offset < range->first)
			range->first = frame->offset;
		if (!range->is_used || frame->offset > range->last)
			range->last = frame->offset;
		range->is_used = true;
	}
	for (uint32_t i = 1; i < profile->objects.len; i++) {
		struct file_range *range = &data->ranges[i];
		uint64_t base = profile->objects.data[i].info.base;
		range->first &= ~(uint64_t)(ALIGN_BYTES - 1);
		range->last |= ALIGN_BYTES - 1;
		if (is_of_kernel(data, i)) {
			range->address = base + range->first;
			continue;
		}
		range->address = address;
		address += range->last - range->first + 1;
	}
}

static uint64_t address_of(const struct perf_data *data, const struct profile_frame *frame)
{
	const struct file_range *range = &data->ranges[frame->object];
	return frame->offset - range->first + range->address;
}

/* ---- records ---- */

static struct err *perf_data_flush(struct perf_data *data, size_t limit)
{
	if (data->out.len <= limit)
		return NULL;
	if (!data->only_counts)
		try(data->sink.write(data->sink.context, data->out.data, data->out.len));
	data->out.len = 0;
	return NULL;
}

static void put_record(struct perf_data *data, uint32_t type, uint16_t misc)
{
	struct bytes_buf *record = &data->record;
	bytes_put_u32(&data->out, type);
	bytes_put_u16(&data->out, misc);
	bytes_put_u16(&data->out, (uint16_t)(record->len + RECORD_HEADER_BYTES));
	bytes_put(&data->out, record->data, record->len);
	data->data_bytes += record->len + RECORD_HEADER_BYTES;
	record->len = 0;
}

/* With a NUL, and filled up to words. */
static void put_word_text(struct bytes_buf *out, const char *text)
{
	bytes_put(out, text, strnlen(text, NAME_MAX_BYTES));
	do
		bytes_put_u8(out, 0);
	while (out->len % sizeof(uint64_t));
}

/* Behind each record that is no sample, as sample_id_all wants it. */
static void put_sample_ids(struct perf_data *data, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	bytes_put_u32(&data->record, pid);
	bytes_put_u32(&data->record, tid);
	bytes_put_u64(&data->record, time_ns);
	bytes_put_u64(&data->record, 0); /* CPU */
	bytes_put_u64(&data->record, 1); /* the first event */
}

static void put_perf_comm(struct perf_data *data, uint32_t index, uint64_t time_ns)
{
	const struct profile_thread *thread = &data->profile->threads.data[index];
	uint64_t *named = map_put(&data->names, (uint64_t)thread->pid << 32 | thread->tid, NULL);
	if (*named == (uint64_t)index + 1)
		return;
	*named = (uint64_t)index + 1;
	bytes_put_u32(&data->record, thread->pid);
	bytes_put_u32(&data->record, thread->tid);
	put_word_text(&data->record, thread->comm);
	put_sample_ids(data, thread->pid, thread->tid, time_ns);
	put_record(data, RECORD_COMM, 0);
}

static bool has_perf_build_id(const struct profile_object *object)
{
	return object->info.build_id_len && object->info.build_id_len <= PERF_BUILD_ID_MAX;
}

static void put_build_id_bytes(struct bytes_buf *out, const struct profile_object *object)
{
	static const uint8_t zeros[PERF_BUILD_ID_MAX];
	uint32_t len = object->info.build_id_len;
	bytes_put(out, object->info.build_id, len);
	bytes_put(out, zeros, PERF_BUILD_ID_MAX - len);
}

/* Instead of device and inode, where there is one. */
static uint16_t put_identity(struct bytes_buf *out, const struct profile_object *object)
{
	if (has_perf_build_id(object)) {
		bytes_put_u32(out, object->info.build_id_len);
		put_build_id_bytes(out, object);
		return MISC_BUILD_ID;
	}
	bytes_put_u32(out, object->info.device >> 20);
	bytes_put_u32(out, object->info.device & ((1U << 20) - 1));
	bytes_put_u64(out, object->info.inode);
	bytes_put_u64(out, 0);
	return 0;
}

static const char *perf_path_of(const struct profile_object *object)
{
	switch (object->info.kind) {
	case LAYOUT_OBJECT_KERNEL:
		return "[kernel.kallsyms]_text";
	case LAYOUT_OBJECT_ANONYMOUS:
		return "//anon";
	default:
		return object->path;
	}
}

/* BPF programs come by their names, all else is a mapping. */
static void put_perf_program(struct perf_data *data, uint32_t index, uint64_t time_ns)
{
	const struct file_range *range = &data->ranges[index];
	bytes_put_u64(&data->record, range->address);
	bytes_put_u32(&data->record, (uint32_t)(range->last - range->first + 1));
	bytes_put_u16(&data->record, 1); /* PERF_RECORD_KSYMBOL_TYPE_BPF */
	bytes_put_u16(&data->record, 0);
	put_word_text(&data->record, data->profile->objects.data[index].path);
	put_sample_ids(data, UINT32_MAX, 0, time_ns);
	put_record(data, RECORD_KSYMBOL, 0);
}

static void put_perf_mapping(
	struct perf_data *data, uint32_t process, uint32_t pid, uint32_t index, uint64_t time_ns)
{
	const struct profile_object *object = &data->profile->objects.data[index];
	const struct file_range *range = &data->ranges[index];
	bool is_new, is_kernel = is_of_kernel(data, index);
	map_put(&data->mapped, (uint64_t)(is_kernel ? 0 : process) << 32 | index, &is_new);
	if (!is_new || object->info.kind == LAYOUT_OBJECT_UNKNOWN)
		return;
	if (object->info.kind == LAYOUT_OBJECT_BPF) {
		put_perf_program(data, index, time_ns);
		return;
	}
	bool is_image = object->info.kind == LAYOUT_OBJECT_KERNEL;
	uint64_t start = is_image ? object->info.base : range->address;
	bytes_put_u32(&data->record, is_kernel ? UINT32_MAX : pid);
	bytes_put_u32(&data->record, is_kernel ? 0 : pid);
	bytes_put_u64(&data->record, start);
	bytes_put_u64(&data->record, range->address + (range->last - range->first + 1) - start);
	bytes_put_u64(&data->record, is_image ? object->info.base : is_kernel ? 0 : range->first);
	uint16_t misc = put_identity(&data->record, object);
	bytes_put_u32(&data->record, PROT_READ_EXEC);
	bytes_put_u32(&data->record, MAP_FLAG_PRIVATE);
	put_word_text(&data->record, perf_path_of(object));
	put_sample_ids(data, is_kernel ? UINT32_MAX : pid, is_kernel ? 0 : pid, time_ns);
	put_record(data, RECORD_MMAP2, misc | (is_kernel ? MISC_KERNEL : MISC_USER));
}

/* ---- samples ---- */

/* Callers are known by the last byte of their call, and readers expect where it returns to. */
static void put_perf_chain(struct perf_data *data, uint32_t stack,
	const struct profile_thread *thread, uint64_t time_ns, uint64_t *ip,
	struct bytes_buf *chain)
{
	struct profile_walk walk = profile_walk(data->profile, stack);
	int64_t context = 0;
	size_t count = 0;
	for (uint32_t index; (index = profile_walk_recorded(&walk)) && count < MAX_FRAMES;) {
		const struct profile_frame *frame = &data->profile->frames.data[index];
		if (!has_perf_address(data, frame))
			continue;
		int64_t side = is_of_kernel(data, frame->object) ? context_kernel : context_user;
		uint64_t address = address_of(data, frame) + (side == context);
		if (side != context)
			bytes_put_u64(chain, (uint64_t)side);
		context = side;
		bytes_put_u64(chain, address);
		if (!count++)
			*ip = address;
		put_perf_mapping(data, thread->process, thread->pid, frame->object, time_ns);
	}
}

/* Events stand in the header as they do in the profile, but for its first, which is none. */
static uint64_t perf_id_of(const struct perf_data *data, uint32_t event)
{
	return event && event < data->profile->events.len ? event : 1;
}

static void put_perf_sample(
	struct perf_data *data, const struct profile_sample *sample, struct bytes_buf *chain)
{
	const struct profile_thread *thread = &data->profile->threads.data[sample->thread];
	uint64_t ip = 0;
	chain->len = 0;
	put_perf_comm(data, sample->thread, sample->time_ns);
	put_perf_chain(data, sample->stack, thread, sample->time_ns, &ip, chain);
	struct bytes_cursor first = bytes_cursor(chain->data, chain->len);
	bool is_kernel = bytes_get_u64(&first) == (uint64_t)context_kernel;
	struct bytes_buf *record = &data->record;
	bytes_put_u64(record, perf_id_of(data, sample->event));
	bytes_put_u64(record, ip);
	bytes_put_u32(record, thread->pid);
	bytes_put_u32(record, thread->tid);
	bytes_put_u64(record, sample->time_ns);
	bytes_put_u32(record, sample->cpu);
	bytes_put_u32(record, 0);
	bytes_put_u64(record, profile_sample_value(data->profile, sample));
	bytes_put_u64(record, chain->len / sizeof(uint64_t));
	bytes_put(record, chain->data, chain->len);
	put_record(data, RECORD_SAMPLE, is_kernel ? MISC_KERNEL : MISC_USER);
}

static struct err *put_perf_records(struct perf_data *data, bool only_counts)
{
	struct bytes_buf chain = {0};
	struct err *err = NULL;
	data->only_counts = only_counts;
	data->data_bytes = 0;
	map_clear(&data->mapped);
	map_clear(&data->names);
	for (size_t i = 0; i < data->profile->samples.len && !err; i++) {
		put_perf_sample(data, &data->profile->samples.data[i], &chain);
		err = perf_data_flush(data, BYTE_SINK_PIECE_BYTES);
	}
	bytes_buf_deinit(&chain);
	return err ? err : perf_data_flush(data, 0);
}

/* ---- header ---- */

static size_t nr_perf_events(const struct perf_data *data)
{
	return data->profile->events.len > 1 ? data->profile->events.len - 1 : 1;
}

static const struct profile_event *perf_event_at(const struct perf_data *data, size_t i)
{
	return &data->profile->events.data[data->profile->events.len > 1 ? i + 1 : 0];
}

static void put_perf_attr(const struct profile_event *event, struct bytes_buf *out)
{
	size_t start = out->len;
	bool is_clock = strcmp(event->name, "cpu-clock") == 0;
	bytes_put_u32(out, TYPE_SOFTWARE);
	bytes_put_u32(out, ATTR_BYTES);
	bytes_put_u64(out, is_clock ? SOFTWARE_CLOCK : SOFTWARE_DUMMY);
	bytes_put_u64(out, event->frequency_hz ? event->frequency_hz : event->period);
	bytes_put_u64(out, SAMPLE_TYPE);
	bytes_put_u64(out, 0); /* read_format */
	bytes_put_u64(out, attr_flags_of_all | (event->frequency_hz ? attr_flag_freq : 0));
	while (out->len < start + ATTR_BYTES)
		bytes_put_u8(out, 0);
}

/* A text of a feature, behind its length. */
static void put_feature_text(struct bytes_buf *out, const char *text)
{
	struct bytes_buf padded = {0};
	put_word_text(&padded, text);
	bytes_put_u32(out, (uint32_t)padded.len);
	bytes_put(out, padded.data, padded.len);
	bytes_buf_deinit(&padded);
}

static void put_build_ids(const struct perf_data *data, struct bytes_buf *out)
{
	for (uint32_t i = 1; i < data->profile->objects.len; i++) {
		const struct profile_object *object = &data->profile->objects.data[i];
		bool is_kernel = is_of_kernel(data, i);
		struct bytes_buf body = {0};
		if (!data->ranges[i].is_used || !has_perf_build_id(object))
			continue;
		bytes_put_u32(&body, UINT32_MAX);
		put_build_id_bytes(&body, object);
		bytes_put_u32(&body, object->info.build_id_len);
		put_word_text(&body, object->info.kind == LAYOUT_OBJECT_KERNEL ? "[kernel.kallsyms]"
									       : object->path);
		bytes_put_u32(out, 0);
		bytes_put_u16(out, (is_kernel ? MISC_KERNEL : MISC_USER) | MISC_BUILD_ID_SIZE);
		bytes_put_u16(out, (uint16_t)(body.len + RECORD_HEADER_BYTES));
		bytes_put(out, body.data, body.len);
		bytes_buf_deinit(&body);
	}
}

static void put_event_names(const struct perf_data *data, struct bytes_buf *out)
{
	bytes_put_u32(out, (uint32_t)nr_perf_events(data));
	bytes_put_u32(out, ATTR_BYTES);
	for (size_t i = 0; i < nr_perf_events(data); i++) {
		put_perf_attr(perf_event_at(data, i), out);
		bytes_put_u32(out, 1);
		put_feature_text(out, perf_event_at(data, i)->name);
		bytes_put_u64(out, i + 1);
	}
}

static void put_meta_text(const struct perf_data *data, const char *key, struct bytes_buf *out)
{
	const char *text = profile_meta(data->profile, key);
	if (text)
		put_feature_text(out, text);
}

/* As perf has its own: it shows them, and what reads the file finds the command behind "--". */
static void put_command_line(const struct perf_data *data, struct bytes_buf *out)
{
	const char *command = profile_meta(data->profile, LAYOUT_META_COMMAND);
	const char *target = profile_meta(data->profile, LAYOUT_META_TARGET);
	bool is_of_system = target && strcmp(target, LAYOUT_TARGET_SYSTEM) == 0;
	const char *words[] = {"ebprof", "record", is_of_system ? "-a" : "--", command};
	uint32_t count = is_of_system ? 3 : 4;
	if (!is_of_system && !(command && command[0]))
		return;
	bytes_put_u32(out, count);
	for (uint32_t i = 0; i < count; i++)
		put_feature_text(out, words[i]);
}

/* By their numbers, which ascend: tools/perf/util/header.h. */
enum {
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_OSRELEASE = 4,
	FEATURE_ARCH = 6,
	FEATURE_COMMAND_LINE = 11,
	FEATURE_EVENT_DESC = 12,
	FEATURES_END,
};

static void put_perf_feature(const struct perf_data *data, int feature, struct bytes_buf *out)
{
	if (feature == FEATURE_BUILD_ID)
		put_build_ids(data, out);
	else if (feature == FEATURE_HOSTNAME)
		put_meta_text(data, LAYOUT_META_HOST, out);
	else if (feature == FEATURE_OSRELEASE)
		put_meta_text(data, LAYOUT_META_KERNEL, out);
	else if (feature == FEATURE_ARCH)
		put_meta_text(data, LAYOUT_META_ARCH, out);
	else if (feature == FEATURE_COMMAND_LINE)
		put_command_line(data, out);
	else if (feature == FEATURE_EVENT_DESC)
		put_event_names(data, out);
}

/* Those that are not empty: a table of where they stand, then themselves. Returns their bits. */
static uint64_t put_features(const struct perf_data *data, uint64_t offset, struct bytes_buf *out)
{
	struct bytes_buf bodies = {0};
	uint64_t bits = 0, starts[FEATURES_END + 1];
	size_t count = 0;
	for (int i = 0; i < FEATURES_END; i++) {
		starts[count] = bodies.len;
		put_perf_feature(data, i, &bodies);
		if (bodies.len == starts[count])
			continue;
		bits |= 1ULL << i;
		count++;
	}
	starts[count] = bodies.len;
	for (size_t i = 0; i < count; i++) {
		bytes_put_u64(out, offset + count * SECTION_BYTES + starts[i]);
		bytes_put_u64(out, starts[i + 1] - starts[i]);
	}
	bytes_put(out, bodies.data, bodies.len);
	bytes_buf_deinit(&bodies);
	return bits;
}

static void put_perf_section(struct bytes_buf *out, uint64_t offset, uint64_t bytes)
{
	bytes_put_u64(out, offset);
	bytes_put_u64(out, bytes);
}

/* What stands in front of the records; their size is known. */
static void put_perf_head(struct perf_data *data, uint64_t features)
{
	struct bytes_buf *out = &data->out;
	uint64_t count = nr_perf_events(data), entry_bytes = ATTR_BYTES + SECTION_BYTES;
	uint64_t attrs_at = FILE_HEADER_BYTES + count * sizeof(uint64_t);
	bytes_put(out, "PERFILE2", 8);
	bytes_put_u64(out, FILE_HEADER_BYTES);
	bytes_put_u64(out, entry_bytes);
	put_perf_section(out, attrs_at, count * entry_bytes);
	put_perf_section(out, attrs_at + count * entry_bytes, data->data_bytes);
	put_perf_section(out, 0, 0);
	put_perf_section(out, features, 0); /* 256 bits */
	put_perf_section(out, 0, 0);
	for (uint64_t i = 0; i < count; i++)
		bytes_put_u64(out, i + 1);
	for (uint64_t i = 0; i < count; i++) {
		put_perf_attr(perf_event_at(data, i), out);
		put_perf_section(out, FILE_HEADER_BYTES + i * sizeof(uint64_t), sizeof(uint64_t));
	}
}

static uint64_t perf_data_start(const struct perf_data *data)
{
	return FILE_HEADER_BYTES + nr_perf_events(data) * (8 + ATTR_BYTES + SECTION_BYTES);
}

static struct err *write_perf_data(struct perf_data *data)
{
	struct bytes_buf features = {0};
	find_ranges(data);
	struct err *err = put_perf_records(data, true);
	if (err)
		return err;
	uint64_t bits = put_features(data, perf_data_start(data) + data->data_bytes, &features);
	put_perf_head(data, bits);
	err = put_perf_records(data, false);
	if (!err)
		err = data->sink.write(data->sink.context, features.data, features.len);
	bytes_buf_deinit(&features);
	return err;
}

struct err *export_perf_data(
	const struct profile *profile, const struct export_options *options, struct byte_sink sink)
{
	struct perf_data data = {.profile = profile, .sink = sink};
	(void)options;
	struct err *err = write_perf_data(&data);
	mem_free(data.ranges);
	map_deinit(&data.mapped);
	map_deinit(&data.names);
	bytes_buf_deinit(&data.out);
	bytes_buf_deinit(&data.record);
	return err;
}
