/* Wire events in, a recording out, read back: what stands between the ring and the file. */
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

static struct err *keep(void *context, const void *bytes, size_t len)
{
	bytes_put(context, bytes, len);
	return NULL;
}

static void setup(struct fixture *fixture)
{
	*fixture = (struct fixture){0};
	translate_init(&fixture->translate, true);
	fixture->writer = writer_create((struct writer_sink){keep, &fixture->file});
	emitter_begin_file(&fixture->translate.emitter, fixture->writer);
	fixture->translate.event_ids[0] = writer_event(fixture->writer, &(struct layout_event){0});
}

static void teardown(struct fixture *fixture)
{
	writer_destroy(fixture->writer);
	translate_deinit(&fixture->translate);
	bytes_buf_deinit(&fixture->file);
	str_deinit(&fixture->symbols);
}

/* ---- words ---- */

static uint64_t word_of(enum event_frame_kind kind, uint64_t place)
{
	return (uint64_t)kind << EVENT_FRAME_KIND_SHIFT | place;
}

static uint64_t in_file(uint32_t file, uint64_t offset)
{
	return word_of(EVENT_FRAME_FILE, (uint64_t)file << EVENT_FRAME_FILE_SHIFT | offset);
}

static uint64_t guessed(uint64_t word)
{
	return word | 1ULL << EVENT_FRAME_GUESSED_SHIFT;
}

/* ---- what arrives ---- */

static void collect_stack(
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

static void push_stack(struct fixture *fixture, uint64_t hash, uint64_t time_ns,
	enum event_stack_end end, const uint64_t *words, uint32_t count)
{
	struct event_stack head = {
		.end = end, .pid = PID, .nr_frames = count, .hash = hash, .time_ns = time_ns};
	collect_stack(fixture, &head, words);
}

static void push_kernel_stack(struct fixture *fixture, uint64_t hash, uint64_t time_ns,
	const uint64_t *addresses, uint32_t count)
{
	struct event_stack head = {.kind = EVENT_STACK_KERNEL,
		.pid = PID,
		.nr_frames = count,
		.hash = hash,
		.time_ns = time_ns};
	collect_stack(fixture, &head, addresses);
}

static void push_sample_of(struct fixture *fixture, uint32_t pid, uint64_t user_hash,
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
	};
	strncpy(sample.comm, comm, sizeof(sample.comm) - 1);
	translate_collect(&fixture->translate, &sample, sizeof(sample));
}

static void push_sample(struct fixture *fixture, uint64_t hash, uint64_t time_ns, const char *comm)
{
	push_sample_of(fixture, PID, hash, 0, time_ns, comm);
}

