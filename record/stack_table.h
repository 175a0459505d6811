/*
 * Stacks of the session, each frame and each (caller, frame) pair once: a trie
 * whose nodes are small numbers. Node 0 is the root, frame 0 is unused.
 */
#ifndef EBPROF_STACK_TABLE_H
#define EBPROF_STACK_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/map.h"
#include "format/base/vec.h"
#include "record/task/object.h"

struct stack_frame {
	struct object *object; /* NULL: the stack is truncated here, offset says why */
	uint64_t offset;
	uint32_t flags;               /* layout_frame_flag */
	uint32_t file_id, file_epoch; /* see emitter.h */
};

struct stack_node {
	uint32_t parent, frame;
	uint32_t file_id, file_epoch;
	bool is_guessed; /* its frame, or one between it and the root */
};

struct stack_table {
	VEC(struct stack_frame) frames;
	VEC(struct stack_node) nodes;
	struct map edges;          /* parent << 32 | frame -> node */
	struct map by_serial;      /* of objects -> index + 1 of their frames */
	VEC(struct map) frames_of; /* an object: offset and flags -> frame */
	struct map truncated;      /* cause -> frame */
};

void stack_table_init(struct stack_table *table);
void stack_table_deinit(struct stack_table *table);

uint32_t stack_table_frame(
	struct stack_table *table, struct object *object, uint64_t offset, uint32_t flags);
uint32_t stack_table_node(struct stack_table *table, uint32_t parent, uint32_t frame);

/* A stack of another table, in this one. `copied`: nodes of that -> of this, from call to call. */
uint32_t stack_table_copy_node(
	struct stack_table *to, const struct stack_table *from, uint32_t node, struct map *copied);

/* True when the table has outgrown its memory budget and should be cleared. */
bool stack_table_is_full(const struct stack_table *table);
/* Forgets everything: nodes and frames handed out before are void. */
void stack_table_clear(struct stack_table *table);
/* Marks the objects that frames are in as used, see object_table_sweep(). */
void stack_table_mark_objects(const struct stack_table *table);

#endif
