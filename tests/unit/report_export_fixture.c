#include "tests/unit/report_export_fixture.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "report/load/load.h"
#include "report/model/text/byte_sink.h"
#include "report/name/symbol/symbolizer.h"
#include "tests/unit/unit.h"

static struct err *file_write(void *context, const void *bytes, size_t len)
{
	struct fixture *fixture = context;
	if (!fixture->is_dropping)
		CHECK_INT(write(fixture->fd, bytes, len), len);
	return NULL;
}

void fixture_init(struct fixture *fixture)
{
	fixture_init_at(fixture, &(struct layout_clock){1000000000, 1700000000000000000});
}

void fixture_init_at(struct fixture *fixture, const struct layout_clock *clock)
{
	*fixture = (struct fixture){.fd = memfd_create("recording", MFD_CLOEXEC)};
	fixture->writer =
		writer_create((struct writer_sink){.write = file_write, .context = fixture});
	writer_clock(fixture->writer, clock);
	fixture->time_ns = clock->monotonic_ns;
	fixture->event = fixture_event(fixture, "cpu-clock", "ns", 1000000);
}

uint32_t fixture_begin(struct fixture *fixture, const char *object, uint32_t *thread)
{
	fixture_init(fixture);
	*thread = fixture_thread(fixture, fixture_process(fixture, 1, 0), 1, "x");
	return fixture_object(fixture, LAYOUT_OBJECT_VDSO, object);
}

uint32_t fixture_string(struct fixture *fixture, const char *text)
{
	return writer_string(fixture->writer, text, strlen(text));
}

uint32_t fixture_event(struct fixture *fixture, const char *name, const char *unit, uint64_t period)
{
	struct layout_event event = {
		.name = fixture_string(fixture, name),
		.unit = fixture_string(fixture, unit),
		.period = period,
		.frequency_hz = 1000,
	};
	return writer_event(fixture->writer, &event);
}

uint32_t fixture_object(struct fixture *fixture, enum layout_object_kind kind, const char *path)
{
	bool is_kernel = kind == LAYOUT_OBJECT_KERNEL || kind == LAYOUT_OBJECT_MODULE;
	struct layout_object object = {
		.kind = kind,
		.path = fixture_string(fixture, path),
		.base = is_kernel ? 0xffffffff81000000 : 0,
	};
	return writer_object(fixture->writer, &object);
}

uint32_t fixture_process(struct fixture *fixture, uint32_t pid, uint32_t exe)
{
	struct layout_process process = {.pid = pid, .exe = exe};
	return writer_process(fixture->writer, &process);
}

uint32_t fixture_thread(struct fixture *fixture, uint32_t process, uint32_t tid, const char *comm)
{
	struct layout_thread thread = {
		.process = process, .tid = tid, .comm = fixture_string(fixture, comm)};
	return writer_thread(fixture->writer, &thread);
}

uint32_t fixture_frame(struct fixture *fixture, uint32_t object, uint64_t offset, const char *name)
{
	struct layout_frame frame = {.object = object, .offset = offset};
	if (name) {
		struct layout_symbol symbol = {.object = object,
			.offset = offset,
			.size = 1,
			.name = fixture_string(fixture, name)};
		writer_symbol(fixture->writer, &symbol);
	}
	return writer_frame(fixture->writer, &frame);
}

uint32_t fixture_line(struct fixture *fixture, uint32_t object, uint64_t offset, const char *name,
	const char *file, uint32_t line)
{
	struct layout_code code = {
		.object = object,
		.offset = offset,
		.start = offset & ~0xffULL,
		.name = fixture_string(fixture, name),
		.file = file ? fixture_string(fixture, file) : 0,
		.line = line,
	};
	writer_code(fixture->writer, &code);
	return fixture_frame(fixture, object, offset, NULL);
}

uint32_t fixture_stack(struct fixture *fixture, const uint32_t *frames)
{
	uint32_t id = 0;
	for (; *frames; frames++) {
		struct layout_node node = {.parent = id, .frame = *frames};
		id = writer_node(fixture->writer, &node);
	}
	return id;
}

void fixture_samples(
	struct fixture *fixture, uint32_t thread, uint32_t user, uint32_t kernel, unsigned count)
{
	while (count--) {
		struct layout_sample sample = {
			.time_ns = fixture->time_ns += 1000000,
			.event = fixture->event,
			.thread = thread,
			.user_stack = user,
			.kernel_stack = kernel,
			.weight = 1,
		};
		writer_sample(fixture->writer, &sample);
	}
}

void fixture_flush(struct fixture *fixture)
{
	CHECK_OK(writer_flush(fixture->writer));
}

int fixture_finish(struct fixture *fixture)
{
	struct layout_end end = {LAYOUT_END_COMMAND, fixture->time_ns};
	CHECK_OK(writer_finish(fixture->writer, &end));
	writer_destroy(fixture->writer);
	lseek(fixture->fd, 0, SEEK_SET);
	return fixture->fd;
}

struct profile *fixture_load(int fd)
{
	struct profile *profile = NULL;
	lseek(fd, 0, SEEK_SET);
	CHECK_OK(profile_load(fd, NULL, &profile));
	symbolize(profile, &(struct symbolize_options){0});
	return profile;
}

struct profile *fixture_profile(struct fixture *fixture)
{
	int fd = fixture_finish(fixture);
	struct profile *profile = fixture_load(fd);
	close(fd);
	return profile;
}

void fixture_export(const struct profile *profile, enum export_format format, uint32_t labels,
	struct bytes_buf *out)
{
	size_t count;
	struct export_options options = {.labels = labels};
	struct byte_sink sink = byte_sink_to_bytes(out);
	CHECK_OK(export_all(&count)[format].write(profile, &options, sink));
	bytes_put_u8(out, 0);
	out->len--;
}
