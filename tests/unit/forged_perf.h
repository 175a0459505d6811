/* Small files of perf.data, put together record by record. */
#ifndef EBPROF_FORGED_PERF_H
#define EBPROF_FORGED_PERF_H

#include "format/base/bytes.h"
#include "format/import/perf_header.h"

#define FORGED_PERF_UNUSED __attribute__((unused))

enum {
	FORGED_PERF_TYPE = PERF_HAS_IP | PERF_HAS_TID | PERF_HAS_TIME | PERF_HAS_CALLCHAIN |
			   PERF_HAS_PERIOD | PERF_HAS_IDENTIFIER,
	FORGED_PERF_ATTR_BYTES = 128,
	FORGED_PERF_HEADER_BYTES = 104,
	FORGED_PERF_USER = 2, /* misc of samples */
	FORGED_PERF_KERNEL = 1,
};

struct forged_perf_event {
	uint32_t type;
	uint64_t config, period, sample_type, flags, branch_type, registers, id;
};

/* 499 Hz, with ids behind all records. */
#define FORGED_PERF_CLOCK \
	{ \
		.type = 1, .period = 499, .sample_type = FORGED_PERF_TYPE, \
		.flags = 1 << 10 | 1 << 18, .id = 70 \
	}

FORGED_PERF_UNUSED static void forged_perf_put_attr(
	struct bytes_buf *out, const struct forged_perf_event *event)
{
	size_t start = out->len;
	bytes_put_u32(out, event->type);
	bytes_put_u32(out, FORGED_PERF_ATTR_BYTES);
	bytes_put_u64(out, event->config);
	bytes_put_u64(out, event->period);
	bytes_put_u64(out, event->sample_type);
	bytes_put_u64(out, 0); /* read_format */
	bytes_put_u64(out, event->flags);
	bytes_put_u64(out, 0);
	bytes_put_u64(out, 0);
	bytes_put_u64(out, 0);
	bytes_put_u64(out, event->branch_type);
	bytes_put_u64(out, event->registers);
	while (out->len < start + FORGED_PERF_ATTR_BYTES)
		bytes_put_u8(out, 0);
}

/* A record; frees its body. */
FORGED_PERF_UNUSED static void forged_perf_record(
	struct bytes_buf *out, uint32_t type, uint16_t misc, struct bytes_buf *body)
{
	bytes_put_u32(out, type);
	bytes_put_u16(out, misc);
	bytes_put_u16(out, (uint16_t)(body->len + 8));
	bytes_put(out, body->data, body->len);
	bytes_buf_deinit(body);
}

FORGED_PERF_UNUSED static void forged_perf_put_text(struct bytes_buf *out, const char *text)
{
	bytes_put(out, text, strlen(text) + 1);
	while (out->len % 8)
		bytes_put_u8(out, 0);
}

/* What FORGED_PERF_TYPE puts behind a record that is no sample. */
FORGED_PERF_UNUSED static void forged_perf_put_ids(
	struct bytes_buf *out, uint32_t pid, uint64_t time_ns)
{
	bytes_put_u32(out, pid);
	bytes_put_u32(out, pid);
	bytes_put_u64(out, time_ns);
	bytes_put_u64(out, 70);
}

FORGED_PERF_UNUSED static void forged_perf_mmap(struct bytes_buf *out, uint32_t pid, uint64_t start,
	uint64_t len, uint64_t offset, const char *path, uint64_t time_ns)
{
	struct bytes_buf body = {0};
	bytes_put_u32(&body, pid);
	bytes_put_u32(&body, pid);
	bytes_put_u64(&body, start);
	bytes_put_u64(&body, len);
	bytes_put_u64(&body, offset);
	forged_perf_put_text(&body, path);
	forged_perf_put_ids(&body, pid, time_ns);
	forged_perf_record(
		out, 1, pid == UINT32_MAX ? FORGED_PERF_KERNEL : FORGED_PERF_USER, &body);
}

FORGED_PERF_UNUSED static void forged_perf_comm(
	struct bytes_buf *out, uint32_t pid, const char *name, bool is_exec, uint64_t time_ns)
{
	struct bytes_buf body = {0};
	bytes_put_u32(&body, pid);
	bytes_put_u32(&body, pid);
	forged_perf_put_text(&body, name);
	forged_perf_put_ids(&body, pid, time_ns);
	forged_perf_record(out, 3, is_exec ? 1 << 13 : 0, &body);
}

FORGED_PERF_UNUSED static void forged_perf_fork(
	struct bytes_buf *out, uint32_t pid, uint32_t parent, uint64_t time_ns)
{
	struct bytes_buf body = {0};
	bytes_put_u32(&body, pid);
	bytes_put_u32(&body, parent);
	bytes_put_u32(&body, pid);
	bytes_put_u32(&body, parent);
	bytes_put_u64(&body, time_ns);
	forged_perf_put_ids(&body, parent, time_ns);
	forged_perf_record(out, 7, 0, &body);
}