static void push_file(
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

static void push_snapshot(struct fixture *fixture, uint64_t hash, uint64_t sp)
{
	struct event_snapshot event = {.type = EVENT_SNAPSHOT, .is_exact = 1, .hash = hash};
	event.registers.ip = 0x10900;
	event.registers.known = 1ULL << UNWIND_SP;
	event.registers.reg[UNWIND_SP] = sp;
	translate_collect(&fixture->translate, &event, sizeof(event));
}

/* Its words are its own addresses. */
static void push_chunk(struct fixture *fixture, uint64_t hash, uint64_t address, uint32_t nr_bytes)
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

static void push_map_of(
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

static void push_map(struct fixture *fixture, uint64_t time_ns, uint64_t start, const char *path)
{
	push_map_of(fixture, PID, time_ns, start, path);
}

static void push_exec(struct fixture *fixture, uint64_t time_ns)
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
	size_t nr_samples;
	struct layout_process processes[8];
	size_t nr_processes;
	struct str *symbols; /* "name object offset+size;" of each */
};

static void on_string(void *context, uint32_t id, const char *bytes, size_t len)
{
	struct result *result = context;
	CHECK(id < MAX_STRINGS && len < sizeof(*result->strings));
	if (id < MAX_STRINGS && len < sizeof(*result->strings))
		memcpy(result->strings[id], bytes, len);
}

static void on_object(void *context, uint32_t id, const struct layout_object *object)
{
	((struct result *)context)->object_paths[id] = object->path;
}

static void on_process(void *context, uint32_t id, const struct layout_process *process)
{
	struct result *result = context;
	(void)id;
	result->processes[result->nr_processes++] = *process;
}

static void on_frame(void *context, uint32_t id, const struct layout_frame *frame)
{
	((struct result *)context)->frames[id] = *frame;
}

static void on_node(void *context, uint32_t id, const struct layout_node *node)
{
	((struct result *)context)->nodes[id] = *node;
}

static void on_sample(void *context, const struct layout_sample *sample)
{
	struct result *result = context;
	result->samples[result->nr_samples++] = *sample;
}

static void on_symbol(void *context, const struct layout_symbol *symbol)
{
	struct result *result = context;
	str_printf(result->symbols, "%s %s %llx+%llx;", result->strings[symbol->name],
		result->strings[result->object_paths[symbol->object]],
		(unsigned long long)symbol->offset, (unsigned long long)symbol->size);
}

static void read_back(struct fixture *fixture, struct result *result)
{
	static const struct reader_visitor visitor = {
		.string = on_string,
		.object = on_object,
		.process = on_process,
		.frame = on_frame,
		.node = on_node,
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
static void check_stack(const struct result *result, uint32_t stack, const char *want)
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

static void check_sample(const struct result *result, size_t sample, const char *want)
{
	CHECK(sample < result->nr_samples);
	check_stack(result, result->samples[sample].user_stack, want);
}

/* ---- places in files ---- */

TEST(a_file_announced_is_what_its_number_means)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	const uint64_t words[] = {in_file(7, 0x123), in_file(9, 0xffffffffff), in_file(7, 0)};
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_map(&fixture, 11, 0x20000, "/lib/b");
	push_file(&fixture, 7, 20, 0x10000, 0);
	push_file(&fixture, 9, 20, 0x20000, 0);
	push_stack(&fixture, 101, 20, EVENT_END_COMPLETE, words, 3);
	push_sample(&fixture, 101, 20, "a");
	translate_run(&fixture.translate, 50, true);
	read_back(&fixture, &result);
	CHECK_INT(result.nr_samples, 1);
	check_sample(&result, 0, "/bin/a+123 /lib/b+ffffffffff /bin/a+0");
	CHECK_INT(fixture.translate.stats.complete, 1);
	teardown(&fixture);
}

TEST(a_file_never_announced_is_unknown)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	const uint64_t words[] = {in_file(7, 0x10), in_file(8, 0x20), in_file(0x3ffff, 0x30)};
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_file(&fixture, 7, 20, 0x10000, 0);
	push_stack(&fixture, 101, 20, EVENT_END_COMPLETE, words, 3);
	push_sample(&fixture, 101, 20, "a");
	translate_run(&fixture.translate, 50, true);
	read_back(&fixture, &result);
	check_sample(&result, 0, "/bin/a+10 [unknown]+20 [unknown]+30");
	teardown(&fixture);
}

/* Deep enough for runs of frames; the second stack is the first but for its leaf. */
TEST(stacks_that_share_callers_keep_their_frames)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	uint64_t words[12];
	for (uint64_t i = 0; i < 12; i++)
		words[i] = in_file(7, i);
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_file(&fixture, 7, 20, 0x10000, 0);
	push_stack(&fixture, 101, 20, EVENT_END_COMPLETE, words, 12);
	push_sample(&fixture, 101, 20, "a");
	words[0] = in_file(7, 0xff);
	push_stack(&fixture, 102, 21, EVENT_END_COMPLETE, words, 12);
	push_stack(&fixture, 103, 22, EVENT_END_COMPLETE, words + 2, 10);
	push_stack(&fixture, 104, 23, EVENT_END_UNREADABLE, words, 12);
	for (uint64_t hash = 102; hash <= 104; hash++)
		push_sample(&fixture, hash, 24, "a");
	translate_run(&fixture.translate, 50, true);
	read_back(&fixture, &result);
	CHECK_INT(result.nr_samples, 4);
#define CALLERS \
	"/bin/a+2 /bin/a+3 /bin/a+4 /bin/a+5 /bin/a+6 /bin/a+7 /bin/a+8 /bin/a+9 " \
	"/bin/a+a /bin/a+b"
	check_sample(&result, 0, "/bin/a+0 /bin/a+1 " CALLERS);
	check_sample(&result, 1, "/bin/a+ff /bin/a+1 " CALLERS);
	check_sample(&result, 2, CALLERS);
	check_sample(&result, 3, "/bin/a+ff /bin/a+1 " CALLERS " #3");
#undef CALLERS
	CHECK_INT(result.samples[2].user_stack,
		result.nodes[result.nodes[result.samples[0].user_stack].parent].parent);
	teardown(&fixture);
}

