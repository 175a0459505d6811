/* Wire events in, a recording out, read back: what stands between the ring and the file. */
#include <string.h>

#include "format/file/reader.h"
#include "record/translate.h"
#include "tests/unit/unit.h"
#include <sys/mman.h>
#include <unistd.h>

enum {
	PID = 0x7ffffff0, /* a pid that no process has, so /proc says nothing */
};

struct fixture {
	struct translate translate;
	struct writer *writer;
	struct bytes_buf file;
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
	fixture->translate.event_id = writer_event(fixture->writer, &(struct layout_event){0});
}

static void teardown(struct fixture *fixture)
{
	writer_destroy(fixture->writer);
	translate_deinit(&fixture->translate);
	bytes_buf_deinit(&fixture->file);
}

static void push_stack(struct fixture *fixture, uint64_t hash, uint64_t time_ns,
	enum event_stack_end end, const uint64_t *addresses, uint32_t count)
{
	struct {
		struct event_stack head;
		uint64_t addresses[16];
	} record = {.head = {.type = EVENT_STACK,
			    .kind = EVENT_STACK_USER,
			    .end = end,
			    .pid = PID,
			    .nr_frames = count,
			    .hash = hash,
			    .time_ns = time_ns}};
	memcpy(record.addresses, addresses, count * sizeof(*addresses));
	translate_collect(&fixture->translate, &record, sizeof(record.head) + count * 8);
}

static void push_sample(struct fixture *fixture, uint64_t hash, uint64_t time_ns, const char *comm)
{
	struct event_sample sample = {
		.type = EVENT_SAMPLE,
		.pid = PID,
		.tid = PID,
		.time_ns = time_ns,
		.user_hash = hash,
		.start_ns = 5,
	};
	strncpy(sample.comm, comm, sizeof(sample.comm) - 1);
	translate_collect(&fixture->translate, &sample, sizeof(sample));
}

static void push_map(struct fixture *fixture, uint64_t time_ns, uint64_t start, const char *path)
{
	struct sideband_event event = {
		.kind = SIDEBAND_MAP,
		.time_ns = time_ns,
		.pid = PID,
		.start = start,
		.length = 0x1000,
		.build_id = {1, 2, 3, 4},
		.build_id_len = 4,
		.path = path,
	};
	vec_push(&fixture->translate.sideband.events, event);
}

static void push_exec(struct fixture *fixture, uint64_t time_ns)
{
	vec_push(&fixture->translate.sideband.events,
		(struct sideband_event){.kind = SIDEBAND_EXEC, .time_ns = time_ns, .pid = PID});
}

/* The file as it was read back: samples with the path of their leaf's object. */
struct result {
	char strings[64][64];
	uint32_t object_paths[64];
	struct layout_frame frames[64];
	struct layout_node nodes[64];
	struct layout_sample samples[64];
	size_t nr_samples;
};

static void on_string(void *context, uint32_t id, const char *bytes, size_t len)
{
	memcpy(((struct result *)context)->strings[id], bytes, len);
}

static void on_object(void *context, uint32_t id, const struct layout_object *object)
{
	((struct result *)context)->object_paths[id] = object->path;
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

static void read_back(struct fixture *fixture, struct result *result)
{
	static const struct reader_visitor visitor = {
		.string = on_string,
		.object = on_object,
		.frame = on_frame,
		.node = on_node,
		.sample = on_sample,
	};
	*result = (struct result){0};
	CHECK_OK(writer_finish(fixture->writer, &(struct layout_end){LAYOUT_END_COMMAND, 1}));
	int fd = memfd_create("recording", 0);
	CHECK(write(fd, fixture->file.data, fixture->file.len) == (ssize_t)fixture->file.len);
	lseek(fd, 0, SEEK_SET);
	struct reader_result file;
	CHECK_OK(reader_read(fd, &visitor, result, &file));
	CHECK(file.ended && !file.bad_chunks && !file.damage.regions);
	close(fd);
}

static const char *leaf_path(const struct result *result, size_t sample)
{
	uint32_t frame = result->nodes[result->samples[sample].user_stack].frame;
	return result->strings[result->object_paths[result->frames[frame].object]];
}

TEST(samples_are_resolved_by_the_mappings_of_their_time)
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
	translate_run(&fixture.translate, 50);
	read_back(&fixture, &result);
	CHECK_INT(result.nr_samples, 2);
	CHECK_STR(leaf_path(&result, 0), "/bin/first");
	CHECK_STR(leaf_path(&result, 1), "/bin/second");
	CHECK(result.samples[0].thread != result.samples[1].thread);
	CHECK_INT(fixture.translate.stats.complete, 2);
	teardown(&fixture);
}

TEST(callers_are_looked_up_inside_their_call)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	/* The return address is the first byte behind the mapping: the call was its last one. */
	static const uint64_t addresses[] = {0x10010, 0x11000};
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_stack(&fixture, 7, 20, EVENT_END_COMPLETE, addresses, 2);
	push_sample(&fixture, 7, 20, "a");
	translate_run(&fixture.translate, 50);
	read_back(&fixture, &result);
	CHECK_INT(result.nr_samples, 1);
	const struct layout_node *leaf = &result.nodes[result.samples[0].user_stack];
	CHECK_INT(result.frames[leaf->frame].offset, 0x10);
	CHECK_INT(result.frames[result.nodes[leaf->parent].frame].offset, 0xfff);
	CHECK_INT(result.nodes[leaf->parent].parent, 0);
	teardown(&fixture);
}