/* Of the fields of FORGED_PERF_TYPE; more may be put behind. */
FORGED_PERF_UNUSED static struct bytes_buf forged_perf_sample(
	uint32_t pid, uint64_t time_ns, uint64_t period, const uint64_t *chain, size_t count)
{
	struct bytes_buf body = {0};
	bytes_put_u64(&body, 70);
	bytes_put_u64(&body, count > 1 ? chain[1] : 0);
	bytes_put_u32(&body, pid);
	bytes_put_u32(&body, pid);
	bytes_put_u64(&body, time_ns);
	bytes_put_u64(&body, period);
	bytes_put_u64(&body, count);
	for (size_t i = 0; i < count; i++)
		bytes_put_u64(&body, chain[i]);
	return body;
}

/* A whole file: the header, one event, the records, and as features a table of build IDs. */
FORGED_PERF_UNUSED static struct bytes_buf forged_perf_file(const struct forged_perf_event *event,
	const struct bytes_buf *records, const struct bytes_buf *build_ids)
{
	enum {
		IDS_AT = FORGED_PERF_HEADER_BYTES,
		ATTRS_AT = IDS_AT + 8,
		DATA_AT = ATTRS_AT + FORGED_PERF_ATTR_BYTES + 16,
		BUILD_ID_BIT = 1 << 2,
	};
	struct bytes_buf out = {0};
	bytes_put(&out, PERF_MAGIC, PERF_MAGIC_BYTES);
	const uint64_t header[] = {FORGED_PERF_HEADER_BYTES, FORGED_PERF_ATTR_BYTES + 16, ATTRS_AT,
		FORGED_PERF_ATTR_BYTES + 16, DATA_AT, records->len, 0, 0,
		build_ids->len ? BUILD_ID_BIT : 0, 0, 0, 0};
	for (size_t i = 0; i < sizeof(header) / sizeof(*header); i++)
		bytes_put_u64(&out, header[i]);
	bytes_put_u64(&out, event->id);
	forged_perf_put_attr(&out, event);
	bytes_put_u64(&out, IDS_AT);
	bytes_put_u64(&out, 8);
	bytes_put(&out, records->data, records->len);
	if (build_ids->len) {
		bytes_put_u64(&out, out.len + 16);
		bytes_put_u64(&out, build_ids->len);
		bytes_put(&out, build_ids->data, build_ids->len);
	}
	return out;
}

/* A build ID of a file, as the table has it. */
FORGED_PERF_UNUSED static void forged_perf_build_id(
	struct bytes_buf *out, uint8_t first_byte, const char *path)
{
	struct bytes_buf body = {0};
	bytes_put_u32(&body, UINT32_MAX);
	for (int i = 0; i < 24; i++)
		bytes_put_u8(&body, i < 20 ? (uint8_t)(first_byte + i) : 0);
	bytes_put(&body, path, strlen(path) + 1);
	forged_perf_record(out, 67, 2, &body);
}

/*
 * A program of two functions that forks and execs: its file at 0x400000, a kernel, two processes,
 * records of which some stand ahead of what they need.
 */
FORGED_PERF_UNUSED static struct bytes_buf forged_perf_records(void)
{
	const uint64_t user[] = {(uint64_t)-512, 0x401010, 0x401105};
	const uint64_t both[] = {(uint64_t)-128, 0xffffffff81001000, 0xffffffff81002005,
		(uint64_t)-512, 0x401010, 0x401105};
	struct bytes_buf out = {0}, body;
	forged_perf_mmap(&out, UINT32_MAX, 0xffffffff81000000, 0x100000, 0xffffffff81000000,
		"[kernel.kallsyms]_text", 0);
	forged_perf_comm(&out, 10, "sh", false, 0);
	forged_perf_mmap(&out, 10, 0x400000, 0x2000, 0, "/bin/program", 100);
	body = forged_perf_sample(11, 400, 3, both, 6); /* ahead of the fork */
	forged_perf_record(&out, 9, FORGED_PERF_KERNEL, &body);
	body = forged_perf_sample(10, 200, 2, user, 3);
	forged_perf_record(&out, 9, FORGED_PERF_USER, &body);
	forged_perf_fork(&out, 11, 10, 300);
	forged_perf_comm(&out, 11, "other", true, 500);
	body = forged_perf_sample(11, 600, 5, user, 3); /* nothing is mapped any more */
	forged_perf_record(&out, 9, FORGED_PERF_USER, &body);
	return out;
}

#endif
