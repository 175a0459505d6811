/* Wire events in, a recording out, read back: what stands between the ring and the file. */
#ifndef EBPROF_RECORD_TRANSLATE_FIXTURE_H
#define EBPROF_RECORD_TRANSLATE_FIXTURE_H

#include <stdio.h>
#include <string.h>

#include "format/file/reader.h"
#include "record/translate.h"
#include "tests/unit/forged.h"
#include "tests/unit/unit.h"

enum {
	PID = 0x7ffffff0,  /* a pid that no process has, so /proc says nothing */
	MAX_STRINGS = 256, /* in a file; the vDSO's symbols are some */
};

struct fixture {
	struct translate translate;
	struct writer *writer;
	struct bytes_buf file;
	struct str symbols; /* of what was read back */
};

static inline ERR_MUST_CHECK struct err *keep(void *context, const void *bytes, size_t len)
{
	bytes_put(context, bytes, len);
	return NULL;
}

static inline void setup(struct fixture *fixture)
{
	*fixture = (struct fixture){0};
	translate_init(&fixture->translate, true);
	fixture->writer = writer_create((struct writer_sink){keep, &fixture->file});
	emitter_begin_file(&fixture->translate.emitter, fixture->writer);
	vec_push(&fixture->translate.event_ids[EVENT_SOURCE_TIMER],
		writer_event(fixture->writer, &(struct layout_event){0}));
}

static inline void teardown(struct fixture *fixture)
{
	writer_destroy(fixture->writer);
	translate_deinit(&fixture->translate);
	bytes_buf_deinit(&fixture->file);
	str_deinit(&fixture->symbols);
}

/* ---- words ---- */

static inline uint64_t word_of(enum event_frame_kind kind, uint64_t place)
{
	return (uint64_t)kind << EVENT_FRAME_KIND_SHIFT | place;
}

static inline uint64_t in_file(uint32_t file, uint64_t offset)
{
	return word_of(EVENT_FRAME_FILE, (uint64_t)file << EVENT_FRAME_FILE_SHIFT | offset);
}

static inline uint64_t guessed(uint64_t word)
{
	return word | 1ULL << EVENT_FRAME_FOUND_SHIFT;
}

/* ---- what arrives ---- */

static inline void collect_stack(
	struct fixture *fixture, const struct event_stack *head, const uint64_t *words)
{
	struct {
		struct event_stack head;
		uint64_t words[16];
	} record = {.head = *head};
	record.head.type = EVENT_STACK;
	memcpy(record.words, words, head->nr_frames * sizeof(*words));
	translate_collect(&fixture->translate, &record, sizeof(record.head) + head->nr_frames * 8);
}

static inline void push_stack(struct fixture *fixture, uint64_t hash, uint64_t time_ns,
	enum event_stack_end end, const uint64_t *words, uint32_t count)
{
	struct event_stack head = {
		.end = end, .pid = PID, .nr_frames = count, .hash = hash, .time_ns = time_ns};
	collect_stack(fixture, &head, words);
}

static inline void push_kernel_stack(struct fixture *fixture, uint64_t hash, uint64_t time_ns,
	const uint64_t *addresses, uint32_t count)
{
	struct event_stack head = {.kind = EVENT_STACK_KERNEL,
		.pid = PID,
		.nr_frames = count,
		.hash = hash,
		.time_ns = time_ns};
	collect_stack(fixture, &head, addresses);
}

static inline void push_sample_of(struct fixture *fixture, uint32_t pid, uint64_t user_hash,
	uint64_t kernel_hash, uint64_t time_ns, const char *comm)
{
	struct event_sample sample = {
		.type = EVENT_SAMPLE,
		.pid = pid,
		.tid = pid,
		.time_ns = time_ns,
		.user_hash = user_hash,
		.kernel_hash = kernel_hash,
		.start_ns = 5,
		.value = 1,
	};
	snprintf(sample.comm, sizeof(sample.comm), "%s", comm);
	translate_collect(&fixture->translate, &sample, sizeof(sample));
}

