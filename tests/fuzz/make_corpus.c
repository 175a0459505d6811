/*
 * Writes the seeds of the targets that take recordings, and of what a store knows of baselines:
 * make_corpus DIRECTORY fills DIRECTORY/recording, recording_chunks, merge, slim, tui and
 * store_ref; import has files of other profilers.
 */
#include <stdio.h>

#include <string.h>

#include "format/base/map.h"
#include "report/compare/baseline/store_ref.h"
#include "tests/unit/forged.h"
#include "tests/unit/forged_perf.h"
#include "tests/unit/forged_pprof.h"

static const char *root;

static void put_file(const char *folder, const char *name, const void *bytes, size_t len)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/%s/%s", root, folder, name);
	FILE *file = fopen(path, "wb");
	if (!file || fwrite(bytes, 1, len, file) != len || fclose(file) != 0) {
		perror(path);
		exit(1);
	}
}

/* The chunks of a recording, unpacked, as fuzz_recording_chunks wants them. */
static void put_chunks(const void *bytes, size_t len, struct bytes_buf *out)
{
	int fd = forged_fd(bytes, len);
	struct chunk_stream stream;
	struct chunk chunk;
	bool more = true;
	struct err *err = chunk_stream_init(&stream, fd);
	while (!err) {
		err = chunk_stream_next(&stream, &chunk, &more);
		if (err || !more)
			break;
		bytes_put_u8(out, (uint8_t)chunk.type);
		bytes_put_u16(out, (uint16_t)chunk.payload_bytes);
		bytes_put(out, chunk.payload, chunk.payload_bytes);
	}
	if (err)
		exit(1);
	chunk_stream_deinit(&stream);
	close(fd);
}

/* The one before, as fuzz_merge wants it: the first of two. */
static struct bytes_buf previous;

static void put_pair(const char *name, const struct bytes_buf *chunks)
{
	struct bytes_buf pair = {0};
	bytes_put_u16(&pair, (uint16_t)previous.len);
	bytes_put(&pair, previous.data, previous.len);
	bytes_put(&pair, chunks->data, chunks->len);
	put_file("merge", name, pair.data, pair.len);
	bytes_buf_deinit(&pair);
}

/* As fuzz_slim wants it: cut to three quarters. */
static void put_slim(const char *name, const struct bytes_buf *chunks)
{
	struct bytes_buf slim = {0};
	bytes_put_u8(&slim, 192);
	bytes_put(&slim, chunks->data, chunks->len);
	put_file("slim", name, slim.data, slim.len);
	bytes_buf_deinit(&slim);
}

/* As fuzz_tui wants it, with keys that do something in most views. */
static void put_tui(const char *name, const struct bytes_buf *chunks)
{
	static const char keys[] = "4jE\nI3E>s/m\nnfx\x1bSRDx\n8j88";
	struct bytes_buf tui = {0};
	bytes_put_u8(&tui, sizeof(keys) - 1);
	bytes_put(&tui, keys, sizeof(keys) - 1);
	bytes_put(&tui, chunks->data, chunks->len);
	put_file("tui", name, tui.data, tui.len);
	bytes_buf_deinit(&tui);
}

static void put_recording(const char *name, struct bytes_buf *file)
{
	put_file("recording", name, file->data, file->len);
	struct bytes_buf chunks = {0};
	put_chunks(file->data, file->len, &chunks);
	put_file("recording_chunks", name, chunks.data, chunks.len);
	put_pair(name, &chunks);
	put_slim(name, &chunks);
	put_tui(name, &chunks);
	bytes_buf_deinit(&previous);
	previous = chunks;
	bytes_buf_deinit(file);
}

