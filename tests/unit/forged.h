/*
 * Recordings for tests: small complete ones, and forged ones whose chunks are
 * sound on the outside (lengths and checksums) and anything within.
 */
#ifndef EBPROF_FORGED_H
#define EBPROF_FORGED_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "format/base/bytes.h"
#include "format/file/chunk.h"
#include "format/file/layout.h"
#include "format/file/writer.h"

#define FORGED_MAYBE_UNUSED __attribute__((unused))

struct forged {
	struct bytes_buf file;
	uint32_t sequence;
};

FORGED_MAYBE_UNUSED static struct forged forged_begin(void)
{
	struct forged forged = {0};
	chunk_put_file_header(&forged.file);
	return forged;
}

/* A sound chunk; frees the payload. */
FORGED_MAYBE_UNUSED static void forged_chunk(
	struct forged *forged, uint16_t type, struct bytes_buf *payload)
{
	chunk_put(&forged->file, type, forged->sequence++, payload->data, payload->len);
	bytes_buf_deinit(payload);
}

/* A chunk whose header says whatever it likes, with the right checksum. */
FORGED_MAYBE_UNUSED static void forged_header(struct forged *forged, uint16_t type,
	uint16_t encoding, uint32_t raw_bytes, const void *stored, size_t stored_bytes)
{
	struct bytes_buf header = {0};
	bytes_put_u16(&header, type);
	bytes_put_u16(&header, encoding);
	bytes_put_u32(&header, (uint32_t)stored_bytes);
	bytes_put_u32(&header, raw_bytes);
	bytes_put_u32(&header, forged->sequence++);
	uLong crc = crc32(0, header.data, (uInt)header.len);
	crc = crc32_z(crc, stored, stored_bytes);
	bytes_put_u32(&forged->file, LAYOUT_CHUNK_SYNC);
	bytes_put(&forged->file, header.data, header.len);
	bytes_put_u32(&forged->file, (uint32_t)crc);
	bytes_put(&forged->file, stored, stored_bytes);
	bytes_buf_deinit(&header);
}

/* Varints, ended by FORGED_END. */
#define FORGED_END 0xE4DE4DE4DE4DE4DEULL
#define forged_varints(buf, ...) \
	do { \
		const uint64_t values_[] = {__VA_ARGS__, FORGED_END}; \
		for (size_t i_ = 0; values_[i_] != FORGED_END; i_++) \
			bytes_put_varint((buf), values_[i_]); \
	} while (0)

/* The bytes as an open file at its beginning. */
FORGED_MAYBE_UNUSED static int forged_fd(const void *bytes, size_t len)
{
	int fd = memfd_create("recording", MFD_CLOEXEC);
	for (size_t done = 0; fd >= 0 && done < len;) {
		ssize_t wrote = write(fd, (const char *)bytes + done, len - done);
		if (wrote <= 0)
			abort();
		done += (size_t)wrote;
	}
	if (fd < 0 || lseek(fd, 0, SEEK_SET) != 0)
		abort();
	return fd;
}

FORGED_MAYBE_UNUSED static ERR_MUST_CHECK struct err *forged_sink_write(
	void *context, const void *bytes, size_t len)
{
	bytes_put(context, bytes, len);
	return NULL;
}

FORGED_MAYBE_UNUSED static struct writer *forged_writer(struct bytes_buf *out)
{
	return writer_create((struct writer_sink){forged_sink_write, out});
}

FORGED_MAYBE_UNUSED static uint32_t forged_string(struct writer *writer, const char *text)
{
	return writer_string(writer, text, strlen(text));
}

FORGED_MAYBE_UNUSED static void forged_counters(struct writer *writer, uint64_t samples)
{
	const struct layout_counter_value values[] = {
		{LAYOUT_COUNTER_TICKS, 0, samples + 3},
		{LAYOUT_COUNTER_TICKS, 1, 2},
		{LAYOUT_COUNTER_IDLE, 0, 2},
		{LAYOUT_COUNTER_IDLE, 1, 2},
		{LAYOUT_COUNTER_LOST_RING, 0, 1},
		{LAYOUT_COUNTER_SAMPLES, 0, samples},
	};
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		writer_counter(writer, &values[i]);
}

