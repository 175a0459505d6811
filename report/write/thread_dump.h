/*
 * What every thread does at the end of a short recording of all of the time (wall): its newest
 * stack, and what it waits for. Threads of a process with the same stack are one.
 */
#ifndef EBPROF_THREAD_DUMP_H
#define EBPROF_THREAD_DUMP_H

#include "format/base/err.h"
#include "format/base/str.h"
#include "report/model/profile.h"
#include "report/model/text/byte_sink.h"

/* Of a profile that is symbolized and has the reasons of its waits. */
struct thread_dump;

/* Whether a thread is still there. */
typedef bool thread_dump_is_there_fn(const void *context, uint32_t pid, uint32_t tid);

/* Without those that ended meanwhile; is_there: NULL: it is not known which did. */
struct thread_dump *thread_dump_create(
	const struct profile *profile, thread_dump_is_there_fn *is_there, const void *context);
void thread_dump_destroy(struct thread_dump *dump);
/* Of those that a stack is known of, or that are known to run. */
size_t thread_dump_count(const struct thread_dump *dump);
void thread_dump_put(const struct thread_dump *dump, struct str *out);
struct err *thread_dump_put_json(
	const struct thread_dump *dump, struct byte_sink sink) ERR_MUST_CHECK;

#endif