/* Compressed chunks: a chain of nodes and many samples on it. */
static void make_deep(struct bytes_buf *out)
{
	struct writer *writer = forged_writer(out);
	forged_put_tables(writer);
	for (uint32_t i = 0; i < 300; i++) {
		writer_frame(writer, &(struct layout_frame){1, 0x1000 + i * 7, 0});
		writer_node(writer, &(struct layout_node){i, i + 1});
		writer_sample(writer, &(struct layout_sample){.time_ns = 1000000000 + i * 1000000,
					      .event = 1,
					      .thread = 1,
					      .user_stack = i + 1,
					      .weight = 1});
	}
	struct err *err =
		writer_finish(writer, &(struct layout_end){LAYOUT_END_SIGNAL, 2000000000});
	writer_destroy(writer);
	if (err)
		exit(1);
}

/* Registers that are known in part, stacks of no bytes, of all, of what is no mapping. */
static void make_snapshots(struct bytes_buf *out)
{
	struct writer *writer = forged_writer(out);
	forged_put_tables(writer);
	forged_put_stacks(writer);
	forged_put_snapshot(writer);
	uint8_t stack[256] = {0};
	struct layout_snapshot snapshot = {.process = 1,
		.time_ns = 1000000000,
		.stack_address = 0x7ffc00001008,
		.stack = stack};
	for (uint32_t i = 0; i < 16; i++) {
		snapshot.known = i % 2 ? LAYOUT_REGISTERS_MASK : map_mix(i) & LAYOUT_REGISTERS_MASK;
		for (int reg = 0; reg < LAYOUT_MAX_REGISTERS; reg++)
			snapshot.registers[reg] = snapshot.known >> reg & 1 ? map_mix(i * 64U) : 0;
		snapshot.stack_bytes = i * 16;
		snapshot.is_exact = i % 3 == 0;
		writer_snapshot(writer, &snapshot);
		writer_sample(writer, &(struct layout_sample){.time_ns = i,
					      .thread = 1,
					      .user_stack = i % 5,
					      .kernel_stack = i % 7 ? 0 : 4,
					      .weight = 1,
					      .snapshot = i % 4 ? i + 2 : 0});
	}
	writer_frame(writer, &(struct layout_frame){1, 0x1300, LAYOUT_FRAME_GUESSED});
	struct err *err = writer_finish(writer, &(struct layout_end){LAYOUT_END_COMMAND, 1});
	writer_destroy(writer);
	if (err)
		exit(1);
}

/* Compiled code: places that changed, that did not, and code of no place. */
static void make_code(struct bytes_buf *out)
{
	struct writer *writer = forged_writer(out);
	forged_put_tables(writer);
	forged_put_stacks(writer);
	writer_object(writer, &(struct layout_object){.kind = LAYOUT_OBJECT_ANONYMOUS});
	for (uint32_t i = 0; i < 8; i++) {
		writer_frame(writer, &(struct layout_frame){3, i, 0});
		writer_node(writer, &(struct layout_node){i + 1, i + 5});
	}
	for (uint32_t i = 0; i < 24; i++) {
		writer_code(writer, &(struct layout_code){3, i % 10, 0,
					    1000000000 + i / 5 * 1000000, i % 7, i % 3, i});
		writer_sample(writer, &(struct layout_sample){.time_ns = 1000000000 + i * 1000000,
					      .event = 1,
					      .thread = 1,
					      .user_stack = 5 + i % 8,
					      .kernel_stack = i % 4 ? 0 : 4,
					      .weight = 1});
	}
	struct err *err = writer_finish(writer, &(struct layout_end){LAYOUT_END_COMMAND, 1});
	writer_destroy(writer);
	if (err)
		exit(1);
}

/* Damage took all samples but one: nodes that no stack goes through. */
static void make_unsampled(struct bytes_buf *out)
{
	struct writer *writer = forged_writer(out);
	forged_put_tables(writer);
	forged_put_stacks(writer);
	writer_sample(writer, &(struct layout_sample){.time_ns = 1000000000,
				      .event = 1,
				      .thread = 1,
				      .user_stack = 1,
				      .weight = 1});
	struct err *err = writer_finish(writer, &(struct layout_end){LAYOUT_END_COMMAND, 1});
	writer_destroy(writer);
	if (err)
		exit(1);
}

/* A source of events beside the timer: values, and what became of them; and of a source that has
 * none. */
