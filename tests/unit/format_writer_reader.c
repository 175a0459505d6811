/* What the writer writes, the reader reads. */
#include <errno.h>
#include <stdio.h>

#include "format/base/err.h"
#include "tests/unit/recording_log.h"
#include "tests/unit/unit.h"

static struct str read_whole(const struct bytes_buf *file)
{
	struct str log = {0};
	struct reader_result result;
	CHECK_OK(log_read(file->data, file->len, &log, &result));
	CHECK(!result.bad_chunks && !result.damage.what && !result.damage.truncated);
	CHECK(!result.missing_chunks && !result.unknown_chunks);
	CHECK_INT(result.file_bytes, file->len);
	return log;
}

/* ---- round trips ---- */

static void put_extreme_object(struct writer *writer)
{
	struct layout_segment segments[LAYOUT_MAX_SEGMENTS];
	for (int i = 0; i < LAYOUT_MAX_SEGMENTS; i++)
		segments[i] = (struct layout_segment){
			UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 2, (uint64_t)i, UINT32_MAX};
	struct layout_object object = {
		.kind = (enum layout_object_kind)99,
		.flags = UINT32_MAX,
		.path = UINT32_MAX,
		.build_id_len = LAYOUT_BUILD_ID_MAX_BYTES,
		.base = UINT64_MAX,
		.size_bytes = UINT64_MAX,
		.inode = UINT64_MAX,
		.mtime_ns = UINT64_MAX,
		.device = UINT32_MAX,
		.segments = segments,
		.nr_segments = LAYOUT_MAX_SEGMENTS,
	};
	memset(object.build_id, 0xa5, sizeof(object.build_id));
	CHECK_INT(writer_object(writer, &object), 1);
}

static const uint32_t m = UINT32_MAX;
static const uint64_t big = UINT64_MAX;

/* The largest one, and the smallest. */
static const struct layout_snapshot *extreme_snapshot(void)
{
	static uint8_t stack[LAYOUT_MAX_SNAPSHOT_BYTES];
	static struct layout_snapshot snapshot;
	for (size_t i = 0; i < sizeof(stack); i++)
		stack[i] = (uint8_t)map_mix(i);
	snapshot = (struct layout_snapshot){
		.process = m,
		.time_ns = big,
		.known = LAYOUT_REGISTERS_MASK,
		.is_exact = true,
		.stack_address = big,
		.stack = stack,
		.stack_bytes = sizeof(stack),
	};
	for (int i = 0; i < LAYOUT_MAX_REGISTERS; i++)
		snapshot.registers[i] = big - (uint64_t)i;
	return &snapshot;
}

static void put_extreme_snapshots(struct writer *writer)
{
	CHECK_INT(writer_snapshot(writer, extreme_snapshot()), 1);
	CHECK_INT(writer_snapshot(writer, &(struct layout_snapshot){0}), 2);
}

