/*
 * Pieces of copied stacks that wait until they can be unwound. What a thread's outer frames have
 * on the stack is the same from one sample to the next: each content is kept once.
 */
#ifndef EBPROF_STACK_PIECES_H
#define EBPROF_STACK_PIECES_H

#include "bpf/event.h"
#include "format/base/map.h"

/* What waits for a struct event_snapshot_chunk, in its place. */
struct stack_piece {
	unsigned int type; /* EVENT_SNAPSHOT_CHUNK */
	unsigned int nr_bytes;
	uint64_t hash, address; /* as the chunk's */
	const unsigned char *bytes;
	struct stack_content *content; /* which holds them */
};

/* {0} is empty. */
struct stack_pieces {
	struct map by_hash; /* of their bytes -> struct stack_content * */
	uint64_t seed;      /* of the hashes; 0: none was drawn yet */
	size_t bytes;       /* of memory that all contents take */
};

/* Of the pieces that were not released, too. */
void stack_pieces_deinit(struct stack_pieces *pieces);

/* False: the record, of `len` bytes, is no chunk. Else *ret is to be released. */
bool stack_pieces_hold(struct stack_pieces *pieces, const struct event_snapshot_chunk *chunk,
	size_t len, struct stack_piece *ret);
void stack_pieces_release(struct stack_pieces *pieces, const struct stack_piece *piece);

#endif
