/* Pieces of stacks that wait: each content is in memory once. */
#include <string.h>

#include "record/unwind/stack_pieces.h"
#include "tests/unit/unit.h"

static struct event_snapshot_chunk chunk_of(uint64_t address, unsigned char byte, unsigned nr_bytes)
{
	struct event_snapshot_chunk chunk = {
		.type = EVENT_SNAPSHOT_CHUNK, .hash = 7, .address = address, .nr_bytes = nr_bytes};
	memset(chunk.bytes, byte, nr_bytes < sizeof(chunk.bytes) ? nr_bytes : sizeof(chunk.bytes));
	return chunk;
}

static void hold(struct stack_pieces *pieces, uint64_t address, unsigned char byte,
	unsigned nr_bytes, struct stack_piece *ret)
{
	const struct event_snapshot_chunk chunk = chunk_of(address, byte, nr_bytes);
	CHECK(stack_pieces_hold(pieces, &chunk, sizeof(chunk), ret));
	CHECK_INT(ret->type, EVENT_SNAPSHOT_CHUNK);
	CHECK_INT(ret->hash, 7);
	CHECK_INT(ret->address, address);
	CHECK_INT(ret->nr_bytes, nr_bytes);
	CHECK(!memcmp(ret->bytes, chunk.bytes, nr_bytes));
}

TEST(pieces_of_one_content_share_it)
{
	struct stack_pieces pieces = {0};
	struct stack_piece one, same, other, shorter;
	hold(&pieces, 0x7000, 1, EVENT_SNAPSHOT_CHUNK_BYTES, &one);
	size_t bytes = pieces.bytes;
	hold(&pieces, 0x9000, 1, EVENT_SNAPSHOT_CHUNK_BYTES, &same);
	CHECK(same.bytes == one.bytes);
	CHECK_INT(pieces.bytes, bytes);
	hold(&pieces, 0x7000, 2, EVENT_SNAPSHOT_CHUNK_BYTES, &other);
	CHECK(other.bytes != one.bytes);
	CHECK_INT(pieces.bytes, 2 * bytes);
	hold(&pieces, 0x7000, 1, 64, &shorter); /* the end of a stack takes what it needs */
	CHECK(pieces.bytes < 2 * bytes + 128);
	stack_pieces_release(&pieces, &shorter);
	stack_pieces_release(&pieces, &one);
	CHECK_INT(pieces.bytes, 2 * bytes);
	CHECK_INT(same.bytes[EVENT_SNAPSHOT_CHUNK_BYTES - 1], 1);
	stack_pieces_release(&pieces, &same);
	CHECK_INT(pieces.bytes, bytes);
	CHECK_INT(pieces.by_hash.len, 1);
	hold(&pieces, 0x7000, 1, EVENT_SNAPSHOT_CHUNK_BYTES, &one);
	stack_pieces_deinit(&pieces); /* of what waits still, too */
}

TEST(a_chunk_that_is_none_is_not_held)
{
	struct stack_pieces pieces = {0};
	struct stack_piece piece;
	struct event_snapshot_chunk chunk = chunk_of(0x7000, 1, EVENT_SNAPSHOT_CHUNK_BYTES + 1);
	CHECK(!stack_pieces_hold(&pieces, &chunk, sizeof(chunk), &piece));
	chunk.nr_bytes = 8;
	CHECK(!stack_pieces_hold(&pieces, &chunk, sizeof(chunk) - 1, &piece));
	CHECK_INT(pieces.bytes, 0);
	stack_pieces_deinit(&pieces);
}