/* What stacks of it were is not what the next one's frames are. */
TEST(a_number_can_come_to_mean_another_file)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	uint64_t words[8];
	for (uint64_t i = 0; i < 8; i++)
		words[i] = in_file(7, i);
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_map(&fixture, 10, 0x20000, "/b");
	push_file(&fixture, 7, 20, 0x10000, 0);
	push_stack(&fixture, 101, 20, EVENT_END_COMPLETE, words, 8);
	push_sample(&fixture, 101, 20, "a");
	push_file(&fixture, 7, 30, 0x20000, 0);
	push_stack(&fixture, 102, 30, EVENT_END_COMPLETE, words, 8);
	push_sample(&fixture, 102, 30, "a");
	translate_run(&fixture.translate, 50, true);
	read_back(&fixture, &result);
	CHECK_INT(result.nr_samples, 2);
	check_sample(&result, 0,
		"/bin/a+0 /bin/a+1 /bin/a+2 /bin/a+3 /bin/a+4 /bin/a+5 /bin/a+6 /bin/a+7");
	check_sample(&result, 1, "/b+0 /b+1 /b+2 /b+3 /b+4 /b+5 /b+6 /b+7");
	teardown(&fixture);
}

/* No such mapping, one of another offset, a number beyond all: nothing is learned. */
TEST(a_file_that_no_mapping_shows_is_unknown)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	const uint64_t words[] = {in_file(1, 0x10), in_file(2, 0x20), in_file(3, 0x30)};
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_file(&fixture, 1, 20, 0x50000, 0);
	push_file(&fixture, 2, 20, 0x10000, 0x3000);
	push_file(&fixture, 1 << EVENT_FRAME_FILE_BITS, 20, 0x10000, 0);
	push_stack(&fixture, 101, 20, EVENT_END_COMPLETE, words, 3);
	push_sample(&fixture, 101, 20, "a");
	/* Announced again, as for a table that was dropped, it is. */
	push_file(&fixture, 1, 30, 0x10000, 0);
	push_stack(&fixture, 102, 30, EVENT_END_COMPLETE, words, 1);
	push_sample(&fixture, 102, 30, "a");
	/* What is known stays known. */
	push_file(&fixture, 1, 40, 0x50000, 0);
	push_stack(&fixture, 103, 40, EVENT_END_COMPLETE, words, 1);
	push_sample(&fixture, 103, 40, "a");
	translate_run(&fixture.translate, 50, true);
	read_back(&fixture, &result);
	check_sample(&result, 0, "[unknown]+10 [unknown]+20 [unknown]+30");
	check_sample(&result, 1, "/bin/a+10");
	check_sample(&result, 2, "/bin/a+10");
	teardown(&fixture);
}

/* The announcement is looked up in the mappings of its time. */
TEST(a_file_is_that_of_its_time)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	const uint64_t words[] = {in_file(1, 0x10), in_file(2, 0x10)};
	push_map(&fixture, 10, 0x10000, "/bin/first");
	push_file(&fixture, 1, 20, 0x10000, 0);
	push_exec(&fixture, 30);
	push_map(&fixture, 31, 0x10000, "/bin/second");
	push_file(&fixture, 2, 40, 0x10000, 0);
	push_stack(&fixture, 101, 41, EVENT_END_COMPLETE, words, 2);
	push_sample(&fixture, 101, 41, "a");
	translate_run(&fixture.translate, 50, true);
	read_back(&fixture, &result);
	check_sample(&result, 0, "/bin/first+10 /bin/second+10");
	teardown(&fixture);
}

