/* Recordings of known contents for the tests of exporters, and exports into memory. */
#ifndef EBPROF_REPORT_EXPORT_FIXTURE_H
#define EBPROF_REPORT_EXPORT_FIXTURE_H

#include "format/base/bytes.h"
#include "format/file/writer.h"
#include "report/write/export/export.h"

struct fixture {
	struct writer *writer;
	int fd;
	bool is_dropping; /* what is flushed gets lost */
	uint32_t event;   /* of the samples to come */
	uint64_t time_ns;
};

/* A file with a clock and the event cpu-clock, 1 ms a tick. */
void fixture_init(struct fixture *fixture);
/* The same with another clock; samples follow it. */
void fixture_init_at(struct fixture *fixture, const struct layout_clock *clock);
/* The same with a thread; returns an object with code, which no file of this machine is asked
 * about. */
uint32_t fixture_begin(struct fixture *fixture, const char *object, uint32_t *thread);
uint32_t fixture_string(struct fixture *fixture, const char *text);
uint32_t fixture_event(
	struct fixture *fixture, const char *name, const char *unit, uint64_t period);
/* Kernel objects have base 0xffffffff81000000. */
uint32_t fixture_object(struct fixture *fixture, enum layout_object_kind kind, const char *path);
uint32_t fixture_process(struct fixture *fixture, uint32_t pid, uint32_t exe);
uint32_t fixture_thread(struct fixture *fixture, uint32_t process, uint32_t tid, const char *comm);
/* A frame with a symbol of its own, which NULL leaves out. */
uint32_t fixture_frame(struct fixture *fixture, uint32_t object, uint64_t offset, const char *name);
/* A frame of a script, or of compiled code, at a line; `file` may be NULL. */
uint32_t fixture_line(struct fixture *fixture, uint32_t object, uint64_t offset, const char *name,
	const char *file, uint32_t line);
/* A stack of frames, outermost first, 0 ends it. */
uint32_t fixture_stack(struct fixture *fixture, const uint32_t *frames);
#define FIXTURE_STACK(fixture, ...) fixture_stack((fixture), (const uint32_t[]){__VA_ARGS__, 0})
/* `count` samples, on CPU 0. */
void fixture_samples(
	struct fixture *fixture, uint32_t thread, uint32_t user, uint32_t kernel, unsigned count);
void fixture_flush(struct fixture *fixture);

/* Ends the recording; its file, at the beginning. */
int fixture_finish(struct fixture *fixture);
/* ... loads and symbolizes it. */
struct profile *fixture_load(int fd);
/* All of that; closes the file. */
struct profile *fixture_profile(struct fixture *fixture);

enum {
	/* What `ebprof convert` writes unless it is given other labels. */
	FIXTURE_LABELS = EXPORT_LABEL_COMM | EXPORT_LABEL_THREAD | EXPORT_LABEL_PID |
			 EXPORT_LABEL_TID | EXPORT_LABEL_CONTAINER | EXPORT_LABEL_CGROUP |
			 EXPORT_LABEL_ORIGIN,
};

/* Exports into `out`, NUL-terminated behind its length. */
void fixture_export(const struct profile *profile, enum export_format format, uint32_t labels,
	struct bytes_buf *out);

#endif
