/*
 * What an import is written with: objects, threads, frames and stacks that are equal stand once,
 * and what is known of names goes with them.
 */
#ifndef EBPROF_IMPORT_OUTPUT_H
#define EBPROF_IMPORT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/base/map.h"
#include "format/base/str.h"
#include "format/base/vec.h"
#include "format/file/chain_map.h"
#include "format/file/layout.h"
#include "format/file/writer.h"

enum {
	IMPORT_MAX_DEPTH = LAYOUT_MAX_DEPTH - 1, /* frames of a stack, beside a marker */
};

struct import_output {
	struct writer *writer;
	struct strtab objects, frames, threads, labels; /* by their bytes; an id less 1 */
	struct map nodes;                               /* parent << 32 | frame -> node */
	VEC(struct chain_map) chains;                   /* of each object */
	uint64_t nr_samples, last_ns;
	struct err *err; /* of the first flush that failed */
};

struct import_output *import_output_create(struct writer_sink sink);
void import_output_destroy(struct import_output *output);

void import_output_meta(struct import_output *output, const char *key, const char *value);
uint32_t import_output_text(struct import_output *output, const char *text);

/* `object->path` is not read: it is `path`. Objects are equal where all of this is. */
uint32_t import_output_object(
	struct import_output *output, const struct layout_object *object, const char *path);
/* An object that no other one is equal to. */
uint32_t import_output_own_object(
	struct import_output *output, const struct layout_object *object, const char *path);
uint32_t import_output_thread(
	struct import_output *output, uint32_t process, uint32_t tid, const char *comm);
/* *is_new may be NULL. */
uint32_t import_output_frame(
	struct import_output *output, const struct layout_frame *frame, bool *is_new);
/* A marker: why a stack is cut before its outermost frame. */
uint32_t import_output_cut(struct import_output *output, enum layout_truncation cause);
/* `parent` 0: it is the outermost. */
uint32_t import_output_node(struct import_output *output, uint32_t parent, uint32_t frame);
/* The names at a place of an object, copied. */
void import_output_chain(
	struct import_output *output, uint32_t object, uint64_t offset, const struct chain *chain);
/* A set of labels: this one, with those of `label->rest`. */
uint32_t import_output_label(struct import_output *output, const struct layout_label *label);
void import_output_sample(struct import_output *output, const struct layout_sample *sample);
/* Writes some of what waits, if that has become much; a failure comes from finish. */
void import_output_flush_some(struct import_output *output);

/* `is_whole`: the recording ends in order. Else it looks like one whose recorder was killed. */
struct err *import_output_finish(struct import_output *output, bool is_whole) ERR_MUST_CHECK;

#endif