/* The BPF side sends a stack once, whoever has it: the other process maps the file elsewhere. */
static void check_program(const struct result *result, size_t process, const char *want)
{
	CHECK(process < result->nr_processes);
	uint32_t exe = result->processes[process].exe;
	CHECK_STR(exe ? result->strings[result->object_paths[exe]] : "-", want);
}

/* The kernel announces the exec before it maps the new program, and may be sampled in between. */
TEST(a_process_sampled_amid_its_exec_has_a_program)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	push_map_of(&fixture, PID, 10, 0x10000, "/bin/driver");
	push_sample(&fixture, 0, 15, "driver");
	push_exec(&fixture, 20);
	push_sample(&fixture, 0, 25, "compiler");
	push_map_of(&fixture, PID + 1, 30, 0x1000, "/bin/other");
	push_map_of(&fixture, PID, 30, 0x7000, "[vdso]");
	push_map_of(&fixture, PID, 31, 0x10000, "/bin/compiler");
	push_map_of(&fixture, PID, 32, 0x20000, "/lib/loader");
	push_sample(&fixture, 0, 35, "compiler");
	translate_run(&fixture.translate, 50, true);
	read_back(&fixture, &result);
	CHECK_INT(result.nr_samples, 3);
	CHECK_INT(result.nr_processes, 2);
	check_program(&result, 0, "/bin/driver");
	check_program(&result, 1, "/bin/compiler");
	teardown(&fixture);
}

TEST(the_next_program_is_not_this_one)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	push_exec(&fixture, 20);
	push_sample(&fixture, 0, 25, "brief");
	push_exec(&fixture, 30);
	push_map_of(&fixture, PID, 31, 0x10000, "/bin/next");
	translate_run(&fixture.translate, 50, true);
	read_back(&fixture, &result);
	CHECK_INT(result.nr_processes, 1);
	check_program(&result, 0, "-");
	teardown(&fixture);
}

TEST(the_same_stack_in_two_processes_is_one)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	const uint64_t words[] = {in_file(7, 0x123), in_file(7, 0x456)};
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_map_of(&fixture, PID + 1, 11, 0x70000, "/bin/a");
	push_file(&fixture, 7, 20, 0x10000, 0);
	push_stack(&fixture, 101, 20, EVENT_END_COMPLETE, words, 2);
	push_sample(&fixture, 101, 20, "a");
	push_sample_of(&fixture, PID + 1, 101, 0, 21, "a");
	translate_run(&fixture.translate, 50, true);
	read_back(&fixture, &result);
	CHECK_INT(result.nr_samples, 2);
	check_sample(&result, 1, "/bin/a+123 /bin/a+456");
	CHECK_INT(result.samples[0].user_stack, result.samples[1].user_stack);
	CHECK(result.samples[0].thread != result.samples[1].thread);
	teardown(&fixture);
}

TEST(frames_of_no_file)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	const uint64_t words[] = {word_of(EVENT_FRAME_ANONYMOUS, 0x7f0012345678),
		word_of(EVENT_FRAME_VDSO, 0xabc), word_of(5, 0x10),
		word_of(EVENT_FRAME_ANONYMOUS, 0x10)};
	push_stack(&fixture, 101, 20, EVENT_END_COMPLETE, words, 4);
	push_sample(&fixture, 101, 20, "a");
	translate_run(&fixture.translate, 50, true);
	read_back(&fixture, &result);
	check_sample(&result, 0, "[anon]+7f0012345678 [vdso]+abc [anon]+10");
	teardown(&fixture);
}