/* What begins and ends with a stack, and then with its time. */
static inline void push_part(struct fixture *fixture, enum event_type type, uint64_t hash,
	uint64_t number, uint64_t time_ns)
{
	struct event_sample sample = {
		.type = type,
		.pid = PID,
		.tid = PID,
		.time_ns = time_ns,
		.user_hash = hash,
		.start_ns = 5,
		.value = 600,
		.measured = 300,
		.waker = number,
		.operation = EVENT_BLOCK_WRITE,
	};
	translate_collect(&fixture->translate, &sample, sizeof(sample));
}

static inline void push_sample(
	struct fixture *fixture, uint64_t hash, uint64_t time_ns, const char *comm)
{
	push_sample_of(fixture, PID, hash, 0, time_ns, comm);
}

/* Of a tick that has its sample already. */
static inline void push_second_sample(struct fixture *fixture, uint64_t hash, uint64_t time_ns)
{
	struct event_sample sample = {
		.type = EVENT_SAMPLE_AGAIN,
		.pid = PID,
		.tid = PID,
		.time_ns = time_ns,
		.user_hash = hash,
		.start_ns = 5,
		.value = 1,
		.comm = "a",
	};
	translate_collect(&fixture->translate, &sample, sizeof(sample));
}

static inline void push_file(
	struct fixture *fixture, uint32_t file, uint64_t time_ns, uint64_t start, uint64_t offset)
{
	struct event_file event = {
		.type = EVENT_FILE,
		.file = file,
		.pid = PID,
		.start = start,
		.end = start + 0x1000,
		.offset = offset,
		.time_ns = time_ns,
	};
	translate_collect(&fixture->translate, &event, sizeof(event));
}

static inline void push_snapshot(struct fixture *fixture, uint64_t hash, uint64_t sp)
{
	struct event_snapshot event = {.type = EVENT_SNAPSHOT, .is_exact = 1, .hash = hash};
	event.registers.ip = 0x10900;
	event.registers.known = 1ULL << UNWIND_SP;
	event.registers.reg[UNWIND_SP] = sp;
	translate_collect(&fixture->translate, &event, sizeof(event));
}

/* Its words are its own addresses. */
static inline void push_chunk(
	struct fixture *fixture, uint64_t hash, uint64_t address, uint32_t nr_bytes)
{
	struct event_snapshot_chunk chunk = {
		.type = EVENT_SNAPSHOT_CHUNK,
		.nr_bytes = nr_bytes,
		.hash = hash,
		.address = address,
	};
	for (size_t i = 0; i + 8 <= sizeof(chunk.bytes); i += 8)
		memcpy(chunk.bytes + i, &(uint64_t){address + i}, 8);
	translate_collect(&fixture->translate, &chunk, sizeof(chunk));
}

static inline void push_map_of(
	struct fixture *fixture, uint32_t pid, uint64_t time_ns, uint64_t start, const char *path)
{
	struct sideband_event event = {
		.kind = SIDEBAND_MAP,
		.time_ns = time_ns,
		.pid = pid,
		.start = start,
		.length = 0x1000,
		.build_id = {1, 2, 3, 4},
		.build_id_len = 4,
		.path = path,
	};
	vec_push(&fixture->translate.sideband.events, event);
}

static inline void push_map(
	struct fixture *fixture, uint64_t time_ns, uint64_t start, const char *path)
{
	push_map_of(fixture, PID, time_ns, start, path);
}

static inline void push_exec(struct fixture *fixture, uint64_t time_ns)
{
	vec_push(&fixture->translate.sideband.events,
		(struct sideband_event){.kind = SIDEBAND_EXEC, .time_ns = time_ns, .pid = PID});
}

/* ---- what comes out ---- */

/* The file as it was read back: samples with their stacks. */
struct result {
	char strings[MAX_STRINGS][64];
	uint32_t object_paths[64];
	struct layout_frame frames[64];
	struct layout_node nodes[64];
	struct layout_sample samples[64];
	struct layout_label labels[64];
	size_t nr_samples;
	struct layout_process processes[8];
	size_t nr_processes;
	char thread_names[128]; /* "name;" of each thread's name */
	struct str *symbols;    /* "name object offset+size;" of each */
};