static void put_extremes(struct writer *writer)
{
	writer_meta(writer, "", "");
	CHECK_INT(writer_string(writer, "", 0), 0);
	CHECK_INT(writer_event(writer, &(struct layout_event){m, big, m, m, m}), 1);
	put_extreme_object(writer);
	writer_process(writer, &(struct layout_process){m, m, m, big, m, m, m, m});
	writer_thread(writer, &(struct layout_thread){m, m, m, m});
	writer_mapping(writer, &(struct layout_mapping){m, m, big, big, big, big});
	writer_symbol(writer, &(struct layout_symbol){m, big, big, m});
	writer_code(writer, &(struct layout_code){m, big, 1, big, m, m, m, big});
	writer_code(writer, &(struct layout_code){m, 1, big, 0, 0, 0, 0, 0});
	writer_frame(writer, &(struct layout_frame){m, big, m});
	writer_frame(writer, &(struct layout_frame){m, 0, m});
	writer_frame(writer, &(struct layout_frame){0, big / 2, 1});
	writer_node(writer, &(struct layout_node){0, m});
	writer_node(writer, &(struct layout_node){1, 0});
	put_extreme_snapshots(writer);
	writer_label(writer, &(struct layout_label){0, m, (enum layout_label_kind)m, big});
	writer_label(writer, &(struct layout_label){1, 0, LAYOUT_LABEL_TEXT, 0});
	writer_sample(writer, &(struct layout_sample){0, m, m, LAYOUT_MAX_CPUS - 1, m, m, big, m, m,
				      0, m, m, m, m});
	writer_sample(writer, &(struct layout_sample){big, m, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
	writer_thread_times(writer,
		&(struct layout_thread_times){m, big, 5, big - 5, true, big, big, big, big});
	writer_clock(writer, &(struct layout_clock){big, big});
	writer_counter(writer,
		&(struct layout_counter_value){(enum layout_counter)m, LAYOUT_MAX_CPUS - 1, big});
	writer_event_tally(writer, &(struct layout_event_tally){m, (enum layout_event_counter)m,
					   LAYOUT_MAX_CPUS - 1, big, big});
}

/* Every field at its largest. */
TEST(extreme_values_round_trip)
{
	struct bytes_buf file = {0};
	struct str expected = {0};
	struct writer *writer = forged_writer(&file);
	put_extremes(writer);
	CHECK_OK(writer_finish(writer, &(struct layout_end){(enum layout_end_reason)m, big}));
	writer_destroy(writer);

	log_meta(&expected, "", 0, "", 0);
	log_event(&expected, 1, &(struct layout_event){m, big, m, m, m});
	struct str log = read_whole(&file);
	CHECK(strncmp(log.data, expected.data, expected.len) == 0);
	CHECK(strstr(log.data, "[ffffffffffffffff fffffffffffffffe fffffffffffffffd ff ffffffff]"));
	str_truncate(&expected, 0);
	log_process(&expected, 1, &(struct layout_process){m, m, m, big, m, m, m, m});
	log_thread(&expected, 1, &(struct layout_thread){m, m, m, m});
	log_mapping(&expected, &(struct layout_mapping){m, m, big, big, big, big});
	log_snapshot(&expected, 1, extreme_snapshot());
	log_snapshot(&expected, 2, &(struct layout_snapshot){0});
	log_symbol(&expected, &(struct layout_symbol){m, big, big, m});
	log_code(&expected, &(struct layout_code){m, big, 1, big, m, m, m, big});
	log_code(&expected, &(struct layout_code){m, 1, big, 0, 0, 0, 0, 0});
	log_frame(&expected, 1, &(struct layout_frame){m, big, m});
	log_frame(&expected, 2, &(struct layout_frame){m, 0, m});
	log_frame(&expected, 3, &(struct layout_frame){0, big / 2, 1});
	log_node(&expected, 1, &(struct layout_node){0, m});
	log_node(&expected, 2, &(struct layout_node){1, 0});
	log_label(&expected, 1, &(struct layout_label){0, m, (enum layout_label_kind)m, big});
	log_label(&expected, 2, &(struct layout_label){1, 0, LAYOUT_LABEL_TEXT, 0});
	log_sample(&expected, &(struct layout_sample){0, m, m, LAYOUT_MAX_CPUS - 1, m, m, big, m, m,
				      0, m, m, m, m});
	log_sample(&expected,
		&(struct layout_sample){big / 1000 * 1000, m, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
	log_thread_times(&expected,
		&(struct layout_thread_times){m, big, 5, big - 5, true, big, big, big, big});
	log_clock(&expected, &(struct layout_clock){big, big});
	log_counter(&expected,
		&(struct layout_counter_value){(enum layout_counter)m, LAYOUT_MAX_CPUS - 1, big});
	log_event_tally(&expected, &(struct layout_event_tally){m, (enum layout_event_counter)m,
					   LAYOUT_MAX_CPUS - 1, big, big});
	log_end(&expected, &(struct layout_end){(enum layout_end_reason)m, big});
	const char *rest = strstr(log.data, "process 1");
	CHECK_STR(rest, str_text(&expected));
	str_deinit(&log);
	str_deinit(&expected);
	bytes_buf_deinit(&file);
}

TEST(small_recording_reads_as_written)
{
	struct bytes_buf file = {0};
	forged_small(&file);
	struct str log = read_whole(&file);
	CHECK_STR(log.data,
		"meta host.name=example\nmeta target=command\n"
		"string 1 \"cpu-clock\" 9\nstring 2 \"ns\" 2\nstring 3 \"/usr/bin/program\" 16\n"
		"string 4 \"[kernel]\" 8\nstring 5 \"/user.slice\" 11\nstring 6 \"program\" 7\n"
		"string 7 \"do_syscall_64\" 13\n"
		"event 1 name 1 period 1001001 hz 999 unit 2\n"
		"object 1 kind 1 flags 0 path 3 build_id deadbeef01020304 base 0 size 70000 "
		"inode 4711 mtime 1790000000000000000 device 8388609 "
		"[1000 1000 800 800 5] [2800 1800 100 300 6]\n"
		"object 2 kind 2 flags 0 path 4 build_id  base ffffffff81000000 size 0 inode 0 "
		"mtime 0 device 0\n"
		"process 1 pid 100 ns_pid 0 parent 1 start 999000000 exe 1 cgroup 5 container 0\n"
		"thread 1 process 1 tid 100 comm 6\n"
		"mapping process 1 object 1 555555555000+1000 offset 1000 time 999500000\n"
		"symbol object 2 4000+80 name 7\n"
		"frame 1 object 1 offset 1100\nframe 2 object 1 offset 1204\n"
		"frame 3 object 0 offset 4\nframe 4 object 2 offset 4010\n"
		"node 1 parent 0 frame 1\nnode 2 parent 1 frame 2\nnode 3 parent 0 frame 3\n"
		"node 4 parent 0 frame 4\n"
		"sample 1001000000 event 1 thread 1 cpu 0 user 2 kernel 0 weight 1\n"
		"sample 1002001000 event 1 thread 1 cpu 0 user 2 kernel 4 weight 1\n"
		"sample 1003002000 event 1 thread 1 cpu 1 user 0 kernel 4 weight 1\n"
		"sample 1004003000 event 1 thread 1 cpu 0 user 3 kernel 0 weight 1\n"
		"clock 1000000000 1795000000000000000\n"
		"counter 1 cpu 0 value 7\ncounter 1 cpu 1 value 2\ncounter 2 cpu 0 value 2\n"
		"counter 2 cpu 1 value 2\ncounter 5 cpu 0 value 1\ncounter 4 cpu 0 value 4\n"
		"string 8 \"worker\" 6\nthread 2 process 1 tid 101 comm 8\n"
		"snapshot 1 process 1 time 1005000000 registers 6:7ffc00001000 7:7ffc00001000 "
		"16:555555555123 stack 7ffc00001000+20 crc 4f1a12a5\n"
		"node 5 parent 3 frame 2\n"
		"sample 1005004000 event 1 thread 2 cpu 1 user 5 kernel 0 weight 1 snapshot 1\n"
		"sample 1006005000 event 1 thread 2 cpu 1 user 1 kernel 0 weight 7\n"
		"clock 1010000000 1795000000010000000\n"
		"counter 1 cpu 0 value 9\ncounter 1 cpu 1 value 2\ncounter 2 cpu 0 value 2\n"
		"counter 2 cpu 1 value 2\ncounter 5 cpu 0 value 1\ncounter 4 cpu 0 value 6\n"
		"end 1 at 1010500000\n");
	str_deinit(&log);
	bytes_buf_deinit(&file);
}

/* Lines that begin so. (Sanitizers' strstr() measures all the rest each time.) */
static size_t count_of(const struct str *log, const char *start)
{
	size_t count = 0;
	for (const char *line = str_text(log), *end; (end = strchr(line, '\n')); line = end + 1)
		count += strncmp(line, start, strlen(start)) == 0;
	return count;
}

TEST(ids_continue_and_strings_come_once)
{
	struct bytes_buf file = {0};
	struct writer *writer = forged_writer(&file);
	for (uint32_t flush = 0; flush < 3; flush++) {
		CHECK_INT(forged_string(writer, "always"), 1);
		CHECK_INT(forged_string(writer, flush == 0   ? "a"
						: flush == 1 ? "b"
							     : "c"),
			2 + flush);
		CHECK_INT(writer_frame(writer, &(struct layout_frame){1, flush, 0}), flush + 1);
		CHECK_INT(writer_node(writer, &(struct layout_node){flush, flush + 1}), flush + 1);
		CHECK_INT(
			writer_thread(writer, &(struct layout_thread){1, flush, 1, 0}), flush + 1);
		CHECK_OK(writer_flush(writer));
		size_t len = file.len;
		CHECK_OK(writer_flush(writer)); /* nothing waits: nothing is written */
		CHECK_INT(file.len, len);
	}
	CHECK_INT(writer_bytes_written(writer), file.len);
	writer_destroy(writer);
	struct str log = read_whole(&file);
	CHECK_INT(count_of(&log, "string 1 \"always\""), 1);
	CHECK(strstr(log.data, "string 4 \"c\" 1\n"));
	CHECK(strstr(log.data, "node 3 parent 2 frame 3\n"));
	CHECK(strstr(log.data, "thread 3 process 1 tid 2 comm 1\n"));
	str_deinit(&log);
	bytes_buf_deinit(&file);
}

/* Events get chunks of their own, weights a column only where one is not 1, times may go back. */
TEST(samples_of_several_events)
{
	struct bytes_buf file = {0};
	struct writer *writer = forged_writer(&file);
	const struct layout_sample samples[] = {
		{5000, 1, 1, 0, 9, 0, 1, 0, 0, 0, 0, 0, 0, 0},
		{4000, 2, 1, 1, 3, 7, 1000, 0, 0, 0, 0, 0, 0, 0},
		{3000, 1, 2, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0},
		{9000, 2, 2, 1, 8, 2, 1, 0, 0, 0, 0, 0, 0, 0},
	};
	for (int i = 0; i < 4; i++)
		writer_sample(writer, &samples[i]);
	CHECK_INT(writer_samples_written(writer), 0);
	CHECK_OK(writer_flush(writer));
	CHECK_INT(writer_samples_written(writer), 4);
	writer_destroy(writer);
	struct str log = read_whole(&file), expected = {0};
	const int order[] = {0, 2, 1, 3};
	for (int i = 0; i < 4; i++)
		log_sample(&expected, &samples[order[i]]);
	CHECK_STR(log.data, expected.data);
	str_deinit(&log);
	str_deinit(&expected);
	bytes_buf_deinit(&file);
}

/* More of everything than one chunk takes. */
TEST(large_flushes_are_split)
{
	enum {
		COUNT = 300000,
		MAPPINGS = 60000,
		LONG = 3 << 20
	};
	struct bytes_buf file = {0};
	struct writer *writer = forged_writer(&file);
	CLEANUP_FREE char *text = mem_zalloc(LONG + 1);
	memset(text, 'x', LONG);
	writer_meta(writer, "long", text);
	for (int i = 0; i < 3; i++, text[0]++)
		writer_string(writer, text, LONG);
	for (uint32_t i = 0; i < COUNT; i++) {
		writer_frame(writer, &(struct layout_frame){1, (uint64_t)i * 77, 0});
		writer_node(writer, &(struct layout_node){i, i + 1});
		writer_sample(writer,
			&(struct layout_sample){
				.time_ns = (uint64_t)i * 1000, .user_stack = i + 1, .weight = 1});
	}
	for (uint64_t i = 0; i < MAPPINGS; i++) {
		writer_mapping(writer, &(struct layout_mapping){1, 1, i << 40, ~0ULL, ~i, ~0ULL});
		writer_process(writer, &(struct layout_process){.start_ns = ~i, .pid = ~0U});
	}
	CHECK_OK(writer_flush(writer));
	writer_destroy(writer);
	struct str log = read_whole(&file);
	CHECK_INT(count_of(&log, "sample "), COUNT);
	CHECK_INT(count_of(&log, "mapping "), MAPPINGS);
	CHECK(strstr(log.data, "process 60000 pid 4294967295 ns_pid 0"));
	CHECK(strstr(log.data, "node 300000 parent 299999 frame 300000\n"));
	CHECK(strstr(log.data, "frame 300000 object 1 offset 1607a13\n"));
	CHECK(strstr(log.data, "\" 1048576\n") && strstr(log.data, "string 3 "));
	str_deinit(&log);
	bytes_buf_deinit(&file);
}

/* What a process's jitdump tells may be more than one chunk takes. */
TEST(names_and_answers_are_split)
{
	enum {
		COUNT = 600000, /* of 30 bytes and more each */
	};
	struct bytes_buf file = {0};
	struct writer *writer = forged_writer(&file);
	for (uint64_t i = 0; i < COUNT; i++) {
		writer_symbol(writer, &(struct layout_symbol){1, ~i, ~i, 1});
		writer_code(
			writer, &(struct layout_code){.object = 1, .offset = ~i, .time_ns = ~i});
		writer_unwound(writer, &(struct layout_unwound){~0U, ~0U});
	}
	for (uint64_t i = 0; i < 2 * COUNT; i++)
		writer_unwound(writer, &(struct layout_unwound){~0U, ~0U});
	CHECK_OK(writer_flush(writer));
	writer_destroy(writer);
	struct str log = read_whole(&file);
	CHECK_INT(count_of(&log, "symbol "), COUNT);
	CHECK_INT(count_of(&log, "code "), COUNT);
	CHECK_INT(count_of(&log, "unwound "), 3 * COUNT);
	str_deinit(&log);
	bytes_buf_deinit(&file);
}

/* ---- snapshots ---- */

TEST(snapshots_round_trip)
{
	struct bytes_buf file = {0};
	struct writer *writer = forged_writer(&file);
	struct layout_snapshot snapshot = {
		.process = 3,
		.time_ns = 77,
		.known = 1ULL << 16 | 1 << 7 | 1ULL << 40, /* there is no register 40 */
		.registers = {[0] = 1, [7] = 0x7ffc00001000, [16] = 0x401000},
		.stack_address = 0x7ffc00001000,
		.stack = (const uint8_t *)"some stack",
		.stack_bytes = 10,
	};
	CHECK_INT(writer_snapshot(writer, &snapshot), 1);
	writer_sample(writer, &(struct layout_sample){.time_ns = 1000, .weight = 1});
	writer_sample(writer, &(struct layout_sample){.weight = 1, .snapshot = 1});
	CHECK_OK(writer_flush(writer));
	CHECK_INT(writer_snapshot(writer, &snapshot), 2);
	writer_sample(writer, &(struct layout_sample){.weight = 1, .snapshot = 2});
	writer_sample(writer, &(struct layout_sample){.weight = 1, .snapshot = 1});
	CHECK_OK(writer_flush(writer));
	writer_destroy(writer);
	struct str log = read_whole(&file);
	CHECK_STR(log.data,
		"snapshot 1 process 3 time 77 registers 7:7ffc00001000 16:401000 "
		"stack 7ffc00001000+a crc 6f6847f1\n"
		"sample 1000 event 0 thread 0 cpu 0 user 0 kernel 0 weight 1\n"
		"sample 0 event 0 thread 0 cpu 0 user 0 kernel 0 weight 1 snapshot 1\n"
		"snapshot 2 process 3 time 77 registers 7:7ffc00001000 16:401000 "
		"stack 7ffc00001000+a crc 6f6847f1\n"
		"sample 0 event 0 thread 0 cpu 0 user 0 kernel 0 weight 1 snapshot 2\n"
		"sample 0 event 0 thread 0 cpu 0 user 0 kernel 0 weight 1 snapshot 1\n");
	str_deinit(&log);
	bytes_buf_deinit(&file);
}

/* A second of large ones: no chunk of it is far above 1 MiB, and too long a stack is cut. */
TEST(snapshots_are_split)
{
	enum {
		COUNT = 100
	};
	struct bytes_buf file = {0};
	struct writer *writer = forged_writer(&file);
	struct layout_snapshot snapshot = *extreme_snapshot();
	snapshot.process = 1;
	for (uint32_t i = 1; i <= COUNT; i++)
		CHECK_INT(writer_snapshot(writer, &snapshot), i);
	uint8_t *longer = mem_zalloc(LAYOUT_MAX_SNAPSHOT_BYTES + 1);
	snapshot.stack = longer;
	snapshot.stack_bytes++;
	writer_snapshot(writer, &snapshot);
	mem_free(longer); /* the writer has a copy */
	CHECK(writer_bytes_pending(writer) > COUNT * LAYOUT_MAX_SNAPSHOT_BYTES);
	CHECK_OK(writer_flush(writer));
	writer_destroy(writer);
	struct str log = read_whole(&file);
	CHECK_INT(count_of(&log, "snapshot "), COUNT + 1);
	CHECK_INT(count_of(&log, "snapshot 101 process 1 "), 1);
	CHECK(strstr(log.data, "stack ffffffffffffffff+10000 crc d7978eeb\n"));
	str_deinit(&log);
	int fd = forged_fd(file.data, file.len);
	struct chunk_stream stream;
	CHECK_OK(chunk_stream_init(&stream, fd));
	struct chunk chunk;
	size_t chunks = 0;
	for (bool more = true; more; chunks++) {
		CHECK_OK(chunk_stream_next(&stream, &chunk, &more));
		CHECK(chunk.payload_bytes < (1 << 20) + 2 * LAYOUT_MAX_SNAPSHOT_BYTES);
	}
	CHECK_INT(chunks, 8);
	chunk_stream_deinit(&stream);
	close(fd);
	bytes_buf_deinit(&file);
}

TEST(frame_flags_take_a_column_only_where_there_are_some)
{
	size_t bytes[2];
	for (uint32_t flags = 0; flags < 2; flags++) {
		struct bytes_buf file = {0};
		struct writer *writer = forged_writer(&file);
		for (uint32_t i = 0; i < 10; i++)
			writer_frame(writer, &(struct layout_frame){1, i, i == 7 ? flags : 0});
		CHECK_OK(writer_flush(writer));
		writer_destroy(writer);
		bytes[flags] = file.len;
		struct str log = read_whole(&file);
		CHECK(strstr(log.data, flags ? "frame 8 object 1 offset 7 flags 1\n"
					     : "frame 8 object 1 offset 7\n"));
		CHECK(strstr(log.data, "frame 9 object 1 offset 8\n"));
		str_deinit(&log);
		bytes_buf_deinit(&file);
	}
	CHECK_INT(bytes[0], 16 + 24 + 2 + 10 + 10);
	CHECK_INT(bytes[1], bytes[0] + 2 + 10);
}

/* ---- a later minor version ---- */

TEST(unknown_chunks_columns_and_fields_are_passed)
{
	struct forged forged = forged_begin();
	struct bytes_buf payload = {0}, record = {0};
	bytes_put(&payload, "anything", 8);
	forged_chunk(&forged, 200, &payload);
	forged_varints(&record, 7, 8, 9, 10, 11, 12); /* a thread with two fields more */
	forged_varints(&payload, 1, 1);
	bytes_put_blob(&payload, record.data, record.len);
	forged_chunk(&forged, LAYOUT_CHUNK_THREADS, &payload);
	forged_varints(&payload, 1, 2, 5, 1000); /* event, count, base, unit */
	forged_varints(&payload, 99, 3, 1, 2, 3);
	forged_varints(&payload, LAYOUT_COLUMN_TIME, 2, 2, 4);
	forged_varints(&payload, LAYOUT_COLUMN_THREAD, 2, 8, 9);
	forged_chunk(&forged, LAYOUT_CHUNK_SAMPLES, &payload);
	forged_varints(&payload, 1, 1, 9, 16, 98, 1, 5, LAYOUT_FRAME_COLUMN_FLAGS, 1, 6, 99, 0);
	forged_chunk(&forged, LAYOUT_CHUNK_FRAMES, &payload); /* ... with two columns more */
	size_t threads_len = record.len;
	forged_varints(&record, 0, 0, 0, 0, 0, 0, 44); /* a snapshot with a field more */
	forged_varints(&payload, 1, 1);
	bytes_put_blob(&payload, record.data + threads_len, record.len - threads_len);
	forged_chunk(&forged, LAYOUT_CHUNK_SNAPSHOTS, &payload);
	forged_varints(&payload, 2, 77, 88); /* END with a field more */
	forged_chunk(&forged, LAYOUT_CHUNK_END, &payload);
	struct str log = {0};
	struct reader_result result;
	CHECK_OK(log_read(forged.file.data, forged.file.len, &log, &result));
	CHECK_STR(str_text(&log), "thread 1 process 7 tid 8 comm 9 for 10\n"
				  "sample 6000 event 1 thread 8 cpu 0 user 0 kernel 0 weight 1\n"
				  "sample 8000 event 1 thread 9 cpu 0 user 0 kernel 0 weight 1\n"
				  "frame 1 object 9 offset 8 flags 6\n"
				  "snapshot 1 process 0 time 0 registers stack 0+0 crc 0\n"
				  "end 2 at 77\n");
	CHECK(!result.bad_chunks && result.ended);
	CHECK_INT(result.unknown_chunks, 1);
	str_deinit(&log);
	bytes_buf_deinit(&record);
	bytes_buf_deinit(&forged.file);
}

/* ---- a sink that fails ---- */

struct failing_sink {
	int calls_left;
	struct bytes_buf taken;
};

static struct err *failing_write(void *context, const void *bytes, size_t len)
{
	struct failing_sink *sink = context;
	if (sink->calls_left-- <= 0)
		return err_sys(ENOSPC, "sink");
	bytes_put(&sink->taken, bytes, len);
	return NULL;
}

TEST(failing_sinks)
{
	for (int calls = 0; calls < 5; calls++) {
		struct failing_sink sink = {.calls_left = calls};
		struct writer *writer = writer_create((struct writer_sink){failing_write, &sink});
		for (int flush = 0; flush < 4; flush++) {
			for (int i = 0; i <= flush; i++)
				writer_sample(writer, &(struct layout_sample){.weight = 1});
			struct err *err = writer_flush(writer);
			CHECK_INT(err != NULL, flush >= calls);
			if (err)
				CHECK(strstr(err_message(err),
					flush == calls ? "No space" : "failed before"));
			err_destroy(err);
		}
		const uint64_t written[] = {0, 1, 3, 6, 10};
		CHECK_INT(writer_samples_written(writer), written[calls]);
		CHECK_INT(writer_bytes_written(writer), sink.taken.len);
		CHECK_ERR(writer_finish(writer, &(struct layout_end){1, 1}), ERR_IO, "");
		CHECK_INT(sink.calls_left <= 0, true);
		writer_destroy(writer);
		bytes_buf_deinit(&sink.taken);
	}
}

TEST(pending_bytes_are_an_upper_bound)
{
	struct bytes_buf file = {0};
	struct writer *writer = forged_writer(&file);
	forged_put_tables(writer);
	forged_put_stacks(writer);
	for (int i = 0; i < 1000; i++)
		writer_sample(writer, &(struct layout_sample){.time_ns = map_mix((uint64_t)i),
					      .thread = ~0U,
					      .cpu = 65535,
					      .weight = 1});
	uint64_t bound = writer_bytes_pending(writer);
	CHECK_OK(writer_flush(writer));
	CHECK(file.len <= bound);
	writer_destroy(writer);
	bytes_buf_deinit(&file);
}
