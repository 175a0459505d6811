/*
 * Reads a recording front to back and hands each entity to a visitor. Nothing
 * in the file is believed: what does not hold together is skipped and counted.
 */
#ifndef EBPROF_READER_H
#define EBPROF_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/file/chain_map.h"
#include "format/file/chunk.h"
#include "format/file/layout.h"

/*
 * Any function may be NULL. Pointers are borrowed during the call. Ids come in
 * ascending order within a table; after damage some are missing, and what
 * refers to them dangles: the visitor must check every id it follows.
 */
struct reader_visitor {
	void (*meta)(void *context, const char *key, size_t key_len, const char *value, size_t len);
	void (*string)(void *context, uint32_t id, const char *bytes, size_t len);
	void (*event)(void *context, uint32_t id, const struct layout_event *event);
	void (*origin)(void *context, uint32_t id, const struct layout_origin *origin);
	void (*object)(void *context, uint32_t id, const struct layout_object *object);
	void (*process)(void *context, uint32_t id, const struct layout_process *process);
	void (*thread)(void *context, uint32_t id, const struct layout_thread *thread);
	void (*mapping)(void *context, const struct layout_mapping *mapping);
	void (*frame)(void *context, uint32_t id, const struct layout_frame *frame);
	/* node->parent < id always. */
	void (*node)(void *context, uint32_t id, const struct layout_node *node);
	/* Comes behind the mappings that hold at its time. */
	void (*snapshot)(void *context, uint32_t id, const struct layout_snapshot *snapshot);
	/* label->rest < id always. */
	void (*label)(void *context, uint32_t id, const struct layout_label *label);
	void (*sample)(void *context, const struct layout_sample *sample);
	/* One of those that sample() gets next: what it will look up can be fetched until then. */
	void (*sample_soon)(void *context, const struct layout_sample *sample);
	void (*symbol)(void *context, const struct layout_symbol *symbol);
	void (*code)(void *context, const struct layout_code *code);
	void (*unwound)(void *context, const struct layout_unwound *unwound);
	/* Where chains of this object are to be added; NULL: nowhere. */
	struct chain_map *(*chains)(void *context, uint32_t object);
	void (*counter)(void *context, const struct layout_counter_value *value);
	void (*event_tally)(void *context, const struct layout_event_tally *tally);
	void (*thread_times)(void *context, const struct layout_thread_times *times);
	void (*clock)(void *context, const struct layout_clock *clock);
	void (*end)(void *context, const struct layout_end *end);
	/* Ahead of each chunk; file_bytes as in the result. */
	void (*progress)(void *context, uint64_t file_bytes);
};

struct reader_result {
	uint64_t chunks, file_bytes; /* up to the running visit, while there is one */
	uint64_t unknown_chunks;     /* of types that this version does not know */
	uint64_t missing_chunks;     /* by gaps in their numbers */
	uint64_t bad_chunks;         /* whole, but with contents that break their layout */
	const char *bad_what;        /* of the first of them; static text */
	uint64_t bad_offset;
	struct layout_position end; /* where a writer could go on */
	bool ended;                 /* an END chunk was read: the recorder stopped in order */
	struct chunk_damage damage;
};

/* `fd` is borrowed, at the recording's beginning. Fails only where nothing can be read at all. */
struct err *reader_read(int fd, const struct reader_visitor *visitor, void *context,
	struct reader_result *ret) ERR_MUST_CHECK;

#endif