TEST(a_caller_without_code_ends_the_stack)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	static const uint64_t addresses[] = {0x10010, 0x10020, 0xdead0000, 0x10030};
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_stack(&fixture, 7, 20, EVENT_END_COMPLETE, addresses, 4);
	push_sample(&fixture, 7, 20, "a");
	translate_run(&fixture.translate, 50);
	CHECK_INT(fixture.translate.stats.truncated[LAYOUT_TRUNCATED_FRAME_POINTER], 1);
	read_back(&fixture, &result);
	const struct layout_node *leaf = &result.nodes[result.samples[0].user_stack];
	const struct layout_node *caller = &result.nodes[leaf->parent];
	const struct layout_node *marker = &result.nodes[caller->parent];
	CHECK_INT(result.frames[caller->frame].offset, 0x1f);
	CHECK_INT(result.frames[marker->frame].object, 0);
	CHECK_INT(result.frames[marker->frame].offset, LAYOUT_TRUNCATED_FRAME_POINTER);
	CHECK_INT(marker->parent, 0);
	teardown(&fixture);
}

TEST(a_sample_whose_stack_never_came_is_counted)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	push_sample(&fixture, 99, 20, "a");
	translate_run(&fixture.translate, 50);
	CHECK_INT(fixture.translate.stats.received, 1);
	CHECK_INT(fixture.translate.stats.unresolved, 1);
	read_back(&fixture, &result);
	CHECK_INT(result.nr_samples, 0);
	teardown(&fixture);
}

TEST(a_replaced_mapping_makes_stacks_new)
{
	struct fixture fixture;
	setup(&fixture);
	push_map(&fixture, 10, 0x10000, "/lib/a");
	CHECK(!translate_run(&fixture.translate, 15));
	push_map(&fixture, 20, 0x10000, "/lib/b");
	CHECK(translate_run(&fixture.translate, 25));
	CHECK(!translate_run(&fixture.translate, 35));
	teardown(&fixture);
}

/* Until the sampler has heard of it, known hashes would still name the old code: those samples are
 * lost. */
TEST(no_sample_gets_a_frame_of_code_that_is_gone)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	static const uint64_t address[] = {0x10800};
	push_map(&fixture, 10, 0x10000, "/lib/a");
	push_stack(&fixture, 7, 20, EVENT_END_COMPLETE, address, 1);
	push_sample(&fixture, 7, 20, "a");
	push_map(&fixture, 30, 0x10000, "/lib/b");
	push_sample(&fixture, 7, 40, "a");
	push_stack(&fixture, 8, 50, EVENT_END_COMPLETE, address, 1);
	push_sample(&fixture, 8, 50, "a");
	CHECK(translate_run(&fixture.translate, 60));
	CHECK_INT(fixture.translate.stats.unresolved, 1);
	read_back(&fixture, &result);
	CHECK_INT(result.nr_samples, 2);
	CHECK_STR(leaf_path(&result, 0), "/lib/a");
	CHECK_STR(leaf_path(&result, 1), "/lib/b");
	teardown(&fixture);
}

TEST(events_behind_the_horizon_wait)
{
	struct fixture fixture;
	setup(&fixture);
	push_map(&fixture, 10, 0x10000, "/lib/a");
	push_map(&fixture, 60, 0x20000, "/lib/b");
	translate_run(&fixture.translate, 50);
	CHECK_INT(fixture.translate.sideband.events.len, 1);
	struct process *process = process_table_find(&fixture.translate.processes, PID);
	CHECK(process && process->mappings.len == 1);
	translate_run(&fixture.translate, 70);
	CHECK_INT(fixture.translate.sideband.events.len, 0);
	CHECK_INT(process->mappings.len, 2);
	teardown(&fixture);
}

TEST(the_next_file_gets_everything_anew)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	static const uint64_t address[] = {0x10800};
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_stack(&fixture, 7, 20, EVENT_END_COMPLETE, address, 1);
	push_sample(&fixture, 7, 20, "a");
	translate_run(&fixture.translate, 50);
	read_back(&fixture, &result);
	CHECK_INT(result.nr_samples, 1);
	/* The stack is known to the sampler: only its hash comes again. */
	writer_destroy(fixture.writer);
	fixture.file.len = 0;
	fixture.writer = writer_create((struct writer_sink){keep, &fixture.file});
	emitter_begin_file(&fixture.translate.emitter, fixture.writer);
	push_sample(&fixture, 7, 60, "a");
	translate_run(&fixture.translate, 80);
	read_back(&fixture, &result);
	CHECK_INT(result.nr_samples, 1);
	CHECK_STR(leaf_path(&result, 0), "/bin/a");
	teardown(&fixture);
}