TEST(guesses_are_marked)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	const uint64_t words[] = {in_file(7, 0x10), guessed(in_file(7, 0x10)),
		guessed(word_of(EVENT_FRAME_ANONYMOUS, 0x7f0000000000)), guessed(0x10020)};
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_file(&fixture, 7, 20, 0x10000, 0);
	push_stack(&fixture, 101, 20, EVENT_END_COMPLETE, words, 4);
	push_sample(&fixture, 101, 20, "a");
	translate_run(&fixture.translate, 50, true);
	read_back(&fixture, &result);
	check_sample(&result, 0, "/bin/a+10 /bin/a+10? [anon]+7f0000000000? /bin/a+20?");
	teardown(&fixture);
}

/* ---- addresses ---- */

TEST(addresses_are_resolved_by_the_mappings_of_their_time)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	static const uint64_t address[] = {0x10800};
	/* The same address before and after an exec: two programs. */
	push_map(&fixture, 10, 0x10000, "/bin/first");
	push_stack(&fixture, 101, 20, EVENT_END_COMPLETE, address, 1);
	push_sample(&fixture, 101, 20, "first");
	push_exec(&fixture, 30);
	push_map(&fixture, 31, 0x10000, "/bin/second");
	push_stack(&fixture, 102, 40, EVENT_END_COMPLETE, address, 1);
	push_sample(&fixture, 102, 40, "second");
	translate_run(&fixture.translate, 50, true);
	read_back(&fixture, &result);
	CHECK_INT(result.nr_samples, 2);
	check_sample(&result, 0, "/bin/first+800");
	check_sample(&result, 1, "/bin/second+800");
	CHECK(result.samples[0].thread != result.samples[1].thread);
	CHECK_INT(fixture.translate.stats.complete, 2);
	teardown(&fixture);
}

/* The BPF side names the place inside the call already; what it names is taken as it is. */
TEST(addresses_are_looked_up_as_they_are)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	static const uint64_t addresses[] = {0x10010, 0x10fff, 0x11000};
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_stack(&fixture, 7, 20, EVENT_END_COMPLETE, addresses, 3);
	push_sample(&fixture, 7, 20, "a");
	translate_run(&fixture.translate, 50, true);
	read_back(&fixture, &result);
	check_sample(&result, 0, "/bin/a+10 /bin/a+fff [unknown]+11000");
	teardown(&fixture);
}

TEST(a_broken_stack_says_why_at_its_end)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	static const uint64_t addresses[] = {0x10010, 0x10020};
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_stack(&fixture, 7, 20, EVENT_END_NO_RULE, addresses, 2);
	push_stack(&fixture, 8, 20, 200, addresses, 1); /* a reason of some later version */
	push_sample(&fixture, 7, 20, "a");
	push_sample(&fixture, 8, 21, "a");
	translate_run(&fixture.translate, 50, true);
	CHECK_INT(fixture.translate.stats.truncated[LAYOUT_TRUNCATED_NO_RULE], 1);
	CHECK_INT(fixture.translate.stats.truncated[LAYOUT_TRUNCATED_UNKNOWN], 1);
	CHECK_INT(fixture.translate.stats.complete, 0);
	read_back(&fixture, &result);
	char want[64];
	snprintf(want, sizeof(want), "/bin/a+10 /bin/a+20 #%d", LAYOUT_TRUNCATED_NO_RULE);
	check_sample(&result, 0, want);
	snprintf(want, sizeof(want), "/bin/a+10 #%d", LAYOUT_TRUNCATED_UNKNOWN);
	check_sample(&result, 1, want);
	teardown(&fixture);
}

/* ---- snapshots ---- */

static void push_broken_stack(struct fixture *fixture, uint64_t hash)
{
	const uint64_t words[] = {in_file(7, 0x10), 0x10020};
	struct event_stack head = {.end = EVENT_END_TABLE_PENDING,
		.has_snapshot = 1,
		.pid = PID,
		.nr_frames = 2,
		.hash = hash,
		.time_ns = 20};
	push_map(fixture, 10, 0x10000, "/bin/a");
	push_file(fixture, 7, 20, 0x10000, 0);
	collect_stack(fixture, &head, words);
}

