#include "format/import/perf_sample.h"

enum {
	READ_ENABLED = 1 << 0, /* bits of read_format */
	READ_RUNNING = 1 << 1,
	READ_ID = 1 << 2,
	READ_GROUP = 1 << 3,
	READ_LOST = 1 << 4,
	BRANCH_HAS_INDEX = 1 << 17, /* bit of branch_sample_type */
	BRANCH_BYTES = 24,
};

static void skip_words(struct bytes_cursor *record, uint64_t count)
{
	if (count > bytes_left(record) / sizeof(uint64_t))
		record->overrun = true;
	else
		bytes_get(record, count * sizeof(uint64_t));
}

static void skip_counters(const struct perf_event *event, struct bytes_cursor *record)
{
	uint64_t format = event->read_format;
	uint64_t times = !!(format & READ_ENABLED) + !!(format & READ_RUNNING);
	uint64_t each = 1 + !!(format & READ_ID) + !!(format & READ_LOST);
	if (!(format & READ_GROUP)) {
		skip_words(record, times + each);
		return;
	}
	uint64_t count = bytes_get_u64(record);
	skip_words(record, times);
	if (count > bytes_left(record))
		record->overrun = true;
	else
		skip_words(record, count * each);
}

/* As many as a number ahead of them says, of `bytes` each. */
static struct bytes_cursor get_sample_entries(
	struct bytes_cursor *record, uint64_t count, size_t bytes)
{
	if (count > bytes_left(record) / bytes)
		record->overrun = true;
	return bytes_get_cursor(record, record->overrun ? 0 : count * bytes);
}

static void get_branches(
	const struct perf_event *event, struct bytes_cursor *record, struct perf_sample *sample)
{
	uint64_t count = bytes_get_u64(record);
	if (event->branch_type & BRANCH_HAS_INDEX)
		bytes_get_u64(record);
	sample->branches = get_sample_entries(record, count, BRANCH_BYTES);
}

static void get_registers(
	const struct perf_event *event, struct bytes_cursor *record, struct perf_sample *sample)
{
	sample->abi = bytes_get_u64(record);
	if (sample->abi)
		sample->registers = get_sample_entries(
			record, (uint64_t)__builtin_popcountll(event->registers), sizeof(uint64_t));
}

static void get_stack(struct bytes_cursor *record, struct perf_sample *sample)
{
	uint64_t room = bytes_get_u64(record);
	if (!room)
		return;
	sample->stack = bytes_get(record, room);
	sample->stack_bytes = bytes_get_u64(record); /* of those, how many perf filled */
	if (sample->stack_bytes > room)
		sample->stack_bytes = room;
}

/* The order of the fields: PERF_RECORD_SAMPLE in include/uapi/linux/perf_event.h. */
bool perf_sample_read(
	const struct perf_event *event, struct bytes_cursor *record, struct perf_sample *ret)
{
	uint64_t type = event->sample_type;
	struct perf_sample sample = {.period = event->period ? event->period : 1};
	if (type & PERF_HAS_IDENTIFIER)
		sample.id = bytes_get_u64(record);
	if (type & PERF_HAS_IP)
		sample.ip = bytes_get_u64(record);
	if (type & PERF_HAS_TID) {
		sample.pid = bytes_get_u32(record);
		sample.tid = bytes_get_u32(record);
	}
	if (type & PERF_HAS_TIME)
		sample.time_ns = bytes_get_u64(record);
	if (type & PERF_HAS_ADDR)
		bytes_get_u64(record);
	if (type & PERF_HAS_ID)
		sample.id = bytes_get_u64(record);
	if (type & PERF_HAS_STREAM_ID)
		bytes_get_u64(record);
	if (type & PERF_HAS_CPU) {
		sample.cpu = bytes_get_u32(record);
		bytes_get_u32(record);
	}
	if (type & PERF_HAS_PERIOD)
		sample.period = bytes_get_u64(record);
	if (type & PERF_HAS_READ)
		skip_counters(event, record);
	if (type & PERF_HAS_CALLCHAIN) {
		sample.has_chain = true;
		sample.chain = get_sample_entries(record, bytes_get_u64(record), sizeof(uint64_t));
	}
	if (type & PERF_HAS_RAW)
		bytes_get(record, bytes_get_u32(record));
	if (type & PERF_HAS_BRANCHES)
		get_branches(event, record, &sample);
	if (type & PERF_HAS_REGISTERS)
		get_registers(event, record, &sample);
	if (type & PERF_HAS_STACK)
		get_stack(record, &sample);
	if (record->overrun)
		return false;
	*ret = sample;
	return true;
}

bool perf_sample_id_place(const struct perf_event *event, size_t *ret)
{
	uint64_t type = event->sample_type;
	if (type & PERF_HAS_IDENTIFIER) {
		*ret = 0;
		return true;
	}
	*ret = !!(type & PERF_HAS_IP) + !!(type & PERF_HAS_TID) + !!(type & PERF_HAS_TIME) +
	       !!(type & PERF_HAS_ADDR);
	return type & PERF_HAS_ID;
}

uint64_t perf_sample_time_of_other(
	const struct perf_event *event, const uint8_t *record, size_t len)
{
	enum {
		TRAILER = PERF_HAS_TID | PERF_HAS_TIME | PERF_HAS_ID | PERF_HAS_STREAM_ID |
			  PERF_HAS_CPU | PERF_HAS_IDENTIFIER,
	};
	size_t bytes =
		sizeof(uint64_t) * (size_t)__builtin_popcountll(event->sample_type & TRAILER);
	if (!event->has_sample_ids || !(event->sample_type & PERF_HAS_TIME) || bytes > len)
		return 0;
	struct bytes_cursor cursor = bytes_cursor(record + len - bytes, bytes);
	if (event->sample_type & PERF_HAS_TID)
		bytes_get_u64(&cursor);
	return bytes_get_u64(&cursor);
}