/* What a recording begins with: event 1, objects 1 (file) and 2 (kernel), process 1, thread 1. */
FORGED_MAYBE_UNUSED static void forged_put_tables(struct writer *writer)
{
	static const struct layout_segment segments[] = {
		{0x1000, 0x1000, 0x800, 0x800, 5},
		{0x2800, 0x1800, 0x100, 0x300, 6},
	};
	writer_meta(writer, LAYOUT_META_HOST, "example");
	writer_meta(writer, LAYOUT_META_TARGET, "command");
	writer_clock(writer, &(struct layout_clock){1000000000, 1795000000000000000});
	writer_event(writer, &(struct layout_event){forged_string(writer, "cpu-clock"), 1001001,
				     999, forged_string(writer, "ns"), 0});
	writer_object(writer, &(struct layout_object){
				      .kind = LAYOUT_OBJECT_FILE,
				      .path = forged_string(writer, "/usr/bin/program"),
				      .build_id = {0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4},
				      .build_id_len = 8,
				      .size_bytes = 70000,
				      .inode = 4711,
				      .mtime_ns = 1790000000000000000,
				      .device = 8 << 20 | 1,
				      .segments = segments,
				      .nr_segments = 2,
			      });
	writer_object(writer, &(struct layout_object){
				      .kind = LAYOUT_OBJECT_KERNEL,
				      .path = forged_string(writer, "[kernel]"),
				      .base = 0xffffffff81000000,
			      });
	writer_process(writer, &(struct layout_process){.pid = 100,
				       .parent_pid = 1,
				       .start_ns = 999000000,
				       .exe = 1,
				       .cgroup = forged_string(writer, "/user.slice")});
	writer_thread(writer, &(struct layout_thread){1, 100, forged_string(writer, "program"), 0});
	writer_mapping(
		writer, &(struct layout_mapping){1, 1, 0x555555555000, 0x1000, 0x1000, 999500000});
	writer_symbol(writer,
		&(struct layout_symbol){2, 0x4000, 0x80, forged_string(writer, "do_syscall_64")});
}

/* Frames 1-4 and nodes 1-4: main > work (1, 2), a truncated stack (3), the kernel's (4). */
FORGED_MAYBE_UNUSED static void forged_put_stacks(struct writer *writer)
{
	const struct layout_frame frames[] = {
		{1, 0x1100, 0}, {1, 0x1204, 0}, {0, LAYOUT_TRUNCATED_DEPTH, 0}, {2, 0x4010, 0}};
	const struct layout_node nodes[] = {{0, 1}, {1, 2}, {0, 3}, {0, 4}};
	for (int i = 0; i < 4; i++)
		writer_frame(writer, &frames[i]);
	for (int i = 0; i < 4; i++)
		writer_node(writer, &nodes[i]);
}

/* Snapshot 1: of a return address in object 1, with a caller on its stack. */
FORGED_MAYBE_UNUSED static void forged_put_snapshot(struct writer *writer)
{
	static const uint8_t stack[32] = {
		[8] = 0x80, [9] = 0x51, [10] = 0x55, [11] = 0x55, [12] = 0x55, [13] = 0x55};
	writer_snapshot(writer,
		&(struct layout_snapshot){
			.process = 1,
			.time_ns = 1005000000,
			.known = 1ULL << 16 | 1 << 7 | 1 << 6,
			.registers =
				{[16] = 0x555555555123, [7] = 0x7ffc00001000, [6] = 0x7ffc00001000},
			.stack_address = 0x7ffc00001000,
			.stack = stack,
			.stack_bytes = sizeof(stack),
		});
}

/* A small, complete recording of two flushes and the end: 6 samples of every kind of stack. */
FORGED_MAYBE_UNUSED static void forged_small(struct bytes_buf *out)
{
	struct writer *writer = forged_writer(out);
	forged_put_tables(writer);
	forged_put_stacks(writer);
	const struct layout_sample first[] = {
		{1001000000, 1, 1, 0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0},
		{1002001000, 1, 1, 0, 2, 4, 1, 0, 0, 0, 0, 0, 0, 0},
		{1003002000, 1, 1, 1, 0, 4, 1, 0, 0, 0, 0, 0, 0, 0},
		{1004003000, 1, 1, 0, 3, 0, 1, 0, 0, 0, 0, 0, 0, 0},
	};
	for (int i = 0; i < 4; i++)
		writer_sample(writer, &first[i]);
	forged_counters(writer, 4);
	struct err *err = writer_flush(writer);
	/* The second flush: another thread, another caller of the same frame. */
	writer_thread(writer, &(struct layout_thread){1, 101, forged_string(writer, "worker"), 0});
	writer_node(writer, &(struct layout_node){3, 2});
	forged_put_snapshot(writer);
	writer_sample(
		writer, &(struct layout_sample){1005004000, 1, 2, 1, 5, 0, 1, 1, 0, 0, 0, 0, 0, 0});
	writer_sample(
		writer, &(struct layout_sample){1006005000, 1, 2, 1, 1, 0, 7, 0, 0, 0, 0, 0, 0, 0});
	writer_clock(writer, &(struct layout_clock){1010000000, 1795000000010000000});
	forged_counters(writer, 6);
	if (!err)
		err = writer_finish(writer, &(struct layout_end){LAYOUT_END_COMMAND, 1010500000});
	if (err)
		abort();
	writer_destroy(writer);
}

#endif