TEST(a_snapshot_without_an_unwinder_keeps_what_was_found)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	push_broken_stack(&fixture, 101);
	push_snapshot(&fixture, 101, 0x7000);
	push_chunk(&fixture, 101, 0x7000, EVENT_SNAPSHOT_CHUNK_BYTES);
	push_chunk(&fixture, 101, 0x8000, 64);
	push_sample(&fixture, 101, 20, "a");
	CHECK(!translate_run(&fixture.translate, 50, false));
	CHECK_INT(fixture.translate.stats.taken[TRANSLATE_TICK].received, 1);
	CHECK_INT(fixture.translate.stats.truncated[LAYOUT_TRUNCATED_TABLE_PENDING], 1);
	CHECK(!snapshot_table_find(&fixture.translate.snapshots, 101)); /* one sample each */
	read_back(&fixture, &result);
	char want[64];
	snprintf(want, sizeof(want), "/bin/a+10 /bin/a+20 #%d", LAYOUT_TRUNCATED_TABLE_PENDING);
	check_sample(&result, 0, want);
	teardown(&fixture);
}

/* The ring had no room for the rest. */
TEST(a_snapshot_that_was_lost_keeps_what_was_found)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	push_broken_stack(&fixture, 101);
	push_sample(&fixture, 101, 20, "a");
	translate_run(&fixture.translate, 50, false);
	read_back(&fixture, &result);
	CHECK_INT(result.nr_samples, 1);
	CHECK_INT(fixture.translate.stats.taken[TRANSLATE_TICK].unresolved, 0);
	teardown(&fixture);
}

static void check_snapshot_word(const struct snapshot *snapshot, uint64_t address, bool is_there)
{
	unsigned long long word = 0;
	CHECK_INT(snapshot_read((void *)snapshot, address, &word), is_there ? 0 : -1);
	CHECK_INT(word, is_there ? address : 0);
}

TEST(a_snapshot_is_put_together)
{
	struct fixture fixture;
	setup(&fixture);
	push_broken_stack(&fixture, 101);
	push_chunk(&fixture, 101, 0x9000, 64); /* ahead of the registers: nowhere to put it */
	push_snapshot(&fixture, 101, 0x7008);
	push_chunk(&fixture, 102, 0x7008, 64); /* of none that is known */
	push_chunk(&fixture, 101, 0x7010, 64); /* does not follow */
	push_chunk(
		&fixture, 101, 0x7008, EVENT_SNAPSHOT_CHUNK_BYTES + 8); /* longer than it can be */
	push_chunk(&fixture, 101, 0x7008, EVENT_SNAPSHOT_CHUNK_BYTES);
	push_chunk(&fixture, 101, 0x9008, 64); /* one between was lost */
	push_chunk(&fixture, 101, 0x8008, 60);
	translate_run(&fixture.translate, 50, false);
	const struct snapshot *snapshot = snapshot_table_find(&fixture.translate.snapshots, 101);
	CHECK(snapshot && snapshot->has_registers && snapshot->is_exact);
	CHECK_INT(snapshot->frames.len, 2);
	CHECK_INT(snapshot->registers.ip, 0x10900);
	CHECK_INT(snapshot->stack.len, EVENT_SNAPSHOT_CHUNK_BYTES + 60);
	check_snapshot_word(snapshot, 0x7000, false);
	check_snapshot_word(snapshot, 0x7008, true);
	check_snapshot_word(snapshot, 0x8000, true); /* the last of the first chunk */
	check_snapshot_word(snapshot, 0x8008, true);
	check_snapshot_word(snapshot, 0x8038, true);
	check_snapshot_word(snapshot, 0x8040, false); /* only half of it */
	check_snapshot_word(snapshot, UINT64_MAX - 4, false);
	teardown(&fixture);
}