static void make_values(struct bytes_buf *out)
{
	struct writer *writer = forged_writer(out);
	forged_put_tables(writer);
	forged_put_stacks(writer);
	struct layout_event event = {
		.name = writer_string(writer, "gulps", 5),
		.unit = writer_string(writer, "bytes", 5),
		.source = writer_string(writer, "meter", 5),
	};
	uint32_t id = writer_event(writer, &event);
	for (uint32_t i = 0; i < 12; i++) {
		struct layout_event_tally tally = {.source = i % 4 ? event.source : event.unit,
			.counter = (enum layout_event_counter)i,
			.cpu = i % 3,
			.count = i,
			.sum = i * i};
		writer_event_tally(writer, &tally);
		writer_thread_times(writer,
			&(struct layout_thread_times){i, 100 * i, i, 9 * i, i % 2, i, i, i, i});
		writer_sample(writer, &(struct layout_sample){.time_ns = 1000000000 + i * 1000000,
					      .event = i % 3 ? id : 1,
					      .thread = 1,
					      .user_stack = i % 5,
					      .weight = i % 3 ? map_mix(i) : 1});
	}
	struct err *err = writer_finish(writer, &(struct layout_end){LAYOUT_END_COMMAND, 1});
	writer_destroy(writer);
	if (err)
		exit(1);
}

/* What archiving appends: stacks that were unwound, and chains. */
static void make_archived(struct bytes_buf *out)
{
	make_snapshots(out);
	struct chain_frame chain[2] = {
		{.function = "inlined", .file = "a.h", .line = 3, .is_inlined = true},
		{.function = "_Z4mainv",
			.file = "a.c",
			.decl_file = "a.c",
			.line = 7,
			.start = 0x1100},
	};
	struct chain_map chains = {.detail = CHAIN_MAP_INLINED};
	for (uint64_t i = 0; i < 20; i++) {
		chain[0].line = (uint32_t)i;
		chain_map_add(&chains, 0x1100 + i * 16, &(struct chain){chain, 2});
	}
	struct layout_position position = {.frame = 20, .node = 20, .sequence = 40};
	struct writer *writer =
		writer_create_behind((struct writer_sink){forged_sink_write, out}, &position);
	writer_frame(writer, &(struct layout_frame){1, 0x1400, 0});
	writer_node(writer, &(struct layout_node){0, 20});
	writer_unwound(writer, &(struct layout_unwound){1, 20});
	writer_chains(writer, 1, &chains);
	struct err *err = writer_flush(writer);
	writer_destroy(writer);
	chain_map_deinit(&chains);
	if (err)
		exit(1);
}

/* ---- what a store knows ---- */

static void put_ref(const char *name, const struct store_key *key, unsigned count)
{
	struct store_ref ref;
	CLEANUP(str_deinit) struct str text = {0};
	store_ref_init(&ref, key);
	for (unsigned i = 0; i < count; i++) {
		struct store_entry entry = {.time_s = 1700000000 + i,
			.runs = 1 + i,
			.samples = 1000 * i,
			.bytes = 12345,
			.event = i % 2 ? "cycles" : "cpu clock\n"};
		memset(entry.hash, "0123456789abcdef"[i % 16], SHA256_DIGITS);
		store_ref_add(&ref, &entry);
	}
	store_ref_encode(&ref, &text);
	put_file("store_ref", name, text.data, text.len);
	store_ref_deinit(&ref);
}

/* Sets that share labels, with values of each kind, and some that lead nowhere. */
static void make_labels(struct bytes_buf *out)
{
	struct writer *writer = forged_writer(out);
	forged_put_tables(writer);
	forged_put_stacks(writer);
	uint32_t user = forged_string(writer, "user"), page = forged_string(writer, "page");
	for (uint32_t i = 0; i < 70; i++) {
		struct layout_label label = {.rest = i % 5 ? i : i / 2,
			.key = i % 2 ? user : page,
			.kind = (enum layout_label_kind)(i % 4),
			.value = i % 6};
		writer_label(writer, &label);
		writer_sample(writer, &(struct layout_sample){.time_ns = i,
					      .event = 1,
					      .thread = 1,
					      .user_stack = i % 5,
					      .weight = 1,
					      .labels = i % 7 ? i + 1 : i * 10});
	}
	struct err *err = writer_finish(writer, &(struct layout_end){LAYOUT_END_COMMAND, 1});
	writer_destroy(writer);
	if (err)
		exit(1);
}

