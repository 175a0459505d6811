/*
 * Stacks that the BPF side could not unwind, put together from the records that
 * it sent of each: the frames it found, the registers where it stopped, and the
 * stack's memory, piece by piece.
 */
#ifndef EBPROF_SNAPSHOT_H
#define EBPROF_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/event.h"
#include "format/base/map.h"
#include "format/base/vec.h"
#include "record/unwind/stack_pieces.h"

struct snapshot_hole {
	size_t start, end;
};

struct snapshot {
	struct event_stack head;
	VEC(uint64_t) frames; /* found before, as on the wire */
	bool has_registers;   /* else the ring had no room for the rest */
	bool is_exact;
	bool is_shown;           /* the frame at which it begins is the last of `frames` */
	bool is_uncopied;        /* the stack is in the process, which sleeps; not in `stack` */
	enum unwind_found found; /* how the frame at which it begins was */
	uint64_t code_space;     /* see struct code_key */
	uint64_t code[2];        /* at registers.ip; 0: it could not be read */
	struct unwind_registers registers;
	uint64_t stack_address; /* of the first byte of `stack` */
	VEC(uint8_t) stack;
	/* Pages that were not there, as places in `stack`; ascending. */
	VEC(struct snapshot_hole) holes;
};

struct snapshot_table {
	struct map by_hash; /* -> struct snapshot * */
};

void snapshot_table_deinit(struct snapshot_table *table);

/* `frames` of them follow on the head, as on the wire. */
void snapshot_table_begin(
	struct snapshot_table *table, const struct event_stack *head, const uint64_t *frames);
void snapshot_table_registers(struct snapshot_table *table, const struct event_snapshot *event);
void snapshot_table_piece(struct snapshot_table *table, const struct stack_piece *piece);

/* NULL: there is none. */
struct snapshot *snapshot_table_find(const struct snapshot_table *table, uint64_t hash);
void snapshot_table_drop(struct snapshot_table *table, uint64_t hash);
/* Drops those whose sample never came: all from before this time. */
void snapshot_table_purge(struct snapshot_table *table, uint64_t before_ns);

/* How many bytes of the stack there are without a hole. */
size_t snapshot_whole_bytes(const struct snapshot *snapshot);

/* Reads a word of the stack of a struct snapshot; fits unwind_read_fn. */
long snapshot_read(void *context, unsigned long long address, unsigned long long *value);

#endif