TEST(a_snapshot_whose_sample_never_came_is_forgotten)
{
	struct fixture fixture;
	setup(&fixture);
	push_broken_stack(&fixture, 101);
	translate_run(&fixture.translate, 3000000000, false);
	CHECK(snapshot_table_find(&fixture.translate.snapshots, 101));
	translate_run(&fixture.translate, 6000000000, false);
	CHECK(!snapshot_table_find(&fixture.translate.snapshots, 101));
	teardown(&fixture);
}

/* ---- the kernel ---- */

static void give_kernel(struct fixture *fixture)
{
	static const char text[] = "100000 T _text\n100100 t f\n100200 T g\n100200 T g_alias\n"
				   "100300 t h\n200000 T _etext\n400000 t m_init\t[m]\n";
	struct kernel *kernel = &fixture->translate.kernel;
	char modules[] = "m 4096 0 - Live 0x400000\n";
	kernel->objects = &fixture->translate.objects;
	kernel->object =
		object_table_special(kernel->objects, LAYOUT_OBJECT_KERNEL, "[kernel.kallsyms]");
	kernel->object->info.base = 0x100000;
	kernel_take_modules(kernel, modules);
	int fd = forged_fd(text, sizeof(text) - 1);
	kernel_symbols_read(&kernel->symbols, fd);
	kernel->symbols.is_ready = true;
	close(fd);
}

/* A return address stands behind its call, perhaps in another function already: look inside. */
TEST(callers_in_the_kernel_are_looked_up_inside_their_call)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	give_kernel(&fixture);
	static const uint64_t addresses[] = {0x100210, 0x100200, 0x400001};
	push_kernel_stack(&fixture, 55, 20, addresses, 3);
	push_sample_of(&fixture, PID, 0, 55, 20, "a");
	translate_run(&fixture.translate, 50, true);
	CHECK_INT(fixture.translate.stats.kernel_only, 1);
	emitter_kernel_symbols(&fixture.translate.emitter);
	read_back(&fixture, &result);
	check_stack(&result, result.samples[0].kernel_stack,
		"[kernel.kallsyms]+210 [kernel.kallsyms]+1ff [m]+0");
	CHECK_INT(result.samples[0].user_stack, 0);
	CHECK_STR(str_text(&fixture.symbols), "m_init [m] 0+0;"
					      "f [kernel.kallsyms] 100+100;"
					      "g [kernel.kallsyms] 200+100;");
	teardown(&fixture);
}

/* Not when a frame is written: they may have to be waited for. And each once. */
TEST(symbols_of_the_kernel_come_with_the_flush)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	give_kernel(&fixture);
	struct emitter *emitter = &fixture.translate.emitter;
	static const uint64_t one[] = {0x100100}, two[] = {0x100110}, other[] = {0x100300};
	push_kernel_stack(&fixture, 1, 20, one, 1);
	push_kernel_stack(&fixture, 2, 20, two, 1);
	push_sample_of(&fixture, PID, 0, 1, 20, "a");
	push_sample_of(&fixture, PID, 0, 2, 20, "a");
	push_sample_of(&fixture, PID, 0, 2, 20, "a");
	translate_run(&fixture.translate, 50, true);
	CHECK_INT(emitter->unnamed.len, 2);
	CHECK(emitter_bytes_pending(emitter) > 0);
	emitter_kernel_symbols(emitter);
	CHECK_OK(writer_flush(fixture.writer));
	push_kernel_stack(&fixture, 3, 60, other, 1);
	push_sample_of(&fixture, PID, 0, 1, 60, "a");
	push_sample_of(&fixture, PID, 0, 3, 60, "a");
	translate_run(&fixture.translate, 70, true);
	CHECK_INT(emitter->unnamed.len, 1);
	emitter_kernel_symbols(emitter);
	CHECK_INT(emitter->unnamed.len, 0);
	CHECK_INT(emitter_bytes_pending(emitter), 0);
	read_back(&fixture, &result);
	CHECK_STR(str_text(&fixture.symbols), "f [kernel.kallsyms] 100+100;"
					      "h [kernel.kallsyms] 300+ffd00;");
	teardown(&fixture);
}