/* ---- files of other profilers ---- */

static void put_imports(void)
{
	static const char folded[] =
		"main;parse<int>;lex 3\nmain;run;inner_[i] 2\nmain;read_[k] 1\n";
	static const char rows[] =
		"{\"time\":\"2026-11-26 "
		"14:05:00\",\"host\":\"a\",\"event\":\"cpu\",\"unit\":\"ns\","
		"\"labels\":{\"comm\":\"sh\",\"thread\":\"t\",\"team\":\"shop\"},"
		"\"stack\":[\"main\",\"read_[k]\"],\"samples\":2,\"value\":\"20.5\"}\n"
		"{\"host\":\"b\",\"stack\":[\"main\"],\"value\":-1}\n";
	static const char tabs[] = "stack\tvalue\tteam\n"
				   "\"[\"\"main\"\",\"\"run\"\"]\"\t3\tshop\n[\"main\"]\t1e3\t\n";
	const struct forged_perf_event event = FORGED_PERF_CLOCK;
	struct bytes_buf records = forged_perf_records(), ids = {0}, pipe = {0}, body = {0};
	forged_perf_build_id(&ids, 0x20, "/bin/program");
	struct bytes_buf file = forged_perf_file(&event, &records, &ids);
	bytes_put(&pipe, PERF_MAGIC, PERF_MAGIC_BYTES);
	bytes_put_u64(&pipe, 16);
	forged_perf_put_attr(&body, &event);
	bytes_put_u64(&body, event.id);
	forged_perf_record(&pipe, 64, 0, &body);
	bytes_put(&pipe, records.data, records.len);
	put_file("import", "folded", folded, strlen(folded));
	put_file("import", "rows", rows, strlen(rows));
	put_file("import", "rows_tabs", tabs, strlen(tabs));
	put_file("import", "perf", file.data, file.len);
	put_file("import", "perf_pipe", pipe.data, pipe.len);
	struct bytes_buf pprof = forged_pprof(1);
	put_file("import", "pprof", pprof.data, pprof.len);
	bytes_buf_deinit(&pprof);
	bytes_buf_deinit(&records);
	bytes_buf_deinit(&ids);
	bytes_buf_deinit(&file);
	bytes_buf_deinit(&pipe);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: make_corpus DIRECTORY\n");
		return 1;
	}
	root = argv[1];
	put_imports();
	struct bytes_buf small = {0}, cut = {0}, deep = {0}, torn = {0}, empty = {0};
	struct bytes_buf snapshots = {0}, archived = {0}, code = {0};
	struct bytes_buf unsampled = {0}, values = {0}, labels = {0};
	forged_small(&small);
	bytes_put(&cut, small.data, small.len / 2);
	bytes_put(&torn, small.data, 100);
	bytes_put(&torn, small.data + 140, small.len - 140);
	make_deep(&deep);
	chunk_put_file_header(&empty);
	put_recording("small", &small);
	put_recording("cut", &cut);
	put_recording("torn", &torn);
	put_recording("deep", &deep);
	put_recording("empty", &empty);
	make_snapshots(&snapshots);
	put_recording("snapshots", &snapshots);
	make_code(&code);
	put_recording("code", &code);
	make_archived(&archived);
	put_recording("archived", &archived);
	make_unsampled(&unsampled);
	put_recording("unsampled", &unsampled);
	make_values(&values);
	put_recording("values", &values);
	make_labels(&labels);
	put_recording("labels", &labels);
	bytes_buf_deinit(&previous);
	put_ref("none", &(struct store_key){"job", "main", "unknown"}, 0);
	put_ref("three", &(struct store_key){"../a b", "fix/%41", "A CPU @ 2.10GHz"}, 3);
	return 0;
}