static inline void on_string(void *context, uint32_t id, const char *bytes, size_t len)
{
	struct result *result = context;
	CHECK(id < MAX_STRINGS && len < sizeof(*result->strings));
	if (id < MAX_STRINGS && len < sizeof(*result->strings))
		memcpy(result->strings[id], bytes, len);
}

static inline void on_object(void *context, uint32_t id, const struct layout_object *object)
{
	((struct result *)context)->object_paths[id] = object->path;
}

static inline void on_process(void *context, uint32_t id, const struct layout_process *process)
{
	struct result *result = context;
	(void)id;
	result->processes[result->nr_processes++] = *process;
}

static inline void on_thread(void *context, uint32_t id, const struct layout_thread *thread)
{
	struct result *result = context;
	size_t len = strlen(result->thread_names);
	(void)id;
	snprintf(result->thread_names + len, sizeof(result->thread_names) - len, "%s;",
		result->strings[thread->comm]);
}

static inline void on_frame(void *context, uint32_t id, const struct layout_frame *frame)
{
	((struct result *)context)->frames[id] = *frame;
}

static inline void on_node(void *context, uint32_t id, const struct layout_node *node)
{
	((struct result *)context)->nodes[id] = *node;
}

static inline void on_label(void *context, uint32_t id, const struct layout_label *label)
{
	((struct result *)context)->labels[id] = *label;
}

static inline void on_sample(void *context, const struct layout_sample *sample)
{
	struct result *result = context;
	result->samples[result->nr_samples++] = *sample;
}

static inline void on_symbol(void *context, const struct layout_symbol *symbol)
{
	struct result *result = context;
	str_printf(result->symbols, "%s %s %llx+%llx;", result->strings[symbol->name],
		result->strings[result->object_paths[symbol->object]],
		(unsigned long long)symbol->offset, (unsigned long long)symbol->size);
}

static inline void read_back(struct fixture *fixture, struct result *result)
{
	static const struct reader_visitor visitor = {
		.string = on_string,
		.object = on_object,
		.process = on_process,
		.thread = on_thread,
		.frame = on_frame,
		.node = on_node,
		.label = on_label,
		.sample = on_sample,
		.symbol = on_symbol,
	};
	*result = (struct result){.symbols = &fixture->symbols};
	str_truncate(&fixture->symbols, 0);
	CHECK_OK(writer_finish(fixture->writer, &(struct layout_end){LAYOUT_END_COMMAND, 1}));
	int fd = forged_fd(fixture->file.data, fixture->file.len);
	struct reader_result file;
	CHECK_OK(reader_read(fd, &visitor, result, &file));
	CHECK(file.ended && !file.bad_chunks && !file.damage.regions);
	close(fd);
}

/* Leaf first, "path+offset" of each frame, '?' behind a guessed one; "#cause" of truncation. */
static inline void check_stack(const struct result *result, uint32_t stack, const char *want)
{
	CLEANUP(str_deinit) struct str got = {0};
	for (uint32_t node = stack; node; node = result->nodes[node].parent) {
		const struct layout_frame *frame = &result->frames[result->nodes[node].frame];
		str_puts(&got, got.len ? " " : "");
		if (frame->object)
			str_printf(&got, "%s+%llx",
				result->strings[result->object_paths[frame->object]],
				(unsigned long long)frame->offset);
		else
			str_printf(&got, "#%u", (unsigned)frame->offset);
		str_puts(&got, frame->flags & LAYOUT_FRAME_GUESSED ? "?" : "");
	}
	CHECK_STR(str_text(&got), want);
}

static inline void check_sample(const struct result *result, size_t sample, const char *want)
{
	CHECK(sample < result->nr_samples);
	check_stack(result, result->samples[sample].user_stack, want);
}

/* ... of a stack that is cut there. */
static inline void check_cut_sample(const struct result *result, size_t sample, const char *want,
	enum layout_truncation truncation)
{
	char text[64];
	snprintf(text, sizeof(text), "%s #%d", want, truncation);
	check_sample(result, sample, text);
}

#endif