/* Its own are not among them: a name of what lies ahead of it in memory would be wrong. */
TEST(a_module_newer_than_the_symbols_has_no_names)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	give_kernel(&fixture);
	char modules[] = "late 4096 0 - Live 0x500000\n";
	kernel_take_modules(&fixture.translate.kernel, modules);
	static const uint64_t address[] = {0x500010};
	push_kernel_stack(&fixture, 1, 20, address, 1);
	push_sample_of(&fixture, PID, 0, 1, 20, "a");
	translate_run(&fixture.translate, 50, true);
	emitter_kernel_symbols(&fixture.translate.emitter);
	read_back(&fixture, &result);
	check_stack(&result, result.samples[0].kernel_stack, "[late]+10");
	CHECK_STR(str_text(&fixture.symbols), "");
	teardown(&fixture);
}

TEST(without_kernel_frames_symbols_are_not_waited_for)
{
	struct fixture fixture;
	setup(&fixture);
	static const uint64_t address[] = {0x10800};
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_stack(&fixture, 7, 20, EVENT_END_COMPLETE, address, 1);
	push_sample(&fixture, 7, 20, "a");
	translate_run(&fixture.translate, 50, true);
	emitter_kernel_symbols(&fixture.translate.emitter);
	CHECK(!fixture.translate.kernel.symbols.is_ready);
	CHECK(!fixture.translate.kernel.objects);
	teardown(&fixture);
}

/* ---- the rest ---- */

TEST(a_sample_whose_stack_never_came_is_counted)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	push_sample(&fixture, 99, 20, "a");
	translate_run(&fixture.translate, 50, true);
	CHECK_INT(fixture.translate.stats.taken[TRANSLATE_TICK].received, 1);
	CHECK_INT(fixture.translate.stats.taken[TRANSLATE_TICK].unresolved, 1);
	read_back(&fixture, &result);
	CHECK_INT(result.nr_samples, 0);
	teardown(&fixture);
}

TEST(events_behind_the_horizon_wait)
{
	struct fixture fixture;
	setup(&fixture);
	push_map(&fixture, 10, 0x10000, "/lib/a");
	push_map(&fixture, 60, 0x20000, "/lib/b");
	translate_run(&fixture.translate, 50, true);
	CHECK_INT(fixture.translate.sideband.events.len, 1);
	struct process *process = process_table_find(&fixture.translate.processes, PID);
	CHECK(process && process->mappings.len == 1);
	translate_run(&fixture.translate, 70, true);
	CHECK_INT(fixture.translate.sideband.events.len, 0);
	CHECK_INT(process->mappings.len, 2);
	teardown(&fixture);
}

TEST(the_next_file_gets_everything_anew)
{
	struct fixture fixture;
	setup(&fixture);
	give_kernel(&fixture);
	static const uint64_t user[] = {0x10800}, kernel[] = {0x100100};
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_stack(&fixture, 7, 20, EVENT_END_COMPLETE, user, 1);
	push_kernel_stack(&fixture, 8, 20, kernel, 1);
	for (int file = 0; file < 2; file++) {
		/* The second time the stacks are known to the sampler: only their hashes come. */
		struct result result;
		push_sample_of(&fixture, PID, 7, 8, 50, "a");
		translate_run(&fixture.translate, 60, true);
		emitter_kernel_symbols(&fixture.translate.emitter);
		read_back(&fixture, &result);
		CHECK_INT(result.nr_samples, 1);
		check_sample(&result, 0, "/bin/a+800");
		check_stack(&result, result.samples[0].kernel_stack, "[kernel.kallsyms]+100");
		CHECK_STR(str_text(&fixture.symbols), "f [kernel.kallsyms] 100+100;");
		writer_destroy(fixture.writer);
		fixture.file.len = 0;
		fixture.writer = writer_create((struct writer_sink){keep, &fixture.file});
		emitter_begin_file(&fixture.translate.emitter, fixture.writer);
	}
	teardown(&fixture);
}
