/*
 * Writes a recording as it happens. Entities are collected in memory and leave
 * as one chunk of each kind at writer_flush(), in the order in which they refer
 * to each other, so that any prefix that reaches the disk can be read.
 *
 * Ids are handed out here, dense and from 1. The writer does not intern
 * anything but strings: the caller knows what it has written.
 */
#ifndef EBPROF_WRITER_H
#define EBPROF_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/file/chain_map.h"
#include "format/file/layout.h"

struct writer;

/* Where the bytes go. Writes all of them or fails; called with whole chunks. */
struct writer_sink {
	struct err *(*write)(void *context, const void *bytes, size_t len)ERR_MUST_CHECK;
	void *context;
};

struct writer *writer_create(struct writer_sink sink);
/* Goes on behind a recording that is complete: what it hands out has the ids from there on. */
struct writer *writer_create_behind(
	struct writer_sink sink, const struct layout_position *position);
void writer_destroy(struct writer *writer);

/*
 * The recording shall not grow beyond this (0: no limit). A flush that does not
 * fit is dropped as a whole, and so is everything after it but counters and the end.
 */
void writer_limit(struct writer *writer, uint64_t max_bytes);
bool writer_is_full(const struct writer *writer);

void writer_meta(struct writer *writer, const char *key, const char *value);
/* Id of the string; 0 for the empty one. */
uint32_t writer_string(struct writer *writer, const char *bytes, size_t len);
uint32_t writer_event(struct writer *writer, const struct layout_event *event);
uint32_t writer_origin(struct writer *writer, const struct layout_origin *origin);
uint32_t writer_object(struct writer *writer, const struct layout_object *object);
uint32_t writer_process(struct writer *writer, const struct layout_process *process);
uint32_t writer_thread(struct writer *writer, const struct layout_thread *thread);
void writer_mapping(struct writer *writer, const struct layout_mapping *mapping);
uint32_t writer_frame(struct writer *writer, const struct layout_frame *frame);
uint32_t writer_node(struct writer *writer, const struct layout_node *node);
/*
 * Keeps a copy of the stack, cut at LAYOUT_MAX_SNAPSHOT_BYTES. The mappings that it means must
 * have been handed out before: a reader unwinds it when it meets it.
 */
uint32_t writer_snapshot(struct writer *writer, const struct layout_snapshot *snapshot);
uint32_t writer_label(struct writer *writer, const struct layout_label *label);
void writer_sample(struct writer *writer, const struct layout_sample *sample);
void writer_symbol(struct writer *writer, const struct layout_symbol *symbol);
void writer_code(struct writer *writer, const struct layout_code *code);
void writer_unwound(struct writer *writer, const struct layout_unwound *unwound);
/* All of them, at once; the object is there already. */
void writer_chains(struct writer *writer, uint32_t object, const struct chain_map *chains);
void writer_counter(struct writer *writer, const struct layout_counter_value *value);
void writer_event_tally(struct writer *writer, const struct layout_event_tally *tally);
void writer_thread_times(struct writer *writer, const struct layout_thread_times *times);
void writer_clock(struct writer *writer, const struct layout_clock *clock);

/* Bytes handed to the sink so far, and an upper bound of those that wait. */
uint64_t writer_bytes_written(const struct writer *writer);
uint64_t writer_bytes_pending(const struct writer *writer);
/* Samples that the sink has taken, and of them those of an event. */
uint64_t writer_samples_written(const struct writer *writer);
struct layout_tally writer_event_samples_written(const struct writer *writer, uint32_t event);

/* Sends what was collected. After a failure the writer only counts and refuses. */
struct err *writer_flush(struct writer *writer) ERR_MUST_CHECK;
/* Flushes and ends the recording. */
struct err *writer_finish(struct writer *writer, const struct layout_end *end) ERR_MUST_CHECK;

#endif
